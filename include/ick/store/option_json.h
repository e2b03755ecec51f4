#pragma once

#include <nlohmann/json.hpp>

#include "ick/base/option.h"

// Settings to JSON and back, read off their table. JSON has no infinite numbers: they are the words inf and -inf.
namespace ick {

nlohmann::json option_json(const OptionValue& value);
// nlohmann's exceptions for a value of another kind
OptionValue option_from_json(const OptionRow& row, const nlohmann::json& json);

template <class Struct>
nlohmann::json options_json(const Struct& from) {
  nlohmann::json json = nlohmann::json::object();
  for (const Option<Struct>& row : option_table<Struct>()) json[row.name] = option_json(row.get(from));
  return json;
}

// What the JSON does not have stays as it is: later versions add settings. UsageError for a choice that does not exist.
template <class Struct>
void read_options_json(const nlohmann::json& json, Struct& to) {
  for (const Option<Struct>& row : option_table<Struct>()) {
    if (json.contains(row.name)) row.set(to, option_from_json(row, json.at(row.name)));
  }
}

}  // namespace ick
