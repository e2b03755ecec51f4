#include "ick/dataset/encoder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"

namespace ick {

namespace {

std::string named(const std::string& column) { return "column \"" + column + "\""; }

// Mean and deviation of the values that are there.
Scaling scaling_of(const std::vector<double>& values, const std::vector<bool>& use) {
  double sum = 0.0, count = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (use[i] && !std::isnan(values[i])) sum += values[i], ++count;
  }
  const double mean = count > 0.0 ? sum / count : 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (use[i] && !std::isnan(values[i])) squares += (values[i] - mean) * (values[i] - mean);
  }
  const double sd = count > 0.0 ? std::sqrt(squares / count) : 0.0;
  // A constant column has no scale; rounding of its mean must not become one.
  return {mean, sd > 1e-12 * std::abs(mean) && std::isfinite(sd) ? sd : 0.0};
}

// A model is kept as JSON, with the names it knows.
void refuse_bytes(const Column& column) {
  const auto& levels = column.info.levels;
  if (is_utf8(column.info.name) && std::all_of(levels.begin(), levels.end(), is_utf8)) return;
  throw DataError(named(column.info.name) + ": its name or a level is not UTF-8; save the table as UTF-8");
}

void refuse_text(const Column& column, const std::string& reader) {
  if (column.info.type != ColumnType::text) return;
  throw DataError(named(column.info.name) + " holds text; " + reader +
                  " takes numbers, times or categories (declare it with --type " + column.info.name + "=category)");
}

// Text of the level of each row: "" where missing.
std::string level_text(const Column& column, std::size_t row) {
  const double value = column.values[row];
  if (std::isnan(value)) return "";
  if (column.info.type != ColumnType::category) return number_text(value);
  return value < 0.0 ? "" : column.info.levels[static_cast<std::size_t>(value)];
}

std::vector<std::string> levels_of(const Column& column, const std::vector<bool>& use) {
  if (column.info.type != ColumnType::category) {
    std::set<double> values;
    for (std::size_t i = 0; i < column.values.size(); ++i) {
      if (use[i] && !std::isnan(column.values[i])) values.insert(column.values[i]);
    }
    constexpr std::size_t kMostLevels = 1000;
    if (values.size() > kMostLevels) {
      throw DataError(named(column.info.name) + " has " + std::to_string(values.size()) +
                      " different values; categorical takes at most " + std::to_string(kMostLevels) + " levels");
    }
    std::vector<std::string> levels;
    for (const double value : values) levels.push_back(number_text(value));
    return levels;
  }
  std::vector<bool> seen(column.info.levels.size(), false);
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    if (use[i] && column.values[i] >= 0.0) seen[static_cast<std::size_t>(column.values[i])] = true;
  }
  std::vector<std::string> levels;
  for (std::size_t l = 0; l < seen.size(); ++l) {
    if (seen[l]) levels.push_back(column.info.levels[l]);
  }
  return levels;
}

KernelColumn fit_kernel_column(const Column& column, const EncoderPlan& plan, const std::vector<bool>& use) {
  refuse_text(column, "a kernel");
  refuse_bytes(column);
  const auto refuse_nothing = [&] { throw DataError(named(column.info.name) + " has no values in the training rows"); };
  KernelColumn fitted;
  fitted.info = column.info;
  fitted.summary.name = column.info.name;
  fitted.fill = scaling_of(column.values, use).mean;
  const auto& leveled = plan.level_columns;
  if (std::find(leveled.begin(), leveled.end(), column.info.name) != leveled.end()) {
    fitted.levels = levels_of(column, use);
    if (fitted.levels.empty()) refuse_nothing();
    fitted.summary.levels = static_cast<int>(fitted.levels.size());
    fitted.summary.high = fitted.summary.levels - 1.0;
    return fitted;
  }
  if (column.info.type == ColumnType::category) {
    throw DataError(named(column.info.name) + " holds categories" +
                    (column.info.levels.empty() ? "" : " (" + column.info.levels.front() + ", ...)") +
                    "; only categorical(" + column.info.name + ") and networks read them");
  }
  const auto unit = plan.units.find(column.info.name);
  fitted.unit = column.info.type == ColumnType::time ? "d" : unit == plan.units.end() ? "" : unit->second;
  double squares = 0.0;
  InputSummary& summary = fitted.summary;
  summary.unit = fitted.unit;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    const double value = column.values[i];
    if (!use[i] || std::isnan(value)) continue;
    summary.low = summary.rows == 0 ? value : std::min(summary.low, value);
    summary.high = summary.rows == 0 ? value : std::max(summary.high, value);
    squares += value * value;
    ++summary.rows;
  }
  if (summary.rows == 0) refuse_nothing();
  summary.root_mean_square = std::sqrt(squares / static_cast<double>(summary.rows));
  return fitted;
}

