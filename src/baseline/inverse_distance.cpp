#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>

#include "baseline/kinds.h"
#include "baseline/roles.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "ick/base/unit.h"
#include "neighbour/index.h"

// A mean of the nearest places, weighted by their distances (Shepard 1968):
//   sum_i d_i^-power y_i / sum_i d_i^-power
// Of rows of the same instant (or day) where there are such, else of what places had over all times.
namespace ick {

namespace {

constexpr std::int64_t kMostNeighbours = 32;
constexpr std::array<double, 4> kPowers = {1.0, 2.0, 3.0, 4.0};
constexpr std::array<std::int64_t, 4> kNeighbours = {4, 8, 16, kMostNeighbours};

// How times are told apart: whole units of `grain`; 0: times are not looked at.
struct Grain {
  double length = 0.0;
  bool exact = false;  // instants as they are
  bool used() const { return exact || length > 0.0; }
  double operator()(double t) const { return exact ? t : std::floor(t / length); }
};

// Instants where at least two rows share one on average, else days.
Grain grain_of(const BaselineTask& task, const BaselineRoles& roles) {
  if (roles.time.empty()) return {};
  const Numbers& values = task.table.column(roles.time).values;
  const double day = convert(1.0, "d", roles.time_unit).value_or(0.0);
  for (const Grain& grain : {Grain{0.0, true}, Grain{day, false}}) {
    if (!grain.used()) continue;
    std::vector<double> keys;
    for (std::int64_t i = 0; i < task.table.rows; ++i) {
      if (task.plan.training[i] && !std::isnan(values[i])) keys.push_back(grain(values[i]));
    }
    std::sort(keys.begin(), keys.end());
    const auto distinct = std::unique(keys.begin(), keys.end()) - keys.begin();
    if (std::ssize(keys) >= 2 * distinct) return grain;
  }
  return {};
}

using Point = std::array<double, 3>;

// Of a row of x; on the unit sphere where its first two columns are latitude and longitude.
Point point_of(const double* x, std::int64_t size, bool sphere) {
  if (!sphere) {
    Point point{};
    std::copy_n(x, size, point.begin());
    return point;
  }
  const double lat = x[0] * std::numbers::pi / 180.0, lon = x[1] * std::numbers::pi / 180.0;
  return {std::cos(lat) * std::cos(lon), std::cos(lat) * std::sin(lon), std::sin(lat)};
}

double squared_distance(const Point& a, const Point& b) {
  double sum = 0.0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
  return sum;
}

struct Weighting {
  double power = 2.0;
  std::int64_t count = kMostNeighbours;  // of neighbours
};

struct Near {
  double squared = 0.0, value = 0.0;
};

// `near` with the nearest first. Relative to the nearest distance, so that no weight is out of range.
double interpolated(const std::vector<Near>& near, double power, std::int64_t count, double otherwise) {
  if (near.empty()) return otherwise;
  double sum = 0.0, weights = 0.0;
  for (std::size_t i = 0; i < near.size() && static_cast<std::int64_t>(i) < count; ++i) {
    const double first = near[0].squared;
    if (first == 0.0 && near[i].squared > 0.0) break;  // the place itself
    const double weight = first == 0.0 ? 1.0 : std::pow(near[i].squared / first, -0.5 * power);
    sum += weight * near[i].value, weights += weight;
  }
  return sum / weights;
}

// What is known: a value at each distinct place, and, of each instant, at places.
struct Places {
  std::int64_t size = 0;  // columns of a place
  bool sphere = false;
  Grain grain;
  std::vector<double> at, means;                                 // (P, size) and (P)
  std::vector<double> keys, values;                              // of each row with a time: its instant, its value
  std::vector<std::int64_t> places;                              // and its place
  std::map<double, std::pair<std::size_t, std::size_t>> groups;  // rows of an instant: from, to
  std::vector<Point> points;
  Coordinates coordinates;
  std::unique_ptr<NeighbourIndex> index;
  double mean = 0.0;

  void make_index() {
    coordinates.size = 3;
    for (std::size_t p = 0; p < means.size(); ++p) {
      points.push_back(point_of(at.data() + p * static_cast<std::size_t>(size), size, sphere));
      coordinates.at.insert(coordinates.at.end(), points.back().begin(), points.back().end());
    }
    index = std::make_unique<NeighbourIndex>(coordinates, std::ssize(means));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      groups.try_emplace(keys[i], i, i).first->second.second = i + 1;
    }
  }

