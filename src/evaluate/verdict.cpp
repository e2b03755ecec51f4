#include "evaluate/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ick {

namespace {

using Status = Standing::Status;

// Two standard errors: of two models that are equally good, one in twenty pairs differs by more.
constexpr double kCertain = 2.0;

// A share of the other score makes sense where zero is perfect.
bool is_relative(const std::string& score) {
  return score == "rmse" || score == "mae" || score == "crps" || score == "log_loss" || score == "brier";
}

const Standing* best_of(const Leaderboard& all, bool asked) {
  const auto found = std::find_if(all.standings.begin(), all.standings.end(), [&](const Standing& each) {
    return each.status == Status::complete && each.candidate.is_asked() == asked;
  });
  return found == all.standings.end() ? nullptr : &*found;
}

const Standing* find_baseline(const Leaderboard& all, const std::string& name) {
  const auto found = std::find_if(all.standings.begin(), all.standings.end(), [&](const Standing& each) {
    return each.status == Status::complete && each.candidate.baseline == name;
  });
  return found == all.standings.end() ? nullptr : &*found;
}

// "rmse 4.1% lower (standard error 1.0%)"
std::string against(const Leaderboard& all, const Standing& a, const Standing& b) {
  return std::string(score_kind(all.score).label) + " " +
         difference_text(all.score, all.difference(a, b), b.scores.at(all.score).mean);
}

bool is_better(const Leaderboard& all, const Standing& a, const Standing& b) {
  const Estimate difference = all.difference(a, b);
  return -loss(all.score, difference.mean) > kCertain * difference.error;
}

// Of several formulas the best and the one after it; "" of one.
std::string among_formulas(const Leaderboard& all, const Standing& best) {
  const auto second = std::find_if(all.standings.begin(), all.standings.end(), [&](const Standing& each) {
    return &each != &best && each.status == Status::complete && each.candidate.is_asked();
  });
  if (second == all.standings.end()) return "";
  return fmt::format("{} {} {}: {}", best.candidate.phrase,
                     is_better(all, best, *second) ? "predicts better than" : "predicts no better than",
                     second->candidate.phrase, against(all, best, *second));
}

std::string alone(const Leaderboard& all, const Standing& only) {
  const Estimate& own = only.scores.at(all.score);
  return fmt::format("{}: {} {:.4g} (standard error {:.2g}), and nothing to compare it with", only.candidate.phrase,
                     score_kind(all.score).label, own.mean, own.error);
}

}  // namespace

double loss(const std::string& score, double value) {
  return score_kind(score).better == ScoreKind::Better::larger ? -value : value;
}

std::string difference_text(const std::string& score, const Estimate& difference, double relative_to) {
  const char* const direction = difference.mean < 0.0 ? "lower" : "higher";
  const double size = std::abs(difference.mean);
  if (is_relative(score)) {
    const double percent = 100.0 / relative_to;
    return fmt::format("{:.1f}% {} (standard error {:.1f}%)", percent * size, direction, percent * difference.error);
  }
  return fmt::format("{:.3g} {} (standard error {:.2g})", size, direction, difference.error);
}

std::string verdict_of(const Leaderboard& all) {
  const Standing* const asked = best_of(all, true);
  const Standing* const simple = best_of(all, false);
  const Standing* const mean = find_baseline(all, "mean");
  if (asked == nullptr) {
    return "no formula could be fitted" +
           (simple == nullptr ? std::string() : "; the best of the baselines is " + simple->candidate.phrase);
  }
  if (asked->folds.size() < 2) {
    return "one fold was finished in time: without a second one nothing is known of chance, and there is no verdict";
  }
  if (std::isnan(asked->scores.at(all.score).mean)) {
    return "no verdict: " + std::string(score_kind(all.score).label) +
           " means nothing in a fold, as where its target has one value; compare by another score";
  }
  const auto beats_mean = [&](const Standing& each) {
    return each.status == Status::complete && is_better(all, each, *mean);
  };
  if (mean != nullptr && std::ranges::none_of(all.standings, beats_mean)) {
    const Standing& best = all.standings.front();
    return "nothing here is certain to predict better than the mean" +
           (&best == mean ? std::string() : "; the best, " + best.candidate.phrase + ": " + against(all, best, *mean));
  }
  const std::string among = among_formulas(all, *asked);
  if (simple == nullptr) return among.empty() ? alone(all, *asked) : among;
  const std::string difference = against(all, *asked, *simple), more = among.empty() ? "" : "; " + among;
  if (is_better(all, *asked, *simple)) {
    return fmt::format("{} predicts better than {}: {}{}", asked->candidate.phrase, simple->candidate.phrase,
                       difference, more);
  }
  return fmt::format("{0} is no better than {1}: {2}; use {1}{3}", asked->candidate.phrase, simple->candidate.phrase,
                     difference, more);
}

}  // namespace ick
