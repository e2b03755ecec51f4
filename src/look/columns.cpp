#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>

#include "parts.h"

namespace ick {

std::string_view column_role_name(ColumnRole role) {
  constexpr std::string_view kNames[] = {"target", "time",       "place", "group",    "number",
                                         "image",  "identifier", "text",  "constant", "empty"};
  return kNames[static_cast<std::size_t>(role)];
}

}  // namespace ick

namespace ick::detail {
namespace {

constexpr std::size_t kCommonest = 5;
constexpr std::size_t kCellsSeen = 1000;  // of text, to tell what it is

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return lower;
}

ValueRange range_of(const Numbers& values, std::int64_t examined) {
  double sum = 0.0;
  std::int64_t count = 0;
  ValueRange range{.low = std::numeric_limits<double>::infinity(), .high = -std::numeric_limits<double>::infinity()};
  for (const double value : values) {
    if (std::isnan(value)) continue;
    range.low = std::min(range.low, value), range.high = std::max(range.high, value);
    sum += value;
    ++count;
  }
  const double n = static_cast<double>(count), mean = sum / n;
  double square = 0.0, cube = 0.0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    const double off = value - mean;
    square += off * off, cube += off * off * off;
  }
  if (range.high > range.low) range.skewness = cube / n / std::pow(square / n, 1.5);
  std::vector<double> some(values.begin(), values.begin() + examined);
  std::erase_if(some, [](double value) { return std::isnan(value); });
  const auto half = some.begin() + std::ssize(some) / 2;
  if (some.empty()) {
    range.median = mean;
    return range;
  }
  std::nth_element(some.begin(), half, some.end());
  range.median = *half;
  if (some.size() % 2 == 0) range.median = 0.5 * (*half + *std::max_element(some.begin(), half));
  return range;
}

const std::string& cell_text(const Column& column, std::size_t row) {
  return column.info.type == ColumnType::text ? column.text[row]
                                              : column.info.levels[static_cast<std::size_t>(column.values[row])];
}

std::vector<LevelCount> commonest_of(const Column& column, const Codes& codes) {
  const std::vector<std::int64_t> rows = codes.rows();
  std::vector<std::size_t> first(rows.size());
  for (std::size_t row = codes.of.size(); row-- > 0;) {
    if (codes.of[row] != Codes::kMissing) first[codes.of[row]] = row;
  }
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t shown = std::min(order.size(), kCommonest);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      if (rows[a] != rows[b]) return rows[a] > rows[b];
                      return cell_text(column, first[a]) < cell_text(column, first[b]);
                    });
  std::vector<LevelCount> commonest;
  for (std::size_t i = 0; i < shown; ++i) commonest.push_back({cell_text(column, first[order[i]]), rows[order[i]]});
  return commonest;
}

// Whether most cells fit, of the first that have a value.
template <typename Fits>
bool most_cells(const Column& column, const Fits& fits) {
  constexpr double kMostCells = 0.9;
  std::size_t seen = 0, fitting = 0;
  const auto see = [&](const std::string& text) {
    ++seen;
    fitting += fits(text);
  };
  if (column.info.type == ColumnType::category) {
    for (const std::string& level : column.info.levels) see(level);
  } else {
    for (std::size_t row = 0; row < column.text.size() && seen < kCellsSeen; ++row) {
      if (!column.text[row].empty()) see(column.text[row]);
    }
  }
  return seen > 0 && static_cast<double>(fitting) >= kMostCells * static_cast<double>(seen);
}

bool names_an_image(const std::string& cell) {
  constexpr std::array<std::string_view, 8> kEndings = {".png",  ".jpg", ".jpeg", ".tif",
                                                        ".tiff", ".bmp", ".gif",  ".webp"};
  const std::string lower = lower_case(cell);
  return std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view end) { return lower.ends_with(end); });
}

// 17:24, 17:24:00
bool is_clock(const std::string& cell) {
  const auto colon = cell.find(':');
  if (colon == 0 || colon > 2 || cell.size() < colon + 3) return false;
  return std::all_of(cell.begin(), cell.end(), [](char c) { return c == ':' || c == '.' || (c >= '0' && c <= '9'); });
}

bool counts_rows(const Column& column, std::int64_t rows) {
  const Numbers& values = column.values;
  const double step = values[1] - values[0];
  for (std::size_t row = 1; row < static_cast<std::size_t>(rows); ++row) {
    if (values[row] - values[row - 1] != step) return false;
  }
  return step != 0.0;
}

// Numbers without a fraction, all different, that lie about as close as they can.
bool numbers_rows(const ColumnLook& look, std::int64_t rows) {
  constexpr std::int64_t kEnough = 50;
  return rows >= kEnough && look.range->high - look.range->low < 2.0 * static_cast<double>(rows);
}

}  // namespace

