#include "search.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace ick::detail {
namespace {

constexpr std::size_t kBeam = 2;       // formulas from which steps are made
constexpr double kWorthMore = 0.5;     // standard errors that a round must gain for another one
constexpr std::size_t kLongList = 10;  // formulas that are worth a fit
constexpr std::size_t kShortList = 3;  // when none seems better than the mean

std::vector<std::size_t> complete_by_loss(const std::vector<Trial>& trials, std::int64_t folds) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (is_complete(trials[i], folds)) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return mean_loss(trials[a]) < mean_loss(trials[b]); });
  return order;
}

// By more than a standard error, or some of them: of few folds, whose own error is uncertain, by as much more as Student's
// t distribution asks for the same chance, that of one standard deviation of a normal one.
bool is_better(const Trial& before, const Trial& now, double ratio, double errors = 1.0) {
  constexpr double kChance = 0.8413;
  const Estimate gain = gain_over(before, now, ratio);
  const auto folds = static_cast<double>(std::min(before.losses.size(), now.losses.size()));
  return gain.mean > errors * student_quantile(kChance, folds - 1.0) * gain.error;
}

// The simplest that the best one is not better than; of equally simple ones the better.
std::size_t simplest_of(const std::vector<Trial>& trials, const std::vector<std::size_t>& order,
                        const Folding& folding) {
  std::size_t simplest = order.front();
  const auto weight = [&](std::size_t i) { return weight_of(folding.from, trials[i].structure); };
  for (const std::size_t i : order) {
    if (weight(i) < weight(simplest) && !is_better(trials[i], trials[order.front()], folding.ratio)) simplest = i;
  }
  return simplest;
}

}  // namespace

double mean_loss(const Trial& trial) {
  return std::accumulate(trial.losses.begin(), trial.losses.end(), 0.0) / static_cast<double>(trial.losses.size());
}

bool is_complete(const Trial& trial, std::int64_t folds) {
  return trial.failure.empty() && std::ssize(trial.losses) == folds;
}

Estimate gain_over(const Trial& a, const Trial& b, double ratio) {
  std::vector<double> gains;
  for (std::size_t k = 0; k < std::min(a.losses.size(), b.losses.size()); ++k) {
    gains.push_back(a.losses[k] - b.losses[k]);
  }
  return mean_over_folds(gains, ratio);
}

std::vector<Trial> search(const Folding& folding, const std::function<std::vector<double>(const Structure&)>& losses,
                          const std::function<bool()>& over) {
  std::vector<Trial> trials = {{{}, losses({}), {}}};
  std::set<Structure> tried = {{}};
  for (std::size_t best = 0; !over();) {
    std::vector<std::size_t> from = complete_by_loss(trials, folding.folds);
    from.resize(std::min(from.size(), kBeam));
    std::vector<Structure> steps;
    for (const std::size_t each : from) {
      for (Structure& step : steps_from(folding.from, trials[each].structure)) {
        if (tried.insert(step).second) steps.push_back(std::move(step));
      }
    }
    for (Structure& step : steps) {
      if (over()) break;
      trials.push_back({step, losses(step), {}});
    }
    const std::size_t now = complete_by_loss(trials, folding.folds).front();
    if (!is_better(trials[best], trials[now], folding.ratio, kWorthMore)) break;
    best = now;
  }
  return trials;
}

std::vector<Structure> shortlist(const std::vector<Trial>& trials, const Folding& folding) {
  const std::vector<std::size_t> order = complete_by_loss(trials, folding.folds);
  const Structure& simplest = trials[simplest_of(trials, order, folding)].structure;
  const std::size_t most = simplest.empty() ? kShortList : kLongList;
  std::vector<Structure> list;
  const auto add = [&](const Structure& structure) {
    const bool known = std::find(list.begin(), list.end(), structure) != list.end();
    if (list.size() < most && !structure.empty() && !known) list.push_back(structure);
  };
  const auto add_with_parts = [&](const Structure& structure) {
    add(structure);
    for (std::size_t t = 0; t < structure.size(); ++t) {
      Structure less = structure;
      less.erase(less.begin() + static_cast<std::ptrdiff_t>(t));
      add(less);
    }
  };
  const Structure& best = trials[order.front()].structure;
  add(simplest);
  add_with_parts(with_networks(folding.from, simplest));
  add_with_parts(simplest);
  add(best);
  add(with_networks(folding.from, best));
  add_with_parts(best);
  for (const std::size_t i : order) add(trials[i].structure);
  return list;
}

std::vector<std::size_t> choose_three(const std::vector<Trial>& trials, const Folding& folding) {
  const std::vector<std::size_t> order = complete_by_loss(trials, folding.folds);
  const std::size_t simplest = simplest_of(trials, order, folding);
  if (trials[simplest].structure.empty()) return {};
  std::vector<std::size_t> three = {simplest};
  const auto add_best = [&](const auto& may) {
    for (const std::size_t i : order) {
      const bool known = std::find(three.begin(), three.end(), i) != three.end();
      if (known || !may(i) || !is_better(trials[0], trials[i], folding.ratio)) continue;
      three.push_back(i);
      return;
    }
  };
  const auto anything = [](std::size_t) { return true; };
  const auto with_network = [&](std::size_t i) { return has_network(folding.from, trials[i].structure); };
  add_best(anything);
  if (std::none_of(three.begin(), three.end(), with_network)) add_best(with_network);
  if (three.size() < 3) add_best(anything);
  return three;
}

}  // namespace ick::detail
