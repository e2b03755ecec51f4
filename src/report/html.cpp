#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ick/report/page.h"
#include "report/assets.h"
#include "report/drawing.h"
#include "report/letters.h"
#include "report/page_parts.h"
#include "report/palette.h"
#include "report/sha256.h"

namespace ick {
namespace detail {
namespace {

// How much of long things a page has.
struct Detail {
  std::size_t marks = 4000;    // of a layer
  std::size_t rows = 1000;     // of a table
  std::size_t letters = 1000;  // of a cell; of longer words the whole is its title
};

constexpr std::size_t kShownLetters = 160;  // of a cell
constexpr std::size_t kTitleLetters = 200;  // of a section, a picture
constexpr std::size_t kCaptionLetters = 1500;

// Text that says more where the pointer rests, where it had to be cut.
struct Cut {
  std::string shown, title;
};

Cut cut_text(const std::string& text, std::size_t shown, std::size_t letters) {
  const std::string whole = clean(text);
  if (column_count(whole) <= shown) return {escaped(whole), ""};
  return {escaped(cut_to_columns(whole, shown)), fmt::format(" title=\"{}\"", escaped(cut_to_columns(whole, letters)))};
}

bool is_number(const Entry& entry) { return entry.value.has_value(); }

class Writer {
 public:
  Writer(const Page& page, const Detail& detail) : page_(page), detail_(detail) {}

  std::string whole() {
    const std::string body = contents();
    const std::string style = page_style();
    return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" + policy(style) +
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
           "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" content=\"ick\">\n<title>" +
           escaped(cut_to_columns(clean(page_.title), 120)) + "</title>\n<style>" + style +
           "</style>\n</head>\n<body>\n" + body + "<script>" + kPageScript + "</script>\n</body>\n</html>\n";
  }

 private:
  static std::string page_style() {
    return ":root { color-scheme: light dark; " + colour_variables(false) +
           "}\n@media screen and (prefers-color-scheme: dark) { :root { " + colour_variables(true) + "} }\n" +
           drawing_rules(false) + kPageStyle;
  }

  // Nothing from elsewhere, and of scripts and styles only the two that the page brings: what a table contains cannot
  // run even if it were taken for markup.
  static std::string policy(const std::string& style) {
    return fmt::format(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{}'; "
        "script-src 'sha256-{}'; base-uri 'none'; form-action 'none'\">\n",
        sha256_base64(style), sha256_base64(kPageScript));
  }

  // <start>text</...>, cut where it is longer than so many letters: a page stays a page whatever stands in a table.
  std::string element(const std::string& start, const std::string& text, std::size_t most = 4000) const {
    const Cut cut = cut_text(text, std::min(most, 4 * detail_.letters), detail_.letters);
    return fmt::format("<{} dir=\"auto\"{}>{}</{}>", start, cut.title, cut.shown, start.substr(0, start.find(' ')));
  }

  // An identifier that no other element of the page has.
  std::string unique(const std::string& text) {
    const std::string name = identifier(text);
    std::string candidate = name;
    for (int i = 2; !taken_.insert(candidate).second; ++i) candidate = fmt::format("{}-{}", name, i);
    return candidate;
  }

  std::string contents() {
    for (const char* name : {"content", "verdict", "headline", "top"}) taken_.insert(name);
    std::string links, sections;
    for (const Section& section : page_.sections) {
      const std::string id = unique(section.id);
      links += "<li>" + element("a href=\"#" + id + "\"", section.title, 80) + "</li>";
      const std::string heading = element("h2 id=\"" + id + "-heading\"", section.title, kTitleLetters);
      sections += fmt::format(
          "<section class=\"part-of\" id=\"{0}\" aria-labelledby=\"{0}-heading\">{1}<div "
          "class=\"parts\">{2}</div></section>\n",
          id, heading, parts_of(section));
    }
    std::string text = "<a class=\"skip\" href=\"#content\">Skip to the report</a>\n<div class=\"page\">\n";
    text +=
        "<nav class=\"toc\" aria-label=\"Contents\"><div><h2>Contents</h2><ol><li><a href=\"#top\">Verdict</a></li>" +
        links + "</ol></div></nav>\n<main id=\"content\" tabindex=\"-1\">\n";
    return text + top() + sections + "</main>\n</div>\n";
  }

