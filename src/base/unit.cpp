#include "ick/base/unit.h"

#include <algorithm>
#include <array>
#include <numbers>

namespace ick {
namespace {

enum class Measure { time, length, angle };

struct Row {
  std::string_view name;
  Measure measure;
  double size;  // in seconds, millimetres, radians
};

constexpr double kDay = 86'400.0;

constexpr std::array kUnits = {Row{"s", Measure::time, 1.0},
                               Row{"min", Measure::time, 60.0},
                               Row{"h", Measure::time, 3'600.0},
                               Row{"d", Measure::time, kDay},
                               Row{"w", Measure::time, 7.0 * kDay},
                               Row{"y", Measure::time, 365.2425 * kDay},  // the mean year of the Gregorian calendar
                               Row{"mm", Measure::length, 1.0},
                               Row{"cm", Measure::length, 10.0},
                               Row{"m", Measure::length, 1'000.0},
                               Row{"km", Measure::length, 1'000'000.0},
                               Row{"deg", Measure::angle, std::numbers::pi / 180.0},
                               Row{"rad", Measure::angle, 1.0}};

const Row* find_unit(std::string_view name) {
  const auto found = std::find_if(kUnits.begin(), kUnits.end(), [&](const Row& row) { return row.name == name; });
  return found == kUnits.end() ? nullptr : &*found;
}

}  // namespace

std::optional<double> convert(double number, std::string_view from, std::string_view to) {
  const Row* const given = find_unit(from);
  const Row* const wanted = find_unit(to);
  if (given == nullptr || wanted == nullptr || given->measure != wanted->measure) return std::nullopt;
  // By the ratio above 1, most often a whole number: 1h is 1/24 d, rounded once; a unit to itself changes nothing.
  return given->size < wanted->size ? number / (wanted->size / given->size) : number * (given->size / wanted->size);
}

bool is_time_unit(std::string_view unit) {
  const Row* const row = find_unit(unit);
  return row != nullptr && row->measure == Measure::time;
}

}  // namespace ick
