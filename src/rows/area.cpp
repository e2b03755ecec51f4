#include "rows/area.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/file.h"
#include "rows/placed_raster.h"

namespace ick::detail {
namespace {

using Json = nlohmann::json;

// Rings of polygons: a place is inside of one when a line from it to the west meets its edges an odd number of times,
// and inside of all when it is inside of any.
class Polygons : public Area {
 public:
  Polygons(const std::string& path, bool degrees) {
    Json json;
    try {
      json = Json::parse(read_file(path));
      if (degrees && json.contains("crs") && !is_degrees(json.at("crs"))) {
        throw DataError(path +
                        ": its \"crs\" is not longitude and latitude, as GeoJSON has them (RFC 7946); write it anew "
                        "(ogr2ogr -f GeoJSON -t_srs EPSG:4326 -lco RFC7946=YES)");
      }
      add(json, 0);
    } catch (const Json::exception& error) {
      throw DataError(path + ": not the GeoJSON it should be (" + error.what() + ")");
    }
    if (edges_.empty()) {
      throw DataError(path + ": no Polygon or MultiPolygon is in it; an area is needed, lines and points have none");
    }
    std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) { return a.y0 < b.y0; });
  }

  std::vector<bool> inside(const std::vector<double>& x, const std::vector<double>& y) const override {
    std::vector<bool> found;
    std::vector<double> crossings;
    double of = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (y[i] != of) crossings = crossings_at(of = y[i]);  // grids have many places of one y
      const auto west = std::lower_bound(crossings.begin(), crossings.end(), x[i]) - crossings.begin();
      found.push_back(west % 2 == 1);
    }
    return found;
  }

  Box box() const override {
    Box box{HUGE_VAL, -HUGE_VAL, HUGE_VAL, -HUGE_VAL};
    for (const Edge& each : edges_) {
      box.y_low = std::min(box.y_low, each.y0), box.y_high = std::max(box.y_high, each.y1);
      box.x_low = std::min({box.x_low, each.x0, each.x1}), box.x_high = std::max({box.x_high, each.x0, each.x1});
    }
    return box;
  }

 private:
  struct Edge {
    double x0, y0, x1, y1;  // y0 < y1
    int polygon;
  };

  static bool is_degrees(const Json& crs) {  // as it was written before RFC 7946
    if (crs.is_null()) return true;
    const std::string name = crs.value("type", "") == "name" ? crs.at("properties").value("name", "") : "";
    return name.find("CRS84") != std::string::npos || name.find("4326") != std::string::npos;
  }

  // Where the line of that y goes into the area and out of it, ascending. The lower end of an edge belongs to it, the
  // upper one does not.
  std::vector<double> crossings_at(double y) const {
    std::map<int, std::vector<double>> met;  // by polygon
    for (const Edge& edge : edges_) {
      if (edge.y0 > y) break;
      if (y >= edge.y1) continue;
      met[edge.polygon].push_back(edge.x0 + (edge.x1 - edge.x0) * (y - edge.y0) / (edge.y1 - edge.y0));
    }
    std::vector<std::pair<double, int>> steps;  // +1 into a polygon, -1 out of it
    for (auto& [polygon, at] : met) {
      std::sort(at.begin(), at.end());
      for (std::size_t i = 0; i < at.size(); ++i) steps.emplace_back(at[i], i % 2 == 0 ? 1 : -1);
    }
    // Into the next one before out of the last: polygons that touch are one.
    std::sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<double> crossings;
    int within = 0;
    for (const auto& [x, step] : steps) {
      if (within == 0 || within + step == 0) crossings.push_back(x);
      within += step;
    }
    return crossings;
  }

  void add_polygon(const Json& rings) {
    for (const Json& ring : rings) add_ring(ring);
    ++polygons_;
  }

  void add_ring(const Json& ring) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const Json &a = ring.at(i), &b = ring.at((i + 1) % ring.size());
      Edge edge{a.at(0), a.at(1), b.at(0), b.at(1), polygons_};
      if (edge.y0 > edge.y1) std::swap(edge.x0, edge.x1), std::swap(edge.y0, edge.y1);
      if (edge.y0 < edge.y1) edges_.push_back(edge);
    }
  }

  void add(const Json& object, int depth) {
    constexpr int kDeepest = 100;
    if (depth > kDeepest) throw DataError("collections within collections, a hundred deep, are not read");
    const std::string type = object.at("type");
    if (type == "FeatureCollection") {
      for (const Json& each : object.at("features")) add(each, depth + 1);
    } else if (type == "Feature") {
      if (!object.at("geometry").is_null()) add(object.at("geometry"), depth + 1);
    } else if (type == "GeometryCollection") {
      for (const Json& each : object.at("geometries")) add(each, depth + 1);
    } else if (type == "Polygon") {
      add_polygon(object.at("coordinates"));
    } else if (type == "MultiPolygon") {
      for (const Json& polygon : object.at("coordinates")) add_polygon(polygon);
    }
  }

  std::vector<Edge> edges_;  // ascending by y0
  int polygons_ = 0;
};

