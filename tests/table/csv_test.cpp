#include "ick/table/csv.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>

#include "ick/base/error.h"
#include "scratch.h"
#include "table/read.h"

namespace ick {
namespace {

Table read(const std::string& text, const ReadOptions& options = {}) {
  return read_table(ScratchFile(text).path(), options);
}

std::string refusal(const std::string& text, const ReadOptions& options = {}) {
  const ScratchFile file(text);
  return message_of<DataError>([&] { read_table(file.path(), options); }, file.path());
}

std::string rows(int count, const std::string& row) {
  std::string text;
  for (int i = 0; i < count; ++i) text += row;
  return text;
}

ReadOptions knowing(const std::string& name, ColumnType type, const std::string& format = "") {
  ReadOptions options;
  options.known = {{name, type, format, {}}};
  return options;
}

TEST(Csv, InfersTypes) {
  const Table table = read(
      "id,length,day,colour,flag,empty\n"
      "3,1.50,2019-05-16,red,true,\n"
      "-4,2e3,2019-05-17,blue,false,NA\n"
      "5,,2019-05-18,,true,?\n");
  ASSERT_EQ(table.rows, 3);
  const std::vector<ColumnType> types = {ColumnType::integer,  ColumnType::number,   ColumnType::time,
                                         ColumnType::category, ColumnType::category, ColumnType::number};
  for (std::size_t c = 0; c < types.size(); ++c) EXPECT_EQ(table.columns[c].info.type, types[c]) << c;
  EXPECT_EQ(table.columns[0].values, (std::vector<double>{3, -4, 5}));
  EXPECT_EQ(table.columns[1].values[1], 2000.0);
  EXPECT_TRUE(std::isnan(table.columns[1].values[2]));
  EXPECT_EQ(table.columns[1].missing, 1);
  EXPECT_EQ(table.columns[2].values[2], 18034.0);  // date -u -d 2019-05-18 +%s / 86400
  EXPECT_EQ(table.columns[2].info.time_format, "%Y-%m-%d");
  EXPECT_EQ(table.columns[3].info.levels, (std::vector<std::string>{"blue", "red"}));
  EXPECT_EQ(table.columns[4].info.levels, (std::vector<std::string>{"false", "true"}));
  EXPECT_EQ(table.columns[5].missing, 3);
}

TEST(Csv, ManyDifferentWordsAreText) {
  std::string text = "name,station\n";
  for (int i = 0; i < 120; ++i) text += "n" + std::to_string(i) + ",s" + std::to_string(i % 50) + "\n";
  Table table = read(text);
  EXPECT_EQ(table.columns[0].info.type, ColumnType::text);
  EXPECT_EQ(table.columns[0].text[7], "n7");
  EXPECT_EQ(table.columns[1].info.type, ColumnType::category);
  ReadOptions options;
  options.most_levels = 49;
  EXPECT_EQ(read(text, options).columns[1].info.type, ColumnType::text);
}

TEST(Csv, LooksAtTheWholeColumn) {
  const std::string text = "x,y\n" + rows(3000, "1,2\n") + "1.5,2\n" + rows(3000, "word,2\n");
  const ScratchFile file(text);
  const Table table = detail::read_table(file.path(), {}, {.head = 100, .block = 1000});
  EXPECT_EQ(table.columns[0].info.levels, (std::vector<std::string>{"1", "1.5", "word"}));
  EXPECT_EQ(table.columns[0].values[3000], 1.0);
  EXPECT_EQ(table.columns[1].info.type, ColumnType::integer);
  EXPECT_EQ(table.columns[1].values.size(), 6001u);
}

TEST(Csv, FindsSeparatorsAndDecimalCommas) {
  const Table table = read("a;b;c\n3,14;5;?\n-0,5;6;1.5\n");
  EXPECT_EQ(table.columns[0].values, (std::vector<double>{3.14, -0.5}));
  EXPECT_EQ(table.columns[1].info.type, ColumnType::integer);
  EXPECT_EQ(table.columns[2].values[1], 1.5);
  EXPECT_EQ(read("a\tb\n1,5\t2\n").columns[0].info.type, ColumnType::category);  // a thousands separator, maybe
  EXPECT_EQ(read("a|b\n1|2\n").names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(read("only\n7\n8").columns[0].values, (std::vector<double>{7, 8}));
  EXPECT_EQ(read("a;b\n1,5;2\n", knowing("a", ColumnType::number)).columns[0].values[0], 1.5);
  EXPECT_EQ(
      refusal("a;b\n1,5;2\n1.5;2\n"),
      "f:2: column \"a\": \"1,5\" has a decimal comma where other cells have a decimal point; use one of them, or "
      "declare the column as a category (types=\"a=category\")");
}

TEST(Csv, ReadsQuotesMarksAndLineEnds) {
  const Table table = read("\xEF\xBB\xBF\"a, b\",c\r\n\"x \"\"y\"\"\r\nz\" , 5\r\n\r\n  w ,6\r\n\r\n");
  EXPECT_EQ(table.names(), (std::vector<std::string>{"a, b", "c"}));
  EXPECT_EQ(table.columns[0].info.levels, (std::vector<std::string>{"w", "x \"y\"\r\nz"}));
  EXPECT_EQ(table.columns[1].values, (std::vector<double>{5, 6}));
  EXPECT_EQ(read(",b\n1,2\n").names(), (std::vector<std::string>{"column_1", "b"}));
}

TEST(Csv, RefusesWhatIsNoTable) {
  EXPECT_EQ(refusal(""), "f: is empty; a header and rows were expected");
  EXPECT_EQ(refusal("\n\n"), "f: is empty; a header and rows were expected");
  EXPECT_EQ(refusal("a,b\n"), "f: has a header but no rows");
  EXPECT_EQ(refusal("a,b"), "f: has a header but no rows");
  EXPECT_EQ(refusal("a,b,a\n1,2,3\n"), "f:1: columns 1 and 3 are both named \"a\"; names have to differ");
  EXPECT_EQ(refusal("1,2\n3,4\n"),
            "f:1: has no header (all cells of the first line are numbers); a line with the columns' names is needed "
            "before the data");
  EXPECT_EQ(refusal("\x89PNG\r\n\x1A\n and so on"),
            "f: is a PNG image, not a table; a table is text with separators (CSV)");
  EXPECT_EQ(refusal(std::string("a,b\n1,\0002\n", 9)),
            "f: is not text (byte 7 is zero); a table is text with separators (CSV)");
  EXPECT_EQ(message_of<DataError>([] { read_table("/no/such/file.csv"); }), "/no/such/file.csv: there is no such file");
  EXPECT_EQ(message_of<DataError>([] { read_table("/"); }), "/: is a folder; the path of a CSV file was expected");
  const ScratchFile closed("a,b\n1,2\n");
  ::chmod(closed.path().c_str(), 0);
  if (::access(closed.path().c_str(), R_OK) != 0) {
    EXPECT_EQ(message_of<DataError>([&] { read_table(closed.path()); }, closed.path()),
              "f: no permission to read this file");
  }
}

TEST(Csv, NamesTheLineOfAMistake) {
  EXPECT_EQ(refusal("a,b,c,d,e\n1,2,3,4,5\n1,2,3\n"), "f:3: found 3 cells, expected 5 (as in the header)");
  EXPECT_EQ(refusal("a,b\n\"two\nlines\",1\n1,2,3\n"), "f:4: found 3 cells, expected 2 (as in the header)");
  EXPECT_EQ(refusal("a,b\n1,2\n\n3,\"4\n5,6\n"),
            "f:4: a quote opens here and is never closed; the file may be cut off");
  EXPECT_EQ(refusal("a,b\n\"x\"y,2\n"), "f:2: text follows the closing quote of \"x\"");
  const std::string numbers = "x\n" + rows(30, "1.5\n");
  EXPECT_EQ(
      refusal(numbers + "oops\n"),
      "f:32: column \"x\": \"oops\" is not a number, as 96.7% of the cells are; correct it, declare it as missing "
      "(missing=oops), or declare the column as a category (types=\"x=category\")");
  EXPECT_EQ(refusal(numbers + "-inf\n"),
            "f:32: column \"x\": \"-inf\" is not finite; leave the cell empty, or declare the word as missing "
            "(missing=-inf)");
  EXPECT_EQ(refusal(numbers + "1e999\n").substr(0, 39), "f:32: column \"x\": \"1e999\" is not finite");
  EXPECT_EQ(refusal("day\n" + rows(30, "2019-05-16\n") + "2019-05-32\n"),
            "f:32: column \"day\": \"2019-05-32\" is not a date (expected YYYY-MM-DD)");
}

// The first mistake of the file is the one reported, whatever the number of threads and blocks.
TEST(Csv, ReportsTheFirstMistake) {
  const ScratchFile file("a,b\n" + rows(500, "1,2\n") + "1\n" + rows(500, "1,2\n") + "1,2,3\n" + rows(500, "1,2\n"));
  for (int threads = 1; threads <= 4; ++threads) {
    ReadOptions options;
    options.threads = threads;
    EXPECT_EQ(message_of<DataError>([&] { detail::read_table(file.path(), options, {.head = 50, .block = 90}); },
                                    file.path()),
              "f:502: found 1 cell, expected 2 (as in the header)");
  }
}

TEST(Csv, KnownTypesAreForced) {
  const std::string text = "day,n,c\n12/03/2019,20190516,1\n12/04/2019,20190517,2\n";
  ReadOptions options;
  options.known = {{"day", ColumnType::time, "%d/%m/%Y", {}},
                   {"n", ColumnType::time, "%Y%m%d", {}},
                   {"c", ColumnType::category, "", {"2", "3"}},
                   {"absent", ColumnType::number, "", {}}};
  const Table table = read(text, options);
  EXPECT_EQ(table.columns[0].values[0], 17967.0);  // 2019-03-12
  EXPECT_EQ(table.columns[1].values, (std::vector<double>{18032.0, 18033.0}));
  EXPECT_EQ(table.columns[2].values, (std::vector<double>{-1.0, 0.0}));  // "1" is no level
  EXPECT_EQ(table.columns[2].info.levels, (std::vector<std::string>{"2", "3"}));
  EXPECT_EQ(refusal("day\n2019-03-12\n12/03/2019x\n", knowing("day", ColumnType::time, "%Y-%m-%d")),
            "f:3: column \"day\": \"12/03/2019x\" is not a date (expected YYYY-MM-DD)");
  EXPECT_EQ(refusal("day\nMonday\n", knowing("day", ColumnType::time)),
            "f:2: column \"day\": \"Monday\" is not a date (expected YYYY-MM-DD)");
  EXPECT_EQ(refusal("n\n3\n4.5\n", knowing("n", ColumnType::integer)), "f:3: column \"n\": \"4.5\" is not an integer");
  EXPECT_EQ(refusal("n\n3\nx\n", knowing("n", ColumnType::number)),
            "f:3: column \"n\": \"x\" is not a number; a word for a missing value can be declared with missing");
  EXPECT_EQ(refusal("n\n3\ninf\n", knowing("n", ColumnType::number)), "f:3: column \"n\": \"inf\" is not finite");
}

TEST(Csv, DayAndMonthAreNotGuessed) {
  EXPECT_EQ(
      refusal("when,x\n03/04/2019,1\n01/02/2019,2\n05/01/2019,3\n"),
      "f:2: column \"when\": \"03/04/2019\" may be DD/MM/YYYY or MM/DD/YYYY, and no other row tells which; declare "
      "it with types=\"when=time:%d/%m/%Y\" or types=\"when=time:%m/%d/%Y\"");
  // Sorted in one order only, by enough days not to be chance.
  const std::string by_day = "when\n02/01/2019\n03/01/2019\n01/02/2019\n01/02/2019\n05/02/2019\n";
  EXPECT_EQ(refusal(by_day).substr(0, 46), "f:2: column \"when\": \"02/01/2019\" may be DD/MM/");
  EXPECT_EQ(read(by_day + "04/03/2019\n").columns[0].info.time_format, "%d/%m/%Y");
  EXPECT_EQ(read("when\n01/02/2019\n01/03/2019\n02/01/2019\n02/05/2019\n03/04/2019\n").columns[0].info.time_format,
            "%m/%d/%Y");
  EXPECT_EQ(read("when\n01/01/2019\n03/03/2019\n02/02/2019\n").columns[0].values[1], 17958.0);  // either way
  EXPECT_EQ(read("when\n03/04/2019\n01/02/2019\n25/01/2019\n").columns[0].info.time_format, "%d/%m/%Y");
}

TEST(Csv, ColumnsCanBeLeftOut) {
  ReadOptions options;
  options.only = {"c", "a"};
  const Table table = read("a,b,c\n1,oops,2\n3,4,5\n", options);
  EXPECT_EQ(table.names(), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(table.rows, 2);
  options.only = {"lenght"};
  EXPECT_EQ(refusal("length,b\n1,2\n", options), "f: no column named \"lenght\"; did you mean \"length\"?");
  EXPECT_EQ(message_of<DataError>([&] { table.column("cc", "formula column 7: "); }).substr(0, 39),
            "formula column 7: no column named \"cc\";");
}

std::string packed(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string result(text.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

TEST(Csv, ReadsGzip) {
  const std::string whole = packed("x,y\n" + rows(5000, "1,2\n")) + packed(rows(2000, "word,2\n"));
  const Table table = read(whole);
  EXPECT_EQ(table.rows, 7000);
  EXPECT_EQ(table.columns[0].info.levels, (std::vector<std::string>{"1", "word"}));
  EXPECT_EQ(refusal(whole.substr(0, whole.size() - 9)), "f: the gzip file ends too early; it was cut off");
  std::string damaged = whole;
  damaged[15] = static_cast<char>(damaged[15] ^ 0x55);
  EXPECT_EQ(refusal(damaged).substr(0, 27), "f: the gzip file is damaged");
}

// A pipe can be read once only, and this column shows only at its end that it is not of numbers.
TEST(Csv, ReadsStdin) {
  const std::string text = "x,y\n" + rows(3000, "1,2\n") + rows(3000, "w,2\n");
  const int before = ::dup(STDIN_FILENO);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(ends[1]);
  ::dup2(ends[0], STDIN_FILENO);
  const Table table = detail::read_table("-", {}, {.head = 100, .block = 1000});
  ::dup2(before, STDIN_FILENO);
  ::close(before), ::close(ends[0]);
  EXPECT_EQ(table.rows, 6000);
  EXPECT_EQ(table.columns[0].info.levels, (std::vector<std::string>{"1", "w"}));
}

TEST(Csv, StreamKeepsLinesAndTheirNumbers) {
  const ScratchFile file("a,b\r\n1,\"x\r\ny\"\r\n\r\n2,z\r\n3,z\r\n4\r\n");
  TableStream stream(file.path(), {});
  Table block;
  std::vector<std::string> lines;
  ASSERT_TRUE(stream.next(2, block, lines));
  EXPECT_EQ(lines, (std::vector<std::string>{"1,\"x\r\ny\"", "2,z"}));
  EXPECT_EQ(block.columns[1].info.levels, (std::vector<std::string>{"x\r\ny", "z"}));
  ASSERT_TRUE(stream.next(1, block, lines));
  EXPECT_EQ(block.columns[0].values, (std::vector<double>{3}));
  EXPECT_EQ(block.columns[1].values, (std::vector<double>{1}));  // levels of the first block
  EXPECT_EQ(message_of<DataError>([&] { stream.next(5, block, lines); }, file.path()),
            "f:7: found 1 cell, expected 2 (as in the header)");
  const ScratchFile header_only("a,b\n");
  TableStream nothing(header_only.path(), {});
  EXPECT_FALSE(nothing.next(5, block, lines));
}

// Blocks that were taken in order may be parsed in any.
TEST(Csv, StreamTakesInOrderAndParsesInAny) {
  const ScratchFile file("a;b\n1,5;x\n\n2;\"y\nz\"\n3;x\n4,25;w\nfive;x\n");
  TableStream stream(file.path(), {});
  std::vector<TextRows> blocks(3);
  for (TextRows& block : blocks) ASSERT_TRUE(stream.take(2, block));
  TextRows none;
  EXPECT_FALSE(stream.take(2, none));
  EXPECT_EQ(message_of<DataError>([&] { stream.parse(blocks[2]); }, file.path()),
            "f:8: column \"a\": \"five\" is not a number; a word for a missing value can be declared with missing");
  const Table second = stream.parse(blocks[1]), first = stream.parse(blocks[0]);
  EXPECT_EQ(first.columns[0].values, (std::vector<double>{1.5, 2.0}));
  EXPECT_EQ(second.columns[0].values, (std::vector<double>{3.0, 4.25}));
  EXPECT_EQ(second.columns[1].values, (std::vector<double>{0.0, -1.0}));  // levels of the first block: x, y z
  EXPECT_EQ(second.rows_before, 2);
  EXPECT_EQ(blocks[0].lines, (std::vector<std::string_view>{"1,5;x", "2;\"y\nz\""}));
  EXPECT_EQ(blocks[1].lines, (std::vector<std::string_view>{"3;x", "4,25;w"}));
}

TEST(Csv, CellsAreQuotedWhenNeeded) {
  EXPECT_EQ(csv_cell("plain", ','), "plain");
  EXPECT_EQ(csv_cell("a,b", ','), "\"a,b\"");
  EXPECT_EQ(csv_cell("a,b", ';'), "a,b");
  EXPECT_EQ(csv_cell("say \"x\"\n", ';'), "\"say \"\"x\"\"\n\"");
  EXPECT_EQ(csv_cell(" edge", ','), "\" edge\"");
}

}  // namespace
}  // namespace ick
