#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ick/formula/expression.h"
#include "ick/table/table.h"

namespace ick {

struct ImageShape {
  std::int64_t channels = 0, height = 0, width = 0;
  // Numbers of an image file: bytes, or wider ones (16 bits, fractions). Those of the other kind are on another scale.
  enum class Depth { any, bytes, wide } depth = Depth::any;

  std::int64_t numbers() const { return channels * height * width; }
  bool operator==(const ImageShape& other) const {  // equal as tensors
    return channels == other.channels && height == other.height && width == other.width;
  }
};

// Where a network's images come from, and how they are brought to one size. Read off its arguments in the formula:
//   cnn(image)                                   a column of file names, relative to the table
//   cnn(image, a, b)                             the same; the network reads the columns behind it, too
//   cnn(row, idx="images.idx3-ubyte")            a column of numbers, from 0, of images in one idx file
//   cnn(raster="dem.tif", at=(lat, lon), size=32)  the patch of a raster around each row's place
//   size=64, size=[48, 64]                       height and width; otherwise those of the first training image
//   fit=resize, fit=crop                         what happens to images of another size; resize unless said
//   bands=[3, 2, 1]                              channels, from 1, of an image that has more
// A file's name may have the number of an image of an idx file behind it, digits.idx3-ubyte[17], and may name a
// variable of a netCDF-3 file, NETCDF:climate.nc:wind.
struct ImageSettings {
  enum class Fit { resize, crop };
  std::vector<std::string> columns;  // names or numbers of images; latitude and longitude of patches
  std::string idx, raster;           // file names; "" when there are none
  std::int64_t height = 0, width = 0;
  Fit fit = Fit::resize;
  std::vector<int> bands;
  bool operator==(const ImageSettings&) const = default;
};

// Small changes of training images, drawn anew each time one is seen.
//   flip=horizontal, flip=vertical, flip=both;   rotate=15deg: by up to 15 degrees;   shift=2: by up to 2 pixels
struct Augmentation {
  bool flip_horizontal = false, flip_vertical = false;
  double rotate = 0.0;  // degrees
  double shift = 0.0;   // pixels
  bool any() const { return flip_horizontal || flip_vertical || rotate > 0.0 || shift > 0.0; }
  bool operator==(const Augmentation&) const = default;
};

struct ImageArgument {
  std::string_view name, text, default_text;
};
std::vector<ImageArgument> image_arguments();  // those above, for lists and messages

// Take the arguments that speak of images, and the columns that say which image a row shows, off a call. What is left
// is the network's. UsageError that names the column of the formula.
ImageSettings take_image_settings(Call& call);
Augmentation take_augmentation(Call& call);

// Changes an image (C, H, W) in place; the outcome follows from the seed. Pixels from outside are those of the edge.
void augment(const Augmentation& augmentation, const ImageShape& shape, std::uint64_t seed, float* pixels);

// The images that the rows of a table name, decoded when asked for and kept while there is room. Safe to use from
// several threads.
class ImageStore {
 public:
  static constexpr std::int64_t kCacheBytes = 1'000'000'000;

  // Names are relative to `folder` and may not lead out of it.
  explicit ImageStore(std::string folder, std::int64_t cache_bytes = kCacheBytes);
  ~ImageStore();

  // The number of the image that each row shows; rows that show the same image have the same. -1 where the column is
  // missing or a place is outside the raster. Does not open files but the idx file and the raster. DataError names row
  // and file when a name leads out of the folder, there is no such file, or no such image in it.
  std::vector<std::int64_t> find(const Table& table, const ImageSettings& settings);

  // What the file holds, after `bands` and `size` of the settings. DataError as of read().
  ImageShape shape(std::int64_t image) const;

  // Pixels in the file's own numbers, (C, H, W), brought to `shape`. DataError names row and file: not an image, cut
  // short, another number of channels, colours that are not RGB or grey (CMYK, a palette is resolved), too large.
  void read(std::int64_t image, const ImageShape& shape, float* to) const;

  // The same images again cost no decoding while this has not reached the limit.
  std::int64_t cached_bytes() const;
  std::string describe(std::int64_t image) const;  // 'row 17, "a.png"': the first row that names it

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ick