  std::string top() {
    constexpr std::size_t kFormulaLetters = 600;
    const Cut title = cut_text(page_.title, kFormulaLetters, 10 * detail_.letters);
    std::string text = fmt::format("<div id=\"top\"><header><p class=\"kind\">Report</p><h1{}><code>{}</code></h1>",
                                   title.title, title.shown);
    if (!page_.subtitle.empty()) text += element("p class=\"subtitle\"", page_.subtitle, kCaptionLetters);
    text += "</header>\n";
    if (!page_.verdict.empty()) {
      text += "<section class=\"verdict\" id=\"verdict\" aria-label=\"Verdict\">" +
              element("p", page_.verdict, kCaptionLetters) + "</section>\n";
    }
    return text + remarks() + headline() + "</div>\n";
  }

  std::string remarks() const {
    constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
        {"good", "Good"}, {"warning", "Warning"}, {"note", "Note"}};
    std::vector<Remark> remarks = page_.remarks;
    std::stable_partition(remarks.begin(), remarks.end(),
                          [](const Remark& remark) { return remark.kind == Remark::Kind::warning; });
    std::string text;
    for (const Remark& remark : remarks) {
      const auto& [name, word] = kKinds[static_cast<std::size_t>(remark.kind)];
      text +=
          fmt::format("<li class=\"{}\"><b>{}</b>{}</li>", name, word, element("span", remark.text, kCaptionLetters));
    }
    return text.empty() ? "" : "<ul class=\"remarks\">" + text + "</ul>\n";
  }

  std::string headline() {
    std::string text;
    for (const TextTable& table : page_.headline) {
      constexpr std::size_t kMostCards = 12;
      const bool cards = !table.rows.empty() && table.rows.size() <= kMostCards;
      text += "<section class=\"headline\" aria-label=\"Headline numbers\">" +
              (cards ? cards_of(table) : table_of(table)) + "</section>\n";
    }
    return text;
  }

  // A row is a card: its name, its first number, and what else it has. A single row of numbers is a card for each.
  std::string cards_of(const TextTable& table) const {
    const std::vector<Entry>& first = table.rows.front();
    const bool across = table.rows.size() == 1 && !first.empty() && is_number(first.front());
    std::string text;
    const auto add = [&](const std::string& name, const Entry& value, const std::string& beside, bool best) {
      const Cut label = cut_text(name, kShownLetters, detail_.letters);
      const Cut shown = cut_text(value.text, 60, detail_.letters);
      text += fmt::format("<div class=\"card{}\"><dt{}>{}</dt><dd><div class=\"value{}\"{}>{}</div>{}</dd></div>",
                          best ? " best" : "", label.title, label.shown, is_number(value) ? "" : " words", shown.title,
                          shown.shown, beside);
    };
    for (std::size_t row = 0; row < table.rows.size() && !across; ++row) {
      const std::vector<Entry>& entries = table.rows[row];
      std::string beside;
      for (std::size_t i = 2; i < entries.size(); ++i) {
        const Cut shown = cut_text(entries[i].text, 60, detail_.letters);
        const std::string name = i < table.header.size() ? cut_text(table.header[i], 60, 0).shown + " " : "";
        if (!entries[i].text.empty()) {
          beside += fmt::format("<div class=\"beside\"{}>{}{}</div>", shown.title, name, shown.shown);
        }
      }
      add(entries.empty() ? "" : entries[0].text, entries.size() > 1 ? entries[1] : Entry{}, beside, table.best == row);
    }
    for (std::size_t i = 0; across && i < first.size(); ++i) {
      add(i < table.header.size() ? table.header[i] : "", first[i], "", false);
    }
    text = "<dl class=\"cards\">" + text + "</dl>";
    if (!table.caption.empty()) text += element("p class=\"remark-below\"", table.caption, kCaptionLetters);
    return text;
  }

  std::string parts_of(const Section& section) {
    std::string text;
    bool open = false;  // a half picture that waits for its neighbour
    for (std::size_t i = 0; i < section.parts.size(); ++i) {
      const bool half = is_half(section.parts[i]);
      const bool next = i + 1 < section.parts.size() && is_half(section.parts[i + 1]);
      const bool alone = half && !open && !next;
      open = half && !open && next;
      text += std::visit([&](const auto& part) { return part_of(part, half, alone); }, section.parts[i]);
    }
    return text;
  }

  // About as wide as high: two of these stand side by side.
  static bool is_half(const PagePart& part) {
    const Figure* figure = std::get_if<Figure>(&part);
    return figure && !figure->zoom && (figure->square || figure->aspect < 1.4) && !figure->coastline;
  }

  std::string part_of(const Paragraph& paragraph, bool, bool) const { return element("p", paragraph.text) + "\n"; }

