#include "fit/baseline.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/stopwatch.h"
#include "fit/calibrate.h"
#include "fit/noise.h"
#include "fit/remember.h"
#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "ick/base/text.h"
#include "ick/baseline/predictor.h"
#include "ick/fit/baselines.h"
#include "ick/train/threads.h"
#include "inference/left_out.h"
#include "predict/in_units.h"

namespace ick {

namespace {

using Rule = std::shared_ptr<const BaselineRule>;

// Of settings that decide how a composite model is trained, those that a baseline heeds.
const std::vector<std::string> kHeeded = {"seed",  "model",   "likelihood", "noise",  "noise_formula",
                                          "refit", "holdout", "validation", "horizon"};

Message without_effect(const FitOptions& asked) {
  std::vector<std::string> names;
  for (const Option<FitOptions>& row : option_table<FitOptions>()) {
    if (row.group == OptionGroup::training && row.get(asked) != row.standard && !contains(kHeeded, row.name)) {
      names.push_back(setting(row.name));
    }
  }
  if (names.empty()) return "";
  return join_words(names) + (names.size() == 1 ? " has" : " have") + " no effect with " +
         setting("model", asked.model);
}

[[noreturn]] void refuse(const Baseline& baseline, const std::string& reason) {
  throw UsageError(setting("model", baseline.name) + " cannot serve this formula and table: " + reason);
}

std::vector<bool> either(const std::vector<bool>& a, const std::vector<bool>& b) {
  std::vector<bool> all = a;
  for (std::size_t i = 0; i < b.size(); ++i) all[i] = all[i] || b[i];
  return all;
}

// How far the latest rows, which validate, reach beyond all others.
double horizon_of_task(const Table& table, const FitPlan& plan) {
  const Split& split = *plan.options.validation;
  if (split.kind != Split::Kind::last) return 0.0;
  const std::string column = time_column_of(table, split);
  if (const double known = horizon_of(table, plan, column); known > 0.0) return known;
  double known = -HUGE_VAL, last = -HUGE_VAL;
  const Numbers& times = table.column(column).values;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (plan.training[i]) known = std::fmax(known, times[i]);
    if (plan.validation[i]) last = std::fmax(last, times[i]);
  }
  return std::isfinite(last) && last > known ? last - known : 0.0;
}

// One baseline on its way.
class BaselineFit {
 public:
  BaselineFit(const Table& table, const FitPlan& plan, const Baseline& baseline, const FitHooks& hooks)
      : table_(table),
        plan_(plan),
        baseline_(baseline),
        hooks_(hooks),
        task_{table, plan, horizon_of_task(table, plan)} {}

  Encoder encoder_of(const std::vector<bool>& use) const {
    EncoderPlan plan = encoder_plan(plan_.spec, plan_.options);
    plan.kernel_columns.clear(), plan.level_columns.clear(), plan.networks.clear();
    baseline_.read(task_, plan);
    return fit_encoder(table_, plan, use);
  }

  Dataset open(const Encoder& encoder, const std::vector<bool>& use, EncodingNotes* notes = nullptr) const {
    return open_rows(table_, encoder, use, notes, HUGE_VAL);
  }

  Rule learn(const Encoder& encoder, const Dataset& rows, const Dataset* validation, const BaselineRule* chosen) const {
    const auto tick = [this, said = std::string()](const std::string& phase) mutable {
      if (phase != said) say(said = phase);
      stop_if_asked();
    };
    return baseline_.learn({task_, encoder, rows, validation, chosen, tick});
  }

