#include <algorithm>
#include <cmath>

#include "examine/examined.h"
#include "ick/evaluate/comparison.h"

// Cross-validations and comparisons as pages.
namespace ick {

namespace {

std::string score_words(const std::string& name) { return std::string(score_kind(name).label); }

// Scores that say most, of numbers or of classes.
std::vector<std::string> told_scores(bool classes) {
  return classes ? std::vector<std::string>{"accuracy", "log_loss", "brier", "coverage"}
                 : std::vector<std::string>{"rmse", "mae", "r2", "nlpd", "crps", "coverage"};
}

Entry estimate_entry(const std::string& name, const Estimate& estimate) {
  if (!std::isfinite(estimate.mean)) return words_entry("-");
  const bool share = name == "coverage" || name == "accuracy";
  const double unit = share ? 100.0 : 1.0;
  std::string text = fmt::format("{:.4g}", unit * estimate.mean);
  if (std::isfinite(estimate.error)) text += fmt::format(" +- {:.2g}", unit * estimate.error);
  return {text + (share ? "%" : ""), estimate.mean};
}

Section folds_part(const FoldPlan& plan, const ReportOptions& options) {
  Section section{"settings", "To have the same again", {}};
  TextTable table;
  table.id = "folds", table.header = {"fold", "rows to learn from", "rows to test"};
  table.caption = fmt::format("{} folds by {}: {}.", plan.folds.size(), print(plan.rule), plan.reason);
  for (const Fold& fold : plan.folds) {
    table.rows.push_back({words_entry(short_text(fold.name, 60)), count_entry(std::ssize(fold.training)),
                          count_entry(std::ssize(fold.test))});
  }
  section.parts.emplace_back(std::move(table));
  for (const std::string& each : options.commands) section.parts.emplace_back(CommandLine{each});
  return section;
}

// One dot for each fold.
Figure scores_figure(const std::string& score, const std::vector<ScoreValues>& folds, const FoldPlan& plan) {
  Figure figure;
  figure.id = "folds-" + id_text(score), figure.title = score_words(score) + " of each fold";
  figure.x.title = score_words(score), figure.y.scale = AxisScale::levels, figure.aspect = 2.2;
  PlotLayer points, mean;
  points.mark = Mark::points, points.tone = Tone::model, points.name = "fold";
  mean.mark = Mark::rule, mean.tone = Tone::reference, mean.name = "mean";
  double sum = 0.0, n = 0.0;
  std::size_t worst = 0;
  const auto badness = [&](double value) {  // of coverage what it is off by
    const ScoreKind::Better better = score_kind(score).better;
    if (better == ScoreKind::Better::neither) return std::abs(value - plan.level);
    return better == ScoreKind::Better::larger ? -value : value;
  };
  for (std::size_t f = 0; f < folds.size(); ++f) {
    const double value = folds[f].at(score);
    figure.y.levels.push_back(short_text(plan.folds[f].name, 36));
    if (!std::isfinite(value)) continue;
    points.x.push_back(value), points.y.push_back(static_cast<double>(f));
    sum += value, n += 1.0;
    if (badness(value) > badness(folds[worst].at(score))) worst = f;
  }
  mean.x = {sum / n};
  figure.layers = {mean, points};
  figure.caption = fmt::format(
      "A fold far from the others is a time, place or group that is unlike the rest. The worst is {}, with {:.4g}; the "
      "mean is {:.4g}.",
      short_text(plan.folds[worst].name, 60), folds[worst].at(score), sum / n);
  return figure;
}

Figure out_of_fold_figure(const CrossValidation& all, const std::string& target, const ReportOptions& options) {
  std::vector<double> x, y;
  for (const FoldResult& fold : all.folds) {
    x.insert(x.end(), fold.unseen.mean.begin(), fold.unseen.mean.end());
    y.insert(y.end(), fold.unseen.target.begin(), fold.unseen.target.end());
  }
  Figure figure;
  figure.id = "out-of-fold", figure.title = "Predicted out of fold, and observed";
  figure.x.title = "predicted " + short_text(target), figure.y.title = "observed " + short_text(target);
  figure.square = true, figure.aspect = 1.0;
  PlotLayer points, same;
  points.mark = Mark::points, points.tone = Tone::data, points.name = "rows";
  for (const std::int64_t k : some_rows_of(std::ssize(x), options.points, options.seed)) {
    points.x.push_back(x[static_cast<std::size_t>(k)]), points.y.push_back(y[static_cast<std::size_t>(k)]);
  }
  const auto ends = [&](const std::vector<double>& v) { return std::minmax_element(v.begin(), v.end()); };
  const double low = std::min(*ends(x).first, *ends(y).first), high = std::max(*ends(x).second, *ends(y).second);
  same.mark = Mark::line, same.tone = Tone::reference, same.name = "equal", same.x = {low, high}, same.y = {low, high};
  const std::size_t drawn = points.x.size();
  figure.layers = {points, same};
  const double rank = spearman(x, y);
  figure.caption = fmt::format(
      "Each row as the model of a fold predicts it that has not seen it. Points near the line are predicted well; the "
      "rank correlation is {:.3f}.{}",
      rank, drawn < x.size() ? fmt::format(" {} of {} rows are drawn, at random.", drawn, x.size()) : "");
  return figure;
}

}  // namespace

Page report_of(const CrossValidation& all, const std::string& formula, const Table& table,
               const ReportOptions& options) {
  Page page;
  const bool classes = all.folds.front().unseen.of_classes();
  page.title = short_text(formula, 400);
  page.subtitle = fmt::format("Cross-validation in {} folds by {}, {}{}", all.folds.size(), print(all.plan.rule),
                              rows_count(table.rows), options.data.empty() ? "" : " of " + options.data);
  const std::string score = classes ? "log_loss" : "rmse";
  const Estimate& main = all.average.at(score);
  page.verdict = fmt::format("On rows that it has not learned from, its {} is {:.4g}", score_words(score), main.mean);
  if (std::isfinite(main.error)) page.verdict += fmt::format(" (standard error {:.2g} over folds)", main.error);
  if (!classes) {
    const double r2 = all.average.at("r2").mean;
    page.verdict += fmt::format("; R2 {:.3f}{}", r2, r2 <= 0.0 ? ", no better than a constant" : "");
  }
  const double coverage = all.average.at("coverage").mean;
  page.verdict += fmt::format(". Its {:.0f}% {} cover {:.1f}%.", 100.0 * all.plan.level, classes ? "sets" : "intervals",
                              100.0 * coverage);
  if (coverage < all.plan.level - 0.05) {
    page.remarks.push_back(
        {Remark::Kind::warning, fmt::format("{} cover {:.1f}% instead of {:.0f}%: too few.",
                                            classes ? "Sets" : "Intervals", 100.0 * coverage, 100.0 * all.plan.level)});
  }
  for (const Message& each : all.plan.remarks) page.remarks.push_back({Remark::Kind::note, options.said(each)});
  TextTable scores, few;
  few.id = "headline", few.header = {"score", "value"};
  scores.id = "scores", scores.header = {"score", "mean over folds, standard error"};
  scores.caption = "Standard errors are of means over folds whose training rows overlap (Nadeau and Bengio 2003).";
  for (const std::string& name : told_scores(classes)) {
    const Estimate& estimate = all.average.at(name);
    const bool share = name == "coverage" || name == "accuracy";
    scores.rows.push_back({words_entry(score_words(name)), estimate_entry(name, estimate)});
    few.rows.push_back(
        {words_entry(score_words(name)), share ? share_entry(estimate.mean) : number_entry(estimate.mean)});
  }
  page.headline.push_back(std::move(few));
  Section folds{"folds", "Fold by fold", {}};
  folds.parts.emplace_back(std::move(scores));
  folds.parts.emplace_back(scores_figure(score, all.scores, all.plan));
  folds.parts.emplace_back(scores_figure("coverage", all.scores, all.plan));
  page.sections.push_back(std::move(folds));
  if (!classes) {
    const std::string target = formula.substr(0, formula.find('~'));
    page.sections.push_back({"out-of-fold", "Predicted and observed", {out_of_fold_figure(all, target, options)}});
  }
  page.sections.push_back(folds_part(all.plan, options));
  return page;
}

Page report_of(const Leaderboard& all, const Table& table, const ReportOptions& options) {
  Page page;
  const bool classes = score_kind(all.score).of_classes;
  const Standing& best = all.standings.front();
  page.title = "Comparison of " + std::to_string(all.standings.size()) + " models";
  page.subtitle = fmt::format("{} folds by {}, {}{}", all.plan.folds.size(), print(all.plan.rule),
                              rows_count(table.rows), options.data.empty() ? "" : " of " + options.data);
  page.verdict = all.verdict;
  for (const Message& each : all.plan.remarks) page.remarks.push_back({Remark::Kind::note, options.said(each)});
  if (all.not_predicted > 0) {
    page.remarks.push_back({Remark::Kind::note, fmt::format("{} that a candidate could not predict count for none.",
                                                            rows_count(all.not_predicted))});
  }
  Section section{"candidates", "Candidates", {}};
  TextTable table_of;
  table_of.id = "candidates", table_of.header = {"candidate", score_words(all.score), "difference to the best"};
  std::vector<std::string> others = told_scores(classes);
  std::erase(others, all.score);
  for (const std::string& name : others) table_of.header.push_back(score_words(name));
  table_of.header.push_back("seconds");
  table_of.caption = "Means over folds and their standard errors; differences are fold by fold.";
  Figure figure;
  figure.id = "candidates", figure.title = "Difference to the best, " + score_words(all.score);
  figure.x.title = score_words(all.score) + " less that of " + short_text(best.candidate.label, 40);
  figure.y.scale = AxisScale::levels, figure.aspect = 1.9;
  PlotLayer points, zero;
  points.mark = Mark::points, points.tone = Tone::model, points.name = "mean, two standard errors";
  zero.mark = Mark::rule, zero.tone = Tone::reference, zero.x = {0.0};
  std::vector<double> at, low, high;
  std::size_t equal = 0;
  for (std::size_t k = 0; k < all.standings.size(); ++k) {
    const Standing& each = all.standings[k];
    std::vector<Entry>& row = table_of.rows.emplace_back();
    row.push_back(words_entry(short_text(each.candidate.label, 80)));
    if (each.folds.empty()) {
      row.push_back(words_entry(each.status == Standing::Status::failed ? options.said(each.failure) : "out of time"));
      continue;
    }
    row.push_back(estimate_entry(all.score, each.scores.at(all.score)));
    row.push_back(k == 0 ? words_entry("best") : estimate_entry(all.score, each.difference));
    for (const std::string& name : others) row.push_back(estimate_entry(name, each.scores.at(name)));
    row.push_back(number_entry(each.seconds, 3));
    if (!std::isfinite(each.difference.mean)) continue;
    const auto place = static_cast<double>(figure.y.levels.size());
    figure.y.levels.push_back(short_text(each.candidate.label, 44));
    points.x.push_back(each.difference.mean), points.y.push_back(place);
    const double error = std::isfinite(each.difference.error) ? 2.0 * each.difference.error : 0.0;
    at.push_back(place), low.push_back(each.difference.mean - error), high.push_back(each.difference.mean + error);
    equal += k > 0 && std::abs(each.difference.mean) <= error;
  }
  table_of.best = 0;
  figure.layers = {zero, error_bars(at, low, high, Tone::model, /*across=*/true), points};
  figure.caption = fmt::format(
      "A bar that crosses the line is a candidate that may be as good as the best. Here {} of the {} others {}.", equal,
      points.x.size() - 1, equal == 1 ? "does" : "do");
  section.parts.emplace_back(std::move(figure));
  section.parts.emplace_back(std::move(table_of));
  page.sections.push_back(std::move(section));
  page.sections.push_back(folds_part(all.plan, options));
  return page;
}

}  // namespace ick
