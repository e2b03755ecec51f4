#include "feature/state.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/net/network.h"

namespace ick {

namespace {

std::string shape_text(const StateReader::Sizes& sizes) {
  std::string text;
  for (const std::int64_t size : sizes) {
    text += (text.empty() ? "" : ", ") + (size == StateReader::kAny ? "any" : std::to_string(size));
  }
  return "(" + text + ")";
}

bool fits(const at::Tensor& tensor, const StateReader::Sizes& sizes) {
  return std::equal(tensor.sizes().begin(), tensor.sizes().end(), sizes.begin(), sizes.end(),
                    [](std::int64_t found, std::int64_t expected) {
                      return expected == StateReader::kAny ? found > 0 : found == expected;
                    });
}

// Place of the first number outside low .. high, or -1.
template <class Number>
std::int64_t first_outside(const at::Tensor& tensor, Number low, Number high) {
  const Number* number = tensor.data_ptr<Number>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    if (!(number[i] >= low && number[i] <= high)) return i;
  }
  return -1;
}

}  // namespace

void put(MapState& state, const std::string& name, const at::Tensor& tensor) {
  if (tensor.numel() > 0) state.emplace_back(name, tensor.detach().clone(at::MemoryFormat::Contiguous));
}

void StateReader::refuse(const std::string& name, const std::string& found) const {
  throw DataError("the state of the feature map: \"" + prefix_ + name + "\" " + found +
                  "; restore it with the kernel and the options it was saved with");
}

bool StateReader::has(const std::string& name) const {
  return std::any_of(state_.begin(), state_.end(), [&](const auto& each) { return each.first == prefix_ + name; });
}

at::Tensor StateReader::find(const std::string& name, at::ScalarType dtype, const Sizes& sizes) const {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return at::empty(sizes, dtype);
  const at::Tensor tensor = find_tensor(state_, prefix_ + name);
  if (!tensor.defined()) refuse(name, "is missing");
  if (tensor.scalar_type() != dtype) {
    refuse(name, std::string("holds numbers of type ") + at::toString(tensor.scalar_type()) + " (expected " +
                     at::toString(dtype) + ")");
  }
  if (!fits(tensor, sizes)) {
    refuse(name, "has the shape " + shape_text(tensor.sizes().vec()) + " (expected " + shape_text(sizes) + ")");
  }
  return tensor.detach().clone(at::MemoryFormat::Contiguous);
}

at::Tensor StateReader::numbers(const std::string& name, const Sizes& sizes, const Range& range) const {
  at::Tensor tensor = find(name, at::kDouble, sizes);
  const std::int64_t place = first_outside(tensor, range.low, range.high);
  if (place < 0) return tensor;
  const double number = tensor.data_ptr<double>()[place];
  refuse(name,
         "holds " + number_text(number) + " at place " + std::to_string(place + 1) + " (expected " + range.text + ")");
}

at::Tensor StateReader::integers(const std::string& name, const Sizes& sizes, std::int64_t low,
                                 std::int64_t high) const {
  at::Tensor tensor = find(name, at::kLong, sizes);
  const std::int64_t place = first_outside(tensor, low, high);
  if (place < 0) return tensor;
  refuse(name, "holds " + std::to_string(tensor.data_ptr<std::int64_t>()[place]) + " at place " +
                   std::to_string(place + 1) + " (expected " + std::to_string(low) + " to " + std::to_string(high) +
                   ")");
}

}  // namespace ick
