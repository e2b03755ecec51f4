#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "dataset/row_columns.h"
#include "fit/choices.h"
#include "fit/noise.h"
#include "ick/base/error.h"
#include "ick/base/memory.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "ick/base/unit.h"
#include "ick/fit/fit.h"
#include "ick/kernel/table.h"
#include "ick/table/place_names.h"
#include "inference/left_out.h"
#include "model/named_columns.h"
#include "train/roles.h"

namespace ick {

namespace {

// By which rows can be ordered: a number in each of them, and not a few numbers only.
bool orders(const Column& column, const std::vector<bool>& rows) {
  constexpr std::size_t kFewest = 10;
  if (column.values.empty() || column.info.type == ColumnType::category) return false;
  std::set<double> seen;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i]) continue;
    if (std::isnan(column.values[static_cast<std::int64_t>(i)])) return false;
    if (seen.size() < kFewest) seen.insert(column.values[static_cast<std::int64_t>(i)]);
  }
  return seen.size() >= kFewest;
}

// Its correlation goes to nothing with the distance.
bool forgets(const KernelSpec& kernel) {
  const KernelRow& row = find_kernel(kernel.name, kernel.sphere, kernel.position);
  return row.spectrum == Spectrum::gaussian || row.spectrum == Spectrum::student ||
         row.spectrum == Spectrum::gamma_mixture;
}

// Columns of times and places: those that kernels of the formula read, or else the table's own. What a formula leaves out
// is there all the same: two formulas for one table are judged by the same rows. A kernel on hour(t) is a season of t.
struct TimesAndPlaces {
  std::string time;
  std::vector<std::string> places;
  bool kernel_on_time = false, kernel_on_places = false;
  bool reaches_ahead = false;  // a kernel on time that does not forget: a season, a line

  TimesAndPlaces(const ModelSpec& spec, const Table& table, const FitOptions& options, const std::vector<bool>& rows) {
    each_kernel(spec, [&](const KernelSpec& kernel) {
      for (const std::string& read : kernel.columns) {
        const DerivedColumn* const derived = find_derived(spec.derived, read);
        const std::string behind = time_behind(spec.derived, read), name = behind.empty() ? read : behind;
        if (derived != nullptr && behind.empty()) continue;
        if (time.empty() && measures_time(table.column(name), options)) time = name;
        const bool season = derived != nullptr && derived->function != "elapsed";
        if (name == time) reaches_ahead = reaches_ahead || season || !forgets(kernel);
        if ((kernel.sphere || runs_north(name) || runs_east(name)) && !contains(places, name)) places.push_back(name);
      }
    });
    kernel_on_time = !time.empty(), kernel_on_places = places.size() >= 2;
    std::string south_to_north, west_to_east;
    for (const Column& column : table.columns) {
      const std::string& name = column.info.name;
      if (name == spec.formula.target || !orders(column, rows)) continue;
      if (time.empty() && measures_time(column, options)) time = name;
      if (south_to_north.empty() && runs_north(name)) south_to_north = name;
      if (west_to_east.empty() && runs_east(name)) west_to_east = name;
    }
    if (kernel_on_places) return;
    places.clear();
    if (!south_to_north.empty() && !west_to_east.empty()) places = {south_to_north, west_to_east};
  }
};

bool repeats(std::vector<std::int64_t> images) {
  std::erase_if(images, [](std::int64_t each) { return each < 0; });
  std::sort(images.begin(), images.end());
  return std::adjacent_find(images.begin(), images.end()) != images.end();
}

// Rows held out by a condition that lie in time among the others, as rows drawn one by one do: nearly all have a row of
// the others as near as these have each other. Then this is how the model will be used.
bool held_among_others(const Table& table, const std::string& time, const std::vector<bool>& held,
                       const std::vector<bool>& others) {
  constexpr double kNearlyAll = 0.95;
  const Numbers& times = table.column(time).values;
  std::vector<double> known;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (others[i] && !std::isnan(times[i])) known.push_back(times[i]);
  }
  std::sort(known.begin(), known.end());
  std::vector<double> instants = known;
  instants.erase(std::unique(instants.begin(), instants.end()), instants.end());
  if (instants.size() < 3) return false;
  std::vector<double> steps;
  for (std::size_t i = 1; i < instants.size(); ++i) steps.push_back(instants[i] - instants[i - 1]);
  std::nth_element(steps.begin(), steps.begin() + std::ssize(steps) / 2, steps.end());
  const double step = steps[steps.size() / 2];
  double near = 0.0, all = 0.0;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (!held[i] || std::isnan(times[i])) continue;
    const auto after = std::lower_bound(known.begin(), known.end(), times[i]);
    const bool within = times[i] >= known.front() && times[i] <= known.back();
    const bool close = (after != known.end() && *after - times[i] <= step) ||
                       (after != known.begin() && times[i] - *(after - 1) <= step);
    all += 1.0, near += within && close ? 1.0 : 0.0;
  }
  return all > 0.0 && near >= kNearlyAll * all;
}

