#include "ick/store/option_json.h"

#include <cmath>
#include <limits>

#include "ick/base/text.h"

namespace ick {

using Json = nlohmann::json;

Json option_json(const OptionValue& value) {
  return std::visit(
      [](const auto& held) -> Json {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<Held, double>) {
          return std::isfinite(held) ? Json(held) : std::isnan(held) ? Json(nullptr) : Json(number_text(held));
        } else {
          return held;
        }
      },
      value);
}

OptionValue option_from_json(const OptionRow& row, const Json& json) {
  if (row.optional && json.is_null()) return {};
  switch (row.kind) {
    case OptionKind::truth:
      return json.get<bool>();
    case OptionKind::integer:
      return json.get<std::int64_t>();
    case OptionKind::natural:
      return json.get<std::uint64_t>();
    case OptionKind::number:
      if (json == "inf" || json == "-inf")
        return (json == "inf" ? 1.0 : -1.0) * std::numeric_limits<double>::infinity();
      return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
    case OptionKind::text:
      return json.get<std::string>();
    case OptionKind::integers:
      return json.get<std::vector<std::int64_t>>();
    case OptionKind::texts:
      return json.get<std::vector<std::string>>();
    case OptionKind::pairs:
      return json.get<std::map<std::string, std::string>>();
  }
  return {};
}

}  // namespace ick
