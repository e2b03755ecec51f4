#include "ick/net/safetensors.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "ick/base/error.h"
#include "ick/base/text.h"

namespace ick {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

using nlohmann::json;

constexpr std::uint64_t kLengthBytes = 8, kAlignment = 8;
constexpr std::uint64_t kLargestHeader = 100'000'000;  // the format's own limit
constexpr std::size_t kMostDimensions = 64;            // what torch iterates over
constexpr const char* kMetadata = "__metadata__";

struct Type {
  const char* name;
  at::ScalarType scalar;
};
constexpr Type kTypes[] = {
    {"F64", at::kDouble}, {"F32", at::kFloat}, {"F16", at::kHalf}, {"BF16", at::kBFloat16}, {"I64", at::kLong},
    {"I32", at::kInt},    {"I16", at::kShort}, {"I8", at::kChar},  {"U8", at::kByte},       {"BOOL", at::kBool},
};

std::string type_names() {
  std::vector<std::string> names;
  for (const Type& type : kTypes) names.emplace_back(type.name);
  return join_words(names);
}

const char* type_name(const std::string& tensor, at::ScalarType scalar) {
  for (const Type& type : kTypes)
    if (type.scalar == scalar) return type.name;
  throw UsageError(fmt::format("tensor \"{}\" has type {}, which cannot be saved (expected one of {})", tensor,
                               at::toString(scalar), type_names()));
}

// Where one tensor of the header lies among the numbers: [begin, end) in bytes.
struct Entry {
  std::string name;
  at::ScalarType scalar = at::kByte;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;
};

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& path) : path_(path) {
    if (bytes.size() < kLengthBytes)
      refuse(fmt::format("{} bytes are too few for a safetensors file; it may be cut off", bytes.size()));
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), kLengthBytes);
    bytes.remove_prefix(kLengthBytes);
    if (length > kLargestHeader)
      refuse(fmt::format("a header of {} bytes (expected at most {})", length, kLargestHeader));
    if (length > bytes.size())
      refuse(fmt::format("a header of {} bytes in a file with {} more; it is cut off", length, bytes.size()));
    header_ = bytes.substr(0, length);
    numbers_ = bytes.substr(length);
  }

  TensorState tensors(std::map<std::string, std::string>* metadata) const {
    std::vector<std::string> names;
    const json header = parse_header(names);
    std::vector<Entry> entries;
    for (const std::string& name : names) {
      if (name != kMetadata) {
        entries.push_back(entry(name, header.at(name)));
      } else if (metadata != nullptr) {
        *metadata = texts(header.at(name));
      } else {
        texts(header.at(name));
      }
    }
    check_cover(entries);
    TensorState list;
    for (const Entry& each : entries) list.emplace_back(each.name, tensor(each));
    return list;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw DataError(path_ + ": " + what); }

  // `names`: the keys in the order they stand, which json does not keep.
  json parse_header(std::vector<std::string>& names) const {
    if (header_.empty() || header_.front() != '{') refuse("the header does not begin with \"{\"");
    std::vector<std::set<std::string>> open;  // the keys of the objects around this place
    const auto watch = [&](int, json::parse_event_t event, json& value) {
      if (event == json::parse_event_t::object_start) open.emplace_back();
      if (event == json::parse_event_t::object_end) open.pop_back();
      if (event == json::parse_event_t::key) {
        const std::string& key = value.get_ref<const std::string&>();
        if (!open.back().insert(key).second) refuse(fmt::format("the header has \"{}\" twice", key));
        if (open.size() == 1) names.push_back(key);
      }
      return true;
    };
    try {
      return json::parse(header_, watch);
    } catch (const json::parse_error& error) {
      refuse(fmt::format("the header is not JSON from its byte {} on", error.byte));
    } catch (const json::exception&) {
      refuse("the header is not JSON: a number is out of range");
    }
  }

  std::map<std::string, std::string> texts(const json& object) const {
    std::map<std::string, std::string> found;
    if (!object.is_object()) refuse(fmt::format("\"{}\" is not an object", kMetadata));
    for (const auto& [key, value] : object.items()) {
      if (!value.is_string()) refuse(fmt::format("\"{}\": \"{}\" is not a text", kMetadata, key));
      found[key] = value.get<std::string>();
    }
    return found;
  }

  Entry entry(const std::string& name, const json& object) const {
    const auto wrong = [&](const std::string& what) { refuse(fmt::format("tensor \"{}\": {}", name, what)); };
    const auto member = [&](const char* key) -> const json& {
      if (!object.is_object() || !object.contains(key)) wrong(fmt::format("the header gives no {}", key));
      return object.at(key);
    };
    const auto integers = [&](const char* key) {
      std::vector<std::uint64_t> values;
      if (!member(key).is_array()) wrong(fmt::format("{} is not a list", key));
      for (const json& value : member(key)) {
        if (!value.is_number_unsigned()) wrong(fmt::format("{} holds something else than whole numbers from 0", key));
        values.push_back(value.get<std::uint64_t>());
      }
      return values;
    };

    Entry found;
    found.name = name;
    const json& dtype = member("dtype");
    const auto type =
        std::find_if(std::begin(kTypes), std::end(kTypes), [&](const Type& each) { return dtype == each.name; });
    if (type == std::end(kTypes))
      wrong(fmt::format("dtype {} is not known (expected one of {})", dtype.dump(), type_names()));
    found.scalar = type->scalar;

    const std::vector<std::uint64_t> shape = integers("shape"), offsets = integers("data_offsets");
    if (shape.size() > kMostDimensions)
      wrong(fmt::format("{} dimensions (expected at most {})", shape.size(), kMostDimensions));
    // `extent` leaves zeros out: strides are products of the other sizes and have to fit, too.
    std::int64_t extent = static_cast<std::int64_t>(at::elementSize(found.scalar));
    bool empty = false;
    for (const std::uint64_t size : shape) {
      if (__builtin_mul_overflow(extent, std::max<std::uint64_t>(size, 1), &extent)) wrong("the shape is too large");
      empty |= size == 0;
      found.shape.push_back(static_cast<std::int64_t>(size));
    }
    if (offsets.size() != 2 || offsets[0] > offsets[1]) wrong("data_offsets is not a pair [begin, end]");
    found.begin = offsets[0];
    found.end = offsets[1];
    if (found.end > numbers_.size())
      wrong(
          fmt::format("its numbers end at byte {} of {}; the file is cut off or damaged", found.end, numbers_.size()));
    const std::uint64_t expected = empty ? 0 : static_cast<std::uint64_t>(extent);
    if (found.end - found.begin != expected)
      wrong(fmt::format("{} bytes of numbers, but its shape and dtype take {}", found.end - found.begin, expected));
    return found;
  }

  // Each byte of the numbers belongs to exactly one tensor.
  void check_cover(const std::vector<Entry>& entries) const {
    std::vector<const Entry*> order;
    for (const Entry& each : entries) order.push_back(&each);
    std::sort(order.begin(), order.end(),
              [](const Entry* a, const Entry* b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
    std::uint64_t covered = 0;
    for (const Entry* each : order) {
      if (each->begin != covered)
        refuse(fmt::format("tensor \"{}\": its numbers begin at byte {} and {} byte {}, where those before it end",
                           each->name, each->begin, each->begin < covered ? "overlap" : "leave a gap after", covered));
      covered = each->end;
    }
    if (covered != numbers_.size())
      refuse(fmt::format("{} bytes of numbers, of which the header names {}", numbers_.size(), covered));
  }

  at::Tensor tensor(const Entry& entry) const {
    const std::string_view bytes = numbers_.substr(entry.begin, entry.end - entry.begin);
    // To read a truth value that is neither 0 nor 1 is undefined.
    if (entry.scalar == at::kBool && std::any_of(bytes.begin(), bytes.end(), [](char byte) { return byte & ~1; }))
      refuse(fmt::format("tensor \"{}\": a BOOL is neither 0 nor 1", entry.name));
    at::Tensor values = at::empty(entry.shape, entry.scalar);
    if (!bytes.empty()) std::memcpy(values.data_ptr(), bytes.data(), bytes.size());
    return values;
  }

  const std::string& path_;
  std::string_view header_, numbers_;
};

}  // namespace

