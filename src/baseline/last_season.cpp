#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "baseline/kinds.h"
#include "baseline/season.h"

// The value one season before, of the same series: the least number of seasons back for which there is one.
namespace ick {

namespace {

// The values of one series, by time; rows of one time are one, their mean.
struct History {
  std::vector<double> times, values;

  // The value at the time nearest to t, not farther off than `tolerance`; not a number when there is none.
  double near(double t, double tolerance) const {
    const auto after = std::lower_bound(times.begin(), times.end(), t);
    double best = HUGE_VAL, value = NAN;
    for (auto each = after == times.begin() ? after : after - 1; each != times.end() && each <= after; ++each) {
      const double apart = std::abs(*each - t);
      if (apart <= tolerance && apart < best)
        best = apart, value = values[static_cast<std::size_t>(each - times.begin())];
    }
    return value;
  }
};

class LastSeasonRule : public BaselineRule {
 public:
  LastSeasonRule(std::map<std::int64_t, History> series, double period, double tolerance, double day, double mean)
      : series_(std::move(series)), period_(period), tolerance_(tolerance), day_(day), mean_(mean) {}

  // One season before t, two, ... back to the first row; where there is none, as many after it.
  double value(std::int64_t series, double t) const {
    const auto found = series_.find(series);
    if (found == series_.end()) return mean_;
    const History& history = found->second;
    const double first = history.times.front() - tolerance_, last = history.times.back() + tolerance_;
    double ago = std::max(1.0, std::ceil((t - last) / period_));
    for (; t - ago * period_ >= first; ago += 1.0) {
      if (const double known = history.near(t - ago * period_, tolerance_); !std::isnan(known)) return known;
    }
    for (double ahead = std::max(1.0, std::ceil((first - t) / period_)); t + ahead * period_ <= last; ahead += 1.0) {
      if (const double known = history.near(t + ahead * period_, tolerance_); !std::isnan(known)) return known;
    }
    return mean_;
  }

  at::Tensor at(const Dataset& rows) const override {
    const SeasonRows of(rows, /*learned=*/false);
    at::Tensor found = at::empty({rows.size()}, at::kDouble);
    for (std::size_t i = 0; i < of.times.size(); ++i) found.data_ptr<double>()[i] = value(of.series[i], of.times[i]);
    return found;
  }

  TensorState tensors() const override {
    std::vector<double> series, times, values;
    for (const auto& [code, history] : series_) {
      series.insert(series.end(), history.times.size(), static_cast<double>(code));
      times.insert(times.end(), history.times.begin(), history.times.end());
      values.insert(values.end(), history.values.begin(), history.values.end());
    }
    return {{"series", at::tensor(series, at::kDouble)},
            {"times", at::tensor(times, at::kDouble)},
            {"values", at::tensor(values, at::kDouble)},
            {"numbers", at::tensor({period_, tolerance_, day_, mean_}, at::kDouble)}};
  }
  std::string text() const override {
    return "the value one " + period_text(period_, day_) + " before" +
           (series_.size() > 1 ? " in the same series" : "");
  }
  double period() const override { return period_; }

