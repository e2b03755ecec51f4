#include "gdal_image.h"

#include <cpl_conv.h>
#include <cpl_error.h>
#include <fcntl.h>
#include <ogr_srs_api.h>

#include <algorithm>
#include <cerrno>
#include <cfloat>
#include <cmath>
#include <fstream>
#include <mutex>
#include <string_view>
#include <system_error>

#include "ick/base/error.h"

namespace ick::detail {
namespace {

constexpr double kMostPixels = 1e8;  // of an image that is read whole

// Formats whose pixels are all in the one file. Others draw on further files or a network (VRT, WMS, STAC, HDF5 with
// external storage), or are spread over several files (ENVI, EHdr).
constexpr const char* kDrivers[] = {"PNG",  "JPEG",   "GTiff", "BMP",         "GIF",
                                    "WEBP", "BIGGIF", "PNM",   "JP2OpenJPEG", nullptr};
constexpr const char* kNetcdfDriver[] = {"netCDF", nullptr};

// For this thread only. PAM is GDAL's name for .aux.xml, which may name other files; files with a name that ends in
// none of the allowed ways are not asked for at any server (/vsicurl/, /vsis3/ and their kind).
constexpr std::pair<const char*, const char*> kSettings[] = {{"GDAL_PAM_ENABLED", "NO"},
                                                             {"GDAL_DISABLE_READDIR_ON_OPEN", "EMPTY_DIR"},
                                                             {"CPL_VSIL_CURL_ALLOWED_EXTENSIONS", ".no-such-name"}};

// By its first bytes, which is how the libraries that read them know it.
enum class Container { image, netcdf3, hdf };

Container container_of(const std::string& path) {
  std::string start(8, '\0');
  std::ifstream(path, std::ios::binary).read(start.data(), std::ssize(start));
  const std::string_view first = std::string_view(start).substr(0, 4);
  if (start == "\x89HDF\r\n\x1a\n" || first == "\x0e\x03\x13\x01") return Container::hdf;
  const bool is_netcdf = first.starts_with("CDF") && (first[3] == 1 || first[3] == 2 || first[3] == 5);
  return is_netcdf ? Container::netcdf3 : Container::image;
}

void refuse_unreadable(const ImageFile& file, Container container) {
  if (container == Container::hdf) {
    throw DataError(
        "is an HDF file, as netCDF-4 files are, too: it can draw on other files, so it is not read; save it as "
        "netCDF-3 (nccopy -k classic) or as GeoTIFF (gdal_translate)");
  }
  if (!file.variable.empty() && container != Container::netcdf3) {
    throw DataError("is not a netCDF file, of which a variable could be read");
  }
}

std::string metadata(GDALMajorObjectH of, const char* item, const char* domain) {
  const char* value = GDALGetMetadataItem(of, item, domain);
  return value ? value : "";
}

// What a number has to be multiplied with and what is added, in files that pack theirs.
struct Packing {
  explicit Packing(GDALRasterBandH band) {
    int found = 0;
    const double scale_found = GDALGetRasterScale(band, &found);
    if (found) scale = scale_found;
    const double offset_found = GDALGetRasterOffset(band, &found);
    if (found) offset = offset_found;
  }
  bool any() const { return scale != 1.0 || offset != 0.0; }
  double scale = 1.0, offset = 0.0;
};

std::string first_subdataset(GDALDatasetH dataset) {
  const std::string name = metadata(dataset, "SUBDATASET_1_NAME", "SUBDATASETS");
  const std::size_t colon = name.rfind(':');
  return name.empty() ? "" : name.substr(0, name.find(':')) + ":file:" + name.substr(colon + 1);
}

}  // namespace

void start_gdal() {
  static std::once_flag once;
  std::call_once(once, [] {
    GDALAllRegister();
    OSRSetPROJEnableNetwork(0);
  });
}

GdalMessages::GdalMessages() {
  CPLPushErrorHandlerEx(&GdalMessages::keep, this);
  for (const auto& [name, value] : kSettings) {
    const char* const before = CPLGetThreadLocalConfigOption(name, nullptr);
    before_.emplace_back(name, before ? std::optional<std::string>(before) : std::nullopt);
    CPLSetThreadLocalConfigOption(name, value);
  }
}

GdalMessages::~GdalMessages() {
  for (const auto& [name, before] : before_) CPLSetThreadLocalConfigOption(name, before ? before->c_str() : nullptr);
  CPLPopErrorHandler();
}

void GdalMessages::keep(CPLErr severity, CPLErrorNum, const char* message) {
  auto* messages = static_cast<GdalMessages*>(CPLGetErrorHandlerUserData());
  const std::string text = message;
  if (text.find("Premature end") != std::string::npos) messages->cut_short = true;
  if (severity >= CE_Failure) messages->last_ = text;
}

std::string GdalMessages::text() const { return last_.empty() ? "" : ": " + last_; }

void CloseDataset::operator()(GDALDatasetH dataset) const {
  const GdalMessages quiet;
  GDALClose(dataset);
}

// Some drivers look for .ovr, .msk and .wld beside a file whatever they are told of the folder, and GDAL would open
// those with any driver. A descriptor's name has nothing beside it.
GdalImage::GdalImage(const ImageFile& file)
    : descriptor_(std::make_unique<Descriptor>(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC))) {
  if (!descriptor_->is_open()) throw DataError("cannot be read: " + std::generic_category().message(errno));
  const std::string itself = std::to_string(descriptor_->number()), path = "/proc/self/fd/" + itself;
  const Container container = container_of(path);
  refuse_unreadable(file, container);
  const std::string name = file.variable.empty() ? path : "NETCDF:\"" + path + "\":" + file.variable;
  start_gdal();
  const GdalMessages messages;
  const char* const folder[] = {itself.c_str(), nullptr};  // all that drivers see of it
  dataset_.reset(GDALOpenEx(name.c_str(), GDAL_OF_RASTER | GDAL_OF_VERBOSE_ERROR,
                            container == Container::netcdf3 ? kNetcdfDriver : kDrivers, nullptr, folder));
  if (!dataset_) {
    std::string reason = messages.text();
    if (const std::size_t at = reason.find(path); at != std::string::npos) reason.replace(at, path.size(), file.path);
    throw DataError("cannot be read as an image" + reason);
  }
  // GDAL would open it, whatever and wherever it is, as soon as the image is read at a smaller size.
  if (const std::string other = metadata(dataset_.get(), "OVERVIEW_FILE", "OVERVIEWS"); !other.empty()) {
    throw DataError("names \"" + other +
                    "\" as a file with smaller versions of it; other files are not read: save it without, as "
                    "gdal_translate -nomd does");
  }
  GDALDatasetH dataset = dataset_.get();
  width_ = GDALGetRasterXSize(dataset);
  height_ = GDALGetRasterYSize(dataset);
  const int count = GDALGetRasterCount(dataset);
  if (count == 0) {
    const std::string example = first_subdataset(dataset);
    throw DataError("holds no single image" + (example.empty() ? "" : "; name one of its variables, as in " + example));
  }
  // GDAL's drivers of JPEG and TIFF would turn these into RGB without their colour profile: colours that are not those
  // of the picture.
  const std::string colours = metadata(dataset, "SOURCE_COLOR_SPACE", "IMAGE_STRUCTURE");
  if (colours == "CMYK" || colours == "YCbCrK" || GDALGetRasterColorInterpretation(band(1)) == GCI_CyanBand) {
    throw DataError("is in CMYK colours; save it as RGB");
  }
  if (count == 1) palette_ = GDALGetRasterColorTable(band(1));
  for (int number = 1; number <= count; ++number) {
    const GDALDataType type = GDALGetRasterDataType(band(number));
    if (GDALDataTypeIsComplex(type)) throw DataError("holds complex numbers; save their real part, or their size");
    if (metadata(band(number), "PIXELTYPE", "IMAGE_STRUCTURE") == "SIGNEDBYTE") {
      throw DataError("holds bytes with a sign, which are not read; save it as 16-bit numbers");
    }
    is_bytes_ &= type == GDT_Byte && !Packing(band(number)).any();
    if (GDALGetRasterColorInterpretation(band(number)) != GCI_AlphaBand) all_bands_.push_back(number);
  }
  if (palette_) all_bands_ = {1, 2, 3};
  if (all_bands_.empty()) throw DataError("holds nothing but an alpha channel");
}