// Rows near each other in time or space resemble each other: drawn one by one, validation rows would be known already.
Split choose_validation(const ModelSpec& spec, const Table& table, const FitOptions& options, double share,
                        const std::vector<bool>& held, const std::vector<bool>& others, std::string& reason) {
  const Split& holdout = options.holdout;
  Split split;
  split.share = share;
  if (holdout.kind != Split::Kind::none && holdout.kind != Split::Kind::condition) {
    split.kind = holdout.kind;
    split.columns = holdout.columns;
    reason = "in the same way as the holdout";
    return split;
  }
  const TimesAndPlaces found(spec, table, options, others);
  const std::string& time = found.time;
  const bool kernel = found.kernel_on_time || found.kernel_on_places;
  for (const TermSpec& term : spec.terms) {
    for (const NetworkSpec& network : term.networks) {
      const std::optional<ImageSettings>& image = network.inputs.image;
      if (kernel || !image || image->raster.empty()) continue;
      split.kind = Split::Kind::block;
      split.columns = image->columns;
      reason = "blocked in space, because patches of neighbouring rows overlap";
      return split;
    }
  }
  if (!kernel && table.images != nullptr) {
    for (const TermSpec& term : spec.terms) {
      for (const NetworkSpec& network : term.networks) {
        const std::optional<ImageSettings>& image = network.inputs.image;
        if (!image || !repeats(table.images->find(table, *image))) continue;
        split.kind = Split::Kind::group;
        split.columns = image->columns;
        reason = "whole images, because rows share them";
        return split;
      }
    }
  }
  // What forgets cannot be for the future: beside places it is for other places, on the days that there are.
  const bool elsewhere = spec.kernels_only() && found.kernel_on_time && found.kernel_on_places &&
                         !found.reaches_ahead && holdout.kind == Split::Kind::none;
  const bool by_time = !elsewhere && (found.kernel_on_time || (!found.kernel_on_places && !time.empty()));
  if (by_time && held_among_others(table, time, held, others)) {
    split.kind = Split::Kind::random;
    reason = "drawn at random, because the rows held out lie in time among the others";
  } else if (by_time) {
    split.kind = Split::Kind::last;
    split.columns = {time};
    reason = "blocked in time, because the " +
             (found.kernel_on_time ? std::string("formula has a kernel on time") : "table has times, \"" + time + "\"");
  } else if (found.places.size() >= 2) {
    split.kind = Split::Kind::block;
    split.columns = found.places;
    reason = elsewhere ? "blocked in space, because the formula has a kernel on place, and nothing in it that reaches "
                         "into the future"
             : found.kernel_on_places ? "blocked in space, because the formula has a kernel on place"
                                      : "blocked in space, because the table has places, " + join_words(found.places);
  } else {
    split.kind = Split::Kind::random;
    reason = "drawn at random, because neither the formula nor the table has times or places";
  }
  return split;
}

void take(std::vector<bool>& from, const std::vector<bool>& taken) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = from[i] && !taken[i];
}

// Rows of `use` that are set apart, drawn among all rows with a target: two formulas that can use different rows of a
// table are judged by the same. A row that the formula cannot use need not have what the split goes by. Where nothing,
// or all, of `use` would be set apart, it is drawn from `use` alone.
std::vector<bool> set_apart(const Table& table, const Split& split, std::uint64_t seed, std::vector<bool> with_target,
                            const std::vector<bool>& use) {
  std::vector<std::string> names = split.columns;
  if (split.kind == Split::Kind::last) names = {time_column_of(table, split)};
  for (const std::string& name : names) {
    const Column* const column = table.find(name);  // one that is absent is refused below
    for (std::size_t i = 0; column != nullptr && i < column->values.size(); ++i) {
      if (!use[i] && std::isnan(column->values[i])) with_target[i] = false;
    }
  }
  std::vector<bool> apart = held_out(table, split, seed, with_target);
  for (std::size_t i = 0; i < apart.size(); ++i) apart[i] = apart[i] && use[i];
  const std::int64_t rows = count_of(apart);
  return split.kind == Split::Kind::none || (rows > 0 && rows < count_of(use)) ? apart
                                                                               : held_out(table, split, seed, use);
}

