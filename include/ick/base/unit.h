#pragma once

#include <optional>
#include <string_view>

namespace ick {

// `number` in unit `from`, expressed in unit `to`; none when they do not measure the same thing or are unknown. Units:
// s min h d w y (365.2425 days), mm cm m km, deg rad.
std::optional<double> convert(double number, std::string_view from, std::string_view to);

bool is_time_unit(std::string_view unit);

}  // namespace ick
