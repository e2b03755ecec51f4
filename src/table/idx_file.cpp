#include "idx_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "ick/base/error.h"
#include "ick/base/text.h"

namespace ick::detail {
namespace {

// Bytes of a number of this type; 0 when there is no such type.
std::int64_t size_of(int type) {
  switch (type) {
    case 0x08:  // unsigned byte
    case 0x09:  // signed byte
      return 1;
    case 0x0B:  // short
      return 2;
    case 0x0C:  // int
    case 0x0D:  // float
      return 4;
    case 0x0E:  // double
      return 8;
    default:
      return 0;
  }
}

template <typename Bits>
Bits big_endian(const unsigned char* from) {
  Bits bits = 0;
  for (std::size_t i = 0; i < sizeof(Bits); ++i) bits = static_cast<Bits>(bits << 8 | from[i]);
  return bits;
}

float number(int type, const unsigned char* from) {
  switch (type) {
    case 0x08:
      return *from;
    case 0x09:
      return static_cast<std::int8_t>(*from);
    case 0x0B:
      return static_cast<std::int16_t>(big_endian<std::uint16_t>(from));
    case 0x0C:
      return static_cast<float>(static_cast<std::int32_t>(big_endian<std::uint32_t>(from)));
    case 0x0D:
      return std::bit_cast<float>(big_endian<std::uint32_t>(from));
    default:
      return static_cast<float>(std::bit_cast<double>(big_endian<std::uint64_t>(from)));
  }
}

}  // namespace

IdxFile::IdxFile(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw DataError(std::string("cannot be opened: ") + std::strerror(errno));
  try {
    struct ::stat status = {};
    if (::fstat(descriptor_, &status) != 0 || status.st_size == 0) throw DataError("is empty");
    const std::vector<unsigned char> magic = bytes(0, 4);
    const bool is_idx = magic.size() == 4 && magic[0] == 0 && magic[1] == 0 && size_of(magic[2]) > 0;
    if (!is_idx) throw DataError("is not an idx file, which starts with two zero bytes and a type (gzip is not read)");
    const int dimensions = magic[3];
    if (dimensions != 3 && dimensions != 4) {
      throw DataError("is an idx file of " + std::to_string(dimensions) +
                      " dimensions; images have 3, number, height and width, or 4, with channels");
    }
    type_ = magic[2];
    start_ = 4 + 4 * dimensions;
    const std::vector<unsigned char> head = bytes(4, 4 * dimensions);
    if (std::ssize(head) < 4 * dimensions) throw DataError("is cut short, within its first bytes");
    std::vector<std::int64_t> size;
    for (int d = 0; d < dimensions; ++d) size.push_back(big_endian<std::uint32_t>(head.data() + 4 * d));
    channels_last_ = dimensions == 4 && size[3] >= 1 && size[3] <= 4;
    count_ = size[0];
    shape_ = dimensions == 3  ? ImageShape{1, size[1], size[2]}
             : channels_last_ ? ImageShape{size[3], size[1], size[2]}
                              : ImageShape{size[1], size[2], size[3]};
    if (std::find(size.begin(), size.end(), 0) != size.end()) throw DataError("is an idx file without pixels");
    // As doubles, which four numbers of 32 bits do not overflow.
    double expected = static_cast<double>(size_of(type_));
    for (const std::int64_t each : size) expected *= static_cast<double>(each);
    if (static_cast<double>(status.st_size - start_) < expected) {
      throw DataError("is cut short: " + number_text(expected) + " bytes of pixels were expected in it, but it has " +
                      std::to_string(status.st_size - start_));
    }
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

IdxFile::~IdxFile() { ::close(descriptor_); }

std::vector<unsigned char> IdxFile::bytes(std::int64_t offset, std::int64_t size) const {
  std::vector<unsigned char> read(static_cast<std::size_t>(size));
  std::int64_t done = 0;
  while (done < size) {
    const ::ssize_t got =
        ::pread(descriptor_, read.data() + done, static_cast<std::size_t>(size - done), offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw DataError(std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) break;
    done += got;
  }
  read.resize(static_cast<std::size_t>(done));
  return read;
}

ImageShape IdxFile::shape(const std::vector<int>& bands) const {
  for (const int each : bands) {
    if (each > shape_.channels) {
      throw DataError("has " + count_of_channels(shape_.channels) + ", but bands= asks for channel " +
                      std::to_string(each));
    }
  }
  return {bands.empty() ? shape_.channels : std::ssize(bands), shape_.height, shape_.width};
}

Pixels IdxFile::read(std::int64_t image, const ImageSettings& settings, const ImageShape& wanted) const {
  check_channels(shape(settings.bands).channels, wanted);
  const Window window = fitted_window(settings.fit, shape_.height, shape_.width, wanted);
  const std::int64_t each = size_of(type_), size = each * shape_.numbers();
  const std::vector<unsigned char> raw = bytes(start_ + image * size, size);
  if (std::ssize(raw) < size) throw DataError("is cut short");

  Pixels pixels;
  std::vector<float> plane(static_cast<std::size_t>(wanted.height * wanted.width));
  for (std::int64_t k = 0; k < wanted.channels; ++k) {
    const std::int64_t c = settings.bands.empty() ? k : settings.bands[static_cast<std::size_t>(k)] - 1;
    const auto value = [&](std::int64_t row, std::int64_t column) {
      const std::int64_t place = channels_last_ ? (row * shape_.width + column) * shape_.channels + c
                                                : (c * shape_.height + row) * shape_.width + column;
      return number(type_, raw.data() + each * place);
    };
    resize(window, value, wanted.height, wanted.width, plane.data());
    fill_missing(plane.data(), std::ssize(plane), [](float pixel) { return !std::isfinite(pixel); });
    if (type_ == 0x08) {
      for (const float pixel : plane) pixels.bytes.push_back(static_cast<std::uint8_t>(std::lround(pixel)));
    } else {
      pixels.numbers.insert(pixels.numbers.end(), plane.begin(), plane.end());
    }
  }
  return pixels;
}

}  // namespace ick::detail