  // Parts of the rows as rules predict them that were learned without them. None where there are too few parts.
  std::optional<LeftOutRows> leave_out(const Encoder& encoder, const Dataset& rows, const BaselineRule& rule) const {
    const Split::Kind kind = plan_.options.validation->kind;
    const bool at_random = kind == Split::Kind::random || kind == Split::Kind::none;
    std::optional<LeftOutParts> parts;
    if (at_random) {
      parts = parts_at_random(rows.size(), plan_.options.seed);
    } else {
      LeftOutTime time;
      time.period = rule.period();
      time.most = static_cast<std::size_t>(baseline_.trainings);
      parts = left_out_parts(table_, plan_, rows, time);
    }
    if (!parts) return std::nullopt;
    const std::vector<LeftOut>& folds = parts->folds;
    std::vector<FunctionMoments> found(folds.size());
    // Cells go in turn to as many trainings as there may be; of futures each has its own past.
    const std::size_t trainings = std::min(static_cast<std::size_t>(baseline_.trainings), folds.size());
    const auto train = [&](std::size_t k) {
      std::set<std::int64_t> cells;
      for (std::size_t f = k; f < folds.size(); f += trainings) {
        cells.insert(folds[f].cells.begin(), folds[f].cells.end());
      }
      std::vector<std::int64_t> stay;
      for (std::int64_t i = 0; i < rows.size(); ++i) {
        if (!cells.contains(parts->cell_of[static_cast<std::size_t>(i)])) stay.push_back(i);
      }
      const Rule own = learn(encoder, rows.select(at::tensor(stay, at::kLong)), nullptr, &rule);
      for (std::size_t f = k; f < folds.size(); f += trainings) {
        found[f] = own->moments(rows.select(at::tensor(folds[f].rows, at::kLong)));
      }
    };
    if (baseline_.side_by_side && workers() > 1) {
      say(std::to_string(trainings) + " left-out parts");
      parallel(static_cast<int>(trainings), [&](int k, int) { train(static_cast<std::size_t>(k)); });
      stop_if_asked();
      return left_out_rows(*parts, found, at_random, rows, encoder.target_scaling);
    }
    for (std::size_t k = 0; k < trainings; ++k) {
      say("left-out part " + std::to_string(k + 1) + " of " + std::to_string(trainings));
      stop_if_asked();
      train(k);
    }
    return left_out_rows(*parts, found, at_random, rows, encoder.target_scaling);
  }

  void stop_if_asked() const {
    if (hooks_.interrupted && hooks_.interrupted()) throw Interrupted("the fit was interrupted");
  }

  void say(const std::string& phase) const {
    if (!hooks_.progress) return;
    Progress progress;
    progress.phase = phase;
    progress.validation = progress.best = std::nan("");
    hooks_.progress(progress);
  }

 private:
  const Table& table_;
  const FitPlan& plan_;
  const Baseline& baseline_;
  const FitHooks& hooks_;
  BaselineTask task_;
};

// Predictions by rules that had not seen these rows, in the target's units (of the transformed target).
Unseen predicted(const BaselineRule& rule, const Dataset& rows, const Scaling& scaling) {
  const FunctionMoments found = rule.moments(rows);
  return {rows, found.mean * scaling.sd + scaling.mean, found.variance * (scaling.sd * scaling.sd),
          rows.targets() * scaling.sd + scaling.mean, scaling};
}

at::Tensor known_variance(const Unseen& of) {
  const at::Tensor error = of.rows.row_error();
  return error.defined() ? of.variance + error * (of.scaling.sd * of.scaling.sd) : of.variance;
}

// Location and scale of observations, in the target's units, and what was observed.
struct Observed {
  std::vector<double> y, location, scale, weights;

  Observed(const Table& table, const BaselinePredictor& model, const Unseen& of, double noise) {
    const at::Tensor offset = of.rows.row_offset();
    const bool shifted = offset.defined() && model.encoder.offset_in_target();
    location = to_vector(shifted ? of.mean + offset * of.scaling.sd : of.mean);
    scale = to_vector((known_variance(of) + noise * noise).sqrt());
    const Numbers& target = table.column(model.encoder.target.name).values;
    for (const std::int64_t row : of.rows.rows) y.push_back(target[row]);
    if (const at::Tensor w = of.rows.row_weights(); w.defined()) weights = to_vector(w);
  }

