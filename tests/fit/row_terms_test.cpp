#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "ick/fit/fit.h"
#include "support/train_case.h"
#include "table/scratch.h"

// weights(w), offset(o), error(se): what belongs to a row.
namespace ick {
namespace {

Table with_columns(Table table, const Columns& more) {
  for (const auto& [name, values] : more) table.columns.push_back(Column::numbers(name, values));
  return table;
}

Table line(std::int64_t rows, double slope, double noise, std::uint64_t seed) {
  Columns columns = {{"x", normal_numbers(rows, seed)}, {"y", {}}};
  const std::vector<double> e = normal_numbers(rows, seed + 1);
  for (std::int64_t i = 0; i < rows; ++i)
    columns[1].second.push_back(5.0 + slope * columns[0].second[i] + noise * e[i]);
  return make_table(columns);
}

Table joined(const Table& a, const Table& b) {
  Columns columns;
  for (std::size_t c = 0; c < a.columns.size(); ++c) {
    std::vector<double> values = a.columns[c].values.copy();
    const std::vector<double> more = b.columns[c].values.copy();
    values.insert(values.end(), more.begin(), more.end());
    columns.emplace_back(a.columns[c].info.name, values);
  }
  return make_table(columns);
}

FitOptions plain() {
  FitOptions options;
  options.validation = Split{};
  return options;
}

double slope_of(const Fit& fit) {
  const Prediction p = fit.model.predict(
      with_columns(make_table({{"x", {0.0, 1.0}}}), {{"o", {0.0, 0.0}}, {"se", {0.0, 0.0}}, {"w", {1.0, 1.0}}}));
  return p.mean[1] - p.mean[0];
}

// A weight of three is the row three times. Weights have mean one, so the prior counts a little more than in the
// repeated table.
TEST(RowTerms, WeightsAreRepetitionsInClosedForm) {
  const Table first = line(40, 1.0, 0.3, 1), second = line(40, 3.0, 0.3, 5);
  std::vector<double> weights(40, 3.0);
  weights.resize(80, 1.0);
  FitOptions options = plain();
  options.noise = 0.3;
  options.warm_start = false;
  options.epochs = 1;
  const std::string formula = "y ~ linear(x, variance=fixed(1))";
  const Table table = with_columns(joined(first, second), {{"w", weights}});
  const Fit weighted = fit_model(table, formula + " + weights(w)", options);
  const Fit repeated = fit_model(joined(joined(joined(first, first), first), second), formula, options);
  const Fit even = fit_model(joined(first, second), formula, options);
  EXPECT_NEAR(slope_of(weighted), slope_of(repeated), 0.02);
  EXPECT_GT(slope_of(even) - slope_of(weighted), 0.3);  // between the slopes 1 and 3: 2 against 1.5
}

TEST(RowTerms, WeightsCountInGradientDescent) {
  const Table first = line(150, 1.0, 0.2, 1), second = line(150, 3.0, 0.2, 5);
  std::vector<double> weights(150, 9.0);
  weights.resize(300, 1.0);
  FitOptions options = plain();
  options.members = 1;
  for (const Path path : {Path::fused, Path::reference}) {
    options.path = path;
    const Fit fit =
        fit_model(with_columns(joined(first, second), {{"w", weights}}), "y ~ mlp(x) + weights(w)", options);
    EXPECT_NEAR(slope_of(fit), 1.2, 0.25);  // (9 * 1 + 3) / 10
  }
}

// y - o is learned, and predictions have the offset of their row.
TEST(RowTerms, OffsetsOfNumbers) {
  Table table = line(120, 2.0, 0.1, 3);
  std::vector<double> offset = normal_numbers(120, 9), y;
  for (std::int64_t i = 0; i < 120; ++i) {
    offset[i] *= 10.0;
    y.push_back(table.columns[1].values[i] + offset[i]);
  }
  table.columns[1].values = y;
  table = with_columns(table, {{"o", offset}});
  const Fit fit = fit_model(table, "y ~ linear(x) + offset(o)");
  EXPECT_NEAR(fit.model.noise_sd(), 0.1, 0.03);
  EXPECT_NEAR(slope_of(fit), 2.0, 0.1);
  EXPECT_LT(fit.model.evaluate(table).scores.rmse, 0.15);
  EXPECT_GT(fit_model(table, "y ~ linear(x)").model.evaluate(table).scores.rmse, 5.0);
}

// Counts among very different populations: the rate is learned, not the count.
TEST(RowTerms, ExposureOfCounts) {
  Random random(3);
  std::vector<double> x, population, cases;
  for (int i = 0; i < 400; ++i) {
    x.push_back(random.normal());
    population.push_back(std::exp(7.0 + 1.5 * random.normal()));
    const double mean = population.back() * std::exp(-5.0 + 0.5 * x.back());
    cases.push_back(likelihood_named("poisson").quantile(random.uniform(), {mean, std::sqrt(mean)}));
  }
  const Table table = make_table({{"x", x}, {"population", population}, {"cases", cases}});
  for (const char* likelihood : {"poisson", "negative_binomial"}) {
    FitOptions options;
    options.likelihood = likelihood;
    options.members = 2;
    const Fit fit = fit_model(table, "cases ~ mlp(x) + offset(log(population))", options);
    const Prediction p = fit.model.predict(make_table({{"x", {0.0, 1.0, 0.0}}, {"population", {1e4, 1e4, 2e4}}}));
    EXPECT_NEAR(p.mean[0] / (1e4 * std::exp(-5.0)), 1.0, 0.1) << likelihood;
    EXPECT_NEAR(p.mean[1] / p.mean[0], std::exp(0.5), 0.15) << likelihood;
    EXPECT_NEAR(p.mean[2] / p.mean[0], 2.0, 1e-5) << likelihood;
  }
}

// Rows whose measurement is bad pull less, and their intervals are wider by the error that is known.
TEST(RowTerms, KnownErrors) {
  Table good = line(60, 1.0, 0.1, 1), bad = line(60, 1.0, 4.0, 7);
  std::vector<double> error(60, 0.0);
  error.resize(120, 4.0);
  const Table table = with_columns(joined(good, bad), {{"se", error}});
  const Fit fit = fit_model(table, "y ~ linear(x) + error(se)");
  EXPECT_NEAR(slope_of(fit), 1.0, 0.1);
  EXPECT_NEAR(fit.model.noise_sd(), 0.1, 0.06);
  const Prediction p = fit.model.predict(with_columns(make_table({{"x", {0.0, 0.0}}}), {{"se", {0.0, 4.0}}}));
  EXPECT_NEAR(p.sd[1] * p.sd[1] - p.sd[0] * p.sd[0], 16.0, 1e-6);
  FitOptions options;
  options.members = 1;
  const Fit net = fit_model(table, "y ~ mlp(x) + error(se)", options);
  EXPECT_EQ(net.model.likelihood->name, "gaussian_nll");
  EXPECT_NEAR(slope_of(net), 1.0, 0.35);
}

TEST(RowTerms, RefusedWhereTheyMakeNoSense) {
  const Table table = with_columns(line(60, 1.0, 0.1, 1), {{"w", std::vector<double>(60, 1.0)}});
  const auto refusal = [&](const std::string& formula, const std::string& likelihood, const std::string& posterior) {
    FitOptions options;
    options.likelihood = likelihood;
    options.posterior = posterior;
    return message_of<UsageError>([&] { fit_model(table, formula, options); });
  };
  EXPECT_NE(refusal("y ~ mlp(x) + error(w)", "student", "ensemble").find("error(...) is added to Gaussian noise"),
            std::string::npos);
  EXPECT_NE(refusal("log(y) ~ mlp(x) + error(w)", "", "ensemble").find("in the target's units"), std::string::npos);
  EXPECT_NE(refusal("y ~ mlp(x) + weights(w)", "", "nngp").find("weights(...) has no part in posterior=nngp"),
            std::string::npos);
  EXPECT_NE(message_of<UsageError>([] { parse_formula("y ~ rbf(x) * weights(w)"); }).find("stands by itself"),
            std::string::npos);
  EXPECT_NE(message_of<UsageError>([] { parse_formula("y ~ weights(w)"); }).find("stands by itself"),
            std::string::npos);
  const Table negative = with_columns(line(60, 1.0, 0.1, 1), {{"w", std::vector<double>(60, -1.0)}});
  EXPECT_NE(message_of<DataError>([&] { fit_model(negative, "y ~ rbf(x) + weights(w)"); }).find("weights are positive"),
            std::string::npos);
}

TEST(RowTerms, ArePrintedBack) {
  for (const char* text : {"y ~ rbf(x) + offset(log(n)) + weights(w) + error(se)", "sqrt(y) ~ rbf(x)",
                           "logit(p) ~ mlp(a) + weights(sqrt(w))"}) {
    EXPECT_EQ(print(parse_formula(text)), text);
  }
}

// Targets whose square root, or logit, is a line: predictions and intervals are of the target.
TEST(Transforms, PredictInTheTargetsUnits) {
  Random random(5);
  std::vector<double> x, root, share;
  for (int i = 0; i < 300; ++i) {
    x.push_back(random.normal());
    root.push_back(std::pow(6.0 + x.back() + 0.3 * random.normal(), 2.0));
    share.push_back(1.0 / (1.0 + std::exp(-(0.5 * x.back() + 0.3 * random.normal()))));
  }
  const Table table = make_table({{"x", x}, {"root", root}, {"share", share}});
  for (const std::string formula : {"sqrt(root) ~ linear(x)", "logit(share) ~ linear(x)"}) {
    const Fit fit = fit_model(table, formula);
    EXPECT_NEAR(fit.model.noise_sd(), 0.3, 0.05) << formula;
    const Evaluation found = fit.model.evaluate(table);
    EXPECT_GT(found.scores.r2, 0.6) << formula;
    EXPECT_NEAR(found.scores.coverage.at("0.9"), 0.9, 0.06) << formula;
    for (std::size_t i = 0; i < 300; ++i) {
      EXPECT_LT(found.prediction.lower[i], found.prediction.mean[i]);
      EXPECT_LT(found.prediction.mean[i], found.prediction.upper[i]);
    }
  }
}

// The noise of a positive target is relative: the same in euros and in millions of euros.
TEST(Likelihoods, RelativeNoiseHasNoUnit) {
  Random random(4);
  std::vector<double> x, y;
  for (int i = 0; i < 300; ++i) {
    x.push_back(random.normal());
    const double m = std::exp(0.4 * x.back());
    y.push_back(likelihood_named("gamma").quantile(random.uniform(), {m, 0.3 * m}));
  }
  FitOptions options;
  options.likelihood = "gamma";
  options.members = 1;
  for (const double unit : {1e-6, 1.0, 1e7}) {
    std::vector<double> scaled;
    for (const double each : y) scaled.push_back(unit * each);
    const Fit fit = fit_model(make_table({{"x", x}, {"y", scaled}}), "y ~ mlp(x)", options);
    EXPECT_NEAR(fit.model.noise, 0.3, 0.1) << unit;
    EXPECT_NEAR(fit.model.predict(make_table({{"x", {0.0}}})).mean[0] / unit, 1.0, 0.2) << unit;
  }
}

// A weight that makes no sense is refused before anything is trained, wherever its row is used.
TEST(RowTerms, AreCheckedInAllRows) {
  std::vector<double> weights(100, 1.0);
  weights[97] = 0.0;
  const Table table = with_columns(line(100, 1.0, 0.1, 1), {{"w", weights}, {"t", normal_numbers(100, 2)}});
  int planned = 0;
  FitHooks hooks;
  hooks.planned = [&](const FitPlan&) { ++planned; };
  for (const char* holdout : {"none", "random=90%"}) {
    FitOptions options;
    options.holdout = parse_split(holdout);
    EXPECT_THROW(fit_model(table, parse_formula("y ~ mlp(x) + weights(w)"), options, hooks), DataError);
  }
  EXPECT_EQ(planned, 0);
}

// A constant does not know the offset: there is nothing to compare with.
TEST(RowTerms, NoTrivialModelWithAnOffset) {
  Table table = line(80, 1.0, 0.2, 2);
  std::vector<double> offset, y;
  for (int i = 0; i < 80; ++i) offset.push_back(1000.0 + i), y.push_back(table.columns[1].values[i] + offset.back());
  table.columns[1].values = y;
  table = with_columns(table, {{"o", offset}});
  const Fit fit = fit_model(table, "y ~ linear(x) + offset(o)");
  EXPECT_TRUE(std::isnan(fit.model.evaluate(table).scores.msll));
}

// The likelihoods that are new: mean and coverage on data drawn from them.
TEST(Likelihoods, NewOnesLearnTheirOwnData) {
  struct Case {
    const char* likelihood;
    double (*mean)(double x);
    double relative;  // sd over mean, or of a proportion over its largest
  };
  const Case cases[] = {{"gamma", [](double x) { return std::exp(1.0 + 0.5 * x); }, 0.4},
                        {"negative_binomial", [](double x) { return std::exp(2.0 + 0.5 * x); }, 0.6},
                        {"beta", [](double x) { return 1.0 / (1.0 + std::exp(-0.8 * x)); }, 0.3}};
  for (const Case& each : cases) {
    const Likelihood& of = likelihood_named(each.likelihood);
    Random random(11);
    std::vector<double> x, y;
    for (int i = 0; i < 600; ++i) {
      x.push_back(random.normal());
      const double m = each.mean(x.back());
      const double sd =
          of.target == TargetKind::proportion ? each.relative * std::sqrt(m * (1.0 - m)) : each.relative * m;
      y.push_back(of.quantile(random.uniform(), {m, sd}));
    }
    const Table table = make_table({{"x", x}, {"y", y}});
    FitOptions options;
    options.likelihood = each.likelihood;
    options.members = 2;
    options.holdout = parse_split("random=30%");
    const Fit fit = fit_model(table, "y ~ mlp(x)", options);
    const Prediction p = fit.model.predict(make_table({{"x", {-1.0, 0.0, 1.0}}}));
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(p.mean[i] / each.mean(static_cast<double>(i) - 1.0), 1.0, 0.25) << each.likelihood;
      EXPECT_LT(p.lower[i], p.mean[i]) << each.likelihood;
      EXPECT_LT(p.mean[i], p.upper[i]) << each.likelihood;
    }
    EXPECT_NEAR(fit.report.holdout->coverage.at("0.9"), 0.9, 0.08) << each.likelihood;
    EXPECT_LT(fit.report.holdout->msll, -0.05) << each.likelihood;
  }
}

}  // namespace
}  // namespace ick
