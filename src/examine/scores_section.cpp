#include "examine/examined.h"
#include "ick/base/text.h"

// Scores, beside those of simpler models on the same rows.
namespace ick {

namespace {

constexpr const char* kScoredLevel = "0.9";

double value_in(const std::map<std::string, double>& by_level, const std::string& level) {
  const auto found = by_level.find(level);
  return found == by_level.end() ? std::nan("") : found->second;
}

std::vector<Entry> scores_row(const std::string& name, const Scores& s) {
  return {words_entry(name),
          number_entry(s.rmse),
          number_entry(s.mae),
          number_entry(s.r2, 3),
          number_entry(s.nlpd),
          number_entry(s.crps),
          share_entry(value_in(s.coverage, kScoredLevel)),
          number_entry(value_in(s.width, kScoredLevel))};
}

std::vector<Entry> scores_row(const std::string& name, const ClassScores& s) {
  return {words_entry(name),
          share_entry(s.accuracy),
          number_entry(s.log_loss),
          number_entry(s.brier),
          number_entry(s.calibration_error, 3),
          share_entry(value_in(s.coverage, kScoredLevel))};
}

std::vector<std::string> scores_header(bool classes) {
  if (classes) return {"model", "accuracy", "log loss", "Brier score", "calibration error", "90% sets cover"};
  return {"model", "rmse", "mae", "R2", "nlpd", "crps", "90% covers", "width of 90%"};
}

const char* const kMeaning =
    "rmse and mae are errors of the mean, in the target's units; R2 is the share of the variance that is predicted; "
    "nlpd, the negative log density of what was observed, and crps judge the whole distribution: lower is better. ";

}  // namespace

std::optional<Section> scores_section(const Examined& all) {
  Section section{"scores", "How well does it predict?", {}};
  if (all.scored) {
    TextTable table;
    table.id = "scores", table.header = scores_header(all.classes());
    const auto add = [&](const std::string& name, const auto& scores) {
      table.rows.push_back(scores_row(name, scores));
    };
    if (all.classes()) {
      add("this model", all.evaluation.class_scores);
      for (const ScoredModel& each : all.baselines) add(each.name, each.class_scores);
      table.caption =
          "Scores of " + all.rows_text() + ". Log loss and Brier score judge probabilities: lower is better.";
    } else {
      add("this model", all.evaluation.scores);
      for (const ScoredModel& each : all.baselines) add(each.name, each.scores);
      table.caption = "Scores of " + all.rows_text() + ". " + kMeaning;
      if (std::isfinite(all.evaluation.scores.msll)) {
        table.caption +=
            fmt::format("Against mean and variance of the training rows, its nlpd is {} by {:.3g}.",
                        all.evaluation.scores.msll < 0.0 ? "better" : "worse", std::abs(all.evaluation.scores.msll));
      }
    }
    std::size_t best = 0;
    const auto loss_of_row = [&](std::size_t r) { return table.rows[r][all.classes() ? 2 : 1].value; };
    for (std::size_t r = 1; r < table.rows.size(); ++r) {
      if (loss_of_row(r).value_or(1e300) < loss_of_row(best).value_or(1e300)) best = r;
    }
    if (table.rows.size() > 1) table.best = best;
    section.parts.emplace_back(std::move(table));
  }
  TextTable kept;
  kept.id = "scores_of_the_fit", kept.header = scores_header(all.classes());
  kept.caption =
      "Scores that the fit kept, of a model that had not seen these rows. Intervals of validation rows are before "
      "calibration, for which they may have served.";
  const FitReport& fit = all.fit;
  const auto add_kept = [&](const std::string& name, const auto& scores) {
    if (scores) kept.rows.push_back(scores_row(fmt::format("{} ({})", name, rows_count(scores->rows)), *scores));
  };
  add_kept("holdout: " + fit.holdout_split, fit.holdout),
      add_kept("validation: " + fit.validation_split, fit.validation);
  add_kept("holdout: " + fit.holdout_split, fit.class_holdout);
  add_kept("validation: " + fit.validation_split, fit.class_validation);
  if (!kept.rows.empty()) section.parts.emplace_back(std::move(kept));
  if (section.parts.empty()) return std::nullopt;
  return section;
}

}  // namespace ick
