#include "ick/formula/formula.h"

#include <gtest/gtest.h>

#include <string>

#include "formula/trees.h"
#include "ick/base/error.h"

namespace ick {
namespace {

Formula formula(std::string target, bool log_target, Expression right) {
  Formula made;
  made.target = std::move(target);
  made.transform = log_target ? "log" : "";
  made.right = std::move(right);
  return made;
}

std::string formula_error(const std::string& text) {
  try {
    return "no error: " + print(parse_formula(text));
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(Formula, ReadsTargetAndRightSide) {
  const Expression rbf = call("rbf", {"x"});
  EXPECT_EQ(parse_formula("y ~ rbf(x)"), formula("y", false, rbf));
  EXPECT_EQ(parse_formula("PM2.5~rbf(x)"), formula("PM2.5", false, rbf));
  EXPECT_EQ(parse_formula("\"PM 2.5\" ~ rbf(x)"), formula("PM 2.5", false, rbf));
  EXPECT_EQ(parse_formula("log(y) ~ rbf(x)"), formula("y", true, rbf));
  EXPECT_EQ(parse_formula(" log ( `PM 2.5` ) ~ rbf(x)"), formula("PM 2.5", true, rbf));
  EXPECT_EQ(parse_formula("log ~ rbf(x)"), formula("log", false, rbf)) << "a column may be called log";
  EXPECT_EQ(parse_formula("log(log) ~ rbf(x)"), formula("log", true, rbf));
  EXPECT_EQ(parse_formula("sphere ~ rbf(x)"), formula("sphere", false, rbf));
  EXPECT_EQ(parse_formula("\"a ~ b\" ~ rbf(`~`)"), formula("a ~ b", false, call("rbf", {"~"})));
  EXPECT_EQ(parse_formula("pm25 ~ mlp(a, b) * periodic(date, period=1y) + linear(x)"),
            formula("pm25", false,
                    sum({product({call("mlp", {"a", "b"}), call("periodic", {"date"}, {start("period", {{1, "y"}})})}),
                         call("linear", {"x"})})));
}

TEST(Formula, PositionsCountFromTheStartOfTheText) {
  const Formula plain = parse_formula("  größe ~ rbf(x, a=1)");
  EXPECT_EQ(plain.position, 3u);
  EXPECT_EQ(plain.right.call.position, 11u);
  EXPECT_EQ(plain.right.call.column_positions, (std::vector<std::size_t>{15}));
  EXPECT_EQ(plain.right.call.arguments.at(0).position, 18u);
  EXPECT_EQ(parse_formula("log(\"y\") ~ rbf(x)").position, 5u);
}

TEST(Formula, EqualitySeesEverythingButThePosition) {
  const Formula one = parse_formula("y ~ rbf(x)");
  EXPECT_EQ(one, parse_formula("   y~rbf( x )"));
  for (const char* other : {"z ~ rbf(x)", "log(y) ~ rbf(x)", "y ~ rbf(z)", "y ~ rbf(.)"}) {
    EXPECT_FALSE(one == parse_formula(other)) << other;
  }
}

TEST(Formula, EveryErrorNamesItsColumn) {
  const std::string none = "1: found no \"~\"; write the target first, as in y ~ rbf(x)";
  const std::string target = " where the target, as in y ~ rbf(x), was expected";
  const std::string right = " where a network or kernel such as mlp(x) or rbf(x) was expected";
  const std::string advice = "; columns stand in kernels and networks: write linear(x) or mlp(x)";
  const std::string tilde = " where \"~\" after the target was expected";
  const std::pair<std::string, std::string> rows[] = {
      {"", none},
      {"  ", none},
      {"y", none},
      {"mlp(a, b) * rbf(x)", none},
      {"rbf(\"a ~ b\")", none},
      {"log(y)", none},
      {"~", "1: found \"~\"" + target},
      {" ~ rbf(x)", "2: found \"~\"" + target},
      {"3 ~ rbf(x)", "1: found \"3\"" + target},
      {"(y) ~ rbf(x)", "1: found \"(\"" + target},
      {". ~ rbf(x)", "1: found \".\"" + target},
      {"y ~", "4: found the end of the formula" + right},
      {"y ~  ", "6: found the end of the formula" + right},
      {"y ~ x", "6: found the end of the formula where \"(\" after \"x\" was expected" + advice},
      {"y ~ ~ rbf(x)", "5: found \"~\"" + right},
      {"y ~ rbf(x) ~ z", "12: found \"~\" where \"+\", \"*\" or the end of the formula was expected"},
      {"y ~ rbf(x ~ z)", "11: found \"~\" where \",\" or \")\" was expected"},
      {"y + z ~ rbf(x)", "3: found \"+\"" + tilde},
      {"wind speed ~ rbf(x)", "6: found \"speed\"" + tilde},
      {"\"log\"(y) ~ rbf(x)", "6: found \"(\"" + tilde},
      {"log(y) z ~ rbf(x)", "8: found \"z\"" + tilde},
      {"exp(y) ~ rbf(x)",
       "1: found the transform \"exp\" of the target where log, sqrt and logit are known; write log(y) ~ or y ~"},
      {" Log(y) ~ rbf(x)",
       "2: found the transform \"Log\" of the target where log, sqrt and logit are known; write log(y) ~ or y ~"},
      {"log() ~ rbf(x)", "5: found \")\" where the target's column was expected"},
      {"log(2) ~ rbf(x)", "5: found \"2\" where the target's column was expected"},
      {"log(y, z) ~ rbf(x)", "6: found \",\" where \")\" after the target's column was expected"},
      {"log(log(y)) ~ rbf(x)", "8: found \"(\" where \")\" after the target's column was expected"},
      {"log(y ~ rbf(x)", "7: found \"~\" where \")\" after the target's column was expected"},
      {"\"ab ~ rbf(x)", "1: found a quoted name without the closing \" expected"},
      {"y ~ rbf(\"ab", "9: found a quoted name without the closing \" expected"},
      {"größe ~ rbf(x, a=1e999)", "18: found \"1e999\" where a number within the range of a double was expected"},
  };
  for (const auto& [text, message] : rows) EXPECT_EQ(formula_error(text), "formula column " + message) << text;
}

TEST(Formula, PrintsWhatItsTableSays) {
  const std::pair<std::string, std::string> rows[] = {
      {"y~rbf(x)", "y ~ rbf(x)"},
      {"`y`~((a()+b()))*c()", "y ~ (a() + b()) * c()"},
      {"log( \"PM 2.5\" )~mlp(.,a)", "log(\"PM 2.5\") ~ mlp(a, .)"},
      {"sphere ~ rbf(\".\")", "\"sphere\" ~ rbf(\".\")"},
      {"log ~ rbf(x)", "log ~ rbf(x)"},
  };
  for (const auto& [text, printed] : rows) {
    EXPECT_EQ(print(parse_formula(text)), printed);
    EXPECT_EQ(parse_formula(printed), parse_formula(text)) << printed;
  }
}

TEST(Formula, RandomFormulasReadBackEqual) {
  RandomTrees trees(41);
  for (int i = 0; i < 3000; ++i) {
    const Formula drawn = trees.formula();
    ASSERT_EQ(parse_formula(print(drawn)), drawn) << print(drawn);
  }
}

// Reads a text as `Read` does: true when it is good, and then it must print to what reads back equal; false for a
// UsageError, which must name its column. Anything else thrown fails the test.
template <auto Read>
bool reads(const std::string& text) {
  try {
    const auto tree = Read(text);
    EXPECT_EQ(Read(print(tree)), tree) << text;
    return true;
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string_view(error.what()).substr(0, 15), "formula column ") << text;
    return false;
  }
}

class Fuzz : public testing::Test {
 protected:
  std::size_t below(std::size_t count) {
    return static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(count)));
  }

