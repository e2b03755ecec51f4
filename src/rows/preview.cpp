#include "rows/preview.h"

#include <cpl_conv.h>
#include <cpl_vsi.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ick/base/error.h"
#include "ick/base/file.h"

namespace ick::detail {
namespace {

constexpr std::int64_t kMostPixels = 1024, kFewPixels = 600;  // of the longer side

// From dark violet to light yellow: lightness grows steadily, also for those who cannot tell red from green.
using Colour = std::array<double, 3>;
constexpr std::array<Colour, 6> kColours = {Colour{48, 18, 92}, {58, 70, 142},  {36, 124, 146},
                                            {54, 168, 124},     {146, 206, 78}, {246, 232, 72}};

Colour colour_of(double share) {
  const double at = std::clamp(share, 0.0, 1.0) * (kColours.size() - 1);
  const auto first = std::min(static_cast<std::size_t>(at), kColours.size() - 2);
  Colour colour{};
  for (std::size_t c = 0; c < 3; ++c) {
    colour[c] = kColours[first][c] + (at - static_cast<double>(first)) * (kColours[first + 1][c] - kColours[first][c]);
  }
  return colour;
}

}  // namespace

Preview::Preview(std::int64_t width, std::int64_t height)
    : cells_((std::max(width, height) + kMostPixels - 1) / kMostPixels),
      width_((width + cells_ - 1) / cells_),
      height_((height + cells_ - 1) / cells_),
      sums_(static_cast<std::size_t>(width_ * height_)),
      counts_(sums_.size()) {}

void Preview::add(const CellWindow& window, const std::vector<float>& values) {
  for (std::int64_t i = 0; i < window.cells(); ++i) {
    const float value = values[static_cast<std::size_t>(i)];
    if (!std::isfinite(value)) continue;
    const std::int64_t row = (window.top + i / window.width) / cells_,
                       column = (window.left + i % window.width) / cells_;
    const auto pixel = static_cast<std::size_t>(row * width_ + column);
    sums_[pixel] += static_cast<double>(value);
    ++counts_[pixel];
  }
}

void Preview::write(const std::string& path) const {
  std::vector<double> values;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (counts_[i] > 0) values.push_back(sums_[i] / static_cast<double>(counts_[i]));
  }
  std::sort(values.begin(), values.end());
  const auto percentile = [&](double share) {
    return values.empty() ? 0.0 : values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  const double low = percentile(0.01), high = percentile(0.99);

  start_gdal();
  const GdalMessages messages;
  const std::int64_t zoom = std::max<std::int64_t>(1, kFewPixels / std::max(width_, height_));
  const auto width = static_cast<int>(zoom * width_), height = static_cast<int>(zoom * height_);
  const std::unique_ptr<void, CloseDataset> picture(
      GDALCreate(GDALGetDriverByName("MEM"), "", width, height, 4, GDT_Byte, nullptr));
  const std::size_t pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  std::vector<std::uint8_t> bytes(4 * pixels);  // band after band
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    const auto at = static_cast<std::int64_t>(pixel);
    const auto i = static_cast<std::size_t>(at / width / zoom * width_ + at % width / zoom);
    if (counts_[i] == 0) continue;
    const double value = sums_[i] / static_cast<double>(counts_[i]);
    const Colour colour = colour_of(high > low ? (value - low) / (high - low) : 0.5);
    for (std::size_t c = 0; c < 3; ++c) bytes[c * pixels + pixel] = static_cast<std::uint8_t>(std::lround(colour[c]));
    bytes[3 * pixels + pixel] = 255;
  }
  const std::string place = "/vsimem/ick-preview-" + std::to_string(reinterpret_cast<std::uintptr_t>(this)) + ".png";
  const bool drawn = picture && GDALDatasetRasterIO(picture.get(), GF_Write, 0, 0, width, height, bytes.data(), width,
                                                    height, GDT_Byte, 4, nullptr, 0, 0, 0) == CE_None;
  GDALSetRasterColorInterpretation(GDALGetRasterBand(picture.get(), 4), GCI_AlphaBand);
  GDALDriverH const png = GDALGetDriverByName("PNG");
  if (drawn && png) {
    const std::unique_ptr<void, CloseDataset> made(
        GDALCreateCopy(png, place.c_str(), picture.get(), false, nullptr, nullptr, nullptr));
  }
  vsi_l_offset size = 0;
  GByte* const file = VSIGetMemFileBuffer(place.c_str(), &size, true);
  if (file == nullptr) throw Error("cannot make the picture \"" + path + "\"" + messages.text());
  const std::string png_bytes(reinterpret_cast<const char*>(file), size);
  CPLFree(file);
  write_file(path, png_bytes);
}

}  // namespace ick::detail
