#include "ick/evaluate/folds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <set>

#include "evaluate/kmeans.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "ick/table/place_names.h"
#include "table/split_words.h"

namespace ick {

namespace {

using Kind = FoldRule::Kind;
using Rows = std::vector<std::int64_t>;

struct RuleRow {
  Kind kind;
  std::string_view name;
  std::size_t least_columns, most_columns;
  Split::Kind split;  // of validation rows within a fold
};
constexpr std::size_t kAnyColumns = 1000;
constexpr std::array<RuleRow, 6> kRules = {{{Kind::random, "random", 0, 0, Split::Kind::random},
                                            {Kind::group, "group", 1, kAnyColumns, Split::Kind::group},
                                            {Kind::time, "time", 1, 1, Split::Kind::block},
                                            {Kind::future, "future", 1, 1, Split::Kind::last},
                                            {Kind::block, "block", 1, kAnyColumns, Split::Kind::block},
                                            {Kind::kmeans, "kmeans", 1, kAnyColumns, Split::Kind::block}}};

const RuleRow& row_of(Kind kind) {
  return *std::find_if(kRules.begin(), kRules.end(), [&](const RuleRow& row) { return row.kind == kind; });
}

// What stands before a message about the rows of a table.
std::string place_of(const FoldRule& rule) { return setting("by", print(rule)) + ": "; }

const Numbers& measured_values(const Table& table, const FoldRule& rule, const std::string& name) {
  const Column& column = table.column(name, place_of(rule));
  if (column.info.type != ColumnType::text && column.info.type != ColumnType::category) return column.values;
  throw DataError(place_of(rule) + "column \"" + name + "\" is a " + std::string(column_type_name(column.info.type)) +
                  "; a time or a number was expected");
}

Rows rows_in_question(const Table& table, const FoldRule& rule, const std::vector<bool>& among) {
  std::vector<bool> use = among;
  for (const std::string& name : rule.kind == Kind::group ? std::vector<std::string>() : rule.columns) {
    const Numbers& values = measured_values(table, rule, name);
    for (std::size_t i = 0; i < use.size(); ++i) use[i] = use[i] && std::isfinite(values[i]);
  }
  Rows rows;
  for (std::size_t i = 0; i < use.size(); ++i) {
    if (use[i]) rows.push_back(static_cast<std::int64_t>(i));
  }
  return rows;
}

// Which fold, from 0, each of the rows is in.
using Places = std::vector<std::int64_t>;

// Dealt out one by one; rows of one class after those of another, so that each fold gets its part.
Places deal(const Table& table, const FoldRequest& request, const Rows& rows) {
  constexpr std::size_t kMostClasses = 10;
  std::vector<std::int64_t> order = shuffled(std::ssize(rows), seed_for(request.seed, "folds"));
  const Column* const target = request.target.empty() ? nullptr : &table.column(request.target);
  const auto value = [&](std::int64_t i) { return target->values[static_cast<std::size_t>(rows[i])]; };
  bool classes = target != nullptr && target->info.type == ColumnType::category;
  if (target != nullptr && target->info.type == ColumnType::integer) {
    std::set<double> seen;
    for (std::size_t i = 0; i < rows.size() && seen.size() <= kMostClasses; ++i) {
      seen.insert(value(static_cast<std::int64_t>(i)));
    }
    classes = seen.size() <= kMostClasses;
  }
  if (classes) {
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return value(a) < value(b); });
  }
  Places places(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    places[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i) % request.folds;
  }
  return places;
}