class RasterArea : public Area {
 public:
  RasterArea(const std::string& path, bool degrees) : raster_(path, degrees) {
    std::array<double, 6> place = raster_.place();
    if (!GDALInvGeoTransform(place.data(), to_cell_.data())) throw DataError(path + " has cells without a size");
  }

  std::vector<bool> inside(const std::vector<double>& places_x, const std::vector<double>& places_y) const override {
    std::vector<double> x = places_x, y = places_y;
    raster_.from_places(x, y);
    std::vector<bool> found;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double column = std::floor(to_cell_[0] + to_cell_[1] * x[i] + to_cell_[2] * y[i]);
      const double row = std::floor(to_cell_[3] + to_cell_[4] * x[i] + to_cell_[5] * y[i]);
      const bool there = column >= 0.0 && row >= 0.0 && column < static_cast<double>(raster_.width()) &&
                         row < static_cast<double>(raster_.height());
      found.push_back(there && has_value(static_cast<std::int64_t>(column), static_cast<std::int64_t>(row)));
    }
    return found;
  }

  // Of the cells along the edges: a straight edge may be bent.
  Box box() const override {
    std::vector<double> x, y;
    const std::array<double, 6>& p = raster_.place();
    const auto add = [&](double column, double row) {
      x.push_back(p[0] + p[1] * column + p[2] * row), y.push_back(p[3] + p[4] * column + p[5] * row);
    };
    constexpr int kParts = 100;
    const auto width = static_cast<double>(raster_.width()), height = static_cast<double>(raster_.height());
    for (int k = 0; k <= kParts; ++k) {
      const double share = static_cast<double>(k) / kParts;
      add(share * width, 0.0), add(share * width, height), add(0.0, share * height), add(width, share * height);
    }
    raster_.to_places(x, y);
    Box box{HUGE_VAL, -HUGE_VAL, HUGE_VAL, -HUGE_VAL};
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;
      box.x_low = std::min(box.x_low, x[i]), box.x_high = std::max(box.x_high, x[i]);
      box.y_low = std::min(box.y_low, y[i]), box.y_high = std::max(box.y_high, y[i]);
    }
    return box;
  }

 private:
  // Tile by tile, of which as many are kept as a row of places crosses.
  bool has_value(std::int64_t column, std::int64_t row) const {
    constexpr std::int64_t kSide = 256;
    constexpr std::size_t kMostKept = 1024;
    const std::int64_t left = column / kSide * kSide, top = row / kSide * kSide;
    const CellWindow window{left, top, std::min(kSide, raster_.width() - left),
                            std::min(kSide, raster_.height() - top)};
    const std::pair key(left, top);
    auto tile = tiles_.find(key);
    if (tile == tiles_.end()) {
      if (tiles_.size() >= kMostKept) tiles_.clear();
      tile = tiles_.emplace(key, raster_.with_value(window)).first;
    }
    return tile->second[static_cast<std::size_t>((row - top) * window.width + column - left)];
  }

  PlacedRaster raster_;
  std::array<double, 6> to_cell_{};
  mutable std::map<std::pair<std::int64_t, std::int64_t>, std::vector<bool>> tiles_;
};

}  // namespace

std::unique_ptr<Area> open_area(const std::string& path, bool degrees) {
  char first = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::make_unique<Polygons>(path, degrees);  // which says why it cannot be read
  file >> first;
  if (first == '{') return std::make_unique<Polygons>(path, degrees);
  return std::make_unique<RasterArea>(path, degrees);
}

}  // namespace ick::detail