// categorical(), and a model of classes, know the levels of training rows only. A validation row with another one is a
// training row, then; a holdout row cannot be helped.
void keep_levels(const Table& table, const std::vector<std::string>& columns, FitPlan& plan) {
  for (const std::string& name : columns) {
    const Column& column = table.column(name);
    if (column.info.type == ColumnType::text) continue;  // refused elsewhere
    std::set<double> seen;
    for (std::int64_t i = 0; i < table.rows; ++i) {
      if (plan.training[i] && !std::isnan(column.values[i])) seen.insert(column.values[i]);
    }
    for (std::int64_t i = 0; i < table.rows; ++i) {
      if (std::isnan(column.values[i]) || seen.contains(column.values[i])) continue;
      if (plan.holdout[i]) {
        throw DataError("column \"" + name + "\": row " + std::to_string(i + 1) +
                        " is held out and has a level that no training row has; " +
                        (name == plan.spec.formula.target ? "no model can predict a class it has not seen"
                                                          : "categorical() cannot predict it") +
                        ", choose another " + setting("holdout"));
      }
      if (!plan.validation[i]) continue;
      plan.validation[i] = false;
      plan.training[i] = true;
    }
  }
}

// The first column of a place is its latitude.
void check_places(const ModelSpec& spec, const Table& table, const std::vector<bool>& use) {
  each_kernel(spec, [&](const KernelSpec& kernel) {
    if (!kernel.sphere || kernel.columns.empty()) return;
    const Column& column = table.column(kernel.columns[0]);
    if (column.info.type == ColumnType::text || column.info.type == ColumnType::category) return;
    for (std::int64_t i = 0; i < table.rows; ++i) {
      if (!use[i] || !(std::abs(column.values[i]) > 90.0)) continue;
      throw DataError("column \"" + column.info.name + "\": row " + std::to_string(i + 1) + " has " +
                      number_text(column.values[i]) +
                      ", which is not a latitude; on the sphere write latitude first, as in " + kernel.name +
                      "(lat, lon, sphere)");
    }
  });
}

}  // namespace

std::vector<std::string> level_columns(const Formula& formula) {
  std::vector<std::string> names;
  for (const Call* call : calls_of(formula.right)) {
    if (!reads_levels(call->name)) continue;
    for (const std::string& name : call->columns) {  // what is computed is a number
      if (find_derived(call->derived, name) == nullptr) add_new(names, std::span(&name, 1));
    }
  }
  return names;
}

std::vector<std::string> image_columns(const Formula& formula) {
  std::vector<std::string> names;
  for (const Call* call : calls_of(formula.right)) {
    if (find_network(call->name) == nullptr) continue;
    const std::optional<ImageSettings> image = make_network_spec(*call).inputs.image;
    if (image && image->idx.empty() && image->raster.empty()) add_new(names, image->columns);
  }
  return names;
}

namespace {

// A formula of the noise is fitted after everything else; what is wrong with it is said before. Its kernels need their
// columns as the others do.
std::vector<bool> rows_with_noise(const Table& table, const std::string& target, const FitOptions& options,
                                  const std::vector<bool>& usable) {
  const std::string place = setting("noise_formula") + ": ";
  if (options.noise > 0.0)
    throw UsageError(setting("noise") + " and " + setting("noise_formula") +
                     " both say what the noise is; leave one out");
  try {
    const ModelSpec spec = parse_noise_formula(table, target, options);
    return readable_rows(table, encoder_plan(spec, options), usable);
  } catch (const UsageError& error) {
    throw UsageError(place + error.message().marked());
  } catch (const DataError& error) {
    throw DataError(place + error.message().marked());
  }
}

void check_noise_rows(const FitPlan& plan) {
  constexpr std::int64_t kFewest = 100;
  const std::int64_t rows = count_of(plan.validation);
  if (plan.options.noise_formula.empty() || rows >= kFewest) return;
  throw DataError(setting("noise_formula") + ": a formula of the noise needs at least " + std::to_string(kFewest) +
                  " validation rows, half of them to learn from, and there are " + std::to_string(rows) +
                  "; set more apart with " + setting("validation"));
}

void check_noise(const FitPlan& plan) {
  constexpr double kLeast = 1e-4, kMost = 1e3;
  const double noise = plan.options.noise, sd = plan.encoder.target_scaling.sd;
  if (noise == 0.0 || (noise >= kLeast * sd && noise <= kMost * sd)) return;
  throw UsageError(setting("noise", number_text(noise)) + " does not go with a target whose standard deviation is " +
                   number_text(sd) + "; expected between " + number_text(kLeast * sd) + " and " +
                   number_text(kMost * sd));
}

// What is wrong with it is said before the work.
void check_horizon(const Table& table, FitPlan& plan) {
  if (plan.options.horizon.empty()) return;
  const Split& split = *plan.options.validation;
  if (split.kind == Split::Kind::last) {
    horizon_of(table, plan, time_column_of(table, split));
  } else {
    plan.remarks.push_back(setting("horizon", plan.options.horizon) +
                           " has no effect: validation rows are not set apart by time");
  }
}

void say_constant_columns(const Table& table, FitPlan& plan) {
  std::set<std::string> names(plan.spec.kernel_columns.begin(), plan.spec.kernel_columns.end());
  names.insert(plan.spec.network_columns.begin(), plan.spec.network_columns.end());
  if (plan.spec.trees) names.insert(plan.spec.trees->columns.begin(), plan.spec.trees->columns.end());
  for (const std::string& name : names) {
    const Numbers& values = table.column(name).values;
    if (values.empty()) continue;  // names of files
    std::set<double> seen;
    for (std::size_t i = 0; i < values.size() && seen.size() < 2; ++i) {
      if (plan.training[i] && !std::isnan(values[i])) seen.insert(values[i]);
    }
    if (seen.size() > 1) continue;
    plan.remarks.push_back("column \"" + name + "\" has one value in all training rows: nothing is learned from it");
  }
}

}  // namespace

