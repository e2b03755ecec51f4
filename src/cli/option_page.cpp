#include "cli/option_page.h"

#include <array>

#include "cli/data_options.h"
#include "cli/with_flags.h"
#include "ick/train/pretrain.h"

namespace ick {
namespace {

constexpr std::array<OptionGroup, 4> kGroups = {OptionGroup::training, OptionGroup::reading, OptionGroup::running,
                                                OptionGroup::library};

std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string code(const std::string& text) { return text.empty() ? "" : "`" + text + "`"; }

std::string values(const OptionRow& row) {
  std::string words;
  for (const std::string& word : row.all_words()) words += (words.empty() ? "" : ", ") + code(word);
  if (!words.empty()) return words;
  if (row.is_switch()) return "on or off";
  std::string text = row.takes();
  for (const auto& [word, value] : row.words) text += ", " + code(word);
  return row.kind == OptionKind::integers ? "list of: " + text : text;
}

std::string standard(const OptionRow& row) {
  if (row.is_switch()) return row.standard == OptionValue(true) ? "on" : "off";
  return code(row.print(row.standard));
}

}  // namespace

std::string option_tables(const std::vector<const OptionRow*>& rows) {
  std::string page;
  for (const OptionGroup group : kGroups) {
    std::string table;
    for (const OptionRow* row : rows) {
      if (row->group != group) continue;
      const std::string option = group == OptionGroup::library ? "" : code("--" + row->flag);
      table += "| " + option + " | " + code(row->name) + " | " + cell(values(*row)) + " | " + cell(standard(*row)) +
               " | " + cell(with_flags(row->text)) + " |\n";
    }
    if (table.empty()) continue;
    page += "\n## " + std::string(group_name(group)) + "\n\n| option | name | values | default | effect |\n" +
            "|---|---|---|---|---|\n" + table;
  }
  return page;
}

std::string option_page(const std::string& command) {
  std::vector<const OptionRow*> rows =
      command == "fit" ? option_table<FitOptions>().rows() : option_table<PretrainOptions>().rows();
  for (const OptionRow* row : option_table<DataOptions>().rows()) rows.push_back(row);
  const std::string header = command == "fit" ? "train/options.h" : "train/pretrain.h";
  return "# Options of `ick " + command + "`\n\n<!-- Printed by `ick manual --options " + command +
         "`; edit include/ick/" + header + " instead. -->\n\n" +
         "The option is what the command line takes, and a settings file (`--config`) without the dashes.\n"
         "The name is that of the field in C++ and in JSON. An option that is on by default is turned off\n"
         "by its `--no-` form. Options of the groups Training and Reading decide the result; those of\n"
         "Running do not, and may change when a fit is resumed; those of Library are for C++ only.\n" +
         option_tables(rows);
}

}  // namespace ick