NetworkColumn fit_network_column(const Column& column, const std::vector<bool>& use) {
  refuse_text(column, "a network");
  refuse_bytes(column);
  NetworkColumn fitted;
  fitted.info = column.info;
  if (column.info.type == ColumnType::category) {
    fitted.info.levels = levels_of(column, use);
    return fitted;
  }
  fitted.scaling = scaling_of(column.values, use);
  if (fitted.scaling.sd == 0.0) fitted.scaling.sd = 1.0;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    fitted.has_gaps = fitted.has_gaps || (use[i] && std::isnan(column.values[i]));
  }
  return fitted;
}

void fit_target(const Table& table, const EncoderPlan& plan, const std::vector<bool>& use, Encoder& encoder) {
  const Column& target = table.column(plan.target);
  refuse_bytes(target);
  const std::string name = "the target, " + named(plan.target) + ",";
  if (target.info.type == ColumnType::text || target.info.type == ColumnType::category) {
    throw DataError(name + " holds text; this version predicts numbers only");
  }
  std::vector<double> values = target.values;
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    rows += use[i];
    if (!plan.log_target) continue;
    if (!(values[i] > 0.0)) {
      throw DataError(name + " has the value " + number_text(values[i]) + " in row " + std::to_string(i + 1) +
                      "; log() takes positive numbers only");
    }
    values[i] = std::log(values[i]);
  }
  if (rows < 2) {
    throw DataError(name + " has " + std::to_string(rows) + (rows == 1 ? " value" : " values") +
                    " in the training rows; expected at least 2 rows to learn from");
  }
  encoder.target = target.info;
  encoder.log_target = plan.log_target;
  encoder.target_scaling = scaling_of(values, use);
  if (encoder.target_scaling.sd == 0.0) {
    std::size_t first = 0;
    while (!use[first] || std::isnan(target.values[first])) ++first;
    throw DataError(name + " is " + number_text(target.values[first]) +
                    " in every training row; there is nothing to learn");
  }
}

// The rows of the table to encode.
using Rows = std::vector<std::int64_t>;

[[noreturn]] void refuse_gap(const Column& column, const Rows& rows) {
  const auto is_gap = [&](std::int64_t i) { return std::isnan(column.values[i]); };
  const std::int64_t count = std::count_if(rows.begin(), rows.end(), is_gap);
  const std::int64_t first = *std::find_if(rows.begin(), rows.end(), is_gap);
  throw DataError(named(column.info.name) + ": " + std::to_string(count) + (count == 1 ? " row has" : " rows have") +
                  " no value (the first is row " + std::to_string(first + 1) +
                  "), and a kernel needs every value; use --gaps drop or --gaps fill");
}

void encode_kernel_column(const Column& column, const KernelColumn& fitted, Gaps gaps, const Rows& rows, double* to,
                          std::int64_t stride, EncodingNotes& notes) {
  std::map<std::string, double> codes;
  for (std::size_t l = 0; l < fitted.levels.size(); ++l) codes[fitted.levels[l]] = static_cast<double>(l);
  for (std::size_t r = 0; r < rows.size(); ++r, to += stride) {
    const auto i = static_cast<std::size_t>(rows[r]);
    *to = column.values[i];
    if (std::isnan(*to)) {
      if (gaps == Gaps::refuse) refuse_gap(column, rows);
      if (gaps == Gaps::fill && fitted.levels.empty()) *to = fitted.fill, ++notes.filled[column.info.name];
      continue;
    }
    if (fitted.levels.empty()) continue;
    const auto code = codes.find(level_text(column, i));
    if (code == codes.end()) {
      throw DataError(named(column.info.name) + ": row " + std::to_string(i + 1) + " has a level" +
                      (level_text(column, i).empty() ? "" : " (" + level_text(column, i) + ")") +
                      " that no training row has; categorical() knows " + std::to_string(codes.size()) + " levels");
    }
    *to = code->second;
  }
}

