#include "ick/fit/update.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ick/base/error.h"
#include "ick/fit/fit.h"
#include "ick/ick.h"
#include "ick/predict/exact_process.h"
#include "ick/store/model_directory.h"
#include "support/store_case.h"
#include "support/train_case.h"

// New rows at held parameters.
namespace ick {
namespace {

Table rows_of(const Table& table, std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = from; i < to; ++i) rows.push_back(i);
  return select_rows(table, rows);
}

FitOptions with(const std::string& posterior) {
  FitOptions options;
  options.posterior = posterior;
  options.validation = parse_split("random=20%");
  return options;
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = a.size() == b.size() ? 0.0 : HUGE_VAL;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

// What the model would be, had all rows been there when its weights were solved for.
TEST(Update, OfFeaturesEqualsAllRowsTogether) {
  for (const char* formula : {"y ~ rbf(a, b) + linear(u)", "y ~ rbf(a, b) + weights(w)", "y ~ rbf(a) + error(e)"}) {
    SCOPED_TRACE(formula);
    Table table = generic_table(400);
    std::vector<double> w, e;
    for (const double each : normal_numbers(400, 3)) w.push_back(std::exp(0.3 * each)), e.push_back(0.1 * w.back());
    table.columns.push_back(Column::numbers("w", w));
    table.columns.push_back(Column::numbers("e", e));
    const Table old = rows_of(table, 0, 300), further = rows_of(table, 300, 400);
    const Fit fit = fit_model(old, formula, with("exact"));
    const Update update = update_model(fit.model, fit.report, 0, further);
    EXPECT_EQ(update.report.rows, 100);
    EXPECT_EQ(update.report.rows_before, 300);

    CompositePredictor whole = fit.model;
    const Dataset all = encode(table, whole.encoder, true);
    whole.posterior = whole.posterior->engine().solve_again(
        std::make_shared<Model>(whole.spec(), whole.encoder, whole.model().state(), whole.options), all, 1.0,
        whole.solved_noise * whole.solved_noise, 0);
    const Prediction found = update.model.predict(further), expected = whole.predict(further);
    EXPECT_LT(difference(found.mean, expected.mean), 1e-10);
    EXPECT_LT(difference(found.sd, expected.sd), 1e-10);
    // the model itself is as it was
    EXPECT_GT(difference(fit.model.predict(further).mean, found.mean), 1e-6);
    const Fit again = fit_model(old, formula, with("exact"));
    EXPECT_EQ(again.model.predict(further).mean, fit.model.predict(further).mean);
  }
}

// Of as few rows as there are neighbours, the process of all rows is exact.
TEST(Update, OfNeighboursEqualsTheExactProcessOfAllRows) {
  const Table table = generic_table(30);
  FitOptions options = with("neighbours");
  options.validation = Split{};
  const Fit fit = fit_model(rows_of(table, 0, 22), "y ~ matern32(a, b)", options);
  const Update update = update_model(fit.model, fit.report, 0, rows_of(table, 22, 30));
  const Dataset all = encode(table, fit.model.encoder, true);
  Dataset at = all;
  at.x = all.x + 0.13;
  const at::Tensor noise = at::full({30}, fit.model.solved_noise * fit.model.solved_noise, at::kDouble);
  const auto [mean, variance] = ExactProcess(update.model, 1.0).posterior(all, noise, at);
  const FunctionMoments found = update.model.predict_function(at);
  EXPECT_LT((found.mean - mean).abs().max().item<double>(), 1e-10);
  EXPECT_LT((found.variance - variance).abs().max().item<double>(), 1e-10);
}

// Two updates are one: through the folder, with all that it keeps.
TEST(Update, IsKeptByTheFolder) {
  const Table table = generic_table(500);
  for (const std::string& posterior : {std::string("exact"), std::string("neighbours"), std::string("ensemble")}) {
    SCOPED_TRACE(posterior);
    const ScratchFolder folder;
    FitOptions options = with(posterior);
    if (posterior == "ensemble") options.epochs = 3, options.validation = Split{};  // last layers are solved for
    fit(rows_of(table, 0, 300), posterior == "ensemble" ? "y ~ mlp(a, b)" : "y ~ matern32(a, b)", options)
        .save(folder / "m", "first.csv");
    const Table second = rows_of(table, 300, 400), third = rows_of(table, 400, 500);
    const Updated once = update(folder / "m", second, "second.csv");
    once.save(folder / "m2");
    const Updated twice = update(folder / "m2", third, "third.csv");
    twice.save(folder / "m2");
    EXPECT_TRUE(verify_model(folder / "m2").passed);
    const StoredModel stored = load_model(folder / "m2");
    ASSERT_EQ(stored.origin.updates.size(), 2u);
    EXPECT_EQ(stored.origin.updates[0].path, "second.csv");
    EXPECT_EQ(stored.origin.updates[1].rows, 100);
    EXPECT_EQ(stored.origin.rows_added(), 200);
    EXPECT_EQ(twice.report().rows_before, 400);
    EXPECT_EQ(difference(stored.model->predict(third).mean, twice->predict(third).mean), 0.0);
    EXPECT_EQ(load_model(folder / "m").origin.updates.size(), 0u);
    for (const Table& known : {rows_of(table, 0, 300), second, third}) {
      try {
        update(folder / "m2", known);
        FAIL() << "taken in twice";
      } catch (const DataError& error) {
        EXPECT_NE(std::string(error.what()).find("would count twice"), std::string::npos) << error.what();
      }
    }
  }
}

// A random walk: rows of its end are better known when they have been taken in, and not before.
TEST(Update, LearnsFromTheRows) {
  Random random(3);
  std::vector<double> x, y;
  double walk = 0.0;
  for (int i = 0; i < 1500; ++i) x.push_back(i), y.push_back((walk += 0.3 * random.normal()) + 0.05 * random.normal());
  const Table table = make_table({{"x", x}, {"y", y}});
  const Fit fit = fit_model(rows_of(table, 0, 1200), "y ~ matern12(x)", with("neighbours"));
  const Table further = rows_of(table, 1200, 1500);
  const Update update = update_model(fit.model, fit.report, 0, further);
  const double after = update.model.evaluate(further).scores.rmse;
  EXPECT_LT(after, 0.2 * update.report.scores.rmse);
  EXPECT_NEAR(update.report.scores.rmse, fit.model.evaluate(further).scores.rmse, 1e-12);
  PredictOptions support;
  support.support = true;
  EXPECT_EQ(fit.model.predict(further, support).support[0].back(), Support::extrapolating);
  EXPECT_EQ(update.model.predict(further, support).support[0][150], Support::inside);
}

std::vector<double> places(std::int64_t rows) {
  std::vector<double> x;
  for (std::int64_t i = 0; i < rows; ++i) x.push_back(std::fmod(0.37 * static_cast<double>(i), 20.0));
  return x;
}

// Rows of the same distribution are no reason to fit again; noisier ones are, and so is a level that has moved.
TEST(Update, SaysWhenANewFitIsDue) {
  const auto table = [](std::int64_t rows, double noise, std::uint64_t seed, double shift = 0.0) {
    std::vector<double> x = places(rows), y = normal_numbers(rows, seed);
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = std::sin(x[i]) + shift + noise * y[i];
    return make_table({{"x", x}, {"y", y}});
  };
  const Fit fit = fit_model(table(600, 0.2, 1), "y ~ rbf(x)", with("exact"));
  int due = 0;
  for (std::uint64_t seed = 2; seed < 22; ++seed) {
    due += update_model(fit.model, fit.report, 0, table(200, 0.2, seed)).report.fit_due();
  }
  EXPECT_LE(due, 1);  // of 20, at 1% each
  const UpdateReport noisy = update_model(fit.model, fit.report, 0, table(200, 0.4, 5)).report;
  ASSERT_TRUE(noisy.fit_due());
  EXPECT_NE(noisy.reasons[0].find("intervals hold"), std::string::npos);
  EXPECT_NEAR(noisy.root_mean_square_error, 2.0, 0.3);
  EXPECT_NEAR(noisy.mean_error, 0.0, 0.4);
  const UpdateReport moved = update_model(fit.model, fit.report, 0, table(200, 0.2, 5, 1.0)).report;
  ASSERT_TRUE(moved.fit_due());
  EXPECT_NEAR(moved.mean_error, 5.0, 0.7);
  // as many rows as the parameters came from
  EXPECT_FALSE(update_model(fit.model, fit.report, 300, table(200, 0.2, 5)).report.fit_due());
  EXPECT_TRUE(update_model(fit.model, fit.report, 400, table(200, 0.2, 5)).report.fit_due());
}

// Features stand where the old rows were.
TEST(Update, SaysThatFeaturesDoNotReachTheRows) {
  std::vector<double> x = places(400), far = places(100), y, far_y;
  for (double& each : far) each += 60.0;
  for (const double each : x) y.push_back(std::sin(each));
  for (const double each : far) far_y.push_back(std::sin(each));
  const Fit fit = fit_model(make_table({{"x", x}, {"y", y}}), "y ~ rbf(x)", with("exact"));
  const UpdateReport report = update_model(fit.model, fit.report, 0, make_table({{"x", far}, {"y", far_y}})).report;
  EXPECT_GT(report.missed, 0.9);
  ASSERT_TRUE(report.fit_due());
  EXPECT_NE(report.reasons.back().find("features, which stand where the first rows were"), std::string::npos);
}

// Rows of one stretch of time err together: blocks count, and a few do not tell.
TEST(Update, JudgesRowsThatGoTogetherByBlocks) {
  const auto table = [](std::int64_t from, std::int64_t rows, double shift) {
    std::vector<double> t, y, noise = normal_numbers(rows, static_cast<std::uint64_t>(from + 1));
    for (std::int64_t i = 0; i < rows; ++i) {
      t.push_back(static_cast<double>(from + i));
      y.push_back(std::sin(2.0 * 3.14159265 * t.back() / 7.0) + shift + 0.1 * noise[i]);
    }
    return make_table({{"t", t}, {"y", y}});
  };
  FitOptions options = with("exact");
  options.validation = parse_split("last(t)=20%");
  const Fit fit = fit_model(table(0, 400, 0.0), "y ~ periodic(t, period=7)", options);
  const UpdateReport same = update_model(fit.model, fit.report, 0, table(400, 120, 0.0)).report;
  EXPECT_EQ(same.blocks, 12);
  EXPECT_FALSE(same.fit_due());
  const UpdateReport moved = update_model(fit.model, fit.report, 0, table(400, 120, 1.0)).report;
  EXPECT_TRUE(moved.fit_due());
  const UpdateReport few = update_model(fit.model, fit.report, 0, table(400, 3, 1.0)).report;
  EXPECT_FALSE(few.chance.has_value());
}

TEST(Update, RefusesWhatItCannotTake) {
  const Table table = generic_table(120);
  const auto says = [](const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  FitOptions options;
  options.epochs = 2;
  options.members = 1;
  options.polish = false;  // last layers stay as trained
  const Fit network = fit_model(table, "y ~ mlp(a)", options);
  EXPECT_NE(says([&] { update_model(network.model, network.report, 0, table); }).find("fit again on old and new rows"),
            std::string::npos);
  const Fit fit = fit_model(table, "y ~ rbf(a)", with("exact"));
  const auto without = [&](const std::string& name) {
    Table less = generic_table(20, 7);
    std::erase_if(less.columns, [&](const Column& column) { return column.info.name == name; });
    return says([&] { update_model(fit.model, fit.report, 0, less); });
  };
  EXPECT_NE(without("y").find("the target"), std::string::npos);
  EXPECT_NE(without("a").find("no column named \"a\""), std::string::npos);
  Table gaps = generic_table(4, 7);
  for (Column& column : gaps.columns) {
    if (column.info.name == "y") column.values = std::vector<double>(4, NAN);
  }
  EXPECT_NE(says([&] { update_model(fit.model, fit.report, 0, gaps); }).find("nothing to add"), std::string::npos);
  for (Column& column : gaps.columns) {
    if (column.info.name == "y") column.values = std::vector<double>{1.0, HUGE_VAL, 2.0, NAN};
  }
  EXPECT_NE(says([&] { update_model(fit.model, fit.report, 0, gaps); }).find("row 2 has a target that is not finite"),
            std::string::npos);
}

}  // namespace
}  // namespace ick
