#include "cli/fit_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/data_options.h"
#include "cli/with_flags.h"
#include "ick/base/text.h"
#include "ick/baseline/predictor.h"
#include "ick/store/json.h"

namespace ick {

namespace {

std::string values_text(const ParameterValue& value) {
  std::string text;
  for (std::size_t i = 0; i < value.values.size(); ++i) {
    text += fmt::format("{}{:.4g}", i == 0 ? "" : ", ", value.values[i]);
    if (!value.lower.empty()) text += fmt::format(" ({:.3g} to {:.3g})", value.lower[i], value.upper[i]);
  }
  return (value.values.size() == 1 ? text : "[" + text + "]") + (value.unit.empty() ? "" : " " + value.unit) +
         (value.fixed     ? " (known)"
          : value.at_edge ? " (at the edge of its prior: the data say little of it, or the formula lacks something)"
                          : "");
}

std::string duration_text(double seconds) {
  if (seconds < 90.0) return fmt::format("{:.1f} s", seconds);
  return seconds < 5400.0 ? fmt::format("{:.0f} min", seconds / 60.0) : fmt::format("{:.1f} h", seconds / 3600.0);
}

constexpr double kLevel = 0.9;

// What the number stands for.
std::string dispersion_text(const Likelihood& likelihood) {
  const NoiseShape at_two = likelihood.noise(2.0);
  if (likelihood.target == TargetKind::proportion) return "variance over mean (1 - mean)";
  if (at_two.base > 0.0) return "variance = mean + dispersion mean^2";
  return at_two.slope == 2.0 ? "variance over mean; 1: Poisson" : "variance over mean^2";
}

// What intervals are made of, whatever the kind of the model.
struct Intervals {
  const Calibration& calibration;
  const Likelihood& likelihood;
  const Encoder& encoder;
};

// What an interval spans: so many standard deviations of the (transformed) target, or the quantiles of so many.
std::string interval_text(const Intervals& of_model, const std::string& parts) {
  const Calibration& calibration = of_model.calibration;
  const bool symmetric = of_model.likelihood.symmetric;
  const Transform& transform = *of_model.encoder.transform;
  const std::string of = transform.name.empty() ? "" : " of " + transformed(transform, of_model.encoder.target.name);
  const double width = calibration.half_width(kLevel);
  const std::string span =
      symmetric ? fmt::format("mean +- {:.3f} sd{}", width, of) : fmt::format("quantiles at +- {:.3f}", width);
  if (!calibration.knows(kLevel)) return span + ", " + uncalibrated_text(calibration, kLevel, false);
  const std::string rows = count_text(calibration.rows(), "validation row");
  const std::string on = !parts.empty() ? fmt::format("{} left out in turn, {} rows", parts, calibration.rows())
                         : calibration.blocks() > 0 ? count_text(calibration.blocks(), "block") + " of " + rows
                                                    : rows;
  return fmt::format("{}, calibrated on {} ({}: 1.645)", span, on, symmetric ? "Gaussian" : "uncalibrated");
}

nlohmann::json calibration_json(const Predictor& model) {
  const Calibration& calibration = model.interval_calibration();
  const bool classes = !model.classes().empty();
  nlohmann::json json = {{"rows", calibration.rows()}, {"blocks", calibration.blocks()}};
  for (const double level : {0.5, 0.8, 0.9, 0.95}) {
    const std::string name = number_text(level);
    json["basis"][name] = basis_name(calibration, level, classes);
    json[classes ? "least_probability" : "half_width"][name] =
        classes ? 1.0 - model.threshold(level) : calibration.half_width(level);
  }
  return json;
}

// Validation scores are of the model's own intervals.
const char* before_text(const Calibration& calibration) {
  switch (calibration.basis(kLevel)) {
    case Calibration::Basis::calibrated:
      return " before calibration";
    case Calibration::Basis::widened:
      return " before it was widened";
    case Calibration::Basis::own:
      break;
  }
  return "";
}

}  // namespace

std::string count_text(std::int64_t count, const std::string& word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string uncalibrated_text(const Calibration& calibration, double level, bool classes) {
  const bool widened = calibration.basis(level) == Calibration::Basis::widened;
  const std::string rows = calibration.blocks() > 0 ? count_text(calibration.blocks(), "block")
                                                    : count_text(calibration.rows(), "validation row");
  return fmt::format("{}: {} cannot calibrate {} of {}%, {} can",
                     classes   ? "of all classes"
                     : widened ? "wider than the model's own"
                               : "the model's own",
                     rows, classes ? "sets" : "an interval", number_text(100.0 * level), calibration.needed(level));
}

std::string basis_name(const Calibration& calibration, double level, bool classes) {
  const Calibration::Basis basis = calibration.basis(level);
  if (basis == Calibration::Basis::calibrated) return "calibrated";
  return classes ? "all classes" : basis == Calibration::Basis::widened ? "widened" : "own";
}

std::string scores_text(const Scores& s) {
  const auto found = s.coverage.find("0.9");
  return fmt::format("rmse {:.4g}, mae {:.4g}, R2 {:.3f}, nlpd {:.4g}, 90% interval covers {:.1f}%", s.rmse, s.mae,
                     s.r2, s.nlpd, found == s.coverage.end() ? NAN : 100.0 * found->second);
}

std::string scores_text(const ClassScores& s) {
  std::string text = fmt::format("accuracy {:.4f}, log loss {:.4g}, Brier {:.4g}, calibration error {:.4f}", s.accuracy,
                                 s.log_loss, s.brier, s.calibration_error);
  if (const auto found = s.coverage.find("0.9"); found != s.coverage.end()) {
    text += fmt::format(", 90% sets cover {:.1f}% with {:.2f} classes", 100.0 * found->second, s.set_size.at("0.9"));
  }
  return text;
}

void say_plan(const Table& table, const FitPlan& plan, ProgressWriter& progress) {
  std::string types;
  for (const Column& column : table.columns) {
    types += fmt::format("{}{} ({}{})", types.empty() ? "" : ", ", column.info.name, column_type_name(column.info.type),
                         column.missing > 0 ? fmt::format(", {} missing", column.missing) : "");
  }
  progress.say(fmt::format("{}: {}", count_text(table.rows, "row"), types));
  for (const std::string& sentence : sentences(plan.notes)) progress.say(sentence);
  const auto rows = [](const std::vector<bool>& mask) { return std::count(mask.begin(), mask.end(), true); };
  if (rows(plan.holdout) > 0) {
    progress.say(fmt::format("holdout: {} ({}), used for the final scores only", count_text(rows(plan.holdout), "row"),
                             print(plan.options.holdout)));
  }
  for (const Message& remark : plan.remarks) progress.say(with_flags(remark));
  progress.say(fmt::format("validation: {} ({}), {}", count_text(rows(plan.validation), "row"),
                           print(*plan.options.validation), plan.validation_reason));
  const FitOptions& o = plan.options;
  if (!o.model.empty() && baseline_named(o.model).learn != nullptr) {
    progress.say(fmt::format("baseline: {}", baseline_named(o.model).text));
    return;
  }
  for (const TermSpec& term : plan.spec.terms) {
    progress.say(fmt::format("term: {}, {}", print(term), count_text(term.features, "feature")));
  }
  for (const NetworkInputs& inputs : plan.encoder.networks) {
    if (!inputs.image) continue;
    const NetworkImages& images = *inputs.image;
    progress.say(fmt::format("images: {} of {} x {} pixels, others {}", count_text(images.shape.channels, "channel"),
                             images.shape.height, images.shape.width,
                             images.settings.fit == ImageSettings::Fit::crop ? "cropped" : "resized"));
  }
  if (o.optimiser == Optimiser::lbfgs) {
    progress.say("kernels only: parameters by L-BFGS on the marginal likelihood, weights in closed form");
  } else if (engine_named(o.posterior).draws) {
    progress.say(
        fmt::format("{} drawn from the {} posterior, in closed form", count_text(o.members, "member"), o.posterior));
  } else {
    progress.say(fmt::format("{}, batches of {}, {}, learning rate {:.4g}, at most {}", count_text(o.members, "member"),
                             o.batch, choice_name(o.optimiser), o.learning_rate, count_text(o.epochs, "epoch")));
  }
}

namespace {

void print_line(const std::string& name, const std::string& text) { fmt::print("  {:<40} {}\n", name, text); }

void print_sets(const Predictor& model) {
  const Calibration& calibration = model.interval_calibration();
  print_line("90% sets",
             calibration.knows(kLevel)
                 ? fmt::format("classes of probability {:.3f} or more, calibrated on {}", 1.0 - model.threshold(kLevel),
                               count_text(calibration.rows(), "validation row"))
                 : uncalibrated_text(calibration, kLevel, true));
}

// `of_rows`: the formula of a noise that differs from row to row, if it does.
void print_noise(double sd, const Encoder& encoder, const std::string& of_rows = "") {
  const std::string_view transform = encoder.transform->name;
  print_line("noise (sd)",
             fmt::format("{:.4g}{}{}", sd,
                         transform.empty() ? "" : fmt::format(" (of {}({}))", transform, encoder.target.name),
                         of_rows.empty() ? "" : " on average, of a row by sigma " + of_rows));
}

// What stands between the function and an observation.
void print_uncertainty(const CompositePredictor& model, const std::string& parts) {
  const Likelihood& likelihood = *model.likelihood;
  if (likelihood.has_classes()) {
    print_line("likelihood", fmt::format("{} of {} classes", likelihood.name, model.encoder.classes.size()));
    print_line("temperature", fmt::format("{:.3f} (1: probabilities as trained)", model.temperature));
    return print_sets(model);
  }
  print_line("likelihood", std::string(likelihood.name));
  if (likelihood.link != Link::identity) {
    print_line("dispersion", fmt::format("{:.4g} ({})", model.noise * model.noise, dispersion_text(likelihood)));
  } else {
    const std::string formula = model.noise_model == nullptr ? "" : model.noise_model->formula();
    const std::string of_rows = formula.empty() ? "" : formula.substr(formula.find('~'));
    print_noise(model.noise * model.encoder.target_scaling.sd, model.encoder, of_rows);
  }
  print_line("90% interval", interval_text({model.calibration, likelihood, model.encoder}, parts));
}

void print_baseline(const BaselinePredictor& model, const std::string& parts) {
  print_line("baseline", model.description());
  if (!model.classes().empty()) return print_sets(model);
  print_noise(model.noise_sd(), model.encoder);
  print_line("90% interval", interval_text({model.calibration, *model.likelihood, model.encoder}, parts));
}

nlohmann::json own_json(const CompositePredictor& model) {
  nlohmann::json out = {{"likelihood", model.likelihood->name},
                        {"parameters", model.model().trainable()},
                        {"kernels", to_json(model.parameters())},
                        {"posterior", model.posterior->engine().name}};
  if (model.likelihood->has_classes()) {
    out["temperature"] = model.temperature;
  } else {
    out["noise_sd"] = model.noise * model.encoder.target_scaling.sd;
  }
  return out;
}

nlohmann::json own_json(const BaselinePredictor& model) {
  nlohmann::json out = {
      {"likelihood", model.likelihood->name}, {"baseline", model.baseline->name}, {"description", model.description()}};
  if (model.classes().empty()) out["noise_sd"] = model.noise_sd();
  return out;
}

}  // namespace

nlohmann::json fit_json(const Predictor& model, const FitReport& report) {
  nlohmann::json out = to_json(report);
  if (report.class_validation) out["validation"] = out.at("class_validation");
  if (report.class_holdout) out["holdout"] = out.at("class_holdout");
  out.erase("class_validation");
  out.erase("class_holdout");
  if (!model.classes().empty()) out["classes"] = model.classes();
  out["schema"] = 1;
  out["formula"] = model.formula();
  const auto* const baseline = dynamic_cast<const BaselinePredictor*>(&model);
  const auto* const composite = dynamic_cast<const CompositePredictor*>(&model);
  if (baseline != nullptr) out.update(own_json(*baseline));
  if (composite != nullptr) out.update(own_json(*composite));
  out["calibration"] = calibration_json(model);
  return out;
}

void print_shares(const std::vector<TermShare>& shares, const Predictor& model) {
  if (shares.empty()) return;
  const bool lost = std::any_of(shares.begin(), shares.end(), [](auto& each) { return std::isfinite(each.rmse_lost); });
  fmt::print("share of the variance of {}{}\n", model.component_scale(),
             lost ? "; by how much the rmse of validation rows rises without it" : "");
  for (const TermShare& each : shares) {
    const std::string share = std::isfinite(each.share) ? fmt::format("{:.1f}%", 100.0 * each.share) : "-";
    std::string loss = std::isfinite(each.rmse_lost) ? fmt::format("{:+.3g}", each.rmse_lost) : "-";
    if (std::isfinite(each.rmse_lost_error)) loss += fmt::format(" +- {:.1g}", each.rmse_lost_error);
    fmt::print("  {:>7}  {}{}  {}\n", share, lost ? fmt::format("{:>17}  ", loss) : "", each.name.path, each.name.text);
  }
}

void print_model(const Predictor& model, const FitReport& report) {
  for (const ParameterValue& value : model.parameters()) print_line(value.path, values_text(value));
  if (const auto* const composite = dynamic_cast<const CompositePredictor*>(&model)) {
    print_uncertainty(*composite, report.calibrated_on);
  } else if (const auto* const baseline = dynamic_cast<const BaselinePredictor*>(&model)) {
    print_baseline(*baseline, report.calibrated_on);
  }
  const auto said = [](const std::string& name, const std::string& split, std::int64_t rows, const auto& scores,
                       const char* further = "") {
    if (scores) fmt::print("{} ({}, {}): {}{}\n", name, split, count_text(rows, "row"), scores_text(*scores), further);
  };
  if (report.validation) {  // whose rows the interval was then calibrated on
    said("validation", report.validation_split, report.validation->rows, report.validation,
         before_text(model.interval_calibration()));
  }
  if (report.holdout) said("holdout", report.holdout_split, report.holdout_rows, report.holdout);
  if (report.class_validation) {
    said("validation", report.validation_split, report.class_validation->rows, report.class_validation);
  }
  if (report.class_holdout) said("holdout", report.holdout_split, report.holdout_rows, report.class_holdout);
}

void print_fit(const PredictorFit& fit, const std::string& directory, bool json, ProgressWriter& progress) {
  const FitReport& report = fit.report;
  EncodingNotes notes = report.notes;
  notes.without_target = notes.with_gaps = 0;  // said with the plan
  for (const std::string& sentence : sentences(notes)) progress.say(sentence);
  if (json) {
    nlohmann::json out = fit_json(*fit.model, report);
    out["model"] = directory;
    fmt::print("{}\n", out.dump(2));
    return;
  }
  const auto* const composite = dynamic_cast<const CompositePredictor*>(fit.model.get());
  fmt::print("{}\n", fit.model->formula());
  print_model(*fit.model, report);
  for (const Message& sentence : report.remarks) fmt::print("{}\n", with_flags(sentence));
  if (report.options.refit == Refit::yes && report.validation_rows > 0) {
    const bool solved = composite != nullptr && !composite->posterior->engine().trains;
    const std::string epochs = composite == nullptr || solved
                                   ? ""
                                   : fmt::format(", to epoch {} of {}", report.best_epoch, report.options.epochs);
    fmt::print("The model kept was then {} on training and validation rows together{}.\n",
               solved ? "solved" : "trained", epochs);
  }
  if (report.waiting > 0.0) fmt::print("{:.1f}% of the time was spent waiting for images.\n", 100.0 * report.waiting);
  const std::string learned =
      composite == nullptr ? "" : fmt::format("{} numbers learned, ", composite->model().trainable());
  fmt::print("{}{}; written to {}\n", learned, duration_text(report.seconds), directory);
}

void print_estimate(const FitEstimate& e, bool json) {
  if (json) {
    nlohmann::json out = {{"schema", 1},
                          {"formula", print(e.plan.spec.formula)},
                          {"training_rows", e.training_rows},
                          {"validation_rows", e.validation_rows},
                          {"holdout_rows", e.holdout_rows},
                          {"features", e.features},
                          {"parameters", e.parameters},
                          {"bytes", e.bytes},
                          {"seconds_per_epoch", e.seconds_per_epoch},
                          {"seconds", e.seconds},
                          {"fold_seconds", e.fold_seconds},
                          {"left_out_seconds", e.left_out_seconds},
                          {"settings", to_json(e.plan.options)}};
    fmt::print("{}\n", out.dump(2));
    return;
  }
  fmt::print("{}\n", print(e.plan.spec.formula));
  fmt::print("  rows        {} to train, {} to validate ({}: {}), {} held out\n", e.training_rows, e.validation_rows,
             print(*e.plan.options.validation), e.plan.validation_reason, e.holdout_rows);
  if (e.features == 0) {  // a baseline that learns
    fmt::print("  baseline    {}; its memory and time are not estimated\n", e.plan.options.model);
    return;
  }
  if (e.plan.spec.trees) fmt::print("  trees       grown first; their memory and time are not estimated\n");
  fmt::print("  members     {}\n", e.plan.options.members);
  fmt::print("  features    {}\n", e.features);
  fmt::print("  parameters  {}\n", e.parameters);
  fmt::print("  memory      about {:.0f} MB beside the libraries\n", std::ceil(e.bytes / 1e6));
  fmt::print("  time        {} for an epoch, about {} in all\n", duration_text(e.seconds_per_epoch),
             duration_text(e.seconds));
  if (e.fold_seconds > 0.0) {
    fmt::print(
        "              of which {} if neighbours are tried beside the networks, for networks trained without a "
        "part of the rows\n",
        duration_text(e.fold_seconds));
  }
  if (e.left_out_seconds > 0.0) {
    fmt::print("              of which {} for intervals, from networks trained without parts of the rows\n",
               duration_text(e.left_out_seconds));
  }
}

}  // namespace ick
