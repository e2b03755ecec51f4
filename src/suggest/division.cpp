#include "division.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "ick/table/split.h"
#include "ick/train/plan.h"

namespace ick::detail {
namespace {

constexpr double kUnseenShare = 0.2;
constexpr std::int64_t kFewestRows = 30;      // with a target: a fifth of fewer says nothing
constexpr std::int64_t kFewestInstants = 20;  // for cells of the time, or of the place
constexpr std::int64_t kFewestPlaces = 20;

const Split::Kind kCells[] = {Split::Kind::block, Split::Kind::group};

}  // namespace

FoldRule rule_for(const TableLook& plain, const std::string& target, std::string& reason) {
  for (const TimeLook& time : plain.times) {
    if (time.column == target || time.instants < kFewestInstants) continue;
    reason = "cells of the time, so that seasons, places and groups are seen in others";
    return {FoldRule::Kind::block, {time.column}};
  }
  if (plain.place && plain.place->places >= kFewestPlaces && plain.place->north != target &&
      plain.place->east != target) {
    reason = "cells of the place, so that what is far from all other rows need not be guessed";
    return {FoldRule::Kind::block, {plain.place->north, plain.place->east}};
  }
  reason = "row by row, because the table has neither times nor places";
  return {};
}

Division divide(const Table& table, const std::string& target, const TableLook& plain, const SuggestOptions& options) {
  Division made;
  made.reason = "as asked";
  made.rule = options.by ? *options.by : rule_for(plain, target, made.reason);
  std::vector<bool> among = rows_with_value(table, target);
  for (const std::string& name : made.rule.columns) {
    const std::vector<bool> has = rows_with_value(table, name);
    for (std::size_t i = 0; i < among.size(); ++i) among[i] = among[i] && has[i];
  }
  const std::int64_t rows = count_of(among);
  if (rows < kFewestRows) {
    throw DataError("column \"" + target + "\": there are " + std::to_string(rows) + " rows with a target" +
                    (made.rule.columns.empty() ? "" : " and " + join_words(made.rule.columns)) + "; at least " +
                    std::to_string(kFewestRows) + " are needed to search and to set some apart for the last word");
  }
  const std::vector<bool> apart =
      held_out(table, split_like(made.rule, kUnseenShare), seed_for(options.seed, "suggest unseen"), among);
  for (std::size_t i = 0; i < among.size(); ++i) {
    if (among[i]) (apart[i] ? made.unseen : made.seen).push_back(static_cast<std::int64_t>(i));
  }
  return made;
}

std::vector<std::int64_t> some_of(const std::vector<std::int64_t>& rows, std::int64_t most, std::uint64_t seed) {
  if (std::ssize(rows) <= most) return rows;
  std::vector<std::int64_t> some;
  for (const std::int64_t i : shuffled(std::ssize(rows), seed)) {
    if (std::ssize(some) == most) break;
    some.push_back(rows[static_cast<std::size_t>(i)]);
  }
  std::sort(some.begin(), some.end());
  return some;
}

FoldPlan search_folds(const Table& table, const std::string& target, const FoldRule& rule,
                      const SuggestOptions& options) {
  FoldPlan plan;
  plan.rule = rule;
  const std::vector<bool> all(static_cast<std::size_t>(table.rows), true);
  plan.folds = make_folds(table, {rule, options.folds, 0.0, target, options.seed}, all);
  for (const Fold& fold : plan.folds) {
    plan.ratio += static_cast<double>(fold.test.size()) / static_cast<double>(fold.training.size());
  }
  plan.ratio /= static_cast<double>(plan.folds.size());
  return plan;
}

FoldPlan last_fold(const Table& table, std::int64_t training, const FoldRule& rule) {
  FoldPlan plan;
  plan.rule = rule;
  Fold& fold = plan.folds.emplace_back();
  fold.name = "rows set apart";
  fold.training.resize(static_cast<std::size_t>(training));
  fold.test.resize(static_cast<std::size_t>(table.rows - training));
  std::iota(fold.training.begin(), fold.training.end(), 0);
  std::iota(fold.test.begin(), fold.test.end(), training);
  return plan;
}

std::vector<std::int64_t> blocks_by(const Table& table, const FoldRule& rule, std::int64_t first) {
  std::vector<bool> among(static_cast<std::size_t>(table.rows), false);
  std::fill(among.begin() + first, among.end(), true);
  const Split split = split_like(rule, kUnseenShare);
  if (std::find(std::begin(kCells), std::end(kCells), split.kind) != std::end(kCells)) {
    return kept_together(table, split, among);
  }
  std::vector<std::int64_t> block(static_cast<std::size_t>(table.rows));
  std::iota(block.begin(), block.end(), 0);
  if (split.kind != Split::Kind::last) return block;
  std::vector<std::int64_t> rows(block.begin() + first, block.end());
  const std::vector<Block> spans = blocks_of(table, rule.columns, rows);
  for (std::size_t b = 0; b < spans.size(); ++b) {
    for (const std::int64_t row : spans[b].rows) block[static_cast<std::size_t>(row)] = static_cast<std::int64_t>(b);
  }
  return block;
}

}  // namespace ick::detail
