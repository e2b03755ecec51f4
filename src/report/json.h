#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "ick/report/figure.h"

namespace ick::detail {

using Json = nlohmann::ordered_json;

std::string_view mark_name(Mark mark);        // "line"
std::string_view scale_name(AxisScale kind);  // "linear"

}  // namespace ick::detail
