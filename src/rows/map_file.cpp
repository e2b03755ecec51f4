#include "rows/map_file.h"

#include <cpl_string.h>
#include <ogr_srs_api.h>

#include <algorithm>
#include <limits>

#include "ick/base/error.h"
#include "ick/base/file.h"

namespace ick::detail {
namespace {

struct DestroyReference {
  void operator()(void* system) const { OSRDestroySpatialReference(system); }
};
using Reference = std::unique_ptr<void, DestroyReference>;

Reference reference_of(const std::string& wkt) {
  Reference system(OSRNewSpatialReference(wkt.empty() ? nullptr : wkt.c_str()));
  if (system) OSRSetAxisMappingStrategy(system.get(), OAMS_TRADITIONAL_GIS_ORDER);
  return system;
}

GDALDriverH driver_of(const char* name) {
  start_gdal();
  if (GDALDriverH const driver = GDALGetDriverByName(name)) return driver;
  throw Error(std::string("this build of GDAL cannot write ") + name + " files; install one that can");
}

[[noreturn]] void refuse_writing(const std::string& path, const GdalMessages& messages) {
  throw Error("cannot write \"" + path + "\"" + messages.text());
}

class GeoTiff : public MapFile {
 public:
  GeoTiff(const std::string& path, const MapLayout& layout) : path_(path), file_(path) {
    GDALDriverH const driver = driver_of("GTiff");
    const GdalMessages messages;
    const char* const options[] = {"TILED=YES",   "BLOCKXSIZE=256",   "BLOCKYSIZE=256", "COMPRESS=DEFLATE",
                                   "PREDICTOR=3", "BIGTIFF=IF_SAFER", nullptr};
    dataset_.reset(GDALCreate(driver, file_.part().c_str(), static_cast<int>(layout.width),
                              static_cast<int>(layout.height), static_cast<int>(layout.bands.size()), GDT_Float32,
                              const_cast<char**>(options)));
    if (!dataset_) refuse_writing(path_, messages);
    std::array<double, 6> place = layout.place;
    GDALSetGeoTransform(dataset_.get(), place.data());
    if (!layout.wkt.empty()) GDALSetProjection(dataset_.get(), layout.wkt.c_str());
    for (std::size_t b = 0; b < layout.bands.size(); ++b) {
      GDALRasterBandH const band = GDALGetRasterBand(dataset_.get(), static_cast<int>(b) + 1);
      const MapLayout::Band& each = layout.bands[b];
      GDALSetDescription(band, (each.text.empty() ? each.name : each.name + ": " + each.text).c_str());
      if (!each.unit.empty()) GDALSetRasterUnitType(band, each.unit.c_str());
      GDALSetRasterNoDataValue(band, std::numeric_limits<double>::quiet_NaN());
    }
  }

  void write(std::int64_t, const CellWindow& w, const std::vector<std::vector<float>>& bands) override {
    const GdalMessages messages;
    for (std::size_t b = 0; b < bands.size(); ++b) {
      GDALRasterBandH const band = GDALGetRasterBand(dataset_.get(), static_cast<int>(b) + 1);
      const auto width = static_cast<int>(w.width), height = static_cast<int>(w.height);
      const CPLErr error = GDALRasterIO(band, GF_Write, static_cast<int>(w.left), static_cast<int>(w.top), width,
                                        height, const_cast<float*>(bands[b].data()), width, height, GDT_Float32, 0, 0);
      // A tile is a block: what is kept of it would fill GDAL's cache, a share of the machine's memory.
      if (error != CE_None || GDALFlushRasterCache(band) != CE_None) refuse_writing(path_, messages);
    }
  }

  void finish() override {
    const GdalMessages messages;
    GDALFlushCache(dataset_.get());
    GDALClose(dataset_.release());
    if (!messages.text().empty()) refuse_writing(path_, messages);
    file_.commit();
  }

