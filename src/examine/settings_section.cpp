#include <algorithm>

#include "examine/examined.h"
#include "ick/train/options.h"

// How to have the same again.
namespace ick {

namespace {

TextTable data_table(const Examined& all) {
  TextTable table;
  table.id = "data", table.header = {"what", "text"};
  table.caption = "What it was learned from, and by what.";
  const auto add = [&](const std::string& name, const std::string& value) {
    table.rows.push_back({words_entry(name), words_entry(value)});
  };
  const FitReport& fit = all.fit;
  add("formula", all.model.formula());
  if (!all.source.empty()) add("table", all.source);
  add("rows", fmt::format("{}: {} to train, {} to validate ({}), {} held out ({})", fit.rows, fit.training_rows,
                          fit.validation_rows, fit.validation_split, fit.holdout_rows, fit.holdout_split));
  if (!fit.validation_reason.empty()) add("validation", fit.validation_reason);
  std::string columns;
  for (const ColumnInfo& info : all.model.columns()) columns += (columns.empty() ? "" : ", ") + short_text(info.name);
  add("reads", columns);
  if (all.has_rows() && !all.options.data.empty()) {
    add("this report", fmt::format("{} of {}", all.rows_text(), all.options.data));
  }
  add("fitted in", fmt::format("{:.1f} s", fit.seconds));
  add("written by", "ick " + all.version);
  return table;
}

TextTable chosen_table(const FitOptions& options) {
  TextTable table;
  table.id = "settings", table.header = {"setting", "value"};
  table.caption = "Settings that are not the usual ones, those among them that were chosen from the data.";
  for (const Option<FitOptions>& row : option_table<FitOptions>()) {
    const OptionValue value = row.get(options);
    if (row.name == "seed" || value == row.standard || row.group == OptionGroup::running ||
        row.group == OptionGroup::library)
      continue;
    table.rows.push_back({words_entry(row.name), words_entry(row.print(value))});
  }
  table.rows.push_back({words_entry("seed"), count_entry(static_cast<std::int64_t>(options.seed))});
  return table;
}

}  // namespace

std::optional<Section> settings_section(const Examined& all) {
  Section section{"settings", "To have the same again", {}};
  section.parts.emplace_back(data_table(all));
  section.parts.emplace_back(chosen_table(all.fit.options));
  for (const std::string& each : all.options.commands) section.parts.emplace_back(CommandLine{each});
  return section;
}

}  // namespace ick
