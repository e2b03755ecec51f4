#include "report/ticks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace ick::detail {
namespace {

using Texts = std::vector<std::string>;

Texts texts_of(const std::vector<Tick>& ticks) {
  Texts texts;
  for (const Tick& tick : ticks) texts.push_back(tick.below.empty() ? tick.text : tick.text + "|" + tick.below);
  return texts;
}

Texts ticks(AxisScale kind, double low, double high, int most) {
  return texts_of(ticks_of({"", kind, {}, {}, {}}, low, high, most));
}

Texts linear(double low, double high, int most) { return ticks(AxisScale::linear, low, high, most); }
Texts logarithmic(double low, double high, int most) { return ticks(AxisScale::logarithmic, low, high, most); }
Texts times(double low, double high, int most) { return ticks(AxisScale::time, low, high, most); }

const std::string kMinus = "\xE2\x88\x92";

TEST(Ticks, AreRoundNumbers) {
  EXPECT_EQ(linear(0.0, 10.0, 5), (Texts{"0", "2", "4", "6", "8", "10"}));
  EXPECT_EQ(linear(-0.31, 0.47, 6), (Texts{kMinus + "0.2", "0", "0.2", "0.4"}));
  EXPECT_EQ(linear(3.2, 3.9, 4), (Texts{"3.2", "3.4", "3.6", "3.8"}));
  EXPECT_EQ(linear(0.0, 0.003, 3), (Texts{"0", "0.001", "0.002", "0.003"}));
  EXPECT_EQ(linear(8000.0, 31000.0, 5), (Texts{"10,000", "15,000", "20,000", "25,000", "30,000"}));
  EXPECT_EQ(linear(2016.0, 2020.0, 4), (Texts{"2016", "2017", "2018", "2019", "2020"}));
  EXPECT_EQ(linear(0.0, 3e9, 3), (Texts{"0", "1e9", "2e9", "3e9"}));
  EXPECT_EQ(linear(0.0, 2.4e-7, 3), (Texts{"0", "1e-7", "2e-7"}));
  EXPECT_EQ(linear(1.0e7, 1.4e7, 4), (Texts{"1.0e7", "1.1e7", "1.2e7", "1.3e7", "1.4e7"}));
}

TEST(Ticks, OfExtremesAreFew) {
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{{-4e307, 4e307},
                                                                        {1e-300, 2e-300},
                                                                        {1.0, 1.0 + 1e-15},
                                                                        {1e300, 1.0000001e300},
                                                                        {-1e-308, 1e-308},
                                                                        {5e-324, 1e-323}}) {
    const auto found = ticks_of({}, low, high, 6);
    EXPECT_GE(found.size(), 1u) << low;
    EXPECT_LE(found.size(), 14u) << low;
    for (const Tick& tick : found) EXPECT_TRUE(std::isfinite(tick.at) && tick.text.size() < 24) << tick.text;
  }
}

TEST(Ticks, OfLogarithmsArePowersOfTen) {
  EXPECT_EQ(logarithmic(0.02, 300.0, 6), (Texts{"0.1", "1", "10", "100"}));
  EXPECT_EQ(logarithmic(1.0, 100.0, 8), (Texts{"1", "2", "5", "10", "20", "50", "100"}));
  EXPECT_EQ(logarithmic(2.0, 8.0, 4), (Texts{"2", "4", "6", "8"}));
  EXPECT_EQ(logarithmic(1e-12, 1e12, 6), (Texts{"1e-12", "1e-8", "0.0001", "1", "10,000", "1e8", "1e12"}));
  EXPECT_EQ(logarithmic(1e-300, 1e300, 4), (Texts{"1e-300", "1e-150", "1", "1e150", "1e300"}));
}

// Days since 1970 by Python: (date(2019, 3, 14) - date(1970, 1, 1)).days == 17969
TEST(Ticks, OfTimesAreThoseOfTheCalendar) {
  EXPECT_EQ(times(17969.0 + 12.0 / 24, 17969.0 + 12.01 / 24, 4),
            (Texts{"12:00:00|14 Mar 2019", "12:00:15", "12:00:30"}));
  EXPECT_EQ(times(17969.9, 17970.2, 8),
            (Texts{"22:00|14 Mar 2019", "23:00", "00:00|15 Mar 2019", "01:00", "02:00", "03:00", "04:00"}));
  EXPECT_EQ(times(17969.3, 17971.4, 5),
            (Texts{"12:00|14 Mar 2019", "00:00|15 Mar 2019", "12:00", "00:00|16 Mar 2019"}));
  EXPECT_EQ(times(17894.5, 17899.5, 6), (Texts{"30 Dec|2018", "31 Dec", "1 Jan|2019", "2 Jan", "3 Jan"}));
  EXPECT_EQ(times(17969.0, 18000.0, 5), (Texts{"18 Mar|2019", "25 Mar", "1 Apr", "8 Apr"}));  // Mondays
  EXPECT_EQ(times(17850.0, 18010.0, 6), (Texts{"Dec|2018", "Jan|2019", "Feb", "Mar", "Apr"}));
  EXPECT_EQ(times(17897.0, 18627.0, 8), (Texts{"Jan|2019", "Apr", "Jul", "Oct", "Jan|2020", "Apr", "Jul", "Oct"}));
  EXPECT_EQ(times(17000.0, 19500.0, 8), (Texts{"2017", "2018", "2019", "2020", "2021", "2022", "2023"}));
  EXPECT_EQ(times(-25567.0, 18262.0, 7), (Texts{"1900", "1920", "1940", "1960", "1980", "2000", "2020"}));
  EXPECT_EQ(times(-150000.0, 20000.0, 5), (Texts{"1600", "1700", "1800", "1900", "2000"}));
}

TEST(Ticks, OfNoTimesAreNumbers) { EXPECT_EQ(times(0.0, 2e9, 2), (Texts{"0", "1e9", "2e9"})); }

TEST(Ticks, OfLevelsLeaveSomeOutWhereThereIsNoRoom) {
  Axis axis;
  axis.scale = AxisScale::levels;
  axis.levels = {"a", "b", "c", "d", "e"};
  EXPECT_EQ(texts_of(ticks_of(axis, -0.5, 4.5, 5)), axis.levels);
  EXPECT_EQ(texts_of(ticks_of(axis, -0.5, 4.5, 3)), (Texts{"a", "c", "e"}));
  axis.levels.clear();
  EXPECT_TRUE(ticks_of(axis, -0.5, 0.5, 3).empty());
}

}  // namespace
}  // namespace ick::detail
