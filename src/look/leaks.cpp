#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>

#include "combination.h"
#include "curve.h"
#include "ick/base/seed.h"
#include "parts.h"

namespace ick::detail {
namespace {

constexpr std::int64_t kMostRowsOfLeaks = 20'000;  // that are looked at
constexpr std::size_t kFewestPairs = 20;           // with both values
constexpr std::size_t kMostClasses = 100;          // of a column, to be told by the target
constexpr std::uint32_t kFewValues = 10;           // of whole numbers that are classes to the target
constexpr double kMostMissing = 0.2;               // of a column that is combined with others

class LeakSearch {
 public:
  LeakSearch(const Table& table, const TableLook& page, std::uint64_t seed)
      : table_(table), page_(page), target_(table.column(page.target)) {
    for (const std::int64_t row : shuffled(table.rows, seed_for(seed, "look rows"))) {
      if (std::ssize(rows_) == kMostRowsOfLeaks) break;
      if (!std::isnan(target_.values[static_cast<std::size_t>(row)])) rows_.push_back(row);
    }
    known_ = score_of_clocks();
  }

  std::vector<LeakLook> search() {
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      if (may_leak(page_.columns[i])) judge(table_.columns[i], page_.columns[i]);
    }
    if (target_.info.type != ColumnType::category) combine();
    std::stable_sort(leaks_.begin(), leaks_.end(), [](const LeakLook& a, const LeakLook& b) {
      return a.columns.size() != b.columns.size() ? a.columns.size() < b.columns.size() : a.score > b.score;
    });
    return std::move(leaks_);
  }

 private:
  static bool may_leak(const ColumnLook& column) {
    switch (column.role) {
      case ColumnRole::number:
      case ColumnRole::group:
      case ColumnRole::text:
        return column.distinct > 1;
      default:
        return false;
    }
  }

  std::vector<double> values(const Column& column) const {
    std::vector<double> all;
    for (const std::int64_t row : rows_) all.push_back(column.values[static_cast<std::size_t>(row)]);
    return all;
  }

  // What time alone tells: a target that changes slowly is nearly a function of it, and so it is of whatever goes with
  // the time. Rows without a column of times may be in their order, unless they are sorted by the target.
  double score_of_clocks() const {
    double best = 0.0;
    const bool classes = target_.info.type == ColumnType::category;
    const std::vector<double> target = values(target_);
    const auto see = [&](const std::vector<double>& clock) {
      std::vector<double> x, y;
      for (std::size_t i = 0; i < clock.size(); ++i) {
        if (std::isnan(clock[i])) continue;
        x.push_back(clock[i]);
        y.push_back(target[i]);
      }
      if (x.size() < kFewestPairs) return;
      best =
          std::max(best, classes ? nearest_gain(ranks_of(x), codes_of_numbers(y)) : curve_r2(ranks_of(x), ranks_of(y)));
    };
    for (const Column& column : table_.columns) {
      if (column.info.type == ColumnType::time && &column != &target_) see(values(column));
    }
    const bool ascending = std::is_sorted(target_.values.begin(), target_.values.end());
    const bool descending = std::is_sorted(target_.values.begin(), target_.values.end(), std::greater<>());
    if (!classes && !ascending && !descending) see(std::vector<double>(rows_.begin(), rows_.end()));
    return best;
  }

  static std::vector<std::uint32_t> codes_of_numbers(const std::vector<double>& numbers) {
    return {numbers.begin(), numbers.end()};
  }

  // The rows that have both values.
  struct Both {
    std::vector<double> x, y;
    std::vector<std::uint32_t> x_codes;
  };
  Both both(const Column& column) const {
    Both both;
    Column some;  // whose codes are needed
    some.info = column.info;
    std::vector<double> numbers;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const auto row = static_cast<std::size_t>(rows_[i]);
      const bool is_text = column.info.type == ColumnType::text;
      if (is_text ? column.text[row].empty() : std::isnan(column.values[row])) continue;
      if (is_text) some.text.push_back(column.text[row]);
      numbers.push_back(is_text ? 0.0 : column.values[row]);
      both.y.push_back(target_.values[row]);
    }
    some.values = numbers;
    both.x = std::move(numbers);
    both.x_codes = codes_of(some, std::ssize(both.x)).of;
    return both;
  }

