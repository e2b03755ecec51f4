#include "ick/fit/fit.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/stopwatch.h"
#include "fit/calibrate.h"
#include "fit/choices.h"
#include "fit/first.h"
#include "fit/grow_trees.h"
#include "fit/noise.h"
#include "fit/remember.h"
#include "fit/sanity.h"
#include "fit/second.h"
#include "fit/term_losses.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/inference/engine.h"
#include "ick/predict/shares.h"
#include "ick/train/threads.h"
#include "inference/beside.h"
#include "inference/stage.h"
#include "model/row_cost.h"
#include "predict/classes.h"
#include "predict/in_units.h"

namespace ick {

namespace {

std::vector<bool> joined(const std::vector<bool>& a, const std::vector<bool>& b) {
  std::vector<bool> both = a;
  for (std::size_t i = 0; i < b.size(); ++i) both[i] = both[i] || b[i];
  return both;
}

// Those that are asked for the noise where no rows were set apart for it.
Dataset judged_training_rows(const Dataset& training, std::uint64_t seed) {
  constexpr std::int64_t kMost = 1'000'000;  // enough for one number, the noise
  return training.subset(draw_rows(training.size(), kMost, seed_for(seed, "judged rows")));
}

// What is left of a finished first stage: kept in the checkpoints of the second. In the target's units (of the
// transformed target).
struct Outcome : StageOutcome {
  Scaling training;           // of the targets it has seen
  double spread = 0.0;        // of its members, see spread_of(); 0: not of a trained ensemble of numbers
  bool ranked = false;        // networks read numbers by their ranks
  at::Tensor mean, variance;  // of the function at rows it has not seen; of classes the functions of members
  at::Tensor parts;           // of the function there, see term_losses.h

  Outcome(const Stage& stage, const FunctionPosterior& posterior, const Dataset& unseen)
      : StageOutcome(stage.outcome()),
        training(stage.encoder().target_summary),
        ranked(stage.options().inputs == NumberInputs::ranks) {
    const Likelihood& likelihood = likelihood_of(stage.options());
    if (likelihood.has_classes()) {
      mean = member_functions(posterior.model(), unseen);
      return;
    }
    const FunctionMoments found = moments_at(posterior, likelihood, unseen);
    const Scaling& scaling = stage.encoder().target_scaling;
    mean = found.mean * scaling.sd + scaling.mean;
    variance = found.variance * (scaling.sd * scaling.sd);
    if (count_of(stage.plan().validation) > 0) parts = centred_parts(stage, posterior, unseen);
    const bool comparable = posterior.engine().trains && likelihood.link == Link::identity;
    if (!comparable || stage.options().refit != Refit::yes) return;
    spread = spread_of(stage.table(), stage.plan(), {posterior, stage.encoder()});
  }

  Outcome(const Checkpoint& from, bool classes) {
    const auto number = [&](const std::string& name) {
      const auto found = from.numbers.find("outcome." + name);
      if (found == from.numbers.end()) missing(name);
      return found->second;
    };
    noise = number("noise");
    best_epoch = number("best_epoch");
    epochs = number("epochs");
    polished = number("polished") != 0.0;
    linear_share = number("linear_share");
    neighbours = number("neighbours") != 0.0;
    ranked = number("ranked") != 0.0;
    training = {number("training_mean"), number("training_sd")};
    spread = number("spread");
    amplitude = number("amplitude");
    noise_variance = number("noise_variance");
    mean = find_tensor(from.tensors, "outcome.mean");
    variance = find_tensor(from.tensors, "outcome.variance");
    parts = find_tensor(from.tensors, "outcome.parts");
    if (!mean.defined()) missing("mean");
    if (!classes && !variance.defined()) missing("variance");
    const bool sum = number("sum") != 0.0;
    if (sum && !parts.defined()) missing("parts");
  }

  [[noreturn]] static void missing(const std::string& name) {
    throw DataError("the checkpoint has no \"outcome." + name + "\"; it is of another version, start the fit again");
  }

