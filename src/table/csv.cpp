#include "ick/table/csv.h"

#include <utility>

#include "number.h"
#include "read.h"

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
};

TableStream::TableStream(const std::string& path, ReadOptions options)
    : state_(std::make_unique<State>(path, std::move(options))) {}
TableStream::~TableStream() = default;
TableStream::TableStream(TableStream&&) noexcept = default;

char TableStream::separator() const { return state_->layout.separator; }
const std::vector<std::string>& TableStream::header() const { return state_->layout.header; }

bool TableStream::next(std::int64_t rows, Table& block, std::vector<std::string>& lines) {
  State& state = *state_;
  block = Table();
  lines.clear();
  std::string text;
  while (static_cast<std::int64_t>(lines.size()) < rows) {
    if (state.position == state.size) {
      state.size = state.reader.next(state.text);
      state.position = 0;
      if (state.size == 0) break;
    }
    const char *const begin = state.text.data() + state.position, *const end = state.text.data() + state.size;
    const char* next = detail::record_end(begin, end, state.layout.separator);
    if (!next) next = end;  // a quote that is not closed, which parse_block reports
    state.position += static_cast<std::size_t>(next - begin);
    text.append(begin, next);
    if (detail::is_blank_line(begin, next)) continue;
    const char* line_end = next - 1;
    if (line_end > begin && line_end[-1] == '\r') --line_end;
    lines.emplace_back(begin, line_end);
  }
  if (lines.empty()) return false;

  const std::size_t size = text.size();
  text.append(detail::kPadding, '\n');
  if (state.first) {
    guess_plans(state.layout, {text.data(), size});
    for (Plan& plan : state.layout.plans) {
      if (!plan.known && plan.mode != Plan::Mode::skip) plan.mode = Plan::Mode::cells;
    }
  }
  const detail::Block parsed = parse_block(state.layout, {text.data(), size});
  detail::Joiner joiner(state.layout, state.line, lines.size());
  joiner.add(parsed);
  std::vector<detail::Joined>& columns = joiner.columns();
  state.line += parsed.lines;
  block.rows = static_cast<std::int64_t>(lines.size());
  block.rows_before = std::exchange(state.rows, state.rows + block.rows);
  block.images = state.images;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (state.layout.plans[c].mode == Plan::Mode::skip) continue;
    block.columns.push_back(finish(state.layout, c, columns[c], state.options.most_levels));
  }
  if (state.first) {
    state.first = false;
    state.options.known.clear();
    for (const Column& column : block.columns) state.options.known.push_back(column.info);
    state.layout = detail::make_layout(state.reader, state.options);
    guess_plans(state.layout, {});
  }
  return true;
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
