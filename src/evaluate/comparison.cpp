#include "ick/evaluate/comparison.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "base/stopwatch.h"
#include "evaluate/verdict.h"
#include "ick/base/error.h"
#include "ick/formula/formula.h"

namespace ick {

namespace {

using Status = Standing::Status;

std::vector<std::int64_t> sorted_rows(const FoldResult& result) {
  std::vector<std::int64_t> rows = result.unseen.rows;
  std::sort(rows.begin(), rows.end());
  return rows;
}

using FoldRows = std::map<std::int64_t, std::vector<std::int64_t>>;  // by fold, ascending

const Message& failure_of(const Candidate& candidate, const CandidateFits& fits) {
  return candidate.can_be_fitted() ? fits.failure : candidate.why_not;
}

// Of the formulas that were asked about, or of the baselines: the one that did not fail and finished most folds. Null
// where none finished one.
const CandidateFits* most_folds(const ComparisonPlan& plan, const std::vector<CandidateFits>& fits, bool asked) {
  const CandidateFits* most = nullptr;
  for (std::size_t c = 0; c < fits.size(); ++c) {
    const bool failed = !failure_of(plan.candidates[c], fits[c]).marked().empty();
    if (plan.candidates[c].is_asked() != asked || failed || fits[c].folds.empty()) continue;
    if (most == nullptr || fits[c].folds.size() > most->folds.size()) most = &fits[c];
  }
  return most;
}

// Folds that count: those of the formula that finished most; where all of them failed, those of the baseline that did.
std::set<std::int64_t> counted_folds(const ComparisonPlan& plan, const std::vector<CandidateFits>& fits) {
  const CandidateFits* most = most_folds(plan, fits, /*asked=*/true);
  std::vector<Message> failures;
  for (std::size_t c = 0; c < fits.size(); ++c) {
    const Message& failure = failure_of(plan.candidates[c], fits[c]);
    if (most == nullptr && plan.candidates[c].is_asked() && failure.marked().empty()) {
      throw Error(setting("budget") + " is too short: no formula has finished one of " +
                  std::to_string(plan.folds.folds.size()) + " folds in its share; give it more time, or fewer rows");
    }
    if (!failure.marked().empty()) failures.push_back(failure);
  }
  if (most == nullptr) most = most_folds(plan, fits, /*asked=*/false);
  if (most == nullptr) {
    throw DataError("no candidate could be fitted; the first one: " + failures.front().marked());
  }
  std::set<std::int64_t> folds;
  for (const auto& [fold, result] : most->folds) folds.insert(fold);
  return folds;
}

bool has_all(const CandidateFits& own, const std::set<std::int64_t>& folds) {
  return std::all_of(folds.begin(), folds.end(), [&](std::int64_t fold) { return own.folds.contains(fold); });
}

// Rows that both predict; false, and nothing changes, where none is left in a fold.
bool narrow(FoldRows& common, const CandidateFits& own, std::int64_t& empty_fold) {
  FoldRows both;
  for (const auto& [fold, rows] : common) {
    std::ranges::set_intersection(rows, sorted_rows(own.folds.at(fold)), std::back_inserter(both[fold]));
    if (both[fold].empty()) {
      empty_fold = fold;
      return false;
    }
  }
  common = std::move(both);
  return true;
}

std::map<std::string, Estimate> averages(const std::map<std::int64_t, ScoreValues>& folds, double ratio) {
  std::map<std::string, std::vector<double>> values;
  for (const auto& [fold, scores] : folds) {
    for (const auto& [name, value] : scores) values[name].push_back(value);
  }
  std::map<std::string, Estimate> all;
  for (const auto& [name, of_folds] : values) all[name] = mean_over_folds(of_folds, ratio);
  return all;
}

Standing standing_of(const Candidate& candidate, const CandidateFits& own) {
  Standing standing;
  standing.candidate = candidate;
  standing.failure = failure_of(candidate, own);
  if (!standing.failure.marked().empty()) standing.status = Status::failed;
  for (const auto& [fold, result] : own.folds) {
    standing.seconds += result.seconds;
    standing.parameters = std::max(standing.parameters, result.parameters);
  }
  return standing;
}

}  // namespace

Estimate Leaderboard::difference(const Standing& a, const Standing& b) const {
  std::vector<double> values;
  for (const auto& [fold, scores] : a.folds) {
    if (b.folds.contains(fold)) values.push_back(scores.at(score) - b.folds.at(fold).at(score));
  }
  return values.empty() ? Estimate{std::nan(""), std::nan("")} : mean_over_folds(values, plan.ratio);
}

const Standing* Leaderboard::find(const std::string& formula) const {
  const std::string text = print(parse_formula(formula));
  for (const Standing& each : standings) {
    if (each.candidate.is_asked() && each.candidate.fit.formula == text) return &each;
  }
  return nullptr;
}

bool Leaderboard::is_best(const Standing& standing) const {
  if (standing.status != Status::complete) return false;
  const double worse = loss(score, standing.difference.mean);
  return worse <= 0.0 || worse <= standing.difference.error;
}

Leaderboard summary_of(const ComparisonPlan& plan, const std::vector<CandidateFits>& fits) {
  const std::set<std::int64_t> folds = counted_folds(plan, fits);
  Leaderboard all;
  all.plan = plan.folds, all.score = plan.score;
  for (std::size_t c = 0; c < fits.size(); ++c) {
    all.standings.push_back(standing_of(plan.candidates[c], fits[c]));
  }

  FoldRows common;
  std::set<std::int64_t> predicted;
  for (std::size_t c = 0; c < fits.size(); ++c) {
    Standing& standing = all.standings[c];
    if (standing.status == Status::failed) continue;
    if (!has_all(fits[c], folds)) {
      standing.status = Status::out_of_time;
      continue;
    }
    for (const std::int64_t fold : folds) {
      const std::vector<std::int64_t> rows = sorted_rows(fits[c].folds.at(fold));
      if (!common.contains(fold)) common[fold] = rows;
      predicted.insert(rows.begin(), rows.end());
    }
    std::int64_t empty = 0;
    if (narrow(common, fits[c], empty)) continue;
    standing.status = Status::failed;
    standing.failure = "it predicts no row of fold \"" + plan.folds.folds[static_cast<std::size_t>(empty)].name +
                       "\" that the candidates before it predict";
  }
  all.not_predicted = std::ssize(predicted);
  for (const auto& [fold, rows] : common) all.not_predicted -= std::ssize(rows);

  for (std::size_t c = 0; c < fits.size(); ++c) {
    Standing& standing = all.standings[c];
    if (standing.status == Status::failed) continue;
    for (const auto& [fold, rows] : common) {
      if (!fits[c].folds.contains(fold)) continue;
      standing.folds[fold] = scores_of(fits[c].folds.at(fold).unseen, &rows);
    }
    standing.scores = averages(standing.folds, plan.folds.ratio);
  }
  std::stable_sort(all.standings.begin(), all.standings.end(), [&](const Standing& a, const Standing& b) {
    if (a.status != b.status) return a.status < b.status;
    if (a.status != Status::complete) return a.folds.size() > b.folds.size();
    const double own = loss(plan.score, a.scores.at(plan.score).mean);
    const double other = loss(plan.score, b.scores.at(plan.score).mean);
    return own < other || (!std::isnan(own) && std::isnan(other));
  });
  for (Standing& each : all.standings) each.difference = all.difference(each, all.standings.front());
  all.verdict = verdict_of(all);
  return all;
}

Leaderboard compare(const Table& table, const std::vector<std::string>& formulas, const FitOptions& options,
                    const FitControl& control, const CompareOptions& asked, const FoldOptions& folds) {
  const ComparisonPlan plan = plan_comparison(table, formulas, options, asked, folds);
  if (control.remark) {
    for (const Message& remark : plan.folds.remarks) control.remark(remark);
  }
  std::vector<CandidateFits> fits(plan.candidates.size());
  const Stopwatch watch;
  TimeBudget budget(budget_seconds(asked.budget), 1, plan.size(),
                    std::ranges::count_if(plan.candidates, [](const Candidate& each) { return each.can_be_fitted(); }));
  for (std::int64_t task = 0; task < plan.size() * std::ssize(plan.folds.folds); ++task) {
    const std::int64_t candidate = task % plan.size(), fold = task / plan.size();
    const Candidate& of = plan.candidates[static_cast<std::size_t>(candidate)];
    CandidateFits& own = fits[static_cast<std::size_t>(candidate)];
    if (!of.can_be_fitted() || !own.failure.marked().empty() || !budget.may_begin(candidate, watch.seconds())) {
      continue;
    }
    budget.begin(task, candidate, watch.seconds());
    const auto cancelled = [&] { return control.cancelled && control.cancelled(); };
    FitControl bounded = control;
    bounded.cancelled = [&] { return cancelled() || !budget.may_go_on(task, watch.seconds()); };
    try {
      FoldResult result = fit_fold(table, of.fit, plan.folds, fold, bounded);
      budget.end(task, watch.seconds(), /*finished=*/true);
      own.folds[fold] = std::move(result);
    } catch (const Interrupted&) {
      if (cancelled()) throw;
      budget.end(task, watch.seconds(), /*finished=*/false);
    } catch (const Error& error) {
      budget.end(task, watch.seconds(), /*finished=*/false);
      own.failure = error.message();
    }
  }
  return summary_of(plan, fits);
}

}  // namespace ick