void encode_network_column(const Column& column, const NetworkColumn& fitted, const Rows& rows, float* to,
                           std::int64_t stride, EncodingNotes& notes) {
  std::vector<std::int64_t> code(column.info.levels.size(), -1);  // of the table's level: the model's
  for (std::size_t l = 0; l < code.size(); ++l) {
    const auto found = std::find(fitted.info.levels.begin(), fitted.info.levels.end(), column.info.levels[l]);
    if (found != fitted.info.levels.end()) code[l] = found - fitted.info.levels.begin();
  }
  for (std::size_t r = 0; r < rows.size(); ++r, to += stride) {
    const double value = column.values[rows[r]];
    if (fitted.info.type == ColumnType::category) {
      const std::int64_t level = value >= 0.0 ? code[static_cast<std::size_t>(value)] : -1;
      if (level >= 0) {
        to[level] = 1.0f;
      } else {
        ++(std::isnan(value) ? notes.filled : notes.unseen)[column.info.name];
      }
      continue;
    }
    if (std::isnan(value)) ++notes.filled[column.info.name];
    to[0] = std::isnan(value) ? 0.0f : static_cast<float>((value - fitted.scaling.mean) / fitted.scaling.sd);
    if (fitted.has_gaps) to[1] = std::isnan(value) ? 1.0f : 0.0f;
  }
}

// The column as the model expects it. A category that came as numbers (or the other way round) is another table.
const Column& same_kind(const Table& table, const ColumnInfo& info) {
  const Column& column = table.column(info.name);
  const auto kind = [](ColumnType type) { return type == ColumnType::integer ? ColumnType::number : type; };
  if (kind(column.info.type) != kind(info.type)) {
    throw DataError(named(info.name) + " holds " + std::string(column_type_name(column.info.type)) +
                    " values; the model was trained on " + std::string(column_type_name(info.type)) + " values");
  }
  return column;
}

at::Tensor encode_target(const Column& target, const Encoder& encoder, const Rows& rows) {
  at::Tensor y = at::empty({std::ssize(rows)}, at::kDouble);
  double* to = y.data_ptr<double>();
  for (const std::int64_t i : rows) {
    const double value = target.values[i];
    if (encoder.log_target && value <= 0.0) {
      throw DataError("the target, " + named(encoder.target.name) + ", has the value " + number_text(value) +
                      " in row " + std::to_string(i + 1) + "; log() takes positive numbers only");
    }
    *to++ = ((encoder.log_target ? std::log(value) : value) - encoder.target_scaling.mean) / encoder.target_scaling.sd;
  }
  return y;
}

}  // namespace

std::int64_t NetworkColumn::width() const {
  return info.type == ColumnType::category ? std::ssize(info.levels) : has_gaps ? 2 : 1;
}

std::vector<ColumnInfo> Encoder::columns() const {
  std::vector<ColumnInfo> all;
  const auto add = [&](const ColumnInfo& info) {
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const ColumnInfo& each) { return each.name == info.name; });
    if (!known) all.push_back(info);
  };
  for (const KernelColumn& column : kernel_columns) add(column.info);
  for (const auto& network : network_columns) {
    for (const NetworkColumn& column : network) add(column.info);
  }
  return all;
}

std::int64_t Encoder::width(std::size_t network) const {
  std::int64_t total = 0;
  for (const NetworkColumn& column : network_columns.at(network)) total += column.width();
  return total;
}

