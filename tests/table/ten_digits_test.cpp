#include "ick/table/ten_digits.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "ick/base/seed.h"

namespace ick {
namespace {

std::string ten_digits(double value) {
  char text[detail::kTenDigitsRoom];
  return {text, detail::write_ten_digits(value, text)};
}

void expect_like_to_chars(double value) {
  char text[64];
  const std::string expected(text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, 10).ptr);
  ASSERT_EQ(ten_digits(value), expected) << std::hexfloat << value;
}

void expect_around(double value) {
  double below = value, above = value;
  for (int i = 0; i < 20; ++i) {
    expect_like_to_chars(below), expect_like_to_chars(-above);
    below = std::nextafter(below, -HUGE_VAL), above = std::nextafter(above, HUGE_VAL);
  }
}

TEST(TenDigits, AreThoseOfToChars) {
  Random random(5);
  for (int i = 0; i < 1'000'000; ++i) {
    expect_like_to_chars(random.normal() * std::pow(10.0, static_cast<double>(random.below(22)) - 8.0));
    expect_like_to_chars(static_cast<double>(random.below(2'000'000)) / 1000.0);  // few digits
    expect_like_to_chars(static_cast<float>(random.normal()));
    expect_like_to_chars(std::bit_cast<double>(random.bits()));
  }
}

// Halves between two numbers of ten digits that a double holds exactly: rounded to even.
TEST(TenDigits, RoundMiddlesToEven) {
  Random random(6);
  for (int i = 0; i < 100'000; ++i) {
    const int whole = 1 + static_cast<int>(random.below(10));  // digits before the point, the rest are binary
    const double scale = std::pow(2.0, 11 - whole);
    expect_around(std::round(random.uniform() * std::pow(10.0, whole) * scale) / scale);
  }
  EXPECT_EQ(ten_digits(1000000000.5), "1000000000");
  EXPECT_EQ(ten_digits(1000000001.5), "1000000002");
  EXPECT_EQ(ten_digits(0.25), "0.25");
  EXPECT_EQ(ten_digits(-1.00000000049999), "-1");
}

TEST(TenDigits, AtEdges) {
  for (int power = -307; power <= 308; ++power) expect_around(std::stod("1e" + std::to_string(power)));
  for (int power = -8; power <= 13; ++power) {
    for (const char* nines : {"9.9999999994e", "9.9999999995e", "9.9999999996e", "9.999999999e", "5e", "1.2e"}) {
      expect_around(std::stod(nines + std::to_string(power)));
    }
  }
  for (const double value : {0.0, 9999999999.5, 9999999999.4999, std::numeric_limits<double>::denorm_min(),
                             std::numeric_limits<double>::max(), HUGE_VAL, std::numeric_limits<double>::quiet_NaN()}) {
    expect_like_to_chars(value), expect_like_to_chars(-value);
  }
  EXPECT_EQ(ten_digits(-0.0), "-0");
  EXPECT_EQ(ten_digits(0.0001), "0.0001");
  EXPECT_EQ(ten_digits(1e10), "1e+10");
}

}  // namespace
}  // namespace ick
