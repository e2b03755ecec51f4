#include "table/number.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>

#include "ick/base/seed.h"

namespace ick {
namespace {

void expect_like_strtod(const std::string& text) {
  const auto number = detail::parse_number(text, '.');
  ASSERT_TRUE(number.has_value()) << text;
  EXPECT_EQ(std::bit_cast<std::uint64_t>(number->value),
            std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr)))
      << text;
}

std::string digits(Random& random, std::int64_t count) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) text += static_cast<char>('0' + random.below(10));
  return text;
}

// glibc's strtod rounds correctly.
TEST(Number, IsRoundedCorrectly) {
  Random random(3);
  for (int i = 0; i < 300000; ++i) {
    std::string text = random.below(2) ? "-" : "";
    text += digits(random, 1 + random.below(12));
    if (random.below(4) > 0) text += "." + digits(random, random.below(22));
    if (random.below(6) == 0) text += (random.below(2) ? "e" : "E-") + digits(random, 1 + random.below(2));
    expect_like_strtod(text);
  }
}

TEST(Number, KeepsShortestTextsOfDoubles) {
  Random random(4);
  for (int i = 0; i < 100000; ++i) {
    const auto value = std::bit_cast<double>(random.bits());
    if (!std::isfinite(value)) continue;
    char text[64];
    std::snprintf(text, sizeof text, "%.17g", value);
    expect_like_strtod(text);
    std::snprintf(text, sizeof text, "%.*f", static_cast<int>(random.below(20)), random.normal());
    expect_like_strtod(text);
  }
}

TEST(Number, RoundsMiddlesToEven) {
  // Halfway between two doubles, and a little beside.
  for (const char* text :
       {"9007199254740993", "9007199254740992.99", "9007199254740993.01", "9007199254740995", "4503599627370496.5",
        "4503599627370497.5", "0.000000000000000000000000000000000000000001", "1.7976931348623157e308", "4.9e-324",
        "2.4e-324", "1e-400", "123456789012345678901234567890"}) {
    expect_like_strtod(text);
  }
}

TEST(Number, SaysWhatIsNone) {
  for (const char* text :
       {"", "-", "+", ".", "e5", "1e", "1e+", "1.2.3", "0x10", "1,5", "12a", "nan", "inf", "--1", "1 2"}) {
    EXPECT_FALSE(detail::parse_number(text, '.').has_value()) << text;
  }
  EXPECT_EQ(detail::parse_number("3,25", ',')->value, 3.25);
  EXPECT_EQ(detail::parse_number("+.5", '.')->value, 0.5);
  EXPECT_EQ(detail::parse_number("7.", '.')->value, 7.0);
  EXPECT_TRUE(std::isinf(detail::parse_number("1e999", '.')->value));
  EXPECT_TRUE(detail::parse_number("-42", '.')->integer);
  EXPECT_FALSE(detail::parse_number("42.0", '.')->integer);
  EXPECT_FALSE(detail::parse_number("1e3", '.')->integer);
}

}  // namespace
}  // namespace ick
