#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/data_options.h"
#include "ick/examine/report.h"
#include "ick/train/options.h"

// What `ick report`, and --report of other commands, write.
namespace ick {

struct ReportFiles {
  std::string out;    // the page, *.html; "": none
  std::string json;   // the same numbers; "": beside the page, report.json of report.html
  std::string plots;  // folder of the pictures, one by one; "": none

  std::string json_place() const;
  bool wanted() const { return !out.empty() || !json.empty() || !plots.empty(); }
};

// --report and --plots of a command that does something else in the first place.
void add_report(CLI::App& app, ReportFiles& files);

// Before work is spent: UsageError for a page without a name, in the place of the table, or in the folder of a model.
void check_report_place(const ReportFiles& files, const std::string& data, const std::string& model = "");

// Writes them, each whole or not at all, and says on stderr where they are.
void write_report(const Page& page, const ReportFiles& files);

// Settings spelled as flags, and what the table is called.
ReportOptions report_options(const std::string& data, std::uint64_t seed = 0);

// "ick fit air.csv 'y ~ rbf(x)' --out air.model --holdout last=20%", as a shell takes it.
std::string fit_command(const std::string& data, const std::string& formula, const std::string& model,
                        const DataOptions& reading, const FitOptions& options);

// As a shell takes it: in quotes, where it needs them.
std::string shell_word(const std::string& text);

// " --folds 4"; "" of a setting that is the usual one, or has no part in the result.
template <class Struct>
std::string flag_text(const Option<Struct>& row, const Struct& options) {
  const OptionValue value = row.get(options);
  if (value == row.standard || row.group == OptionGroup::running || row.group == OptionGroup::library) return "";
  const std::string flag = " " + row.as_flag();
  if (row.is_switch()) return flag;
  if (!row.is_list() || row.kind == OptionKind::integers) return flag + " " + shell_word(row.print(value));
  std::string text;  // --unit a=m --unit b=s
  for (const std::string& word : row.words_of(value)) text += flag + " " + shell_word(word);
  return text;
}
template <class Struct>
std::string flags_text(const Struct& options) {
  std::string text;
  for (const Option<Struct>& row : option_table<Struct>()) text += flag_text(row, options);
  return text;
}

}  // namespace ick
