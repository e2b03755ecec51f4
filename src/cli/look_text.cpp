#include "cli/look_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "ick/base/text.h"
#include "ick/formula/expression.h"
#include "ick/table/time.h"

namespace ick {

namespace {

constexpr std::size_t kPageWidth = 100, kLabelWidth = 10;
constexpr std::size_t kMostListed = 30;  // columns: more are summed up
constexpr std::size_t kNameWidth = 26;
constexpr std::size_t kMostNames = 12;   // of columns in one sentence
constexpr std::size_t kMostInTerm = 24;  // of columns in one term

std::string counted(std::int64_t count, const std::string& one, const std::string& many = "") {
  const std::string digits = std::to_string(std::abs(count));
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text + " " + (count == 1 ? one : many.empty() ? one + "s" : many);
}

std::string plain_count(std::int64_t count) {
  const std::string text = counted(count, "");
  return text.substr(0, text.find(' '));
}

// Letters as a terminal shows them: a byte of UTF-8 that goes on is none.
std::size_t shown_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }));
}

std::string shortened(const std::string& text, std::size_t width) {
  if (shown_width(text) <= width) return text;
  std::string some;
  std::size_t letters = 0;
  for (const char c : text) {
    letters += (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
    if (letters >= width - 1) break;
    some += c;
  }
  return some + "..";
}

std::string padded(const std::string& text, std::size_t width, bool right = false) {
  const std::string space(width - std::min(width, shown_width(text)), ' ');
  return right ? space + text : text + space;
}

// Cells may hold line ends and other signs that a terminal would obey.
std::string on_one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20u || c == 0x7f) c = ' ';
  }
  return text;
}

// "label     text", wrapped between words.
std::string paragraph(const std::string& label, const std::string& said) {
  const std::string text = on_one_line(said);
  std::string out, line = padded(label, kLabelWidth);
  bool begun = false;
  for (std::size_t first = 0; first < text.size();) {
    const std::size_t space = std::min(text.find(' ', first), text.size());
    const std::string word = text.substr(first, space - first);
    if (begun && shown_width(line) + 1 + shown_width(word) > kPageWidth) {
      out += line + "\n";
      line.assign(kLabelWidth, ' ');
      begun = false;
    }
    line += (begun ? " " : "") + word;
    begun = true;
    first = space + 1;
  }
  return out + line + "\n";
}

std::string names_text(const std::vector<std::string>& names) {
  if (names.size() <= kMostNames) return join_words(names);
  std::vector<std::string> some(names.begin(), names.begin() + kMostNames - 1);
  some.push_back(counted(std::ssize(names) - std::ssize(some), "other column"));
  return join_words(some);
}

std::string value_of(double value, ColumnType type) {
  if (type == ColumnType::time) return time_text(value);
  const bool whole = value == std::floor(value) || std::abs(value) >= 1000.0;
  if (whole && std::abs(value) < 1e9) return fmt::format("{:.0f}", value + 0.0);
  return fmt::format("{:.4g}", value);
}

std::string share_text(double share) {
  if (share == 0.0) return "-";
  if (share == 1.0) return "all";
  return share < 0.001 ? "<0.1%" : share > 0.999 ? ">99.9%" : fmt::format("{:.1f}%", 100.0 * share);
}

std::string duration_text(double days) {
  struct Step {
    double days;
    const char* text;
  };
  constexpr Step kSteps[] = {{365.2425, "y"},   {30.436875, "month"},  {1.0, "d"},
                             {1.0 / 24.0, "h"}, {1.0 / 1440.0, "min"}, {1.0 / 86400.0, "s"}};
  // Months and years where it is a number of them; else the largest unit that it is at least one of.
  for (const Step& step : kSteps) {
    const double units = days / step.days;
    const bool calendar = step.days > 1.0;
    if (units < (calendar ? 0.97 : 0.9995)) continue;
    if (calendar && std::abs(units - std::round(units)) > 0.01 * units && units < 10.0) continue;
    if (calendar && std::abs(days - std::round(days)) < 1e-9 && units < 0.995) continue;  // 30 days are no month
    return fmt::format("{:.3g} {}{}", units, step.text, step.days == 30.436875 && units > 1.5 ? "s" : "");
  }
  return fmt::format("{:.3g} s", days * 86400.0);
}