FitPlan plan_rows(const Table& given, const Formula& formula, const FitOptions& options) {
  FitPlan plan;
  std::vector<std::string> left_out;
  plan.spec = make_spec(formula, columns_for(formula, given, options, &left_out), not_numbers(given));
  plan.options = options;
  find_derived_settings(given, plan.spec.derived);
  std::optional<Table> made;
  const Table& table = with_derived(given, plan.spec.derived, made);
  if (plan.spec.trees) {
    for (const std::string& name : plan.spec.trees->columns) refuse_text(table.column(name), "a tree");
  }
  std::vector<bool> usable = rows_with_value(table, formula.target);
  if (count_of(usable) == 0 && table.column(formula.target).info.type != ColumnType::category) {
    throw DataError("no row has a value of the target, column \"" + formula.target + "\"");
  }
  choose_likelihood(table, formula, usable, plan);
  plan.notes.without_target = table.rows - count_of(usable);
  std::vector<bool> with_target = usable;
  usable = readable_rows(table, encoder_plan(plan.spec, plan.options), usable);
  if (!options.noise_formula.empty()) usable = rows_with_noise(given, formula.target, options, usable);
  plan.notes.with_gaps = count_of(with_target) - count_of(usable);
  check_row_columns(table, encoder_plan(plan.spec, plan.options), usable);
  check_places(plan.spec, table, usable);
  plan.holdout = set_apart(table, options.holdout, seed_for(options.seed, "holdout"), with_target, usable);
  plan.training = usable;
  take(plan.training, plan.holdout);
  start_elapsed(given, plan.training, plan.spec.derived);
  take(with_target, plan.holdout);
  const std::int64_t rows = count_of(plan.training);
  const double share = usual_validation_share(rows);
  if (options.validation) {
    plan.validation_reason = "as asked";
  } else if (share == 0.0) {
    plan.options.validation = Split{};
    plan.validation_reason = "too few rows to spare any";
  } else {
    plan.options.validation =
        choose_validation(plan.spec, table, options, share, plan.holdout, plan.training, plan.validation_reason);
  }
  plan.validation =
      set_apart(table, *plan.options.validation, seed_for(options.seed, "validation"), with_target, plan.training);
  check_horizon(table, plan);
  take(plan.training, plan.validation);
  std::vector<std::string> leveled = plan.spec.level_columns;
  if (likelihood_of(plan.options).has_classes()) leveled.push_back(formula.target);
  keep_levels(table, leveled, plan);
  if (!left_out.empty()) {
    plan.remarks.push_back("\".\" leaves out " + join_words(left_out) +
                           ", by which rows are set apart; a column that the formula names is read all the same");
  }
  if (!plan.spec.left_out.empty()) {
    plan.remarks.push_back("\".\" of a kernel stands for numbers and leaves out " + join_words(plan.spec.left_out));
  }
  return plan;
}

FitPlan plan_fit(const Table& given, const Formula& formula, const FitOptions& options) {
  FitPlan plan = plan_rows(given, formula, options);
  std::optional<Table> made;
  const Table& table = with_derived(given, plan.spec.derived, made);
  check_noise_rows(plan);
  plan.encoder = fit_encoder(table, encoder_plan(plan.spec, plan.options), plan.training);
  choose_features(plan.spec, count_of(plan.training));
  limit_features(plan.spec, plan.encoder);
  choose_options(plan.spec, count_of(plan.training), plan);
  check_noise(plan);
  if (count_of(plan.validation) == 0) {
    const bool known = !engine_named(plan.options.posterior).trains || plan.options.noise > 0.0;
    plan.remarks.push_back(likelihood_of(plan.options).has_classes() ? "no validation rows: sets hold all classes"
                           : known ? "no validation rows: intervals are the model's own"
                                   : "no validation rows: the noise comes from rows the model has learned from and is "
                                     "too small, and intervals, which are the model's own, are too narrow");
  }
  say_constant_columns(table, plan);
  const double free = free_bytes();
  choose_for_memory(plan, free);
  check_memory(plan, free);
  return plan;
}

}  // namespace ick