  bool is_leak(double score) const { return score >= kLeakScore && 1.0 - score < 0.5 * (1.0 - known_); }

  void judge(const Column& column, const ColumnLook& look) {
    const Both b = both(column);
    const bool levels = look.role != ColumnRole::number, classes = target_.info.type == ColumnType::category;
    if (b.x.size() < kFewestPairs) return;
    std::vector<std::uint32_t> y_codes;
    if (classes) y_codes = codes_of_numbers(b.y);
    const std::vector<double> y = ranks_of(b.y),
                              x = levels ? std::vector<double>(b.x_codes.begin(), b.x_codes.end()) : ranks_of(b.x);
    const double ahead = classes ? nearest_gain(x, y_codes) : levels ? level_r2(b.x_codes, y) : curve_r2(x, y);
    if (!levels) tried_.push_back({&column, ahead});
    if (is_leak(ahead)) return add({look.name}, look.name, false, classes, ahead, b.x.size());
    const bool few = levels ? look.distinct <= static_cast<std::int64_t>(kMostClasses) : look.distinct <= kFewValues;
    const double back = few       ? nearest_gain(y, b.x_codes)
                        : levels  ? 0.0
                        : classes ? level_r2(y_codes, x)
                                  : curve_r2(y, x);
    if (is_leak(back)) add({look.name}, look.name, true, few, back, b.x.size());
  }

  void combine() {
    CombinationSearch search;
    search.least = kLeakScore;
    search.known = known_;
    std::vector<const Column*> columns;
    std::vector<std::string> names;
    std::vector<bool> complete(rows_.size(), true);
    for (const auto& [column, score] : tried_) {
      const bool leaks = std::any_of(leaks_.begin(), leaks_.end(), [&, name = column->info.name](const auto& leak) {
        return leak.columns.front() == name;
      });
      if (leaks) continue;
      const std::vector<double> x = values(*column);
      const auto missing = std::count_if(x.begin(), x.end(), [](double value) { return std::isnan(value); });
      if (static_cast<double>(missing) > kMostMissing * static_cast<double>(x.size())) continue;
      for (std::size_t i = 0; i < x.size(); ++i) complete[i] = complete[i] && !std::isnan(x[i]);
      columns.push_back(column);
      names.push_back(column->info.name);
      search.single.push_back(score);
    }
    std::vector<std::int64_t> kept;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (complete[i]) kept.push_back(rows_[i]);
    }
    rows_ = std::move(kept);
    if (rows_.empty()) return;
    search.target = values(target_);
    for (const Column* column : columns) search.columns.push_back(values(*column));
    for (const Combination& found : find_combinations(search)) {
      std::vector<std::string> members;
      for (const std::size_t column : found.columns) members.push_back(names[column]);
      add(std::move(members), combination_text(found, names), false, false, found.r2, rows_.size());
    }
  }

  void add(std::vector<std::string> columns, std::string expression, bool from_target, bool classes, double score,
           std::size_t rows) {
    leaks_.push_back(
        {std::move(columns), std::move(expression), from_target, classes, score, static_cast<std::int64_t>(rows)});
  }

  struct Tried {
    const Column* column;
    double score;
  };
  const Table& table_;
  const TableLook& page_;
  const Column& target_;
  std::vector<std::int64_t> rows_;  // that have a target, in an order of no meaning
  double known_ = 0.0;              // score of the time
  std::vector<Tried> tried_;        // numbers
  std::vector<LeakLook> leaks_;
};

}  // namespace

std::vector<LeakLook> look_for_leaks(const Table& table, const TableLook& page, std::uint64_t seed) {
  return LeakSearch(table, page, seed).search();
}

}  // namespace ick::detail
