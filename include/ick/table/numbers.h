#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

namespace ick {

// The numbers of a column: a sequence that does not change, shared by its copies, in memory or in a mapped file.
class Numbers {
 public:
  using value_type = double;
  using const_iterator = const double*;
  using iterator = const_iterator;

  Numbers() = default;
  Numbers(std::vector<double> values);
  Numbers(std::initializer_list<double> values) : Numbers(std::vector<double>(values)) {}
  // The first `count` of a file, which stays mapped when the descriptor is closed. std::system_error when it cannot be.
  static Numbers mapped(int descriptor, std::size_t count);

  double operator[](std::size_t i) const { return data_[i]; }
  const double* data() const { return data_; }
  const double* begin() const { return data_; }
  const double* end() const { return data_ + size_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::vector<double> copy() const { return {begin(), end()}; }

  bool is_mapped() const { return is_mapped_; }
  // Gives the memory of a mapped file back; what is read again comes from the file. Others are not affected.
  void release() const;

  friend bool operator==(const Numbers& a, const Numbers& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::shared_ptr<const void> owner_;
  const double* data_ = nullptr;
  std::size_t size_ = 0;
  bool is_mapped_ = false;
};

}  // namespace ick
