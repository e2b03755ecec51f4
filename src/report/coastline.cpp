#include "report/coastline.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <vector>

#include "report/marks.h"

namespace ick::detail {
namespace {

struct Place {
  double east, north;
};

using Ring = std::vector<Place>;

const std::vector<Ring>& land_rings() {
  static const std::vector<Ring> rings = [] {
    std::vector<Ring> read;
    std::string_view text(kLandOutlines);
    const auto number = [&] {
      while (text.front() == ' ') text.remove_prefix(1);
      int value = 0;
      text.remove_prefix(
          static_cast<std::size_t>(std::from_chars(text.data(), text.data() + text.size(), value).ptr - text.data()));
      return value;
    };
    while (!text.empty()) {
      constexpr double kDegree = 10.0;
      int east = 0, north = 0;
      Ring ring;
      for (; text.front() != ';'; ring.push_back({east / kDegree, north / kDegree})) {
        east += number();
        north += number();
      }
      text.remove_prefix(1);
      read.push_back(std::move(ring));
    }
    return read;
  }();
  return rings;
}

// What of a ring lies on one side of a line (Sutherland and Hodgman 1974): `over` is how far within a place is.
template <class Over>
Ring clipped(const Ring& ring, Over over) {
  Ring result;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const Place &from = ring[i], &to = ring[(i + 1) % ring.size()];
    const double before = over(from), after = over(to);
    if (before >= 0.0) result.push_back(from);
    if ((before >= 0.0) != (after >= 0.0)) {
      const double part = before / (before - after);
      result.push_back({from.east + part * (to.east - from.east), from.north + part * (to.north - from.north)});
    }
  }
  return result;
}

}  // namespace

std::string land_path(const Scale& x, const Scale& y) {
  constexpr double kFinest = 2.0, kWidest = 500.0;  // degrees
  // The outline runs beside the picture, not along its edge.
  const double beside = 0.02 * (x.span().high - x.span().low);
  const Span east{x.span().low - beside, x.span().high + beside}, north{y.span().low - beside, y.span().high + beside};
  const double extent = std::max(x.span().high - x.span().low, y.span().high - y.span().low);
  if (!(extent > kFinest && extent < kWidest)) return "";
  std::string path;
  for (const double turn : {-360.0, 0.0, 360.0}) {
    for (const Ring& whole : land_rings()) {
      Ring ring = clipped(whole, [&](const Place& place) { return place.east + turn - east.low; });
      ring = clipped(ring, [&](const Place& place) { return east.high - place.east - turn; });
      ring = clipped(ring, [&](const Place& place) { return place.north - north.low; });
      ring = clipped(ring, [&](const Place& place) { return north.high - place.north; });
      for (std::size_t i = 0; i < ring.size(); ++i) {
        path += (i == 0 ? "M" : "L") + length_text(x(ring[i].east + turn)) + " " + length_text(y(ring[i].north));
      }
      if (!ring.empty()) path += "Z";
    }
  }
  return path;
}

}  // namespace ick::detail
