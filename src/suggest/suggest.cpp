#include "ick/suggest/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/stopwatch.h"
#include "division.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "ick/look/look.h"
#include "ingredients.h"
#include "losses.h"
#include "screen.h"
#include "search.h"

namespace ick::detail {

std::vector<std::string> suggest_score_names() { return loss_names(); }

namespace {

constexpr std::int64_t kMostRowsOfFits = 1200;  // of the search: structure shows in fewer rows than parameters do
constexpr std::int64_t kMostRowsAtLast = 5000;  // learned from, and scored, at last
// Of the budget, until linear models and all fits in folds must have ended; the rest is for the last fits.
constexpr double kScreenShare = 0.2, kSearchShare = 0.7;
// And until fits in the first fold, in the second, and in the others; then once more for formulas that were too slow.
constexpr double kShares[2][3] = {{0.37, 0.43, 0.5}, {0.62, 0.66, kSearchShare}};
constexpr std::size_t kKept = 6;           // formulas that are fitted in all folds
constexpr std::int64_t kFewestFolds = 2;   // whose scores tell formulas from each other
constexpr double kSure = 0.01;             // P of a gain as large as that of the first formula without one
constexpr std::int64_t kImageEpochs = 10;  // of the search

std::vector<SuggestOutcome> one_by_one(std::span<const SuggestTask> tasks, const std::function<bool()>& over) {
  std::vector<SuggestOutcome> outcomes(tasks.size());
  for (std::size_t i = 0; i < tasks.size() && !over(); ++i) {
    FitControl control;
    control.cancelled = over;
    try {
      outcomes[i].result = fit_fold(*tasks[i].table, *tasks[i].fit, *tasks[i].plan, tasks[i].fold, control);
    } catch (const Interrupted&) {
      break;
    } catch (const Error& error) {
      outcomes[i].failure = error.what();
    }
  }
  return outcomes;
}

void check_target(const Table& table, const std::string& target) {
  const Column& column = table.column(target, "target: ");
  const std::string place = "column \"" + target + "\": ";
  if (column.info.type == ColumnType::text || column.info.type == ColumnType::time) {
    throw DataError(place + "a target of type " + std::string(column_type_name(column.info.type)) +
                    " cannot be predicted; a number or a category was expected");
  }
}

class Suggesting {
 public:
  Suggesting(const Table& table, const std::string& target, const SuggestOptions& options,
             const SuggestControl& control)
      : table_(table), target_(target), options_(options), control_(control) {
    if (!control_.run) control_.run = one_by_one;
    made_.target = target;
  }

  Suggestions run() {
    check_target(table_, target_);
    look_around();
    choose_score();
    search_formulas();
    if (!three_.empty()) last_word();
    say_verdict();
    made_.seconds = watch_.seconds();
    return std::move(made_);
  }

 private:
  // Roles of the columns without a word of the target, rows set apart, and only then the target's leaks and periods.
  void look_around() {
    const TableLook plain = look(table_, {.target = "", .seed = options_.seed});
    division_ = divide(table_, target_, plain, options_);
    const Table seen = select_rows(table_, division_.seen);
    const TableLook page = look(seen, {.target = target_, .seed = options_.seed});
    if (!page.remark.empty()) throw DataError("column \"" + target_ + "\": " + page.remark);
    from_ = ingredients_of(page, plain);
    if (from_.all.empty()) {
      throw DataError("no column could be read by a formula of \"" + target_ + "\": " + join_words(from_.left_out) +
                      "; " + setting("types") + " says what a column holds");
    }
    learned_ = select_rows(seen, some_of_seen());
    plan_ = search_folds(learned_, target_, division_.rule, options_);
    made_.rule = division_.rule, made_.reason = division_.reason, made_.left_out = from_.left_out;
    made_.rows = std::ssize(division_.seen), made_.unseen_rows = std::ssize(division_.unseen);
    made_.fitted_rows = learned_.rows;
    made_.fill_gaps = from_.gaps;
  }

