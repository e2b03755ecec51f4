#include "fit/calibrate.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>

#include "inference/beside.h"
#include "inference/crossfit.h"

namespace ick {

std::vector<std::vector<std::int64_t>> exchangeable_parts(const Table& table, const Split& split, const Dataset& rows) {
  std::vector<std::vector<std::int64_t>> parts;
  if (split.kind == Split::Kind::random) {
    for (std::int64_t i = 0; i < rows.size(); ++i) parts.push_back({i});
    return parts;
  }
  std::vector<std::string> columns = split.columns;
  for (const Column& column : table.columns) {  // that `last` goes by when it does not say
    if (split.columns.empty() && column.info.type == ColumnType::time) columns.push_back(column.info.name);
  }
  if (columns.size() != 1 && split.columns.empty()) {
    std::iota(parts.emplace_back(static_cast<std::size_t>(rows.size())).begin(), parts.back().end(), 0);
    return parts;
  }
  std::map<std::int64_t, std::int64_t> place_of;
  for (std::int64_t i = 0; i < rows.size(); ++i) place_of[rows.rows[static_cast<std::size_t>(i)]] = i;
  // about as many as were drawn: a dozen spans of a column, or some of a hundred cells of several; groups are themselves
  const int spans = split.kind == Split::Kind::group ? 50 : columns.size() > 1 ? 25 : 12;
  for (const Block& block : blocks_of(table, columns, rows.rows, spans)) {
    std::vector<std::int64_t>& part = parts.emplace_back();
    for (const std::int64_t row : block.rows) part.push_back(place_of.at(row));
  }
  return parts;
}

Calibration calibrated(const Table& table, const Split& split, const Dataset& rows, const std::vector<double>& scores) {
  if (split.kind == Split::Kind::random) return Calibration(scores);
  std::vector<std::vector<double>> blocks;
  for (const std::vector<std::int64_t>& part : exchangeable_parts(table, split, rows)) {
    std::vector<double>& of_block = blocks.emplace_back();
    for (const std::int64_t i : part) of_block.push_back(scores[static_cast<std::size_t>(i)]);
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
  left_out.parts = parts;
  left_out.rows = rows.rows;
  left_out.at_random = at_random;
  left_out.text = std::to_string(left_out.sizes.size()) + " " + parts.text;
  return left_out;
}

std::optional<LeftOutRows> leave_out(const Stage& stage, const FunctionPosterior& posterior, bool refitted) {
  const Dataset& rows = stage.training();
  std::optional<Retrained> all;
  if (posterior.engine().kernels_only) {
    // Beside trees all rows have been left out once, and row by row where they are drawn so.
    const bool at_random = stage.plan().spec.trees && stage.options().validation->kind == Split::Kind::random;
    std::optional<LeftOutParts> parts;
    if (at_random) parts = parts_at_random(rows.size(), stage.options().seed);
    if (!at_random) parts = stage.left_out_parts(rows, /*futures=*/true);
    if (!parts) return std::nullopt;
    all.emplace(Retrained{std::move(*parts), {}, at_random});
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
