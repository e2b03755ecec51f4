#include "ick/evaluate/cross_validation.h"

#include <algorithm>
#include <cmath>

#include "base/stopwatch.h"
#include "fit/baseline.h"
#include "fit/choices.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "ick/fit/fit.h"
#include "inference/left_out.h"

namespace ick {

namespace {

std::string rows_text(std::int64_t rows) { return std::to_string(rows) + (rows == 1 ? " row" : " rows"); }

FoldRule chosen_rule(const Table& table, const FitPlan& plan, std::string& reason) {
  const Split& split = *plan.options.validation;
  FoldRule rule = rule_like(split);
  if (rule.kind == FoldRule::Kind::future && rule.columns.empty()) rule.columns = {time_column_of(table, split)};
  reason = split.kind == Split::Kind::none || split.kind == Split::Kind::condition
               ? "row by row, because validation rows are set apart in a way that gives no folds"
               : "as validation rows of the formula: " + plan.validation_reason;
  return rule;
}

// Learned from data; 0 where that is not counted.
std::int64_t parameters_of(const Predictor& model) {
  const auto* const composite = dynamic_cast<const CompositePredictor*>(&model);
  return composite != nullptr ? composite->model().trainable() : 0;
}

bool has_level(const std::vector<std::string>& levels, const Column& column, std::size_t row) {
  const double value = column.values[row];
  if (std::isnan(value)) return true;
  if (column.info.type != ColumnType::category) return contains(levels, number_text(value));
  return value >= 0.0 && contains(levels, column.info.levels[static_cast<std::size_t>(value)]);
}

// Test rows whose levels, and classes, the model knows.
std::vector<std::int64_t> known_rows(const Table& table, const std::vector<std::int64_t>& test,
                                     const Predictor& model) {
  std::vector<ColumnInfo> known = model.known_levels();
  if (!model.classes().empty()) known.push_back({model.target().name, ColumnType::category, "", model.classes()});
  std::vector<std::int64_t> rows;
  for (const std::int64_t row : test) {
    const bool all = std::all_of(known.begin(), known.end(), [&](const ColumnInfo& info) {
      return has_level(info.levels, table.column(info.name), static_cast<std::size_t>(row));
    });
    if (all) rows.push_back(row);
  }
  return rows;
}

UnseenRows unseen_rows(const Predictor& model, const Table& test, const std::vector<std::int64_t>& rows, double level) {
  const Evaluation found = model.evaluate(test, level);
  const Prediction& p = found.prediction;
  const Column& target = test.column(model.target().name);
  const Predictive predictive = model.predictive();
  UnseenRows unseen;
  unseen.classes = model.classes();
  unseen.probability.resize(unseen.classes.size());
  for (const std::int64_t row : found.rows) {
    const auto i = static_cast<std::size_t>(row);
    unseen.rows.push_back(rows[i]);
    unseen.weight.push_back(model.has_weights() ? model.row_weight(test, row) : 1.0);
    unseen.inside.push_back(found.inside[i]);
    const double y = target.values[i];
    if (unseen.of_classes()) {
      const std::string text =
          target.info.type == ColumnType::category ? target.info.levels[static_cast<std::size_t>(y)] : number_text(y);
      unseen.seen.push_back(std::find(unseen.classes.begin(), unseen.classes.end(), text) - unseen.classes.begin());
      for (std::size_t c = 0; c < unseen.classes.size(); ++c) unseen.probability[c].push_back(p.probability[c][i]);
      continue;
    }
    unseen.target.push_back(y);
    unseen.mean.push_back(p.mean[i]), unseen.sd.push_back(p.sd[i]);
    unseen.lower.push_back(p.lower[i]), unseen.upper.push_back(p.upper[i]);
    unseen.nlpd.push_back(predictive.negative_log_density(y, p.location[i], p.scale[i]));
    unseen.crps.push_back(predictive.crps(y, p.location[i], p.scale[i]));
  }
  return unseen;
}

}  // namespace

FoldPlan plan_folds(const Table& table, const std::string& formula, const FitOptions& options,
                    const FoldOptions& asked) {
  const FitPlan whole = plan_rows(table, parse_formula(formula), options);
  FoldPlan plan;
  plan.level = asked.level;
  plan.reason = "as asked";
  plan.rule = asked.by ? *asked.by : chosen_rule(table, whole, plan.reason);
  const std::string& target = whole.spec.formula.target;
  std::vector<bool> among = rows_with_value(table, target);
  const std::int64_t with_target = count_of(among);
  if (options.holdout.kind != Split::Kind::none) {
    for (std::size_t i = 0; i < among.size(); ++i) among[i] = among[i] && !whole.holdout[i];
    plan.remarks.push_back(rows_text(count_of(whole.holdout)) + " of the holdout take no part");
  }
  FoldRequest request{plan.rule, asked.folds, 0.0, target, options.seed};
  if (plan.rule.kind == FoldRule::Kind::future) {
    const std::string& time = plan.rule.columns.front();
    if (!options.horizon.empty()) request.horizon = horizon_of(table, whole, time);
    plan.horizon = number_text(future_length(table, request, among));
  }
  plan.folds = make_folds(table, request, among);
  if (std::ssize(plan.folds) < 2) {
    throw DataError(setting("by", print(plan.rule)) + ": all rows but those of one fold lie before; ask for a longer " +
                    setting("horizon"));
  }
  if (std::ssize(plan.folds) < asked.folds) {
    plan.remarks.push_back(std::to_string(asked.folds - std::ssize(plan.folds)) + " of " + std::to_string(asked.folds) +
                           " futures hold no row and are left out");
  }
  std::vector<bool> takes_part(static_cast<std::size_t>(table.rows), false);
  for (const Fold& fold : plan.folds) {
    for (const auto* rows : {&fold.training, &fold.test}) {
      for (const std::int64_t row : *rows) takes_part[static_cast<std::size_t>(row)] = true;
    }
    plan.ratio += static_cast<double>(fold.test.size()) / static_cast<double>(fold.training.size());
  }
  plan.ratio /= static_cast<double>(plan.folds.size());
  if (with_target < table.rows) plan.remarks.push_back(rows_text(table.rows - with_target) + " without a target");
  if (const std::int64_t gaps = count_of(among) - count_of(takes_part); gaps > 0) {
    plan.remarks.push_back(rows_text(gaps) + " without a value of " + join_words(plan.rule.columns) + " take no part");
  }
  return plan;
}

FoldedFit plan_fit_in_folds(const Table& table, const std::string& formula, const FitOptions& options,
                            const FoldPlan& plan) {
  const Formula parsed = parse_formula(formula);
  FoldedFit fit{print(parsed), with_model(parsed, options), 0.0};
  if (fit.options.model.empty()) {
    const FitPlan whole = plan_fit(table, parsed, options);
    const FitBytes bytes = bytes_of(whole);
    fit.bytes = bytes.rows + bytes.member * static_cast<double>(whole.options.members);
    fit.options.likelihood = whole.options.likelihood;
  } else {
    fit.options.likelihood = plan_rows(table, parsed, options).options.likelihood;
  }
  fit.options.holdout = Split{};
  if (fit.options.horizon.empty()) fit.options.horizon = plan.horizon;
  return fit;
}

FitOptions options_in_fold(const FitOptions& options, const FoldPlan& plan, std::int64_t number) {
  FitOptions own = options;
  if (own.validation) return own;
  const Fold& fold = plan.folds.at(static_cast<std::size_t>(number));
  own.validation = split_like(plan.rule, usual_validation_share(std::ssize(fold.training)));
  return own;
}

FoldResult fit_fold(const Table& table, const FoldedFit& fit, const FoldPlan& plan, std::int64_t number,
                    const FitControl& control) {
  const Stopwatch watch;
  const Fold& fold = plan.folds.at(static_cast<std::size_t>(number));
  const FitOptions options = options_in_fold(fit.options, plan, number);
  FitHooks hooks;
  hooks.progress = control.progress;
  hooks.interrupted = control.cancelled;
  const PredictorFit made =
      fit_predictor(select_rows(table, fold.training), parse_formula(fit.formula), options, hooks);
  const Predictor& model = *made.model;
  const std::vector<std::int64_t> rows = known_rows(table, fold.test, model);
  if (rows.empty()) {
    throw DataError("fold \"" + fold.name +
                    "\": no row can be scored, because all have a level, or a class, that no training row of the fold "
                    "has; divide the rows in another way with " +
                    setting("by") + ", or leave that column out of the formula");
  }
  FoldResult result;
  result.fold = number;
  result.unseen = unseen_rows(model, select_rows(table, rows), rows, plan.level);
  result.not_scored = std::ssize(fold.test) - std::ssize(result.unseen.rows);
  result.parameters = parameters_of(model);
  result.seconds = watch.seconds();
  return result;
}

CrossValidation summary_of(FoldPlan plan, std::vector<FoldResult> folds) {
  CrossValidation all{std::move(plan), std::move(folds), {}, {}};
  std::map<std::string, std::vector<double>> values;
  for (const FoldResult& fold : all.folds) {
    all.scores.push_back(scores_of(fold.unseen));
    for (const auto& [name, value] : all.scores.back()) values[name].push_back(value);
  }
  for (const auto& [name, of_folds] : values) all.average[name] = mean_over_folds(of_folds, all.plan.ratio);
  return all;
}

CrossValidation cross_validate(const Table& table, const std::string& formula, const FitOptions& options,
                               const FitControl& control, const FoldOptions& asked) {
  FoldPlan plan = plan_folds(table, formula, options, asked);
  if (control.remark) {
    for (const Message& remark : plan.remarks) control.remark(remark);
  }
  const FoldedFit fit = plan_fit_in_folds(table, formula, options, plan);
  std::vector<FoldResult> folds;
  for (std::int64_t fold = 0; fold < std::ssize(plan.folds); ++fold) {
    folds.push_back(fit_fold(table, fit, plan, fold, control));
  }
  return summary_of(std::move(plan), std::move(folds));
}

}  // namespace ick
