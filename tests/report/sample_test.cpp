#include "report/sample.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "ick/base/file.h"

namespace ick {
namespace {

// For tests/report/browser_test.py and for people: the pages and pictures, in the folder ICK_REPORT_SAMPLES.
TEST(Sample, IsWritten) {
  const Page page = sample_page(), hostile = hostile_page();
  const std::string html = html_of(page);
  EXPECT_LT(html.size(), 400'000u);
  const char* folder = std::getenv("ICK_REPORT_SAMPLES");
  if (!folder) return;
  const std::string place = std::string(folder) + "/";
  write_file(place + "sample.html", html);
  write_file(place + "sample.json", json_of(page));
  write_file(place + "sample.txt", text_of(page));
  write_file(place + "hostile.html", html_of(hostile));
  write_file(place + "hostile.json", json_of(hostile));
  for (const Section& section : page.sections) {
    for (const PagePart& part : section.parts) {
      const Figure* figure = std::get_if<Figure>(&part);
      if (!figure) continue;
      const std::string svg = svg_of(*figure);
      write_file(place + figure->id + ".svg", svg);
      write_file(place + figure->id + ".png", png_of(svg));
      write_file(place + figure->id + ".vl.json", vega_lite_of(*figure));
    }
  }
}

}  // namespace
}  // namespace ick
