#include "ick/store/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "ick/base/error.h"
#include "ick/train/pretrain.h"
#include "support/option_case.h"
#include "support/table_case.h"

namespace ick {
namespace {

using Json = nlohmann::json;

// Through text, as it is kept.
Json through_text(const Json& json) { return Json::parse(json.dump()); }

// A field without a row would be forgotten by command line, files and pages.
TEST(Json, EveryFieldOfTheOptionsHasARow) {
  EXPECT_EQ(option_table<FitOptions>().size(), kFields<FitOptions>);
  EXPECT_EQ(option_table<PretrainOptions>().size(), kFields<PretrainOptions>);
}

TEST(Json, OptionsComeBack) {
  const FitOptions changed = all_changed<FitOptions>();
  EXPECT_EQ(options_from_json(through_text(to_json(changed))), changed);
  EXPECT_EQ(options_from_json(through_text(to_json(FitOptions{}))), FitOptions{});
  FitOptions endless;
  endless.held_bytes = std::numeric_limits<double>::infinity();
  EXPECT_EQ(options_from_json(through_text(to_json(endless))), endless);
}

TEST(Json, EveryChoiceHasItsName) {
  FitOptions o;
  for (const Likelihood* each : likelihoods()) {
    o.likelihood = each->name;
    EXPECT_EQ(options_from_json(to_json(o)).likelihood, each->name);
  }
  for (const Optimiser each :
       {Optimiser::automatic, Optimiser::adam, Optimiser::adamw, Optimiser::sgd, Optimiser::lbfgs}) {
    o.optimiser = each;
    EXPECT_EQ(options_from_json(to_json(o)).optimiser, each);
  }
  for (const char* each : {"ensemble", "nngp", "ntk", "laplace", "exact"}) {
    o.posterior = each;
    EXPECT_EQ(options_from_json(to_json(o)).posterior, each);
  }
  for (const Perturbation each : {Perturbation::none, Perturbation::bootstrap, Perturbation::noise}) {
    o.perturbation = each;
    EXPECT_EQ(options_from_json(to_json(o)).perturbation, each);
  }
  for (const Gaps each : {Gaps::refuse, Gaps::drop, Gaps::fill}) {
    o.gaps = each;
    EXPECT_EQ(options_from_json(to_json(o)).gaps, each);
  }
  Json json = to_json(o);
  json["optimiser"] = "mean";
  EXPECT_THROW(options_from_json(json), UsageError);
  json["optimiser"] = 3;
  EXPECT_THROW(options_from_json(json), Json::exception);
}

// As an earlier version wrote them, of format 3.
constexpr const char* kThirdFormat = R"({
  "batch": 48, "checkpoint_seconds": 12.5, "clip": 2.5, "epochs": 2, "family": "gaussian", "gaps": "fill",
  "holdout": "last(day)=20%", "kernel_rate": 0.3, "kernels": "learned", "layers": [7, 5], "learning_rate": 0.01,
  "link": "logit", "loaders": 3, "loss": "huber", "members": 3, "momentum": 0.85, "noise": 0.7, "noise_formula": "",
  "optimiser": "sgd", "own_kernels": false, "patience": 4, "perturbation": "bootstrap", "polish": false,
  "posterior": "ensemble", "refit": "no", "schedule": "cosine", "seed": 18446744073709551557,
  "units": {"day": "mm", "x": "km"}, "validation": "random=25%", "warm_start": false, "weight_decay": 1e-07})";

FitOptions third_format() {
  FitOptions o;
  o.seed = 18446744073709551557u;
  o.members = 3;
  o.likelihood = "huber";  // family gaussian, loss huber
  o.perturbation = Perturbation::bootstrap;
  o.noise = 0.7;
  o.epochs = 2;
  o.batch = 48;
  o.layers = {7, 5};
  o.optimiser = Optimiser::sgd;
  o.schedule = Schedule::cosine;
  o.learning_rate = 0.01;
  o.kernels = KernelTraining::learned;
  o.kernel_rate = 0.3;
  o.momentum = 0.85;
  o.weight_decay = 1e-7;
  o.clip = 2.5;
  o.patience = 4;
  o.warm_start = false;
  o.polish = false;
  o.refit = Refit::no;
  o.holdout = parse_split("last(day)=20%");
  o.validation = parse_split("random=25%");
  o.gaps = Gaps::fill;
  o.units = {{"day", "mm"}, {"x", "km"}};
  o.checkpoint_seconds = 12.5;
  o.loaders = 3;
  return o;
}

TEST(Json, OptionsOfTheThirdFormat) { EXPECT_EQ(options_from_json(Json::parse(kThirdFormat)), third_format()); }

// What the first version did not know has the values it stood for.
TEST(Json, OptionsOfTheFirstFormat) {
  Json json = Json::parse(kThirdFormat);
  for (const char* name : {"posterior", "perturbation", "noise", "noise_formula", "family", "link", "own_kernels"}) {
    json.erase(name);
  }
  FitOptions expected = third_format();
  expected.perturbation = Perturbation::none;
  expected.noise = 0.0;
  EXPECT_EQ(options_from_json(json), expected);
  json["family"] = nullptr;
  EXPECT_EQ(options_from_json(json), expected);
}