std::string range_text(const ColumnLook& column) {
  constexpr double kSkewed = 1.0;
  const ValueRange& r = *column.range;
  if (r.low == r.high) return value_of(r.low, column.type);
  std::string text = value_of(r.low, column.type) + " to " + value_of(r.high, column.type);
  if (column.type == ColumnType::time || column.role == ColumnRole::identifier || column.distinct < 3) return text;
  text += ", median " + value_of(r.median, column.type);
  return std::abs(r.skewness) > kSkewed ? text + fmt::format(", skewness {:.1f}", r.skewness) : text;
}

// The most frequent levels, as many as there is room for.
std::string levels_text(const ColumnLook& column, std::size_t width) {
  const auto shown = [](const LevelCount& level) { return shortened(on_one_line(level.text), 30); };
  if (column.commonest.front().rows == 1) return "as " + shown(column.commonest.front());
  std::string text;
  for (std::size_t i = 0; i < column.commonest.size(); ++i) {
    const LevelCount& level = column.commonest[i];
    const std::string next = fmt::format("{}{} ({})", i > 0 ? ", " : "", shown(level), plain_count(level.rows));
    const bool last = static_cast<std::int64_t>(i) + 1 == column.distinct;
    if (i > 0 && shown_width(text + next) + (last ? 0 : 5) > width) return text + ", ...";
    text += next;
  }
  return column.distinct > std::ssize(column.commonest) ? text + ", ..." : text;
}

std::string values_text(const ColumnLook& column, std::size_t width) {
  if (column.distinct == 0) return "no value in any row";
  const std::string note = column.note.empty() ? "" : "; " + column.note;
  if (column.role == ColumnRole::constant) {
    return "always " + (column.range ? value_of(column.range->low, column.type)
                                     : shortened(on_one_line(column.commonest.front().text), width - 7));
  }
  return (column.range ? range_text(column) : levels_text(column, width - note.size())) + note;
}

// The columns to list: all, or those that are more than numbers first.
std::vector<const ColumnLook*> listed(const TableLook& page) {
  std::vector<const ColumnLook*> columns;
  for (const ColumnLook& column : page.columns) columns.push_back(&column);
  if (columns.size() <= kMostListed) return columns;
  std::stable_partition(columns.begin(), columns.end(),
                        [](const ColumnLook* c) { return c->role != ColumnRole::number; });
  columns.resize(kMostListed - 6);
  std::sort(columns.begin(), columns.end());
  return columns;
}

std::string columns_text(const TableLook& page) {
  const std::vector<const ColumnLook*> columns = listed(page);
  std::size_t name_width = 6;
  for (const ColumnLook* column : columns) {
    name_width = std::max(name_width, std::min(kNameWidth, shown_width(on_one_line(column->name))));
  }
  std::string text = fmt::format("{}  type      missing   distinct  values\n", padded("column", name_width));
  const std::size_t width = kPageWidth - name_width - 31;
  for (const ColumnLook* column : columns) {
    const double missing = static_cast<double>(column->missing) / static_cast<double>(page.rows);
    text += fmt::format("{}  {:<8}  {:>7}  {:>9}  {}\n",
                        padded(shortened(on_one_line(column->name), kNameWidth), name_width),
                        column_type_name(column->type), share_text(missing), plain_count(column->distinct),
                        values_text(*column, width));
  }
  if (columns.size() < page.columns.size()) {
    std::map<std::string, std::int64_t> others;
    for (const ColumnLook& column : page.columns) {
      if (std::find(columns.begin(), columns.end(), &column) == columns.end())
        ++others[std::string(column_role_name(column.role))];
    }
    std::vector<std::string> kinds;
    for (const auto& [role, count] : others) kinds.push_back(fmt::format("{} {}", count, role));
    text += fmt::format("and {} (by role: {}); --json has all\n",
                        counted(std::ssize(page.columns) - std::ssize(columns), "further column"), join_words(kinds));
  }
  return text;
}