  std::vector<double> scores(const Predictive& predictive) const {
    std::vector<double> all;
    for (std::size_t i = 0; i < y.size(); ++i) all.push_back(predictive.conformity(y[i], location[i], scale[i]));
    return all;
  }
};

// Noise and calibration, by parts that were left out, or else by validation rows.
void finish_numbers(const Table& table, const FitPlan& plan, const std::optional<LeftOutRows>& left_out,
                    const std::optional<Unseen>& validation, const Unseen& own, BaselinePredictor& model,
                    FitReport& report) {
  const Unseen& telling = left_out ? left_out->unseen : validation ? *validation : own;
  double noise = plan.options.noise;
  if (noise == 0.0) {
    noise = fit_noise(telling.mean, known_variance(telling), telling.y, {}, model.encoder.target_summary.sd,
                      telling.rows.row_weights());
  }
  model.noise = noise / model.encoder.target_scaling.sd;
  if (!validation) return;
  const Predictive predictive = model.predictive();
  if (left_out) {
    model.calibration = calibrated(*left_out, Observed(table, model, left_out->unseen, noise).scores(predictive));
    report.calibrated_on = left_out->text;
  }
  const Observed seen(table, model, *validation, noise);
  if (!left_out)
    model.calibration = calibrated(table, *plan.options.validation, validation->rows, seen.scores(predictive));
  report.validation = score(predictive, seen.y, seen.location, seen.scale, model.training_moments(), {}, seen.weights);
}

void finish_classes(const Dataset& rows, const at::Tensor& probability, BaselinePredictor& model, FitReport& report) {
  const at::Tensor p = probability.contiguous(), seen = rows.targets().to(at::kLong).contiguous();
  model.calibration = Calibration(to_vector((1.0 - p.gather(1, seen.unsqueeze(1))).clamp_min(0.0).squeeze(1)));
  report.class_validation = score_classes({seen.data_ptr<std::int64_t>(), static_cast<std::size_t>(seen.numel())},
                                          {p.data_ptr<double>(), static_cast<std::size_t>(p.numel())}, p.size(1));
}

}  // namespace

FitOptions with_model(const Formula& formula, FitOptions options) {
  const Call* const trees = trees_alone(formula.right);
  if (trees != nullptr && options.model.empty()) options.model = find_trees(trees->name)->baseline;
  return options;
}

Formula formula_of_model(const Table& table, const Formula& formula, const FitOptions& options) {
  if (options.model.empty()) return formula;
  const Baseline& baseline = baseline_named(options.model);
  if (baseline.rewrite == nullptr) return formula;
  const FitPlan plan = plan_rows(table, formula, options);
  std::optional<Table> made;
  const BaselineTask task{with_derived(table, plan.spec.derived, made), plan};
  if (const std::string reason = why_not(baseline, task); !reason.empty()) refuse(baseline, reason);
  return baseline.rewrite(task);
}

FitPlan plan_baseline(const Table& table, const Formula& formula, const FitOptions& options) {
  FitPlan plan = plan_rows(table, formula, options);
  if (const Message sentence = without_effect(options); !sentence.marked().empty()) plan.remarks.push_back(sentence);
  const bool validated = count_of(plan.validation) > 0;
  plan.options.refit = plan.options.refit != Refit::no && validated ? Refit::yes : Refit::no;
  if (!validated) plan.remarks.push_back("no validation rows: intervals are the baseline's own");
  const Baseline& baseline = baseline_named(options.model);
  std::optional<Table> made;
  const BaselineTask task{with_derived(table, plan.spec.derived, made), plan};
  if (const std::string reason = why_not(baseline, task); !reason.empty()) refuse(baseline, reason);
  return plan;
}

