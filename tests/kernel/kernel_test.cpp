#include "ick/kernel/kernel.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "support/law.h"
#include "support/message.h"

namespace ick {
namespace {

using Columns = std::vector<InputSummary>;

InputSummary column(const std::string& name, double low, double high, int levels = 0, const std::string& unit = "") {
  InputSummary input;
  input.name = name;
  input.low = low;
  input.high = high;
  input.levels = levels;
  input.unit = unit;
  return input;
}

// t, lat, lon, site
const Columns& inputs() {
  static const Columns all = {column("t", 0.0, 40.0), column("lat", 40.0, 60.0), column("lon", -5.0, 20.0),
                              column("site", 0.0, 2.0, 3)};
  return all;
}

// A time in days, one in hours, a plain number
const Columns& times() {
  static const Columns all = {column("date", 0.0, 1e3, 0, "d"), column("hour", 0.0, 24.0, 0, "h"),
                              column("t", 0.0, 40.0)};
  return all;
}

Kernel bound(const std::string& text, std::int64_t members = 1, std::uint64_t seed = 0,
             const Columns& columns = inputs()) {
  return Kernel(make_kernel_sum(parse_expression(text)), columns, {members, seed});
}

at::Tensor rows(std::int64_t n, std::uint64_t seed) {
  Random random(seed);
  const at::Tensor x = at::empty({n, 4}, at::kDouble);
  for (std::int64_t i = 0; i < n; ++i) {
    double* row = x.data_ptr<double>() + 4 * i;
    row[0] = 40.0 * random.uniform();
    row[1] = 40.0 + 20.0 * random.uniform();
    row[2] = -5.0 + 25.0 * random.uniform();
    row[3] = static_cast<double>(random.below(3));
  }
  return x;
}

double number(const at::Tensor& t) { return t.item<double>(); }

template <class E = UsageError>
std::string error_of(const std::string& text, const Columns& columns = inputs()) {
  return message_of<E>([&] { bound(text, 1, 0, columns); });
}

std::vector<std::string> paths(const Kernel& kernel) {
  std::vector<std::string> all;
  for (const Parameter& each : kernel.parameters().parameters()) all.push_back(each.path);
  return all;
}

TEST(Kernel, SumOfProductsByHand) {
  const Kernel kernel = bound(
      "rbf(t, variance=2, lengthscale=7) * periodic(t, period=5, lengthscale=0.8) + linear(lat, lon, variance=[0.3, 4])"
      " + categorical(site, loading=[1, -2, 0.5], variance=[0.1, 0.2, 0.3], rank=1)");
  ASSERT_EQ(kernel.terms().size(), 3u);
  EXPECT_EQ(kernel.terms()[0].size(), 2u);
  EXPECT_EQ(kernel.inputs(), 4);
  const at::Tensor x = rows(6, 1), y = rows(5, 2), k = kernel.matrix(x, y).detach();
  ASSERT_EQ(k.sizes(), (std::vector<std::int64_t>{1, 6, 5}));
  const double loading[] = {1.0, -2.0, 0.5}, own[] = {0.1, 0.2, 0.3};
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 5; ++j) {
      const double* a = x.data_ptr<double>() + 4 * i;
      const double* b = y.data_ptr<double>() + 4 * j;
      const double gap = a[0] - b[0];
      const auto from = static_cast<std::size_t>(a[3]), to = static_cast<std::size_t>(b[3]);
      const double expected =
          2.0 * std::exp(-gap * gap / 98.0) * std::exp(-2.0 * std::pow(std::sin(M_PI * gap / 5.0) / 0.8, 2)) +
          0.3 * a[1] * b[1] + 4.0 * a[2] * b[2] + loading[from] * loading[to] + (from == to ? own[from] : 0.0);
      EXPECT_NEAR(number(k[0][i][j]), expected, 1e-12 * std::abs(expected)) << i << " " << j;
    }
  }
}

TEST(Kernel, PathsNameTermColumnsKernelAndParameter) {
  EXPECT_EQ(paths(bound("rbf(lat, lon) * cosine(t) + constant() + rbf(t)")),
            (std::vector<std::string>{"term1.lat_lon.rbf.variance", "term1.lat_lon.rbf.lengthscale",
                                      "term1.t.cosine.variance", "term1.t.cosine.period", "term2.constant.variance",
                                      "term3.t.rbf.variance", "term3.t.rbf.lengthscale"}));
  EXPECT_EQ(paths(bound("constant() * constant()")),
            (std::vector<std::string>{"term1.constant.variance", "term1.constant'.variance"}));
  EXPECT_EQ(
      paths(bound("linear(t) * linear(t) * linear(t)")),
      (std::vector<std::string>{"term1.t.linear.variance", "term1.t.linear'.variance", "term1.t.linear''.variance"}));
}