std::string time_line(const TimeLook& time, const TableLook& page) {
  constexpr double kEvery = 0.99, kMostly = 0.7;
  std::string text = time.column + ": ";
  if (time.instants < 2) return text + "one instant only";
  const std::string step = duration_text(time.step);
  text += time.near >= kEvery    ? "every " + step
          : time.near >= kMostly ? "mostly every " + step
                                 : "irregular, steps of " + step + " in the middle";
  if (time.gaps > 0 && time.near >= kMostly) {
    text += fmt::format(", {}, the longest {}", counted(time.gaps, "gap"), duration_text(time.longest_gap));
  } else if (time.near >= kMostly) {
    text += ", no gaps";
  } else if (time.gaps > 0) {
    text += ", up to " + duration_text(time.longest_gap);
  }
  if (time.most_rows < 2) return text;
  if (time.series.empty()) {
    if (100 * time.shared_instants <= time.instants) {
      return text +
             fmt::format("; {} more than one row", counted(time.shared_instants, "instant has", "instants have"));
    }
    return text +
           fmt::format("; up to {} at one instant, told apart by no single column", counted(time.most_rows, "row"));
  }
  if (contains(page.date_parts, time.series[0])) {
    return text +
           fmt::format("; up to {} at one instant, told apart by {}", counted(time.most_rows, "row"), time.series[0]);
  }
  text += fmt::format("; {} series by {}", plain_count(time.series_count), join_words(time.series));
  constexpr double kFull = 0.995;
  return time.filled >= kFull ? text
                              : text + fmt::format(", with rows at {:.0f}% of the instants", 100.0 * time.filled);
}

std::string rows_each(std::int64_t least, std::int64_t median, std::int64_t most) {
  if (least == most) return counted(most, "row") + " each";
  return fmt::format("{} to {} each, median {}", plain_count(least), counted(most, "row"), plain_count(median));
}

std::string extent_text(double extent) {
  return extent >= 100.0 ? plain_count(std::llround(extent)) : fmt::format("{:.3g}", extent);
}

std::string place_line(const PlaceLook& place) {
  const std::string unit = place.sphere ? " km" : "";
  return fmt::format("{}, {}: {}, {}; {}{} from south to north, {}{} from west to east{}", place.north, place.east,
                     counted(place.places, "place"), rows_each(place.least_rows, place.median_rows, place.most_rows),
                     extent_text(place.north_extent), unit, extent_text(place.east_extent), unit,
                     place.sphere ? "" : " (not degrees)");
}

std::string group_line(const GroupLook& group) {
  return fmt::format("{}: {}, {}; constant within: {}", join_words(group.columns), counted(group.groups, "group"),
                     rows_each(group.least_rows, group.median_rows, group.most_rows), names_text(group.constant));
}

std::string leak_line(const LeakLook& leak, const std::string& target) {
  const std::string what = leak.from_target ? leak.expression + " is nearly a function of " + target
                                            : target + " is nearly a function of " + leak.expression;
  // Rounded down: 1 would say that nothing is left.
  const double score = std::floor(1e4 * leak.score) / 1e4;
  const std::string how_nearly =
      leak.classes ? fmt::format("{:.2f}% of the classes beyond the most frequent one are told", 100.0 * score)
                   : fmt::format("R2 of ranks {:.4f}", score);
  return fmt::format("suspected: {} ({}, on rows left out)", what, how_nearly);
}

std::string leaks_text(const TableLook& page) {
  const bool classes = std::any_of(page.columns.begin(), page.columns.end(), [](const ColumnLook& column) {
    return column.role == ColumnRole::target && column.type == ColumnType::category;
  });
  if (page.leaks.empty() && classes) {
    return paragraph("leaks",
                     fmt::format("none suspected: no column nearly tells {} (below {:.0f}% of the classes beyond "
                                 "the most frequent one, on rows left out)",
                                 page.target, 100.0 * kLeakScore));
  }
  if (page.leaks.empty()) {
    return paragraph("leaks", fmt::format("none suspected: no column, and no sum or product of two or three, is nearly "
                                          "{} (R2 of ranks below {}, on rows left out)",
                                          page.target, kLeakScore));
  }
  constexpr std::size_t kMostLeaks = 5;
  std::string text;
  std::vector<std::string> columns;
  for (std::size_t i = 0; i < page.leaks.size(); ++i) {
    add_new(columns, page.leaks[i].columns);
    if (i < kMostLeaks) text += paragraph(i == 0 ? "leaks" : "", leak_line(page.leaks[i], page.target));
  }
  if (page.leaks.size() > kMostLeaks) {
    text += paragraph("", "and " + counted(std::ssize(page.leaks) - static_cast<std::int64_t>(kMostLeaks), "other"));
  }
  const bool one = columns.size() == 1;
  return text + paragraph("", fmt::format("Check: {} known before {} is, and not made of it? Otherwise leave {} out: "
                                          "name the columns to read instead of \".\"",
                                          one ? "is " + columns[0] : "are " + names_text(columns), page.target,
                                          one ? "it" : "them"));
}

