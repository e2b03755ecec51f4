#include "cli/option_cli.h"

#include "cli/with_flags.h"

namespace ick {
namespace {

std::string type_name(const OptionRow& row) {
  std::string words;
  for (const std::string& word : row.all_words()) words += (words.empty() ? ":" : "|") + word;
  if (!row.words.empty() || !words.empty()) return "TEXT" + words;
  switch (row.kind) {
    case OptionKind::integer:
    case OptionKind::integers:
      return "INT";
    case OptionKind::natural:
      return "UINT";
    case OptionKind::number:
      return "FLOAT";
    default:
      return "TEXT";
  }
}

}  // namespace

CLI::Option* add_option(CLI::App& app, const OptionRow& row, std::function<void(const OptionValue&)> use) {
  std::string flag = "--" + row.flag;
  for (const std::string& alias : row.aliases) flag += ",--" + alias;
  const std::string text = with_flags(row.text), group(group_name(row.group));
  if (row.is_switch()) {
    const bool on = std::get<bool>(row.standard);
    const auto switched = [use = std::move(use), on](std::int64_t count) { use(count > 0 ? !on : on); };
    return app.add_flag_function(flag, switched, (on ? "Turn off: " : "") + text)->group(group);
  }
  const auto take = [&row, use = std::move(use)](const std::vector<std::string>& words) { use(row.read_words(words)); };
  CLI::Option* option = row.is_list() ? app.add_option_function<std::vector<std::string>>(flag, take, text)
                                      : app.add_option_function<std::string>(
                                            flag, [take](const std::string& word) { take({word}); }, text);
  if (row.kind == OptionKind::integers) {
    option->delimiter(',');
  } else if (row.is_list()) {
    option->take_all();
  }
  // The last: --print-config shows a setting without a default as well.
  return option->type_name(type_name(row))
      ->default_str(row.print(row.standard))
      ->group(group)
      ->run_callback_for_default();
}

}  // namespace ick