ColumnLook look_at_column(const Column& column, const Codes& codes, std::int64_t rows) {
  constexpr std::int64_t kFewestOfIdentifier = 10;
  ColumnLook look;
  look.name = column.info.name;
  look.type = column.info.type;
  look.distinct = codes.count;
  const auto examined = std::ssize(codes.of);
  const bool has_text = look.type == ColumnType::text || look.type == ColumnType::category;
  if (look.type == ColumnType::text) {
    look.missing = std::count(column.text.begin(), column.text.end(), "");
  } else {
    look.missing = std::count_if(column.values.begin(), column.values.end(), [](double v) { return std::isnan(v); });
  }
  look.role = look.type == ColumnType::time       ? ColumnRole::time
              : look.type == ColumnType::category ? ColumnRole::group
              : look.type == ColumnType::text     ? ColumnRole::text
                                                  : ColumnRole::number;
  if (look.missing == rows) {
    look.role = ColumnRole::empty;
    return look;
  }
  if (has_text) {
    look.commonest = commonest_of(column, codes);
  } else {
    look.range = range_of(column.values, examined);
  }
  column.values.release();
  const bool all_differ = look.distinct == examined && rows >= kFewestOfIdentifier;
  if (look.distinct == 1 && look.missing == 0 && rows > 1) {
    look.role = ColumnRole::constant;
  } else if (has_text && most_cells(column, names_an_image)) {
    look.role = ColumnRole::image;
  } else if (has_text && most_cells(column, is_clock)) {
    look.role = ColumnRole::text;
    look.note = kClockNote;
  } else if (all_differ && has_text) {
    look.role = ColumnRole::identifier;
    look.note = "another value in each row";
  } else if (all_differ && look.type == ColumnType::integer && counts_rows(column, examined)) {
    look.role = ColumnRole::identifier;
    look.note = "counts the rows";
  } else if (all_differ && look.type == ColumnType::integer && numbers_rows(look, rows)) {
    look.role = ColumnRole::identifier;
    look.note = "numbers the rows, in another order";
  }
  return look;
}

std::optional<DatePart> date_part(const ColumnLook& column) {
  struct Row {
    std::string_view name;
    double low, high;
    DatePart part;
  };
  constexpr DatePart kYear{"calendar year", 0}, kMonth{"month of the year", 12}, kDay{"day of the month", 0},
      kWeekday{"day of the week", 7}, kYearDay{"day of the year", 365}, kHour{"hour of the day", 24},
      kMinute{"minute of the hour", 60};
  static constexpr Row kParts[] = {{"year", 1000, 3000, kYear},
                                   {"month", 0, 12, kMonth},
                                   {"mnth", 0, 12, kMonth},
                                   {"mon", 0, 12, kMonth},
                                   {"day", 1, 31, kDay},
                                   {"day", 0, 366, kYearDay},
                                   {"dow", 0, 7, kWeekday},
                                   {"weekday", 0, 7, kWeekday},
                                   {"day_of_week", 0, 7, kWeekday},
                                   {"dayofweek", 0, 7, kWeekday},
                                   {"doy", 0, 366, kYearDay},
                                   {"day_of_year", 0, 366, kYearDay},
                                   {"dayofyear", 0, 366, kYearDay},
                                   {"yday", 0, 366, kYearDay},
                                   {"hour", 0, 24, kHour},
                                   {"hr", 0, 24, kHour},
                                   {"minute", 0, 60, kMinute}};
  if (column.type != ColumnType::integer || !column.range) return std::nullopt;
  const std::string name = lower_case(column.name);
  for (const Row& row : kParts) {
    if (row.name == name && column.range->low >= row.low && column.range->high <= row.high) return row.part;
  }
  return std::nullopt;
}

Sizes sizes_of(std::vector<std::int64_t> rows) {
  if (rows.empty()) return {};
  std::sort(rows.begin(), rows.end());
  return {rows.front(), rows[rows.size() / 2], rows.back()};
}

Codes codes_of_columns(const std::vector<std::string>& columns, const std::vector<Codes>& codes,
                       const TableLook& page) {
  const auto of = [&](const std::string& name) -> const Codes& {
    const auto found = std::find_if(page.columns.begin(), page.columns.end(),
                                    [&](const ColumnLook& column) { return column.name == name; });
    return codes[static_cast<std::size_t>(found - page.columns.begin())];
  };
  Codes all = of(columns.front());
  for (std::size_t i = 1; i < columns.size(); ++i) all = joined(all, of(columns[i]));
  return all;
}

}  // namespace ick::detail
