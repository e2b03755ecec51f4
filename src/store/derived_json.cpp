#include "store/derived_json.h"

#include <cmath>

#include "ick/base/error.h"
#include "ick/base/text.h"

namespace ick {

namespace {

DerivedColumn derived_column_from(const nlohmann::json& json) {
  DerivedColumn derived;
  derived.name = json.at("name");
  derived.function = json.at("function");
  derived.inputs = json.at("inputs").get<std::vector<std::string>>();
  derived.unit = json.at("unit");
  derived.file = json.value("file", "");
  derived.days = json.value("days", std::vector<double>());
  derived.origin = json.value("origin", derived.origin);
  const DerivedFunction* const function = find_derived_function(derived.function);
  if (function == nullptr) throw DataError("no function of columns named \"" + derived.function + "\"");
  const std::size_t takes = function->takes == DerivedFunction::Takes::pair ? 2 : 1;
  if (derived.inputs.size() == takes) return derived;
  throw DataError(derived.function + "() takes " + (takes == 1 ? "one column" : "two columns") + " and has " +
                  std::to_string(derived.inputs.size()));
}

}  // namespace

nlohmann::json to_json(const DerivedColumn& derived) {
  nlohmann::json json = {{"name", derived.name}, {"function", derived.function}, {"inputs", derived.inputs}};
  json["unit"] = derived.unit;
  if (!derived.file.empty()) json["file"] = derived.file, json["days"] = derived.days;
  if (!std::isnan(derived.origin)) json["origin"] = derived.origin;
  return json;
}

std::vector<DerivedColumn> derived_from_json(const nlohmann::json& json) {
  std::vector<DerivedColumn> all;
  for (const nlohmann::json& each : json) all.push_back(derived_column_from(each));
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = i; k < all.size(); ++k) {
      if (!contains(all[i].inputs, all[k].name)) continue;
      throw DataError("the column " + all[i].name + " is computed of " + all[k].name +
                      ", which does not stand before it");
    }
  }
  return all;
}

}  // namespace ick