std::int64_t GdalImage::channels(const std::vector<int>& bands) const {
  const int most = palette_ ? 3 : GDALGetRasterCount(dataset_.get());
  for (const int each : bands) {
    if (each > most) {
      throw DataError("has " + count_of_channels(most) + ", but bands= asks for channel " + std::to_string(each));
    }
  }
  return static_cast<std::int64_t>(bands.empty() ? all_bands_.size() : bands.size());
}

// An index is no number to take means of: colours come first, then the size.
Pixels GdalImage::read_palette(const Window& window, const ImageShape& shape, const std::vector<int>& bands) const {
  const GdalMessages messages;
  std::vector<std::uint16_t> indices(static_cast<std::size_t>(window.height * window.width));
  const auto width = static_cast<int>(window.width), height = static_cast<int>(window.height);
  const CPLErr error = GDALRasterIO(band(1), GF_Read, static_cast<int>(window.left), static_cast<int>(window.top),
                                    width, height, indices.data(), width, height, GDT_UInt16, 0, 0);
  if (error != CE_None) throw DataError("cannot be read, it may be cut short" + messages.text());
  Pixels pixels;
  for (const int channel : bands.empty() ? all_bands_ : bands) {
    std::vector<float> colour(65536, 0.0f), plane(static_cast<std::size_t>(shape.height * shape.width));
    for (int i = 0; i < std::min(65536, GDALGetColorEntryCount(palette_)); ++i) {
      const GDALColorEntry* entry = GDALGetColorEntry(palette_, i);
      colour[static_cast<std::size_t>(i)] = channel == 1 ? entry->c1 : channel == 2 ? entry->c2 : entry->c3;
    }
    const auto value = [&](std::int64_t row, std::int64_t column) {
      return colour[indices[static_cast<std::size_t>(row * window.width + column)]];
    };
    resize({0, 0, window.height, window.width}, value, shape.height, shape.width, plane.data());
    for (const float each : plane) pixels.bytes.push_back(static_cast<std::uint8_t>(std::lround(each)));
  }
  return pixels;
}

