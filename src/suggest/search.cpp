#include "search.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

namespace ick::detail {
namespace {

constexpr std::int64_t kFirstFolds = 2;   // in which every step is scored
constexpr std::size_t kFewestKept = 4;    // steps of a round that are scored in all folds
constexpr std::size_t kOneOfSoMany = 3;   // at least this part of them
constexpr std::size_t kBeam = 2;          // formulas from which steps are made
constexpr double kFirstShare = 0.6;       // of the time that is left, for the first folds of a round

double mean_loss(const Trial& trial) {
  return std::accumulate(trial.losses.begin(), trial.losses.end(), 0.0) / static_cast<double>(trial.losses.size());
}

bool is_complete(const Trial& trial, std::int64_t folds) {
  return trial.failure.empty() && std::ssize(trial.losses) == folds;
}

std::vector<std::size_t> complete_by_loss(const std::vector<Trial>& trials, std::int64_t folds) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (is_complete(trials[i], folds)) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return mean_loss(trials[a]) < mean_loss(trials[b]); });
  return order;
}

bool better_by_an_error(const Trial& before, const Trial& now, double ratio) {
  const Estimate gain = gain_over(before, now, ratio);
  return gain.mean > gain.error;
}

class Rounds {
 public:
  explicit Rounds(const SearchRequest& request) : request_(request) {}

  Search run() {
    begin({});
    evaluate({0}, 0, request_.folds, 1.0);
    if (!is_complete(found_.trials[0], request_.folds)) return std::move(found_);
    std::size_t best = 0;
    while (!request_.over()) {
      const std::vector<std::size_t> steps = next_steps();
      if (steps.empty()) {
        found_.finished = true;
        break;
      }
      evaluate(steps, 0, std::min(kFirstFolds, request_.folds), kFirstShare);
      evaluate(best_of(steps), kFirstFolds, request_.folds, 1.0);
      const std::size_t now = complete_by_loss(found_.trials, request_.folds).front();
      const bool better = better_by_an_error(found_.trials[best], found_.trials[now], request_.ratio);
      best = now;
      if (better || request_.over()) continue;
      found_.finished = true;
      break;
    }
    return std::move(found_);
  }

 private:
  std::size_t begin(Structure structure) {
    tried_.insert(structure);
    found_.trials.push_back({std::move(structure), {}, {}});
    return found_.trials.size() - 1;
  }

  std::vector<std::size_t> next_steps() {
    std::vector<std::size_t> from = complete_by_loss(found_.trials, request_.folds), steps;
    from.resize(std::min(from.size(), kBeam));
    for (const std::size_t each : from) {
      for (Structure& step : steps_from(request_.from, Structure(found_.trials[each].structure))) {
        if (!tried_.contains(step)) steps.push_back(begin(std::move(step)));
      }
    }
    return steps;
  }

  void evaluate(const std::vector<std::size_t>& trials, std::int64_t first, std::int64_t last, double share) {
    std::vector<FoldOfTrial> folds;
    for (const std::size_t trial : trials) {
      for (std::int64_t fold = first; fold < last; ++fold) folds.push_back({trial, fold});
    }
    if (!folds.empty()) request_.evaluate(found_.trials, folds, share);
  }

  // By their losses in the first folds.
  std::vector<std::size_t> best_of(std::vector<std::size_t> steps) const {
    std::erase_if(steps, [&](std::size_t i) {
      return !is_complete(found_.trials[i], std::min(kFirstFolds, request_.folds));
    });
    std::stable_sort(steps.begin(), steps.end(), [&](std::size_t a, std::size_t b) {
      return mean_loss(found_.trials[a]) < mean_loss(found_.trials[b]);
    });
    steps.resize(std::min(steps.size(), std::max(kFewestKept, steps.size() / kOneOfSoMany)));
    return steps;
  }

  const SearchRequest& request_;
  Search found_;
  std::set<Structure> tried_;
};

}  // namespace

Estimate gain_over(const Trial& a, const Trial& b, double ratio) {
  std::vector<double> gains;
  for (std::size_t k = 0; k < std::min(a.losses.size(), b.losses.size()); ++k) {
    gains.push_back(a.losses[k] - b.losses[k]);
  }
  return mean_over_folds(gains, ratio);
}

Search search(const SearchRequest& request) { return Rounds(request).run(); }

std::vector<std::size_t> choose_three(const Search& found, const SearchRequest& request) {
  const std::vector<Trial>& trials = found.trials;
  const std::vector<std::size_t> order = complete_by_loss(trials, request.folds);
  if (order.empty() || order.front() == 0) return {};
  const std::size_t best = order.front();
  std::size_t simplest = best;
  const auto weight = [&](std::size_t i) { return weight_of(request.from, trials[i].structure); };
  for (const std::size_t i : order) {
    if (weight(i) < weight(simplest) && !better_by_an_error(trials[i], trials[best], request.ratio)) simplest = i;
  }
  if (simplest == 0) return {};
  std::vector<std::size_t> three = {simplest};
  for (const std::size_t i : order) {
    if (three.size() < 3 && i != simplest && better_by_an_error(trials[0], trials[i], request.ratio)) three.push_back(i);
  }
  return three;
}

}  // namespace ick::detail
