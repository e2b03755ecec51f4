#include "table/column_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "ick/base/error.h"
#include "ick/base/file.h"
#include "ick/base/seed.h"
#include "support/table_case.h"
#include "table/read.h"

namespace ick {
namespace {

namespace fs = std::filesystem;

constexpr detail::BlockSizes kTiny{700, 300};

class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "ick_columns_XXXXXX").string()) {
    if (!::mkdtemp(path_.data())) throw std::runtime_error("mkdtemp");
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::size_t entries() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), {})); }

 private:
  std::string path_;
};

// Every kind of column, with gaps and cells in quotes; `late` is all numbers but for its last cell but one.
std::string mixed_text(int rows) {
  Random random(3);
  std::string text = "x,n,day,site,late,\"odd \xFF,\n\"\n";
  for (int i = 0; i < rows; ++i) {
    const auto cell = [&](const std::string& value) { return (random.below(9) == 0 ? "NA" : value) + ","; };
    text += cell(std::to_string(200.0 * random.uniform() - 100.0)) + cell(std::to_string(random.below(1000)));
    text += cell("2019-0" + std::to_string(1 + random.below(9)) + "-1" + std::to_string(random.below(9)));
    text += cell("site " + std::to_string(random.below(5))) + (i == rows - 2 ? "many" : std::to_string(i % 7)) + ",";
    text += std::string(random.below(2) == 0 ? "\"a\n\"\"b\"" : "\xFE") + "\n";
  }
  return text;
}

ReadOptions keeping(std::vector<ColumnInfo> known = {{"late", ColumnType::category, "", {}}}) {
  ReadOptions options;
  options.cache = true;
  options.cache_from = 1000;
  options.threads = 2;
  options.known = std::move(known);
  return options;
}

ReadOptions in_memory() {
  ReadOptions options = keeping();
  options.cache = false;
  options.cache_from = 1'000'000'000;
  return options;
}

void expect_same(const Table& found, const Table& expected) {
  EXPECT_EQ(found.rows, expected.rows);
  ASSERT_EQ(found.names(), expected.names());
  for (std::size_t c = 0; c < found.columns.size(); ++c) {
    const Column &a = found.columns[c], &b = expected.columns[c];
    EXPECT_EQ(a.info, b.info);
    EXPECT_EQ(a.missing, b.missing);
    EXPECT_EQ(a.text, b.text);
    ASSERT_EQ(a.values.size(), b.values.size());
    for (std::size_t i = 0; i < a.values.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(a.values[i]), std::bit_cast<std::uint64_t>(b.values[i])) << c << " " << i;
    }
  }
}

bool all_mapped(const Table& table) {
  return std::all_of(table.columns.begin(), table.columns.end(), [](const auto& c) { return c.values.is_mapped(); });
}

class ColumnCacheTest : public testing::Test {
 protected:
  ColumnCacheTest() { write_file(path_, mixed_text(400)); }

  Table read(const ReadOptions& options = keeping()) const { return detail::read_table(path_, options, kTiny); }
  // Read anew once, and kept from then on.
  void expect_miss(const ReadOptions& options = keeping()) const {
    const Table table = read(options);
    EXPECT_FALSE(table.from_cache);
    EXPECT_TRUE(read(options).from_cache);
    ReadOptions plain = options;
    plain.cache = false;
    plain.cache_from = 1'000'000'000;
    expect_same(table, read(plain));
    expect_same(read(options), table);
  }

  const Folder folder_;
  const std::string path_ = folder_ / "air.csv", columns_ = path_ + ".columns";
};

TEST(Numbers, SharedAndImmutable) {
  EXPECT_TRUE(Numbers().empty());
  std::vector<double> values = {3.0, -0.5, 7.0};
  const double* const place = values.data();
  const Numbers numbers = std::move(values), copy = numbers;
  EXPECT_EQ(numbers.data(), place);
  EXPECT_EQ(copy.data(), place);
  EXPECT_FALSE(numbers.is_mapped());
  numbers.release();
  EXPECT_EQ(copy, (Numbers{3.0, -0.5, 7.0}));
  EXPECT_EQ(numbers.copy(), (std::vector<double>{3.0, -0.5, 7.0}));
  const std::span<const double> span = numbers;
  EXPECT_EQ(std::accumulate(span.begin(), span.end(), 0.0), 9.5);
  EXPECT_NE(numbers, (Numbers{3.0, -0.5}));
}

