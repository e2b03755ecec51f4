#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "baseline/kinds.h"
#include "baseline/season.h"

// The mean of the target by phase: hour of the day, day of the week, month of the year and their combinations, for each
// series where there are several.
namespace ick {

namespace {

// Parts of a period: a time t is in part floor(parts (t / period mod 1)).
struct Cycle {
  double period = 0.0, parts = 0.0;

  std::int64_t part(double t) const {
    const double turns = t / period, share = turns - std::floor(turns);
    constexpr double kSlack = 1e-9;  // a full hour is not exact as a share of a day
    return static_cast<std::int64_t>(std::floor(share * parts + kSlack)) % static_cast<std::int64_t>(parts);
  }
};

std::int64_t phase_of(const std::vector<Cycle>& cycles, double t) {
  std::int64_t phase = 0;
  for (const Cycle& cycle : cycles) phase = phase * static_cast<std::int64_t>(cycle.parts) + cycle.part(t);
  return phase;
}

std::int64_t phases_of(const std::vector<Cycle>& cycles) {
  double count = 1.0;
  for (const Cycle& cycle : cycles) count *= cycle.parts;
  return static_cast<std::int64_t>(count);
}

struct Sum {
  double weight = 0.0, total = 0.0;
  void add(double w, double y) { weight += w, total += w * y; }
};

// Cells of phases, of each series or of all together.
struct Phases {
  std::vector<Cycle> cycles;
  bool by_series = false;

  std::int64_t cell(const SeasonRows& rows, std::size_t i) const {
    const std::int64_t phase = phase_of(cycles, rows.times[i]);
    return by_series ? rows.series[i] * phases_of(cycles) + phase : phase;
  }
};

// Mean squared error of rows predicted by the means of their cells without the rows of their own turn of the longest
// period: as the next turn is predicted, and not as its neighbours in time say.
double error_without_own_turn(const SeasonRows& rows, const Phases& phases, double turn) {
  Sum all;
  std::unordered_map<std::int64_t, Sum> cells;
  std::unordered_map<std::int64_t, std::unordered_map<std::int64_t, Sum>> of_turn;
  const auto turn_of = [&](std::size_t i) { return static_cast<std::int64_t>(std::floor(rows.times[i] / turn)); };
  for (std::size_t i = 0; i < rows.y.size(); ++i) {
    const std::int64_t cell = phases.cell(rows, i);
    all.add(rows.weights[i], rows.y[i]);
    cells[cell].add(rows.weights[i], rows.y[i]);
    of_turn[turn_of(i)][cell].add(rows.weights[i], rows.y[i]);
  }
  double error = 0.0;
  for (std::size_t i = 0; i < rows.y.size(); ++i) {
    const std::int64_t cell = phases.cell(rows, i);
    const Sum& known = cells.at(cell);
    const Sum& own = of_turn.at(turn_of(i)).at(cell);
    const double weight = known.weight - own.weight;
    const bool others = weight > 1e-9 * known.weight;
    const double mean = others ? (known.total - own.total) / weight : all.total / all.weight;
    error += rows.weights[i] * std::pow(rows.y[i] - mean, 2);
  }
  return error / all.weight;
}

class SeasonalRule : public BaselineRule {
 public:
  SeasonalRule(Phases phases, double day, at::Tensor means, double mean)
      : phases_(std::move(phases)), day_(day), means_(std::move(means)), mean_(mean) {}

  at::Tensor at(const Dataset& rows) const override {
    const SeasonRows of(rows, /*learned=*/false);
    at::Tensor found = at::empty({rows.size()}, at::kDouble);
    const double* const means = means_.data_ptr<double>();
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      const std::int64_t cell = phases_.cell(of, static_cast<std::size_t>(i));
      const bool known = cell >= 0 && cell < means_.numel() && !std::isnan(means[cell]);
      found.data_ptr<double>()[i] = known ? means[cell] : mean_;
    }
    return found;
  }

  TensorState tensors() const override {
    std::vector<double> periods, parts;
    for (const Cycle& each : phases_.cycles) periods.push_back(each.period), parts.push_back(each.parts);
    return {{"periods", at::tensor(periods, at::kDouble)},
            {"parts", at::tensor(parts, at::kDouble)},
            {"means", means_},
            {"numbers", at::tensor({phases_.by_series ? 1.0 : 0.0, day_, mean_}, at::kDouble)}};
  }