TEST(Kernel, ColumnsAreFoundByNameInTheirOrder) {
  const Kernel kernel = bound("rbf(lon, t, lengthscale=[2, 9])");
  EXPECT_EQ(kernel.terms()[0][0].columns, (std::vector<std::int64_t>{2, 0}));
  const at::Tensor x = rows(3, 3), y = rows(3, 4), k = kernel.matrix(x, y).detach();
  const double by_lon = number(x[1][2] - y[2][2]) / 2.0, by_t = number(x[1][0] - y[2][0]) / 9.0;
  EXPECT_NEAR(number(k[0][1][2]), std::exp(-0.5 * (by_lon * by_lon + by_t * by_t)), 1e-14);
}

TEST(Kernel, ScaleOfAProductIsLearnedOnce) {
  const Kernel kernel = bound("rbf(t) * matern32(lat) * cosine(lon, variance=3) * linear(t)");
  const ParameterSet& set = kernel.parameters();
  EXPECT_FALSE(set.find("term1.t.rbf.variance").fixed);
  EXPECT_TRUE(set.find("term1.lat.matern32.variance").fixed);
  EXPECT_EQ(number(set.natural("term1.lat.matern32.variance")), 1.0);
  EXPECT_TRUE(set.find("term1.lon.cosine.variance").fixed) << "the formula states it";
  EXPECT_FALSE(bound("rbf(t) * rbf(lat, variance=start(3))").parameters().find("term1.lat.rbf.variance").fixed);
  EXPECT_NEAR(number(set.natural("term1.lon.cosine.variance")), 3.0, 1e-14);
  EXPECT_FALSE(set.find("term1.t.linear.variance").fixed) << "one number for each input is not a scale";
  EXPECT_FALSE(bound("rbf(t) + rbf(lat)").parameters().find("term2.lat.rbf.variance").fixed) << "a term of its own";

  kernel.matrix(rows(4, 5), rows(3, 6)).sum().backward();
  const at::Tensor gradient = set.raw().grad()[0];
  EXPECT_EQ(number(gradient[set.find("term1.lat.matern32.variance").first]), 0.0);
  EXPECT_NE(number(gradient[set.find("term1.lat.matern32.lengthscale").first]), 0.0);
}

TEST(Kernel, StartFixedBoundedAndLists) {
  const Kernel kernel = bound(
      "rbf(t, lat, lengthscale=fixed([3, 0.5]), variance=bounded(2, 0.5, 8))"
      " + matern52(t, lengthscale=start(4)) + cosine(lat, lon, period=7)",
      2, 9);
  const ParameterSet& set = kernel.parameters();
  const Parameter& lengthscale = set.find("term1.t_lat.rbf.lengthscale");
  EXPECT_TRUE(lengthscale.fixed);
  EXPECT_EQ(lengthscale.constraint.kind, Constraint::Kind::positive);
  const Parameter& variance = set.find("term1.t_lat.rbf.variance");
  EXPECT_FALSE(variance.fixed);
  EXPECT_EQ(variance.constraint.kind, Constraint::Kind::interval);
  EXPECT_EQ(variance.constraint.low, 0.5);
  EXPECT_EQ(variance.constraint.high, 8.0);
  EXPECT_FALSE(set.find("term2.t.matern52.lengthscale").fixed);
  EXPECT_TRUE(set.find("term3.lat_lon.cosine.period").fixed) << "a value that is stated is known";
  const at::Tensor natural = set.natural().detach();  // variance, two lengthscales | variance, lengthscale | ...
  for (int e = 0; e < 2; ++e) {
    const double expected[] = {2.0, 3.0, 0.5, 1.0, 4.0, 1.0, 7.0, 7.0};
    for (int i = 0; i < 8; ++i) EXPECT_NEAR(number(natural[e][i]), expected[i], 1e-14) << e << " " << i;
  }
}