TEST(Numbers, MappedOutlivesItsFile) {
  const Folder folder;
  const std::vector<double> values = {1.5, -2.0, 1e300};
  write_file(folder / "n", {reinterpret_cast<const char*>(values.data()), 24});
  Numbers numbers;
  {
    const detail::Descriptor file(::open((folder / "n").c_str(), O_RDONLY));
    numbers = Numbers::mapped(file.number(), 3);
  }
  fs::remove(folder / "n");
  EXPECT_TRUE(numbers.is_mapped());
  EXPECT_EQ(numbers, Numbers(values));
  numbers.release();
  EXPECT_EQ(numbers, Numbers(values));
  EXPECT_THROW(Numbers::mapped(-1, 3), std::system_error);
}

// More numbers than one part has, spilled on the way.
TEST(GrowingColumn, SpilledIsAsInMemory) {
  const Folder folder;
  std::vector<double> expected(200'003);
  std::iota(expected.begin(), expected.end(), 0.5);
  detail::GrowingColumn memory, file;
  for (std::size_t first = 0; first < expected.size(); first += 30'000) {
    const auto part = std::span<const double>(expected).subspan(first, std::min<std::size_t>(30'000, 200'003 - first));
    memory.append(part);
    file.append(part);
    if (first == 60'000) file.spill(folder / ".");
  }
  EXPECT_EQ(file.size(), expected.size());
  std::vector<double> seen;
  file.visit([&](std::span<const double> part) { seen.insert(seen.end(), part.begin(), part.end()); });
  EXPECT_EQ(seen, expected);
  const auto twice = [](std::span<double> part) {
    for (double& value : part) value *= 2.0;
  };
  memory.change(twice), file.change(twice);
  for (double& value : expected) value *= 2.0;
  EXPECT_EQ(folder.entries(), 0u);
  file.keep(folder / "kept");
  EXPECT_EQ(fs::file_size(folder / "kept"), 8 * expected.size());
  EXPECT_EQ(memory.numbers(), Numbers(expected));
  EXPECT_EQ(file.numbers(), Numbers(expected));
  EXPECT_THROW(detail::GrowingColumn().spill(folder / "none"), std::system_error);
}

TEST_F(ColumnCacheTest, EqualBitForBit) {
  const Table memory = read(in_memory());
  EXPECT_FALSE(all_mapped(memory));
  ReadOptions temporary = keeping();
  temporary.cache = false;
  const Table streamed = read(temporary);
  EXPECT_TRUE(all_mapped(streamed));
  expect_same(streamed, memory);
  EXPECT_EQ(folder_.entries(), 1u);

  const Table written = read(), kept = read();
  EXPECT_FALSE(written.from_cache);
  EXPECT_TRUE(kept.from_cache && all_mapped(written) && all_mapped(kept));
  expect_same(written, memory);
  expect_same(kept, memory);
  EXPECT_EQ(folder_.entries(), 2u);
  fs::remove_all(columns_);
  expect_same(kept, memory);  // mapped files need no names
  expect_miss();
}

// A column that turns out to be no number only at its end is read again.
TEST_F(ColumnCacheTest, ColumnsThatAreReadAgain) {
  write_file(path_, mixed_text(40));
  EXPECT_THROW(read(keeping({})), DataError);
  std::string text = "a,b\n";
  for (int i = 0; i < 300; ++i) text += std::to_string(i) + "," + (i < 200 ? "7" : i % 2 == 0 ? "u" : "v") + "\n";
  write_file(path_, text);
  const Table table = read(keeping({}));
  EXPECT_EQ(table.columns[1].info.levels, (std::vector<std::string>{"7", "u", "v"}));
  EXPECT_EQ(table.columns[1].values[250], 1.0);
  expect_same(read(keeping({})), table);
  EXPECT_TRUE(read(keeping({})).from_cache);
}

// Cells with line ends and quotes in them, missing ones, and none at all at the end.
TEST_F(ColumnCacheTest, Text) {
  write_file(path_, mixed_text(400) + "1,2,2019-01-11,site 1,,x\n");
  const ReadOptions options = keeping({{"late", ColumnType::text, "", {}}, {"odd \xFF,\n", ColumnType::text, "", {}}});
  expect_miss(options);
  const Table kept = read(options);
  EXPECT_EQ(kept.columns[4].text[398], "many");
  EXPECT_EQ(kept.columns[4].text[400], "");
  EXPECT_EQ(kept.columns[4].missing, 1);
  EXPECT_TRUE(kept.columns[4].values.empty() && kept.columns[3].values.is_mapped());
  EXPECT_GT(std::count(kept.columns[5].text.begin(), kept.columns[5].text.end(), "a\n\"b"), 100);

  const std::string file = columns_ + "/4.text";
  const auto time = fs::last_write_time(file);
  std::string text = read_file(file);
  text.back() = 'x';
  std::ofstream(file, std::ios::binary) << text;
  fs::last_write_time(file, time);
  expect_miss(options);
  ReadOptions only_text = options;
  only_text.only = {"late"};
  EXPECT_TRUE(read(only_text).from_cache);
  fs::remove_all(columns_);
  expect_miss(only_text);
}

TEST_F(ColumnCacheTest, SaysWhatBecomesOfIt) {
  std::vector<std::string> said;
  ReadOptions options = keeping();
  options.remark = [&](const std::string& sentence) { said.push_back(sentence); };
  read(options), read(options);
  EXPECT_EQ(said, (std::vector<std::string>{"kept a copy of the columns in " + columns_ + "/ (1 MB; safe to delete)"}));
  said.clear();
  fs::remove_all(columns_);
  write_file(columns_, "a file in its place");
  read(options);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(said[0].starts_with("no copy of the columns kept in " + columns_ + "/ (")) << said[0];
  EXPECT_TRUE(said[0].ends_with("); the table will be parsed again")) << said[0];
  said.clear();
  options.cache = false;
  read(options);
  options.cache_from = 1'000'000'000;
  options.cache = true;
  read(options);
  EXPECT_TRUE(said.empty());
}

TEST_F(ColumnCacheTest, SmallTablesStayInMemory) {
  ReadOptions options = keeping();
  options.cache_from = static_cast<std::int64_t>(fs::file_size(path_)) + 1;
  EXPECT_FALSE(all_mapped(read(options)));
  EXPECT_FALSE(fs::exists(columns_));
}

TEST_F(ColumnCacheTest, AnotherTable) {
  expect_miss();
  fs::last_write_time(path_, fs::last_write_time(path_) + std::chrono::nanoseconds(1000));
  expect_miss();
  const auto time = fs::last_write_time(path_);
  std::string text = mixed_text(400);
  text[text.rfind('\xFE')] = '\xFD';  // one cell: time and size are as they were
  write_file(path_, text);
  fs::last_write_time(path_, time);
  expect_miss();
  write_file(path_, mixed_text(401));
  expect_miss();
}

TEST_F(ColumnCacheTest, ReadInAnotherWay) {
  expect_miss();
  ReadOptions options = keeping();
  options.missing.push_back("site 2");
  expect_miss(options);
  options.most_levels = 900;
  expect_miss(options);
  options.separator = ',';
  expect_miss(options);
  options.known.push_back({"n", ColumnType::category, "", {}});
  expect_miss(options);
  options.known.push_back({"site", ColumnType::category, "", {"site 3", "site 1"}});
  expect_miss(options);
  EXPECT_EQ(read(options).column("site").info.levels, (std::vector<std::string>{"site 3", "site 1"}));
  options.known.pop_back();
  expect_miss(options);
}

// What is asked for may be less, or what was found anyway.
TEST_F(ColumnCacheTest, ServesWhatItTells) {
  ReadOptions some = keeping();
  some.only = {"x", "n"};
  expect_miss(some);
  expect_miss();  // all columns
  const Table all = read();
  some.known.clear();
  for (const Column& column : all.columns) some.known.push_back(column.info);
  some.known[1].type = ColumnType::number;  // n is integer
  some.only = {"n", "site", "day"};
  const Table part = read(some);
  EXPECT_TRUE(part.from_cache);
  EXPECT_EQ(part.names(), (std::vector<std::string>{"n", "day", "site"}));
  EXPECT_EQ(part.columns[0].info.type, ColumnType::number);
  ReadOptions plain = some;
  plain.cache = false;
  expect_same(part, read(plain));
  ReadOptions levels = keeping();
  levels.known.push_back({"site", ColumnType::category, "", {}});
  EXPECT_TRUE(read(levels).from_cache);
  some.only.push_back("sight");
  EXPECT_THROW(read(some), DataError);
}

TEST_F(ColumnCacheTest, DamageIsMended) {
  expect_miss();
  const std::string file = columns_ + "/2.f64", description = columns_ + "/description";
  fs::resize_file(file, fs::file_size(file) - 8);
  expect_miss();
  fs::remove(file);
  expect_miss();
  {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(8 * 100);
    stream.put('x');
  }
  expect_miss();
  const std::size_t size = fs::file_size(description);
  for (std::size_t at = 0; at < size; at += 53) {
    std::string text = read_file(description);
    text[at] = static_cast<char>(text[at] ^ 4);
    std::ofstream(description, std::ios::binary) << text;
    EXPECT_FALSE(read().from_cache) << at;
    if (at == 0) continue;  // nothing would be left to know it by
    text = read_file(description).substr(0, at);
    std::ofstream(description, std::ios::binary) << text;
    EXPECT_FALSE(read().from_cache) << at;
  }
  EXPECT_TRUE(read().from_cache);
}

// A user's file among those of the cache, or in the place of one, is worth more than the cache.
TEST_F(ColumnCacheTest, AFolderThatIsNotAllItsOwnIsNotReplaced) {
  std::vector<std::string> said;
  ReadOptions options = keeping();
  options.remark = [&](const std::string& sentence) { said.push_back(sentence); };
  int rows = 400;
  const auto expect_kept = [&](const std::string& name, const std::string& text) {
    said.clear();
    fs::remove_all(columns_);
    EXPECT_FALSE(read(keeping()).from_cache);
    std::ofstream(columns_ + "/" + name, std::ios::binary) << text;
    const auto files = std::distance(fs::directory_iterator(columns_), {});
    write_file(path_, mixed_text(++rows));  // the cache is of another table now
    EXPECT_FALSE(read(options).from_cache);
    EXPECT_EQ(read_file(columns_ + "/" + name), text);
    EXPECT_EQ(std::distance(fs::directory_iterator(columns_), {}), files);
    return said.size() == 1 ? said[0] : "";
  };
  const std::string before = "no copy of the columns kept in " + columns_ + "/ (the folder \"" + columns_ + "\" ",
                    after = "; the table will be parsed again";
  for (const std::string name : {"notes.txt", "1.f64.txt", ".f64", "2", "model.json"}) {
    EXPECT_EQ(expect_kept(name, "mine"),
              before + "holds \"" + name +
                  "\", which ick did not write, so it is not replaced; give another place or "
                  "move it)" +
                  after);
  }
  for (const std::string text : {"", "a description of my own", "see my notes on columns: ick columns 1"}) {
    EXPECT_EQ(expect_kept("description", text),
              before + "has no \"description\" that ick wrote, so it is not replaced; give another place or move it)" +
                  after);
  }
}

TEST_F(ColumnCacheTest, LeavesOtherFilesAlone) {
  fs::create_directory(columns_);
  write_file(columns_ + "/mine", "kept");
  expect_same(read(), read(in_memory()));
  EXPECT_FALSE(read().from_cache);
  EXPECT_EQ(read_file(columns_ + "/mine"), "kept");
  fs::remove_all(columns_);
  write_file(columns_, "kept");
  expect_same(read(), read(in_memory()));
  EXPECT_EQ(read_file(columns_), "kept");
  EXPECT_EQ(folder_.entries(), 2u);
}

// Nothing can be written beside the names of /proc, by nobody: temporary files serve, or memory where there are none.
TEST_F(ColumnCacheTest, NoPlaceBesideTheTable) {
  const detail::Descriptor file(::open(path_.c_str(), O_RDONLY));
  const std::string alias = "/proc/self/fd/" + std::to_string(file.number());
  std::vector<std::string> said;
  ReadOptions options = keeping();
  options.remark = [&](const std::string& sentence) { said.push_back(sentence); };
  const Table memory = read(in_memory()), streamed = detail::read_table(alias, options, kTiny);
  EXPECT_EQ(said.size(), 1u);
  EXPECT_TRUE(all_mapped(streamed));
  expect_same(streamed, memory);
  const char* const before = std::getenv("TMPDIR");
  const std::string old = before ? before : "";
  ::setenv("TMPDIR", "/nowhere", 1);
  const Table without = detail::read_table(alias, keeping(), kTiny);
  before ? ::setenv("TMPDIR", old.c_str(), 1) : ::unsetenv("TMPDIR");
  EXPECT_FALSE(all_mapped(without));
  expect_same(without, memory);
}

TEST_F(ColumnCacheTest, Gzip) {
  const std::string packed = folder_ / "air.csv.gz", text = read_file(path_);
  const gzFile file = ::gzopen(packed.c_str(), "wb");
  ::gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  ::gzclose(file);
  const Table first = detail::read_table(packed, keeping(), kTiny),
              second = detail::read_table(packed, keeping(), kTiny);
  EXPECT_FALSE(first.from_cache);
  EXPECT_TRUE(second.from_cache);
  expect_same(first, read(in_memory()));
  expect_same(second, first);
}

// Several write at once, and one deletes: everyone has the whole table, and nothing half-written stays.
TEST_F(ColumnCacheTest, WritersDoNotHarmEachOther) {
  const Table expected = read(in_memory());
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < 15; ++round) expect_same(read(), expected);
      });
    }
    threads.emplace_back([&] {
      std::error_code ignored;
      for (int round = 0; round < 30; ++round) {
        fs::remove_all(columns_, ignored);
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
      }
    });
  }
  expect_same(read(), expected);
  EXPECT_TRUE(read().from_cache);
  EXPECT_EQ(folder_.entries(), 2u);
}

}  // namespace
}  // namespace ick