  void write(Checkpoint& to) const {
    to.numbers.insert({{"outcome.noise", noise},
                       {"outcome.best_epoch", best_epoch},
                       {"outcome.epochs", epochs},
                       {"outcome.polished", polished},
                       {"outcome.linear_share", linear_share},
                       {"outcome.neighbours", neighbours},
                       {"outcome.ranked", ranked},
                       {"outcome.training_mean", training.mean},
                       {"outcome.training_sd", training.sd},
                       {"outcome.spread", spread},
                       {"outcome.amplitude", amplitude},
                       {"outcome.noise_variance", noise_variance},
                       {"outcome.sum", parts.defined()}});
    to.tensors.emplace_back("outcome.mean", mean);
    if (variance.defined()) to.tensors.emplace_back("outcome.variance", variance);
    if (parts.defined()) to.tensors.emplace_back("outcome.parts", parts);
  }
};

// Rows to learn the shape of the noise from, and the others, which say how large it is: (n) in bool
at::Tensor every_other(std::int64_t rows, std::uint64_t seed) {
  at::Tensor learned = at::zeros({rows}, at::kBool);
  return learned.index_fill_(0, draw_rows(rows, rows / 2, seed_for(seed, "noise rows")), true);
}

std::span<const double> span_of(const at::Tensor& values) {
  return {values.data_ptr<double>(), static_cast<std::size_t>(values.numel())};
}

// Temperature and calibration of classes: how probable the first stage held what its unseen rows are.
void finish_classes(const FitPlan& plan, const Stage& stage, const Dataset& unseen, const Outcome& outcome,
                    Fit& result) {
  CompositePredictor& model = result.model;
  model.support = make_support(model.model(), model.encoder, stage.training(), plan.options.seed);
  if (count_of(plan.validation) == 0) return;
  const at::Tensor y = unseen.targets();
  model.temperature = fit_temperature(*model.likelihood, outcome.mean, y);
  const at::Tensor p =
      probabilities(*model.likelihood, outcome.mean, model.temperature).mean(0).contiguous();  // (n, C)
  const at::Tensor seen = y.to(at::kLong).contiguous();
  const at::Tensor scores_of_rows = (1.0 - p.gather(1, seen.unsqueeze(1))).clamp_min(0.0).contiguous();
  const std::span<const double> scores = span_of(scores_of_rows);
  model.calibration = Calibration(std::vector<double>(scores.begin(), scores.end()));
  result.report.class_validation =
      score_classes({seen.data_ptr<std::int64_t>(), static_cast<std::size_t>(seen.numel())}, span_of(p), p.size(1));
}

// What is known of the variance of an observation, and what s^2 is multiplied with (undefined: one): (n) each, in the
// target's units.
std::pair<at::Tensor, at::Tensor> parts_of_variance(const CompositePredictor& model, const Table& table,
                                                    const Unseen& of) {
  at::Tensor known = of.variance, shape;
  if (model.likelihood->link != Link::identity) {
    const auto [base, slope] = noise_shape(*model.likelihood, of.mean);
    known = known + base, shape = slope;
  }
  if (const at::Tensor error = of.rows.row_error(); error.defined()) {
    known = known + error * (of.scaling.sd * of.scaling.sd);
  }
  if (const at::Tensor own = model.noise_shape_of(table, of.rows); own.defined()) shape = own;
  return {known, shape};
}

// Predictions of observations: location and scale of the target (of the transformed target), in its units, what was
// observed, and weights.
struct Judged {
  at::Tensor location, scale;
  std::vector<double> seen;
  at::Tensor weights;

  // `noise` as CompositePredictor has it, in the target's units.
  Judged(const CompositePredictor& model, const Table& table, const Unseen& of, double noise)
      : seen(model.observed(table, of.rows)), weights(of.rows.row_weights()) {
    const auto [known, shape] = parts_of_variance(model, table, of);
    const at::Tensor offset = of.rows.row_offset();
    const bool shifted = offset.defined() && model.encoder.offset_in_target();
    location = (shifted ? of.mean + offset * of.scaling.sd : of.mean).contiguous();
    scale = (known + (shape.defined() ? noise * noise * shape : at::full_like(known, noise * noise))).sqrt();
  }