// A variance that is stated is in the target's units, squared; one after the first of a product is a factor of it.
TEST(Kernel, StatedVariancesAreInTheTargetsUnits) {
  const KernelSum sum = make_kernel_sum(
      parse_expression("rbf(t, variance=6) * matern32(lat, variance=5) + rbf(lon, variance=bounded(3, 1.5, 30)) + "
                       "rbf(t, variance=prior(3, 12))"));
  const Kernel kernel(sum, summarise(rows(5, 1).narrow(1, 0, 3), {"t", "lat", "lon"}), KernelOptions{1, 0, {}, 3.0});
  const ParameterSet& set = kernel.parameters();
  EXPECT_NEAR(number(set.natural("term1.t.rbf.variance")), 2.0, 1e-14);
  EXPECT_NEAR(number(set.natural("term1.lat.matern32.variance")), 5.0, 1e-14);
  EXPECT_NEAR(number(set.natural("term2.lon.rbf.variance")), 1.0, 1e-14);
  EXPECT_EQ(set.find("term2.lon.rbf.variance").constraint.high, 10.0);
  EXPECT_NEAR(number(set.natural("term3.t.rbf.variance")), 2.0, 1e-14);
}

TEST(Kernel, PriorsAreWeakAndInTheUnitsOfTheData) {
  const at::Tensor x = at::arange(101, at::kDouble).unsqueeze(1) * 2.0;  // 0 .. 200, two apart
  const Kernel kernel(make_kernel_sum(parse_expression("rbf(t) * periodic(t)")), summarise(x, {"t"}));
  const Prior rbf = kernel.parameters().find("term1.t.rbf.lengthscale").prior[0];
  EXPECT_NEAR(std::exp(rbf.centre - 2.3263479 * rbf.below), 200.0 / 101.0, 1e-5) << "rows are as far apart";
  EXPECT_NEAR(std::exp(rbf.centre + 2.3263479 * rbf.above), 2000.0, 1e-2) << "ten times the range";
  const Prior season = kernel.parameters().find("term1.t.periodic.lengthscale").prior[0];
  EXPECT_NEAR(std::exp(season.centre + 2.3263479 * season.above), 10.0, 1e-5);
  const Prior variance = kernel.parameters().find("term1.t.rbf.variance").prior[0];
  EXPECT_NEAR(std::exp(variance.centre + 2.3263479 * variance.above), 100.0, 1e-4);
}

TEST(Kernel, TermsAndFactorsShareParameters) {
  Kernel kernel = bound("rbf(t) * cosine(lat) + linear(lon)", 2, 4);
  const Kernel first = kernel.term(0), wave = kernel.factor(0, 1), second = kernel.term(1);
  kernel.parameters().set("term1.lat.cosine.period", 3.7);
  const at::Tensor x = rows(4, 7), y = rows(3, 8);
  EXPECT_LE(relative_error((first.matrix(x, y) + second.matrix(x, y)).detach(), kernel.matrix(x, y).detach()), 1e-14);
  EXPECT_LE(
      relative_error((kernel.factor(0, 0).matrix(x, y) * wave.matrix(x, y)).detach(), first.matrix(x, y).detach()),
      1e-14);
  const double turns = number(x[2][1] - y[1][1]) / 3.7;
  EXPECT_NEAR(number(wave.matrix(x, y)[1][2][1]), std::cos(2.0 * M_PI * turns), 1e-12);
  EXPECT_TRUE(wave.parameters().raw().is_same(kernel.parameters().raw()));
  EXPECT_EQ(wave.inputs(), 4);
  EXPECT_THROW(kernel.term(2), std::out_of_range);
}

// rbf(t) * (cosine(lat) + linear(lon)) has one rbf, however it is multiplied out; written out twice it has two.
TEST(Kernel, ACallInSeveralTermsIsOneKernel) {
  Kernel kernel = bound("rbf(t) * (cosine(lat) + linear(lon))");
  EXPECT_EQ(paths(kernel),
            (std::vector<std::string>{"term1.t.rbf.variance", "term1.t.rbf.lengthscale", "term1.lat.cosine.variance",
                                      "term1.lat.cosine.period", "term2.lon.linear.variance"}));
  EXPECT_EQ(bound("rbf(t) * cosine(lat) + rbf(t) * linear(lon)").parameters().size(), 7);
  kernel.parameters().set("term1.t.rbf.lengthscale", 11.0);
  kernel.parameters().set("term1.t.rbf.variance", 1.6);
  kernel.parameters().set("term1.lat.cosine.period", 3.3);
  kernel.parameters().set("term2.lon.linear.variance", 0.2);
  const at::Tensor x = rows(2, 15), y = rows(2, 16);
  const double gap = number(x[1][0] - y[0][0]) / 11.0, turns = number(x[1][1] - y[0][1]) / 3.3;
  const double scale = number(kernel.parameters().natural("term1.lat.cosine.variance"));
  const double sum = scale * std::cos(2.0 * M_PI * turns) + 0.2 * number(x[1][2] * y[0][2]);
  EXPECT_NEAR(number(kernel.matrix(x, y)[0][1][0]), 1.6 * std::exp(-0.5 * gap * gap) * sum, 1e-12 * std::abs(sum));
}

