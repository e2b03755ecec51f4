#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "ick/formula/derived.h"

namespace ick {

nlohmann::json to_json(const DerivedColumn& derived);

// An array of them. DataError when one is not whole, or is computed of one that does not stand before it.
std::vector<DerivedColumn> derived_from_json(const nlohmann::json& json);

}  // namespace ick
