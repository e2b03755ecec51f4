#include "fit/calibrate.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "inference/beside.h"
#include "inference/crossfit.h"

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

bool may_retrain(const FitPlan& plan, std::int64_t rows) {
  const auto& networks = plan.encoder.networks;
  const bool images = std::any_of(networks.begin(), networks.end(), [](const auto& each) { return each.image; });
  return plan.options.refit == Refit::yes && count_of(plan.validation) > 0 && !images && rows <= kMostBeside &&
         engine_named(plan.options.posterior).trains && !likelihood_of(plan.options).has_classes();
}

LeftOutRows left_out_rows(const LeftOutParts& parts, const std::vector<FunctionMoments>& found, bool at_random,
                          const Dataset& rows, const Scaling& scaling) {
  LeftOutRows left_out;
  std::vector<std::int64_t> index;
  std::vector<at::Tensor> mean, variance;
  for (std::size_t part = 0; part < found.size(); ++part) {
    const std::vector<std::int64_t>& of_part = parts.folds[part].rows;
    index.insert(index.end(), of_part.begin(), of_part.end());
    mean.push_back(found[part].mean), variance.push_back(found[part].variance);
    left_out.sizes.push_back(std::ssize(of_part));
  }
  Unseen& unseen = left_out.unseen;
  unseen.rows = rows.select(at::tensor(index, at::kLong));
  unseen.mean = at::cat(mean) * scaling.sd + scaling.mean;
  unseen.variance = at::cat(variance) * (scaling.sd * scaling.sd);
  unseen.y = unseen.rows.targets() * scaling.sd + scaling.mean;
  unseen.scaling = scaling;
  left_out.at_random = at_random;
  left_out.text = std::to_string(left_out.sizes.size()) + " " + parts.text;
  return left_out;
}

std::optional<LeftOutRows> leave_out(const Stage& stage, const FunctionPosterior& posterior, bool refitted) {
  const Dataset& rows = stage.training();
  std::optional<Retrained> all;
  if (posterior.engine().kernels_only) {
    std::optional<LeftOutParts> parts = stage.left_out_parts(rows, /*futures=*/true);
    if (!parts) return std::nullopt;
    all.emplace(Retrained{std::move(*parts), {}});
    const double s2 = stage.standard_noise() * stage.standard_noise();
    all->found = posterior.left_out(rows, all->parts.cell_of, all->parts.folds, s2);
  } else if (refitted && may_retrain(stage.plan(), rows.size())) {
    all = leave_out_and_train(stage, posterior);
  }
  if (!all || all->found.empty()) return std::nullopt;
  return left_out_rows(all->parts, all->found, all->at_random, rows, stage.encoder().target_scaling);
}

Calibration calibrated(const LeftOutRows& left_out, const std::vector<double>& scores) {
  std::vector<std::vector<double>> blocks;
  auto next = scores.begin();
  for (const std::int64_t size : left_out.sizes) {
    if (blocks.empty() || !left_out.at_random) blocks.emplace_back();
    std::copy_if(next, next + size, std::back_inserter(blocks.back()), [](double each) { return std::isfinite(each); });
    next += size;
  }
  return left_out.at_random ? Calibration(blocks.front()) : Calibration::of_blocks(blocks);
}

}  // namespace ick