TEST(Kernel, DiagonalIsTheMatrixsDiagonal) {
  const at::Tensor x = rows(6, 9);
  for (const char* text :
       {"rbf(t) * periodic(lat) + linear(lat, lon)", "categorical(site) * matern12(lat, lon, sphere)",
        "constant() + spectral_mixture(t)", "polynomial(t, degree=3)", "constant()"}) {
    const Kernel kernel = bound(text, 3, 5);
    const at::Tensor diagonal = kernel.diagonal(x).detach();
    ASSERT_EQ(diagonal.sizes(), (std::vector<std::int64_t>{3, 6})) << text;
    EXPECT_LE(relative_error(diagonal, kernel.matrix(x, x).diagonal(0, 1, 2).detach()), 1e-12) << text;
  }
}

TEST(Kernel, EachMemberMayHaveItsOwnRows) {
  const std::string text = "rbf(t) * categorical(site) + matern32(lat, lon, sphere)";
  const Kernel kernel = bound(text, 2, 5);
  const at::Tensor x0 = rows(4, 10), x1 = rows(4, 11), y = rows(3, 12);
  const at::Tensor k = kernel.matrix(at::stack({x0, x1}), y).detach();
  ASSERT_EQ(k.sizes(), (std::vector<std::int64_t>{2, 4, 3}));
  EXPECT_LE(relative_error(k[0], kernel.matrix(x0, y)[0].detach()), 1e-14);
  EXPECT_LE(relative_error(k[1], kernel.matrix(x1, y)[1].detach()), 1e-14);
  EXPECT_LE(relative_error(kernel.matrix(y, at::stack({x0, x1})).detach(), k.transpose(1, 2)), 1e-14);
  EXPECT_LE(relative_error(kernel.diagonal(at::stack({x0, x1})).detach()[1], kernel.diagonal(x1)[1].detach()), 1e-14);
}

TEST(Kernel, NoRows) {
  for (const char* text : {"rbf(t) + linear(lat)", "categorical(site)", "matern32(lat, lon, sphere)", "constant()"}) {
    const Kernel kernel = bound(text, 2);
    const at::Tensor none = at::empty({0, 4}, at::kDouble);
    EXPECT_EQ(kernel.matrix(none, rows(3, 1)).sizes(), (std::vector<std::int64_t>{2, 0, 3})) << text;
    EXPECT_EQ(kernel.matrix(rows(3, 1), none).sizes(), (std::vector<std::int64_t>{2, 3, 0})) << text;
    EXPECT_EQ(kernel.diagonal(none).sizes(), (std::vector<std::int64_t>{2, 0})) << text;
  }
}

TEST(Kernel, SinglePrecisionRowsAreComputedInDouble) {
  const Kernel kernel = bound("matern52(t, lat)");
  const at::Tensor x = rows(4, 13).to(at::kFloat), y = rows(3, 14).to(at::kFloat), k = kernel.matrix(x, y).detach();
  EXPECT_EQ(k.scalar_type(), at::kDouble);
  EXPECT_LE(relative_error(k, kernel.matrix(x.to(at::kDouble), y.to(at::kDouble)).detach()), 1e-15);
}

TEST(Kernel, DistancesOnTheEarth) {
  Kernel kernel = bound("matern12(lat, lon, sphere, lengthscale=1000km)");
  const at::Tensor places = at::zeros({9, 4}, at::kDouble);
  places.narrow(1, 1, 2).copy_(at::tensor({90.0, 0.0, -90.0, 0.0, 0.0, 0.0, 0.0, 180.0, 0.0, -180.0, 0.0, 90.0, 90.0,
                                           77.0, 60.0, 10.0, 60.0, 70.0},
                                          at::kDouble)
                                   .view({9, 2}));  // latitude, longitude
  const auto distance = [&](std::int64_t i, std::int64_t j) {
    return -1000.0 * std::log(number(kernel.matrix(places, places)[0][i][j]));
  };
  constexpr double radius = 6371.0088;
  EXPECT_NEAR(distance(0, 1), 2.0 * radius, 1e-8) << "pole to pole";
  EXPECT_NEAR(distance(2, 3), 2.0 * radius, 1e-8) << "antipodes on the equator";
  EXPECT_NEAR(distance(3, 4), 0.0, 1e-8) << "one meridian, two names";
  EXPECT_NEAR(distance(2, 5), std::sqrt(2.0) * radius, 1e-8) << "a quarter of the equator";
  EXPECT_NEAR(distance(0, 6), 0.0, 1e-8) << "at a pole the longitude says nothing";
  EXPECT_NEAR(distance(7, 8), 0.5 * radius, 1e-8) << "60 degrees of longitude at 60 degrees north";
  double point[3];
  place_to_point(60.0, 70.0, point);
  EXPECT_NEAR(std::hypot(point[0], point[1], point[2]), radius, 1e-9);
}

