#include "ick/model/spec.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ick/base/error.h"
#include "table/scratch.h"

namespace ick {
namespace {

using Names = std::vector<std::string>;

const Names kColumns = {"y", "a", "b", "t", "lat", "lon", "site"};

ModelSpec spec_of(const std::string& formula, const Names& columns = kColumns) {
  return make_spec(parse_formula(formula), columns);
}

Names terms_of(const ModelSpec& spec) {
  Names terms;
  for (const TermSpec& term : spec.terms) terms.push_back(print(term));
  return terms;
}

template <class E>
std::string refusal(const std::string& formula, const Names& columns = kColumns) {
  return message_of<E>([&] { spec_of(formula, columns); });
}

TEST(Spec, KernelsThatShareTheirNetworksAreOneTerm) {
  EXPECT_EQ(terms_of(spec_of("y ~ mlp(a) * (rbf(t) + periodic(t))")), Names{"mlp(a) * (rbf(t) + periodic(t))"});
  EXPECT_EQ(terms_of(spec_of("y ~ (rbf(t) + periodic(t)) * mlp(a)")), Names{"mlp(a) * (rbf(t) + periodic(t))"});
  EXPECT_EQ(terms_of(spec_of("y ~ mlp(a) * mlp(b) * (rbf(t) * linear(t) + constant())")),
            Names{"mlp(a) * mlp(b) * (rbf(t) * linear(t) + constant())"});
}

// Also in a formula that was made in code, where calls have no place.
TEST(Spec, WhatIsWrittenOnceHasOneId) {
  Formula formula = parse_formula("y ~ (mlp(a) + mlp(a)) * (rbf(t) + rbf(t)) * linear(b)");
  const auto forget = [](auto& self, Expression& tree) -> void {
    tree.call.position = 0;
    for (Expression& operand : tree.operands) self(self, operand);
  };
  for (const bool in_code : {false, true}) {
    if (in_code) forget(forget, formula.right);
    const ModelSpec spec = make_spec(formula, kColumns);
    ASSERT_EQ(spec.terms.size(), 2u);
    const TermSpec &first = spec.terms[0], &second = spec.terms[1];
    EXPECT_EQ(print(first), "mlp(a) * (rbf(t) * linear(b) + rbf(t) * linear(b))");
    EXPECT_EQ(print(second), print(first));
    EXPECT_NE(first.networks[0].id, second.networks[0].id);
    EXPECT_NE(first.kernels[0][0].id, first.kernels[1][0].id);
    EXPECT_EQ(first.kernels[0][1].id, first.kernels[1][1].id);
    EXPECT_NE(first.kernels[0][1].id, 0u);
    for (const std::size_t k : {0, 1}) EXPECT_EQ(first.kernels[k][0].id, second.kernels[k][0].id);
  }
}

TEST(Spec, NetworksWrittenTwiceAreTwo) {
  EXPECT_EQ(terms_of(spec_of("y ~ mlp(a) * rbf(t) + mlp(a) * rbf(t)")), (Names{"mlp(a) * rbf(t)", "mlp(a) * rbf(t)"}));
  EXPECT_EQ(terms_of(spec_of("y ~ mlp(a) * rbf(t) + mlp(a) * periodic(t)")),
            (Names{"mlp(a) * rbf(t)", "mlp(a) * periodic(t)"}));
  // (f + g)(k + l) = f (k + l) + g (k + l)
  EXPECT_EQ(terms_of(spec_of("y ~ (mlp(a) + mlp(b)) * (rbf(t) + linear(t))")),
            (Names{"mlp(a) * (rbf(t) + linear(t))", "mlp(b) * (rbf(t) + linear(t))"}));
}

TEST(Spec, KernelsAndNetworksAloneAreTermsOfTheirOwn) {
  const ModelSpec spec = spec_of("y ~ mlp(a) + rbf(t) + rbf(t) * linear(b) + mlp(a) * mlp(b) + constant()");
  EXPECT_EQ(terms_of(spec), (Names{"mlp(a)", "rbf(t)", "rbf(t) * linear(b)", "mlp(a) * mlp(b)", "constant()"}));
  EXPECT_EQ(spec.kernel_columns, (Names{"t", "b"}));
  EXPECT_EQ(spec.network_columns, (Names{"a", "b"}));
  EXPECT_TRUE(spec.terms[0].kernels.empty());
  EXPECT_TRUE(spec.terms[1].networks.empty());
  EXPECT_FALSE(spec.kernels_only());
  EXPECT_TRUE(spec_of("y ~ rbf(t) + linear(a)").kernels_only());
}

// One part for each product of kernels, and for each term without any.
TEST(Spec, ShareOfThePriorVariance) {
  EXPECT_EQ(spec_of("y ~ mlp(a)").share(), 1.0);
  EXPECT_EQ(spec_of("y ~ mlp(a) * mlp(b) * rbf(t)").share(), 1.0);
  EXPECT_EQ(spec_of("y ~ mlp(a) * (rbf(t) + periodic(t) * linear(t))").share(), 0.5);
  EXPECT_EQ(spec_of("y ~ mlp(a) * (rbf(t) + periodic(t)) + mlp(b) + linear(t)").share(), 0.25);
}

TEST(Spec, DotStandsForTheColumnsNotUsedElsewhere) {
  const ModelSpec spec = spec_of("y ~ mlp(.) * periodic(t) + matern32(lat, lon, sphere)");
  EXPECT_EQ(spec.terms[0].networks[0].inputs.columns, (Names{"a", "b", "site"}));
  EXPECT_EQ(spec.terms[0].networks[0].text, "mlp(a, b, site)");
  EXPECT_EQ(spec.network_columns, (Names{"a", "b", "site"}));
  EXPECT_EQ(spec_of("y ~ mlp(t, .) + linear(a)").terms[0].networks[0].inputs.columns,
            (Names{"t", "b", "lat", "lon", "site"}));
  const ModelSpec two = spec_of("y ~ mlp(.) + mlp(.) * mlp(a)");
  EXPECT_EQ(two.terms[0].networks[0].inputs.columns, (Names{"b", "t", "lat", "lon", "site"}));
  EXPECT_EQ(two.terms[1].networks[0].inputs.columns, two.terms[0].networks[0].inputs.columns);
}

TEST(Spec, SaysWhoReadsWhichColumn) {
  const ModelSpec spec = spec_of(
      "y ~ cnn(site, a, .) * mlp(trees(b, n=4), a) * rbf(t) + categorical(lon, rank=1) + matern32(lat, t, sphere)",
      {"y", "a", "b", "t", "lat", "lon", "site", "wind"});
  EXPECT_EQ(spec.network_columns, (Names{"site", "a", "wind", "b"}));
  EXPECT_EQ(spec.kernel_columns, (Names{"t", "lon", "lat"}));
  EXPECT_EQ(spec.level_columns, Names{"lon"});
}

TEST(Spec, DotWhereNoMoreColumnsAreRead) {
  EXPECT_EQ(refusal<UsageError>("y ~ cnn(.)"),
            "formula column 5: cnn reads images, and no column says which; name it, as in cnn(image)");
  EXPECT_EQ(refusal<UsageError>("y ~ cnn(raster=\"dem.tif\", at=(lat, lon), ., size=8)"),
            "formula column 5: cnn cuts patches of a raster around places; say where with at=(latitude, longitude)");
}

TEST(Spec, OptionsOfTermsAreReadAndTakenAway) {
  const ModelSpec spec = spec_of(
      "y ~ mlp(a, points=9, layers=[4]) * rbf(t, features=fourier, lengthscale=2) + "
      "matern32(lat, lon, features=nystrom, placement=kmeans, train_points=yes, points=20) + linear(b)");
  ASSERT_EQ(spec.terms.size(), 3u);
  EXPECT_EQ(terms_of(spec)[0], "mlp(a, layers=4) * rbf(t, lengthscale=2)");
  EXPECT_EQ(spec.terms[0].features, 9);
  EXPECT_EQ(spec.terms[0].map, MapKind::fourier);
  EXPECT_EQ(terms_of(spec)[1], "matern32(lat, lon)");
  EXPECT_EQ(spec.terms[1].features, 20);
  EXPECT_EQ(spec.terms[1].map, MapKind::nystrom);
  EXPECT_EQ(spec.terms[1].placement, Placement::kmeans);
  EXPECT_TRUE(spec.terms[1].train_points);
  EXPECT_EQ(spec.terms[2].features, 0);
  EXPECT_EQ(spec.terms[2].placement, Placement::automatic);
  EXPECT_FALSE(spec.terms[2].train_points);
  EXPECT_EQ(spec_of("y ~ rbf(t, features=hilbert, train_points=no)").terms[0].map, MapKind::hilbert);
  EXPECT_EQ(spec_of("y ~ rbf(t, placement=pivoted_cholesky)").terms[0].placement, Placement::pivoted_cholesky);
  EXPECT_EQ(spec_of("y ~ periodic(t, placement=one_period)").terms[0].placement, Placement::one_period);
  EXPECT_EQ(spec_of("y ~ rbf(t, placement=grid)").terms[0].placement, Placement::grid);
}

// Kernels that want different maps cannot be features of one network.
TEST(Spec, DifferentOptionsMakeDifferentTerms) {
  const ModelSpec spec = spec_of("y ~ mlp(a) * (rbf(t, points=8) + periodic(t, points=16))");
  EXPECT_EQ(terms_of(spec), (Names{"mlp(a) * rbf(t)", "mlp(a) * periodic(t)"}));
  EXPECT_EQ(spec.terms[0].features, 8);
  EXPECT_EQ(spec.terms[1].features, 16);
}

TEST(Spec, OptionsSaidTwice) {
  EXPECT_EQ(spec_of("y ~ rbf(t, points=8) * linear(a, points=8)").terms[0].features, 8);
  EXPECT_EQ(refusal<UsageError>("y ~ rbf(t, points=8) * linear(a, points=9)"),
            "formula column 34: points is said a second time, and otherwise, in one term; say it once (the first is in "
            "column 12)");
}

TEST(Spec, OptionsThatAreWrong) {
  const std::string count = "formula column 12: points must be a whole number from 1 to 4096";
  for (const char* points : {"0", "-3", "2.5", "4097", "8d", "[4, 4]", "fixed(4)", "many"}) {
    EXPECT_EQ(refusal<UsageError>("y ~ rbf(t, points=" + std::string(points) + ")"), count) << points;
  }
  EXPECT_EQ(refusal<UsageError>("y ~ rbf(t, features=furier)"),
            "formula column 12: features is one of nystrom, fourier and hilbert; did you mean \"fourier\"?");
  EXPECT_EQ(refusal<UsageError>("y ~ rbf(t, features=64)"),
            "formula column 12: features is one of nystrom, fourier and hilbert");
  EXPECT_EQ(
      refusal<UsageError>("y ~ rbf(t, placement=gird)"),
      "formula column 12: placement is one of automatic, grid, one_period, kmeans and pivoted_cholesky; did you mean "
      "\"grid\"?");
  EXPECT_EQ(refusal<UsageError>("y ~ rbf(t, train_points=maybe)"),
            "formula column 12: train_points is one of yes and no");
}

TEST(Spec, UnknownNames) {
  EXPECT_EQ(refusal<UsageError>("y ~ mpl(a)"),
            "formula column 5: no network or kernel named \"mpl\"; did you mean \"mlp\"?");
  EXPECT_EQ(refusal<UsageError>("y ~ mlp(a) * perodic(t)"),
            "formula column 14: no network or kernel named \"perodic\"; did you mean \"periodic\"?");
  EXPECT_EQ(refusal<UsageError>("y ~ transformer(a)"),
            "formula column 5: no network or kernel named \"transformer\"; `ick list` shows them all");
}

TEST(Spec, UnknownColumns) {
  EXPECT_EQ(refusal<DataError>("y ~ mlp(a) * matern32(lat, lan)"),
            "formula column 28: no column named \"lan\"; did you mean \"lat\"?");
  EXPECT_EQ(refusal<DataError>("y ~ mlp(humidity)", {"y", "a", "b"}),
            "formula column 9: no column named \"humidity\"; there are y, a and b");
  EXPECT_EQ(refusal<DataError>("log(pm25) ~ mlp(a)", {"pm_25", "a"}),
            "formula column 5: no column named \"pm25\" to predict; did you mean \"pm_25\"?");
  EXPECT_EQ(refusal<DataError>("price ~ mlp(a)", {"y", "a"}),
            "formula column 1: no column named \"price\" to predict; there are y and a");
}

TEST(Spec, TheTargetOnTheRight) {
  const std::string message = "\"y\" is the target; a model may not read what it is to predict";
  EXPECT_EQ(refusal<UsageError>("y ~ mlp(a, y)"), "formula column 12: " + message);
  EXPECT_EQ(refusal<UsageError>("log(y) ~ mlp(a) + linear(y)", {}), "formula column 26: " + message);
}

TEST(Spec, DotWhereItHasNoMeaning) {
  EXPECT_EQ(refusal<UsageError>("y ~ mlp(a) * rbf(.)", {}),
            "formula column 14: \".\" has a meaning only with data; give a table");
  EXPECT_EQ(refusal<UsageError>("y ~ mlp(.)", {}),
            "formula column 5: \".\" has a meaning only with data; give a table");
  EXPECT_EQ(refusal<UsageError>("y ~ linear(a) + mlp(.)", {"a", "y"}),
            "formula column 17: \".\" stands for no column; all are used already");
  EXPECT_EQ(refusal<UsageError>("y ~ mlp()"),
            "formula column 5: mlp has no column; name at least one, as in mlp(x), or all others, as in mlp(.)");
}

TEST(Spec, ADotInAKernelStandsForNumbers) {
  const Names others = {"site", "t"};
  const auto spec = [&](const std::string& text) { return make_spec(parse_formula(text), kColumns, others); };
  EXPECT_EQ(terms_of(spec("y ~ matern32(.)")), Names{"matern32(a, b, lat, lon)"});
  EXPECT_EQ(spec("y ~ matern32(.)").left_out, (Names{"t", "site"}));
  EXPECT_EQ(terms_of(spec("y ~ rbf(a, ., -lon) * periodic(t)")), Names{"rbf(a, b, lat) * periodic(t)"});
  EXPECT_EQ(spec("y ~ rbf(a, ., -lon) * periodic(t) + mlp(site)").left_out, Names{});
  EXPECT_EQ(terms_of(spec("y ~ mlp(., -t, -lat) + rbf(.)")), (Names{"mlp(a, b, lon, site)", "rbf(a, b, lat, lon)"}));
  EXPECT_EQ(spec("y ~ boost(., -t, -a)").trees->columns, (Names{"b", "lat", "lon", "site"}));
  EXPECT_EQ(
      message_of<UsageError>([&] { spec("y ~ rbf(.) + mlp(a, b, lat, lon, t)"); }),
      "formula column 5: \".\" stands for no column; of a kernel it stands for numbers, and site is none; name the "
      "columns of rbf");
  EXPECT_EQ(message_of<DataError>([&] { spec("y ~ mlp(., -lta)"); }),
            "formula column 13: no column named \"lta\"; did you mean \"lat\"?");
}

TEST(Spec, ColumnsThatAreComputed) {
  const ModelSpec spec = spec_of("y ~ mlp(., log(a)) * rbf(hour(t)) + rbf(log(a), lat - lon)");
  EXPECT_EQ(terms_of(spec), (Names{"mlp(log(a), b, site) * rbf(hour(t))", "rbf(log(a), lat - lon)"}));
  Names derived;
  for (const DerivedColumn& each : spec.derived) derived.push_back(each.name);
  EXPECT_EQ(derived, (Names{"log(a)", "hour(t)", "lat - lon"}));
  EXPECT_EQ(spec.kernel_columns, (Names{"hour(t)", "log(a)", "lat - lon"}));
  EXPECT_EQ(spec.network_columns, (Names{"log(a)", "b", "site"}));
  EXPECT_EQ(refusal<UsageError>("y ~ rbf(log(y))"),
            "formula column 13: \"y\" is the target; a model may not read what it is to predict");
  EXPECT_EQ(refusal<DataError>("y ~ mlp(hour(time))"),
            "formula column 14: no column named \"time\"; there are y, a, b, t, "
            "lat, lon and site");
  EXPECT_EQ(refusal<DataError>("y ~ mlp(wind-speed)", {"y", "wind-speed"}),
            "formula column 9: no column named \"wind\"; a name with a minus stands in quotes: \"wind-speed\"");
  EXPECT_EQ(
      refusal<DataError>("y ~ mlp(hour(t))", {"y", "t", "hour(t)"}),
      "formula column 14: the table has a column named \"hour(t)\", which is what the formula computes; rename the "
      "column");
}

TEST(Spec, WhatRUsersWriteIsAnswered) {
  const std::string none = "formula column 5: no network or kernel named ";
  EXPECT_EQ(refusal<UsageError>("y ~ s(a, k=10)"), none + "\"s\"; R's s(a) is rbf(a) or matern52(a)");
  EXPECT_EQ(refusal<UsageError>("y ~ te(lat, lon)"), none + "\"te\"; R's te(lat, lon) is rbf(lat) * rbf(lon)");
  EXPECT_EQ(refusal<UsageError>("y ~ poly(a)"), none + "\"poly\"; R's poly(a, 2) is polynomial(a, degree=2)");
  EXPECT_EQ(refusal<UsageError>("y ~ factor(site)"), none + "\"factor\"; R's factor(site) is categorical(site)");
  EXPECT_EQ(refusal<UsageError>("y ~ C(site)"), none + "\"C\"; R's C(site) is categorical(site)");
  EXPECT_EQ(refusal<UsageError>("y ~ I(log(a))"),
            none +
                "\"I\"; R's I(x^2) is polynomial(x, degree=2), and log(x), sqrt(x) and x - y stand in a kernel or "
                "network, as in linear(log(x))");
  EXPECT_EQ(refusal<UsageError>("y ~ log(a) + rbf(b)"),
            none +
                "\"log\"; log(a) is a column that is computed: it stands in a kernel or network, as in "
                "linear(log(a)) or mlp(log(a))");
  EXPECT_EQ(refusal<UsageError>("y ~ rbf(huor(t))"),
            "formula column 9: huor(...) stands among the columns of rbf, a kernel; did you mean \"hour\"?");
}

TEST(Spec, WithoutColumnsNamesAreNotChecked) {
  EXPECT_EQ(terms_of(spec_of("price ~ mlp(rooms) * rbf(age)", {})), Names{"mlp(rooms) * rbf(age)"});
}

TEST(Spec, QuotedNames) {
  const ModelSpec spec =
      spec_of("\"PM 2.5\" ~ mlp(\"wind speed\", \".\") * rbf(t)", {"PM 2.5", "wind speed", ".", "t", "u"});
  EXPECT_EQ(spec.network_columns, (Names{"wind speed", "."}));
  EXPECT_EQ(terms_of(spec), Names{"mlp(\"wind speed\", \".\") * rbf(t)"});
}

std::vector<std::int64_t> features_of(const std::string& formula, std::int64_t rows) {
  ModelSpec spec = spec_of(formula);
  choose_features(spec, rows);
  std::vector<std::int64_t> features;
  for (const TermSpec& term : spec.terms) features.push_back(term.features);
  return features;
}

TEST(ChooseFeatures, ByWhatTheTermIs) {
  using Counts = std::vector<std::int64_t>;
  EXPECT_EQ(features_of("y ~ mlp(a) + mlp(a) * mlp(b)", 10000), (Counts{1, 16}));
  EXPECT_EQ(features_of("y ~ mlp(a) * periodic(t) + mlp(b) * rbf(t)", 10000), (Counts{16, 64}));
  EXPECT_EQ(features_of("y ~ mlp(a) * (periodic(t) + periodic(b))", 10000), Counts{16});
  EXPECT_EQ(features_of("y ~ mlp(a) * periodic(t) * rbf(t)", 10000), Counts{64});
  EXPECT_EQ(features_of("y ~ periodic(t) + rbf(t) + rbf(a, b) + rbf(a) * rbf(b)", 10000), (Counts{32, 128, 256, 256}));
}

TEST(ChooseFeatures, NotMoreThanHalfTheRowsAndNotWhereTheFormulaSays) {
  using Counts = std::vector<std::int64_t>;
  EXPECT_EQ(features_of("y ~ rbf(t) + periodic(t) + mlp(a)", 50), (Counts{25, 25, 1}));
  EXPECT_EQ(features_of("y ~ rbf(t) + mlp(a) * periodic(t)", 3), (Counts{4, 4}));
  EXPECT_EQ(features_of("y ~ rbf(t, points=300) + mlp(a, points=5)", 50), (Counts{300, 5}));
}

}  // namespace
}  // namespace ick
