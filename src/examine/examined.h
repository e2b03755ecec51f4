#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ick/examine/report.h"
#include "ick/examine/statistics.h"
#include "ick/fit/report.h"
#include "ick/predict/predictor.h"
#include "ick/report/page.h"
#include "ick/table/table.h"

// What the sections of a report are made from: a model, and some rows of a table with what the model says of them.
namespace ick {

// How the rows stand to the fit.
enum class RowsSeen { holdout, validation, training, unknown };

struct ScoredModel {  // a simpler model, on the same rows
  std::string name;
  Scores scores;
  ClassScores class_scores;
};

// The columns that say when, where and which series.
struct Coordinates {
  std::string time;                  // "": none
  double step = 0.0;                 // days, from one row of a series to the next
  std::vector<std::string> names;    // of the series, by number
  std::vector<std::int64_t> series;  // of each row
  std::string north, east;           // "": no place
  bool sphere = false;
};

struct Examined {
  const Predictor& model;
  const FitReport& fit;
  const ReportOptions& options;
  const StoredModel* stored = nullptr;
  std::string version = {}, directory = {}, source = {};  // source: the table it was learned from

  const Table* table = nullptr;     // the rows; null: none
  const Table* whole = nullptr;     // the table that they are of
  const Table* training = nullptr;  // those it was trained on, where they are known
  RowsSeen seen = RowsSeen::unknown;
  std::int64_t rows_of_kind = 0;  // before they were drawn

  bool scored = false;                               // the table has the target
  Evaluation evaluation = {};                        // its prediction always, the rest where it is scored
  std::vector<double> observed = {}, residual = {};  // of each row, in the target's units; not a number where unknown
  Coordinates where = {};
  std::vector<ScoredModel> baselines = {};

  bool classes() const { return !model.classes().empty(); }
  bool has_rows() const { return table != nullptr; }
  bool has_numbers() const { return has_rows() && !classes(); }
  bool has_residuals() const { return has_numbers() && scored; }
  const Prediction& prediction() const { return evaluation.prediction; }
  const std::string& target() const { return model.target().name; }
  std::string axis_title() const;  // "pm25 (ug/m3)"
  std::string rows_text() const;   // "365 rows held out of the fit"
};

// One section: a row of the table, and a file of its own. Without an answer where it does not apply.
struct SectionRule {
  std::string_view id;
  std::optional<Section> (*make)(const Examined& all);
};
std::span<const SectionRule> section_rules();  // in the order of the page

std::optional<Section> scores_section(const Examined& all);
std::optional<Section> observed_section(const Examined& all);
std::optional<Section> classes_section(const Examined& all);
std::optional<Section> time_section(const Examined& all);
std::optional<Section> map_section(const Examined& all);
std::optional<Section> calibration_section(const Examined& all);
std::optional<Section> residuals_section(const Examined& all);
std::optional<Section> effects_section(const Examined& all);
std::optional<Section> kernels_section(const Examined& all);
std::optional<Section> learning_section(const Examined& all);
std::optional<Section> support_section(const Examined& all);
std::optional<Section> exact_section(const Examined& all);
std::optional<Section> settings_section(const Examined& all);

// Of the two first columns of numbers or times; none where there are not two.
std::optional<Figure> interaction_figure(const Examined& all, const Table& rows,
                                         const std::vector<std::string>& columns);

// Of the residuals, where rows have times.
std::optional<Autocorrelation> residual_autocorrelation(const Examined& all);

// Verdict, remarks and the numbers at the top, once the sections are there.
void add_headline(const Examined& all, Page& page);

// Texts and numbers. --------------------------------------------------------------------------------------------------

inline Entry words_entry(std::string text) { return {std::move(text), std::nullopt}; }
inline Entry number_entry(double value, int digits = 4) {
  if (!std::isfinite(value)) return {"-", std::nullopt};
  return {fmt::format("{:.{}g}", value, digits), value};
}
inline Entry share_entry(double share) {
  if (!std::isfinite(share)) return {"-", std::nullopt};
  return {fmt::format("{:.1f}%", 100.0 * share), share};
}
inline Entry count_entry(std::int64_t count) { return {std::to_string(count), static_cast<double>(count)}; }
inline std::string rows_count(std::int64_t count, const std::string& word = "row") {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}
std::string duration_words(double days);                                 // "1 h", "3.5 d", "2 y"
std::string short_text(const std::string& text, std::size_t most = 40);  // of names and levels in titles
std::string id_text(const std::string& text);                            // letters, digits and hyphens: for Figure::id
double sd_of(std::span<const double> values);                            // what is not a number left out
std::vector<std::int64_t> scored_rows(const Examined& all);              // that have a residual

// Line segments from low to high at each place, for bars of error: a line that is broken after each.
PlotLayer error_bars(const std::vector<double>& at, const std::vector<double>& low, const std::vector<double>& high,
                     Tone tone, bool across = false);

}  // namespace ick