  // Not a number where the scale is not known.
  std::vector<double> scores(const Predictive& predictive) const {
    std::vector<double> all;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const double s = span_of(scale)[i];
      all.push_back(std::isfinite(s) ? predictive.conformity(seen[i], span_of(location)[i], s) : NAN);
    }
    return all;
  }
};

Unseen chosen(const Unseen& all, const at::Tensor& index) {
  return {all.rows.subset(index),
          all.mean.index_select(0, index),
          all.variance.index_select(0, index),
          all.y.index_select(0, index),
          all.scaling,
          all.parts.defined() ? all.parts.index_select(1, index) : all.parts};
}

at::Tensor where_true(const at::Tensor& mask) { return mask.nonzero().select(1, 0).contiguous(); }

// Noise, calibration, support: all that rows tell that were not seen, by the first stage or when they were left out.
// `unseen_rows` are in the encoding of the first stage.
void finish(const Table& given, const FirstTrees* grown, const FitPlan& plan, const FitHooks& hooks, const Stage& stage,
            bool refitted, const Dataset& unseen_rows, const Outcome& outcome, Fit& result) {
  const Table& table = stage.table();
  CompositePredictor& model = result.model;
  const FitOptions& o = plan.options;
  const bool validated = count_of(plan.validation) > 0;
  Unseen unseen{unseen_rows, outcome.mean, outcome.variance, {}, plan.encoder.target_scaling, outcome.parts};
  unseen.y = unseen.rows.targets() * unseen.scaling.sd + unseen.scaling.mean;
  std::optional<LeftOutRows> left_out = validated ? leave_out(stage, *model.posterior, refitted) : std::nullopt;
  if (left_out && grown != nullptr && !left_out->at_random) grow_without(given, plan, *grown, *left_out);
  if (refitted && !left_out && outcome.spread > 0.0) {
    const double own = spread_of(table, plan, {*model.posterior, stage.encoder()});
    if (own > 0.0) model.spread = std::max(1.0, outcome.spread / own);
  }
  // Kernels only: the noise that the weights kept were solved with.
  const bool solved = engine_named(o.posterior).kernels_only && stage.noise() > 0.0;
  const Unseen& telling = left_out && !solved ? left_out->unseen : unseen;

  at::Tensor to_judge = at::ones({telling.rows.size()}, at::kBool);
  if (!o.noise_formula.empty()) {
    const at::Tensor learned = every_other(telling.rows.size(), o.seed);
    model.noise_model =
        fit_noise_model(given, plan.spec.formula.target, o, chosen(telling, where_true(learned)), hooks);
    model.noise = 1.0;
    to_judge = learned.logical_not().logical_and(model.noise_shape_of(table, telling.rows).isfinite());
  }
  const Unseen judged = chosen(telling, where_true(to_judge));
  const auto [known_variance, shape] = parts_of_variance(model, table, judged);
  // s has the target's units where the link is the identity, else it is a pure number.
  const double unit = model.likelihood->link == Link::identity ? outcome.training.sd : 1.0;
  double noise = o.noise;
  const double learned_noise = solved ? stage.noise() : outcome.noise;
  const bool known = learned_noise > 0.0 && (solved ? model.noise_model == nullptr : !validated && !shape.defined());
  if (noise == 0.0) {
    noise = known ? learned_noise
                  : fit_noise(judged.mean, known_variance, judged.y, shape, unit, judged.rows.row_weights());
  }
  const double kept_sd = model.encoder.target_scaling.sd;
  model.noise = noise / kept_sd;
  model.solved_noise = learned_noise > 0.0 ? learned_noise / kept_sd : model.noise;
  model.support = make_support(model.model(), model.encoder, stage.training(), o.seed);
  if (!validated) return;

  const Predictive predictive = model.predictive();
  if (!left_out) {
    unseen = judged;
  } else if (model.noise_model != nullptr) {
    unseen = chosen(unseen, where_true(model.noise_shape_of(table, unseen.rows).isfinite()));
  }
  const Judged validation(model, table, unseen, noise);
  if (left_out) {
    const Judged parts(model, table, left_out->unseen, noise);
    std::vector<double> scores = parts.scores(predictive);
    for (std::size_t i = 0; i < scores.size() && !solved; ++i) {  // nor where a formula of the noise was learned
      if (!to_judge.data_ptr<bool>()[i]) scores[i] = NAN;
    }
    model.calibration = calibrated(*left_out, scores);
    result.report.calibrated_on = left_out->text;
  } else {
    model.calibration = calibrated(table, *o.validation, unseen.rows, validation.scores(predictive));
  }
  const bool shifted = model.encoder.offset && model.encoder.offset_in_target();
  const Moments constant = model.trees != nullptr ? model.training_moments()
                                                  : Moments{outcome.training.mean, shifted ? 0.0 : outcome.training.sd};
  result.report.validation =
      score(predictive, validation.seen, span_of(validation.location), span_of(validation.scale), constant, {},
            validation.weights.defined() ? span_of(validation.weights) : std::span<const double>());
  add_losses(model, unseen,
             {validation.location, validation.scale, validation.seen, validation.weights,
              exchangeable_parts(table, *o.validation, unseen.rows)},
             result.report.term_shares);
}

// Processes share out members and rows of gradient descent. Without it each would do all of the work, in memory of its
// own, and none would hear that another is gone or wants to stop.
[[noreturn]] void refuse_ranks(const Engine& engine) {
  throw UsageError("several processes share out gradient descent, and " + setting("posterior", engine.name) +
                   " is solved in closed form: every process would do the same work; start one process, without "
                   "WORLD_SIZE, which uses all cores of its machine");
}

// Of as many training rows as tell: a share is as exact as 1 / sqrt(rows).
std::vector<TermShare> shares_of_rows(const Table& table, const FitPlan& plan, const CompositePredictor& model) {
  constexpr std::int64_t kRows = 500;
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (plan.training[static_cast<std::size_t>(i)]) rows.push_back(i);
  }
  const at::Tensor some = draw_rows(std::ssize(rows), kRows, seed_for(plan.options.seed, "shares of terms"));
  std::vector<std::int64_t> drawn;
  for (std::int64_t k = 0; k < some.size(0); ++k) {
    drawn.push_back(rows[static_cast<std::size_t>(some.data_ptr<std::int64_t>()[k])]);
  }
  return term_shares(model, select_rows(table, drawn));
}

}  // namespace