  std::string text() const override {
    std::string text = "mean by ";
    for (std::size_t k = 0; k < phases_.cycles.size(); ++k) {
      const Cycle& cycle = phases_.cycles[k];
      const std::string period = period_text(cycle.period, day_);
      const std::string part = period == "day" && cycle.parts == 24.0   ? "hour"
                               : period == "week" && cycle.parts == 7.0 ? "day"
                               : cycle.parts == 12.0                    ? "twelfth"
                                                     : std::to_string(std::lround(cycle.parts)) + "th part";
      text += (k == 0 ? "" : " and ") + part + " of the " + period;
    }
    return text + (phases_.by_series ? ", each series by itself" : "");
  }
  double period() const override {
    double longest = 0.0;
    for (const Cycle& each : phases_.cycles) longest = std::max(longest, each.period);
    return longest;
  }
  const Phases& phases() const { return phases_; }

 private:
  Phases phases_;
  double day_;
  at::Tensor means_;  // of each cell, in float64; not a number where there was no row
  double mean_;
};

Cycle cycle_of(double period, const Rhythm& rhythm) {
  const std::string name = period_text(period, rhythm.day);
  const double wanted = name == "week" ? 7.0 : name == "year" ? 12.0 : 24.0;
  return {period, std::clamp(std::floor(period / rhythm.step + 1e-6), 1.0, wanted)};
}

Phases choose_phases(const SeasonRows& rows, const Rhythm& rhythm) {
  const std::size_t count = std::min<std::size_t>(rhythm.periods.size(), 4);
  const bool several = std::any_of(rows.series.begin(), rows.series.end(), [](std::int64_t each) { return each > 0; });
  Phases best;
  double least = HUGE_VAL;
  for (const bool by_series : {false, true}) {
    if (by_series && !several) continue;
    for (std::size_t some = 1; some < std::size_t{1} << count; ++some) {
      Phases phases{{}, by_series};
      for (std::size_t k = count; k-- > 0;) {
        if ((some >> k & 1) != 0) phases.cycles.push_back(cycle_of(rhythm.periods[k], rhythm));
      }
      const double error = error_without_own_turn(rows, phases, rhythm.periods[count - 1]);
      if (error < least) best = phases, least = error;
    }
  }
  return best;
}

std::shared_ptr<const BaselineRule> learn_seasonal(const BaselineTraining& training) {
  const SeasonRows rows(training.rows, /*learned=*/true);
  const Rhythm rhythm = rhythm_of(training.task, roles_of(training.task), kSeenTwice);
  const auto* const chosen = dynamic_cast<const SeasonalRule*>(training.chosen);
  const Phases phases = chosen != nullptr ? chosen->phases() : choose_phases(rows, rhythm);
  std::int64_t series = 1;
  for (const std::int64_t each : rows.series) series = std::max(series, each + 1);
  std::vector<Sum> cells(static_cast<std::size_t>(phases_of(phases.cycles) * (phases.by_series ? series : 1)));
  Sum all;
  for (std::size_t i = 0; i < rows.y.size(); ++i) {
    all.add(rows.weights[i], rows.y[i]);
    if (const std::int64_t cell = phases.cell(rows, i); cell >= 0) {
      cells[static_cast<std::size_t>(cell)].add(rows.weights[i], rows.y[i]);
    }
  }
  std::vector<double> means;
  for (const Sum& each : cells) means.push_back(each.weight > 0.0 ? each.total / each.weight : NAN);
  return std::make_shared<SeasonalRule>(phases, rhythm.day, at::tensor(means, at::kDouble), all.total / all.weight);
}

std::shared_ptr<const BaselineRule> restore_seasonal(const TensorState& tensors, const Encoder&) {
  const std::vector<double> periods = kept_numbers(tensors, "periods");
  const std::vector<double> parts = kept_numbers(tensors, "parts", std::ssize(periods));
  const std::vector<double> numbers = kept_numbers(tensors, "numbers", 3);
  Phases phases;
  for (std::size_t k = 0; k < periods.size(); ++k) {
    if (!(periods[k] > 0.0 && parts[k] >= 1.0)) refuse_kept("periods");
    phases.cycles.push_back({periods[k], parts[k]});
  }
  phases.by_series = numbers[0] != 0.0;
  return std::make_shared<SeasonalRule>(phases, numbers[1], kept_tensor(tensors, "means"), numbers[2]);
}

std::string why_not_seasonal(const BaselineTask& task) {
  const BaselineRoles roles = roles_of(task);
  if (roles.time.empty()) return "the formula reads no time";
  if (!rhythm_of(task, roles, kSeenTwice).periods.empty()) return "";
  return "the times of column \"" + roles.time + "\" show no day, week, year or period of the formula twice";
}

}  // namespace

Baseline seasonal_baseline() {
  Baseline row;
  row.name = "seasonal";
  row.text = "the mean by hour of the day, day of the week and twelfth of the year, as times allow";
  row.phrase = "the seasonal mean";
  row.usual = [](const BaselineTask&) { return true; };
  row.why_not = why_not_seasonal;
  row.read = read_seasons;
  row.learn = learn_seasonal;
  row.restore = restore_seasonal;
  return row;
}

}  // namespace ick
