#include "ick/fit/update.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/inference/engine.h"
#include "predict/chance.h"
#include "predict/in_units.h"

namespace ick {

namespace {

constexpr double kLevel = 0.9;
constexpr double kUnlikely = 0.01;      // what happens by chance more seldom is a reason to fit again
constexpr std::int64_t kFewBlocks = 5;  // below, their coverages say nothing of each other's spread
constexpr double kMostMissed = 0.1;     // of the kernels' variance at the new rows

std::string percent(double share) { return number_text(std::round(1000.0 * share) / 10.0) + "%"; }

// Kernels only, or networks whose last layers were solved in closed form and kept with their normal equations.
void refuse_others(const CompositePredictor& model) {
  const Engine& engine = model.posterior->engine();
  const bool possible = engine.take_in != nullptr && model.likelihood->conjugate;
  const bool kept = find_tensor(model.posterior->tensors(), "last_layers.right").defined();
  if (possible && (model.spec().kernels_only() || kept)) return;
  const std::string of = "this model (" + setting("posterior", engine.name) + ", " +
                         setting("likelihood", model.likelihood->name) +
                         ") keeps nothing of its training rows that new ones could be added to";
  if (!possible) {
    throw UsageError(of +
                     "; rows can be added to models of kernels, and to ensembles whose last layers were solved in "
                     "closed form, with Gaussian noise; fit again on old and new rows together");
  }
  throw UsageError(of +
                   ": last layers were not solved in closed form, or have neighbours beside them, or their equations "
                   "would take more than 32 MB; fit again on old and new rows together");
}

// Rows with a target and all that kernels read. Every number has to make sense: there is no way back.
Dataset rows_to_take(const CompositePredictor& model, const Table& table, EncodingNotes& notes) {
  const std::string& target = model.encoder.target.name;
  if (table.find(target) == nullptr) {
    throw DataError("the table has no column \"" + target +
                    "\", the target, which rows that are to be taken in need; " + "it has " +
                    join_words(table.names()));
  }
  std::optional<Table> made;
  const Dataset rows = encode(model.readable(table, made), lenient(model.encoder), true, &notes);
  if (rows.size() == 0) {
    throw DataError("no row has the target, \"" + target + "\", and all that the model reads: there is nothing to add");
  }
  const auto demand = [&](const at::Tensor& good, const std::string& what) {  // (n) in bool
    if (good.all().item<bool>()) return;
    const auto first = static_cast<std::size_t>(good.logical_not().nonzero()[0].item<std::int64_t>());
    throw DataError("row " + std::to_string(rows.rows[first] + 1) + " has " + what + "; mend it or leave the row out");
  };
  demand(rows.y.isfinite(), "a target that is not finite");
  demand(rows.x.isfinite().all(1), "a value that is not finite in a column that a kernel reads");
  if (rows.weights.defined()) demand(rows.weights.gt(0.0), "a weight that is not positive");
  return rows;
}

// Columns that the blocks of validation rows were made of; none where rows stood for themselves.
std::vector<std::string> block_columns(const CompositePredictor& model, const FitReport& fit) {
  const Split split = fit.options.validation.value_or(Split{});
  if (split.kind == Split::Kind::random) return {};
  if (!split.columns.empty()) return split.columns;
  std::vector<std::string> times;
  for (const ColumnInfo& info : model.columns()) {
    if (info.type == ColumnType::time) times.push_back(info.name);
  }
  return times.size() == 1 ? times : std::vector<std::string>();
}

// Coverage of the new rows' intervals, and how likely it is by chance.
void judge_coverage(const CompositePredictor& model, const FitReport& fit, const Table& table,
                    const Evaluation& evaluation, UpdateReport& report) {
  const auto inside = [&](const std::vector<std::int64_t>& rows) {
    return std::count_if(rows.begin(), rows.end(), [&](std::int64_t row) { return evaluation.inside[row]; });
  };
  const std::vector<std::string> columns = block_columns(model, fit);
  if (columns.empty()) {
    const std::int64_t rows = std::ssize(evaluation.rows), held = inside(evaluation.rows);
    report.coverage = static_cast<double>(held) / static_cast<double>(rows);
    report.chance = chance_of_rows(held, rows, kLevel, model.calibration);
    return;
  }
  const bool known =
      std::all_of(columns.begin(), columns.end(), [&](const std::string& name) { return table.find(name) != nullptr; });
  std::vector<double> shares;
  const int spans = fit.options.validation->kind == Split::Kind::group ? 50 : columns.size() > 1 ? 25 : 12;
  for (const Block& block : known ? blocks_of(table, columns, evaluation.rows, spans) : std::vector<Block>()) {
    if (!block.rows.empty()) {
      shares.push_back(static_cast<double>(inside(block.rows)) / static_cast<double>(block.rows.size()));
    }
  }
  if (shares.empty()) {
    shares.push_back(static_cast<double>(inside(evaluation.rows)) / static_cast<double>(evaluation.rows.size()));
  }
  report.blocks = std::ssize(shares);
  for (const double share : shares) report.coverage += share / static_cast<double>(shares.size());
  if (report.blocks >= kFewBlocks) report.chance = chance_of_blocks(shares, kLevel);
}

void judge_errors(const CompositePredictor& model, const Table& table, const Evaluation& evaluation,
                  UpdateReport& report) {
  const Numbers& seen = table.column(model.encoder.target.name).values;
  const auto rows = static_cast<double>(evaluation.rows.size());
  double squares = 0.0;
  for (const std::int64_t row : evaluation.rows) {
    const double error = (model.encoder.transform->forward(seen[row]) - evaluation.prediction.location[row]) /
                         evaluation.prediction.scale[row];
    report.mean_error += error / rows, squares += error * error / rows;
  }
  report.root_mean_square_error = std::sqrt(squares);
}

// Features stand where the old rows were. What they miss at the new ones is not learned, but added to the variance. Those
// beside networks may have missed much of the old rows, too: it tells nothing of the new ones.
double missed_share(const CompositePredictor& model, const Dataset& rows) {
  if (!model.spec().kernels_only()) return 0.0;
  if (find_tensor(model.posterior->tensors(), "neighbours.x").defined()) return 0.0;
  constexpr std::int64_t kRows = 4096;
  const at::NoGradGuard no_grad;
  const Dataset some = rows.select(draw_rows(rows.size(), kRows, model.options.seed));
  const double missed = model.model().missed_variance(batch_of(some, 0, some.size())).mean().item<double>();
  return missed / model.model().prior_variance(some.x).mean().item<double>();
}

void give_reasons(UpdateReport& report, std::int64_t added) {
  if (report.chance && *report.chance < kUnlikely) {
    report.reasons.push_back("the " + percent(kLevel) + " intervals hold " + percent(report.coverage) +
                             " of the new rows, which happens by chance less often than once in a hundred times: "
                             "the parameters no longer fit what is observed");
  }
  if (report.missed > kMostMissed) {
    report.reasons.push_back("features, which stand where the first rows were, miss " + percent(report.missed) +
                             " of the kernels' variance at the new ones: these are learned in part only");
  }
  if (added + report.rows >= report.rows_fitted) {
    report.reasons.push_back("parameters were estimated from " + std::to_string(report.rows_fitted) + " rows, and " +
                             std::to_string(added + report.rows) + " have been added since: all of them tell more");
  }
}

// Where there are rows now. Of features alone it stays: they stand where they stood.
void extend_support(CompositePredictor& model) {
  const at::Tensor kept = find_tensor(model.posterior->tensors(), "neighbours.x");
  if (!kept.defined() || model.support.empty()) return;
  Dataset rows;
  rows.x = kept;
  rows.rows.resize(static_cast<std::size_t>(kept.size(0)));
  model.support = make_support(model.model(), model.encoder, rows, model.options.seed);
}

}  // namespace

Update update_model(const CompositePredictor& model, const FitReport& fit, std::int64_t added, const Table& table) {
  refuse_others(model);
  Update update{model, {}};
  UpdateReport& report = update.report;
  const Dataset rows = rows_to_take(model, table, report.notes);
  report.rows = rows.size();
  report.rows_fitted = fit.training_rows + (fit.options.refit == Refit::yes ? fit.validation_rows : 0);
  report.rows_before = report.rows_fitted + added;
  const Evaluation evaluation = model.evaluate(table, kLevel);
  report.scores = evaluation.scores;
  judge_coverage(model, fit, table, evaluation, report);
  judge_errors(model, table, evaluation, report);
  report.missed = missed_share(model, rows);
  give_reasons(report, added);

  auto own = std::make_shared<Model>(model.spec(), model.encoder, model.model().state(), model.options);
  update.model.posterior = model.posterior->engine().take_in(
      *model.posterior, std::move(own), rows, model.solved_noise * model.solved_noise, model.options.seed);
  extend_support(update.model);
  return update;
}

}  // namespace ick
