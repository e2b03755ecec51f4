#pragma once

#include <string>

#include "cli/option_cli.h"
#include "ick/base/error.h"

// What the commands that can be resumed have in common.
namespace ick {

// The result is to be that of the run that was interrupted. `what` it was, "a fit".
template <class Struct>
void refuse_changes(const CLI::App& app, const std::string& what) {
  for (const Option<Struct>& row : option_table<Struct>()) {
    if (row.group == OptionGroup::running || !is_given(app, row)) continue;
    throw UsageError(setting(row.name) + " cannot be changed when " + what + " is resumed; leave it out");
  }
}

// How it runs may change.
template <class Struct>
void take_running(const CLI::App& app, const Struct& given, Struct& kept) {
  for (const Option<Struct>& row : option_table<Struct>()) {
    if (row.group == OptionGroup::running && is_given(app, row)) row.set(kept, row.get(given));
  }
}

// A word of a command, as a shell reads it.
inline std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace ick
