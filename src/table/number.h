#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace ick::detail {

// What a scanner may read, but not use, behind the last byte of a block.
inline constexpr std::size_t kPadding = 8;

struct Number {
  double value = 0.0;
  bool integer = true;  // neither point nor exponent
  bool point = false;
};

// A larger whole number may have lost its last digits.
inline bool is_exact_integer(const Number& number) { return number.integer && std::abs(number.value) <= 0x1p53; }

// The number of eight digits 0..9, one in each byte, the first in the lowest: pairs, fours, all eight (D. Lemire,
// "Number parsing at a gigabyte per second", 2021).
inline std::uint64_t eight_digits(std::uint64_t digits) {
  digits = (digits * 2561 >> 8) & 0x00FF00FF00FF00FF;
  digits = (digits * 6553601 >> 16) & 0x0000FFFF0000FFFF;
  return digits * 42949672960001 >> 32;
}

// Appends the digits at p to `mantissa` (which wraps around after the 19th) and returns where they end.
inline const char* scan_digits(const char* p, std::uint64_t& mantissa) {
  constexpr std::array<std::uint64_t, 9> kShift = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  if constexpr (std::endian::native == std::endian::little) {
    // Eight bytes at a time and no branch on how many of them are digits: numbers vary in length, and a wrong guess of
    // the processor costs as much as several digits.
    for (int count = 8; count == 8; p += count) {
      std::uint64_t bytes;
      std::memcpy(&bytes, p, sizeof bytes);
      bytes ^= 0x3030303030303030;  // 0..9 where a digit stands
      const std::uint64_t others = (bytes | (bytes + 0x7676767676767676)) & 0x8080808080808080;
      count = std::countr_zero(others) / 8;
      const std::uint64_t digits = count == 8 ? bytes : bytes << 8 * (7 - count) << 8;  // behind zeros
      mantissa = mantissa * kShift[static_cast<std::size_t>(count)] + eight_digits(digits);
    }
  } else {
    for (; *p >= '0' && *p <= '9'; ++p) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p - '0');
  }
  return p;
}

inline constexpr std::array<double, 23> kPowersOfTen = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                        1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                        1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// mantissa * 10^power, correctly rounded, or none where that needs more than a product of two exact numbers.
inline std::optional<double> short_decimal(std::uint64_t mantissa, std::int64_t power) {
  // Clinger 1990: both factors are exact doubles, so the one operation rounds once.
  if (mantissa <= std::uint64_t{1} << 53 && power >= -22 && power <= 22) {
    const auto whole = static_cast<double>(mantissa);
    return power < 0 ? whole / kPowersOfTen[static_cast<std::size_t>(-power)]
                     : whole * kPowersOfTen[static_cast<std::size_t>(power)];
  }
  // The same in 64 bits (x87). Rounding again to 53 is right unless the 64 bits end on the exact middle 10000000000.
  using Extended = long double;
  if constexpr (std::numeric_limits<Extended>::digits == 64) {
    if (power >= -22 && power <= 22 && mantissa != 0) {
      const auto whole = static_cast<Extended>(mantissa);
      const Extended rounded = power < 0 ? whole / kPowersOfTen[static_cast<std::size_t>(-power)]
                                         : whole * kPowersOfTen[static_cast<std::size_t>(power)];
      std::uint64_t bits;
      std::memcpy(&bits, &rounded, sizeof bits);
      if ((bits & 0x7FF) != 0x400) return static_cast<double>(rounded);
    }
  }
  return std::nullopt;
}

// The number [begin, end) with `point` as decimal point, whatever its length; an overflow is infinite.
inline double long_decimal(const char* begin, const char* end, char point) {
  std::string text(begin + (*begin == '+'), end);
  for (char& byte : text) {
    if (byte == point) byte = '.';
  }
  double value = 0.0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc::result_out_of_range) {
    value = std::strtod(text.c_str(), nullptr);
  }
  return value;
}

// Reads the number that starts at p, correctly rounded, and returns where it ends; null when none starts there. Bytes
// behind the number are read: it has to be followed by kPadding of them, the first of which no part of a number.
inline const char* scan_number(const char* p, char point, Number& number) {
  const char* const begin = p;
  const bool negative = *p == '-';
  p += negative || *p == '+';
  std::uint64_t mantissa = 0;
  const char* const digits = p;
  p = scan_digits(p, mantissa);
  std::int64_t count = p - digits, power = 0;
  number.point = *p == point;
  if (number.point) {
    const char* const fraction = ++p;
    p = scan_digits(p, mantissa);
    power = fraction - p;
    count -= power;
  }
  if (count == 0) return nullptr;
  number.integer = !number.point;
  if ((*p | 0x20) == 'e') {
    const char* exponent = p + 1;
    const bool down = *exponent == '-';
    exponent += down || *exponent == '+';
    std::int64_t size = 0;
    const char* last = exponent;
    for (; *last >= '0' && *last <= '9'; ++last) size = size < 100000 ? size * 10 + (*last - '0') : size;
    if (last != exponent) {
      number.integer = false;
      power += down ? -size : size;
      p = last;
    }
  }
  if (count > 19) {
    for (const char* zero = digits; *zero == '0' || *zero == point; ++zero) count -= *zero == '0';
  }
  const std::optional<double> exact = count <= 19 ? short_decimal(mantissa, power) : std::nullopt;
  if (exact) {
    number.value = negative ? -*exact : *exact;
  } else {
    number.value = long_decimal(begin, p, point);
  }
  return p;
}

// The whole of `cell` as a number; infinite when it overflows.
inline std::optional<Number> parse_number(std::string_view cell, char point) {
  if (cell.empty() || cell.front() > '9') return std::nullopt;
  const std::string padded = std::string(cell) + std::string(1 + kPadding, '\n');
  Number number;
  const char* const end = scan_number(padded.data(), point, number);
  if (!end || end != padded.data() + cell.size()) return std::nullopt;
  return number;
}

}  // namespace ick::detail
