#include "read.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "column_cache.h"
#include "ick/base/error.h"
#include "ick/base/text.h"
#include "infer.h"
#include "number.h"

namespace ick::detail {

Joiner::Joiner(const Layout& layout, std::int64_t line, std::size_t rows, Spill spill)
    : layout_(layout), line_(line), spill_(std::move(spill)), columns_(layout.plans.size()) {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (layout.plans[c].mode != Plan::Mode::skip) columns_[c].values.reserve(rows);
  }
}

void Joiner::add(const Block& block) {
  if (!block.error.empty()) {
    throw DataError(layout_.file + ":" + std::to_string(line_ + block.error_line) + ": " + block.error);
  }
  bytes_ += static_cast<std::int64_t>(block.bytes);
  const bool spills = !spill_.folder.empty() && bytes_ > spill_.from;
  std::vector<double> codes;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (layout_.plans[c].mode == Plan::Mode::skip) continue;
    Joined& column = columns_[c];
    const Piece& piece = block.pieces[c];
    column.missing += piece.missing;
    column.integers &= piece.integers;
    column.points |= piece.points;
    column.commas |= piece.commas;
    column.failed |= piece.failed;
    if (column.failed) continue;
    if (spills) column.values.spill(spill_.folder);
    if (piece.values) column.values.append({piece.values, static_cast<std::size_t>(block.rows)});
    if (piece.codes.empty()) continue;
    std::vector<double> code;  // of the whole column, for each code of the piece
    for (const CellSet::Entry& entry : piece.cells.entries()) {
      code.push_back(column.cells.add(entry.text, line_ + entry.line, entry.count));
    }
    codes.clear();
    for (const std::uint32_t local : piece.codes) codes.push_back(code[local]);
    column.values.append(codes);
  }
  line_ += block.lines;
}

Column finish(const Layout& layout, std::size_t c, Joined& joined, int most_levels) {
  const Plan& plan = layout.plans[c];
  const std::string& name = layout.header[c];
  if (plan.mode == Plan::Mode::cells) {
    return resolve(layout, name, plan.known, joined.cells, joined.values, most_levels);
  }
  if (joined.points && joined.commas) {
    throw DataError(layout.file + ": column \"" + name +
                    "\": some cells have a decimal point and some a decimal comma; use one of them");
  }
  Column column;
  if (plan.known) {
    column.info = *plan.known;
  } else {
    const bool integers = joined.integers && joined.missing < static_cast<std::int64_t>(joined.values.size());
    column.info.name = name;
    column.info.type = plan.mode == Plan::Mode::time ? ColumnType::time
                       : integers                    ? ColumnType::integer
                                                     : ColumnType::number;
    if (plan.format) column.info.time_format = plan.format->text();
  }
  column.values = joined.values.numbers();
  column.missing = joined.missing;
  return column;
}

std::shared_ptr<ImageStore> make_images(const std::string& path, const ReadOptions& options) {
  std::string folder = options.image_folder;
  if (folder.empty()) folder = std::filesystem::path(path).parent_path().string();  // none of "-", stdin
  return std::make_shared<ImageStore>(folder.empty() ? "." : folder, options.image_cache);
}

Layout make_layout(const RecordReader& reader, const ReadOptions& options) {
  Layout layout;
  layout.file = reader.name();
  layout.separator = reader.separator();
  layout.header = reader.header();
  layout.missing = options.missing;
  layout.number_is_missing = std::any_of(layout.missing.begin(), layout.missing.end(), [](const std::string& word) {
    const auto number = parse_number(word, '.');
    return number && std::isfinite(number->value);
  });
  layout.plans.resize(layout.header.size());
  for (const std::string& name : options.only) {
    if (std::find(layout.header.begin(), layout.header.end(), name) != layout.header.end()) continue;
    const std::string guess = did_you_mean(name, layout.header);
    throw DataError(layout.file + ": no column named \"" + name + "\"" +
                    (guess.empty() ? "; there are " + join_words(layout.header) : guess));
  }
  for (std::size_t c = 0; c < layout.header.size(); ++c) {
    const std::string& name = layout.header[c];
    const bool wanted =
        options.only.empty() || std::find(options.only.begin(), options.only.end(), name) != options.only.end();
    if (!wanted) layout.plans[c].mode = Plan::Mode::skip;
    for (const ColumnInfo& info : options.known) {
      if (info.name == name) layout.plans[c].known = &info;
    }
  }
  return layout;
}

void guess_plans(Layout& layout, std::string_view text) {
  const Block block = parse_block(layout, text);
  for (std::size_t c = 0; c < layout.plans.size(); ++c) {
    Plan& plan = layout.plans[c];
    if (plan.mode != Plan::Mode::skip) plan = guess_plan(layout, block.pieces[c].cells, plan.known);
  }
}

