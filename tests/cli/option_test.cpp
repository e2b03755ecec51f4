#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/option_cli.h"
#include "cli/option_page.h"
#include "ick/base/error.h"
#include "ick/store/option_json.h"
#include "ick/train/options.h"
#include "support/option_case.h"

namespace ick {
namespace {

// A fit with one setting more: one field, one row.
struct FitWithDepth : FitOptions {
  double water_depth = 2.5;
  bool operator==(const FitWithDepth&) const = default;

  template <class Table>
  static void declare(Table& table) {
    FitOptions::declare(table);
    table("water_depth", &FitWithDepth::water_depth, {.range = {{0, 11e3}}, .text = "Depth of the sea in metres"});
  }
};

template <class Struct>
struct Line {
  explicit Line(std::vector<std::string> words = {}) {
    add_options(app, options);
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(words);
  }
  CLI::App app{"test"};
  Struct options;
};

template <class Struct>
Struct parsed(std::vector<std::string> words) {
  return Line<Struct>(std::move(words)).options;
}

// A command line that says every setting.
template <class Struct>
std::vector<std::string> words_for(const Struct& options) {
  std::vector<std::string> line;
  for (const Option<Struct>& row : option_table<Struct>()) {
    if (row.group == OptionGroup::library) continue;
    const std::vector<std::string> words = row.words_of(row.get(options));
    if (row.is_switch()) {
      if (row.get(options) != row.standard) line.push_back("--" + row.flag);
    } else {
      for (const std::string& word : words) line.insert(line.end(), {"--" + row.flag, word});
    }
  }
  return line;
}

TEST(OptionLine, OneDeclarationReachesTheCommandLine) {
  EXPECT_EQ(parsed<FitWithDepth>({}), FitWithDepth());
  EXPECT_EQ(parsed<FitWithDepth>({"--water-depth", "40"}).water_depth, 40.0);
  EXPECT_EQ(parsed<FitWithDepth>({"--water-depth", "40", "--epochs", "3"}).epochs, 3);
  try {
    parsed<FitWithDepth>({"--water-depth", "-1"});
    FAIL() << "a depth below zero";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "water_depth: found \"-1\", expected a number from 0 to 11000");
  }
  EXPECT_NE(Line<FitWithDepth>().app.help().find("--water-depth FLOAT=2.5"), std::string::npos);
  EXPECT_NE(Line<FitWithDepth>().app.help().find("Depth of the sea in metres"), std::string::npos);
}

TEST(OptionLine, OneDeclarationReachesJson) {
  FitWithDepth options;
  options.water_depth = 1.0 / 3.0;
  const nlohmann::json json = nlohmann::json::parse(options_json(options).dump());
  EXPECT_EQ(json.at("water_depth"), 1.0 / 3.0);
  FitWithDepth back;
  read_options_json(json, back);
  EXPECT_EQ(back, options);
}

TEST(OptionLine, OneDeclarationReachesThePage) {
  const std::string page = option_tables(option_table<FitWithDepth>().rows());
  EXPECT_NE(
      page.find("| `--water-depth` | `water_depth` | number from 0 to 11000 | `2.5` | Depth of the sea in metres |"),
      std::string::npos)
      << page;
  EXPECT_NE(page.find("| `--no-polish` | `polish` | on or off | on |"), std::string::npos);
  EXPECT_NE(page.find("|  | `held_bytes` |"), std::string::npos);
}

// Whatever can be declared can be typed, and kept as a settings file.
TEST(OptionLine, EverySettingCanBeTyped) {
  FitWithDepth changed = all_changed<FitWithDepth>();
  const FitWithDepth standard;
  for (const Option<FitWithDepth>& row : option_table<FitWithDepth>()) {
    if (row.group == OptionGroup::library) row.set(changed, row.get(standard));
  }
  EXPECT_EQ(parsed<FitWithDepth>(words_for(changed)), changed);
}

TEST(OptionLine, EverySettingIsInASettingsFile) {
  const std::string file = "\n" + Line<FitWithDepth>(words_for(all_changed<FitWithDepth>())).app.config_to_str(true);
  for (const Option<FitWithDepth>& row : option_table<FitWithDepth>()) {
    if (row.group == OptionGroup::library) continue;
    EXPECT_NE(file.find("\n" + row.flag + "="), std::string::npos) << row.name << file;
  }
}

TEST(OptionLine, GivenOrNot) {
  const Line<FitOptions> line({"--no-polish", "--loaders", "3"});
  const auto& table = option_table<FitOptions>();
  EXPECT_TRUE(is_given(line.app, *table.find("polish")));
  EXPECT_TRUE(is_given(line.app, *table.find("loaders")));
  EXPECT_FALSE(is_given(line.app, *table.find("refit")));
  EXPECT_FALSE(is_given(line.app, *table.find("path")));
}

}  // namespace
}  // namespace ick
