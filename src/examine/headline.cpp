#include <algorithm>

#include "examine/examined.h"

// Verdict, warnings and the few numbers at the top.
namespace ick {

namespace {

double share_inside(const Examined& all) {
  double inside = 0.0;
  for (const std::int64_t row : all.evaluation.rows) inside += all.evaluation.inside[static_cast<std::size_t>(row)];
  return inside / static_cast<double>(all.evaluation.rows.size());
}

const ScoredModel* best_baseline(const Examined& all) {
  const ScoredModel* best = nullptr;
  for (const ScoredModel& each : all.baselines) {
    const bool better = best != nullptr && (all.classes() ? each.class_scores.log_loss < best->class_scores.log_loss
                                                          : each.scores.rmse < best->scores.rmse);
    if (best == nullptr || better) best = &each;
  }
  return best;
}

std::string verdict_text(const Examined& all) {
  if (!all.has_rows()) {
    const FitReport& fit = all.fit;
    if (fit.holdout || fit.validation) {
      const Scores& s = fit.holdout ? *fit.holdout : *fit.validation;
      return fmt::format("It predicts {:.0f}% of the variance of {} on {} rows that it had not seen (rmse {:.4g}).",
                         100.0 * s.r2, short_text(all.target()), s.rows, s.rmse);
    }
    if (fit.class_holdout || fit.class_validation) {
      const ClassScores& s = fit.class_holdout ? *fit.class_holdout : *fit.class_validation;
      return fmt::format("It tells the class of {:.1f}% of {} rows that it had not seen (log loss {:.4g}).",
                         100.0 * s.accuracy, s.rows, s.log_loss);
    }
    return "There are no rows to judge it by: give a table with the target.";
  }
  if (!all.scored) {
    return fmt::format("Predictions of {}. The table has no value of {}, so nothing here says how good they are.",
                       rows_count(all.table->rows), short_text(all.target()));
  }
  const ScoredModel* const other = best_baseline(all);
  std::string text;
  if (all.classes()) {
    const ClassScores& s = all.evaluation.class_scores;
    text = fmt::format("It tells the class of {:.1f}% of {}, with a log loss of {:.4g}", 100.0 * s.accuracy,
                       all.rows_text(), s.log_loss);
    if (other != nullptr) {
      text += fmt::format("; {} have {:.4g}{}", other->name, other->class_scores.log_loss,
                          other->class_scores.log_loss <= s.log_loss ? ", which is no worse" : "");
    }
    return text + ".";
  }
  const Scores& s = all.evaluation.scores;
  if (s.r2 > 0.0) {
    text = fmt::format("It predicts {:.0f}% of the variance of {} on {} (rmse {:.4g}", 100.0 * s.r2,
                       short_text(all.target()), all.rows_text(), s.rmse);
  } else if (std::isfinite(s.r2)) {
    text = fmt::format("It predicts {} no better than a constant would on {} (R2 {:.2f}, rmse {:.4g}",
                       short_text(all.target()), all.rows_text(), s.r2, s.rmse);
  } else {
    text = fmt::format("Its rmse on {} is {:.4g} (", all.rows_text(), s.rmse);
  }
  if (other != nullptr) text += fmt::format("; {} has {:.4g}", other->name, other->scores.rmse);
  text += fmt::format("). Its {:.0f}% intervals cover {:.1f}%.", 100.0 * all.options.level, 100.0 * share_inside(all));
  if (other != nullptr && other->scores.rmse <= s.rmse) {
    text += fmt::format(" {} predicts at least as well: this model is not worth its cost here.", other->name);
    text[text.rfind(". ") + 2] =
        static_cast<char>(std::toupper(static_cast<unsigned char>(text[text.rfind(". ") + 2])));
  }
  return text;
}

std::vector<Remark> warnings(const Examined& all) {
  using Kind = Remark::Kind;
  std::vector<Remark> found;
  if (all.has_rows() && all.seen == RowsSeen::training) {
    found.push_back({Kind::warning,
                     "The rows of this report are those the model was trained on: its scores and pictures flatter it. "
                     "For an honest report fit with a holdout, or give a table that it has not seen."});
  }
  if (all.has_rows() && all.scored) {
    const double share = share_inside(all), level = all.options.level;
    const auto n = static_cast<double>(all.evaluation.rows.size());
    const double error = std::sqrt(level * (1.0 - level) / n);
    constexpr double kTold = 0.05;  // of 90% from 37 rows on: fewer cannot tell that intervals are right
    if (share < level - std::max(3.0 * error, 0.03)) {
      found.push_back(
          {Kind::warning, fmt::format("The {:.0f}% {} {:.1f}% of the rows: too few. See \"Can the {} be trusted?\".",
                                      100.0 * level, all.classes() ? "sets hold" : "intervals hold", 100.0 * share,
                                      all.classes() ? "sets" : "intervals")});
    } else if (share > level + std::max(3.0 * error, 0.03) && !all.classes()) {
      found.push_back(
          {Kind::note, fmt::format("The {:.0f}% intervals hold {:.1f}% of the rows: wider than they need to be.",
                                   100.0 * level, 100.0 * share)});
    } else if (share > level - 2.0 * error - 0.02 && error < kTold) {
      found.push_back({Kind::good, fmt::format("The {:.0f}% {} hold {:.1f}% of the rows, about what they promise.",
                                               100.0 * level, all.classes() ? "sets" : "intervals", 100.0 * share)});
    }
  }
  constexpr double kLasts = 0.3, kSure = 0.01;
  const std::optional<Autocorrelation> rest = residual_autocorrelation(all);
  if (rest && rest->p < kSure && rest->value[0] > kLasts) {
    found.push_back(
        {Kind::warning, fmt::format("Errors last: residuals {} apart correlate by {:.2f}. See \"What is left "
                                    "over\".",
                                    duration_words(rest->step), rest->value[0])});
  }
  if (all.scored && all.seen == RowsSeen::unknown) {
    found.push_back({Kind::note,
                     "Rows of another table than that of the fit: if the model was trained on some of them, "
                     "their scores flatter it."});
  }
  std::vector<std::string> edges;
  for (const ParameterValue& each : all.model.parameters()) {
    if (each.at_edge) edges.push_back(each.path);
  }
  for (const std::string& path : edges) {
    found.push_back({Kind::warning, path + " is at the edge of its prior: the data say little of it, or the formula "
                                           "lacks something."});
  }
  if (all.has_rows() && !all.prediction().support.empty()) {
    const std::vector<std::string> names = all.model.support_names();
    for (std::size_t s = 0; s < names.size(); ++s) {
      const std::vector<Support>& of = all.prediction().support[s];
      const double share = static_cast<double>(std::count(of.begin(), of.end(), Support::extrapolating)) /
                           static_cast<double>(of.size());
      if (share > 0.1) {
        found.push_back({Kind::warning, fmt::format("{:.0f}% of the rows lie beyond the training rows in {}.",
                                                    100.0 * share, short_text(names[s]))});
      }
    }
  }
  for (const Message& each : all.fit.remarks) found.push_back({Kind::note, all.options.said(each)});
  if (all.has_rows() && all.rows_of_kind > all.table->rows) {
    found.push_back({Kind::note, fmt::format("Of {} rows, {} were drawn at random (seed {}); all numbers are of these.",
                                             all.rows_of_kind, all.table->rows, all.options.seed)});
  }
  std::stable_sort(found.begin(), found.end(), [](const Remark& a, const Remark& b) {
    return (a.kind == Kind::warning) > (b.kind == Kind::warning);
  });
  return found;
}

TextTable headline_table(const Examined& all) {
  TextTable table;
  table.id = "headline", table.header = {"score", "value"};
  const auto add = [&](const std::string& name, Entry entry) {
    if (entry.value) table.rows.push_back({words_entry(name), std::move(entry)});
  };
  if (all.scored && all.classes()) {
    const ClassScores& s = all.evaluation.class_scores;
    add("accuracy", share_entry(s.accuracy)), add("log loss", number_entry(s.log_loss));
    add("calibration error", number_entry(s.calibration_error, 3)), add("rows", count_entry(s.rows));
  } else if (all.scored) {
    const Scores& s = all.evaluation.scores;
    add("rmse", number_entry(s.rmse)), add("R2", number_entry(s.r2, 3));
    add(fmt::format("{:.0f}% interval covers", 100.0 * all.options.level), share_entry(share_inside(all)));
    add("nlpd", number_entry(s.nlpd)), add("rows", count_entry(s.rows));
  }
  return table;
}

}  // namespace

void add_headline(const Examined& all, Page& page) {
  page.title = short_text(all.model.formula(), 400);
  page.subtitle = (all.directory.empty() ? std::string("A model") : "Model " + all.directory) +
                  (all.has_rows() ? fmt::format(", on {}{}", all.rows_text(),
                                                all.options.data.empty() ? "" : " (" + all.options.data + ")")
                                  : ", without rows");
  page.verdict = verdict_text(all);
  page.remarks = warnings(all);
  if (TextTable table = headline_table(all); !table.rows.empty()) page.headline.push_back(std::move(table));
}

}  // namespace ick