TEST(Kernel, LengthsOnTheEarthMayBeGivenInMetres) {
  const Kernel kernel = bound(
      "rbf(lat, lon, sphere, lengthscale=30km) + rbf(lat, lon, sphere, lengthscale=bounded(2500m, 1km, 9km))"
      " + rbf(lat, lon, sphere, lengthscale=45)");
  EXPECT_NEAR(number(kernel.parameters().natural("term1.lat_lon.rbf.lengthscale")), 30.0, 1e-12);
  EXPECT_NEAR(number(kernel.parameters().natural("term2.lat_lon.rbf.lengthscale")), 2.5, 1e-12);
  EXPECT_EQ(kernel.parameters().find("term2.lat_lon.rbf.lengthscale").constraint.high, 9.0);
  EXPECT_NEAR(number(kernel.parameters().natural("term3.lat_lon.rbf.lengthscale")), 45.0, 1e-12);
}

TEST(Kernel, QuantitiesAreConvertedToTheUnitOfTheirColumn) {
  const Kernel kernel = bound(
      "periodic(date, period=1y) + cosine(date, t, hour, period=[36h, 5, 90min])"
      " + rbf(date, hour, lengthscale=fixed(2d)) + matern32(date, lengthscale=bounded(2w, 1w, 0.5y))"
      " + rbf(date, lengthscale=12)",
      2, 3, times());
  const ParameterSet& set = kernel.parameters();
  const auto expect = [&](const std::string& path, const std::vector<double>& expected) {
    const at::Tensor natural = set.natural(path).detach();  // (E, numbers)
    ASSERT_EQ(natural.size(1), std::ssize(expected)) << path;
    for (std::int64_t e = 0; e < 2; ++e) {
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(number(natural[e][static_cast<std::int64_t>(i)]), expected[i], 1e-12 * expected[i]) << path;
      }
    }
  };
  expect("term1.date.periodic.period", {365.2425});
  expect("term2.date_t_hour.cosine.period", {1.5, 5.0, 1.5});
  expect("term3.date_hour.rbf.lengthscale", {2.0, 48.0});
  EXPECT_TRUE(set.find("term3.date_hour.rbf.lengthscale").fixed);
  expect("term4.date.matern32.lengthscale", {14.0});
  EXPECT_EQ(set.find("term4.date.matern32.lengthscale").constraint.low, 7.0);
  EXPECT_DOUBLE_EQ(set.find("term4.date.matern32.lengthscale").constraint.high, 182.62125);
  expect("term5.date.rbf.lengthscale", {12.0});
}

TEST(Kernel, OptionsSetSizes) {
  EXPECT_EQ(bound("spectral_mixture(t, lat, components=3)").parameters().size(), 3 + 6 + 6);
  EXPECT_EQ(bound("spectral_mixture(t)").terms()[0][0].structure.components, 2);
  EXPECT_EQ(bound("polynomial(t, degree=4)").terms()[0][0].structure.degree, 4);
  EXPECT_EQ(bound("categorical(site, rank=1)").parameters().size(), 3 + 3);
  EXPECT_EQ(bound("categorical(site)").terms()[0][0].structure.rank, 2);
  EXPECT_EQ(bound("matern12(lat, lon, sphere)").terms()[0][0].structure.inputs, 3);
}

struct Message {
  std::string text, message;
};

