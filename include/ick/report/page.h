#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ick/report/figure.h"

// A report as plain data: what it says, before it is a page to look at, a text for a terminal or JSON. All three have the
// same numbers, because each is written from this.
namespace ick {

struct Entry {
  std::string text;             // as people read it
  std::optional<double> value;  // what stands behind it; none: words
};

struct TextTable {
  std::string id;       // in report.json
  std::string caption;  // a sentence
  std::vector<std::string> header;
  std::vector<std::vector<Entry>> rows;
  std::optional<std::size_t> best;  // row to be set off
};

struct Paragraph {
  std::string text;
};

struct CommandLine {
  std::string text;  // to be copied
};

using PagePart = std::variant<Paragraph, TextTable, Figure, CommandLine>;

struct Section {
  std::string id;     // anchor and name in report.json: "calibration"
  std::string title;  // "Can the intervals be trusted?"
  std::vector<PagePart> parts;
};

struct Remark {
  enum class Kind { good, warning, note } kind = Kind::note;
  std::string text;
};

struct Page {
  std::string title;                // the formula
  std::string subtitle;             // what, of which data, when
  std::string verdict;              // one or two sentences: what it is good for
  std::vector<Remark> remarks;      // warnings first
  std::vector<TextTable> headline;  // the few numbers that stand at the top
  std::vector<Section> sections;
};

// One file that needs nothing else: no network, no other file. All text is escaped: what a table contains is shown and
// never run.
std::string html_of(const Page& page);
// The essentials for a terminal, so many columns wide.
std::string text_of(const Page& page, int width = 100);
// Every number of the page; "schema": 1.
std::string json_of(const Page& page);

}  // namespace ick
