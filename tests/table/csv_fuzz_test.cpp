// Random tables against a reader as simple as can be.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>

#include "ick/base/seed.h"
#include "ick/table/csv.h"
#include "scratch.h"
#include "table/read.h"

namespace ick {
namespace {

using Cells = std::vector<std::vector<std::string>>;

// Character by character; unquoted cells lose the blanks around them, blank lines are left out.
Cells naive_parse(const std::string& text, char separator) {
  Cells rows;
  std::vector<std::string> row;
  std::string cell, kept;  // kept: what a quoted cell held
  bool in_quotes = false, was_quoted = false;
  const auto end_cell = [&] {
    while (!cell.empty() && cell.back() == ' ') cell.pop_back();
    row.push_back(was_quoted ? kept : cell);
    cell.clear(), kept.clear(), was_quoted = false;
  };
  const auto end_row = [&] {
    if (!cell.empty() && cell.back() == '\r') cell.pop_back();
    const bool blank = row.empty() && cell.find_first_not_of(' ') == std::string::npos && !was_quoted;
    if (blank) {
      cell.clear();
    } else {
      end_cell();
      rows.push_back(row);
    }
    row.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    if (in_quotes) {
      if (byte != '"') {
        kept += byte;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        kept += text[++i];
      } else {
        in_quotes = false;
      }
    } else if (byte == '"' && cell.empty() && !was_quoted) {
      in_quotes = was_quoted = true;
    } else if (byte == separator) {
      end_cell();
    } else if (byte == '\n') {
      end_row();
    } else if (byte != ' ' || !cell.empty()) {
      cell += byte;
    }
  }
  if (!cell.empty() || !row.empty() || was_quoted) end_row();
  return rows;
}

struct Generated {
  std::string text;
  char separator;
};

std::string random_word(Random& random, char separator) {
  const std::vector<std::string> parts = {"a", "B",    "\"",  "\n", std::string(1, separator), "\xC3\xA9", " ",
                                          "7", "\r\n", "x,y", "'"};
  std::string word;
  for (std::int64_t i = random.below(6); i >= 0; --i) {
    word += parts[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(parts.size())))];
  }
  return word;
}

// The columns: a number, an integer, a date, a category, text, and one that turns from numbers to words half way.
Generated random_table(Random& random) {
  Generated made;
  made.separator = std::string(",;\t|")[static_cast<std::size_t>(random.below(4))];
  const std::string line_end = random.below(2) ? "\r\n" : "\n", s(1, made.separator);
  if (random.below(2)) made.text = "\xEF\xBB\xBF";
  made.text += "number" + s + "\"integer\"" + s + "time" + s + "category" + s + "text" + s + "late" + line_end;
  const std::int64_t rows = 40 + random.below(160);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<std::string> cells;
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(1 + random.below(18)), 100.0 * random.normal());
    cells.emplace_back(buffer);
    cells.push_back(std::to_string(random.below(200000) - 100000));
    std::snprintf(buffer, sizeof buffer, "%d-%02d-%02d", 1990 + static_cast<int>(random.below(40)),
                  1 + static_cast<int>(random.below(12)), 1 + static_cast<int>(random.below(28)));
    cells.emplace_back(buffer);
    cells.emplace_back(
        std::vector<std::string>{"red", "green \"x\"", "blue\nsky", "true"}[static_cast<std::size_t>(random.below(4))]);
    cells.push_back(random_word(random, made.separator));
    cells.push_back(row < rows / 2 ? std::to_string(row % 7) : "w" + std::to_string(row % 5));
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (random.below(8) == 0)
        cells[c] = std::vector<std::string>{"", "NA", "?"}[static_cast<std::size_t>(random.below(3))];
      if (c > 0) made.text += made.separator;
      const std::string plain = csv_cell(cells[c], made.separator);
      const bool is_quoted = !plain.empty() && plain.front() == '"';
      if (random.below(5) == 0) made.text += " ";
      made.text += !is_quoted && random.below(4) == 0 ? "\"" + plain + "\"" : plain;
      if (random.below(5) == 0) made.text += " ";
    }
    if (row + 1 < rows || random.below(2)) made.text += line_end;
    if (random.below(20) == 0) made.text += line_end;
  }
  return made;
}

bool is_missing(const std::string& cell) { return cell.empty() || cell == "NA" || cell == "?"; }

