#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ick/evaluate/cross_validation.h"
#include "ick/look/look.h"
#include "ick/suggest/suggest.h"

// Which rows the search sees, and which have the last word.
namespace ick::detail {

// Cells of the time, else of the place, else rows one by one: other cells show the same seasons, places and groups, so
// that all of these can help. Whole regions, or groups, left out would leave nothing to learn about them.
FoldRule rule_for(const TableLook& plain, const std::string& target, std::string& reason);

struct Division {
  FoldRule rule;
  std::string reason;
  std::vector<std::int64_t> seen, unseen;  // rows of the table with a target, and a value of the rule's columns
};
Division divide(const Table& table, const std::string& target, const TableLook& plain, const SuggestOptions& options);

// A draw of at most so many, in their order.
std::vector<std::int64_t> some_of(const std::vector<std::int64_t>& rows, std::int64_t most, std::uint64_t seed);

// Folds of all rows of `table`, which are those that were seen.
FoldPlan search_folds(const Table& table, const std::string& target, const FoldRule& rule,
                      const SuggestOptions& options);

// One fold: rows up to `training` are learned from, the others tested.
FoldPlan last_fold(const Table& table, std::int64_t training, const FoldRule& rule);

// The block that each row of a table is in, among the rows from `first` on: rows of a block resemble each other.
std::vector<std::int64_t> blocks_by(const Table& table, const FoldRule& rule, std::int64_t first);

}  // namespace ick::detail
