#include "ick/store/predictor_kind.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ick/base/error.h"
#include "ick/ick.h"
#include "ick/store/model_directory.h"
#include "support/model_case.h"
#include "support/store_case.h"

namespace ick {
namespace {

// A baseline as someone else would write it: the mean of the rows at each level of a column, without a network or a
// formula in sight.
class LevelMeans : public Predictor {
 public:
  LevelMeans(ColumnInfo target, ColumnInfo by, std::vector<double> means, double sd)
      : target_(std::move(target)), by_(std::move(by)), means_(std::move(means)), sd_(sd) {}

  std::string_view kind() const override { return "level_means"; }
  std::string formula() const override { return "mean of " + target_.name + " at each " + by_.name; }
  const ColumnInfo& target() const override { return target_; }
  std::vector<ColumnInfo> columns() const override { return {by_}; }
  std::vector<ColumnInfo> scoring_columns() const override { return {target_}; }
  const std::vector<std::string>& classes() const override { return none_; }
  Predictive predictive() const override { return {likelihood_named("gaussian"), *find_transform("")}; }
  const Calibration& interval_calibration() const override { return calibration_; }
  Moments training_moments() const override { return {means_[0], sd_}; }
  double noise_sd() const override { return sd_; }

  Prediction predict(const Table& table, const PredictOptions& options, EncodingNotes*) const override {
    Prediction p;
    const double width = calibration_.half_width(options.level);
    for (const double code : table.column(by_.name).values) {
      const double mean = means_[static_cast<std::size_t>(code)];
      p.mean.push_back(mean), p.location.push_back(mean);
      p.sd.push_back(sd_), p.scale.push_back(sd_);
      p.function_sd.push_back(0.0);
      p.lower.push_back(mean - width * sd_), p.upper.push_back(mean + width * sd_);
    }
    return p;
  }
  std::vector<std::vector<double>> draw(const Table& table, const DrawOptions& options) const override {
    return std::vector<std::vector<double>>(static_cast<std::size_t>(options.count), predict(table, {}, nullptr).mean);
  }

  static PredictorParts write(const Predictor& predictor) {
    const auto& model = dynamic_cast<const LevelMeans&>(predictor);
    PredictorParts parts;
    parts.json = {{"target", model.target_.name},
                  {"by", model.by_.name},
                  {"levels", model.by_.levels},
                  {"means", model.means_},
                  {"sd", model.sd_}};
    return parts;
  }
  static std::shared_ptr<const Predictor> read(const PredictorParts& parts, const PredictorPlace&) {
    const nlohmann::json& json = parts.json;
    ColumnInfo by{json.at("by"), ColumnType::category, "", json.at("levels").get<std::vector<std::string>>()};
    return std::make_shared<LevelMeans>(ColumnInfo{json.at("target"), ColumnType::number, "", {}}, std::move(by),
                                        json.at("means").get<std::vector<double>>(), json.at("sd").get<double>());
  }

 private:
  ColumnInfo target_, by_;
  std::vector<double> means_;
  double sd_;
  std::vector<std::string> none_;
  Calibration calibration_;
};

TEST(PredictorKind, ABaselineIsSavedLoadedVerifiedAndEvaluated) {
  add_predictor_kind({"level_means", LevelMeans::write, LevelMeans::read});
  EXPECT_THROW(add_predictor_kind({"level_means", LevelMeans::write, LevelMeans::read}), UsageError);
  EXPECT_THROW(add_predictor_kind({"half", LevelMeans::write, nullptr}), UsageError);

  const Table table = mixed_table(60, 3);
  const Column& site = table.column("site");
  std::vector<double> means(site.info.levels.size()), counts(means.size());
  for (std::int64_t i = 0; i < table.rows; ++i) {
    means[static_cast<std::size_t>(site.values[i])] += table.column("y").values[i];
    counts[static_cast<std::size_t>(site.values[i])] += 1.0;
  }
  for (std::size_t c = 0; c < means.size(); ++c) means[c] /= counts[c];
  const LevelMeans baseline({"y", ColumnType::number, "", {}}, site.info, means, 1.5);

  const ScratchFolder folder;
  save_model(baseline, FitReport(), folder / "m", table, {"table.csv", table.names(), 1});
  EXPECT_TRUE(verify_model(folder / "m").passed);
  const StoredModel stored = load_model(folder / "m");
  EXPECT_EQ(stored.model->kind(), "level_means");
  EXPECT_EQ(stored.model->predict(table).mean, baseline.predict(table, {}, nullptr).mean);
  EXPECT_EQ(stored.model->evaluate(table).scores.rmse, baseline.evaluate(table).scores.rmse);
  EXPECT_EQ(load(folder / "m")->formula(), "mean of y at each site");
  try {
    stored.composite("check");
    ADD_FAILURE() << "a baseline is no composite model";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "check is for models of networks and kernels; this model is of the kind \"level_means\"");
  }
}

}  // namespace
}  // namespace ick
