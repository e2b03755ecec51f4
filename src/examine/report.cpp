#include "ick/examine/report.h"

#include <algorithm>
#include <array>

#include "examine/examined.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/fit/fit.h"
#include "ick/look/look.h"
#include "ick/store/model_directory.h"
#include "ick/table/split.h"

namespace ick {

std::span<const SectionRule> section_rules() {
  static constexpr std::array kRules = {
      SectionRule{"scores", scores_section},
      SectionRule{"predicted-and-observed", observed_section},
      SectionRule{"classes", classes_section},
      SectionRule{"time", time_section},
      SectionRule{"map", map_section},
      SectionRule{"calibration", calibration_section},
      SectionRule{"effects", effects_section},
      SectionRule{"kernels", kernels_section},
      SectionRule{"residuals", residuals_section},
      SectionRule{"support", support_section},
      SectionRule{"exact", exact_section},
      SectionRule{"learning", learning_section},
      SectionRule{"settings", settings_section},
  };
  return kRules;
}

namespace {

// Which rows of the table the report is about, and which the model was trained on.
struct RowsOfReport {
  std::vector<std::int64_t> rows, training;
  RowsSeen seen = RowsSeen::unknown;
};

std::vector<std::int64_t> true_rows(const std::vector<bool>& mask) {
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    if (mask[i]) rows.push_back(static_cast<std::int64_t>(i));
  }
  return rows;
}

RowsOfReport rows_of_report(const StoredModel& stored, const Table& table) {
  RowsOfReport found;
  const FitReport& fit = stored.report;
  if (fingerprint(table) != stored.origin.fingerprint) {
    found.rows = true_rows(std::vector<bool>(static_cast<std::size_t>(table.rows), true));
    return found;
  }
  // As plan_rows sets them apart: of rows with a target, the holdout first.
  const FitPlan plan = plan_rows(table, parse_formula(stored.model->formula()), fit.options);
  found.training = true_rows(plan.training);
  const bool second = fit.options.refit == Refit::yes;
  if (second) {
    const std::vector<std::int64_t> validation = true_rows(plan.validation);
    found.training.insert(found.training.end(), validation.begin(), validation.end());
    std::sort(found.training.begin(), found.training.end());
  }
  const std::vector<std::int64_t> held = true_rows(plan.holdout), validation = true_rows(plan.validation);
  if (!held.empty()) {
    found.rows = held, found.seen = RowsSeen::holdout;
  } else if (!validation.empty() && !second) {
    found.rows = validation, found.seen = RowsSeen::validation;
  } else {
    found.rows = found.training, found.seen = RowsSeen::training;
  }
  return found;
}

// Where and when rows are, by a look at the table.
Coordinates coordinates_of(const Predictor& model, const Table& whole, const Table& rows) {
  Coordinates found;
  const TableLook seen = look(whole);
  std::vector<std::string> read;
  for (const ColumnInfo& info : model.columns()) read.push_back(info.name);
  const TimeLook* time = nullptr;
  for (const TimeLook& each : seen.times) {
    const bool is_read = std::ranges::find(read, each.column) != read.end();
    if (each.instants >= 10 && (time == nullptr || (is_read && std::ranges::find(read, time->column) == read.end()))) {
      time = &each;
    }
  }
  if (seen.place) {
    found.north = seen.place->north, found.east = seen.place->east, found.sphere = seen.place->sphere;
    const auto missing = [&](const std::string& name) { return rows.find(name) == nullptr; };
    if (missing(found.north) || missing(found.east)) found.north.clear(), found.east.clear();
  }
  found.series.assign(static_cast<std::size_t>(rows.rows), 0);
  found.names = {""};
  if (time == nullptr) return found;
  found.time = time->column, found.step = time->step;
  if (time->series.empty() || time->most_rows < 2) return found;
  found.names.clear();
  std::map<std::string, std::int64_t> numbers;
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    std::string name;
    for (const std::string& column : time->series) {
      const Column& of = rows.column(column);
      const double value = of.info.type == ColumnType::text ? 0.0 : of.values[static_cast<std::size_t>(i)];
      const std::string cell = of.info.type == ColumnType::text ? of.text[static_cast<std::size_t>(i)]
                               : of.info.type == ColumnType::category && value >= 0.0
                                   ? of.info.levels[static_cast<std::size_t>(value)]
                                   : fmt::format("{:.6g}", value);
      name += (name.empty() ? "" : ", ") +
              (time->series.size() > 1 || of.info.type != ColumnType::category ? column + " " + cell : cell);
    }
    const auto [place, is_new] = numbers.try_emplace(name, std::ssize(found.names));
    if (is_new) found.names.push_back(name);
    found.series[static_cast<std::size_t>(i)] = place->second;
  }
  return found;
}

