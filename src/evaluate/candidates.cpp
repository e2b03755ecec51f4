#include "ick/evaluate/comparison.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <sstream>

#include "baseline/rewrite.h"
#include "baseline/roles.h"
#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/fit/fit.h"
#include "ick/trees/term.h"

namespace ick {

namespace {

// Formulas that are compared, and which rows of the table are for what in each.
struct Asked {
  std::vector<Formula> formulas;
  std::vector<FitPlan> plans;

  Asked(const Table& table, const std::vector<std::string>& texts, const FitOptions& options) {
    for (const std::string& text : texts) {
      const Formula formula = parse_formula(text);
      if (std::find(formulas.begin(), formulas.end(), formula) != formulas.end()) continue;
      refuse_other_task(formula);
      formulas.push_back(formula);
      plans.push_back(plan_rows(table, formula, options));
    }
    if (formulas.empty())
      throw UsageError("a comparison needs a formula, as in y ~ mlp(a) * periodic(date, period=1y)");
  }

  // All that any of them reads: the sum of their terms, with one term of trees for the columns of all trees.
  Formula together() const {
    if (formulas.size() == 1) return formulas.front();
    SumOfProducts sum;
    std::optional<Call> trees;
    for (const FitPlan& plan : plans) {
      for (const Product& product : spelled_out(plan.spec)) {
        const Call& first = product.front();
        if (find_trees(first.name) == nullptr) {
          sum.push_back(product);
        } else if (trees) {
          add_columns(*trees, first.columns, first.derived);
        } else {
          trees = first;
        }
      }
    }
    if (trees) trees->column_positions.clear(), sum.push_back({*trees});
    return with_right(formulas.front(), sum);
  }

 private:
  void refuse_other_task(const Formula& formula) const {
    if (formulas.empty()) return;
    const Formula& first = formulas.front();
    if (formula.target != first.target) {
      throw UsageError("formulas of different targets cannot be compared: \"" + first.target + "\" and \"" +
                       formula.target + "\"");
    }
    if (!(formula.weights == first.weights)) {
      throw UsageError(
          "formulas in which rows count differently cannot be compared: give all of them the same weights");
    }
  }
};

std::string right_text(const Formula& formula) {
  const std::string text = print(formula), tilde = " ~ ";
  const std::size_t at = text.find(tilde);
  return formula.target.find('~') == std::string::npos ? text.substr(at + tilde.size()) : text;
}

// The formula's right side; all of it where they learn different transforms of the target.
std::string label_of(const Formula& formula, const Asked& asked) {
  const bool alike = std::all_of(asked.formulas.begin(), asked.formulas.end(),
                                 [&](const Formula& each) { return each.transform == asked.formulas[0].transform; });
  return alike ? right_text(formula) : print(formula);
}

bool is_composite(const ModelSpec& spec) { return !spec.kernel_columns.empty() && !spec.network_columns.empty(); }

void plan_candidate(const Table& table, const Formula& formula, const FitOptions& options, const FoldPlan& folds,
                    Candidate& candidate) {
  try {
    candidate.fit = plan_fit_in_folds(table, print(formula), options, folds);
  } catch (const Error& error) {
    candidate.fit.formula = print(formula);
    candidate.why_not = error.message();
  }
}

// Baselines to be compared with, one or several candidates for each.
class Baselines {
 public:
  // `formula` reads what any of those asked about reads.
  Baselines(const Table& table, const Asked& asked, const Formula& formula, const FitOptions& options,
            ComparisonPlan& to)
      : table_(table), asked_(asked), formula_(formula), options_(options), to_(to) {
    const auto& folds = to.folds.folds;
    const auto least = std::ranges::min_element(folds, {}, [](const Fold& fold) { return fold.training.size(); });
    FitOptions own = options_in_fold(options, to.folds, least - folds.begin());
    own.holdout = Split{};
    part_ = select_rows(table, least->training);
    rows_ = plan_rows(part_, formula_, own);
  }

  // `named` by the user: then reasons why it cannot serve are said.
  void add(const Baseline& baseline, bool named) {
    baseline.rewrite == nullptr ? add_learner(baseline, named) : add_formulas(baseline, named);
  }

 private:
  static Candidate candidate_of(const Baseline& baseline) {
    const std::string name(baseline.name), phrase(baseline.phrase);
    return {name, phrase.empty() ? name : phrase, name, {}, {}};
  }