  std::vector<std::int64_t> some_of_seen() const {
    std::vector<std::int64_t> all(division_.seen.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
    return some_of(all, kMostRowsOfFits, seed_for(options_.seed, "suggest rows"));
  }

  void choose_score() {
    FitOptions mean;
    mean.model = "mean";
    mean.gaps = from_.gaps ? Gaps::fill : Gaps::refuse;
    likelihood_ = plan_fit_in_folds(learned_, formula_of(from_, {{0}}), mean, plan_).options.likelihood;
    const bool classes = likelihood_named(likelihood_).has_classes();
    made_.score = !options_.score.empty()            ? options_.score
                  : classes                          ? "log_loss"
                  : from_.target.starts_with("log(") ? "crps"
                                                     : "rmse";
    if (classes != score_kind(made_.score).of_classes) {
      throw UsageError(setting("score", made_.score) + " is for " + (classes ? "numbers" : "classes") + ", and \"" +
                       target_ + "\" has " + (classes ? "classes" : "numbers"));
    }
    loss_ = find_loss(made_.score);
  }

  FoldedFit fit_of(const Structure& structure, bool quick) const {
    FitOptions o;
    o.seed = options_.seed;
    o.threads = control_.threads;
    o.likelihood = likelihood_;
    o.gaps = from_.gaps ? Gaps::fill : Gaps::refuse;
    if (structure.empty()) {
      o.model = "mean";
      return {formula_of(from_, {{0}}), o, 0.0};
    }
    if (quick) {
      o.members = 1;
      o.refit = Refit::no;
      o.inputs = NumberInputs::standard;
      o.neighbours = Neighbours::no;
      if (!has_network(from_, structure) && likelihood_ == "gaussian") o.posterior = "neighbours";
      if (reads_images(structure)) o.epochs = kImageEpochs;
    }
    return {formula_of(from_, structure, quick), o, 0.0};
  }

  bool reads_images(const Structure& structure) const { return has_role(from_, structure, Role::image); }

  void check_cancelled() const {
    if (control_.cancelled && control_.cancelled()) throw Interrupted("the search was cancelled");
  }

  // Some trials in folds from the first to before the last, until that share of the budget is gone.
  void evaluate(const std::vector<std::size_t>& some, std::int64_t first, std::int64_t last, double share) {
    std::vector<FoldedFit> fits;
    fits.reserve(some.size());
    std::vector<SuggestTask> tasks;
    std::vector<std::size_t> trial_of;
    for (const std::size_t trial : some) {
      fits.push_back(fit_of(trials_[trial].structure, true));
      for (std::int64_t fold = first; fold < last; ++fold) {
        tasks.push_back({&learned_, &fits.back(), &plan_, fold});
        trial_of.push_back(trial);
      }
    }
    const std::vector<SuggestOutcome> outcomes = control_.run(
        tasks, [&] { return watch_.seconds() > share * budget_ || (control_.cancelled && control_.cancelled()); });
    check_cancelled();
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      Trial& trial = trials_[trial_of[i]];
      if (!outcomes[i].failure.empty()) trial.failure = outcomes[i].failure;
      if (!outcomes[i].result || tasks[i].fold != std::ssize(trial.losses)) continue;
      trial.seconds += outcomes[i].result->seconds;
      const double loss = score_of(*loss_, outcomes[i].result->unseen);
      if (std::isfinite(loss)) {
        trial.losses.push_back(loss);
      } else {
        trial.failure = "its " + made_.score + " is not a number";
      }
    }
  }