Pixels GdalImage::read(const Window& window, const ImageShape& shape, const std::vector<int>& bands) const {
  if (palette_) return read_palette(window, shape, bands);
  const GdalMessages messages;
  Pixels pixels;
  const auto count = static_cast<std::size_t>(shape.numbers());
  void* buffer = nullptr;
  if (is_bytes_) {
    pixels.bytes.resize(count);
    buffer = pixels.bytes.data();
  } else {
    pixels.numbers.resize(count);
    buffer = pixels.numbers.data();
  }
  std::vector<int> numbers = bands.empty() ? all_bands_ : bands;
  GDALRasterIOExtraArg extra;
  INIT_RASTERIO_EXTRA_ARG(extra);
  const bool shrinks = window.height > 2 * shape.height || window.width > 2 * shape.width;
  extra.eResampleAlg = shrinks ? GRIORA_Average : GRIORA_Bilinear;
  const CPLErr error = GDALDatasetRasterIOEx(dataset_.get(), GF_Read, static_cast<int>(window.left),
                                             static_cast<int>(window.top), static_cast<int>(window.width),
                                             static_cast<int>(window.height), buffer, static_cast<int>(shape.width),
                                             static_cast<int>(shape.height), is_bytes_ ? GDT_Byte : GDT_Float32,
                                             static_cast<int>(numbers.size()), numbers.data(), 0, 0, 0, &extra);
  if (error != CE_None || messages.cut_short) throw DataError("cannot be read, it may be cut short" + messages.text());

  const std::int64_t plane = shape.height * shape.width;
  for (std::size_t c = 0; c < numbers.size(); ++c) {
    int has_none = 0;
    const double none = GDALGetRasterNoDataValue(band(numbers[c]), &has_none);
    const std::size_t start = c * static_cast<std::size_t>(plane);
    if (is_bytes_) {
      if (has_none) fill_missing(pixels.bytes.data() + start, plane, [&](std::uint8_t byte) { return byte == none; });
      continue;
    }
    // A double beyond the range of a float has become the largest float.
    const auto missing = static_cast<float>(std::clamp<double>(none, -FLT_MAX, FLT_MAX));
    const Packing packing(band(numbers[c]));
    const auto unpack = [&](float number) {
      if (std::abs(number) == FLT_MAX || (has_none && number == missing)) return std::nanf("");
      return packing.any() ? static_cast<float>(packing.offset + packing.scale * static_cast<double>(number)) : number;
    };
    float* const first = pixels.numbers.data() + start;
    std::transform(first, first + plane, first, unpack);
    fill_missing(first, plane, [](float number) { return !std::isfinite(number); });
  }
  return pixels;
}

void check_size(const GdalImage& image) {
  if (static_cast<double>(image.width()) * static_cast<double>(image.height()) <= kMostPixels) return;
  throw DataError("is " + std::to_string(image.width()) + " x " + std::to_string(image.height()) +
                  " pixels; more than 1e8 are not read whole: make it smaller, or cut patches of it with "
                  "raster=\"...\", at=(lat, lon), size=...");
}

Pixels read_image(const GdalImage& image, const ImageSettings& settings, const ImageShape& shape) {
  check_size(image);
  check_channels(image.channels(settings.bands), shape);
  if (shape.depth != ImageShape::Depth::any && shape.depth != image.depth()) {
    throw DataError(
        shape.depth == ImageShape::Depth::bytes
            ? "holds 16-bit numbers or fractions where the first training image holds bytes; save it with 8 bits"
            : "holds bytes where the first training image holds wider numbers; save it like the others");
  }
  return image.read(fitted_window(settings.fit, image.height(), image.width(), shape), shape, settings.bands);
}

}  // namespace ick::detail