  // The nearest of the same instant, or else of all; none of place `but`.
  std::vector<Near> near(const Point& point, double time, std::int64_t but = -1) const {
    std::vector<Near> found;
    if (grain.used()) {
      if (const auto group = groups.find(grain(time)); group != groups.end()) {
        for (std::size_t i = group->second.first; i < group->second.second; ++i) {
          const auto place = static_cast<std::size_t>(places[i]);
          if (places[i] != but) found.push_back({squared_distance(point, points[place]), values[i]});
        }
      }
    }
    if (found.empty()) {
      for (const std::int64_t place : index->nearest(point.data(), kMostNeighbours + (but >= 0 ? 1 : 0))) {
        const auto p = static_cast<std::size_t>(place);
        if (place != but) found.push_back({squared_distance(point, points[p]), means[p]});
      }
    }
    const auto most = std::min<std::ptrdiff_t>(std::ssize(found), kMostNeighbours);
    std::partial_sort(found.begin(), found.begin() + most, found.end(),
                      [](const Near& a, const Near& b) { return a.squared < b.squared; });
    found.resize(static_cast<std::size_t>(most));
    return found;
  }
};

class InverseDistanceRule : public BaselineRule {
 public:
  InverseDistanceRule(std::shared_ptr<const Places> known, Weighting weighting)
      : shared_(std::move(known)), known_(*shared_), power_(weighting.power), count_(weighting.count) {}

  at::Tensor at(const Dataset& rows) const override {
    const at::Tensor x = rows.x.contiguous();
    at::Tensor found = at::empty({rows.size()}, at::kDouble);
    const double* of_row = x.data_ptr<double>();
    for (std::int64_t i = 0; i < rows.size(); ++i, of_row += x.size(1)) {
      const double time = known_.grain.used() ? of_row[known_.size] : 0.0;
      const std::vector<Near> near = known_.near(point_of(of_row, known_.size, known_.sphere), time);
      found.data_ptr<double>()[i] = interpolated(near, power_, count_, known_.mean);
    }
    return found;
  }

  TensorState tensors() const override {
    const std::vector<double> numbers = {power_,
                                         static_cast<double>(count_),
                                         static_cast<double>(known_.size),
                                         known_.sphere ? 1.0 : 0.0,
                                         known_.grain.length,
                                         known_.grain.exact ? 1.0 : 0.0,
                                         known_.mean};
    return {{"numbers", at::tensor(numbers, at::kDouble)},      {"at", at::tensor(known_.at, at::kDouble)},
            {"means", at::tensor(known_.means, at::kDouble)},   {"keys", at::tensor(known_.keys, at::kDouble)},
            {"values", at::tensor(known_.values, at::kDouble)}, {"places", at::tensor(known_.places, at::kLong)}};
  }
  std::string text() const override {
    return std::to_string(count_) + " nearest places, power " + number_text(power_) +
           (!known_.grain.used() ? ""
            : known_.grain.exact ? ", of the same time"
                                 : ", of the same day");
  }
  Weighting weighting() const { return {power_, count_}; }

 private:
  std::shared_ptr<const Places> shared_;
  const Places& known_;
  double power_;
  std::int64_t count_;
};

// Rows of one place, and of one place and instant, are one: their mean.
std::shared_ptr<const Places> places_of(const Dataset& rows, const BaselineRoles& roles, const Grain& grain) {
  const auto made = std::make_shared<Places>();
  Places& known = *made;
  known.size = std::ssize(roles.places), known.sphere = roles.sphere, known.grain = grain;
  const at::Tensor x = rows.x.contiguous();
  const std::vector<double> y = numbers_of(rows.targets()), w = numbers_of(weights_or_one(rows));
  struct Average {
    double weight = 0.0, total = 0.0;
    double mean() const { return total / weight; }
  };
  Average all;
  std::map<std::vector<double>, std::int64_t> number;
  std::vector<Average> of_place;
  std::map<std::pair<double, std::int64_t>, Average> of_time;
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const double* const of_row = x.data_ptr<double>() + i * x.size(1);
    const std::vector<double> at(of_row, of_row + known.size);
    const auto [found, added] = number.try_emplace(at, std::ssize(of_place));
    if (added) {
      of_place.emplace_back();
      known.at.insert(known.at.end(), at.begin(), at.end());
    }
    const auto row = static_cast<std::size_t>(i);
    const auto add = [&](Average& sum) { sum.weight += w[row], sum.total += w[row] * y[row]; };
    add(all), add(of_place[static_cast<std::size_t>(found->second)]);
    if (grain.used()) add(of_time[{grain(of_row[known.size]), found->second}]);
  }
  known.mean = all.mean();
  for (const Average& each : of_place) known.means.push_back(each.mean());
  for (const auto& [key, sum] : of_time) {
    known.keys.push_back(key.first), known.places.push_back(key.second), known.values.push_back(sum.mean());
  }
  known.make_index();
  return made;
}

