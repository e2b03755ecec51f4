#include "ick/base/text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>

#include "ick/base/seed.h"

namespace ick {
namespace {

using Words = std::vector<std::string>;

TEST(NearestName, CountsEachKindOfEditOnce) {
  const Words kernels = {"linear", "rbf", "periodic"};
  EXPECT_EQ(nearest_name("perodic", kernels), "periodic");    // deletion
  EXPECT_EQ(nearest_name("perioddic", kernels), "periodic");  // insertion
  EXPECT_EQ(nearest_name("perioxic", kernels), "periodic");   // replacement
  EXPECT_EQ(nearest_name("rfb", kernels), "rbf");             // swap; two edits would be too many for three letters
  EXPECT_EQ(nearest_name("rbf", kernels), "rbf");
}

TEST(NearestName, AllowsAThirdOfTheLengthAndAtLeastOneEdit) {
  EXPECT_EQ(nearest_name("abcdef", Words{"abcdxy"}), "abcdxy");
  EXPECT_EQ(nearest_name("abcdef", Words{"abcxyz"}), "");
  EXPECT_EQ(nearest_name("dy", Words{"day"}), "day");
  EXPECT_EQ(nearest_name("dy", Words{"daily"}), "");
  EXPECT_EQ(nearest_name("spectral_mixtures", Words{"spectralmixture"}), "spectralmixture");
}

TEST(NearestName, PrefersTheNearestThenTheFirst) {
  const Words kernels = {"matern12", "matern52", "matern32"};
  EXPECT_EQ(nearest_name("matern23", kernels), "matern32");  // a swap, against two edits to each other
  EXPECT_EQ(nearest_name("matern42", kernels), "matern12");  // one edit to each
  EXPECT_EQ(nearest_name("matern32", kernels), "matern32");
}

TEST(NearestName, FindsNothingWhereNothingIsShared) {
  EXPECT_EQ(nearest_name("x", Words{"t", "y"}), "");
  EXPECT_EQ(nearest_name("", Words{"t"}), "");
  EXPECT_EQ(nearest_name("rbf", Words{}), "");
  EXPECT_EQ(nearest_name("cosine", Words{"rbf", "linear"}), "");
}

TEST(DidYouMean, IsAHalfSentenceOrNothing) {
  EXPECT_EQ(did_you_mean("perodic", Words{"rbf", "periodic"}), "; did you mean \"periodic\"?");
  EXPECT_EQ(did_you_mean("cosine", Words{"rbf", "periodic"}), "");
}

TEST(JoinWords, EndsWithAnd) {
  EXPECT_EQ(join_words(Words{}), "");
  EXPECT_EQ(join_words(Words{"a"}), "a");
  EXPECT_EQ(join_words(Words{"a", "b"}), "a and b");
  EXPECT_EQ(join_words(Words{"a", "b", "c"}), "a, b and c");
}

TEST(Utf8, IsWhatTheStandardAllows) {
  for (const char* text : {"", "plain", "\u00fc", "\u20ac 5", "\U0001F600", "\U0010FFFF", "\uD7FF\uE000"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  for (const char* text :
       {"M\xFCnchen", "\xC3", "\xC3(", "\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x80\xAF", "\xED\xA0\x80",
        "\xF0\x82\x82\xAC", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xE2\x82", "\xFF\xFE"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
}

TEST(NumberText, IsShort) {
  EXPECT_EQ(number_text(0.0), "0");
  EXPECT_EQ(number_text(-0.0), "-0");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(-2.5), "-2.5");
  EXPECT_EQ(number_text(365.25), "365.25");
  EXPECT_EQ(number_text(1e-8), "1e-08");
  EXPECT_EQ(number_text(1e300), "1e+300");
  EXPECT_EQ(number_text(1.0 / 3.0), "0.3333333333333333");
  EXPECT_EQ(number_text(-2.2250738585072014e-308), "-2.2250738585072014e-308");
}

TEST(Names, AreAddedOnce) {
  std::vector<std::string> names = {"b", "a"};
  add_new(names, std::vector<std::string>{"c", "a", "d", "c"});
  EXPECT_EQ(names, (std::vector<std::string>{"b", "a", "c", "d"}));
  EXPECT_TRUE(contains(names, "d"));
  EXPECT_FALSE(contains(names, "A"));
  EXPECT_FALSE(contains({}, ""));
}

TEST(NumberText, ReadsBackAsTheSameNumber) {
  Random random(21);
  int finite = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto value = std::bit_cast<double>(random.bits());
    if (!std::isfinite(value)) continue;
    ++finite;
    ASSERT_EQ(std::strtod(number_text(value).c_str(), nullptr), value);
  }
  EXPECT_GT(finite, 19'000);
}

}  // namespace
}  // namespace ick