// Simple models of the same training rows, where these are known.
std::vector<ScoredModel> baselines_of(const StoredModel& stored, const Table& training, const Table& rows,
                                      const Coordinates& where) {
  std::vector<ScoredModel> found;
  constexpr std::int64_t kMostRows = 20'000;
  const Table some = select_rows(training, some_rows_of(training.rows, kMostRows, stored.report.options.seed));
  std::vector<std::pair<std::string, std::string>> wanted = {
      {"mean", stored.model->classes().empty() ? "the mean" : "the shares of the classes"}};
  if (!where.time.empty()) wanted.emplace_back("seasonal", "the seasonal mean");
  for (const auto& [name, text] : wanted) {
    if (stored.report.options.model == name) continue;
    FitOptions options = stored.report.options;
    options.model = name, options.holdout = {}, options.noise_formula.clear();
    try {
      const PredictorFit fit = fit_predictor(some, parse_formula(stored.model->formula()), options);
      const Evaluation seen = fit.model->evaluate(rows);
      found.push_back({text, seen.scores, seen.class_scores});
    } catch (const Error&) {
      continue;  // it cannot serve this formula
    }
  }
  return found;
}

}  // namespace

Page report_of(const StoredModel& stored, const Table* table, const ReportOptions& options) {
  Examined all{*stored.model, stored.report, options};
  all.stored = &stored;
  all.version = stored.version, all.directory = stored.directory, all.source = stored.origin.path;
  Table rows, training;
  if (table != nullptr) {
    if (table->rows == 0) throw DataError("the table has no rows to report on");
    for (const ColumnInfo& info : stored.model->columns()) table->column(info.name);
    RowsOfReport of = rows_of_report(stored, *table);
    all.seen = of.seen, all.whole = table;
    all.rows_of_kind = std::ssize(of.rows);
    std::vector<std::int64_t> drawn;
    for (const std::int64_t k :
         some_rows_of(std::ssize(of.rows), options.rows, seed_for(options.seed, "report rows"))) {
      drawn.push_back(of.rows[static_cast<std::size_t>(k)]);
    }
    rows = select_rows(*table, drawn);
    all.table = &rows;
    if (!of.training.empty() && of.seen != RowsSeen::training) {
      training = select_rows(*table, of.training);
      all.training = &training;
    }
    const Column* const target = table->find(all.target());
    all.scored = target != nullptr && target->missing < table->rows;
    all.where = coordinates_of(all.model, *table, rows);
    if (all.scored) {
      all.evaluation = all.model.evaluate(rows, options.level);
    } else {
      PredictOptions wanted;
      wanted.level = options.level;
      all.evaluation.prediction = all.model.predict(rows, wanted);
    }
    if (!all.model.support_names().empty()) {
      PredictOptions wanted;
      wanted.support = true;
      all.evaluation.prediction.support = all.model.predict(rows, wanted).support;
    }
    if (all.has_residuals()) {
      const Numbers& values = rows.column(all.target()).values;
      all.observed.assign(values.begin(), values.end());
      for (std::size_t i = 0; i < all.observed.size(); ++i) {
        all.residual.push_back(all.observed[i] - all.prediction().mean[i]);
      }
    }
    if (all.scored && all.training != nullptr) {
      all.baselines = baselines_of(stored, training, rows, all.where);
    }
  }
  Page page;
  add_headline(all, page);
  for (const SectionRule& rule : section_rules()) {
    if (std::optional<Section> section = rule.make(all)) page.sections.push_back(*std::move(section));
  }
  return page;
}

}  // namespace ick