PredictorFit fit_baseline(const Table& given, const Formula& formula, const FitOptions& options,
                          const FitHooks& hooks) {
  const Stopwatch watch;
  const ThreadScope threads(options.threads);
  use_torch_threads(1);  // the same to the last bit for any number of them
  const at::NoGradGuard no_grad;
  if (hooks.ranks != nullptr) {
    throw UsageError(setting("model", options.model) +
                     " is fitted by one process; start it without WORLD_SIZE, and it uses all cores of its machine");
  }
  const FitPlan plan = plan_baseline(given, formula, options);
  std::optional<Table> made;
  const Table& table = with_derived(given, plan.spec.derived, made);
  if (hooks.planned) hooks.planned(plan);
  const Baseline& baseline = baseline_named(options.model);
  const bool validated = count_of(plan.validation) > 0;
  const BaselineFit fit(table, plan, baseline, hooks);

  auto model = std::make_shared<BaselinePredictor>();
  PredictorFit result;
  FitReport& report = result.report;
  model->baseline = &baseline;
  model->formula_text = print(formula);
  model->likelihood = &likelihood_of(plan.options);
  model->encoder = fit.encoder_of(plan.training);
  Dataset rows = fit.open(model->encoder, plan.training, &report.notes);
  fit.say("train");
  fit.stop_if_asked();
  std::optional<Dataset> unseen;
  if (validated) unseen = fit.open(model->encoder, plan.validation);
  const Rule first = fit.learn(model->encoder, rows, unseen ? &*unseen : nullptr, nullptr);
  model->rule = first;
  const bool classes = !model->encoder.classes.empty();
  std::optional<Unseen> validation;
  at::Tensor probability;
  if (validated && classes) probability = first->at(*unseen);
  if (validated && !classes) validation = predicted(*first, *unseen, model->encoder.target_scaling);
  if (plan.options.refit == Refit::yes) {
    fit.say("refit");
    fit.stop_if_asked();
    const std::vector<bool> all = either(plan.training, plan.validation);
    model->encoder = fit.encoder_of(all);
    rows = fit.open(model->encoder, all);
    model->rule = fit.learn(model->encoder, rows, nullptr, first.get());
  }
  if (validated && classes) finish_classes(*unseen, probability, *model, report);
  if (!classes) {
    const std::optional<LeftOutRows> left_out = fit.leave_out(model->encoder, rows, *first);
    finish_numbers(table, plan, left_out, validation, predicted(*model->rule, rows, model->encoder.target_scaling),
                   *model, report);
  }

  report.options = plan.options;
  report.rows = table.rows;
  report.training_rows = count_of(plan.training);
  report.validation_rows = count_of(plan.validation);
  report.holdout_rows = count_of(plan.holdout);
  report.validation_split = print(*plan.options.validation);
  report.validation_reason = plan.validation_reason;
  report.holdout_split = print(plan.options.holdout);
  if (report.holdout_rows > 0) {
    std::vector<std::int64_t> held;
    for (std::int64_t i = 0; i < table.rows; ++i) {
      if (plan.holdout[i]) held.push_back(i);
    }
    const Evaluation found = model->evaluate(select_rows(table, held));
    if (classes) {
      report.class_holdout = found.class_scores;
    } else {
      report.holdout = found.scores;
    }
  }
  report.summary = summary_of_fit(table, *model, plan);
  report.seconds = watch.seconds();
  result.model = std::move(model);
  return result;
}

PredictorFit fit_predictor(const Table& table, const Formula& formula, const FitOptions& asked, const FitHooks& hooks,
                           const Checkpoint* resume) {
  const FitOptions options = with_model(formula, asked);
  if (!options.model.empty() && baseline_named(options.model).learn != nullptr) {
    return fit_baseline(table, formula, options, hooks);
  }
  Fit made = fit_model(table, formula_of_model(table, formula, options), options, hooks, resume);
  return {std::make_shared<const CompositePredictor>(std::move(made.model)), std::move(made.report)};
}

std::vector<BaselineChoice> baselines_for(const Table& table, const std::string& formula, const FitOptions& options) {
  const FitPlan plan = plan_rows(table, parse_formula(formula), options);
  std::optional<Table> made;
  const BaselineTask task{with_derived(table, plan.spec.derived, made), plan, 0.0};
  std::vector<BaselineChoice> all;
  for (const Baseline* each : baselines()) {
    all.push_back({std::string(each->name), std::string(each->text), Message(why_not(*each, task)).text()});
  }
  return all;
}

}  // namespace ick
