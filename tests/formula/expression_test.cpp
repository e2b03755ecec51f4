#include "ick/formula/expression.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>

#include "formula/trees.h"
#include "ick/base/error.h"

namespace ick {
namespace {

std::string repeat(std::string_view text, int count) {
  std::string repeated;
  for (int i = 0; i < count; ++i) repeated += text;
  return repeated;
}

std::string error_of(const std::string& text) {
  try {
    const Expression tree = parse_expression(text);
    return "no error: " + print(tree);
  } catch (const UsageError& error) {
    return error.what();
  }
}

const Argument& only_argument(const Expression& expression) { return expression.call.arguments.at(0); }

Quantity read_quantity(const std::string& text) {
  return only_argument(parse_expression("k(a=" + text + ")")).values.at(0);
}

TEST(Parse, ProductsBindTighterThanSums) {
  const Expression a = call("a"), b = call("b"), c = call("c"), d = call("d");
  EXPECT_EQ(parse_expression("a()"), a);
  EXPECT_EQ(parse_expression("a() + b() * c() + d()"), sum({a, product({b, c}), d}));
  EXPECT_EQ(parse_expression("a() * b() + c() * d()"), sum({product({a, b}), product({c, d})}));
  EXPECT_EQ(parse_expression("a() * (b() + c()) * d()"), product({a, sum({b, c}), d}));
}

TEST(Parse, ParenthesesKeepTheirGroups) {
  const Expression a = call("a"), b = call("b"), c = call("c");
  EXPECT_EQ(parse_expression("((a()))"), a);
  EXPECT_EQ(parse_expression("(a() + b()) + c()"), sum({sum({a, b}), c}));
  EXPECT_EQ(parse_expression("a() * (b() * c())"), product({a, product({b, c})}));
}

TEST(Parse, ReadsColumns) {
  EXPECT_EQ(parse_expression("rbf(lat, lon_2, PM2.5, _x)"), call("rbf", {"lat", "lon_2", "PM2.5", "_x"}));
  EXPECT_EQ(parse_expression("rbf(größe, 温度)"), call("rbf", {"größe", "温度"}));
  EXPECT_EQ(parse_expression("rbf(\"wind speed\", `2 m`)"), call("rbf", {"wind speed", "2 m"}));
  EXPECT_EQ(parse_expression("rbf(\"a \"\"b\"\"\", `c``d`, \"e`f\", `g\"h`)"),
            call("rbf", {"a \"b\"", "c`d", "e`f", "g\"h"}));
  EXPECT_EQ(parse_expression("rbf(\"\", \"\"\"\")"), call("rbf", {"", "\""}));
}

TEST(Parse, ReadsArguments) {
  EXPECT_EQ(parse_expression("periodic(t, period=1y)"), call("periodic", {"t"}, {start("period", {{1, "y"}})}));
  EXPECT_EQ(parse_expression("rbf(x, y, lengthscale=[0.1, 3km])"),
            call("rbf", {"x", "y"}, {start("lengthscale", {{0.1, ""}, {3, "km"}})}));
  EXPECT_EQ(parse_expression("periodic(t, period=fixed(1y))"), call("periodic", {"t"}, {fixed("period", {{1, "y"}})}));
  EXPECT_EQ(parse_expression("k(x, a=fixed([1, -2]))"), call("k", {"x"}, {fixed("a", {{1, ""}, {-2, ""}})}));
  EXPECT_EQ(parse_expression("periodic(t, period=start(1y))"),
            call("periodic", {"t"}, {learned_from("period", {{1, "y"}})}));
  EXPECT_EQ(parse_expression("rbf(x, lengthscale=prior(2d, 30d))"),
            call("rbf", {"x"}, {prior("lengthscale", {2, "d"}, {30, "d"})}));
  EXPECT_EQ(parse_expression("rbf(x, lengthscale=bounded(2, 0.5, 8d))"),
            call("rbf", {"x"}, {bounded("lengthscale", {{2, ""}}, {0.5, ""}, {8, "d"})}));
  EXPECT_EQ(parse_expression("k(x, a=bounded([1, 2], 0, 3))"),
            call("k", {"x"}, {bounded("a", {{1, ""}, {2, ""}}, {0, ""}, {3, ""})}));
  EXPECT_EQ(parse_expression("rbf(x, features=nystrom)"), call("rbf", {"x"}, {word("features", "nystrom")}));
  EXPECT_EQ(parse_expression("rbf(a=1, x, b=2, y)"),
            call("rbf", {"x", "y"}, {start("a", {{1, ""}}), start("b", {{2, ""}})}));
}

TEST(Parse, ReadsTextColumnsApartAndNestedCalls) {
  EXPECT_EQ(parse_expression("cnn(x, a=\"dem.tif\", b=`say \"\"`, c=\"\")"),
            call("cnn", {"x"}, {text("a", "dem.tif"), text("b", "say \"\""), text("c", "")}));
  EXPECT_FALSE(parse_expression("cnn(x, a=\"word\")") == parse_expression("cnn(x, a=word)"));
  const Expression patches = parse_expression("cnn(raster=\"dem.tif\", at=(lat, \"l on\"), size=32)");
  EXPECT_EQ(patches,
            call("cnn", {"lat", "l on"}, {text("raster", "dem.tif"), columns_apart("at"), start("size", {{32, ""}})}));
  EXPECT_EQ(patches.call.column_positions, (std::vector<std::size_t>{27, 32}));
  EXPECT_EQ(print(patches), "cnn(raster=\"dem.tif\", at=(lat, \"l on\"), size=32)");

  Expression outer = call("mlp", {"a", "c"}, {start("layers", {{8, ""}})});
  outer.call.nested = {call("trees", {"b"}, {start("n", {{10, ""}})}).call, call("g").call};
  outer.call.nested[1].nested = {call("sphere", {"d"}).call};
  const Expression read = parse_expression("mlp(a, trees(b, n=10), layers=8, c, g(sphere(d)))");
  EXPECT_EQ(read, outer);
  EXPECT_EQ(print(read), "mlp(a, c, trees(b, n=10), g(sphere(d)), layers=8)");
  EXPECT_EQ(read.call.nested[0].position, 8u);
  EXPECT_EQ(read.call.nested[0].column_positions, (std::vector<std::size_t>{14}));
  EXPECT_EQ(read.call.nested[1].nested[0].position, 39u);
}

TEST(Parse, ADotStandsForTheOtherColumns) {
  Expression all = call("mlp"), others = call("mlp", {"a"}, {start("width", {{8, ""}})});
  all.call.rest = others.call.rest = true;
  EXPECT_EQ(parse_expression("mlp(.)"), all);
  EXPECT_EQ(parse_expression("mlp( . , a, width=8)"), others);
  EXPECT_EQ(print(others), "mlp(a, ., width=8)");
  EXPECT_EQ(parse_expression("mlp(\".\")"), call("mlp", {"."}));
  EXPECT_EQ(print(call("mlp", {"."})), "mlp(\".\")");
  EXPECT_FALSE(all == call("mlp"));
}

TEST(Parse, SphereIsAFlagUnlessQuoted) {
  EXPECT_EQ(parse_expression("matern32(lat, lon, sphere)"), call("matern32", {"lat", "lon"}, {flag("sphere")}));
  EXPECT_EQ(parse_expression("rbf(\"sphere\", spheres)"), call("rbf", {"sphere", "spheres"}));
  EXPECT_EQ(parse_expression("rbf(sphere=2)"), call("rbf", {}, {start("sphere", {{2, ""}})}));
}

TEST(Parse, ReadsQuantities) {
  EXPECT_EQ(read_quantity("30km"), (Quantity{30, "km"}));
  EXPECT_EQ(read_quantity("-2"), (Quantity{-2, ""}));
  EXPECT_EQ(read_quantity("+2.5h"), (Quantity{2.5, "h"}));
  EXPECT_EQ(read_quantity(".5"), (Quantity{0.5, ""}));
  EXPECT_EQ(read_quantity("1e-3"), (Quantity{0.001, ""}));
  EXPECT_EQ(read_quantity("1E+3"), (Quantity{1000, ""}));
  EXPECT_EQ(read_quantity("2.5e3d"), (Quantity{2500, "d"}));
  EXPECT_EQ(read_quantity("1e"), (Quantity{1, "e"}));
  EXPECT_EQ(read_quantity("1eV"), (Quantity{1, "eV"}));
  EXPECT_EQ(read_quantity("1e3e"), (Quantity{1000, "e"}));
  EXPECT_EQ(read_quantity("7µm"), (Quantity{7, "µm"}));
  EXPECT_EQ(read_quantity("5e-324"), (Quantity{5e-324, ""}));
}

TEST(Parse, IgnoresBlanks) {
  EXPECT_EQ(parse_expression(" \t rbf ( x ,\n a = [ 1 , 2 ] ) + b( ) "),
            sum({call("rbf", {"x"}, {start("a", {{1, ""}, {2, ""}})}), call("b")}));
}

TEST(Parse, PositionsCountCharacters) {
  const Expression tree = parse_expression("größe(ä, period=1) * rbf(x)");
  EXPECT_EQ(tree.operands.at(0).call.position, 1u);
  EXPECT_EQ(only_argument(tree.operands.at(0)).position, 10u);
  EXPECT_EQ(tree.operands.at(1).call.position, 22u);
  const Call four = parse_expression("k(ä, a=1, \"b c\", ., d)").call;
  EXPECT_EQ(four.column_positions, (std::vector<std::size_t>{3, 11, 21}));
  EXPECT_EQ(four.column_position(2), 21u);
  EXPECT_EQ(call("k", {"x"}).call.column_position(0), 0u) << "made in code";
}

TEST(Parse, EveryErrorNamesItsColumn) {
  const std::string kernel = " where a network or kernel such as mlp(x) or rbf(x) was expected";
  const auto advice = [](const std::string& column) {
    return "; columns stand in kernels and networks: write linear(" + column + ") or mlp(" + column + ")";
  };
  const std::string item = " where a column or an argument was expected";
  const std::string next_item = " where \",\" or \")\" was expected";
  const std::string value =
      " where a value such as 0.5, 1y, [1, 2], start(1y), bounded(2, 0.5, 8) or prior(2d, 30d) was expected";
  const std::string apart =
      "found more columns of rbf where all were expected in one place; give a list such as "
      "at=(lat, lon) or columns by themselves, not both";
  const std::string range = " where a number within the range of a double was expected";
  const std::pair<std::string, std::string> rows[] = {
      {"", "1: found the end of the formula" + kernel},
      {"   ", "4: found the end of the formula" + kernel},
      {"rbf(x) * * linear(x)", "10: found \"*\"" + kernel},
      {"rbf(x) +", "9: found the end of the formula" + kernel},
      {"()", "2: found \")\"" + kernel},
      {"3 * rbf(x)", "1: found \"3\"" + kernel},
      {"\"rbf\"(x)", "1: found the quoted name \"rbf\"" + kernel},
      {"größe(\"ä\") + %", "14: found \"%\"" + kernel},
      {"rbf(x) + \x01", "10: found the control character 1" + kernel},
      {"rbf", "4: found the end of the formula where \"(\" after \"rbf\" was expected" + advice("rbf")},
      {"x + rbf(t)", "3: found \"+\" where \"(\" after \"x\" was expected" + advice("x")},
      {"rbf(x) linear(x)", "8: found \"linear\" where \"+\", \"*\" or the end of the formula was expected"},
      {"rbf(x))", "7: found \")\" where \"+\", \"*\" or the end of the formula was expected"},
      {"rbf(x) 30km", "8: found \"30km\" where \"+\", \"*\" or the end of the formula was expected"},
      {"(rbf(x) + linear(x)", "20: found the end of the formula where \"+\", \"*\" or \")\" was expected"},
      {"rbf(x", "6: found the end of the formula" + next_item},
      {"rbf(x * y)", "7: found \"*\"" + next_item +
                         "; the only sign between columns is -, as in rbf(x - y); + and * stand between terms"},
      {"rbf(lat lon)", "9: found \"lon\"" + next_item},
      {"rbf(\"x\"(y))", "8: found \"(\"" + next_item},
      {"rbf(x(y)", "9: found the end of the formula" + next_item},
      {"rbf(x(y)=1)", "9: found \"=\"" + next_item},
      {"rbf(x(,y))", "7: found \",\"" + item},
      {"rbf(\"x\"=1)", "8: found \"=\"" + next_item},
      {"rbf(", "5: found the end of the formula" + item},
      {"rbf(x,)", "7: found \")\"" + item},
      {"rbf(,x)", "5: found \",\"" + item},
      {"rbf(2m)", "5: found \"2m\"" + item},
      {"rbf(.5)", "5: found \".5\"" + item},
      {"rbf(..)", "6: found \".\"" + next_item},
      {"rbf(.=1)", "6: found \"=\"" + next_item},
      {"rbf(., x, .)", "11: found a second \".\" where it was expected once"},
      {"rbf(\"ab", "5: found a quoted name without the closing \" expected"},
      {"rbf(`ab``)", "5: found a quoted name without the closing ` expected"},
      {"rbf(x, a=)", "10: found \")\"" + value},
      {"rbf(x, a=fixed(\"b\"))", "16: found the quoted name \"b\" where a number was expected"},
      {"rbf(x, a=\"b\" \"c\")", "14: found the quoted name \"c\"" + next_item},
      {"rbf(x, a=\"b)", "10: found a quoted name without the closing \" expected"},
      {"rbf(a=())", "8: found \")\" where a column was expected"},
      {"rbf(a=(.))", "8: found \".\" where a column was expected"},
      {"rbf(a=(x, 2))", "11: found \"2\" where a column was expected"},
      {"rbf(a=(x y))", "10: found \"y\" where \",\" or \")\" after the columns was expected"},
      {"rbf(x, a=(y))", "10: " + apart},
      {"rbf(a=(x), b=(y))", "14: " + apart},
      {"rbf(a=(x), y)", "12: " + apart},
      {"rbf(x, a=1, b=2, a=3)", "18: found a second \"a\" where each argument was expected once"},
      {"rbf(sphere, x, sphere)", "16: found a second \"sphere\" where each argument was expected once"},
      {"rbf(x, a=1 2)", "12: found \"2\"" + next_item},
      {"rbf(x, a=-)", "11: found \")\" where a number was expected"},
      {"rbf(x, a=--1)", "11: found \"-\" where a number was expected"},
      {"rbf(x, a=-inf)", "11: found \"inf\" where a number was expected"},
      {"rbf(x, a=[1, nan])", "14: found \"nan\" where a number was expected"},
      {"rbf(x, a=[])", "11: found \"]\" where a number was expected"},
      {"rbf(x, a=[1, 2)", "15: found \")\" where \",\" or \"]\" was expected"},
      {"rbf(x, a=inf)", "10: found \"inf\" where a finite number was expected"},
      {"rbf(x, a=Infinity)", "10: found \"Infinity\" where a finite number was expected"},
      {"rbf(x, a=NaN)", "10: found \"NaN\" where a finite number was expected"},
      {"rbf(x, a=1e999)", "10: found \"1e999\"" + range},
      {"rbf(x, a=-1e999km)", "11: found \"1e999\"" + range},
      {"rbf(x, a=1e-999)", "10: found \"1e-999\"" + range},
      {"rbf(x, a=0x10)", "11: found \"x10\" where a unit of letters only was expected"},
      {"rbf(x, a=1.5.2)", "13: found \".2\" where a unit of letters only was expected"},
      {"rbf(x, a=1_000)", "11: found \"_000\" where a unit of letters only was expected"},
      {"rbf(x, a=1e-)", "12: found \"-\"" + next_item},
      {"rbf(x, a=fixed)", "15: found \")\" where \"(\" after \"fixed\" was expected"},
      {"rbf(x, a=fixed())", "16: found \")\" where a number was expected"},
      {"rbf(x, a=fixed(1, 2))", "17: found \",\" where \")\" was expected"},
      {"rbf(x, a=bounded 1)", "18: found \"1\" where \"(\" after \"bounded\" was expected"},
      {"rbf(x, a=start())", "16: found \")\" where a number was expected"},
      {"rbf(x, a=prior(1))", "17: found \")\" where \",\" and the upper end of the range that holds 90% was expected"},
      {"rbf(x, a=bounded(1))", "19: found \")\" where \",\" and the lower bound was expected"},
      {"rbf(x, a=bounded(1, 0))", "22: found \")\" where \",\" and the upper bound was expected"},
      {"rbf(x, a=bounded(1, [0], 2))", "21: found \"[\" where a number was expected"},
      {"rbf(x, a=bounded(1, 0, 2, 3))", "25: found \",\" where \")\" was expected"},
      {"rbf(x, a=free(1))", "10: found \"free\" where start(...), bounded(...), prior(...) or fixed(...) was expected"},
  };
  for (const auto& [text, message] : rows) EXPECT_EQ(error_of(text), "formula column " + message) << text;
}

TEST(Parse, BoundsTheNesting) {
  EXPECT_EQ(parse_expression(repeat("(", 200) + "a()" + repeat(")", 200)), call("a"));
  EXPECT_EQ(parse_expression(repeat("(a()) + ", 300) + "a()").operands.size(), 301u);
  const std::string message =
      "formula column 201: found parentheses within parentheses more than 200 deep; write the formula with fewer";
  EXPECT_EQ(error_of(repeat("(", 201) + "a()" + repeat(")", 201)), message);
  EXPECT_EQ(error_of(repeat("(", 1'000'000)), message);
  const std::string calls = repeat("a(", 200) + "x" + repeat(")", 200);
  EXPECT_EQ(print(parse_expression(calls)), calls);
  EXPECT_EQ(
      error_of(repeat("a(", 201) + "x" + repeat(")", 201)),
      "formula column 403: found parentheses within parentheses more than 200 deep; write the formula with fewer");
}

TEST(Call, FindsItsArguments) {
  const Call rbf = parse_expression("rbf(x, a=1, b=word)").call;
  ASSERT_NE(rbf.find("b"), nullptr);
  EXPECT_EQ(rbf.find("b")->word, "word");
  EXPECT_EQ(rbf.find("a")->values.at(0).number, 1.0);
  EXPECT_EQ(rbf.find("x"), nullptr);
}

TEST(Equality, SeesEverythingButThePosition) {
  const std::string text = "k(x, a=bounded(1y, 0y, 2y), b=word)";
  EXPECT_EQ(parse_expression(text), parse_expression("  " + text));
  for (const std::string other :
       {"l(x, a=bounded(1y, 0y, 2y), b=word)", "k(z, a=bounded(1y, 0y, 2y), b=word)",
        "k(x, c=bounded(1y, 0y, 2y), b=word)", "k(x, a=bounded(3y, 0y, 2y), b=word)",
        "k(x, a=bounded(1d, 0y, 2y), b=word)", "k(x, a=bounded(1y, 1y, 2y), b=word)",
        "k(x, a=bounded(1y, 0y, 3y), b=word)", "k(x, a=bounded(1y, 0y, 2y), b=sword)", "k(x, a=fixed(1y), b=word)",
        "k(x, a=bounded(1y, 0y, 2y))", "k(x, b=word, a=bounded(1y, 0y, 2y))", "k(x, a=bounded(1y, 0y, 2y), b=\"word\")",
        "k(x, a=bounded(1y, 0y, 2y), b=word, c())"}) {
    EXPECT_FALSE(parse_expression(text) == parse_expression(other)) << other;
  }
}

TEST(Print, WritesWhatItsTableSays) {
  const std::pair<std::string, std::string> rows[] = {
      {"constant( )", "constant()"},
      {"((a())+(b()*c()))", "a() + b() * c()"},
      {"(a()+b())*c()", "(a() + b()) * c()"},
      {"(a()+b())+c()", "(a() + b()) + c()"},
      {"a()*(b()*c())", "a() * (b() * c())"},
      {"rbf(\"x\",`wind speed`)", "rbf(x, \"wind speed\")"},
      {"rbf(`a\"b`, \"c`d\", \"\", \"2m\")", "rbf(\"a\"\"b\", \"c`d\", \"\", \"2m\")"},
      {"rbf(\"sphere\", sphere)", "rbf(\"sphere\", sphere)"},
      {"rbf(a=+1.50km, x)", "rbf(x, a=1.5km)"},
      {"k(a=[1],b=[-1,2e-9h])", "k(a=1, b=[-1, 2e-09h])"},
      {"k(x,a=fixed( [1,2] ),b=bounded([1y],.5y,8y),c=w.d)", "k(x, a=fixed([1, 2]), b=bounded(1y, 0.5y, 8y), c=w.d)"},
      {"k(a=`b\"c`,d=\"\",e=\"plain\")", "k(a=\"b\"\"c\", d=\"\", e=\"plain\")"},
      {"k(a=1,at=( lat,`l on`,\"sphere\" ),.)", "k(., a=1, at=(lat, \"l on\", \"sphere\"))"},
      {"k(f( ),x,g(y,h(z,a=1)),sphere)", "k(x, f(), g(y, h(z, a=1)), sphere)"},
      {"größe(温度, \"µ m\", a=7µm)", "größe(温度, \"µ m\", a=7µm)"},
  };
  for (const auto& [text, printed] : rows) {
    const Expression tree = parse_expression(text);
    EXPECT_EQ(print(tree), printed);
    EXPECT_EQ(parse_expression(printed), tree) << printed;
  }
}

TEST(Print, RandomTreesReadBackEqual) {
  RandomTrees trees(31);
  for (int i = 0; i < 3000; ++i) {
    const Expression tree = trees.tree(4);
    ASSERT_EQ(parse_expression(print(tree)), tree) << print(tree);
  }
}

TEST(Canonical, MultipliesOutInOrder) {
  const std::pair<std::string, std::string> rows[] = {
      {"a()", "a()"},
      {"a() * b() + c()", "a() * b() + c()"},
      {"a() * (b() + c())", "a() * b() + a() * c()"},
      {"(a() + b()) * (c() + d())", "a() * c() + a() * d() + b() * c() + b() * d()"},
      {"(a() + b()) * c() * (d() + e())", "a() * c() * d() + a() * c() * e() + b() * c() * d() + b() * c() * e()"},
      {"a() * (b() + c() * (d() + e()))", "a() * b() + a() * c() * d() + a() * c() * e()"},
      {"(b() + (a() + c())) + a()", "b() + a() + c() + a()"},
      {"b() * (a() * (c() * a()))", "b() * a() * c() * a()"},
      {"rbf(x, a=1y) * (b(\"p q\") + c())", "rbf(x, a=1y) * b(\"p q\") + rbf(x, a=1y) * c()"},
  };
  for (const auto& [text, expected] : rows) EXPECT_EQ(print(canonical(parse_expression(text))), expected);
}

// Integers modulo 2^64 are a ring: a tree and its canonical form have exactly the same value for any numbers in place
// of the calls.
using Values = std::map<std::string, std::uint64_t>;

std::uint64_t value_of(const Expression& tree, const Values& values) {
  if (tree.kind == Kind::call) return values.at(tree.call.name);
  std::uint64_t total = tree.kind == Kind::sum ? 0 : 1;
  for (const Expression& operand : tree.operands) {
    const std::uint64_t value = value_of(operand, values);
    total = tree.kind == Kind::sum ? total + value : total * value;
  }
  return total;
}

std::uint64_t value_of(const SumOfProducts& sum_of_products, const Values& values) {
  std::uint64_t total = 0;
  for (const Product& factors : sum_of_products) {
    std::uint64_t value = 1;
    for (const Call& factor : factors) value *= values.at(factor.name);
    total += value;
  }
  return total;
}

TEST(Canonical, HasTheValueOfTheTree) {
  RandomTrees trees(32);
  Random random(33);
  int multiplied_out = 0;
  for (int i = 0; i < 1000; ++i) {
    const Expression tree = trees.tree(3);
    Values values;
    for (const std::string name : {"rbf", "linear", "fixed", "sphere", "e", "größe", "x.y_2"}) {
      values[name] = random.bits() | 1;  // odd: products never vanish
    }
    const SumOfProducts form = canonical(tree);
    ASSERT_EQ(value_of(form, values), value_of(tree, values)) << print(tree);
    multiplied_out += form.size() > 4;
  }
  EXPECT_GT(multiplied_out, 100);
}

using Ids = std::vector<std::vector<std::size_t>>;

Ids ids_of(const SumOfProducts& sum) {
  Ids ids;
  for (const Product& product : sum) {
    auto& factors = ids.emplace_back();
    for (const Call& call : product) factors.push_back(call.id);
  }
  return ids;
}

// a (b + c) (d + a): the last one is another `a`. Ids do not come from places in the text, which code need not give.
TEST(Canonical, ACallHasOneIdInAllItsProducts) {
  Expression tree = parse_expression("a() * (b() + c()) * (d() + a())");
  const Ids expected = {{1, 2, 4}, {1, 2, 5}, {1, 3, 4}, {1, 3, 5}};
  EXPECT_EQ(ids_of(canonical(tree)), expected);
  for (Expression& sum : tree.operands) {
    sum.call.position = 0;
    for (Expression& each : sum.operands) each.call.position = 0;
  }
  EXPECT_EQ(ids_of(canonical(tree)), expected);
}

TEST(CallsOf, FromLeftToRight) {
  const Expression tree = parse_expression("a() * (b(f(x)) + c() * d()) + e()");
  std::string names;
  for (const Call* call : calls_of(tree)) names += call->name;
  EXPECT_EQ(names, "abcde");
}

TEST(Canonical, RefusesToGrowWithoutBound) {
  const auto power = [](int sums) { return parse_expression(repeat("(a() + b()) * ", sums - 1) + "(a() + b())"); };
  EXPECT_EQ(canonical(power(13)).size(), 8192u);
  for (const int sums : {14, 200}) {
    try {
      canonical(power(sums));
      ADD_FAILURE() << sums << " sums of two were multiplied out";
    } catch (const UsageError& error) {
      EXPECT_STREQ(error.what(),
                   "the formula multiplies out into more than 10000 products; multiply fewer sums with each other");
    }
  }
  EXPECT_EQ(canonical(parse_expression(repeat("a() + ", 9'999) + "a()")).size(), 10'000u);
  EXPECT_THROW(canonical(parse_expression(repeat("a() + ", 10'000) + "a()")), UsageError);
}

}  // namespace
}  // namespace ick