at::Tensor draw_rows(std::int64_t rows, std::int64_t count, std::uint64_t seed) {
  std::vector<std::int64_t> index(rows);
  std::iota(index.begin(), index.end(), 0);
  if (count < rows) {
    Random random(seed);
    for (std::int64_t i = 0; i < count; ++i) std::swap(index[i], index[i + random.below(rows - i)]);
    index.resize(count);
    std::sort(index.begin(), index.end());
  }
  return at::tensor(index, at::kLong);
}

Dataset Dataset::select(const at::Tensor& index) const {
  Dataset part;
  part.x = x.index_select(0, index);
  for (const at::Tensor& each : networks) part.networks.push_back(each.index_select(0, index));
  if (y.defined()) part.y = y.index_select(0, index);
  const std::int64_t* at = index.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < index.size(0); ++i) part.rows.push_back(rows[at[i]]);
  return part;
}

Encoder fit_encoder(const Table& table, const EncoderPlan& plan, const std::vector<bool>& use) {
  Encoder encoder;
  encoder.gaps = plan.gaps;
  fit_target(table, plan, use, encoder);
  for (const std::string& name : plan.kernel_columns) {
    encoder.kernel_columns.push_back(fit_kernel_column(table.column(name), plan, use));
  }
  for (const auto& names : plan.network_columns) {
    auto& columns = encoder.network_columns.emplace_back();
    for (const std::string& name : names) columns.push_back(fit_network_column(table.column(name), use));
  }
  return encoder;
}

std::vector<bool> readable_rows(const Table& table, const EncoderPlan& plan, const std::vector<bool>& use) {
  std::vector<bool> readable = use;
  if (plan.gaps == Gaps::fill) return readable;
  Rows rows;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (use[i]) rows.push_back(i);
  }
  for (const std::string& name : plan.kernel_columns) {
    const Column& column = table.column(name);
    if (column.info.type == ColumnType::text) continue;  // refused elsewhere
    for (const std::int64_t i : rows) {
      if (!std::isnan(column.values[i])) continue;
      if (plan.gaps == Gaps::refuse) refuse_gap(column, rows);
      readable[i] = false;
    }
  }
  return readable;
}

Dataset encode(const Table& table, const Encoder& encoder, bool with_target, EncodingNotes* notes) {
  EncodingNotes ignored;
  EncodingNotes& said = notes != nullptr ? *notes : ignored;
  Dataset all;
  const Column* target = with_target ? &same_kind(table, encoder.target) : nullptr;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (target == nullptr || !std::isnan(target->values[i])) all.rows.push_back(i);
  }
  said.without_target += table.rows - all.size();
  if (target != nullptr) all.y = encode_target(*target, encoder, all.rows);

  const auto columns = static_cast<std::int64_t>(encoder.kernel_columns.size());
  all.x = at::empty({all.size(), columns}, at::kDouble);
  double* const x = all.x.data_ptr<double>();
  for (std::int64_t d = 0; d < columns; ++d) {
    const KernelColumn& fitted = encoder.kernel_columns[d];
    encode_kernel_column(same_kind(table, fitted.info), fitted, encoder.gaps, all.rows, x + d, columns, said);
  }
  for (std::size_t a = 0; a < encoder.network_columns.size(); ++a) {
    const std::int64_t width = encoder.width(a);
    at::Tensor& inputs = all.networks.emplace_back(at::zeros({all.size(), width}, at::kFloat));
    float* to = inputs.data_ptr<float>();
    for (const NetworkColumn& fitted : encoder.network_columns[a]) {
      encode_network_column(same_kind(table, fitted.info), fitted, all.rows, to, width, said);
      to += fitted.width();
    }
  }

  std::vector<std::int64_t> complete;
  for (std::int64_t i = 0; i < all.size(); ++i) {
    const double* row = x + i * columns;
    if (std::none_of(row, row + columns, [](double value) { return std::isnan(value); })) complete.push_back(i);
  }
  const std::int64_t with_gaps = all.size() - std::ssize(complete);
  said.with_gaps += with_gaps;
  return with_target && with_gaps > 0 ? all.select(at::tensor(complete, at::kLong)) : all;
}

}  // namespace ick
