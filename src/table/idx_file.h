#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ick/table/image.h"
#include "pixels.h"

namespace ick::detail {

// Images in one file, in the format of the MNIST sets: two zero bytes, a type, a number of dimensions, the dimensions
// (32-bit), the numbers; big endian. Dimensions are (N, H, W), (N, H, W, C) when the last is 1 to 4, or (N, C, H, W).
// Safe to use from several threads. DataErrors say what is wrong with the file, and leave it to others to name it.
class IdxFile {
 public:
  explicit IdxFile(const std::string& path);
  ~IdxFile();
  IdxFile(const IdxFile&) = delete;
  IdxFile& operator=(const IdxFile&) = delete;

  std::int64_t count() const { return count_; }
  ImageShape shape(const std::vector<int>& bands) const;  // of each image
  Pixels read(std::int64_t image, const ImageSettings& settings, const ImageShape& shape) const;

 private:
  // Up to `size` bytes, as many as the file has.
  std::vector<unsigned char> bytes(std::int64_t offset, std::int64_t size) const;

  int descriptor_ = -1;
  int type_ = 0;
  std::int64_t count_ = 0, start_ = 0;  // start: of the numbers, in bytes
  ImageShape shape_;
  bool channels_last_ = false;
};

}  // namespace ick::detail
