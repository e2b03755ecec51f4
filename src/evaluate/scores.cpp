#include "ick/evaluate/scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "likelihood/special.h"

namespace ick {

namespace {

using Better = ScoreKind::Better;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

constexpr std::array<ScoreKind, 11> kScoreKinds = {{
    {"rmse", "rmse", false, Better::smaller},
    {"mae", "mae", false, Better::smaller},
    {"r2", "R2", false, Better::larger},
    {"nlpd", "nlpd", false, Better::smaller},
    {"crps", "crps", false, Better::smaller},
    {"coverage", "coverage", false, Better::neither},
    {"width", "width", false, Better::neither},
    {"accuracy", "accuracy", true, Better::larger},
    {"log_loss", "log loss", true, Better::smaller},
    {"brier", "Brier score", true, Better::smaller},
    {"coverage", "coverage", true, Better::neither},
}};

}  // namespace

std::span<const ScoreKind> score_kinds() { return kScoreKinds; }

const ScoreKind& score_kind(std::string_view name) {
  std::vector<std::string> names;
  for (const ScoreKind& kind : kScoreKinds) {
    if (kind.name == name) return kind;
    if (std::find(names.begin(), names.end(), kind.name) == names.end()) names.emplace_back(kind.name);
  }
  const std::string guess = did_you_mean(name, names);
  throw UsageError("no score is named \"" + std::string(name) + "\"" +
                   (guess.empty() ? "; there are " + join_words(names) : guess));
}

std::int64_t UnseenRows::most_probable(std::size_t i) const {
  std::size_t best = 0;
  for (std::size_t c = 1; c < probability.size(); ++c) {
    if (probability[c][i] > probability[best][i]) best = c;
  }
  return static_cast<std::int64_t>(best);
}

ScoreValues scores_of(const UnseenRows& of, const std::vector<std::int64_t>* some) {
  std::vector<std::size_t> use;
  for (std::size_t i = 0; i < of.rows.size(); ++i) {
    if (some == nullptr || std::binary_search(some->begin(), some->end(), of.rows[i])) use.push_back(i);
  }
  double total = 0.0;
  for (const std::size_t i : use) total += of.weight[i];
  const auto mean = [&](const auto& value) {
    double sum = 0.0;
    for (const std::size_t i : use) sum += of.weight[i] * static_cast<double>(value(i));
    return use.empty() ? kUnknown : sum / total;
  };
  ScoreValues scores;
  scores["coverage"] = mean([&](std::size_t i) { return of.inside[i]; });
  if (of.of_classes()) {
    const auto probability = [&](std::size_t i, std::size_t c) { return of.probability[c][i]; };
    scores["accuracy"] = mean([&](std::size_t i) { return of.most_probable(i) == of.seen[i]; });
    scores["log_loss"] = mean([&](std::size_t i) {
      const double p = probability(i, static_cast<std::size_t>(of.seen[i]));
      return -std::log(std::max(p, std::numeric_limits<double>::min()));
    });
    scores["brier"] = mean([&](std::size_t i) {
      double sum = 0.0;
      for (std::size_t c = 0; c < of.classes.size(); ++c) {
        const double miss = probability(i, c) - (static_cast<std::int64_t>(c) == of.seen[i] ? 1.0 : 0.0);
        sum += miss * miss;
      }
      return sum;
    });
    return scores;
  }
  const auto error = [&](std::size_t i) { return of.target[i] - of.mean[i]; };
  const double squares = mean([&](std::size_t i) { return error(i) * error(i); });
  const double centre = mean([&](std::size_t i) { return of.target[i]; });
  const double variance = mean([&](std::size_t i) { return (of.target[i] - centre) * (of.target[i] - centre); });
  const bool constant =
      std::all_of(use.begin(), use.end(), [&](std::size_t i) { return of.target[i] == of.target[use.front()]; });
  scores["rmse"] = std::sqrt(squares);
  scores["mae"] = mean([&](std::size_t i) { return std::abs(error(i)); });
  scores["r2"] = constant ? kUnknown : 1.0 - squares / variance;
  scores["nlpd"] = mean([&](std::size_t i) { return of.nlpd[i]; });
  scores["crps"] = mean([&](std::size_t i) { return of.crps[i]; });
  scores["width"] = mean([&](std::size_t i) { return of.upper[i] - of.lower[i]; });
  return scores;
}

Estimate mean_over_folds(std::span<const double> values, double ratio) {
  const auto k = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / k;
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, values.size() < 2 ? kUnknown : std::sqrt((1.0 / k + ratio) * squares / (k - 1.0))};
}

// P(T <= t) = 1 - I_x(v / 2, 1 / 2) / 2 with x = v / (v + t^2), t >= 0.
double student_quantile(double p, double degrees) {
  if (p < 0.5) return -student_quantile(1.0 - p, degrees);
  const auto cdf = [&](double t) { return 1.0 - 0.5 * lower_beta(0.5 * degrees, 0.5, degrees / (degrees + t * t)); };
  double high = 1.0;
  while (cdf(high) < p && high < 1e15) high *= 2.0;
  return solve_increasing(cdf, p, 0.0, high);
}

}  // namespace ick
