#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ick/base/seed.h"
#include "ick/fit/fit.h"
#include "ick/predict/exact_process.h"
#include "inference/engines.h"

namespace ick {
namespace {

constexpr double kYear = 365.2425;

double season(double day) { return std::sin(2.0 * std::numbers::pi * day / kYear); }

// Days of a season of one wave, and errors that last for ten days, as weather does: sd one, or exp of so many cosines of
// the year. `u` has nothing to do with it.
Table weather(int days, double log_sd = 0.0) {
  Column t, y, u;
  t.info.name = "t", y.info.name = "y", u.info.name = "u";
  t.info.type = ColumnType::time;
  std::vector<double> times, values, others;
  Random random(2), unrelated(3);
  double error = random.normal();
  for (int i = 0; i < days; ++i) {
    const double sd = std::exp(log_sd * season(i + 0.25 * kYear));
    times.push_back(i), values.push_back(season(i) + sd * error), others.push_back(unrelated.normal());
    error = 0.9 * error + std::sqrt(1.0 - 0.81) * random.normal();
  }
  t.values = times, y.values = values, u.values = others;
  Table table;
  table.rows = days;
  table.columns = {t, y, u};
  return table;
}

// How far next year's forecast is from the season, root mean square.
double error_of_season(const std::string& formula, const FitOptions& options) {
  const Fit fit = fit_model(weather(1000), parse_formula(formula), options);
  Table next = weather(1000);
  std::vector<double> times;
  for (int i = 0; i < 1000; ++i) times.push_back(1000.0 + 0.365 * i);
  next.columns[0].values = times;
  const Prediction p = fit.model.predict(next);
  double squares = 0.0;
  for (std::size_t i = 0; i < times.size(); ++i) squares += std::pow(p.mean[i] - season(times[i]), 2.0);
  return std::sqrt(squares / 1000.0);
}

FitOptions by_rows() {
  FitOptions options;
  options.validation = parse_split("random=20%");
  return options;
}

// Rows drawn one by one cannot tell a season from weather that lasts; spans and futures that are left out can.
TEST(Lengthen, ErrorsThatLastAreNotTakenForASeason) {
  const char* const formula = "y ~ periodic(t, period=1y) + linear(u)";  // of two columns: noise is independent
  const double with = error_of_season(formula, {}), without = error_of_season(formula, by_rows());
  EXPECT_LT(with, 0.35);
  EXPECT_LT(with, 0.8 * without);
}

// Least squares on four waves of a year, and the sd of the errors, from the table itself.
struct Known {
  double error_of_season = 0.0, sd = 0.0;
};
Known known_season() {
  const Table table = weather(1000);
  const auto waves = [](const at::Tensor& t) {
    const at::Tensor phase = t * (2.0 * std::numbers::pi / kYear);
    std::vector<at::Tensor> columns = {at::ones_like(t)};
    for (int k = 1; k <= 4; ++k) columns.push_back((k * phase).sin()), columns.push_back((k * phase).cos());
    return at::stack(columns, 1);
  };
  const at::Tensor t = at::arange(1000, at::kDouble), next = 1000.0 + 0.365 * t;
  std::vector<double> values;
  for (std::int64_t i = 0; i < 1000; ++i) values.push_back(table.column("y").values[i]);
  const at::Tensor y = at::tensor(values, at::kDouble), x = waves(t);
  const at::Tensor weights = at::linalg_solve(x.t().matmul(x), x.t().mv(y));
  const auto rms = [](const at::Tensor& each) { return each.square().mean().sqrt().item<double>(); };
  return {rms(waves(next).mv(weights) - waves(next).select(1, 1)), rms(y - x.select(1, 1))};
}

// A formula of seasons has no other place for what lasts than the noise. The season is found as well as by least squares on
// few waves, and better than where errors count as independent.
TEST(LastingErrors, AreFoundBesideASeason) {
  const char* const formula = "y ~ periodic(t, period=1y)";
  const Known known = known_season();
  const double with = error_of_season(formula, {});
  EXPECT_LT(with, 1.1 * known.error_of_season);
  EXPECT_LT(with, 0.8 * error_of_season(formula, by_rows()));
  const Fit fit = fit_model(weather(1000), parse_formula(formula), {});
  const LastingNoise found = fit.model.posterior->lasting();
  EXPECT_NEAR(found.time / (-1.0 / std::log(0.9)), 1.0, 0.35);
  EXPECT_LT(found.white, 0.1);
  EXPECT_NEAR(fit.model.noise_sd() / known.sd, 1.0, 0.2);
  EXPECT_FALSE(fit_model(weather(1000), parse_formula(formula), by_rows()).model.posterior->lasting().lasts());
}

// The weights are those of the Gaussian process with such errors, whose covariance is written out.
TEST(LastingErrors, AreThoseOfTheExactProcess) {
  const Fit fit = fit_model(weather(600), parse_formula("y ~ periodic(t, period=1y) + linear(t)"), {});
  ASSERT_TRUE(fit.model.posterior->lasting().lasts());
  const Dataset all = encode(weather(600), fit.model.encoder, true);
  Dataset later = all;
  later.x = all.x + 400.3;
  const at::Tensor noise = at::full({600}, fit.model.solved_noise * fit.model.solved_noise, at::kDouble);
  const auto [mean, variance] = ExactProcess(fit.model, 1.0).posterior(all, noise, later);
  const FunctionMoments found = fit.model.predict_function(later);
  EXPECT_LT((found.mean - mean).abs().max().item<double>(), 1e-4);  // features leave out a little
  EXPECT_LT((found.variance - variance).abs().max().item<double>(), 1e-4);
}

// A noise that is larger in one season than in the other is found, kept in the folder's tensors, part of what is predicted
// and drawn, and said.
TEST(LastingErrors, GoByTheSeason) {
  const Table table = weather(1200, 0.5);
  const Fit fit = fit_model(table, parse_formula("y ~ periodic(t, period=1y)"), {});
  Table next = weather(2);
  next.columns[0].values = {4 * kYear, 4.5 * kYear};  // exp(0.5), exp(-0.5)
  const Prediction p = fit.model.predict(next);
  EXPECT_NEAR(p.sd[0], std::exp(0.5), 0.35);
  EXPECT_NEAR(p.sd[1], std::exp(-0.5), 0.15);
  double squares[2] = {0.0, 0.0};
  const auto draws = fit.model.draw(next, {.count = 2000, .seed = 1});
  for (const auto& draw : draws) {
    for (std::size_t i = 0; i < 2; ++i) squares[i] += std::pow(draw[i] - p.mean[i], 2.0);
  }
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(std::sqrt(squares[i] / 2000.0) / p.sd[i], 1.0, 0.08);
  const auto said = std::count_if(fit.report.remarks.begin(), fit.report.remarks.end(), [](const Message& each) {
    return each.text().find("the noise goes by the season, its sd is ") != std::string::npos;
  });
  EXPECT_EQ(said, 1);
  const Engine& engine = engine_named("exact");
  const auto own =
      std::make_shared<Model>(fit.model.spec(), fit.model.encoder, fit.model.model().state(), fit.model.options);
  const NoiseSeasons kept = engine.restore(own, fit.model.posterior->tensors(), 1.0, true)->lasting().seasons;
  const NoiseSeasons& seasons = fit.model.posterior->lasting().seasons;
  EXPECT_EQ(kept.periods, seasons.periods);
  EXPECT_EQ(kept.weights, seasons.weights);
  EXPECT_EQ(kept.centre, seasons.centre);
}

// Later rows go on where the model stands, through the folder's tensors; a future that is left out leaves the rows
// before it as they were.
TEST(LastingErrors, GoOnInRowsThatAreTakenIn) {
  const Table table = weather(900);
  std::vector<std::int64_t> before, after;
  for (std::int64_t i = 0; i < 900; ++i) (i < 700 ? before : after).push_back(i);
  FitOptions options;
  options.refit = Refit::yes;
  const Fit fit = fit_model(select_rows(table, before), parse_formula("y ~ periodic(t, period=1y)"), options);
  const LastingNoise lasting = fit.model.posterior->lasting();
  ASSERT_TRUE(lasting.lasts());
  const double s2 = fit.model.solved_noise * fit.model.solved_noise;
  const auto own = [&] {
    return std::make_shared<Model>(fit.model.spec(), fit.model.encoder, fit.model.model().state(), fit.model.options);
  };
  const Dataset all = encode(table, fit.model.encoder, true), late = all.select(at::arange(700, 900, at::kLong));
  const Engine& engine = engine_named("exact");
  const auto kept = engine.restore(own(), fit.model.posterior->tensors(), 1.0, true);
  const auto grown = engine.take_in(*kept, own(), late, s2, 0), whole = solve_features(own(), all, s2, lasting);
  const Likelihood& likelihood = *fit.model.likelihood;
  const auto difference = [&](const FunctionMoments& a, const FunctionMoments& b) {
    return std::max((a.mean - b.mean).abs().max().item<double>(), (a.variance - b.variance).abs().max().item<double>());
  };
  const FunctionMoments expected = moments_at(*whole, likelihood, all);
  EXPECT_LT(difference(moments_at(*grown, likelihood, all), expected), 1e-10);
  EXPECT_GT(difference(moments_at(*kept, likelihood, all), expected), 1e-4);

  std::vector<std::int64_t> cell_of(900, -1), rows;
  for (std::int64_t i = 700; i < 900; ++i) cell_of[static_cast<std::size_t>(i)] = 0, rows.push_back(i);
  const auto left_out = whole->left_out(all, cell_of, {{rows, {0}}}, s2);
  const auto without = solve_features(own(), all.select(at::arange(700, at::kLong)), s2, lasting);
  EXPECT_LT(difference(left_out.at(0), moments_at(*without, likelihood, late)), 1e-8);
}

}  // namespace
}  // namespace ick