TEST(KernelMessages, WrongRequests) {
  const Message all[] = {
      {"rbf(t) + perodic(t)", "formula column 10: no kernel named \"perodic\"; did you mean \"periodic\"?"},
      {"wavelet(t)", "formula column 1: no kernel named \"wavelet\"; `ick list kernels` shows all"},
      {"linear(lat, lon, sphere)",
       "formula column 1: linear does not work on the sphere; use rbf, matern12, matern32 and matern52"},
      {"rbf(lat, sphere)", "formula column 1: rbf (sphere) has 1 columns; it takes latitude and longitude"},
      {"categorical(site, t)", "formula column 1: categorical has 2 columns; it takes one column of levels"},
      {"rbf(t, t)", "formula column 8: rbf names column \"t\" twice; once is enough"},
      {"rbf()", "formula column 1: rbf has no column; name at least one, as in rbf(x)"},
      {"rbf(t, lenghtscale=2)",
       "formula column 8: rbf has no parameter named \"lenghtscale\"; did you mean \"lengthscale\"?"},
      {"rbf(t, alpha=2)", "formula column 8: rbf has no parameter named \"alpha\"; it has variance and lengthscale"},
      {"rbf(t, components=2)",
       "formula column 8: rbf has no parameter named \"components\"; it has variance and lengthscale"},
      {"spectral_mixture(t, components=2.5)", "formula column 21: components must be a whole number from 1 to 100"},
      {"polynomial(t, degree=0)", "formula column 15: degree must be a whole number from 1 to 10"},
      {"polynomial(t, degree=fixed(2))", "formula column 15: degree must be a whole number from 1 to 10"},
      {"polynomial(t, degree=[1, 2])", "formula column 15: degree must be a whole number from 1 to 10"},
      {"polynomial(t, degree=2km)", "formula column 15: degree must be a whole number from 1 to 10"},
      {"rbf(t, lengthscale=long)", "formula column 8: lengthscale must be a number"},
      {"rbf(t, lat, lengthscale=[1, 2, 3])", "formula column 13: lengthscale has 3 values; expected 1 or 2"},
      {"rbf(t, variance=-1)", "formula column 8: variance = -1 is not a positive number"},
      {"rbf(t, variance=fixed(0))", "formula column 8: variance = 0 is not a positive number"},
      {"rbf(t, lengthscale=bounded(9, 0.5, 8))", "formula column 8: lengthscale = 9 is not a number between 0.5 and 8"},
      {"rbf(t, lengthscale=bounded(1, -2, 8))",
       "formula column 8: lengthscale must be positive, but its lower bound is -2"},
      {"rbf(t, lengthscale=bounded(3, 8, 2))",
       "formula column 8: lengthscale: bounds 8 and 2 do not enclose anything; give a low and a higher high"},
      {"rbf(lat, lon, sphere, lengthscale=3y)",
       "formula column 23: lengthscale = 3y: the unit \"y\" does not fit a distance on the Earth (expected km or m)"},
      {"periodic(t, period=1.5y)",
       "formula column 13: period = 1.5y: the unit \"y\" does not fit a column of plain numbers (column \"t\" has no "
       "unit; write the number alone, or give the column one with units)"},
      {"rbf(t, lengthscale=bounded(2, 1, 3d))",
       "formula column 8: lengthscale = 3d: the unit \"d\" does not fit a column of plain numbers (column \"t\" has no "
       "unit; write the number alone, or give the column one with units)"},
      {"constant(variance=2m)",
       "formula column 10: variance = 2m: the unit \"m\" does not fit a parameter that is not measured along a column "
       "(write the number alone)"},
      {"rbf(t, .)",
       "formula column 1: rbf has \".\" for the columns of a table, and there is no table here; name the columns"},
      {"rbf(lat, lon, sphere=3)",
       "formula column 15: sphere is a word that stands alone, as in rbf(lat, lon, sphere)"}};
  for (const Message& each : all) EXPECT_EQ(error_of(each.text), each.message) << each.text;
}

TEST(KernelMessages, WrongUnits) {
  const Message all[] = {
      {"rbf(date, t, lengthscale=2w)",
       "formula column 14: lengthscale = 2w: the unit \"w\" does not fit a column of plain numbers (column \"t\" has "
       "no "
       "unit; write the number alone, or give the column one with units)"},
      {"rbf(date, lengthscale=2km)",
       "formula column 11: lengthscale = 2km: the unit \"km\" does not fit column \"date\", which is in d (write a "
       "unit "
       "of the same kind, or the number alone)"},
      {"rbf(date, lengthscale=1mo)",
       "formula column 11: lengthscale = 1mo: the unit \"mo\" does not fit column \"date\", which is in d (write a "
       "unit "
       "of the same kind, or the number alone)"},
      {"rbf(date, lengthscale=bounded(1y, 1d, 1e308y))",
       "formula column 11: lengthscale: bounds 1 and inf do not enclose anything; give a low and a higher high"},
      {"rbf(date, hour, lengthscale=bounded(1d, 1h, 9d))",
       "formula column 17: lengthscale has bounds for columns of different units; write the bounds without a unit"},
      {"spectral_mixture(date, mean=1y)",
       "formula column 24: mean = 1y: the unit \"y\" does not fit a frequency (write the number alone: cycles per d)"},
      {"spectral_mixture(t, mean=1y)",
       "formula column 21: mean = 1y: the unit \"y\" does not fit a frequency (write the number alone: cycles per unit "
       "of column \"t\")"},
      {"periodic(date, lengthscale=1y)",
       "formula column 16: lengthscale = 1y: the unit \"y\" does not fit a parameter that is not measured along a "
       "column "
       "(write the number alone)"}};
  for (const Message& each : all) EXPECT_EQ(error_of(each.text, times()), each.message) << each.text;
}

