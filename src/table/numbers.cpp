#include "ick/table/numbers.h"

#include <sys/mman.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace ick {

Numbers::Numbers(std::vector<double> values) {
  if (values.empty()) return;
  const auto owned = std::make_shared<const std::vector<double>>(std::move(values));
  data_ = owned->data();
  size_ = owned->size();
  owner_ = owned;
}

Numbers Numbers::mapped(int descriptor, std::size_t count) {
  Numbers numbers;
  if (count == 0) return numbers;
  const std::size_t bytes = count * sizeof(double);
  void* const begin = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
  if (begin == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  numbers.owner_ = std::shared_ptr<const void>(begin, [bytes](void* at) { ::munmap(at, bytes); });
  numbers.data_ = static_cast<const double*>(begin);
  numbers.size_ = count;
  numbers.is_mapped_ = true;
  return numbers;
}

void Numbers::release() const {
  if (is_mapped_) ::madvise(const_cast<double*>(data_), size_ * sizeof(double), MADV_DONTNEED);
}

}  // namespace ick