 private:
  std::string path_;
  StagedFile file_;
  std::unique_ptr<void, CloseDataset> dataset_;
};

// Arrays of GDAL's multidimensional model, released at the end.
template <auto Release>
struct Released {
  void operator()(auto* handle) const { Release(handle); }
};
using Array = std::unique_ptr<std::remove_pointer_t<GDALMDArrayH>, Released<&GDALMDArrayRelease>>;
using Dimension = std::unique_ptr<std::remove_pointer_t<GDALDimensionH>, Released<&GDALDimensionRelease>>;
using Group = std::unique_ptr<std::remove_pointer_t<GDALGroupH>, Released<&GDALGroupRelease>>;
using Type = std::unique_ptr<std::remove_pointer_t<GDALExtendedDataTypeH>, Released<&GDALExtendedDataTypeRelease>>;
using Attribute = std::unique_ptr<std::remove_pointer_t<GDALAttributeH>, Released<&GDALAttributeRelease>>;

Type number_type(GDALDataType type) { return Type(GDALExtendedDataTypeCreate(type)); }

void describe(const Array& array, const char* name, const std::string& text) {
  if (text.empty()) return;
  const Type type(GDALExtendedDataTypeCreateString(0));
  const Attribute attribute(GDALMDArrayCreateAttribute(array.get(), name, 0, nullptr, type.get(), nullptr));
  if (attribute) GDALAttributeWriteString(attribute.get(), text.c_str());
}

// The classic format: what others read, and what ick reads, too. All is defined before the first number is written.
class Netcdf : public MapFile {
 public:
  Netcdf(const std::string& path, const MapLayout& layout) : path_(path), file_(path), timed_(!layout.times.empty()) {
    if (layout.place[2] != 0.0 || layout.place[4] != 0.0) {
      throw DataError("the raster is turned against its coordinates, which a netCDF file cannot say; write a .tif");
    }
    GDALDriverH const driver = driver_of("netCDF");
    const GdalMessages messages;
    const char* const options[] = {"FORMAT=NC2", nullptr};
    dataset_.reset(GDALCreateMultiDimensional(driver, file_.part().c_str(), nullptr, const_cast<char**>(options)));
    if (!dataset_) refuse_writing(path_, messages);
    group_.reset(GDALDatasetGetRootGroup(dataset_.get()));
    std::vector<GDALDimensionH> dimensions;
    if (timed_) dimensions.push_back(dimension("time", "TEMPORAL", "", std::ssize(layout.times)));
    dimensions.push_back(dimension(layout.degrees ? "lat" : "y", "HORIZONTAL_Y", "NORTH", layout.height));
    dimensions.push_back(dimension(layout.degrees ? "lon" : "x", "HORIZONTAL_X", "EAST", layout.width));
    std::vector<Array> axes;
    for (GDALDimensionH const each : dimensions) {
      const Type type = number_type(GDT_Float64);
      GDALDimensionH only[] = {each};
      axes.emplace_back(GDALGroupCreateMDArray(group_.get(), GDALDimensionGetName(each), 1, only, type.get(), nullptr));
      if (!axes.back()) refuse_writing(path_, messages);
    }
    if (timed_) {
      describe(axes.front(), "standard_name", "time");
      describe(axes.front(), "units", "days since 1970-01-01 00:00:00");
      describe(axes.front(), "calendar", "proleptic_gregorian");
    }
    describe(axes[axes.size() - 2], "standard_name", layout.degrees ? "latitude" : "projection_y_coordinate");
    describe(axes[axes.size() - 2], "units", layout.degrees ? "degrees_north" : "m");
    describe(axes.back(), "standard_name", layout.degrees ? "longitude" : "projection_x_coordinate");
    describe(axes.back(), "units", layout.degrees ? "degrees_east" : "m");
    for (const MapLayout::Band& each : layout.bands) {
      const Type type = number_type(GDT_Float32);
      std::string name = each.name;  // of a class, perhaps: "yes/no"
      std::replace(name.begin(), name.end(), '/', '_');
      bands_.emplace_back(GDALGroupCreateMDArray(group_.get(), name.c_str(), dimensions.size(), dimensions.data(),
                                                 type.get(), nullptr));
      if (!bands_.back()) refuse_writing(path_, messages);
      describe(bands_.back(), "long_name", each.text);
      describe(bands_.back(), "units", each.unit);
      GDALMDArraySetNoDataValueAsDouble(bands_.back().get(), std::numeric_limits<double>::quiet_NaN());
      if (!layout.wkt.empty()) GDALMDArraySetSpatialRef(bands_.back().get(), reference_of(layout.wkt).get());
    }
    std::size_t axis = 0;
    if (timed_) write_axis(axes[axis++], layout.times);
    std::vector<double> y, x;
    for (std::int64_t i = 0; i < layout.height; ++i)
      y.push_back(layout.place[3] + layout.place[5] * (static_cast<double>(i) + 0.5));
    for (std::int64_t j = 0; j < layout.width; ++j)
      x.push_back(layout.place[0] + layout.place[1] * (static_cast<double>(j) + 0.5));
    write_axis(axes[axis++], y);
    write_axis(axes[axis++], x);
  }

