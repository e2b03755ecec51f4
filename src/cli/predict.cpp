#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "cli/accept.h"
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/fit_text.h"
#include "cli/map.h"
#include "cli/output.h"
#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "ick/base/text.h"
#include "ick/store/model_directory.h"
#include "ick/table/ten_digits.h"
#include "ick/train/threads.h"

namespace ick {

namespace {

struct PredictRequest {
  std::string model, data, out, format = "csv", prefix;
  PredictOptions wanted;
  LoadOptions loading;
  bool json = false, function_sd = false;
  MapRequest map;
  DataOptions reading;
};

// Ten digits: more than the model knows, few enough to read; or all, see far_from_zero().
void append_number(fmt::memory_buffer& to, double value, bool all_digits) {
  if (!std::isfinite(value)) return;
  if (all_digits) return to.append(number_text(value));
  const std::size_t before = to.size();
  to.reserve(before + detail::kTenDigitsRoom);
  to.resize(detail::write_ten_digits(value, to.data() + before) - to.data());
}

// A column that is appended to the rows: numbers or words.
struct NewColumn {
  std::string name;
  const std::vector<double>* numbers = nullptr;
  std::vector<std::string> words = {};
  bool all_digits = false;
};

// A target whose spread is in its last digits, as 1,000,000,000.25 has them: ten would not tell rows apart.
bool far_from_zero(const Predictor& model) {
  constexpr double kFar = 1e4;
  const Moments seen = model.training_moments();
  return seen.sd > 0.0 && std::abs(seen.mean) > kFar * seen.sd;
}

void append_csv(fmt::memory_buffer& to, std::string_view line, char separator, const std::vector<NewColumn>& columns,
                std::size_t i) {
  to.append(line);
  for (const NewColumn& column : columns) {
    to.push_back(separator);
    if (column.numbers != nullptr) {
      append_number(to, (*column.numbers)[i], column.all_digits);
    } else {
      to.append(csv_cell(column.words[i], separator));
    }
  }
  to.push_back('\n');
}

// Digits as JSON has them: no sign but -, no leading zeros, at most what a double can hold.
bool is_json_number(const std::string& cell) {
  const std::size_t digits = cell.starts_with('-') ? 1 : 0;
  const bool begins = cell.size() > digits && cell[digits] >= '0' && cell[digits] <= '9' && cell.size() <= 16;
  const bool leading_zero = cell.size() > digits + 1 && cell[digits] == '0' && cell[digits + 1] != '.';
  return begins && !leading_zero && nlohmann::json::accept(cell);
}

// Cells as they stand: numbers as numbers, all else as text, nothing as null.
void append_json(fmt::memory_buffer& to, const std::vector<std::string>& cells, const std::vector<std::string>& header,
                 const std::vector<NewColumn>& columns, std::size_t i) {
  const auto text = [](const std::string& value) {
    return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  for (std::size_t c = 0; c < header.size(); ++c) {
    to.append(std::string(c == 0 ? "{" : ",") + text(header[c]) + ":");
    to.append(cells[c].empty() ? "null" : is_json_number(cells[c]) ? cells[c] : text(cells[c]));
  }
  for (const NewColumn& column : columns) {
    to.append("," + text(column.name) + ":");
    if (column.numbers == nullptr) {
      to.append(column.words[i].empty() ? "null" : text(column.words[i]));
    } else if (std::isfinite((*column.numbers)[i])) {
      append_number(to, (*column.numbers)[i], column.all_digits);
    } else {
      to.append(std::string_view("null"));
    }
  }
  to.append(std::string_view("}\n"));
}

// The model sees codes and its own part of the rows; here the cell and its place in the file are at hand.
void check_levels(const Predictor& model, const TableStream& stream, const Table& block,
                  const std::vector<std::string_view>& lines, const std::string& file) {
  for (const ColumnInfo& column : model.known_levels()) {
    const Numbers& codes = block.column(column.name).values;
    const auto unseen = std::find_if(codes.begin(), codes.end(), [](double code) { return code < 0.0; });
    if (unseen == codes.end()) continue;
    const auto row = unseen - codes.begin();
    const auto place = std::find(stream.header().begin(), stream.header().end(), column.name);
    const std::string cell = csv_cells(lines[row], stream.separator())[place - stream.header().begin()];
    const std::span few(column.levels.data(), std::min<std::size_t>(column.levels.size(), 10));
    throw DataError(
        fmt::format("{}: row {}: column \"{}\": no training row has the level \"{}\"; categorical() knows {}{}", file,
                    block.rows_before + row + 1, column.name, cell, join_words(few),
                    few.size() < column.levels.size() ? " and more" : ""));
  }
}

std::string support_column(const std::string& source) {
  std::string name = "support_" + source;
  for (std::size_t comma; (comma = name.find(", ")) != std::string::npos;) name.replace(comma, 2, "_");
  return name;
}

// class, the probability of each, and the set of those that are likely: "cat|dog".
void add_classes(const Predictor& model, const Prediction& p, std::vector<NewColumn>& columns) {
  const std::vector<std::string>& classes = model.classes();
  NewColumn chosen{"class"}, set{"set"};
  for (std::size_t i = 0; i < p.most_probable.size(); ++i) {
    chosen.words.push_back(p.most_probable[i] < 0 ? "" : classes[p.most_probable[i]]);
    std::string& likely = set.words.emplace_back();
    for (std::size_t c = 0; c < classes.size(); ++c) {
      if (p.in_set[c][i]) likely += (likely.empty() ? "" : "|") + classes[c];
    }
  }
  columns.push_back(std::move(chosen));
  for (std::size_t c = 0; c < classes.size(); ++c) columns.push_back({"p_" + classes[c], &p.probability[c]});
  columns.push_back(std::move(set));
}

std::vector<NewColumn> new_columns(const PredictRequest& request, const Predictor& model, const Prediction& p) {
  std::vector<NewColumn> columns;
  if (!model.classes().empty()) {
    add_classes(model, p, columns);
  } else {
    columns = {{"mean", &p.mean}, {"sd", &p.sd}, {"lower", &p.lower}, {"upper", &p.upper}};
    if (request.function_sd) columns.push_back({"function_sd", &p.function_sd});
  }
  const std::vector<ComponentName> parts = model.component_names();
  for (std::size_t k = 0; request.wanted.components && k < parts.size(); ++k) {
    columns.push_back({parts[k].path, &p.components.mean[k]});
    columns.push_back({parts[k].path + "_sd", &p.components.sd[k]});
  }
  if (request.wanted.components) columns.push_back({"constant", &p.components.constant});
  const std::vector<std::string> sources = model.support_names();
  for (std::size_t source = 0; request.wanted.support && source < p.support.size(); ++source) {
    NewColumn words{support_column(sources[source])};
    for (const Support each : p.support[source]) words.words.emplace_back(support_name(each));
    columns.push_back(std::move(words));
  }
  const bool all_digits = far_from_zero(model);
  for (NewColumn& column : columns) column.name = request.prefix + column.name, column.all_digits = all_digits;
  return columns;
}

// The names, before there is a prediction.
std::vector<std::string> new_names(const PredictRequest& request, const Predictor& model) {
  Prediction none;
  none.probability.resize(model.classes().size());
  none.support.resize(model.support_names().size());
  none.components.mean.resize(model.component_names().size());
  none.components.sd.resize(model.component_names().size());
  std::vector<std::string> names;
  for (const NewColumn& column : new_columns(request, model, none)) names.push_back(column.name);
  return names;
}

// take(block), work(block), give(block) for one block after the other until there is none to take. Threads take and
// give in turn, in the order of the blocks, and work at the same time. The first error is thrown when what comes before
// it has been given.
template <class Block>
void in_turn(int threads, const std::function<bool(Block&)>& take, const std::function<void(Block&)>& work,
             const std::function<void(Block&)>& give) {
  std::mutex mutex;  // guards these
  std::condition_variable turn;
  std::int64_t taken = 0, given = 0;
  bool ended = false, failed = false;
  parallel(threads, [&](int, int) {
    std::unique_lock lock(mutex);
    while (!ended) {
      Block block;
      std::exception_ptr error;
      const std::int64_t number = taken++;
      bool more = false;
      try {
        more = take(block);
      } catch (...) {
        error = std::current_exception();
      }
      if (!more) ended = true;
      if (!more && !error) return;
      lock.unlock();
      try {
        if (!error) work(block);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      turn.wait(lock, [&] { return given == number; });
      try {
        if (!error && !failed) give(block);
      } catch (...) {
        error = std::current_exception();
      }
      ++given;
      turn.notify_all();
      if (failed) return;
      if (!error) continue;
      ended = failed = true;
      std::rethrow_exception(error);
    }
  });
}

// Some rows on their way from text to text.
struct Rows {
  TextRows from;
  fmt::memory_buffer to;
  EncodingNotes notes;
  std::vector<std::int64_t> extrapolated;  // rows, by source
};

void add(EncodingNotes& all, const EncodingNotes& some) {
  all.with_gaps += some.with_gaps;
  for (const auto& [column, count] : some.filled) all.filled[column] += count;
  for (const auto& [column, count] : some.unseen) all.unseen[column] += count;
}

void predict_rows(const PredictRequest& request, const Predictor& model, const TableStream& stream, Rows& rows) {
  const Table table = stream.parse(rows.from);
  check_levels(model, stream, table, rows.from.lines, request.data);
  const Prediction p = model.predict(table, request.wanted, &rows.notes);
  for (const std::vector<Support>& source : p.support) {
    rows.extrapolated.push_back(std::count(source.begin(), source.end(), Support::extrapolating));
  }
  const std::vector<NewColumn> columns = new_columns(request, model, p);
  rows.to.reserve(rows.from.size + 16 * columns.size() * rows.from.lines.size());
  for (std::size_t i = 0; i < rows.from.lines.size(); ++i) {
    const std::string_view line = rows.from.lines[i];
    if (request.json) {
      append_json(rows.to, csv_cells(line, stream.separator()), stream.header(), columns, i);
    } else {
      append_csv(rows.to, line, stream.separator(), columns, i);
    }
  }
}

// Its bands are what they are, and so is its format.
int predict_map(const PredictRequest& request, const StoredModel& stored) {
  if (request.json || request.function_sd || request.wanted.components || !request.prefix.empty()) {
    throw UsageError("--grid writes a map; --format, --json, --function-sd, --components and --prefix are for rows");
  }
  MapRequest map = request.map;
  map.wanted.level = request.wanted.level;
  return map.run(stored, request.data, request.out, request.reading);
}

int run_predict(const PredictRequest& request) {
  const StoredModel stored = load_model(request.model, request.loading);
  const Predictor& model = *stored.model;
  if (request.map.asked()) return predict_map(request, stored);
  if (request.data.empty()) {
    throw UsageError("predict what? Name a table, or - for one on stdin; --grid predicts the cells of a map");
  }
  TableStream stream(request.data, request.reading.read_options(model, /*with_target=*/false));
  if (request.function_sd && !model.classes().empty()) {
    throw UsageError("--function-sd is for numbers; this model predicts classes");
  }
  if (request.wanted.components && model.component_names().empty()) {
    throw UsageError("--components is for models that are a sum of terms and predict numbers; this one is " +
                     std::string(model.classes().empty() ? model.formula() + ", a baseline" : "one of classes"));
  }
  const std::vector<std::string> names = new_names(request, model);
  for (const std::string& name : names) {
    if (std::find(stream.header().begin(), stream.header().end(), name) == stream.header().end()) continue;
    throw DataError(request.data + ": there is a column named \"" + name +
                    "\" already; give the new ones another name with --prefix");
  }
  Output output(request.out);
  if (!request.json) {
    fmt::memory_buffer text;
    for (std::size_t c = 0; c < stream.header().size(); ++c) {
      text.append(csv_cell(stream.header()[c], stream.separator()));
      text.push_back(stream.separator());
    }
    for (std::size_t c = 0; c < names.size(); ++c) {
      if (c > 0) text.push_back(stream.separator());
      text.append(csv_cell(names[c], stream.separator()));
    }
    text.push_back('\n');
    output.write(text);
  }
  EncodingNotes notes;
  const std::vector<std::string> sources = model.support_names();
  std::vector<std::int64_t> extrapolated(sources.size());
  std::int64_t rows = 0;
  // Networks that read images keep all threads busy with one block.
  const bool images = model.reads_images();
  if (!images) use_torch_threads(1);
  in_turn<Rows>(
      images ? 1 : workers(), [&](Rows& some) { return stream.take(model.rows_at_once(), some.from); },
      [&](Rows& some) {
        if (!images) use_torch_threads(1);  // each thread has its own number
        predict_rows(request, model, stream, some);
      },
      [&](Rows& some) {
        output.write(some.to);
        add(notes, some.notes);
        for (std::size_t source = 0; source < extrapolated.size(); ++source) {
          if (source < some.extrapolated.size()) extrapolated[source] += some.extrapolated[source];
        }
        rows += std::ssize(some.from.lines);
      });
  output.commit();
  if (notes.with_gaps > 0) {
    fmt::print(stderr, "{} of {} rows without a prediction: a column that a kernel reads, or an image, is missing\n",
               notes.with_gaps, rows);
    notes.with_gaps = 0;
  }
  for (const std::string& sentence : sentences(notes)) fmt::print(stderr, "{}\n", sentence);
  for (std::size_t source = 0; source < extrapolated.size(); ++source) {
    if (extrapolated[source] == 0) continue;
    fmt::print(stderr, "{} of {} rows extrapolate in {}: no training row is near\n", extrapolated[source], rows,
               sources[source]);
  }
  const Calibration& calibration = model.interval_calibration();
  if (!calibration.knows(request.wanted.level)) {
    const bool classes = !model.classes().empty();
    fmt::print(stderr, "{} are {}\n", classes ? "sets" : "intervals",
               uncalibrated_text(calibration, request.wanted.level, classes));
  }
  if (request.wanted.components) {
    for (const ComponentName& each : model.component_names()) fmt::print(stderr, "{}: {}\n", each.path, each.text);
    fmt::print(stderr, "they and constant add up to the mean of {}\n", model.component_scale());
  }
  if (request.wanted.support && sources.empty()) {
    fmt::print(stderr, "no column of support: {}\n",
               model.parameters().empty() ? "there is no kernel" : "the model was written before there was any");
  }
  if (!request.out.empty() && request.out != "-") fmt::print(stderr, "{} rows written to {}\n", rows, request.out);
  return 0;
}

}  // namespace

Command add_predict(CLI::App& program) {
  auto request = std::make_shared<PredictRequest>();
  CLI::App* app =
      program.add_subcommand("predict", "Append mean, sd and an interval, or classes, to the rows of a table");
  app->add_option("model", request->model, "Folder of a model")->required();
  add_trust(*app, request->loading);
  app->add_option("data", request->data,
                  "CSV or TSV table, may be gzipped; - for stdin; with --grid, if at all, the table of typical values");
  app->add_option("--out", request->out, "File to write; stdout by default");
  app->add_option("--level", request->wanted.level,
                  "Share of observations the interval, or the set of classes, is to hold")
      ->check(accept_number(0.0, 1.0, /*open=*/true))
      ->capture_default_str();
  app->add_flag(
      "--function-sd", request->function_sd,
      "Append function_sd, the standard deviation of the function without the noise (of its logarithm for log "
      "targets)");
  app->add_flag("--components", request->wanted.components,
                "Append each term's part of the mean and its standard deviation (term1, term1_sd, ...) and the "
                "constant; they add up to the mean, for transformed targets to its transform");
  app->add_flag("--support", request->wanted.support,
                "Append for each source of the kernels whether training rows are near: inside, edge or extrapolating");
  app->add_option("--format", request->format, "csv or jsonl (one JSON object a line)")
      ->check(accept_word({"csv", "jsonl"}))
      ->capture_default_str();
  app->add_flag("--json", request->json, "The same as --format jsonl");
  app->add_option("--prefix", request->prefix, "Prefix of the names of the new columns");
  request->map.add_to(*app);
  request->reading.add_to(*app);
  return {app, [request] {
            request->json |= request->format == "jsonl";
            return run_predict(*request);
          }};
}

}  // namespace ick