TEST(Json, EncodersComeBack) {
  EncoderPlan plan;
  plan.target = "y";
  plan.transform = find_transform("log");
  plan.kernel_columns = {"day", "floor", "site", "b"};
  plan.level_columns = {"floor", "site"};
  plan.networks = {{{"a", "site", "day"}}, {{"b"}}};
  plan.units = {{"b", "km"}};
  plan.gaps = Gaps::drop;
  Table table = mixed_table(30, 1);
  set_value(table.columns[1], 4, kGap);
  Encoder encoder = fit_encoder(table, plan, std::vector<bool>(30, true));
  encoder.kernel_columns[0].summary.frequencies = {1.0 / 365.25, 0.1};
  const Encoder back = encoder_from_json(through_text(to_json(encoder)));

  EXPECT_EQ(back.target, encoder.target);
  EXPECT_EQ(back.transform->name, "log");
  EXPECT_EQ(back.target_scaling.mean, encoder.target_scaling.mean);
  EXPECT_EQ(back.target_scaling.sd, encoder.target_scaling.sd);
  EXPECT_EQ(back.gaps, Gaps::drop);
  ASSERT_EQ(back.kernel_columns.size(), 4u);
  for (std::size_t c = 0; c < 4; ++c) {
    const KernelColumn &a = back.kernel_columns[c], &b = encoder.kernel_columns[c];
    EXPECT_EQ(a.info, b.info);
    EXPECT_EQ(a.unit, b.unit);
    EXPECT_EQ(a.levels, b.levels);
    EXPECT_EQ(a.fill, b.fill);
    EXPECT_EQ(a.summary.name, b.summary.name);
    EXPECT_EQ(a.summary.unit, b.summary.unit);
    EXPECT_EQ(a.summary.low, b.summary.low);
    EXPECT_EQ(a.summary.high, b.summary.high);
    EXPECT_EQ(a.summary.centre, b.summary.centre);
    EXPECT_EQ(a.summary.root_mean_square, b.summary.root_mean_square);
    EXPECT_EQ(a.summary.rows, b.summary.rows);
    EXPECT_EQ(a.summary.levels, b.summary.levels);
    EXPECT_EQ(a.summary.frequencies, b.summary.frequencies);
  }
  ASSERT_EQ(back.networks.size(), 2u);
  ASSERT_EQ(back.networks[0].columns.size(), 3u);
  EXPECT_EQ(back.networks[0].width(), encoder.networks[0].width());
  for (std::size_t c = 0; c < 3; ++c) {
    const NetworkColumn &a = back.networks[0].columns[c], &b = encoder.networks[0].columns[c];
    EXPECT_EQ(a.info, b.info);
    EXPECT_EQ(a.scaling.mean, b.scaling.mean);
    EXPECT_EQ(a.scaling.sd, b.scaling.sd);
    EXPECT_EQ(a.has_gaps, b.has_gaps);
  }

  Json json = to_json(encoder);
  json["target"]["type"] = "complex";
  EXPECT_THROW(encoder_from_json(json), DataError);
}

TEST(Json, ReportsComeBack) {
  FitReport report;
  report.options = all_changed<FitOptions>();
  report.rows = 100;
  report.training_rows = 60;
  report.validation_rows = 25;
  report.holdout_rows = 15;
  report.validation_split = "group(site)=25%";
  report.holdout_split = "last(day)=20%";
  report.validation_reason = "as asked";
  report.notes = {3, 2, {{"a", 7}}, {{"site", 1}}};
  report.epochs = 17;
  report.best_epoch = 11;
  report.polished = true;
  report.seconds = 1.25;
  Scores scores;
  scores.rows = 25;
  scores.rmse = 0.1;
  scores.mae = 1.0 / 3.0;
  scores.r2 = std::numeric_limits<double>::quiet_NaN();
  scores.spearman = -0.5;
  scores.nlpd = 2.0;
  scores.msll = -1.5;
  scores.crps = 0.75;
  scores.coverage = {{"0.5", 0.48}, {"0.9", 1.0}};
  scores.width = {{"0.5", 1.0 / 7.0}, {"0.9", 2.5}};
  scores.pit = {0.2, 0.0, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
  report.holdout = scores;
  const FitReport back = report_from_json(through_text(to_json(report)));
  EXPECT_EQ(back.options, report.options);
  EXPECT_EQ(back.rows, 100);
  EXPECT_EQ(back.training_rows, 60);
  EXPECT_EQ(back.validation_rows, 25);
  EXPECT_EQ(back.holdout_rows, 15);
  EXPECT_EQ(back.validation_split, report.validation_split);
  EXPECT_EQ(back.holdout_split, report.holdout_split);
  EXPECT_EQ(back.validation_reason, report.validation_reason);
  EXPECT_EQ(back.notes.without_target, 3);
  EXPECT_EQ(back.notes.with_gaps, 2);
  EXPECT_EQ(back.notes.filled, report.notes.filled);
  EXPECT_EQ(back.notes.unseen, report.notes.unseen);
  EXPECT_EQ(back.epochs, 17);
  EXPECT_EQ(back.best_epoch, 11);
  EXPECT_TRUE(back.polished);
  EXPECT_EQ(back.seconds, 1.25);
  EXPECT_FALSE(back.validation);
  ASSERT_TRUE(back.holdout);
  EXPECT_EQ(back.holdout->rows, 25);
  EXPECT_EQ(back.holdout->rmse, scores.rmse);
  EXPECT_EQ(back.holdout->mae, scores.mae);
  EXPECT_TRUE(std::isnan(back.holdout->r2));
  EXPECT_EQ(back.holdout->spearman, scores.spearman);
  EXPECT_EQ(back.holdout->nlpd, scores.nlpd);
  EXPECT_EQ(back.holdout->msll, scores.msll);
  EXPECT_EQ(back.holdout->crps, scores.crps);
  EXPECT_EQ(back.holdout->coverage, scores.coverage);
  EXPECT_EQ(back.holdout->width, scores.width);
  EXPECT_EQ(back.holdout->pit, scores.pit);
}

}  // namespace
}  // namespace ick
