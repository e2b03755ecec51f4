#include <algorithm>
#include <cmath>

#include "ick/report/page.h"
#include "report/letters.h"
#include "report/page_parts.h"

namespace ick {
namespace detail {
namespace {

constexpr std::size_t kMostTableRows = 20;

std::string spaces(std::size_t count) { return std::string(count, ' '); }

// Words of a text in lines of so many columns, behind a start that later lines have room for.
std::string wrapped(const std::string& text, std::size_t width, const std::string& start = "") {
  const std::size_t room = width - std::min(column_count(start), width - 10);
  std::string result = start, line;
  const std::string words = clean(text) + " ";
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = words.find(' ', at);
    const std::string word = cut_to_columns(words.substr(at, end - at), room);
    if (!line.empty() && column_count(line) + 1 + column_count(word) > room) {
      result += line + "\n" + spaces(column_count(start));
      line.clear();
    }
    if (!line.empty() && !word.empty()) line += ' ';
    line += word;
    at = end + 1;
  }
  return result + line + "\n";
}

// Columns as wide as what they hold, the widest cut until all fit.
std::string table_lines(const TextTable& table, std::size_t width) {
  std::vector<std::vector<std::string>> lines(1);
  for (const std::string& name : table.header) lines[0].push_back(clean(name));
  const std::size_t shown = std::min(table.rows.size(), kMostTableRows);
  for (std::size_t row = 0; row < shown; ++row) {
    lines.emplace_back();
    for (const Entry& entry : table.rows[row]) lines.back().push_back(clean(entry.text));
  }
  if (!has_header(table)) lines.erase(lines.begin());
  std::vector<std::size_t> widths;
  const std::vector<bool> numbers = number_columns(table);
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t column = 0; column < line.size(); ++column) {
      widths[column] = std::max(widths[column], column_count(line[column]));
    }
  }
  constexpr std::size_t kBetween = 2, kLeast = 6;
  const auto all = [&] {
    std::size_t sum = 0;
    for (const std::size_t each : widths) sum += each + kBetween;
    return sum;
  };
  while (!widths.empty() && all() > width) {
    std::size_t& widest = *std::max_element(widths.begin(), widths.end());
    if (widest <= kLeast) break;
    --widest;
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t column = 0; column < line.size(); ++column) {
      const std::string cell = cut_to_columns(line[column], widths[column]);
      const std::string room = spaces(widths[column] - std::min(widths[column], column_count(cell)));
      row += spaces(kBetween) + (numbers[column] ? room + cell : cell + room);
    }
    text += cut_to_columns(row.substr(0, row.find_last_not_of(' ') + 1), width) + "\n";
  }
  if (shown < table.rows.size()) text += spaces(kBetween) + std::to_string(table.rows.size() - shown) + " more rows\n";
  return text;
}

// The first line of a picture in a row of blocks, by means of as many pieces as there are columns.
std::string sparkline(const Figure& figure, std::size_t width) {
  const auto layer = std::find_if(figure.layers.begin(), figure.layers.end(), [](const PlotLayer& each) {
    return each.mark == Mark::line && each.tone != Tone::reference && each.y.size() > 8;
  });
  if (layer == figure.layers.end()) return "";
  width = std::min(width, layer->y.size());
  std::vector<double> means;
  double low = INFINITY, high = -INFINITY;
  for (std::size_t piece = 0; piece < width; ++piece) {
    double sum = 0.0, count = 0.0;
    for (std::size_t i = piece * layer->y.size() / width; i < (piece + 1) * layer->y.size() / width; ++i) {
      if (!std::isfinite(layer->y[i])) continue;
      sum += layer->y[i];
      count += 1.0;
    }
    means.push_back(sum / count);
    if (count > 0.0) low = std::min(low, means.back()), high = std::max(high, means.back());
  }
  constexpr const char* kBlocks[] = {"\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
  std::string text;
  for (const double mean : means) {
    const double part = high > low ? (mean - low) / (high - low) : 0.5;
    text += std::isfinite(mean) ? kBlocks[static_cast<std::size_t>(std::clamp(part * 8.0, 0.0, 7.0))] : " ";
  }
  return "  " + text + "\n";
}

std::string lines_of(const Paragraph& part, std::size_t width) { return wrapped(part.text, width); }

std::string lines_of(const TextTable& part, std::size_t width) {
  return (part.caption.empty() ? "" : wrapped(part.caption, width)) + table_lines(part, width);
}

std::string lines_of(const Figure& part, std::size_t width) {
  return sparkline(part, width - 4) + wrapped(part.title + ": " + part.caption, width);
}

std::string lines_of(const CommandLine& part, std::size_t) {
  std::string text = "  " + clean(part.text, true) + "\n";
  for (std::size_t at = 0; (at = text.find('\n', at)) + 1 < text.size(); ++at) text.insert(at + 1, "  ");
  return text;
}

std::string underlined(const std::string& title, std::size_t width) {
  const std::string shown = cut_to_columns(clean(title), width);
  return shown + "\n" + std::string(column_count(shown), '-') + "\n";
}

}  // namespace
}  // namespace detail

std::string text_of(const Page& page, int columns) {
  const auto width = static_cast<std::size_t>(std::clamp(columns, 40, 400));
  std::string text = detail::wrapped(page.title, width);
  if (!page.subtitle.empty()) text += detail::wrapped(page.subtitle, width);
  if (!page.verdict.empty()) text += "\n" + detail::wrapped(page.verdict, width);
  if (!page.remarks.empty()) text += "\n";
  for (const Remark::Kind kind : {Remark::Kind::warning, Remark::Kind::good, Remark::Kind::note}) {
    const char* start = kind == Remark::Kind::warning ? "warning: " : kind == Remark::Kind::good ? "good: " : "note: ";
    for (const Remark& remark : page.remarks) {
      if (remark.kind == kind) text += detail::wrapped(remark.text, width, start);
    }
  }
  for (const TextTable& table : page.headline) text += "\n" + detail::lines_of(table, width);
  for (const Section& section : page.sections) {
    text += "\n" + detail::underlined(section.title, width);
    for (const PagePart& part : section.parts) {
      text += "\n" + std::visit([&](const auto& each) { return detail::lines_of(each, width); }, part);
    }
  }
  return text;
}

}  // namespace ick