  void write(std::int64_t time, const CellWindow& w, const std::vector<std::vector<float>>& bands) override {
    const GdalMessages messages;
    const Type type = number_type(GDT_Float32);
    std::vector<GUInt64> start = {static_cast<GUInt64>(w.top), static_cast<GUInt64>(w.left)};
    std::vector<std::size_t> count = {static_cast<std::size_t>(w.height), static_cast<std::size_t>(w.width)};
    if (timed_) start.insert(start.begin(), static_cast<GUInt64>(time)), count.insert(count.begin(), 1);
    for (std::size_t b = 0; b < bands.size(); ++b) {
      if (!GDALMDArrayWrite(bands_[b].get(), start.data(), count.data(), nullptr, nullptr, type.get(), bands[b].data(),
                            nullptr, 0)) {
        refuse_writing(path_, messages);
      }
    }
  }

  void finish() override {
    const GdalMessages messages;
    bands_.clear(), dimensions_.clear(), group_.reset();
    GDALClose(dataset_.release());
    if (!messages.text().empty()) refuse_writing(path_, messages);
    file_.commit();
  }

 private:
  GDALDimensionH dimension(const char* name, const char* type, const char* direction, std::int64_t size) {
    dimensions_.emplace_back(
        GDALGroupCreateDimension(group_.get(), name, type, direction, static_cast<GUInt64>(size), nullptr));
    return dimensions_.back().get();
  }

  void write_axis(const Array& array, const std::vector<double>& values) const {
    const GdalMessages messages;
    const Type type = number_type(GDT_Float64);
    const GUInt64 start[] = {0};
    const std::size_t count[] = {values.size()};
    if (!GDALMDArrayWrite(array.get(), start, count, nullptr, nullptr, type.get(), values.data(), nullptr, 0)) {
      refuse_writing(path_, messages);
    }
  }

  std::string path_;
  StagedFile file_;
  bool timed_;
  std::unique_ptr<void, CloseDataset> dataset_;
  Group group_;
  std::vector<Dimension> dimensions_;
  std::vector<Array> bands_;
};

}  // namespace

std::unique_ptr<MapFile> create_geotiff(const std::string& path, const MapLayout& layout) {
  return std::make_unique<GeoTiff>(path, layout);
}
std::unique_ptr<MapFile> create_netcdf(const std::string& path, const MapLayout& layout) {
  return std::make_unique<Netcdf>(path, layout);
}

std::string wkt_of_degrees() {
  const Reference system = reference_of("");
  OSRSetWellKnownGeogCS(system.get(), "WGS84");
  char* text = nullptr;
  OSRExportToWkt(system.get(), &text);
  std::string wkt = text == nullptr ? "" : text;
  CPLFree(text);
  return wkt;
}

std::string name_of_system(const std::string& wkt) {
  if (wkt.empty()) return "";
  const Reference system = reference_of(wkt);
  const char* const name = system ? OSRGetName(system.get()) : nullptr;
  return name == nullptr ? "" : name;
}

bool is_geographic(const std::string& wkt) {
  if (wkt.empty()) return false;
  const Reference system = reference_of(wkt);
  return system && OSRIsGeographic(system.get());
}

}  // namespace ick::detail