  // The target as the screen reads it: logarithms where the formulas have them, of classes their indicators.
  std::vector<std::vector<double>> screened_target() const {
    const Numbers& values = learned_.column(target_).values;
    std::vector<double> plain(values.begin(), values.end());
    if (from_.target.starts_with("log(")) {
      for (double& y : plain) y = std::log(y);
    }
    if (!likelihood_named(likelihood_).has_classes()) return {plain};
    std::vector<double> classes = plain;
    std::sort(classes.begin(), classes.end());
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    std::vector<std::vector<double>> indicators;
    for (const double each : classes) {
      std::vector<double>& indicator = indicators.emplace_back();
      for (const double y : plain) indicator.push_back(y == each ? 1.0 : 0.0);
    }
    return indicators;
  }

  // Linear models of all steps, then fits of the formulas that these make look best. Those with images or trees, of which a
  // linear model can say nothing, are fitted, too; trees beside kernels only, where they take turns.
  void search_formulas() {
    const Folding folding{from_, std::ssize(plan_.folds), plan_.ratio};
    const Screen screen(from_, learned_, screened_target(), plan_.folds, options_.seed);
    const std::vector<Trial> screened = search(
        folding,
        [&](const Structure& structure) {
          return screen.can(structure) ? screen.losses(structure) : std::vector<double>();
        },
        [&] {
          check_cancelled();
          return watch_.seconds() > kScreenShare * budget_;
        });
    made_.screened = std::ssize(screened) - 1;
    trials_ = {{{}, {}, {}}};
    const std::vector<Structure> list = shortlist(screened, folding);
    const auto add_alone = [&](Role role) {
      for (std::size_t i = 0; i < from_.all.size(); ++i) {
        if (from_.all[i].role == role) trials_.push_back({{{i}}, {}, {}});
      }
    };
    add_alone(Role::trees);  // the quickest of all
    favourite_ = trials_.size();
    for (const Structure& each : list) trials_.push_back({each, {}, {}});
    add_alone(Role::image);
    for (std::size_t i = 0; i < from_.all.size(); ++i) {
      const Role role = from_.all[i].role;
      if (role != Role::image && role != Role::trees) continue;
      const bool beside = !list.empty() && (role == Role::image || !has_network(from_, list.front()));
      if (beside) trials_.push_back({with_term(list.front(), {i}), {}, {}});
    }
    fit_in_folds();
    for (const Trial& trial : trials_) {
      made_.trials.push_back({trial.structure.empty() ? from_.target + " ~ mean" : formula_of(from_, trial.structure),
                              trial.losses, trial.failure, trial.seconds});
    }
    for (Trial& trial : trials_) trial.losses.resize(std::min(std::ssize(trial.losses), made_.folds));
    made_.mean = mean_over_folds(trials_.front().losses, plan_.ratio);
    three_ = choose_three(trials_, {from_, made_.folds, plan_.ratio});
  }

  static Structure with_term(Structure structure, Term term) {
    structure.push_back(std::move(term));
    std::sort(structure.begin(), structure.end());
    return structure;
  }