std::string safetensors_bytes(const TensorState& tensors, const std::map<std::string, std::string>& metadata) {
  std::vector<at::Tensor> values;  // packed, row by row
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    if (name == kMetadata || !names.insert(name).second)
      throw UsageError(fmt::format("a tensor cannot be saved as \"{}\", a name that is taken", name));
    if (!tensor.defined()) throw UsageError(fmt::format("tensor \"{}\" has no value to be saved", name));
    values.push_back(tensor.detach().cpu().contiguous());
  }

  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return values[i].element_size() > values[j].element_size(); });
  std::vector<std::size_t> begin(values.size());
  std::size_t size = 0;
  for (const std::size_t i : order) {
    begin[i] = size;
    size += values[i].nbytes();
  }

  std::string bytes(kLengthBytes, '\0');
  try {
    bytes += '{';
    if (!metadata.empty()) bytes += fmt::format("\"{}\":{}", kMetadata, json(metadata).dump());
    for (std::size_t i = 0; i < values.size(); ++i)
      bytes +=
          fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}", bytes.back() == '{' ? "" : ",",
                      json(tensors[i].first).dump(), type_name(tensors[i].first, values[i].scalar_type()),
                      json(values[i].sizes().vec()).dump(), begin[i], begin[i] + values[i].nbytes());
    bytes += '}';
  } catch (const json::exception&) {
    throw UsageError("a name of a tensor or a text of its metadata is not UTF-8, and cannot be saved");
  }
  bytes.append((kAlignment - bytes.size() % kAlignment) % kAlignment, ' ');
  const std::uint64_t length = bytes.size() - kLengthBytes;
  if (length > kLargestHeader)
    throw UsageError(fmt::format("names and texts of {} bytes cannot be saved (at most {})", length, kLargestHeader));
  std::memcpy(bytes.data(), &length, kLengthBytes);

  bytes.reserve(bytes.size() + size);
  for (const std::size_t i : order) bytes.append(static_cast<const char*>(values[i].data_ptr()), values[i].nbytes());
  return bytes;
}

TensorState parse_safetensors(std::string_view bytes, const std::string& path,
                              std::map<std::string, std::string>* metadata) {
  return Reader(bytes, path).tensors(metadata);
}

}  // namespace ick
