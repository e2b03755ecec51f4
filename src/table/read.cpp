#include "read.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "infer.h"
#include "number.h"

namespace ick::detail {

Joiner::Joiner(const Layout& layout, std::int64_t line, std::size_t rows)
    : layout_(layout), line_(line), columns_(layout.plans.size()) {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Plan::Mode mode = layout.plans[c].mode;
    if (mode == Plan::Mode::cells) columns_[c].codes.reserve(rows);
    if (mode == Plan::Mode::number || mode == Plan::Mode::time) columns_[c].values.reserve(rows);
  }
}

void Joiner::add(const Block& block) {
  if (!block.error.empty()) {
    throw DataError(layout_.file + ":" + std::to_string(line_ + block.error_line) + ": " + block.error);
  }
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    Joined& column = columns_[c];
    const Piece& piece = block.pieces[c];
    column.missing += piece.missing;
    column.integers &= piece.integers;
    column.points |= piece.points;
    column.commas |= piece.commas;
    column.failed |= piece.failed;
    if (piece.values && !column.failed) {
      column.values.insert(column.values.end(), piece.values, piece.values + block.rows);
    }
    std::vector<std::uint32_t> code;  // of the whole column, for each code of the piece
    for (const CellSet::Entry& entry : piece.cells.entries()) {
      code.push_back(column.cells.add(entry.text, line_ + entry.line, entry.count));
    }
    for (const std::uint32_t local : piece.codes) column.codes.push_back(code[local]);
  }
  line_ += block.lines;
}

Column finish(const Layout& layout, std::size_t c, Joined& joined, int most_levels) {
  const Plan& plan = layout.plans[c];
  const std::string& name = layout.header[c];
  if (plan.mode == Plan::Mode::cells) {
    return resolve(layout, name, plan.known, joined.cells, joined.codes, most_levels);
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
  column.values = std::move(joined.values);
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
std::vector<Joined> read_all(RecordReader& reader, const Layout& layout, int threads, std::size_t expected_rows) {
  Joiner joiner(layout, reader.first_line(), expected_rows);
  std::mutex mutex;  // guards all of these
  std::map<std::size_t, Block> parsed;
  std::size_t taken = 0, joined = 0;
  bool stop = false, joining = false;
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
    }
  };
  const auto work = [&] {
    std::vector<char> text;
    std::unique_lock lock(mutex);
    try {
      while (!stop) {
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

}  // namespace

Table read_table(const std::string& path, const ReadOptions& options, const BlockSizes& sizes) {
  RecordReader reader(path, options.separator, /*again=*/true, sizes);
  Layout layout = make_layout(reader, options);
  const int threads = options.threads > 0 ? options.threads : static_cast<int>(std::thread::hardware_concurrency());
  std::size_t expected_rows = 0;
  {
    std::vector<char> text;
    const std::size_t size = reader.sample(text);
    guess_plans(layout, {text.data(), size});
    // A guess, with which columns need not grow; memory that is not used is not taken.
    if (size > 0) {
      expected_rows = static_cast<std::size_t>(1.02 * static_cast<double>(reader.bytes()) / static_cast<double>(size) *
                                               static_cast<double>(count_lines({text.data(), size})));
    }
  }
  std::vector<Joined> columns = read_all(reader, layout, threads, expected_rows);

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
    std::vector<Joined> cells = read_all(reader, again, threads, expected_rows);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (again.plans[c].mode == Plan::Mode::cells) columns[c] = std::move(cells[c]);
    }
  }

  Table table;
  table.images = make_images(path, options);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (layout.plans[c].mode == Plan::Mode::skip) continue;
    table.rows = static_cast<std::int64_t>(std::max(columns[c].values.size(), columns[c].codes.size()));
    if (table.rows == 0) throw DataError(layout.file + ": has a header but no rows");
    table.columns.push_back(finish(layout, c, columns[c], options.most_levels));
    columns[c] = Joined();
  }
  return table;
}

}  // namespace ick::detail