// Which kernels are one is said by their ids, not by where or how they were written.
TEST(Kernel, KernelsOfOneIdShareTheirParameters) {
  KernelSpec a, b;
  a.name = "rbf", a.columns = {"t"};
  b.name = "linear", b.columns = {"lat"};
  const auto parameters = [&](std::size_t first, std::size_t second) {
    KernelSpec again = a;
    a.id = first, again.id = second;
    return Kernel({{a, b}, {again}}, inputs()).parameters().size();
  };
  const std::int64_t linear = bound("linear(lat)").parameters().size(), rbf = bound("rbf(t)").parameters().size();
  EXPECT_EQ(parameters(7, 7), linear + rbf);
  EXPECT_EQ(parameters(7, 8), linear + 2 * rbf);
  EXPECT_EQ(parameters(0, 0), linear + 2 * rbf);
}

TEST(KernelMessages, CallsMadeInCodeHaveNoColumnPositions) {
  Call call;
  call.name = "rbf";
  call.columns = {"height"};
  call.position = 3;
  EXPECT_EQ(message_of([&] { Kernel({{make_kernel_spec(call)}}, inputs()); }),
            "formula column 3: no column named \"height\"");
}

TEST(KernelMessages, WrongData) {
  const Message all[] = {
      {"rbf(lan)", "formula column 5: no column named \"lan\"; did you mean \"lat\"?"},
      {"linear(t) * rbf(height)", "formula column 17: no column named \"height\""},
      {"categorical(t)", "formula column 13: column \"t\" holds numbers; categorical takes a column of levels"},
      {"rbf(t, site)", "formula column 8: column \"site\" holds levels; rbf takes numbers (use categorical(site))"}};
  for (const Message& each : all) EXPECT_EQ(error_of<DataError>(each.text), each.message) << each.text;
}

TEST(KernelMessages, WrongShapes) {
  const Kernel kernel = bound("rbf(t)", 2);
  EXPECT_EQ(message_of([&] {
              kernel.matrix(at::ones({3, 5}), rows(2, 1));
            }),
            "inputs of a kernel must be rows of 4 columns");
  EXPECT_EQ(message_of([&] { kernel.diagonal(at::ones({4})); }), "inputs of a kernel must be rows of 4 columns");
  EXPECT_EQ(message_of([&] {
              kernel.matrix(at::ones({3, 5, 4}), rows(2, 1));
            }),
            "inputs of a kernel are for 3 members, but it has 2");
  EXPECT_EQ(message_of([] { Kernel({{}}, inputs()); }), "a term of a kernel expression needs at least one kernel");
  EXPECT_EQ(message_of([] { Kernel({}, inputs()); }), "a kernel expression needs at least one kernel");
  EXPECT_EQ(message_of([] { bound("rbf(t)", 0); }), "a kernel needs at least one member");
}

// Only kernels that say so, and not their neighbours in a product, have their zero elsewhere.
TEST(Kernel, DotProductsCountFromTheCentreOfTheirColumns) {
  Columns columns = {column("a", 280.0, 300.0), column("b", -1.0, 1.0)};
  columns[0].centre = 291.0;
  columns[1].centre = -0.25;
  const at::Tensor x = at::tensor({284.0, 0.5}, at::kDouble).view({1, 2}),
                   y = at::tensor({299.0, -0.75}, at::kDouble).view({1, 2});
  const auto value = [&](const std::string& text) {
    return Kernel(make_kernel_sum(parse_expression(text)), columns).matrix(x, y).item<double>();
  };
  const double a = -7.0 * 8.0, b = 0.75 * -0.5;
  EXPECT_NEAR(value("linear(a, variance=3)"), 3.0 * a, 1e-12);
  EXPECT_NEAR(value("linear(b, a, variance=[2, 3])"), 2.0 * b + 3.0 * a, 1e-12);
  EXPECT_NEAR(value("polynomial(b, a, variance=1, offset=2, lengthscale=[1, 10], degree=3)"),
              std::pow(2.0 + b + a / 100.0, 3.0), 1e-12);
  EXPECT_NEAR(value("linear(a, variance=3) * rbf(b, variance=1, lengthscale=2)"),
              3.0 * a * std::exp(-0.5 * (1.25 / 2.0) * (1.25 / 2.0)), 1e-12);
}