std::string periods_text(const TableLook& page) {
  if (page.times.empty()) return "";
  if (page.periods.empty()) return paragraph("periods", "none stands out in " + page.target);
  const auto target = std::find_if(page.columns.begin(), page.columns.end(),
                                   [](const ColumnLook& column) { return column.role == ColumnRole::target; });
  std::vector<std::string> shares;
  for (const PeriodLook& period : page.periods) {
    const std::string over = page.times.size() > 1 ? " over " + period.column : "";
    shares.push_back(fmt::format("{}{} ({:.0f}%)", period.text, over, 100.0 * period.share));
  }
  return paragraph("periods", fmt::format("{} of the variance of {}", fmt::join(shares, ", "), target->terms.front()));
}

// What columns could be, by what they are; the same term once.
std::string formula_text(const TableLook& page) {
  std::vector<std::string> times, places, levels, numbers, images, unread;
  std::string target;
  for (const ColumnLook& column : page.columns) {
    if (column.role == ColumnRole::target) {
      target = column.terms.front();
    } else if (column.terms.empty()) {
      unread.push_back(column.name);
    }
    if (column.role == ColumnRole::target) continue;
    for (const std::string& term : column.terms) {
      if (term.starts_with("mlp(")) {
        numbers.push_back(column.name);
        continue;
      }
      const bool is_time = column.role == ColumnRole::time || term.starts_with("periodic(");
      std::vector<std::string>& kind = is_time                            ? times
                                       : column.role == ColumnRole::place ? places
                                       : column.role == ColumnRole::image ? images
                                                                          : levels;
      add_new(kind, std::vector<std::string>{term});
    }
  }
  std::string text;
  const auto add = [&](const std::string& kind, const std::string& terms) {
    text += paragraph(text.empty() ? "formula" : "", kind + ": " + terms);
  };
  const auto listed_terms = [](const std::vector<std::string>& terms) {
    return fmt::format("{}", fmt::join(terms, ", "));
  };
  if (!target.empty()) add("target", target);
  if (!times.empty()) add("times", listed_terms(times));
  if (!places.empty()) add("places", listed_terms(places));
  if (!levels.empty()) add("levels", listed_terms(levels));
  if (!images.empty()) add("images", listed_terms(images));
  if (!numbers.empty()) {
    const auto term = [](const std::string& name, const std::vector<std::string>& columns) {
      Call call;
      call.name = name;
      call.columns = columns;
      return print(call);
    };
    std::string all = term("mlp", numbers);
    if (numbers.size() > kMostInTerm) {
      const std::string few = term("mlp", {numbers[0], numbers[1]});
      all = fmt::format("{}, ...) of {}", few.substr(0, few.size() - 1), counted(std::ssize(numbers), "column"));
    }
    add("numbers",
        fmt::format("{}, or one by one: {}, {}", all, term("linear", {numbers[0]}), term("rbf", {numbers[0]})));
  }
  if (!unread.empty()) add("no term", names_text(unread));
  return text;
}

}  // namespace

std::string look_text(const TableLook& page, const std::string& name) {
  std::string text = fmt::format("{}: {}, {}\n\n", on_one_line(name), counted(page.rows, "row"),
                                 counted(std::ssize(page.columns), "column"));
  text += columns_text(page) + "\n";
  if (page.examined < page.rows) {
    text += paragraph("seen", fmt::format("distinct values, times, places, groups and equal rows: of the first {}",
                                          counted(page.examined, "row")));
  }
  for (const TimeLook& time : page.times)
    text += paragraph(&time == page.times.data() ? "times" : "", time_line(time, page));
  if (!page.date_parts.empty()) {
    text += paragraph(
        page.times.empty() ? "times" : "",
        fmt::format("{} {} of a date: one column with all of it, as in 2010-01-31T05:00, lets kernels of time "
                    "read it",
                    names_text(page.date_parts), page.date_parts.size() == 1 ? "is a part" : "are parts"));
  }
  if (page.place) text += paragraph("places", place_line(*page.place));
  for (const GroupLook& group : page.groups)
    text += paragraph(&group == page.groups.data() ? "groups" : "", group_line(group));
  if (page.equal_rows > 0) {
    text += paragraph("rows", counted(page.equal_rows, "row equals", "rows equal") + " an earlier one in every column");
  }
  if (!page.remark.empty()) text += paragraph("target", page.remark + "; leaks and periods were not looked for");
  if (!page.target.empty() && page.remark.empty()) text += leaks_text(page) + periods_text(page);
  return text + formula_text(page);
}

}  // namespace ick