// Power and neighbours that predict some rows best, each without what its place has.
Weighting choose_weighting(const Dataset& rows, const Places& known, std::uint64_t seed) {
  constexpr std::int64_t kRows = 1000;
  const at::Tensor drawn = draw_rows(rows.size(), kRows, seed_for(seed, "inverse distance"));
  const at::Tensor x = rows.x.contiguous();
  const std::vector<double> y = numbers_of(rows.targets()), w = numbers_of(weights_or_one(rows));
  std::map<std::vector<double>, std::int64_t> number;
  const auto size = static_cast<std::size_t>(known.size);
  for (std::size_t p = 0; p < known.means.size(); ++p) {
    const auto from = known.at.begin() + static_cast<std::ptrdiff_t>(p * size);
    number.emplace(std::vector<double>(from, from + known.size), static_cast<std::int64_t>(p));
  }
  std::array<std::array<double, kNeighbours.size()>, kPowers.size()> errors{};
  for (std::int64_t i = 0; i < drawn.size(0); ++i) {
    const std::int64_t row = drawn.data_ptr<std::int64_t>()[i];
    const double* const of_row = x.data_ptr<double>() + row * x.size(1);
    const std::int64_t own = number.at(std::vector<double>(of_row, of_row + known.size));
    const double time = known.grain.used() ? of_row[known.size] : 0.0;
    const std::vector<Near> near = known.near(point_of(of_row, known.size, known.sphere), time, own);
    for (std::size_t a = 0; a < kPowers.size(); ++a) {
      for (std::size_t b = 0; b < kNeighbours.size(); ++b) {
        const double error =
            y[static_cast<std::size_t>(row)] - interpolated(near, kPowers[a], kNeighbours[b], known.mean);
        errors[a][b] += w[static_cast<std::size_t>(row)] * error * error;
      }
    }
  }
  std::size_t best_a = 0, best_b = 0;
  for (std::size_t a = 0; a < kPowers.size(); ++a) {
    for (std::size_t b = 0; b < kNeighbours.size(); ++b) {
      if (errors[a][b] < errors[best_a][best_b]) best_a = a, best_b = b;
    }
  }
  return {kPowers[best_a], kNeighbours[best_b]};
}

std::shared_ptr<const BaselineRule> learn_inverse_distance(const BaselineTraining& training) {
  const BaselineRoles roles = roles_of(training.task);
  const auto known = places_of(training.rows, roles, grain_of(training.task, roles));
  const auto* const chosen = dynamic_cast<const InverseDistanceRule*>(training.chosen);
  return std::make_shared<InverseDistanceRule>(
      known, chosen != nullptr ? chosen->weighting()
                               : choose_weighting(training.rows, *known, training.task.plan.options.seed));
}

std::shared_ptr<const BaselineRule> restore_inverse_distance(const TensorState& tensors, const Encoder&) {
  const std::vector<double> numbers = kept_numbers(tensors, "numbers", 7);
  const auto known = std::make_shared<Places>();
  known->size = static_cast<std::int64_t>(numbers[2]);
  known->sphere = numbers[3] != 0.0;
  known->grain = {numbers[4], numbers[5] != 0.0};
  known->mean = numbers[6];
  known->means = kept_numbers(tensors, "means");
  if (known->means.empty() || known->size < 1 || known->size > 3) refuse_kept("means");
  known->at = kept_numbers(tensors, "at", known->size * std::ssize(known->means));
  known->keys = kept_numbers(tensors, "keys");
  known->values = kept_numbers(tensors, "values", std::ssize(known->keys));
  for (const double each : kept_numbers(tensors, "places", std::ssize(known->keys))) {
    if (!(each >= 0.0 && each < static_cast<double>(known->means.size()))) refuse_kept("places");
    known->places.push_back(static_cast<std::int64_t>(each));
  }
  known->make_index();
  return std::make_shared<InverseDistanceRule>(known, Weighting{numbers[0], static_cast<std::int64_t>(numbers[1])});
}

void read_places(const BaselineTask& task, EncoderPlan& plan) {
  const BaselineRoles roles = roles_of(task);
  plan.kernel_columns = roles.places;
  if (grain_of(task, roles).used()) plan.kernel_columns.push_back(roles.time);
}

std::string why_not_inverse_distance(const BaselineTask& task) {
  return roles_of(task).places.empty() ? "the formula reads no place, such as (lat, lon) or two numbers of one kernel"
                                       : "";
}

}  // namespace

Baseline inverse_distance_baseline() {
  Baseline row;
  row.name = "inverse-distance";
  row.text = "a mean of the nearest places, of the same time where there is one, weighted by distance";
  row.why_not = why_not_inverse_distance;
  row.read = read_places;
  row.learn = learn_inverse_distance;
  row.restore = restore_inverse_distance;
  return row;
}

}  // namespace ick
