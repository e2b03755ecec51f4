#include <cairo.h>
#include <fmt/format.h>
#include <librsvg/rsvg.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "ick/base/error.h"
#include "ick/report/figure.h"

namespace ick {
namespace {

struct Release {
  void operator()(RsvgHandle* handle) const { g_object_unref(handle); }
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo_destroy(context); }
  void operator()(GError* error) const { g_error_free(error); }
};

[[noreturn]] void refuse(GError* error, const char* otherwise) {
  const std::unique_ptr<GError, Release> owned(error);
  throw Error(fmt::format("the picture cannot be drawn as PNG: {}", owned ? owned->message : otherwise));
}

cairo_status_t append_bytes(void* text, const unsigned char* bytes, unsigned count) {
  static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(bytes), count);
  return CAIRO_STATUS_SUCCESS;
}

}  // namespace

std::string png_of(const std::string& svg, double scale) {
  GError* error = nullptr;
  const std::unique_ptr<RsvgHandle, Release> handle(
      rsvg_handle_new_from_data(reinterpret_cast<const guint8*>(svg.data()), svg.size(), &error));
  if (!handle) refuse(error, "it is no SVG");
  double width = 0.0, height = 0.0;
  if (!rsvg_handle_get_intrinsic_size_in_pixels(handle.get(), &width, &height)) refuse(nullptr, "it states no size");

  constexpr double kMostPixels = 16000.0;  // of a side; cairo holds 32,767
  scale = std::min(scale, kMostPixels / std::max({width, height, 1.0}));
  const auto pixels = [&](double length) { return std::max(1, static_cast<int>(std::lround(length * scale))); };
  const std::unique_ptr<cairo_surface_t, Release> surface(
      cairo_image_surface_create(CAIRO_FORMAT_ARGB32, pixels(width), pixels(height)));
  const std::unique_ptr<cairo_t, Release> context(cairo_create(surface.get()));
  const RsvgRectangle all{0.0, 0.0, static_cast<double>(pixels(width)), static_cast<double>(pixels(height))};
  if (!rsvg_handle_render_document(handle.get(), context.get(), &all, &error)) refuse(error, "rendering failed");
  std::string png;
  const cairo_status_t status = cairo_surface_write_to_png_stream(surface.get(), append_bytes, &png);
  if (status != CAIRO_STATUS_SUCCESS) refuse(nullptr, cairo_status_to_string(status));
  return png;
}

}  // namespace ick
