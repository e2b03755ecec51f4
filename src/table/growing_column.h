#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ick/table/numbers.h"

namespace ick::detail {

// An open file, closed at the end.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// The numbers of a column while they arrive: in memory and, from spill() on, in a file without a name, of which nothing
// is left behind whatever becomes of the program. std::system_error when there is no room for it.
class GrowingColumn {
 public:
  void reserve(std::size_t count) { values_.reserve(count); }
  void append(std::span<const double> values);
  void spill(const std::string& folder);
  bool is_spilled() const { return file_.is_open(); }
  std::size_t size() const { return spilled_ + values_.size(); }

  // All numbers in order, a part at a time.
  void visit(const std::function<void(std::span<const double>)>& use) const;
  void change(const std::function<void(std::span<double>)>& use);

  Numbers numbers();  // all of them; the last call
  // Gives the file a name in the file system of spill(), or copies it where that cannot be.
  void keep(const std::string& path) const;

 private:
  std::vector<double> values_;  // none when spilled
  Descriptor file_;
  std::size_t spilled_ = 0;  // in the file
};

}  // namespace ick::detail
