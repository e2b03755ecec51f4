#include "cli/fold_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/fit_text.h"
#include "ick/base/text.h"
#include "ick/table/csv.h"

namespace ick {

namespace {

std::vector<const ScoreKind*> kinds_in(const CrossValidation& all) {
  std::vector<const ScoreKind*> kinds;
  const bool classes = all.folds.front().unseen.of_classes();
  for (const ScoreKind& kind : score_kinds()) {
    if (kind.of_classes == classes) kinds.push_back(&kind);
  }
  return kinds;
}

}  // namespace

std::string plan_text(const FoldPlan& plan) {
  const auto [least, most] = std::minmax_element(
      plan.folds.begin(), plan.folds.end(), [](const Fold& a, const Fold& b) { return a.test.size() < b.test.size(); });
  const std::string rows = least->test.size() == most->test.size()
                               ? fmt::format("{}", most->test.size())
                               : fmt::format("{} to {}", least->test.size(), most->test.size());
  return fmt::format("{} folds of {} rows, {}: {}", plan.folds.size(), rows, print(plan.rule), plan.reason);
}

bool is_share(const std::string& score) { return score == "coverage" || score == "accuracy"; }

std::string score_text(const std::string& score, double value) {
  if (!std::isfinite(value)) return "-";
  return is_share(score) ? fmt::format("{:.1f}%", 100.0 * value) : fmt::format("{:.4g}", value);
}

std::string score_label(const ScoreKind& kind, double level) {
  return kind.name == "coverage" ? fmt::format("{}% covers", number_text(100.0 * level)) : std::string(kind.label);
}

std::string with_error(const std::string& score, const Estimate& estimate, bool sign) {
  if (!std::isfinite(estimate.error) || estimate.error <= 0.0) return score_text(score, estimate.mean);
  const double unit = is_share(score) ? 100.0 : 1.0;
  const char* const percent = is_share(score) ? "%" : "";
  const double mean = unit * estimate.mean, error = unit * estimate.error;
  const int places = std::clamp(1 - static_cast<int>(std::floor(std::log10(error))), 0, 9);
  return fmt::format("{0}{1:.{3}f}{4} +- {2:.{3}f}{4}", sign && mean >= 0.0 ? "+" : "", mean, error, places, percent);
}

const char* error_text() {
  return "standard errors: over folds, corrected for the training rows that folds have in common (Nadeau and Bengio "
         "2003)";
}

void print_folds(const CrossValidation& all, const std::string& formula) {
  fmt::print("{}\n{}\n\n", formula, plan_text(all.plan));
  const std::vector<const ScoreKind*> kinds = kinds_in(all);
  std::size_t width = 5;
  for (const Fold& fold : all.plan.folds) width = std::max(width, fold.name.size());
  fmt::print("  {:<{}} {:>7}", "fold", width, "rows");
  for (const ScoreKind* kind : kinds) fmt::print(" {:>11}", score_label(*kind, all.plan.level));
  fmt::print("\n");
  std::int64_t not_scored = 0;
  for (std::size_t k = 0; k < all.folds.size(); ++k) {
    fmt::print("  {:<{}} {:>7}", all.plan.folds[k].name, width, all.folds[k].unseen.rows.size());
    for (const ScoreKind* kind : kinds) {
      const std::string name(kind->name);
      fmt::print(" {:>11}", score_text(name, all.scores[k].at(name)));
    }
    fmt::print("\n");
    not_scored += all.folds[k].not_scored;
  }
  for (const bool error : {false, true}) {
    fmt::print("  {:<{}}", error ? "standard error" : "mean", width + 8);
    for (const ScoreKind* kind : kinds) {
      const std::string name(kind->name);
      const Estimate& estimate = all.average.at(name);
      fmt::print(" {:>11}", score_text(name, error ? estimate.error : estimate.mean));
    }
    fmt::print("\n");
  }
  fmt::print("\n{}\n", error_text());
  for (std::size_t k = 0; k < all.folds.size(); ++k) {
    const ScoreValues& scores = all.scores[k];
    if (!scores.contains("r2") || std::isfinite(scores.at("r2"))) continue;
    fmt::print("the target has one value in all rows of fold \"{}\": R2 means nothing there\n", all.plan.folds[k].name);
  }
  if (not_scored > 0) {
    fmt::print(
        "{} could not be predicted and {} not scored: a gap, or a level or class that no training row of the "
        "fold has\n",
        count_text(not_scored, "row"), not_scored == 1 ? "is" : "are");
  }
}

void print_optimism(const CrossValidation& blocked, const CrossValidation& random) {
  const std::string name = blocked.average.contains("rmse") ? "rmse" : "log_loss";
  const Estimate own = blocked.average.at(name), other = random.average.at(name);
  const double share = other.mean / own.mean - 1.0;
  const std::string covers = score_text("coverage", random.average.at("coverage").mean);
  fmt::print(
      "optimism: folds at random would have claimed {} {} (standard error {}), {:.1f}% {}, and {} in their "
      "intervals\n",
      score_kind(name).label, score_text(name, other.mean), score_text(name, other.error), std::abs(100.0 * share),
      share < 0.0 ? "lower" : "higher", covers);
}

std::string folds_csv(const CrossValidation& all) {
  struct Place {
    std::size_t fold, i;
  };
  std::map<std::int64_t, Place> places;  // by row of the table
  std::set<std::string> classes;
  for (std::size_t k = 0; k < all.folds.size(); ++k) {
    const UnseenRows& of = all.folds[k].unseen;
    classes.insert(of.classes.begin(), of.classes.end());
    for (std::size_t i = 0; i < of.rows.size(); ++i) places[of.rows[i]] = {k, i};
  }
  fmt::memory_buffer text;
  const auto add = [&](const std::string& word) { text.append(word); };
  add(classes.empty() ? "row,fold,target,mean,sd,lower,upper" : "row,fold,target,class");
  for (const std::string& name : classes) add("," + csv_cell("p_" + name, ','));
  add("\n");
  for (const auto& [row, place] : places) {
    const UnseenRows& of = all.folds[place.fold].unseen;
    const std::size_t i = place.i;
    add(fmt::format("{},{}", row + 1, place.fold + 1));
    if (classes.empty()) {
      for (const auto* values : {&of.target, &of.mean, &of.sd, &of.lower, &of.upper}) {
        add("," + (std::isfinite((*values)[i]) ? number_text((*values)[i]) : std::string()));
      }
    } else {
      add("," + csv_cell(of.classes[static_cast<std::size_t>(of.seen[i])], ','));
      add("," + csv_cell(of.classes[static_cast<std::size_t>(of.most_probable(i))], ','));
      for (const std::string& name : classes) {
        const auto found = std::find(of.classes.begin(), of.classes.end(), name);
        const auto c = static_cast<std::size_t>(found - of.classes.begin());
        add("," + (found == of.classes.end() ? "0" : number_text(of.probability[c][i])));
      }
    }
    add("\n");
  }
  return fmt::to_string(text);
}

}  // namespace ick
