#include "ick/table/ten_digits.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace ick::detail {
namespace {

__extension__ using Wide = unsigned __int128;

// From 1e-4 on "%.10g" has no exponent, and below this limit nothing is rounded up to an eleventh digit.
constexpr double kLeast = 1e-4, kLimit = 9999999999.5;
constexpr std::array<double, 15> kTenDigitPowers = {1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3,
                                                    1e4,  1e5,  1e6,  1e7,  1e8, 1e9, 1e10};
constexpr std::array<std::uint64_t, 14> kPowersOfFive = {
    1, 5, 25, 125, 625, 3125, 15625, 78125, 390625, 1953125, 9765625, 48828125, 244140625, 1220703125};

constexpr auto kPairs = [] {  // 00, 01, ..., 99
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

}  // namespace

char* write_ten_digits(double value, char* to) {
  const double size = std::abs(value);
  if (!(size >= kLeast && size < kLimit)) {
    return std::to_chars(to, to + kTenDigitsRoom, value, std::chars_format::general, 10).ptr;
  }
  // size = m 2^(b - 52), 10^e <= size < 10^(e + 1); floor(b log10(2)) is e or one less
  const auto bits = std::bit_cast<std::uint64_t>(size);
  const int b = static_cast<int>(bits >> 52) - 1023;
  const std::uint64_t m = (bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52;
  int e = (b * 78913) >> 18;
  e += size >= kTenDigitPowers[static_cast<std::size_t>(e + 5)];

  // n = size 10^k = m 5^k / 2^s, k = 9 - e, rounded half to even: all bits are at hand, s is from 19 to 53
  const int k = 9 - e, s = 52 - b - k;
  const Wide product = Wide{m} * kPowersOfFive[static_cast<std::size_t>(k)];
  auto n = static_cast<std::uint64_t>(product >> s);
  const std::uint64_t half = std::uint64_t{1} << (s - 1), rest = static_cast<std::uint64_t>(product) & (2 * half - 1);
  n += rest > half || (rest == half && n % 2 == 1);
  if (n == 10'000'000'000) n = 1'000'000'000, ++e;

  char digits[20];  // copies of constant size are fast: they may take more than there is
  for (int i = 8; i >= 0; i -= 2, n /= 100) std::memcpy(digits + i, kPairs.data() + 2 * (n % 100), 2);
  int count = 10;
  while (digits[count - 1] == '0') --count;
  if (value < 0.0) *to++ = '-';
  if (e < 0) {
    std::memcpy(to, "0.000", 5);
    std::memcpy(to + 1 - e, digits, 10);
    return to + 1 - e + count;
  }
  const int whole = e + 1;
  std::memcpy(to, digits, 10);
  if (count <= whole) return to + whole;
  to[whole] = '.';
  std::memcpy(to + whole + 1, digits + whole, 10);
  return to + 1 + count;
}

}  // namespace ick::detail
