#include "cli/data_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "cli/option_cli.h"
#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "ick/base/text.h"
#include "ick/fit/fit.h"
#include "ick/train/threads.h"

namespace ick {

namespace {

constexpr ColumnType kTypes[] = {ColumnType::number, ColumnType::integer, ColumnType::time, ColumnType::category,
                                 ColumnType::text};

ColumnInfo parse_type(const std::string& text) {
  const std::size_t equals = text.rfind('=', text.find(':'));
  if (equals == std::string::npos || equals == 0) {
    throw UsageError("--type " + text + ": expected column=type, as in --type station=category");
  }
  ColumnInfo info;
  info.name = text.substr(0, equals);
  std::string type = text.substr(equals + 1);
  if (const std::size_t colon = type.find(':'); colon != std::string::npos) {
    info.time_format = type.substr(colon + 1);
    type.resize(colon);
  }
  std::vector<std::string> known;
  for (const ColumnType each : kTypes) {
    known.emplace_back(column_type_name(each));
    if (known.back() != type) continue;
    info.type = each;
    return info;
  }
  throw UsageError("--type " + text + ": no type named \"" + type + "\"; there are " + join_words(known));
}

char parse_separator(const std::string& text) {
  if (text.empty()) return 0;
  if (text == "tab" || text == "\\t") return '\t';
  if (text.size() == 1) return text[0];
  throw UsageError("--separator " + text + ": expected one character, or tab");
}

}  // namespace

void DataOptions::add_to(CLI::App& command) { add_options(command, *this); }

ReadOptions DataOptions::read_options() const {
  if (threads > 0) {
    use_torch_threads(threads);
    set_workers(threads);
  } else {
    set_workers(default_threads());
  }
  ReadOptions options;
  options.separator = parse_separator(separator);
  for (const std::string& each : types) options.known.push_back(parse_type(each));
  options.missing.insert(options.missing.end(), missing.begin(), missing.end());
  options.threads = threads;
  options.cache = !no_cache;
  options.remark = [](const std::string& sentence) { fmt::print(stderr, "{}\n", sentence); };
  options.image_folder = images;
  options.image_cache = static_cast<std::int64_t>(1e6 * image_cache);
  return options;
}

ReadOptions DataOptions::read_options(const Formula& formula) const {
  return read_options(std::vector<Formula>{formula});
}

ReadOptions DataOptions::read_options(const std::vector<Formula>& formulas) const {
  ReadOptions options = read_options();
  const auto know = [&](const std::string& name, ColumnType type) {
    const bool stated = std::any_of(options.known.begin(), options.known.end(),
                                    [&](const ColumnInfo& each) { return each.name == name; });
    if (!stated) options.known.push_back({name, type, "", {}});
  };
  for (const Formula& formula : formulas) {
    for (const std::string& name : level_columns(formula)) know(name, ColumnType::category);
    for (const std::string& name : image_columns(formula)) know(name, ColumnType::text);
  }
  return options;
}

ReadOptions DataOptions::read_options(const Predictor& model, bool with_target,
                                      const std::vector<std::string>& further) const {
  ReadOptions options = read_options();
  std::vector<ColumnInfo> columns = model.columns();
  if (with_target) {
    const std::vector<ColumnInfo> more = model.scoring_columns();
    columns.insert(columns.end(), more.begin(), more.end());
  }
  for (ColumnInfo& info : columns) {
    options.only.push_back(info.name);
    // That all training rows had whole numbers binds no later row.
    if (info.type == ColumnType::integer) info.type = ColumnType::number;
  }
  for (const std::string& name : further) {
    if (std::find(options.only.begin(), options.only.end(), name) == options.only.end()) options.only.push_back(name);
  }
  check_types(options.only);
  std::erase_if(columns, [&](const ColumnInfo& info) {
    return std::any_of(options.known.begin(), options.known.end(),
                       [&](const auto& each) { return each.name == info.name; });
  });
  options.known.insert(options.known.end(), columns.begin(), columns.end());
  return options;
}

void DataOptions::check_types(const std::vector<std::string>& columns) const {
  for (const std::string& each : types) {
    const std::string name = parse_type(each).name;
    if (std::find(columns.begin(), columns.end(), name) != columns.end()) continue;
    const std::string guess = did_you_mean(name, columns);
    throw UsageError("--type " + each + ": no column named \"" + name + "\" is read" +
                     (guess.empty() ? "; there are " + join_words(columns) : guess));
  }
}

void check_columns(const DataOptions& reading, const FitOptions& options, const Table& table) {
  const std::vector<std::string> names = table.names();
  reading.check_types(names);
  for (const auto& [column, unit] : options.units) {
    if (table.find(column) != nullptr) continue;
    const std::string guess = did_you_mean(column, names);
    throw UsageError(fmt::format("--unit {}={}: no column named \"{}\"{}", column, unit, column,
                                 guess.empty() ? "; there are " + join_words(names) : guess));
  }
}

void refuse_table_inside(const std::string& table, const std::string& folder) {
  std::error_code table_error, folder_error;
  const std::filesystem::path file = std::filesystem::canonical(table, table_error);
  const std::filesystem::path place = std::filesystem::canonical(folder, folder_error);
  if (table_error || folder_error) return;  // one of them is not there
  if (std::mismatch(place.begin(), place.end(), file.begin(), file.end()).first != place.end()) return;
  throw UsageError(fmt::format(
      "--out: the table \"{}\" is in \"{}\", which the model would replace; give another place", table, folder));
}

std::vector<std::string> sentences(const EncodingNotes& notes) {
  std::vector<std::string> said;
  const auto rows = [](std::int64_t count) { return fmt::format("{} row{}", count, count == 1 ? "" : "s"); };
  if (notes.without_target > 0) said.push_back(rows(notes.without_target) + " without a target left out");
  if (notes.with_gaps > 0)
    said.push_back(rows(notes.with_gaps) + " left out, a column that a kernel reads, or an image, is missing");
  for (const auto& [column, count] : notes.filled) {
    said.push_back(fmt::format("column \"{}\": {} missing, filled in", column, rows(count)));
  }
  for (const auto& [column, count] : notes.unseen) {
    said.push_back(fmt::format("column \"{}\": {} with a level that training rows do not have", column, rows(count)));
  }
  return said;
}

}  // namespace ick
