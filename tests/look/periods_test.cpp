#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "ick/base/seed.h"
#include "ick/look/look.h"

namespace ick {
namespace {

using Strings = std::vector<std::string>;
constexpr double kTurn = 6.283185307179586;

struct Made {
  std::vector<double> days, y;
};

template <typename Function>
Made series(int count, double step, std::uint64_t seed, const Function& function) {
  Random random(seed);
  Made made;
  for (int i = 0; i < count; ++i) {
    made.days.push_back(15000.0 + step * i);
    made.y.push_back(function(step * i, random));
  }
  return made;
}

std::vector<PeriodLook> periods(const Made& made) {
  return look(Table::from({Column::times("t", made.days), Column::numbers("y", made.y)}), {.target = "y"}).periods;
}

Strings texts(const Made& made) {
  Strings all;
  for (const PeriodLook& period : periods(made)) all.push_back(period.text);
  return all;
}

TEST(Periods, OfTheCalendarAndOthers) {
  // Variances 2, 1/2 and 1/8 about noise of variance 1/4.
  const Made hourly = series(24 * 365 * 2, 1.0 / 24.0, 1, [](double t, Random& random) {
    return 2.0 * std::cos(kTurn * t / 365.2425) + std::cos(kTurn * t) + 0.5 * std::sin(kTurn * t / 7.0) +
           0.5 * random.normal();
  });
  EXPECT_EQ(texts(hourly), (Strings{"1y", "1d", "1w"}));
  const std::vector<PeriodLook> found = periods(hourly);
  EXPECT_NEAR(found[1].share, 0.5 / (2.0 + 0.5 + 0.125 + 0.25), 0.02);
  EXPECT_EQ(found[0].days, 365.2425);
  EXPECT_EQ(
      texts(series(900, 1.0, 2, [](double t, Random& random) { return std::sin(kTurn * t / 23.0) + random.normal(); })),
      Strings{"23d"});
  EXPECT_EQ(texts(series(
                2000, 1.0 / 86400.0, 3,
                [](double t, Random& random) { return std::sin(kTurn * t * 86400.0 / 37.0) + 0.3 * random.normal(); })),
            Strings{"37s"});
}

TEST(Periods, AreThoseOfTheLogarithmOfASkewedTarget) {
  const Made made = series(1500, 1.0, 4, [](double t, Random& random) {
    return std::exp(1.5 * std::sin(kTurn * t / 7.0) + random.normal());
  });
  ASSERT_EQ(texts(made), Strings{"1w"});
  EXPECT_NEAR(periods(made)[0].share, 1.125 / 2.125, 0.05);
}

TEST(Periods, HarmonicsAreNotSaidAgain) {
  EXPECT_EQ(texts(series(3000, 1.0 / 24.0, 5,
                         [](double t, Random& random) {
                           const double hour = 24.0 * (t - std::floor(t));
                           return (hour > 7.5 && hour < 12.5 ? 1.0 : 0.0) +
                                  0.2 * random.normal();  // five hours of every day
                         })),
            Strings{"1d"});
}

// Weather lasts, and wanders: it has power at low frequencies and no period. At 2, 3 and 6 years; one of them in a
// hundred tables is too many, and two of 36 would be.
TEST(Periods, NoneInNoiseHoweverLongItLasts) {
  int wrong = 0;
  for (const double lasting : {0.0, 0.8, 0.98, 1.0}) {
    for (const int years : {2, 3, 6}) {
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        double state = 0.0;
        wrong += periods(series(365 * years, 1.0, 50 + seed,
                                [&](double, Random& random) { return state = lasting * state + random.normal(); }))
                         .empty()
                     ? 0
                     : 1;
      }
    }
  }
  EXPECT_LE(wrong, 1);
}

TEST(Periods, SeriesHaveMeansOfTheirOwn) {
  Random random(6);
  std::vector<double> days, y;
  Strings site;
  for (int day = 0; day < 800; ++day) {
    for (int k = 0; k < 5; ++k) {
      days.push_back(day);
      site.push_back(std::string(1, static_cast<char>('a' + k)));
      y.push_back(20.0 * k + std::sin(kTurn * day / 365.2425) + random.normal());
    }
  }
  const TableLook page =
      look(Table::from({Column::times("t", days), Column::categories("site", site), Column::numbers("y", y)}),
           {.target = "y"});
  ASSERT_EQ(page.periods.size(), 1u);
  EXPECT_EQ(page.periods[0].text, "1y");
  EXPECT_NEAR(page.periods[0].share, 1.0 / 3.0, 0.03);
}

}  // namespace
}  // namespace ick
