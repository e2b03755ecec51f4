#include "ick/table/csv.h"

#include <utility>

#include "number.h"
#include "read.h"
#include "record.h"

namespace ick {

using detail::Plan;

Table read_table(const std::string& path, const ReadOptions& options) {
  return detail::read_table(path, options, detail::BlockSizes());
}

struct TableStream::State {
  State(const std::string& path, ReadOptions given)
      : options(std::move(given)),
        reader(path, options.separator, /*again=*/false, detail::BlockSizes()),
        layout(detail::make_layout(reader, options)),
        images(detail::make_images(path, options)),
        line(reader.first_line()) {}

  ReadOptions options;
  detail::RecordReader reader;
  detail::Layout layout;
  std::shared_ptr<ImageStore> images;
  std::int64_t rows = 0;  // so far
  std::int64_t line;      // of the file, at `position`
  std::vector<char> text;
  std::size_t position = 0, size = 0;  // of text
  bool first = true;
  std::size_t usual_size = 0;  // of a block taken
};

TableStream::TableStream(const std::string& path, ReadOptions options)
    : state_(std::make_unique<State>(path, std::move(options))) {}
TableStream::~TableStream() = default;
TableStream::TableStream(TableStream&&) noexcept = default;

char TableStream::separator() const { return state_->layout.separator; }
const std::vector<std::string>& TableStream::header() const { return state_->layout.header; }

bool TableStream::next(std::int64_t rows, Table& block, std::vector<std::string>& lines) {
  TextRows taken;
  if (!take(rows, taken)) return false;
  block = parse(taken);
  lines.assign(taken.lines.begin(), taken.lines.end());
  return true;
}

bool TableStream::take(std::int64_t rows, TextRows& block) {
  State& state = *state_;
  block = TextRows();
  block.text.reserve(state.usual_size);
  std::vector<std::pair<std::size_t, std::size_t>> places;  // of lines within the text, which moves as it grows
  while (std::ssize(places) < rows) {
    if (state.position == state.size) {
      state.size = state.reader.next(state.text);
      state.position = 0;
      if (state.size == 0) break;
    }
    const char *const begin = state.text.data() + state.position, *const end = state.text.data() + state.size;
    const char* p = begin;
    while (p < end && std::ssize(places) < rows) {
      const char* next = detail::record_end(p, end, state.layout.separator);
      if (!next) next = end;  // a quote that is not closed, which parse_block reports
      const auto length = static_cast<std::size_t>(next - p);
      if (!detail::is_blank_line(p, next)) {
        places.emplace_back(block.size, length - (length > 1 && next[-2] == '\r' ? 2 : 1));
      }
      block.size += length;
      p = next;
    }
    block.text.insert(block.text.end(), begin, p);
    state.position += static_cast<std::size_t>(p - begin);
  }
  if (places.empty()) return false;
  block.text.insert(block.text.end(), detail::kPadding, '\n');
  state.usual_size = block.text.size() + block.text.size() / 16;
  block.lines.reserve(places.size());
  for (const auto& [first, length] : places) block.lines.emplace_back(block.text.data() + first, length);
  block.line = std::exchange(state.line, state.line + detail::count_lines({block.text.data(), block.size}));
  block.rows_before = std::exchange(state.rows, state.rows + std::ssize(places));
  if (!std::exchange(state.first, false)) return true;

  guess_plans(state.layout, {block.text.data(), block.size});
  for (Plan& plan : state.layout.plans) {
    if (!plan.known && plan.mode != Plan::Mode::skip) plan.mode = Plan::Mode::cells;
  }
  std::vector<ColumnInfo> known;
  for (const Column& column : parse(block).columns) known.push_back(column.info);
  state.options.known = std::move(known);
  state.layout = detail::make_layout(state.reader, state.options);
  guess_plans(state.layout, {});
  return true;
}

Table TableStream::parse(const TextRows& block) const {
  const State& state = *state_;
  detail::Joiner joiner(state.layout, block.line, block.lines.size());
  joiner.add(parse_block(state.layout, {block.text.data(), block.size}));
  Table table;
  table.rows = std::ssize(block.lines);
  table.rows_before = block.rows_before;
  table.images = state.images;
  for (std::size_t c = 0; c < state.layout.plans.size(); ++c) {
    if (state.layout.plans[c].mode == Plan::Mode::skip) continue;
    table.columns.push_back(finish(state.layout, c, joiner.columns()[c], state.options.most_levels));
  }
  return table;
}

std::vector<std::string> csv_cells(std::string_view line, char separator) {
  std::vector<std::string> cells;
  const char* at = line.data();
  const char* const end = at + line.size();
  std::string scratch;
  for (;;) {
    const detail::Cell cell = detail::scan_cell(at, end, separator);
    cells.emplace_back(detail::unquoted(cell, scratch));
    if (cell.end == end) return cells;
    at = cell.end + 1;
  }
}

std::string csv_cell(const std::string& text, char separator) {
  const bool plain = text.find_first_of(std::string("\"\r\n") + separator) == std::string::npos &&
                     (text.empty() || (text.front() != ' ' && text.back() != ' '));
  if (plain) return text;
  std::string quoted = "\"";
  for (const char byte : text) {
    if (byte == '"') quoted += '"';
    quoted += byte;
  }
  return quoted + '"';
}

}  // namespace ick
