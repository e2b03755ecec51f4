#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ick/base/option.h"
#include "ick/table/split.h"
#include "ick/table/table.h"

namespace ick {

// How rows are divided into folds, each of which is predicted by a model that has learned from others.
//   random                       row by row, classes in equal parts
//   group(station)               whole groups
//   time(date)                   spans of time, given all rows before and after
//   future(date)                 spans of time, given the rows before: the later half of the time, or what a horizon says
//   block(lat, lon)              whole cells of a grid over the columns
//   kmeans(lat, lon)             regions: rows that are nearest to one of `folds` centres
struct FoldRule {
  enum class Kind { random, group, time, future, block, kmeans };
  Kind kind = Kind::random;
  std::vector<std::string> columns;
  bool operator==(const FoldRule&) const = default;
};

FoldRule parse_fold_rule(std::string_view text);  // UsageError that says what is allowed
std::string print(const FoldRule& rule);          // text that parse_fold_rule reads back

template <>
struct OptionType<FoldRule> {
  static constexpr OptionKind kind = OptionKind::text;
  static constexpr bool optional = false;
  static OptionValue value(const FoldRule& rule) { return print(rule); }
  static std::optional<FoldRule> field(const OptionValue& value) {
    return parse_fold_rule(std::get<std::string>(value));
  }
};

// Rule and split of the same kind: rows are set apart for validation within a fold as folds are from each other.
FoldRule rule_like(const Split& split);  // random for `none` and conditions
Split split_like(const FoldRule& rule, double share);

struct Fold {
  std::string name;                          // "station = a", "date 2019-01-01 to 2019-03-07", "3 groups of station"
  std::vector<std::int64_t> training, test;  // rows of the table, in its order
};

struct FoldRequest {
  FoldRule rule;
  std::int64_t folds = 5;
  double horizon = 0.0;  // future: length of a fold in the unit of the column; 0: half of the range in `folds` parts
  std::string target;    // whose classes random folds share out equally
  std::uint64_t seed = 0;
};

// Folds of the rows `among` that have a value in the rule's columns (of a group: all rows), in the order of time, or of
// the draw. Each such row is tested in one fold and trained on in all others; but in folds of the future, earlier rows
// are never tested and later ones never trained on. Folds are as equal in rows as whole groups and cells allow.
// Depends on nothing but the table's values, the request and `among`. DataError when rows, groups or places are too few;
// futures in which there are no rows are left out.
std::vector<Fold> make_folds(const Table& table, const FoldRequest& request, const std::vector<bool>& among);

// Length of a fold of futures in the unit of its column.
double future_length(const Table& table, const FoldRequest& request, const std::vector<bool>& among);

}  // namespace ick