  void add_learner(const Baseline& baseline, bool named) {
    std::optional<Table> made;
    const BaselineTask task{with_derived(part_, rows_.spec.derived, made), rows_};
    Candidate candidate = candidate_of(baseline);
    candidate.why_not = why_not(baseline, task);
    candidate.fit.formula = print(formula_);
    const bool serves = candidate.why_not.marked().empty();
    if (!named && !(serves && baseline.usual != nullptr && baseline.usual(task))) return;
    FitOptions options = options_;
    options.model = candidate.baseline;
    if (serves) plan_candidate(table_, formula_, options, to_.folds, candidate);
    to_.candidates.push_back(std::move(candidate));
  }

  // What it makes of each formula; one that is among the candidates already is not fitted twice.
  void add_formulas(const Baseline& baseline, bool named) {
    bool any = false;
    Candidate refused = candidate_of(baseline);
    for (std::size_t i = 0; i < asked_.formulas.size(); ++i) {
      std::optional<Table> made;
      const BaselineTask task{with_derived(table_, asked_.plans[i].spec.derived, made), asked_.plans[i]};
      const std::string reason = why_not(baseline, task);
      if (!reason.empty()) {
        refused.why_not = reason, refused.fit.formula = print(asked_.formulas[i]);
        continue;
      }
      any = true;
      if (!named && !(baseline.usual != nullptr && baseline.usual(task))) continue;
      const Formula formula = baseline.rewrite(task);
      const bool known = std::any_of(to_.candidates.begin(), to_.candidates.end(), [&](const Candidate& each) {
        return each.fit.options.model.empty() && each.fit.formula == print(formula);
      });
      if (known) continue;
      Candidate candidate = candidate_of(baseline);
      candidate.label = label_of(formula, asked_) + " [" + candidate.label + "]";
      constexpr std::string_view kTime = "{time}";
      if (const std::size_t at = candidate.phrase.find(kTime); at != std::string::npos) {
        candidate.phrase.replace(at, kTime.size(), roles_of(task).time);
      }
      if (asked_.formulas.size() > 1) candidate.phrase += " (formula " + std::to_string(i + 1) + ")";
      plan_candidate(table_, formula, options_, to_.folds, candidate);
      to_.candidates.push_back(std::move(candidate));
    }
    if (named && !any) to_.candidates.push_back(std::move(refused));
  }

  const Table& table_;
  const Asked& asked_;
  const Formula& formula_;
  const FitOptions& options_;
  ComparisonPlan& to_;
  Table part_;    // rows that are learned from in the fold with the fewest: what cannot serve these can serve nothing
  FitPlan rows_;  // of these
};

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream text(list);
  for (std::string name; std::getline(text, name, ',');) add_new(names, std::span(&name, 1));
  return names;
}

std::string chosen_score(const std::string& asked, bool classes) {
  if (asked.empty()) return classes ? "log_loss" : "rmse";
  const ScoreKind& kind = score_kind(asked);
  if (kind.better == ScoreKind::Better::neither) {
    throw UsageError(setting("score", asked) +
                     " is neither better when large nor when small; compare by another score");
  }
  if (kind.of_classes != classes) {
    throw UsageError(setting("score", asked) + " is of " + (classes ? "numbers" : "classes") +
                     ", and the target is of " +
                     (classes ? "classes; compare by log_loss, brier or accuracy"
                              : "numbers; compare by rmse, mae, r2, nlpd or crps"));
  }
  return asked;
}

}  // namespace

ComparisonPlan plan_comparison(const Table& table, const std::vector<std::string>& formulas, const FitOptions& options,
                               const CompareOptions& compare, const FoldOptions& folds) {
  if (!options.model.empty()) {
    throw UsageError(setting("model", options.model) + " is not for a comparison; name baselines in " +
                     setting("with", options.model));
  }
  const Asked asked(table, formulas, options);
  ComparisonPlan plan;
  plan.score = chosen_score(compare.score, likelihood_of(asked.plans.front().options).has_classes());
  const Formula together = asked.together();
  plan.folds = plan_folds(table, print(together), options, folds);
  for (std::size_t i = 0; i < asked.formulas.size(); ++i) {
    Candidate candidate;
    candidate.label = label_of(asked.formulas[i], asked);
    candidate.phrase = asked.formulas.size() > 1           ? candidate.label
                       : is_composite(asked.plans[i].spec) ? "the composite model"
                                                           : "the formula";
    plan_candidate(table, asked.formulas[i], options, plan.folds, candidate);
    plan.candidates.push_back(std::move(candidate));
  }
  Baselines baselines(table, asked, together, options, plan);
  for (const std::string& name : names_in(compare.with)) {
    if (name == "none") continue;
    if (name == "usual" || name == "all") {
      for (const Baseline* each : ick::baselines()) baselines.add(*each, name == "all");
    } else {
      baselines.add(baseline_named(name), true);
    }
  }
  return plan;
}

}  // namespace ick