void compare(const Table& table, const Cells& rows) {
  const std::vector<ColumnType> types = {ColumnType::number,   ColumnType::integer, ColumnType::time,
                                         ColumnType::category, ColumnType::text,    ColumnType::category};
  ASSERT_EQ(table.names(), rows[0]);
  ASSERT_EQ(table.rows, static_cast<std::int64_t>(rows.size()) - 1);
  for (std::size_t c = 0; c < types.size(); ++c) {
    const Column& column = table.columns[c];
    ASSERT_EQ(column.info.type, types[c]) << column.info.name;
    std::set<std::string> levels;
    std::int64_t missing = 0;
    for (std::size_t row = 1; row < rows.size(); ++row) {
      const std::string& cell = rows[row][c];
      missing += is_missing(cell);
      if (!is_missing(cell)) levels.insert(cell);
      if (types[c] == ColumnType::text) {
        ASSERT_EQ(column.text[row - 1], is_missing(cell) ? "" : cell) << "row " << row;
        continue;
      }
      const double value = column.values[row - 1];
      ASSERT_EQ(std::isnan(value), is_missing(cell)) << cell;
      if (is_missing(cell)) continue;
      if (types[c] == ColumnType::category) {
        ASSERT_EQ(column.info.levels.at(static_cast<std::size_t>(value)), cell);
      } else if (types[c] == ColumnType::time) {
        std::tm parts{};
        ASSERT_NE(::strptime(cell.c_str(), "%Y-%m-%d", &parts), nullptr);
        ASSERT_EQ(value * 86400.0, static_cast<double>(::timegm(&parts)));
      } else {
        ASSERT_EQ(value, std::strtod(cell.c_str(), nullptr));
      }
    }
    EXPECT_EQ(column.missing, missing);
    if (types[c] == ColumnType::category) {
      EXPECT_EQ(column.info.levels, std::vector<std::string>(levels.begin(), levels.end()));
    }
  }
}

ReadOptions random_table_options() {
  ReadOptions options;
  options.known = {{"text", ColumnType::text, "", {}}};
  return options;
}

TEST(CsvFuzz, AgreesWithANaiveReader) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const Generated made = random_table(random);
    const Cells rows =
        naive_parse(made.text.starts_with("\xEF\xBB\xBF") ? made.text.substr(3) : made.text, made.separator);
    const ScratchFile file(made.text);
    for (int threads = 1; threads <= 4; ++threads) {
      ReadOptions options = random_table_options();
      options.threads = threads;
      const detail::BlockSizes sizes{.head = static_cast<std::size_t>(1 + random.below(2000)),
                                     .block = static_cast<std::size_t>(1 + random.below(600))};
      SCOPED_TRACE("seed " + std::to_string(seed) + ", threads " + std::to_string(threads));
      compare(detail::read_table(file.path(), options, sizes), rows);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(CsvFuzz, StreamGivesTheSameInBlocks) {
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    Random random(seed);
    const Generated made = random_table(random);
    const ScratchFile file(made.text);
    const Table whole = read_table(file.path(), random_table_options());
    ReadOptions options;
    for (const Column& column : whole.columns) options.known.push_back(column.info);
    TableStream stream(file.path(), options);
    EXPECT_EQ(stream.separator(), made.separator);
    EXPECT_EQ(stream.header(), whole.names());
    Table block;
    std::vector<std::string> lines;
    std::size_t row = 0;
    while (stream.next(1 + random.below(50), block, lines)) {
      ASSERT_EQ(block.rows, static_cast<std::int64_t>(lines.size()));
      for (std::size_t i = 0; i < lines.size(); ++i, ++row) {
        const Cells again = naive_parse(lines[i], made.separator);
        ASSERT_EQ(again.size(), 1u) << lines[i];
        for (std::size_t c = 0; c < whole.columns.size(); ++c) {
          const Column &part = block.columns[c], &all = whole.columns[c];
          ASSERT_EQ(part.info, all.info);
          if (all.info.type == ColumnType::text) {
            ASSERT_EQ(part.text[i], all.text[row]);
            ASSERT_EQ(all.text[row], is_missing(again[0][c]) ? "" : again[0][c]);
          } else {
            ASSERT_TRUE(part.values[i] == all.values[row] ||
                        (std::isnan(part.values[i]) && std::isnan(all.values[row])));
          }
        }
      }
    }
    EXPECT_EQ(row, static_cast<std::size_t>(whole.rows));
  }
}

// Cutting and flipping bytes gives a table or a DataError, never anything else.
TEST(CsvFuzz, DamagedFilesAreReadOrRefused) {
  int refused = 0;
  for (std::uint64_t seed = 200; seed < 500; ++seed) {
    Random random(seed);
    std::string text = random_table(random).text;
    for (std::int64_t i = random.below(4); i >= 0; --i) {
      text[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(text.size())))] =
          static_cast<char>(random.bits());
    }
    if (random.below(2)) text.resize(static_cast<std::size_t>(random.below(static_cast<std::int64_t>(text.size()))));
    const ScratchFile file(text);
    const std::string message = message_of<std::runtime_error>([&] {
      const Table table = detail::read_table(file.path(), {}, {.head = 300, .block = 100});
      for (const Column& column : table.columns) {
        EXPECT_EQ(std::max(column.values.size(), column.text.size()), static_cast<std::size_t>(table.rows));
      }
    });
    EXPECT_FALSE(message.starts_with("other")) << message;
    refused += !message.empty();
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace ick
