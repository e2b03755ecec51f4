#include "suggest/ingredients.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace ick::detail {
namespace {

using Strings = std::vector<std::string>;

ColumnLook column(const std::string& name, ColumnRole role, Strings terms, ColumnType type = ColumnType::number) {
  ColumnLook made;
  made.name = name, made.role = role, made.type = type, made.terms = std::move(terms), made.distinct = 8;
  return made;
}

TableLook weather() {
  TableLook page;
  page.rows = page.examined = 400;
  page.target = "pm25";
  page.columns = {column("date", ColumnRole::time, {"periodic(date, period=1y)", "matern32(date)"}, ColumnType::time),
                  column("wind", ColumnRole::number, {"mlp(wind)"}),
                  column("temp", ColumnRole::number, {"mlp(temp)"}),
                  column("site", ColumnRole::group, {"categorical(site)"}, ColumnType::category),
                  column("lat", ColumnRole::place, {"matern32(lat, lon, sphere)"}),
                  column("lon", ColumnRole::place, {"matern32(lat, lon, sphere)"}),
                  column("pm25", ColumnRole::target, {"log(pm25)"}),
                  column("pm10", ColumnRole::number, {}),
                  column("row", ColumnRole::identifier, {})};
  page.columns[7].note = "suspected leak";
  page.periods = {{"date", 365.2425, "1y", 0.45}};
  return page;
}

Strings texts_of(const Ingredients& from) {
  Strings texts;
  for (const Ingredient& each : from.all) texts.push_back(each.text);
  return texts;
}

std::size_t number_of(const Ingredients& from, const std::string& text) {
  const Strings texts = texts_of(from);
  return static_cast<std::size_t>(std::find(texts.begin(), texts.end(), text) - texts.begin());
}

TEST(Ingredients, OfEachRole) {
  TableLook plain = weather();
  plain.columns[0].terms = {"periodic(date, period=1y)", "periodic(date, period=1w)", "matern32(date)"};
  const Ingredients from = ingredients_of(weather(), plain);
  EXPECT_EQ(from.target, "log(pm25)");
  EXPECT_EQ(texts_of(from),
            (Strings{"periodic(date, period=1y)", "matern32(date)", "linear(date)", "periodic(date, period=1w)",
                     "categorical(site)", "matern32(lat, lon, sphere)", "linear(wind, temp)", "rbf(wind)", "rbf(temp)",
                     "mlp(wind, temp)", "mlp(wind, temp, site)", "boost(date, wind, temp, site, lat, lon)"}));
  EXPECT_EQ(from.all[0].hint, "1y explains 45% of the variance in the spectrum");
  EXPECT_EQ(from.all[3].hint, "");
  EXPECT_EQ(from.left_out, (Strings{"pm10 (suspected leak)", "row (identifier)"}));
  EXPECT_FALSE(from.gaps);
}

TEST(Ingredients, KernelsReadNoColumnThatIsMostlyMissing) {
  TableLook page = weather();
  page.columns[1].missing = 300;
  page.columns[2].missing = 4;
  const Strings texts = texts_of(ingredients_of(page, page));
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "linear(temp)"), 1);
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "rbf(wind)"), 0);
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "mlp(wind, temp)"), 1);
  EXPECT_TRUE(ingredients_of(page, page).gaps);
}

TEST(Structures, AreFormulasAndSentences) {
  const Ingredients from = ingredients_of(weather(), weather());
  const std::size_t season = number_of(from, "periodic(date, period=1y)"), wind = number_of(from, "mlp(wind, temp)"),
                    place = number_of(from, "matern32(lat, lon, sphere)");
  const Structure structure = {{place}, {season, wind}};
  EXPECT_EQ(formula_of(from, structure),
            "log(pm25) ~ matern32(lat, lon, sphere) + mlp(wind, temp) * periodic(date, period=1y)");
  EXPECT_EQ(meaning_of(from, structure),
            "a map over lat and lon, plus a network of wind and temp that changes with a season of 1y in date");
  EXPECT_EQ(weight_of(from, structure), 1 + 1 + 2);
  EXPECT_TRUE(has_network(from, structure));
  EXPECT_FALSE(has_network(from, {{place}}));
}

// Each step once; roles multiply where a product of them has a meaning.
TEST(Structures, StepsAreOneTermOrFactorAway) {
  const Ingredients from = ingredients_of(weather(), weather());
  const std::size_t season = number_of(from, "periodic(date, period=1y)"), line = number_of(from, "linear(wind, temp)"),
                    place = number_of(from, "matern32(lat, lon, sphere)"), curve = number_of(from, "rbf(wind)");
  const auto has = [](const std::vector<Structure>& steps, const Structure& structure) {
    return std::count(steps.begin(), steps.end(), structure) == 1;
  };
  const auto product = [](std::size_t a, std::size_t b) { return Term{std::min(a, b), std::max(a, b)}; };
  const auto sum = [](Term a, Term b) { return a < b ? Structure{a, b} : Structure{b, a}; };
  const std::vector<Structure> first = steps_from(from, {});
  for (std::size_t i = 0; i < from.all.size(); ++i) EXPECT_TRUE(has(first, {{i}})) << i;
  EXPECT_TRUE(has(first, {product(season, line)}));
  EXPECT_FALSE(has(first, {product(place, line)}));
  EXPECT_FALSE(has(first, {product(season, curve)}));

  const std::vector<Structure> next = steps_from(from, {product(season, line)});
  EXPECT_TRUE(has(next, sum({season}, {line})));                          // taken apart
  EXPECT_TRUE(has(next, sum({place}, product(season, line))));            // a term more
  EXPECT_TRUE(has(steps_from(from, {{line}}), {product(season, line)}));  // a factor more
  EXPECT_FALSE(has(next, {}));
}

}  // namespace
}  // namespace ick::detail
