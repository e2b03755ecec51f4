#include "ick/suggest/suggest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>

#include "ick/base/seed.h"
#include "ick/ick.h"
#include "support/message.h"
#include "support/table_case.h"

namespace ick {
namespace {

// Days of three years, a number, a category, and what is made of them.
Table days(std::int64_t rows, double signal, std::uint64_t seed = 3) {
  Random random(seed_for(seed, "days"));
  std::vector<double> day, a, site, y;
  for (std::int64_t i = 0; i < rows; ++i) {
    day.push_back(16000.0 + static_cast<double>(i * 1100 / rows));
    a.push_back(random.normal());
    site.push_back(static_cast<double>(random.below(4)));
    y.push_back(signal * (2.0 * std::sin(2.0 * std::numbers::pi * day.back() / 365.2425) + 1.5 * a.back()) +
                0.5 * random.normal());
  }
  return table_of({column_of("day", day, ColumnType::time), column_of("a", a),
                   column_of("site", site, ColumnType::category, {"n", "e", "s", "w"}), column_of("y", y)});
}

TEST(Suggest, FindsASumAndSaysHowSure) {
  const Suggestions found = suggest(days(240, 1.0), "y");
  ASSERT_FALSE(found.suggested.empty()) << found.verdict;
  const Suggestion& first = found.suggested.front();
  EXPECT_EQ(first.formula, "y ~ periodic(day, period=1y) + linear(a)");
  EXPECT_EQ(first.meaning, "a season of 1y in day, plus a line in a");
  EXPECT_LT(first.p, 0.01);
  EXPECT_NEAR(first.unseen, 0.5, 0.15);  // the noise
  EXPECT_EQ(found.score, "rmse");
  EXPECT_EQ(print(found.rule), "block(day)");
  EXPECT_TRUE(found.finished);
  EXPECT_EQ(found.rows + found.unseen_rows, 240);
}

// Rows that have the last word are in no table that the search gives to be fitted.
TEST(Suggest, RowsSetApartAreNeverFitted) {
  const Table table = days(200, 1.0);
  std::set<double> fitted, tested;
  SuggestControl control;
  control.run = [&](std::span<const SuggestTask> tasks, const std::function<bool()>&) {
    std::vector<SuggestOutcome> outcomes;
    for (const SuggestTask& task : tasks) {
      const bool last = task.plan->folds.size() == 1;
      const Numbers& values = task.table->column("a").values;
      if (last) {
        for (const std::int64_t row : task.plan->folds[0].test) tested.insert(values[static_cast<std::size_t>(row)]);
      } else {
        EXPECT_TRUE(tested.empty());
        fitted.insert(values.begin(), values.end());
      }
      outcomes.push_back({fit_fold(*task.table, *task.fit, *task.plan, task.fold), {}});
    }
    return outcomes;
  };
  const Suggestions found = suggest(table, "y", {}, control);
  EXPECT_EQ(std::ssize(fitted), found.rows);
  EXPECT_EQ(std::ssize(tested), found.unseen_rows);
  for (const double each : tested) EXPECT_FALSE(fitted.contains(each));
  // Nor do they change a trial: another target there, the same search.
  Table other = table;
  Column& y = other.columns[3];
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (tested.contains(table.column("a").values[i])) set_value(y, static_cast<std::size_t>(i), 1e3);
  }
  const Suggestions again = suggest(other, "y", {});
  ASSERT_EQ(again.trials.size(), found.trials.size());
  for (std::size_t i = 0; i < found.trials.size(); ++i) {
    EXPECT_EQ(again.trials[i].formula, found.trials[i].formula);
    EXPECT_EQ(again.trials[i].folds, found.trials[i].folds);
  }
}

TEST(Suggest, NothingInNoise) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Suggestions found = suggest(days(150, 0.0, seed), "y");
    EXPECT_TRUE(found.suggested.empty()) << found.verdict;
    EXPECT_TRUE(found.verdict.starts_with("nothing found beyond the mean")) << found.verdict;
  }
}

TEST(Suggest, Classes) {
  const Table numbers = days(240, 1.0);
  std::vector<double> kind;
  for (const double y : numbers.column("y").values) kind.push_back(y > 0.0 ? 1.0 : 0.0);
  Table table = table_of(
      {numbers.columns[0], numbers.columns[1], column_of("kind", kind, ColumnType::category, {"low", "high"})});
  const Suggestions found = suggest(table, "kind");
  EXPECT_EQ(found.score, "log_loss");
  ASSERT_FALSE(found.suggested.empty()) << found.verdict;
  EXPECT_LT(found.suggested.front().unseen, 0.45);  // of the shares: log 2
}

TEST(Suggest, RefusesWhatCannotBeSearched) {
  const Table table = days(60, 1.0);
  EXPECT_EQ(message_of([&] { suggest(table, "yy"); }), "target: no column named \"yy\"; did you mean \"y\"?");
  Table constant = table;
  constant.columns[3] = column_of("y", std::vector<double>(60, 2.0));
  EXPECT_EQ(message_of([&] { suggest(constant, "y"); }), "column \"y\": the target has the same value in every row");
  const Table few = select_rows(table, {0, 1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(message_of([&] { suggest(few, "y"); }),
            "column \"y\": there are 9 rows with a target; at least 30 are needed to search and to set some apart for "
            "the last word");
  const Table alone = table_of({table.columns[3], text_column("note", std::vector<std::string>(60, "x"))});
  EXPECT_TRUE(message_of([&] { suggest(alone, "y"); }).starts_with("no column could be read by a formula of \"y\""));
  SuggestOptions many;
  many.folds = 70;
  EXPECT_NE(message_of([&] { suggest(table, "y", many); }), "");
  SuggestOptions classes;
  classes.score = "log_loss";
  EXPECT_EQ(message_of([&] { suggest(table, "y", classes); }), "score=log_loss is for classes, and \"y\" has numbers");
  SuggestControl lazy;  // no fit is ever done
  lazy.run = [](std::span<const SuggestTask> tasks, const std::function<bool()>&) {
    return std::vector<SuggestOutcome>(tasks.size());
  };
  EXPECT_TRUE(message_of([&] {
                suggest(table, "y", {}, lazy);
              }).starts_with("budget=2min: too little time to score one formula in 2 folds"));
  SuggestControl stopped;
  stopped.cancelled = [] { return true; };
  EXPECT_NE(message_of<Interrupted>([&] { suggest(table, "y", {}, stopped); }), "");
}

}  // namespace
}  // namespace ick