  Random random_{34};
};

TEST_F(Fuzz, MutatedTextParsesOrIsAUsageError) {
  const Strings formulas = {
      "y ~ rbf(x) * (periodic(t, period=1y) + linear(t))",
      "log(y) ~ cnn(image, .) * k(\"wind speed\", `a``b`, a=bounded([1e3d, -2], .5, 8km)) + matern32(lat, lon, sphere)",
      "y ~ cnn(raster=\"dem.tif\", at=(lat, `l on`), size=32) * mlp(a, trees(b, n=10), k(\"c\"))",
      "y ~ mlp(., hour(date), log(a - \"d e\"), -c) + rbf(a - b - sqrt(c)) * k(holiday(`t`, days.csv), at=2)",
      "\"PM 2.5\" ~ größe(温度, a=fixed(2.5e-3µm), features=nystrom) + constant()",
  };
  const std::string bytes = "()[]+*,=~\"`. -e019ayinf_\n\\%\x80\xc3\xff" + std::string(1, '\0');
  int parsed = 0, refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = formulas[below(formulas.size())];
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
      const std::size_t place = below(text.size() + 1);
      text.replace(place, below(3), below(3), bytes[below(bytes.size())]);
    }
    ++(reads<parse_formula>(text) ? parsed : refused);
    const std::size_t tilde = text.rfind('~');
    const std::string right = tilde == std::string::npos ? text : text.substr(tilde + 1);
    ++(reads<parse_expression>(right) ? parsed : refused);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(parsed, 2000);
  EXPECT_GT(refused, 2000);
}

TEST_F(Fuzz, GarbageIsAUsageError) {
  const std::string likely = "~()[]+*,=\"`. 1y";
  for (int i = 0; i < 50'000; ++i) {
    std::string text(below(40), ' ');
    for (char& byte : text) byte = below(2) == 0 ? likely[below(likely.size())] : static_cast<char>(below(256));
    text += '\x01';  // nothing that ends in it is a formula
    ASSERT_FALSE(reads<parse_formula>(text)) << text;
    ASSERT_FALSE(reads<parse_expression>(text)) << text;
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace ick