  // All in the first fold, the better half in the second, the best few in the others, a fold at a time. Who is too slow for
  // a fold's share of the time has a second chance in the time that is left; when all of it is gone some formulas have the
  // same folds behind them, which count.
  void fit_in_folds() {
    const std::int64_t folds = std::ssize(plan_.folds);
    evaluate({0}, 0, folds, kSearchShare);  // the mean
    if (!trials_.front().failure.empty()) {
      throw DataError("the mean of \"" + target_ + "\" could not be scored: " + trials_.front().failure);
    }
    for (const auto& shares : kShares) {
      std::vector<std::size_t> stay;
      for (std::size_t i = 1; i < trials_.size(); ++i) {
        if (trials_[i].losses.empty() && trials_[i].failure.empty()) stay.push_back(i);
      }
      for (std::int64_t fold = 0; fold < folds && !stay.empty(); ++fold) {
        evaluate(stay, fold, fold + 1, shares[std::min<std::int64_t>(fold, 2)]);
        std::erase_if(stay, [&](std::size_t i) { return !is_complete(trials_[i], fold + 1); });
        std::stable_sort(stay.begin(), stay.end(),
                         [&](std::size_t a, std::size_t b) { return mean_loss(trials_[a]) < mean_loss(trials_[b]); });
        if (!stay.empty()) made_.folds = std::max(made_.folds, fold + 1);
        const std::size_t most = std::min(stay.size(), fold == 0 ? std::max(kKept, trials_.size() / 2) : kKept);
        const auto favourite =
            std::find(stay.begin(), stay.end(), favourite_);  // simple, and stays whoever is before it
        if (favourite >= stay.begin() + static_cast<std::ptrdiff_t>(most) && favourite != stay.end()) {
          std::iter_swap(favourite, stay.begin() + static_cast<std::ptrdiff_t>(most) - 1);
        }
        stay.resize(most);
      }
    }
    made_.finished = std::none_of(trials_.begin(), trials_.end(),
                                  [](const Trial& trial) { return trial.losses.empty() && trial.failure.empty(); });
    const bool none =
        std::all_of(trials_.begin() + 1, trials_.end(), [](const Trial& trial) { return !trial.failure.empty(); });
    if (none) made_.folds = folds;
    if (made_.folds >= kFewestFolds) return;
    throw UsageError(setting("budget", options_.budget) + ": too little time to score one formula in " +
                     std::to_string(kFewestFolds) + " folds of " + std::to_string(learned_.rows) + " rows; give more");
  }

  // The rows set apart: the mean and the first formula whatever it takes, the others in the time that is left.
  void last_word() {
    const std::vector<std::int64_t> training =
        some_of(division_.seen, kMostRowsAtLast, seed_for(options_.seed, "suggest last rows"));
    std::vector<std::int64_t> rows = training;
    const std::vector<std::int64_t> test =
        some_of(division_.unseen, kMostRowsAtLast, seed_for(options_.seed, "suggest unseen rows"));
    rows.insert(rows.end(), test.begin(), test.end());
    const Table last = select_rows(table_, rows);
    const FoldPlan plan = last_fold(last, std::ssize(training), division_.rule);
    const std::vector<std::int64_t> blocks = blocks_by(last, division_.rule, std::ssize(training));
    std::vector<FoldedFit> fits = {fit_of({}, false)};
    for (const std::size_t each : three_) fits.push_back(fit_of(trials_[each].structure, false));
    std::vector<SuggestTask> tasks;
    for (const FoldedFit& fit : fits) tasks.push_back({&last, &fit, &plan, 0});
    const auto do_some = [&](std::size_t first, std::size_t count, double seconds) {
      const auto over = [&] { return watch_.seconds() > seconds || (control_.cancelled && control_.cancelled()); };
      std::vector<SuggestOutcome> some = control_.run(std::span(tasks).subspan(first, count), over);
      check_cancelled();
      return some;
    };
    std::vector<SuggestOutcome> outcomes = do_some(0, 2, std::numeric_limits<double>::infinity());
    for (SuggestOutcome& each : do_some(2, tasks.size() - 2, budget_)) outcomes.push_back(std::move(each));
    if (!outcomes[0].result)
      throw DataError("the mean of \"" + target_ + "\" could not be scored: " + outcomes[0].failure);
    const UnseenRows& mean = outcomes[0].result->unseen;
    made_.unseen_mean = score_of(*loss_, mean);
    for (std::size_t i = 0; i < three_.size(); ++i) {
      Suggestion each = in_folds(i);
      if (const std::optional<FoldResult>& result = outcomes[i + 1].result) {
        const PairedTest test_of = paired_test(*loss_, mean, result->unseen, blocks);
        each.unseen = score_of(*loss_, result->unseen);
        each.unseen_gain = {made_.unseen_mean - each.unseen, error_of_score(test_of, made_.unseen_mean, each.unseen)};
        each.p = test_of.p;
        each.seconds = result->seconds;
      }
      made_.suggested.push_back(std::move(each));
    }
  }