namespace {

// All blocks of the file. Each thread takes the next block when it has parsed one, and joins what is next in the file.
std::vector<Joined> read_all(RecordReader& reader, const Layout& layout, int threads, std::size_t expected_rows,
                             const Spill& spill) {
  Joiner joiner(layout, reader.first_line(), expected_rows, spill);
  std::mutex mutex;  // guards all of these
  std::map<std::size_t, Block> parsed;
  std::size_t taken = 0, joined = 0;
  bool stop = false, joining = false;
  std::condition_variable room;  // a slow disk is waited for
  const std::size_t most_waiting = 2 * static_cast<std::size_t>(threads);
  std::exception_ptr error, join_error;
  const auto join = [&](std::unique_lock<std::mutex>& lock) {
    while (!joining && !parsed.empty() && parsed.begin()->first == joined) {
      const Block block = std::move(parsed.extract(parsed.begin()).mapped());
      joining = true;
      lock.unlock();
      std::exception_ptr caught;
      try {
        joiner.add(block);
      } catch (...) {
        caught = std::current_exception();
      }
      lock.lock();
      ++joined;
      joining = caught != nullptr;  // for good, if so
      if (caught) join_error = caught, stop = true;
      room.notify_all();
    }
  };
  const auto work = [&] {
    std::vector<char> text;
    std::unique_lock lock(mutex);
    try {
      for (;;) {
        room.wait(lock, [&] { return stop || !joining || parsed.size() < most_waiting; });
        if (stop) break;
        const std::size_t size = reader.next(text);
        if (size == 0) break;
        const std::size_t index = taken++;
        lock.unlock();
        Block block = parse_block(layout, {text.data(), size});
        lock.lock();
        stop |= !block.error.empty();
        parsed.emplace(index, std::move(block));
        join(lock);
      }
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      if (!error) error = std::current_exception();
    }
    stop = true;
    room.notify_all();
  };
  std::vector<std::jthread> helpers;
  if (!reader.at_end()) {
    for (int i = 1; i < threads; ++i) helpers.emplace_back(work);
  }
  work();
  helpers.clear();
  if (join_error) std::rethrow_exception(join_error);  // what could not be read comes later in the file
  if (error) std::rethrow_exception(error);
  return std::move(joiner.columns());
}

// The whole table. `reader` is at its first record; plans of the layout are those that the first rows suggest.
Table read_columns(RecordReader& reader, Layout layout, const ReadOptions& options, std::size_t expected_rows,
                   const Spill& spill, std::vector<GrowingColumn>& files) {
  const int threads = options.threads > 0 ? options.threads : static_cast<int>(std::thread::hardware_concurrency());
  std::vector<Joined> columns = read_all(reader, layout, threads, expected_rows, spill);

  // What later rows showed to be something else is read again.
  Layout again = layout;
  bool any = false;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    again.plans[c].mode = columns[c].failed ? Plan::Mode::cells : Plan::Mode::skip;
    if (!columns[c].failed) continue;
    any = true;
    layout.plans[c] = again.plans[c];
    columns[c] = Joined();
  }
  if (any) {
    reader.rewind();
    std::vector<Joined> cells = read_all(reader, again, threads, expected_rows, spill);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (again.plans[c].mode == Plan::Mode::cells) columns[c] = std::move(cells[c]);
    }
  }

  Table table;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (layout.plans[c].mode == Plan::Mode::skip) continue;
    table.rows = static_cast<std::int64_t>(columns[c].values.size());
    if (table.rows == 0) throw DataError(layout.file + ": has a header but no rows");
    table.columns.push_back(finish(layout, c, columns[c], options.most_levels));
    files.push_back(std::move(columns[c].values));
    columns[c] = Joined();
  }
  return table;
}

}  // namespace

Table read_table(const std::string& path, const ReadOptions& options, const BlockSizes& sizes) {
  const ColumnCache cache(path, options);
  if (std::optional<Table> kept = cache.load()) return *std::move(kept);

  RecordReader reader(path, options.separator, /*again=*/true, sizes);
  Layout layout = make_layout(reader, options);
  const bool is_large = static_cast<std::int64_t>(reader.bytes()) >= options.cache_from;
  std::size_t expected_rows = 0;
  {
    std::vector<char> text;
    const std::size_t size = reader.sample(text);
    guess_plans(layout, {text.data(), size});
    // A guess, with which columns need not grow; memory that is not used is not taken.
    if (size > 0 && !is_large) {
      expected_rows = static_cast<std::size_t>(1.02 * static_cast<double>(reader.bytes()) / static_cast<double>(size) *
                                               static_cast<double>(count_lines({text.data(), size})));
    }
  }

  std::vector<GrowingColumn> files;
  const auto read_into = [&](const std::string& folder) {
    files.clear();
    const Spill spill{folder, is_large ? 0 : options.cache_from};
    Table table = read_columns(reader, layout, options, expected_rows, spill, files);
    table.images = make_images(path, options);
    return table;
  };
  std::error_code ignored;
  const std::string temporary = std::filesystem::temp_directory_path(ignored).string();
  for (const std::string& folder : {cache.parent(), temporary}) {
    if (folder.empty()) continue;
    try {
      Table table = read_into(folder);
      const bool large =
          std::all_of(files.begin(), files.end(), [](const GrowingColumn& file) { return file.is_spilled(); });
      if (large && folder == cache.parent()) cache.save(table, files);
      return table;
    } catch (const std::system_error& error) {  // no room there
      if (folder == cache.parent()) cache.remark_failure(error.code().message());
      reader.rewind();
    }
  }
  return read_into("");  // in memory
}

}  // namespace ick::detail
