#include "ick/base/unit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace ick {
namespace {

TEST(Convert, KnownValues) {
  struct Case {
    double number;
    const char *from, *to;
    double expected;
  };
  const Case cases[] = {
      {1.0, "y", "d", 365.2425},    {24.0, "h", "d", 1.0},       {90.0, "min", "d", 0.0625},
      {1.0, "w", "d", 7.0},         {1.5, "h", "s", 5400.0},     {36.0, "s", "h", 0.01},
      {400.0, "y", "d", 146'097.0},  // a full calendar cycle
      {2.0, "km", "m", 2000.0},     {2500.0, "m", "km", 2.5},    {3.7, "cm", "mm", 37.0},
      {-4.0, "mm", "cm", -0.4},     {180.0, "deg", "rad", M_PI}, {M_PI / 6.0, "rad", "deg", 30.0},
  };
  for (const auto& [number, from, to, expected] : cases) {
    const auto found = convert(number, from, to);
    ASSERT_TRUE(found.has_value()) << from << " to " << to;
    EXPECT_DOUBLE_EQ(*found, expected) << number << from << " in " << to;
  }
}

TEST(Convert, AUnitIntoItselfChangesNothing) {
  for (const char* unit : {"s", "min", "h", "d", "w", "y", "mm", "cm", "m", "km", "deg", "rad"}) {
    for (const double number : {0.1, -7.3, 1e300, 5e-324}) EXPECT_EQ(convert(number, unit, unit), number) << unit;
  }
}

TEST(Convert, NoneBetweenMeasuresAndForUnknownUnits) {
  const std::pair<const char*, const char*> pairs[] = {{"y", "km"}, {"m", "min"}, {"deg", "d"}, {"rad", "mm"},
                                                       {"", "d"},   {"d", ""},    {"", ""},     {"Y", "d"},
                                                       {"d", "mi"}, {"mo", "mo"}, {"days", "d"}};
  for (const auto& [from, to] : pairs) EXPECT_EQ(convert(1.0, from, to), std::nullopt) << from << " to " << to;
}

TEST(IsTimeUnit, KnowsThoseOfTime) {
  for (const char* unit : {"s", "min", "h", "d", "w", "y"}) EXPECT_TRUE(is_time_unit(unit)) << unit;
  for (const char* unit : {"m", "mm", "km", "deg", "rad", "", "day", "D"}) EXPECT_FALSE(is_time_unit(unit)) << unit;
}

}  // namespace
}  // namespace ick
