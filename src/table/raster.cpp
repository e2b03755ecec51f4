#include "raster.h"

#include <ogr_srs_api.h>

#include <algorithm>
#include <cmath>

#include "ick/base/error.h"

namespace ick::detail {
namespace {

using ReferenceSystem = std::unique_ptr<void, void (*)(OGRSpatialReferenceH)>;

// Coordinates in the order x, y: longitude first.
ReferenceSystem traditional(OGRSpatialReferenceH system) {
  OSRSetAxisMappingStrategy(system, OAMS_TRADITIONAL_GIS_ORDER);
  return {system, &OSRDestroySpatialReference};
}

}  // namespace

void DestroyTransformation::operator()(void* transformation) const {
  OCTDestroyCoordinateTransformation(transformation);
}

Raster::Raster(const ImageFile& file) : image_(file) {
  const GdalMessages messages;
  std::array<double, 6> place{};  // x = p0 + p1 column + p2 row, y = p3 + p4 column + p5 row
  const bool is_placed = GDALGetGeoTransform(image_.dataset(), place.data()) == CE_None ||
                         GDALReadWorldFile(file.path.c_str(), nullptr, place.data()) ||  // a.tfw, a.tifw
                         GDALReadWorldFile(file.path.c_str(), "wld", place.data());
  if (!is_placed || !GDALInvGeoTransform(place.data(), to_pixel_.data())) {
    throw DataError("does not say where on Earth it is; patches need a raster with a geotransform, such as a GeoTIFF");
  }
  const auto width = static_cast<double>(image_.width()), height = static_cast<double>(image_.height());
  OGRSpatialReferenceH found = GDALGetSpatialRef(image_.dataset());
  bool is_geographic = found && OSRIsGeographic(found);
  if (found) {
    const ReferenceSystem raster = traditional(OSRClone(found));
    const ReferenceSystem places = traditional(OSRNewSpatialReference(nullptr));
    OSRSetWellKnownGeogCS(places.get(), "WGS84");
    transformation_.reset(OCTNewCoordinateTransformation(places.get(), raster.get()));
    if (!transformation_) {
      throw DataError("has coordinates that latitude and longitude cannot be brought to" + messages.text());
    }
  } else {
    const double x[] = {place[0], place[0] + place[1] * width}, y[] = {place[3], place[3] + place[5] * height};
    is_geographic = place[2] == 0.0 && place[4] == 0.0 && std::min(x[0], x[1]) >= -360.5 &&
                    std::max(x[0], x[1]) <= 720.5 && std::min(y[0], y[1]) >= -90.5 && std::max(y[0], y[1]) <= 90.5;
    if (!is_geographic) {
      throw DataError(
          "has no coordinate system, and its coordinates are not degrees; give it one (gdal_edit.py -a_srs)");
    }
  }
  has_longitudes_ = is_geographic && place[2] == 0.0 && place[4] == 0.0;
  west_ = std::min(place[0], place[0] + place[1] * width);
  // Half a pixel of tolerance: a step such as 1/12 is rounded. Some maps have their first column again as the last.
  const std::int64_t turn = has_longitudes_ ? std::llround(360.0 / std::abs(place[1])) : 0;
  if (turn <= image_.width()) turn_ = turn;
}

std::vector<std::int64_t> Raster::locate(std::vector<double> latitude, std::vector<double> longitude) const {
  const std::lock_guard lock(mutex_);
  const GdalMessages messages;
  std::vector<double>&x = longitude, &y = latitude;
  // Places that the raster's projection does not know, missing ones among them, become infinite.
  if (transformation_) OCTTransform(transformation_.get(), static_cast<int>(x.size()), x.data(), y.data(), nullptr);

  const auto width = static_cast<double>(image_.width()), height = static_cast<double>(image_.height());
  // Edges are rounded numbers: what is a hair beyond is in the pixel next to it.
  const auto pixel = [](double at, double count) {
    constexpr double kHair = 1e-3;
    return at > -kHair && at < count + kHair ? std::clamp(std::floor(at), 0.0, count - 1.0) : -1.0;
  };
  std::vector<std::int64_t> pixels(x.size(), -1);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (has_longitudes_) x[i] -= 360.0 * std::floor((x[i] - west_) / 360.0);
    const double column = pixel(to_pixel_[0] + to_pixel_[1] * x[i] + to_pixel_[2] * y[i], width);
    const double row = pixel(to_pixel_[3] + to_pixel_[4] * x[i] + to_pixel_[5] * y[i], height);
    if (column >= 0.0 && row >= 0.0) pixels[i] = static_cast<std::int64_t>(row * width + column);
  }
  return pixels;
}

Pixels Raster::patch(std::int64_t centre, const std::vector<int>& bands, const ImageShape& shape) const {
  check_channels(image_.channels(bands), shape);
  const std::int64_t height = image_.height(), width = image_.width();
  std::vector<std::int64_t> rows, columns;  // of the raster, for those of the patch
  for (std::int64_t i = 0; i < shape.height; ++i) {
    rows.push_back(std::clamp<std::int64_t>(centre / width - shape.height / 2 + i, 0, height - 1));
  }
  for (std::int64_t j = 0; j < shape.width; ++j) {
    const std::int64_t column = centre % width - shape.width / 2 + j;
    columns.push_back(turn_ > 0 ? ((column % turn_) + turn_) % turn_ : std::clamp<std::int64_t>(column, 0, width - 1));
  }

  Pixels patch;
  const auto place = [&](const auto& part, auto& whole, const Window& window, std::size_t first, std::size_t end) {
    if (part.empty()) return;
    whole.resize(static_cast<std::size_t>(shape.numbers()));
    for (std::int64_t c = 0; c < shape.channels; ++c) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto from = static_cast<std::size_t>((c * window.height + rows[i] - window.top) * window.width);
        const std::size_t to = (static_cast<std::size_t>(c) * rows.size() + i) * columns.size();
        for (std::size_t j = first; j < end; ++j) {
          whole[to + j] = part[from + static_cast<std::size_t>(columns[j] - window.left)];
        }
      }
    }
  };
  // Columns next to each other are read at once: all of them, but for a patch across the seam of a map of the Earth.
  const std::lock_guard lock(mutex_);
  for (std::size_t first = 0, end = 0; first < columns.size(); first = end) {
    for (end = first + 1; end < columns.size() && columns[end] >= columns[end - 1];) ++end;
    const Window window{rows.front(), columns[first], rows.back() - rows.front() + 1,
                        columns[end - 1] - columns[first] + 1};
    const Pixels part = image_.read(window, {shape.channels, window.height, window.width}, bands);
    place(part.bytes, patch.bytes, window, first, end);
    place(part.numbers, patch.numbers, window, first, end);
  }
  return patch;
}

}  // namespace ick::detail
