#include "column_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <concepts>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include "ick/base/error.h"
#include "ick/base/file.h"
#include "read.h"

namespace ick::detail {
namespace {

constexpr std::string_view kFormat =
    std::endian::native == std::endian::little ? "ick columns 1, little endian" : "ick columns 1, big endian";
constexpr const char* kDescription = "description";
constexpr std::size_t kEnd = 1 << 16;  // bytes at either end of a file that a mark looks at

std::uint32_t checksum(std::uint32_t before, const char* bytes, std::size_t count) {
  return static_cast<std::uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes), count));
}

// "17.f64", "3.text": what column_file() makes.
bool is_column_file(std::string_view name) {
  const std::size_t dot = name.find_first_not_of("0123456789");
  return dot != 0 && dot != std::string_view::npos && (name.substr(dot) == ".f64" || name.substr(dot) == ".text");
}

// True for any version, even if the rest is damaged: the format stands behind a checksum of at most ten digits.
bool is_description(const std::string& path) {
  std::array<char, 64> start{};
  std::ifstream(path, std::ios::binary).read(start.data(), std::ssize(start));
  return std::string_view(start.data(), start.size()).find(":ick columns ") < 24;
}

FolderKind cache_folder() {
  return {kDescription, [](const std::string& name) { return name == kDescription || is_column_file(name); },
          &is_description};
}

std::string column_file(std::size_t c, ColumnType type) {
  return std::to_string(c) + (type == ColumnType::text ? ".text" : ".f64");
}

struct Kept {
  bool declared = false;
  ColumnInfo as;  // declared: what ReadOptions::known said
  ColumnInfo info;
  std::int64_t missing = 0;
  FileMark mark;  // of its file
};

struct Description {
  std::string format{kFormat};
  FileMark table;
  int separator = 0, most_levels = 0;  // of ReadOptions, as is `missing`
  std::vector<std::string> missing;
  bool all = false;  // columns of the file, not some
  std::int64_t rows = 0;
  std::vector<Kept> columns;

  bool was_read_as(const ReadOptions& options) const {
    return separator == options.separator && most_levels == options.most_levels && missing == options.missing;
  }
};

// Reads or writes them all, one after the other.
void each_field(auto& archive, Description& all) {
  const auto info = [&](ColumnInfo& each) {
    int type = static_cast<int>(each.type);
    archive.field(each.name), archive.field(type), archive.field(each.time_format);
    archive.list(each.levels, [&](std::string& level) { archive.field(level); });
    each.type = static_cast<ColumnType>(type);
  };
  const auto mark = [&](FileMark& each) {
    archive.field(each.bytes), archive.field(each.changed), archive.field(each.ends);
  };
  archive.field(all.format);
  mark(all.table);
  archive.field(all.separator), archive.field(all.most_levels);
  archive.list(all.missing, [&](std::string& word) { archive.field(word); });
  archive.field(all.all), archive.field(all.rows);
  archive.list(all.columns, [&](Kept& each) {
    archive.field(each.declared), info(each.as), info(each.info), archive.field(each.missing), mark(each.mark);
  });
}

// Each field is its size, a colon, its text and a line end: any bytes may be in it.
struct Writer {
  std::string text;
  void field(const std::string& value) { text += std::to_string(value.size()) + ":" + value + "\n"; }
  void field(std::integral auto value) { field(std::to_string(value)); }
  template <typename Item>
  void list(std::vector<Item>& items, const auto& each) {
    field(items.size());
    for (Item& item : items) each(item);
  }
};

struct Damaged : std::exception {};

struct Reader {
  std::string_view rest;

  template <std::integral Number>
  Number number(std::string_view from) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), value);
    if (error != std::errc() || end != from.data() + from.size()) throw Damaged();
    return static_cast<Number>(value);
  }
  void field(std::string& value) {
    const std::size_t colon = rest.find(':');
    if (colon == std::string_view::npos) throw Damaged();
    const auto size = number<std::size_t>(rest.substr(0, colon));
    if (size >= rest.size() - colon - 1) throw Damaged();
    value = rest.substr(colon + 1, size);
    rest.remove_prefix(colon + 1 + size + 1);
  }
  template <std::integral Number>
  void field(Number& value) {
    std::string digits;
    field(digits);
    value = number<Number>(digits);
  }
  template <typename Item>
  void list(std::vector<Item>& items, const auto& each) {
    std::size_t size = 0;
    field(size);
    if (size > rest.size()) throw Damaged();
    items.resize(size);
    for (Item& item : items) each(item);
  }
};

std::string packed(Description description) {
  Writer body, sum;
  each_field(body, description);
  sum.field(checksum(0, body.text.data(), body.text.size()));
  return sum.text + body.text;
}

Description unpacked(std::string_view text) {
  Reader reader{text};
  std::uint32_t sum = 0;
  reader.field(sum);
  if (sum != checksum(0, reader.rest.data(), reader.rest.size())) throw Damaged();
  Description description;
  each_field(reader, description);
  if (description.format != kFormat) throw Damaged();
  return description;
}

const ColumnInfo* known_of(const ReadOptions& options, const std::string& name) {
  const ColumnInfo* found = nullptr;
  for (const ColumnInfo& info : options.known) {
    if (info.name == name) found = &info;
  }
  return found;
}

// What the column is when it is read as `known`, where what is kept tells that.
std::optional<ColumnInfo> info_as(const Kept& kept, const ColumnInfo* known) {
  if (!known) return kept.declared ? std::nullopt : std::optional(kept.info);
  if ((kept.declared && *known == kept.as) || *known == kept.info) return kept.info;
  const bool has_all_levels = !kept.declared || kept.as.levels.empty();
  const bool is_category = known->type == ColumnType::category && kept.info.type == ColumnType::category;
  if (is_category && known->levels.empty() && has_all_levels) return kept.info;
  ColumnInfo number = kept.info;  // integers are numbers
  if (number.type == ColumnType::integer) number.type = ColumnType::number;
  return *known == number ? std::optional(number) : std::nullopt;
}

