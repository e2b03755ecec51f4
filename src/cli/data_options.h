#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "ick/base/option.h"
#include "ick/formula/formula.h"
#include "ick/predict/composite.h"
#include "ick/table/csv.h"

namespace ick {

// How tables are read, the same for every command that reads one.
struct DataOptions {
  std::vector<std::string> types;    // column=type, or column=time:FORMAT
  std::vector<std::string> missing;  // further words for a missing value
  std::string separator;
  std::string images;           // folder that names of images are relative to; "": the table's
  double image_cache = 1000.0;  // megabytes
  bool no_cache = false;
  int threads = 0;

  template <class Table>
  static void declare(Table& table) {
    using Self = DataOptions;
    table("types", &Self::types,
          {.flag = "type",
           .group = OptionGroup::reading,
           .form = "COLUMN=TYPE",
           .text = "Type of a column: COLUMN=number|integer|time[:FORMAT]|category|text; repeatable"});
    table("missing", &Self::missing,
          {.flag = "na", .group = OptionGroup::reading, .text = "A further word that means missing; repeatable"});
    table("separator", &Self::separator,
          {.group = OptionGroup::reading, .text = "Separator of cells: one character or tab; detected by default"});
    table("images", &Self::images,
          {.group = OptionGroup::reading,
           .text = "Folder that file names of images are relative to; the table's by default"});
    table(
        "image_cache", &Self::image_cache,
        {.group = OptionGroup::running, .range = {{0, 1e9}}, .text = "Megabytes of decoded images to keep in memory"});
    table(
        "no_cache", &Self::no_cache,
        {.group = OptionGroup::running, .text = "Neither read nor write the parsed columns kept beside a large table"});
    table("threads", &Self::threads,
          {.group = OptionGroup::running, .range = {{0, 1024}}, .text = "Threads to use; 0: one for each core"});
  }

  void add_to(CLI::App& command);
  ReadOptions read_options() const;  // UsageError for a type that does not exist
  // The same for a table that a formula is for: levels and names of images are what it says they are.
  ReadOptions read_options(const Formula& formula) const;
  ReadOptions read_options(const std::vector<Formula>& formulas) const;
  // The columns a model reads, as it knows them; UsageError for the type of another column.
  // `further` columns are read as they come.
  ReadOptions read_options(const Predictor& model, bool with_target,
                           const std::vector<std::string>& further = {}) const;
  void check_types(const std::vector<std::string>& columns) const;  // UsageError for a column that does not exist
};

// Columns that options speak of have to be there; the formula's are its own affair.
void check_columns(const DataOptions& reading, const FitOptions& options, const Table& table);

// UsageError when the table is in the folder of the model to be: it would go with an older model, were its name that of
// a model's file.
void refuse_table_inside(const std::string& table, const std::string& folder);

// Sentences for stderr about rows left out or made up.
std::vector<std::string> sentences(const EncodingNotes& notes);

}  // namespace ick
