#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ick/base/parallel.h"
#include "ick/base/seed.h"
#include "ick/look/look.h"
#include "look/combination.h"

namespace ick {
namespace {

using Strings = std::vector<std::string>;
using Values = std::vector<double>;

Values normals(int count, std::uint64_t seed) {
  Random random(seed);
  Values values(static_cast<std::size_t>(count));
  for (double& value : values) value = random.normal();
  return values;
}

template <typename Function>
Values mapped(const Values& from, const Function& function) {
  Values to;
  for (const double value : from) to.push_back(function(value));
  return to;
}

// Expressions of the leaks of y.
Strings leaks(std::vector<Column> columns, const std::string& target = "y", std::uint64_t seed = 0) {
  Strings found;
  for (const LeakLook& leak : look(Table::from(std::move(columns)), {.target = target, .seed = seed}).leaks) {
    EXPECT_GE(leak.score, kLeakScore);
    EXPECT_LE(leak.score, 1.0);
    found.push_back((leak.from_target ? "from y: " : "") + leak.expression);
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(Leaks, CopiesOfTheTarget) {
  const Values y = mapped(normals(900, 1), [](double x) { return std::exp(1.5 * x); }), noise = normals(900, 2),
               error = normals(900, 20);
  Values near = y;  // R2 of ranks about .97: a good predictor, no copy
  for (std::size_t i = 0; i < y.size(); ++i) near[i] = std::log(y[i]) + 0.25 * error[i];
  Values gaps = y;
  for (std::size_t i = 0; i < gaps.size(); i += 3) gaps[i] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(
      leaks({Column::numbers("y", y), Column::numbers("noise", noise), Column::numbers("near", near),
             Column::numbers("log", mapped(y, [](double x) { return std::log(x); })),
             Column::numbers("minus", mapped(y, [](double x) { return -x * x; })), Column::numbers("gaps", gaps)}),
      (Strings{"gaps", "log", "minus"}));
}

TEST(Leaks, LabelsMadeOfTheTarget) {
  const Values y = normals(2000, 3);
  Strings band, any;
  for (std::size_t i = 0; i < y.size(); ++i) {
    band.push_back(y[i] < -0.5 ? "low" : y[i] < 1.0 ? "middle" : "high");
    any.push_back(i % 3 == 0 ? "u" : "v");
  }
  EXPECT_EQ(leaks({Column::numbers("y", y), Column::categories("band", band), Column::categories("any", any),
                   Column::numbers("flag", mapped(y, [](double x) { return x > 0.3 ? 1.0 : 0.0; }))}),
            (Strings{"from y: band", "from y: flag"}));
}

TEST(Leaks, LevelsThatDetermineTheTarget) {
  Random random(4);
  Strings site;
  Values y, x;
  for (int i = 0; i < 1200; ++i) {
    const auto k = random.below(30);
    site.push_back("site " + std::to_string(k));
    y.push_back(static_cast<double>((k * 37) % 101));
    x.push_back(random.normal());
  }
  EXPECT_EQ(leaks({Column::numbers("y", y), Column::categories("site", site), Column::numbers("x", x)}),
            Strings{"site"});
}

TEST(Leaks, OfClasses) {
  const Values x = normals(1500, 5), u = normals(1500, 6);
  Strings kind, other;
  for (std::size_t i = 0; i < x.size(); ++i) {
    kind.push_back(x[i] < -1.0 ? "a" : x[i] < 0.4 ? "b" : "c");
    other.push_back(u[i] + x[i] < 0.0 ? "p" : "q");
  }
  EXPECT_EQ(leaks({Column::categories("y", kind), Column::numbers("x", x), Column::numbers("u", u),
                   Column::categories("other", other)}),
            Strings{"x"});
}

// As in a table of rentals: casual and registered riders add up to all, and the target is the logarithm of their number.
TEST(Leaks, TwoColumnsThatAddUpToTheTarget) {
  const Values a = mapped(normals(3000, 7), [](double x) { return std::floor(std::exp(3.0 + 1.2 * x)); });
  const Values b = mapped(normals(3000, 8), [](double x) { return std::floor(std::exp(5.0 + x)); });
  const Values c = normals(3000, 9);
  Values y, less;
  for (std::size_t i = 0; i < a.size(); ++i) {
    y.push_back(std::log(a[i] + b[i] + 1.0));
    less.push_back(a[i] - b[i]);
  }
  EXPECT_EQ(leaks({Column::numbers("a", a), Column::numbers("b", b), Column::numbers("c", c), Column::numbers("y", y)}),
            Strings{"a + b"});
  EXPECT_EQ(
      leaks({Column::numbers("a", a), Column::numbers("b", b), Column::numbers("c", c), Column::numbers("y", less)}),
      Strings{"a - b"});
}

TEST(Leaks, ProductsRatiosAndThreeColumns) {
  const auto positive = [](std::uint64_t seed) {
    return mapped(normals(2000, seed), [](double x) { return 1.5 + std::abs(x); });
  };
  const Values a = positive(10), b = positive(11), c = positive(12), d = normals(2000, 13);
  Values product, index, three;
  for (std::size_t i = 0; i < a.size(); ++i) {
    product.push_back(a[i] * b[i] * (i % 5 == 0 ? 0.0 : 1.0));
    index.push_back(a[i] / (b[i] * b[i]));
    three.push_back(a[i] + 2.0 * b[i] - d[i]);
  }
  Values b_or_zero = b;
  for (std::size_t i = 0; i < b.size(); i += 5) b_or_zero[i] = 0.0;
  const auto columns = [&](const Values& y, const Values& second) {
    return std::vector<Column>{Column::numbers("a", a), Column::numbers("b", second), Column::numbers("c", c),
                               Column::numbers("d", d), Column::numbers("y", y)};
  };
  EXPECT_EQ(leaks(columns(product, b_or_zero)), Strings{"a * b"});
  EXPECT_EQ(leaks(columns(index, b)), Strings{"a / b^2"});
  EXPECT_EQ(leaks(columns(three, b)), Strings{"a + 2 b - d"});
}

TEST(Leaks, NoneInNoise) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    std::vector<Column> columns = {Column::numbers("y", normals(60, 100 * seed + 99))};
    for (std::uint64_t i = 0; i < 25; ++i)
      columns.push_back(Column::numbers("x" + std::to_string(i), normals(60, 100 * seed + i)));
    EXPECT_EQ(leaks(std::move(columns), "y", seed), Strings{}) << seed;
  }
}

// A target that changes slowly is nearly a function of the time, and of the year. That is no secret of the year's.
TEST(Leaks, NoneInWhatGoesWithTheTime) {
  Random random(14);
  Values year, month, decimal, y, twice;
  for (int m = 0; m < 600; ++m) {
    year.push_back(1960 + m / 12);
    month.push_back(m % 12 + 1);
    decimal.push_back(1960.0 + m / 12.0);
    y.push_back(315.0 + 0.12 * m + 3.0 * std::sin(m * std::acos(-1.0) / 6.0) + 0.3 * random.normal());
    twice.push_back(2.0 * y.back());
  }
  EXPECT_EQ(leaks({Column::numbers("year", year), Column::numbers("month", month), Column::numbers("decimal", decimal),
                   Column::numbers("y", y)}),
            Strings{});
  EXPECT_EQ(leaks({Column::numbers("year", year), Column::numbers("month", month), Column::numbers("twice", twice),
                   Column::numbers("y", y)}),
            Strings{"twice"});
}

TEST(Leaks, FoundInATableThatIsSortedByItsTarget) {
  Values y = normals(500, 15);
  std::sort(y.begin(), y.end());
  EXPECT_EQ(leaks({Column::numbers("y", y), Column::numbers("cube", mapped(y, [](double x) { return x * x * x; })),
                   Column::numbers("noise", normals(500, 16))}),
            Strings{"cube"});
}

TEST(Leaks, TakeNoTermAndAreTheSameForAnyNumberOfThreads) {
  const Values a = normals(30'000, 17), b = normals(30'000, 18), c = normals(30'000, 19);
  Values y;
  for (std::size_t i = 0; i < a.size(); ++i) y.push_back(a[i] + b[i] + 0.02 * c[i]);
  const Table table = Table::from({Column::numbers("a", a), Column::numbers("b", b), Column::numbers("y", y)});
  const int before = workers();
  set_workers(1);
  const TableLook one = look(table, {.target = "y"});
  set_workers(3);
  const TableLook three = look(table, {.target = "y"});
  set_workers(before);
  ASSERT_EQ(one.leaks.size(), 1u);
  EXPECT_EQ(one.leaks[0].score, three.leaks[0].score);
  EXPECT_EQ(one.leaks[0].columns, (Strings{"a", "b"}));
  EXPECT_EQ(one.columns[0].terms, Strings{});
  EXPECT_EQ(one.columns[0].note, "suspected leak");
}

TEST(CombinationText, IsReadByPeople) {
  const Strings names = {"a", "b", "c"};
  const auto text = [&](std::vector<double> weights, bool product) {
    detail::Combination found;
    found.columns = {0, 1, 2};
    found.columns.resize(weights.size());
    found.weights = std::move(weights);
    found.product = product;
    return combination_text(found, names);
  };
  EXPECT_EQ(text({1.0, -0.997}, false), "a - b");
  EXPECT_EQ(text({1.0, 0.3333, -2.004}, false), "a + 0.333 b - 2 c");
  EXPECT_EQ(text({1.0, 1.003, -1.0}, true), "a * b / c");
  EXPECT_EQ(text({1.0, -2.0, -1.0}, true), "a / (b^2 * c)");
  EXPECT_EQ(text({-1.0, -1.37}, true), "1 / (a * b^1.37)");
}

}  // namespace
}  // namespace ick
