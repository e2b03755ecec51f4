#pragma once

#include <cstddef>

namespace ick::detail {

inline constexpr std::size_t kTenDigitsRoom = 32;  // bytes that have to be at hand; fewer are used

// The number in ten digits, correctly rounded, without trailing zeros: what printf's "%.10g" makes of it. Returns where
// the text ends; nothing closes it.
char* write_ten_digits(double value, char* to);

}  // namespace ick::detail
