#include "fit/calibrate.h"

#include <ATen/ATen.h>

#include <map>

namespace ick {

// Rows drawn at random are exchangeable; those of one time, place or group are only as blocks.
Calibration calibrated(const Table& table, const Split& split, const Dataset& rows, const std::vector<double>& scores) {
  if (split.kind == Split::Kind::random) return Calibration(scores);
  std::vector<std::string> columns = split.columns;
  for (const Column& column : table.columns) {  // that `last` goes by when it does not say
    if (split.columns.empty() && column.info.type == ColumnType::time) columns.push_back(column.info.name);
  }
  if (columns.size() != 1 && split.columns.empty()) return Calibration::of_blocks({scores});
  std::map<std::int64_t, double> score_of;
  for (std::size_t i = 0; i < scores.size(); ++i) score_of[rows.rows[i]] = scores[i];
  // about as many as were drawn: a dozen spans of a column, or some of a hundred cells of several; groups are themselves
  const int spans = split.kind == Split::Kind::group ? 50 : columns.size() > 1 ? 25 : 12;
  std::vector<std::vector<double>> blocks;
  for (const Block& block : blocks_of(table, columns, rows.rows, spans)) {
    std::vector<double>& of_block = blocks.emplace_back();
    for (const std::int64_t row : block.rows) of_block.push_back(score_of.at(row));
  }
  return Calibration::of_blocks(blocks);
}

std::optional<LeftOutScores> left_out_scores(const Table& table, const Stage& stage, const CompositePredictor& model) {
  if (!model.posterior->engine().kernels_only) return std::nullopt;
  const Dataset& rows = stage.training();
  const std::optional<LeftOutParts> parts = stage.left_out_parts(rows, /*futures=*/true);
  if (!parts) return std::nullopt;
  const std::vector<FunctionMoments> found =
      model.posterior->left_out(rows, parts->cell_of, parts->folds, stage.standard_noise() * stage.standard_noise());
  if (found.empty()) return std::nullopt;
  const Predictive predictive = model.predictive();
  LeftOutScores scores;
  for (std::size_t f = 0; f < found.size(); ++f) {
    const Dataset some = rows.select(at::tensor(parts->folds[f].rows, at::kLong));
    const at::Tensor noise = model.noise_variance(table, some, found[f].mean);
    const Prediction p = model.in_units(found[f].mean, found[f].variance, noise, 0.9, some.row_offset());
    const std::vector<double> y = model.observed(table, some);
    std::vector<double>& of_fold = scores.scores.emplace_back();
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (std::isfinite(p.scale[i])) of_fold.push_back(predictive.conformity(y[i], p.location[i], p.scale[i]));
    }
  }
  scores.text = std::to_string(parts->folds.size()) + " " + parts->text;
  return scores;
}

}  // namespace ick
