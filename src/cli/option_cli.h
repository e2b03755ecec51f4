#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "ick/base/option.h"

// The command line of a table of settings.
namespace ick {

// One setting; `use` gets what the user says. UsageError, out of CLI11's parse, for what it does not take.
CLI::Option* add_option(CLI::App& app, const OptionRow& row, std::function<void(const OptionValue&)> use);

// Every setting of a struct that is not the library's alone. `to` is written when the line is parsed.
template <class Struct>
void add_options(CLI::App& app, Struct& to) {
  for (const Option<Struct>& row : option_table<Struct>()) {
    if (row.group == OptionGroup::library) continue;
    add_option(app, row, [&row, &to](const OptionValue& value) { row.set(to, value); });
  }
}

inline bool is_given(const CLI::App& app, const OptionRow& row) {
  return row.group != OptionGroup::library && app.get_option("--" + row.flag)->count() > 0;
}

}  // namespace ick