std::int64_t rank(const std::string& text) { return rank_of(bound(text).terms()[0]); }

TEST(Kernel, RankOfAProduct) {
  EXPECT_EQ(rank("constant()"), 1);
  EXPECT_EQ(rank("linear(t)"), 1);
  EXPECT_EQ(rank("linear(t, lat, lon)"), 3);
  EXPECT_EQ(rank("categorical(site)"), 3);
  EXPECT_EQ(rank("cosine(t)"), 2);
  EXPECT_EQ(rank("cosine(t, lat)"), 2);
  EXPECT_EQ(rank("polynomial(t)"), 3);
  EXPECT_EQ(rank("polynomial(t, lat, degree=3)"), 10);         // 1, x, y, x2, xy, y2, x3, x2y, xy2, y3
  EXPECT_EQ(rank("polynomial(t, lat, lon, degree=10)"), 286);  // binomial(13, 3)
  EXPECT_EQ(rank("polynomial(t) * categorical(site) * cosine(lat)"), 18);
  for (const char* text : {"rbf(t)", "periodic(t)", "spectral_mixture(t)", "matern32(lat, lon, sphere)",
                           "linear(t) * rational_quadratic(lat)"}) {
    EXPECT_EQ(rank(text), kNoRank) << text;
  }
  std::string power = "polynomial(t, lat, lon, degree=10)";
  for (int i = 0; i < 12; ++i) power += " * polynomial(t, lat, lon, degree=10)";
  EXPECT_GT(rank(power), 1'000'000) << "286^13 is more than a number can hold";
  EXPECT_LT(rank(power), kNoRank);
}

TEST(Summarise, RangesAndSizes) {
  const at::Tensor x = at::tensor({1.0, 0.0, -3.0, 2.0, 2.0, 1.0}, at::kDouble).view({3, 2});
  const std::vector<InputSummary> all = summarise(x, {"a", "b"}, {0, 3});
  EXPECT_EQ(all[0].name, "a");
  EXPECT_EQ(all[0].low, -3.0);
  EXPECT_EQ(all[0].high, 2.0);
  EXPECT_EQ(all[0].span(), 5.0);
  EXPECT_EQ(all[0].rows, 3);
  EXPECT_EQ(all[0].centre, 0.0);
  EXPECT_NEAR(all[0].root_mean_square, std::sqrt(14.0 / 3.0), 1e-15);
  const InputSummary away = summarise(x + 290.0, {"a", "b"})[0];
  EXPECT_NEAR(away.centre, 290.0, 1e-12);
  EXPECT_NEAR(away.root_mean_square, std::sqrt(14.0 / 3.0), 1e-12);
  const InputSummary flat = summarise(at::full({7, 1}, 300.1, at::kDouble), {"flat"})[0];
  EXPECT_EQ(flat.centre, 300.1);
  EXPECT_EQ(flat.root_mean_square, 0.0);
  EXPECT_EQ(all[0].levels, 0);
  EXPECT_EQ(all[1].levels, 3);
  EXPECT_EQ(summarise(at::full({4, 1}, 2.5), {"flat"})[0].span(), 1.0) << "a constant column has no range";
  EXPECT_EQ(summarise(at::empty({0, 1}), {"none"})[0].rows, 0);
}

TEST(Summarise, Messages) {
  const at::Tensor hole = at::tensor({1.0, std::nan("")}, at::kDouble).view({2, 1});
  const at::Tensor code = at::tensor({0.0, 3.0}, at::kDouble).view({2, 1});
  EXPECT_EQ(message_of([&] { summarise(hole, {"pm25"}); }),
            "column \"pm25\" holds a value that is not finite; a kernel needs every value");
  EXPECT_EQ(message_of([&] { summarise(code, {"site"}, {3}); }), "column \"site\" holds a level code outside 0 to 2");
  EXPECT_EQ(message_of([&] {
              summarise(code, {"a", "b"});
            }),
            "summarise takes rows of as many columns as there are names");
}

}  // namespace
}  // namespace ick
