#pragma once

#include <gdal.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "growing_column.h"
#include "ick/table/image.h"
#include "pixels.h"

namespace ick::detail {

void start_gdal();  // before anything else of it: drivers are registered, and no coordinate system is fetched

// While this lives, in this thread: what GDAL has to say is kept rather than printed, and it reads no files beside the
// one it is given (.aux.xml) and fetches nothing. The rest of a process that uses GDAL keeps its own settings.
class GdalMessages {
 public:
  GdalMessages();
  ~GdalMessages();
  GdalMessages(const GdalMessages&) = delete;
  GdalMessages& operator=(const GdalMessages&) = delete;

  std::string text() const;  // ": the last message", "" when there is none
  bool cut_short = false;    // which libjpeg merely warns of

 private:
  static void keep(CPLErr severity, CPLErrorNum number, const char* message);
  std::string last_;
  std::vector<std::pair<const char*, std::optional<std::string>>> before_;  // settings of the thread
};

struct CloseDataset {
  void operator()(GDALDatasetH dataset) const;
};

// A file of the folder, which has been found to be there; of a netCDF file perhaps one variable.
struct ImageFile {
  std::string path, variable;
};

// A file that GDAL reads, opened. Colours are RGB or grey: a palette is looked up, an alpha channel left out. Not for
// use from several threads at once. DataErrors say what is wrong with the file, and leave it to others to name it.
class GdalImage {
 public:
  // Nothing beside the file is opened. Formats that can draw on other files or on a network are refused, and so is a
  // file that names another one for its overviews.
  explicit GdalImage(const ImageFile& file);

  GDALDatasetH dataset() const { return dataset_.get(); }
  std::int64_t height() const { return height_; }
  std::int64_t width() const { return width_; }
  ImageShape::Depth depth() const { return is_bytes_ || palette_ ? ImageShape::Depth::bytes : ImageShape::Depth::wide; }
  std::int64_t channels(const std::vector<int>& bands) const;  // DataError when it has not all of them

  // A part of the image, brought to `shape`; channels are those in `bands`, all when empty. Pixels without a value
  // get the mean of the others of their channel, 0 when there are none.
  Pixels read(const Window& window, const ImageShape& shape, const std::vector<int>& bands) const;

 private:
  GDALRasterBandH band(int number) const { return GDALGetRasterBand(dataset_.get(), number); }
  Pixels read_palette(const Window& window, const ImageShape& shape, const std::vector<int>& bands) const;

  std::unique_ptr<Descriptor> descriptor_;  // lives longer than the dataset, whose name it is
  std::unique_ptr<void, CloseDataset> dataset_;
  std::int64_t height_ = 0, width_ = 0;
  std::vector<int> all_bands_;         // that are not alpha; red, green and blue of a palette
  GDALColorTableH palette_ = nullptr;  // the file's
  bool is_bytes_ = true;               // every number of every channel
};

void check_size(const GdalImage& image);  // DataError when it is too large to be read whole

// A whole image, brought to `shape` as the settings say.
Pixels read_image(const GdalImage& image, const ImageSettings& settings, const ImageShape& shape);

}  // namespace ick::detail
