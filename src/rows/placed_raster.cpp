#include "rows/placed_raster.h"

#include <cpl_conv.h>
#include <ogr_srs_api.h>

#include <cmath>

#include "ick/base/error.h"

namespace ick::detail {
namespace {

using System = std::unique_ptr<void, void (*)(OGRSpatialReferenceH)>;

System x_first(OGRSpatialReferenceH system) {  // longitude first
  OSRSetAxisMappingStrategy(system, OAMS_TRADITIONAL_GIS_ORDER);
  return {system, &OSRDestroySpatialReference};
}

struct DestroyOct {
  void operator()(void* transformation) const { OCTDestroyCoordinateTransformation(transformation); }
};
using Transformation = std::unique_ptr<void, DestroyOct>;

void transform(const Transformation& by, std::vector<double>& x, std::vector<double>& y) {
  const GdalMessages messages;
  std::vector<int> good(x.size());
  if (x.empty()) return;
  OCTTransformEx(by.get(), static_cast<int>(x.size()), x.data(), y.data(), nullptr, good.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!good[i]) x[i] = y[i] = HUGE_VAL;
  }
}

}  // namespace

struct PlacedRaster::Transformations {
  Transformation to_places, from_places;
};

PlacedRaster::PlacedRaster(const std::string& path, bool degrees) : path_(path) {
  try {
    image_ = std::make_unique<GdalImage>(ImageFile{path, ""});
  } catch (const DataError& error) {
    throw DataError(path + " " + error.message().marked());
  }
  const GdalMessages messages;
  if (GDALGetGeoTransform(image_->dataset(), place_.data()) != CE_None) {
    throw DataError(path +
                    " does not say where on Earth it is; expected a raster with a geotransform, such as a GeoTIFF");
  }
  if (place_[1] * place_[5] - place_[2] * place_[4] == 0.0) {
    throw DataError(path + " has cells without a size: its geotransform is of no use");
  }
  if (!degrees) return;
  OGRSpatialReferenceH found = GDALGetSpatialRef(image_->dataset());
  if (found == nullptr) {
    throw DataError(path +
                    " has no coordinate system, and the model reads latitude and longitude; give it one (gdal_edit.py "
                    "-a_srs EPSG:4326, if its coordinates are degrees)");
  }
  const System raster = x_first(OSRClone(found)), places = x_first(OSRNewSpatialReference(nullptr));
  OSRSetWellKnownGeogCS(places.get(), "WGS84");
  transformations_ = std::make_unique<Transformations>();
  transformations_->to_places.reset(OCTNewCoordinateTransformation(raster.get(), places.get()));
  transformations_->from_places.reset(OCTNewCoordinateTransformation(places.get(), raster.get()));
  if (!transformations_->to_places || !transformations_->from_places) {
    throw DataError(path + " has coordinates that cannot be brought to latitude and longitude" + messages.text());
  }
}

PlacedRaster::~PlacedRaster() = default;

std::string PlacedRaster::wkt() const {
  const char* const text = GDALGetProjectionRef(image_->dataset());
  return text == nullptr ? "" : text;
}

void PlacedRaster::to_places(std::vector<double>& x, std::vector<double>& y) const {
  if (transformations_) transform(transformations_->to_places, x, y);
}

void PlacedRaster::from_places(std::vector<double>& x, std::vector<double>& y) const {
  if (transformations_) transform(transformations_->from_places, x, y);
}

std::vector<bool> PlacedRaster::with_value(const CellWindow& window) const {
  const GdalMessages messages;
  const GDALRasterBandH band = GDALGetRasterBand(image_->dataset(), 1);
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(window.cells()));
  const auto width = static_cast<int>(window.width), height = static_cast<int>(window.height);
  const CPLErr error =
      GDALRasterIO(GDALGetMaskBand(band), GF_Read, static_cast<int>(window.left), static_cast<int>(window.top), width,
                   height, mask.data(), width, height, GDT_Byte, 0, 0);
  if (error != CE_None) throw DataError(path_ + " cannot be read, it may be cut short" + messages.text());
  std::vector<bool> there;
  for (const std::uint8_t each : mask) there.push_back(each != 0);
  return there;
}

}  // namespace ick::detail