Fit fit_model(const Table& given, const Formula& formula, const FitOptions& options, const FitHooks& callers_hooks,
              const Checkpoint* resume) {
  const Stopwatch watch;
  const ThreadScope threads(options.threads);
  FitPlan first_plan = plan_fit(given, formula, options);
  Fit result;
  std::optional<FirstTrees> grown;
  if (first_plan.spec.trees) {
    grown = backfit_trees(given, first_plan, callers_hooks);
    take_trees(*grown, first_plan);
    result.model.trees = grown->trees;
  }
  const Table& table = grown ? grown->table : given;
  const Engine& engine = engine_named(first_plan.options.posterior);
  if (callers_hooks.ranks != nullptr && !engine.trains) refuse_ranks(engine);
  if (callers_hooks.ranks != nullptr && first_plan.options.neighbours == Neighbours::yes) {
    throw UsageError(setting("neighbours", "yes") +
                     " is for a fit by one process: rows and their neighbours are not shared out; leave it out, or "
                     "start one process, without WORLD_SIZE");
  }
  const bool classes = likelihood_of(first_plan.options).has_classes(), validated = count_of(first_plan.validation) > 0;
  if (resume != nullptr && resume->phase == "start") resume = nullptr;
  const bool second_only = resume != nullptr && resume->phase == "refit";

  FitHooks hooks = callers_hooks;
  hooks.progress = [&](const Progress& p) {
    if (p.epochs > 0) result.report.history.push_back({p.phase, p.epoch, p.loss, p.validation, p.learning_rate});
    if (callers_hooks.progress) callers_hooks.progress(p);
  };
  // Tensor operations of a step are too small to share out, torch's threads would only wait for each other; and the
  // model is the same to the last bit for any number of workers. Images and draws are large enough.
  hooks.planned = [&](const FitPlan& planned) {
    if (callers_hooks.planned) callers_hooks.planned(planned);
    const auto& networks = planned.encoder.networks;
    const bool images = std::any_of(networks.begin(), networks.end(), [](const auto& each) { return each.image; });
    if (!images && !engine.draws) use_torch_threads(1);
  };
  FitHooks quiet_hooks = hooks;  // of a training that another one stands in for, where the fit is resumed
  quiet_hooks.planned = {};
  quiet_hooks.checkpoint = {};
  std::optional<FitPlan> ranked;
  FirstTraining first;
  if (!second_only) {
    first = train_first(table, first_plan, hooks, quiet_hooks, resume, ranked);
  } else if (resume->numbers.contains("outcome.ranked") && resume->numbers.at("outcome.ranked") != 0.0) {
    ranked = ranked_plan(table, first_plan);
  }
  const bool by_ranks = ranked && (second_only || first.stage->options().inputs == NumberInputs::ranks);
  const FitPlan& plan = by_ranks ? *ranked : first_plan;
  std::unique_ptr<Stage> stage = std::move(first.stage);
  std::shared_ptr<const FunctionPosterior> posterior = std::move(first.posterior);
  std::vector<std::string> first_remarks;
  std::string why_first;                 // it is kept, though a second was trained
  double waiting = 0.0, training = 0.0;  // seconds
  // by the first stage
  const Dataset unseen = second_only ? open_rows(table, plan.encoder, plan.validation, nullptr, plan.options.held_bytes)
                         : validated ? stage->validation()
                                     : judged_training_rows(stage->training(), plan.options.seed);
  const Outcome outcome = second_only ? Outcome(*resume, classes) : Outcome(*stage, *posterior, unseen);
  FitHooks second_hooks = hooks;
  if (hooks.checkpoint) {
    second_hooks.checkpoint = [&](const Checkpoint& checkpoint) {
      Checkpoint whole = checkpoint;
      outcome.write(whole);
      hooks.checkpoint(whole);
    };
  }
  bool refitted = plan.options.refit == Refit::yes && validated;
  if (refitted) {
    const Likelihood& likelihood = likelihood_of(plan.options);
    const bool compared = posterior != nullptr && !engine.kernels_only && likelihood.link == Link::identity;
    const auto wild = [&](const Stage& of) {
      return compared && is_wild(*posterior, likelihood, of.training(), plan.options.seed);
    };
    bool first_wild = false;
    if (stage != nullptr) {
      first_wild = wild(*stage);
      waiting = stage->waiting(), training = stage->seconds();
      first_remarks = stage->remarks();
      stage->release_rows();
    }
    auto second = std::make_unique<Stage>(table, plan, joined(plan.training, plan.validation), "refit", second_hooks);
    const std::shared_ptr<const FunctionPosterior> before = posterior;
    posterior = engine.fit(*second, {second_only ? resume : nullptr, stage.get(), &outcome});
    if (compared) {
      why_first = why_second_is_wrong(table, plan, {*before, stage->encoder(), first_wild},
                                      {*posterior, second->encoder(), wild(*second)}, outcome.mean);
    }
    if (why_first.empty()) {
      stage = std::move(second);
    } else {
      training += second->seconds() - stage->seconds(), waiting += second->waiting() - stage->waiting();
      posterior = before;
      refitted = false;
      stage->open_rows_again();
    }
  }

  result.model.encoder = stage->encoder();
  result.model.options = stage->model_options();
  result.model.posterior = posterior;
  result.model.raw_spread = stage->spread();
  result.model.likelihood = &likelihood_of(plan.options);
  FitReport& report = result.report;
  if (!classes) {
    result.model.centres = ick::to_vector(centres_of(*stage, *posterior));
    report.term_shares = shares_of_rows(given, plan, result.model);
  }
  if (classes) {
    finish_classes(plan, *stage, unseen, outcome, result);
  } else {
    finish(given, grown ? &*grown : nullptr, plan, hooks, *stage, refitted, unseen, outcome, result);
  }
  report.options = plan.options;
  if (report.options.inputs == NumberInputs::automatic) report.options.inputs = NumberInputs::standard;
  report.rows = table.rows;
  report.training_rows = count_of(plan.training);
  report.validation_rows = count_of(plan.validation);
  report.holdout_rows = count_of(plan.holdout);
  report.validation_split = print(*plan.options.validation);
  report.validation_reason = plan.validation_reason;
  report.holdout_split = print(plan.options.holdout);
  report.notes = stage->notes();
  report.polished = outcome.polished;
  if (first_remarks.empty()) first_remarks = stage->remarks();
  report.remarks.assign(first_remarks.begin(), first_remarks.end());
  if (!why_first.empty()) {
    report.remarks.push_back(
        "the model kept has not learned from validation rows: a second training, with them, was put "
        "aside, because " +
        why_first);
    report.options.refit = Refit::no;
  }
  if (!classes) {
    for (const Message& sentence : odd_things(table, plan, *stage, result)) report.remarks.push_back(sentence);
  }
  report.summary = summary_of_fit(given, result.model, plan);
  report.epochs = static_cast<std::int64_t>(outcome.epochs);
  report.best_epoch = static_cast<std::int64_t>(outcome.best_epoch);
  if (report.holdout_rows > 0) {
    const Dataset held = open_rows(table, result.model.encoder, plan.holdout, nullptr, plan.options.held_bytes);
    if (held.size() > 0 && result.model.likelihood->has_classes()) {
      report.class_holdout = result.model.class_scores_of(held);
    } else if (held.size() > 0) {
      report.holdout = result.model.scores_of(table, held);
    }
  }
  waiting += stage->waiting(), training += stage->seconds();
  report.seconds = watch.seconds();
  report.waiting = waiting / std::max(training, 1e-9);
  return result;
}

Fit fit_model(const Table& table, const std::string& formula, const FitOptions& options) {
  return fit_model(table, parse_formula(formula), options);
}

}  // namespace ick