// Groups or cells, the largest first (of one size in the order of a draw), each to the fold with the fewest rows so far.
Places share_out(const Table& table, const FoldRequest& request, const Rows& rows) {
  const bool groups = request.rule.kind == Kind::group;
  std::vector<bool> use(static_cast<std::size_t>(table.rows), false);
  for (const std::int64_t row : rows) use[static_cast<std::size_t>(row)] = true;
  const std::vector<std::int64_t> together = kept_together(table, split_like(request.rule, 0.5), use);
  std::map<std::int64_t, std::int64_t> sizes;  // cells without rows have no number here
  for (const std::int64_t row : rows) ++sizes[together[static_cast<std::size_t>(row)]];
  if (std::ssize(sizes) < request.folds) {
    const std::string columns = detail::columns_text(request.rule.columns);
    throw DataError(
        place_of(request.rule) +
        (sizes.size() == 1
             ? groups ? "all rows are of one group of " + columns : "all rows are at one place of " + columns
             : "there are " + std::to_string(sizes.size()) + (groups ? " groups of " : " cells of ") + columns) +
        ", and " + setting("folds", std::to_string(request.folds)) + " needs as many at least; " +
        (sizes.size() == 1 ? "divide the rows in another way" : "ask for fewer folds"));
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> drawn;  // group, rows
  const std::vector<std::pair<std::int64_t, std::int64_t>> all(sizes.begin(), sizes.end());
  for (const std::int64_t i : shuffled(std::ssize(all), seed_for(request.seed, "folds"))) {
    drawn.push_back(all[static_cast<std::size_t>(i)]);
  }
  std::stable_sort(drawn.begin(), drawn.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::int64_t> filled(static_cast<std::size_t>(request.folds), 0);
  std::map<std::int64_t, std::int64_t> fold_of;
  for (const auto& [group, size] : drawn) {
    const auto least = std::min_element(filled.begin(), filled.end());
    *least += size;
    fold_of[group] = least - filled.begin();
  }
  Places places;
  for (const std::int64_t row : rows) places.push_back(fold_of.at(together[static_cast<std::size_t>(row)]));
  return places;
}

// With about equally many rows each, equal times together.
Places spans(const Table& table, const FoldRequest& request, const Rows& rows) {
  const Numbers& times = measured_values(table, request.rule, request.rule.columns.front());
  std::vector<double> sorted;
  for (const std::int64_t row : rows) sorted.push_back(times[static_cast<std::size_t>(row)]);
  std::sort(sorted.begin(), sorted.end());
  std::map<double, std::int64_t> fold_of;  // by the first time of each span
  for (auto first = sorted.begin(); first != sorted.end();) {
    const auto last = std::upper_bound(first, sorted.end(), *first);
    const auto twice_middle = (first - sorted.begin()) + (last - sorted.begin());
    fold_of[*first] = twice_middle * request.folds / (2 * std::ssize(sorted));
    first = last;
  }
  std::set<std::int64_t> held;
  for (const auto& [time, fold] : fold_of) held.insert(fold);
  if (std::ssize(held) < request.folds) {
    throw DataError(place_of(request.rule) + "rows have " + std::to_string(fold_of.size()) +
                    " different times, which make " + std::to_string(held.size()) + " spans of about equal size; " +
                    setting("folds", std::to_string(request.folds)) + " were asked for, ask for fewer");
  }
  Places places;
  for (const std::int64_t row : rows) places.push_back(fold_of.at(times[static_cast<std::size_t>(row)]));
  return places;
}

// Degrees of latitude and longitude on the unit sphere, other columns in their own units.
std::vector<double> coordinates(const Table& table, const FoldRule& rule, const Rows& rows, std::size_t& dimensions) {
  const std::vector<std::string>& names = rule.columns;
  const bool sphere = names.size() == 2 && is_latitude(names[0]) && is_longitude(names[1]);
  dimensions = sphere ? 3 : names.size();
  std::vector<double> points;
  for (const std::int64_t row : rows) {
    const auto value = [&](std::size_t c) { return table.column(names[c]).values[static_cast<std::size_t>(row)]; };
    if (!sphere) {
      for (std::size_t c = 0; c < names.size(); ++c) points.push_back(value(c));
      continue;
    }
    const double latitude = value(0) * std::numbers::pi / 180.0, longitude = value(1) * std::numbers::pi / 180.0;
    points.push_back(std::cos(latitude) * std::cos(longitude));
    points.push_back(std::cos(latitude) * std::sin(longitude));
    points.push_back(std::sin(latitude));
  }
  return points;
}

Places regions(const Table& table, const FoldRequest& request, const Rows& rows) {
  std::size_t d = 0;
  const std::vector<double> points = coordinates(table, request.rule, rows, d);
  std::set<std::vector<double>> different;
  for (std::size_t i = 0; i < rows.size() && std::ssize(different) < request.folds; ++i) {
    different.emplace(points.begin() + i * d, points.begin() + (i + 1) * d);
  }
  if (std::ssize(different) < request.folds) {
    throw DataError(place_of(request.rule) +
                    (different.size() == 1 ? std::string("all rows are at one place")
                                           : "rows are at " + std::to_string(different.size()) + " different places") +
                    ", and " + setting("folds", std::to_string(request.folds)) + " needs as many at least; " +
                    (different.size() == 1 ? "divide the rows in another way" : "ask for fewer folds"));
  }
  return kmeans(points, d, request.folds, seed_for(request.seed, "folds"));
}

struct Range {
  double low = HUGE_VAL, high = -HUGE_VAL;
};

Range range_of(const Numbers& times, const Rows& rows) {
  Range range;
  for (const std::int64_t row : rows) {
    range.low = std::min(range.low, times[static_cast<std::size_t>(row)]);
    range.high = std::max(range.high, times[static_cast<std::size_t>(row)]);
  }
  return range;
}

double length_of(const Range& range, const FoldRequest& request) {
  constexpr double kLaterPart = 0.5;  // of the time: what comes before it is learned from in all folds
  return request.horizon > 0.0 ? request.horizon
                               : kLaterPart * (range.high - range.low) / static_cast<double>(request.folds);
}

// Row of time t is in the future k, counted from the end, when high - (k + 1) length < t <= high - k length.
std::vector<Fold> futures(const Table& table, const FoldRequest& request, const Rows& rows) {
  const std::string& name = request.rule.columns.front();
  const Numbers& times = measured_values(table, request.rule, name);
  const Range range = range_of(times, rows);
  const double length = length_of(range, request);
  if (!(range.high > range.low)) {
    throw DataError(place_of(request.rule) + "all rows have the same value of \"" + name + "\"; there is no future");
  }
  const std::string unit = table.column(name).info.type == ColumnType::time ? " d" : "";
  if (!(range.high - static_cast<double>(request.folds) * length >= range.low)) {
    throw DataError(place_of(request.rule) + std::to_string(request.folds) + " futures of " + number_text(length) +
                    unit + " leave nothing to learn from before them: \"" + name + "\" ranges over " +
                    number_text(range.high - range.low) + unit + "; ask for fewer folds, or a shorter " +
                    setting("horizon"));
  }
  std::vector<Fold> folds(static_cast<std::size_t>(request.folds));
  for (const std::int64_t row : rows) {
    const double from_end = std::floor((range.high - times[static_cast<std::size_t>(row)]) / length);
    for (std::size_t k = 0; k < folds.size(); ++k) {  // k folds before the last
      Fold& fold = folds[folds.size() - 1 - k];
      if (from_end == static_cast<double>(k)) fold.test.push_back(row);
      if (from_end > static_cast<double>(k)) fold.training.push_back(row);
    }
  }
  std::erase_if(folds, [](const Fold& fold) { return fold.test.empty() || fold.training.empty(); });
  return folds;
}

std::string name_of(const Table& table, const FoldRule& rule, const Rows& test, std::size_t number) {
  if (rule.kind == Kind::random) return "draw " + std::to_string(number + 1);
  if (rule.kind == Kind::block) return "cells, draw " + std::to_string(number + 1);
  if (rule.kind == Kind::group) {
    std::set<std::string> names;
    const bool one = rule.columns.size() == 1;
    const Column& column = table.column(rule.columns.front());
    for (const std::int64_t row : test) {
      const auto i = static_cast<std::size_t>(row);
      const double value = column.values.empty() ? 0.0 : column.values[i];
      names.insert(column.info.type == ColumnType::text ? column.text[i]
                   : std::isnan(value)                  ? "(missing)"
                   : column.info.type == ColumnType::category
                       ? value < 0.0 ? "(unknown)" : column.info.levels[static_cast<std::size_t>(value)]
                       : number_text(value));
    }
    constexpr std::size_t kMostNamed = 4;
    if (one && names.size() <= kMostNamed) {
      std::string text = column.info.name + " =";
      for (const std::string& name : names) text += (name == *names.begin() ? " " : ", ") + name;
      return text;
    }
    return one ? std::to_string(names.size()) + " groups of " + column.info.name
               : "groups, draw " + std::to_string(number + 1);
  }
  std::string text;
  for (const std::string& name : rule.columns) {
    text += (text.empty() ? "" : ", ") + blocks_of(table, {name}, test, 1).front().name;
  }
  return text;
}

}  // namespace

FoldRule parse_fold_rule(std::string_view text) {
  detail::SplitWords words(
      text, "folds", "write random, group(station), time(date), future(date), block(lat, lon) or kmeans(lat, lon)");
  const std::string name = words.read_name();
  std::vector<std::string> names;
  for (const RuleRow& row : kRules) names.emplace_back(row.name);
  const auto row = std::find_if(kRules.begin(), kRules.end(), [&](const RuleRow& each) { return each.name == name; });
  if (row == kRules.end()) {
    throw words.failure("no way to divide rows is named \"" + name + "\"" + did_you_mean(name, names));
  }
  FoldRule rule{row->kind, words.read_columns(name, row->least_columns, row->most_columns)};
  if (!words.rest().empty()) throw words.failure("\"" + std::string(words.rest()) + "\" is too much");
  return rule;
}

std::string print(const FoldRule& rule) {
  const std::string name(row_of(rule.kind).name);
  return rule.columns.empty() ? name : name + "(" + detail::columns_text(rule.columns) + ")";
}

FoldRule rule_like(const Split& split) {
  switch (split.kind) {
    case Split::Kind::last:
      return {Kind::future, split.columns};
    case Split::Kind::group:
      return {Kind::group, split.columns};
    case Split::Kind::block:
      return {Kind::block, split.columns};
    default:
      return {};
  }
}

Split split_like(const FoldRule& rule, double share) {
  Split split;
  if (share == 0.0) return split;
  split.kind = row_of(rule.kind).split;
  split.share = share;
  split.columns = rule.columns;
  return split;
}

double future_length(const Table& table, const FoldRequest& request, const std::vector<bool>& among) {
  const Rows rows = rows_in_question(table, request.rule, among);
  return length_of(range_of(measured_values(table, request.rule, request.rule.columns.front()), rows), request);
}

std::vector<Fold> make_folds(const Table& table, const FoldRequest& request, const std::vector<bool>& among) {
  const FoldRule& rule = request.rule;
  if (request.folds < 2) {
    throw UsageError(setting("folds", std::to_string(request.folds)) +
                     " leaves nothing to learn from; expected 2 or more");
  }
  const Rows rows = rows_in_question(table, rule, among);
  if (std::ssize(rows) < request.folds) {
    throw DataError(setting("folds", std::to_string(request.folds)) + ": there are " + std::to_string(rows.size()) +
                    " rows with a target" + (rule.columns.empty() ? "" : " and " + join_words(rule.columns)) +
                    ", fewer than folds; ask for fewer");
  }
  std::vector<Fold> folds;
  if (rule.kind == Kind::future) {
    folds = futures(table, request, rows);
  } else {
    const Places places = rule.kind == Kind::random   ? deal(table, request, rows)
                          : rule.kind == Kind::time   ? spans(table, request, rows)
                          : rule.kind == Kind::kmeans ? regions(table, request, rows)
                                                      : share_out(table, request, rows);
    folds.resize(static_cast<std::size_t>(request.folds));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t k = 0; k < folds.size(); ++k) {
        (places[i] == static_cast<std::int64_t>(k) ? folds[k].test : folds[k].training).push_back(rows[i]);
      }
    }
  }
  for (std::size_t k = 0; k < folds.size(); ++k) folds[k].name = name_of(table, rule, folds[k].test, k);
  return folds;
}

}  // namespace ick
