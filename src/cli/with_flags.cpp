#include "cli/with_flags.h"

#include "cli/data_options.h"
#include "ick/evaluate/comparison.h"
#include "ick/evaluate/cross_validation.h"
#include "ick/suggest/suggest.h"
#include "ick/train/pretrain.h"

namespace ick {

std::string with_flags(const Message& message) {
  return message.spelled([](std::string_view name, std::string_view value) {
    if (const auto* row = option_table<FitOptions>().find(name)) return row->as_flag(value);
    if (const auto* row = option_table<PretrainOptions>().find(name)) return row->as_flag(value);
    if (const auto* row = option_table<FoldOptions>().find(name)) return row->as_flag(value);
    if (const auto* row = option_table<CompareOptions>().find(name)) return row->as_flag(value);
    if (const auto* row = option_table<SuggestOptions>().find(name)) return row->as_flag(value);
    if (const auto* row = option_table<DataOptions>().find(name)) return row->as_flag(value);
    if (name == "most") return std::string("--yes");
    for (const std::string_view own : {"out", "resume", "trust", "until", "rows", "every", "set", "with", "columns",
                                       "step", "within", "grid"}) {  // of no table
      if (name == own) return "--" + std::string(name) + (value.empty() ? "" : " " + std::string(value));
    }
    return Message(setting(name, value)).text();
  });
}

}  // namespace ick