  std::string part_of(const CommandLine& command, bool, bool) const {
    return "<div class=\"command\"><pre><code>" + escaped(command.text.substr(0, 20 * detail_.letters), true) +
           "</code></pre></div>\n";
  }

  std::string part_of(const TextTable& table, bool, bool) {
    return "<div class=\"part table-part\">" + table_of(table) + "</div>\n";
  }

  std::string part_of(const Figure& figure, bool half, bool alone) {
    constexpr int kWide = 720, kHalf = 400, kNarrow = 360;
    const std::string id = unique(figure.id);
    const auto drawn = [&](int width, const std::string& kind) {
      DrawingOptions options;
      options.width = width;
      options.alone = false;
      options.told = kind == "wide";
      options.most_marks = detail_.marks;
      options.id = id + "-" + kind;
      std::string svg = draw(figure, options);
      return svg.replace(svg.find("class=\"figure"), 13, "class=\"figure " + kind);
    };
    std::string text =
        fmt::format("<figure id=\"{}\" class=\"part{}{}\">{}<div class=\"picture\">", id, half ? " half" : "",
                    alone ? " alone" : "", element("h3", figure.title, kTitleLetters));
    text += drawn(half ? kHalf : kWide, "wide") + drawn(kNarrow, "narrow");
    text += "</div><figcaption>" + element("span", figure.caption, kCaptionLetters);
    const std::string note = thinning_note(figure, detail_.marks);
    if (!note.empty()) text += "<span class=\"small\">" + note + "</span>";
    return text + "</figcaption></figure>\n";
  }

  std::string table_of(const TextTable& table) {
    constexpr std::size_t kFewRows = 40;
    const std::string caption = cut_text(table.caption, kCaptionLetters, 0).shown;
    const std::size_t rows = std::min(table.rows.size(), detail_.rows);
    const std::vector<bool> numbers = number_columns(table);
    std::string text = fmt::format("<div class=\"table-box\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>",
                                   caption.empty() ? "Table" : caption);
    if (!caption.empty()) text += "<caption class=\"hidden\">" + caption + "</caption>";
    if (has_header(table)) text += "<thead><tr>";
    for (std::size_t column = 0; has_header(table) && column < table.header.size(); ++column) {
      const Cut shown = cut_text(table.header[column], 48, detail_.letters);
      text += fmt::format("<th scope=\"col\"{}{}>{}</th>", numbers[column] ? " class=\"number\"" : "", shown.title,
                          shown.shown);
    }
    text += has_header(table) ? "</tr></thead><tbody>" : "<tbody>";
    for (std::size_t row = 0; row < rows; ++row) {
      text += table.best == row ? "<tr class=\"best\">" : "<tr>";
      for (std::size_t column = 0; column < table.rows[row].size(); ++column) {
        const bool right = column < numbers.size() && numbers[column];
        text += cell_of(table.rows[row][column], column == 0 && !right, right);
      }
      text += "</tr>";
    }
    text += "</tbody></table></div>";
    if (rows < table.rows.size()) {
      text += fmt::format("<p class=\"remark-below\">{} of {} rows.</p>", rows, table.rows.size());
    }
    if (rows > kFewRows) text = fmt::format("<details><summary>All {} rows</summary>{}</details>", rows, text);
    return (caption.empty() ? "" : "<p>" + caption + "</p>") + text;
  }

  std::string cell_of(const Entry& entry, bool heads, bool right) const {
    const Cut shown = cut_text(entry.text, kShownLetters, detail_.letters);
    const char* name = heads ? "th scope=\"row\"" : "td";
    return fmt::format("<{}{}{} dir=\"auto\">{}</{}>", name, right ? " class=\"number\"" : "", shown.title, shown.shown,
                       heads ? "th" : "td");
  }

  const Page& page_;
  const Detail& detail_;
  std::set<std::string> taken_;
};

}  // namespace
}  // namespace detail

std::string html_of(const Page& page) {
  constexpr std::size_t kMostBytes = 2'900'000;
  detail::Detail detail;
  std::string text = detail::Writer(page, detail).whole();
  for (int tries = 0; text.size() > kMostBytes && tries < 12; ++tries) {
    const double part = std::min(0.8, 0.9 * kMostBytes / static_cast<double>(text.size()));
    const auto less = [&](std::size_t count, std::size_t least) {
      return std::max(static_cast<std::size_t>(part * static_cast<double>(count)), least);
    };
    detail = {less(detail.marks, 50), less(detail.rows, 20), less(detail.letters, 160)};
    text = detail::Writer(page, detail).whole();
  }
  return text;
}

}  // namespace ick
