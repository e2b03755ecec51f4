#include "ick/report/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "ick/base/text.h"
#include "report/page_parts.h"
#include "report/sample.h"

namespace ick {
namespace {

using nlohmann::json;

void expect_same(const json& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isfinite(expected[i])) {
      EXPECT_EQ(found[i].get<double>(), expected[i]);
    } else {
      EXPECT_TRUE(found[i].is_null());
    }
  }
}

TEST(ReportJson, HasEveryNumberOfThePage) {
  const Page page = sample_page();
  const json report = json::parse(json_of(page));
  EXPECT_EQ(report["schema"], 1);
  EXPECT_EQ(report["verdict"], page.verdict);
  EXPECT_EQ(report["remarks"].size(), page.remarks.size());
  EXPECT_EQ(report["headline"][0]["rows"][0][1]["value"], 5.2137);
  EXPECT_EQ(report["headline"][0]["rows"][0][1]["text"], "5.21");
  EXPECT_EQ(report["headline"][0]["rows"][0][0], "RMSE (ug/m3)");
  EXPECT_EQ(report["headline"][0]["best"], 0);
  int figures = 0;
  for (std::size_t s = 0; s < page.sections.size(); ++s) {
    EXPECT_EQ(report["sections"][s]["id"], page.sections[s].id);
    for (std::size_t p = 0; p < page.sections[s].parts.size(); ++p) {
      const json& part = report["sections"][s]["parts"][p];
      if (const Figure* figure = std::get_if<Figure>(&page.sections[s].parts[p])) {
        ++figures;
        EXPECT_EQ(part["figure"]["caption"], figure->caption);
        for (std::size_t l = 0; l < figure->layers.size(); ++l) {
          const json& layer = part["figure"]["layers"][l];
          if (!figure->layers[l].x.empty()) expect_same(layer["x"], figure->layers[l].x);
          if (!figure->layers[l].y.empty()) expect_same(layer["y"], figure->layers[l].y);
          if (!figure->layers[l].value.empty()) expect_same(layer["value"], figure->layers[l].value);
        }
      }
      if (const TextTable* table = std::get_if<TextTable>(&page.sections[s].parts[p])) {
        EXPECT_EQ(part["table"]["rows"].size(), table->rows.size());
      }
    }
  }
  EXPECT_EQ(figures, 7);
}

TEST(ReportJson, OfHostileTextIsJson) {
  const json report = json::parse(json_of(hostile_page()));
  EXPECT_EQ(report["sections"].size(), 10u);
  EXPECT_EQ(report["sections"][0]["title"], "<script>document.title = 'owned'</script>");
}

TEST(ReportText, FitsTheTerminal) {
  for (Page page : {sample_page(), hostile_page()}) {
    for (Section& section : page.sections) {  // but for commands, which are to be copied
      std::erase_if(section.parts, [](const PagePart& part) { return std::holds_alternative<CommandLine>(part); });
    }
    for (const int width : {60, 100}) {
      const std::string text = text_of(page, width);
      EXPECT_TRUE(is_utf8(text));
      EXPECT_EQ(text.find('\x1B'), std::string::npos);
      std::size_t start = 0;
      for (std::size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
        const std::string line = text.substr(start, end - start);
        EXPECT_LE(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }), width) << line;
      }
    }
  }
}

TEST(ReportText, HasWarningsFirstAndNumbersToTheRight) {
  const std::string text = text_of(sample_page());
  EXPECT_LT(text.find("\nwarning: 12 rows"), text.find("\ngood: "));
  EXPECT_NE(text.find("\n  this formula         5.21  2.90     88.1%      212\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n    --seed 7 --out model\n"), std::string::npos);
  EXPECT_NE(text.find("40 more rows"), std::string::npos);
}

// Twelve pictures of 100,000 marks and a long table: the page stays small, and says what it leaves out.
TEST(ReportHtml, StaysSmall) {
  Page page = sample_page();
  Section section{"many", "Many", {}};
  Figure figure;
  figure.layers = {{}};
  for (int i = 0; i < 100'000; ++i) {
    figure.layers[0].x.push_back(i + 0.123456789);
    figure.layers[0].y.push_back(wobble(i));
    figure.layers[0].value.push_back(wobble(3 * i));
    figure.layers[0].text.push_back("a text that says something about row " + std::to_string(i));
  }
  figure.layers[0].mark = Mark::points;
  for (int i = 0; i < 12; ++i) section.parts.push_back(figure);
  TextTable table{"long", "", {"a", "b"}, {}, {}};
  for (int i = 0; i < 20'000; ++i) table.rows.push_back({{std::string(3000, 'a'), {}}, {"1", 1.0}});
  section.parts.push_back(table);
  page.sections.push_back(section);
  const std::string html = html_of(page);
  EXPECT_LT(html.size(), 3'000'000u);
  EXPECT_NE(html.find(" of 100,000 marks are drawn."), std::string::npos);
  EXPECT_NE(html.find(" of 20000 rows."), std::string::npos);
}

TEST(ReportTables, NumbersStandToTheRight) {
  const Entry number{"1.5", 1.5}, word{"held", {}}, dash{"-", {}}, nothing{"", {}};
  TextTable table{"", "", {"", "", "", "", ""}, {}, {}};
  table.rows = {
      {word, number, number, dash, number}, {word, dash, word, dash, word}, {word, nothing, number, dash, word}};
  EXPECT_EQ(detail::number_columns(table), (std::vector<bool>{false, true, true, false, false}));
  EXPECT_FALSE(detail::has_header(table));
  Page page;
  page.sections = {{"s", "S", {table}}};
  EXPECT_EQ(html_of(page).find("<thead"), std::string::npos);
  EXPECT_NE(text_of(page).find("\n  held  1.5   1.5  -  1.5\n"), std::string::npos) << text_of(page);
}

TEST(ReportHtml, HasNoMarkupOfOthers) {
  const std::string html = html_of(hostile_page());
  std::size_t scripts = 0;
  for (std::size_t at = 0; (at = html.find("<script", at)) != std::string::npos; ++at) ++scripts;
  EXPECT_EQ(scripts, 1u);  // the page's own
  EXPECT_EQ(html.find("<img"), std::string::npos);
  EXPECT_TRUE(is_utf8(html));
  EXPECT_LT(html.size(), 1'000'000u);
}

TEST(ReportHtml, OfAnEmptyPageIsAPage) {
  const std::string html = html_of({});
  EXPECT_TRUE(html.starts_with("<!doctype html>"));
  EXPECT_TRUE(html.ends_with("</html>\n"));
}

}  // namespace
}  // namespace ick