 private:
  std::map<std::int64_t, History> series_;
  double period_, tolerance_, day_, mean_;
};

struct Learned {
  std::map<std::int64_t, History> series;
  double mean = 0.0;
};

Learned histories_of(const SeasonRows& rows) {
  std::map<std::pair<std::int64_t, double>, std::pair<double, double>> sums;  // weight, and of targets
  double weight = 0.0, total = 0.0;
  for (std::size_t i = 0; i < rows.y.size(); ++i) {
    weight += rows.weights[i], total += rows.weights[i] * rows.y[i];
    if (rows.series[i] < 0) continue;
    auto& [w, sum] = sums[{rows.series[i], rows.times[i]}];
    w += rows.weights[i], sum += rows.weights[i] * rows.y[i];
  }
  Learned learned;
  learned.mean = total / weight;
  for (const auto& [place, sum] : sums) {
    History& history = learned.series[place.first];
    history.times.push_back(place.second), history.values.push_back(sum.second / sum.first);
  }
  return learned;
}

// Of the seasons that times show, the one whose last value predicts the rows best, no nearer than what is to be forecast.
// Whole days where several rows share one, so that hours stay what they are; then 52 weeks are a year, too.
double choose_season(const SeasonRows& rows, const Learned& learned, const Rhythm& rhythm, double horizon) {
  constexpr std::size_t kMostRows = 5000;  // enough to compare a few seasons
  std::vector<double> periods = rhythm.periods;
  if (rhythm.day > 0.0 && rhythm.step < 0.75 * rhythm.day) {
    for (double& each : periods) each = std::max(1.0, std::round(each / rhythm.day)) * rhythm.day;
    if (std::abs(periods.back() - 365.0 * rhythm.day) < rhythm.day) periods.push_back(364.0 * rhythm.day);
  }
  double best = periods.front(), least = HUGE_VAL;
  const std::size_t stride = std::max<std::size_t>(1, rows.y.size() / kMostRows);
  for (const double period : periods) {
    const double lag = period * std::max(1.0, std::ceil(horizon / period - 1e-9));
    double error = 0.0, weight = 0.0;
    for (std::size_t i = 0; i < rows.y.size(); i += stride) {
      const auto found = learned.series.find(rows.series[i]);
      if (found == learned.series.end()) continue;
      double known = found->second.near(rows.times[i] - lag, 0.5 * rhythm.step);
      if (std::isnan(known)) known = learned.mean;
      error += rows.weights[i] * std::pow(rows.y[i] - known, 2), weight += rows.weights[i];
    }
    if (weight > 0.0 && error / weight < least) best = period, least = error / weight;
  }
  return best;
}

std::shared_ptr<const BaselineRule> learn_last_season(const BaselineTraining& training) {
  const SeasonRows rows(training.rows, /*learned=*/true);
  const Rhythm rhythm = rhythm_of(training.task, roles_of(training.task), kSeenOnce);
  Learned learned = histories_of(rows);
  const double period = training.chosen != nullptr ? training.chosen->period()
                                                   : choose_season(rows, learned, rhythm, training.task.horizon);
  return std::make_shared<LastSeasonRule>(std::move(learned.series), period, 0.5 * rhythm.step, rhythm.day,
                                          learned.mean);
}

std::shared_ptr<const BaselineRule> restore_last_season(const TensorState& tensors, const Encoder&) {
  const std::vector<double> numbers = kept_numbers(tensors, "numbers", 4), series = kept_numbers(tensors, "series");
  const std::vector<double> times = kept_numbers(tensors, "times", std::ssize(series));
  const std::vector<double> values = kept_numbers(tensors, "values", std::ssize(series));
  if (!(numbers[0] > 0.0)) refuse_kept("numbers");
  std::map<std::int64_t, History> all;
  for (std::size_t i = 0; i < series.size(); ++i) {
    History& history = all[static_cast<std::int64_t>(series[i])];
    if (!history.times.empty() && !(times[i] > history.times.back())) refuse_kept("times");
    history.times.push_back(times[i]), history.values.push_back(values[i]);
  }
  return std::make_shared<LastSeasonRule>(std::move(all), numbers[0], numbers[1], numbers[2], numbers[3]);
}

std::string why_not_last_season(const BaselineTask& task) {
  const BaselineRoles roles = roles_of(task);
  if (roles.time.empty()) return "the formula reads no time";
  if (!rhythm_of(task, roles, kSeenOnce).periods.empty()) return "";
  return "the times of column \"" + roles.time + "\" do not go beyond a day, week, year or period of the formula";
}

}  // namespace

Baseline last_season_baseline() {
  Baseline row;
  row.name = "last-season";
  row.text = "the value one day, week, year or period of the formula before, in each series";
  row.phrase = "the last season";
  row.why_not = why_not_last_season;
  row.read = read_seasons;
  row.learn = learn_last_season;
  row.restore = restore_last_season;
  return row;
}

}  // namespace ick