Numbers map_numbers(const std::string& path, const FileMark& mark, std::int64_t rows) {
  if (mark.bytes != rows * static_cast<std::int64_t>(sizeof(double))) throw Damaged();
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) throw Damaged();
  return Numbers::mapped(file.number(), static_cast<std::size_t>(rows));
}

// Cells one after the other, each closed by a zero byte, which no table has.
void write_text(const std::string& path, const std::vector<std::string>& cells) {
  std::ofstream file(path, std::ios::binary);
  for (const std::string& cell : cells) file.write(cell.c_str(), std::ssize(cell) + 1);
  file.close();
  if (!file) throw std::system_error(errno, std::generic_category());
}

std::vector<std::string> read_text(const std::string& path, std::int64_t rows) {
  const std::string bytes = read_file(path);
  if (std::count(bytes.begin(), bytes.end(), '\0') != rows || !bytes.ends_with('\0')) throw Damaged();
  std::vector<std::string> cells;
  cells.reserve(static_cast<std::size_t>(rows));
  for (std::size_t at = 0; at < bytes.size(); at += cells.back().size() + 1) cells.emplace_back(bytes.data() + at);
  return cells;
}

Column read_column(const std::string& path, const ColumnInfo& info, const Kept& kept, std::int64_t rows) {
  if (mark_of(path) != kept.mark) throw Damaged();
  Column column{info, {}, {}, kept.missing};
  if (info.type == ColumnType::text) {
    column.text = read_text(path, rows);
  } else {
    column.values = map_numbers(path, kept.mark, rows);
  }
  return column;
}

}  // namespace

std::optional<FileMark> mark_of(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  FileMark mark{status.st_size, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec, 0};
  std::array<char, kEnd> bytes;
  for (const std::int64_t offset : {std::int64_t{0}, std::max<std::int64_t>(0, mark.bytes - std::ssize(bytes))}) {
    const ssize_t count = ::pread(file.number(), bytes.data(), bytes.size(), offset);
    if (count < 0) return std::nullopt;
    mark.ends = checksum(mark.ends, bytes.data(), static_cast<std::size_t>(count));
  }
  return mark;
}

ColumnCache::ColumnCache(const std::string& path, const ReadOptions& options)
    : path_(path), folder_(path + ".columns"), options_(options) {
  if (!options.cache || path == "-") return;
  mark_ = mark_of(path);
  if (!mark_) return;
  parent_ = std::filesystem::path(path).parent_path().string();
  if (parent_.empty()) parent_ = ".";
}

std::optional<Table> ColumnCache::load() const {
  const std::string place = folder_ + "/" + kDescription;
  std::error_code ignored;
  if (!mark_ || !std::filesystem::is_regular_file(place, ignored)) return std::nullopt;
  try {
    const Description description = unpacked(read_file(place));
    const std::vector<std::string>& only = options_.only;
    if (description.table != *mark_ || !description.was_read_as(options_)) return std::nullopt;
    if (only.empty() && !description.all) return std::nullopt;
    Table table;
    table.rows = description.rows;
    table.from_cache = true;
    for (std::size_t c = 0; c < description.columns.size(); ++c) {
      const Kept& kept = description.columns[c];
      if (!only.empty() && std::find(only.begin(), only.end(), kept.info.name) == only.end()) continue;
      const auto info = info_as(kept, known_of(options_, kept.info.name));
      if (!info) return std::nullopt;
      table.columns.push_back(read_column(folder_ + "/" + column_file(c, info->type), *info, kept, table.rows));
    }
    if (!std::all_of(only.begin(), only.end(), [&](const auto& name) { return table.find(name); })) return std::nullopt;
    table.images = make_images(path_, options_);
    return table;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void ColumnCache::save(const Table& table, const std::vector<GrowingColumn>& files) const {
  try {
    Description description;
    description.table = mark_.value();
    description.separator = options_.separator;
    description.most_levels = options_.most_levels;
    description.missing = options_.missing;
    description.all = options_.only.empty();
    description.rows = table.rows;
    std::int64_t bytes = 0;
    StagedFolder folder(folder_, cache_folder());
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const Column& column = table.columns[c];
      const std::string file = folder.file(column_file(c, column.info.type));
      if (column.info.type == ColumnType::text) {
        write_text(file, column.text);
      } else {
        files[c].keep(file);
      }
      const ColumnInfo* const known = known_of(options_, column.info.name);
      description.columns.push_back(
          {known != nullptr, known ? *known : ColumnInfo(), column.info, column.missing, mark_of(file).value()});
      bytes += description.columns.back().mark.bytes;
    }
    folder.write(kDescription, packed(std::move(description)));
    if (mark_of(path_) != mark_) return remark_failure("it changed while it was read");
    folder.commit();
    remark("kept a copy of the columns in " + folder_ + "/ (" + std::to_string((bytes + 999'999) / 1'000'000) +
           " MB; safe to delete)");
  } catch (const std::exception& error) {
    // A folder that cannot be written, a full disk, another program that was faster: the table is there without it.
    remark_failure(error.what());
  }
}

void ColumnCache::remark_failure(const std::string& reason) const {
  remark("no copy of the columns kept in " + folder_ + "/ (" + reason + "); the table will be parsed again");
}

void ColumnCache::remark(const std::string& sentence) const {
  if (options_.remark) options_.remark(sentence);
}

}  // namespace ick::detail