  // Of a difference of roots, by the derivative: d sqrt(m) = dm / (2 sqrt(m)), half way between the two.
  double error_of_score(const PairedTest& test, double a, double b) const {
    return loss_->root ? test.error / std::max(a + b, std::numeric_limits<double>::min()) : test.error;
  }

  Suggestion in_folds(std::size_t place) const {
    const Trial& trial = trials_[three_[place]];
    Suggestion each;
    each.formula = formula_of(from_, trial.structure);
    each.meaning = meaning_of(from_, trial.structure);
    each.folds = mean_over_folds(trial.losses, plan_.ratio);
    each.gain = gain_over(trials_.front(), trial, plan_.ratio);
    each.unseen = std::numeric_limits<double>::quiet_NaN();
    each.unseen_gain = {each.unseen, each.unseen};
    const auto lower = [&](std::size_t other) {
      return mean_over_folds(trials_[other].losses, plan_.ratio).mean < each.folds.mean;
    };
    const bool best = std::none_of(three_.begin(), three_.end(), lower);
    each.reason = place == 0 && best ? "best in folds, and no simpler formula is within one standard error"
                  : place == 0       ? "simplest formula within one standard error of the best"
                  : best             ? "best in folds, and less simple than the first"
                                     : "next in folds";
    const std::string hints = hints_of(from_, trial.structure);
    if (!hints.empty()) each.reason += "; " + hints;
    return each;
  }

  void say_verdict() {
    const std::string label(score_kind(made_.score).label), unseen = std::to_string(made_.unseen_rows) + " rows";
    const std::int64_t tried = made_.screened;
    if (made_.suggested.empty()) {
      const auto fitted =
          std::count_if(trials_.begin() + 1, trials_.end(), [](const Trial& trial) { return !trial.losses.empty(); });
      made_.verdict =
          made_.finished
              ? fmt::format(
                    "nothing found beyond the mean: of {} formulas none is better in folds by more than a "
                    "standard error",
                    tried)
              : fmt::format(
                    "nothing found beyond the mean before the time was over: of {} formulas {} were fitted; a "
                    "longer {} may find more",
                    tried, fitted, setting("budget"));
      return;
    }
    const Suggestion& first = made_.suggested.front();
    if (!(first.p < kSure) || std::isnan(first.unseen)) {
      made_.verdict = fmt::format(
          "nothing found beyond the mean: the best of {} formulas, {}, does not hold on {} that the search has not "
          "seen ({} {:.4g}, of the mean {:.4g}, p = {:.2g})",
          tried, first.formula, unseen, label, first.unseen, made_.unseen_mean, first.p);
      made_.suggested.clear();
      return;
    }
    made_.verdict = fmt::format(
        "{} predicts better than the mean: {} {:.4g} against {:.4g} on {} that the search has not seen ({})",
        first.formula, label, first.unseen, made_.unseen_mean, unseen,
        first.p < 0.001 ? "p < 0.001" : fmt::format("p = {:.1g}", first.p));
  }

  const Table& table_;
  const std::string target_;
  const SuggestOptions& options_;
  const double budget_ =
      options_.budget.empty() ? std::numeric_limits<double>::infinity() : budget_seconds(options_.budget);
  SuggestControl control_;
  const Stopwatch watch_;
  Suggestions made_;
  Division division_;
  Ingredients from_;
  Table learned_;  // the rows that the search may fit
  FoldPlan plan_;
  std::string likelihood_;
  const LossKind* loss_ = nullptr;
  std::vector<Trial> trials_;  // by fits; the first is the mean
  std::size_t favourite_ = 0;  // the most promising one by linear models
  std::vector<std::size_t> three_;
};

}  // namespace
}  // namespace ick::detail

namespace ick {

Suggestions suggest(const Table& table, const std::string& target, const SuggestOptions& options,
                    const SuggestControl& control) {
  return detail::Suggesting(table, target, options, control).run();
}

}  // namespace ick
