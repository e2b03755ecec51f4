#include "ick/dataset/encoder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"

namespace ick {

namespace {

std::string named(const std::string& column) { return "column \"" + column + "\""; }

// Text of the level of each row: "" where missing.
std::string level_text(const Column& column, std::size_t row) {
  const double value = column.values[row];
  if (std::isnan(value)) return "";
  if (column.info.type != ColumnType::category) return number_text(value);
  return value < 0.0 ? "" : column.info.levels[static_cast<std::size_t>(value)];
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

// Classes by their text: the levels of training rows.
void fit_classes(const Column& target, const std::string& name, const std::vector<bool>& use, Encoder& encoder) {
  if (target.info.type == ColumnType::text) {
    throw DataError(name + " holds text with too many different values to be classes");
  }
  encoder.classes = levels_of(target, use);
  if (encoder.classes.empty()) throw DataError(name + " has no values in the training rows");
  if (encoder.classes.size() > 1) return;
  throw DataError(name + " is \"" + encoder.classes[0] + "\" in every training row; there is nothing to tell apart");
}

void check_count(double value, std::int64_t row, const std::string& name) {
  if (value >= 0.0 && value == std::floor(value)) return;
  throw DataError(name + " has the value " + number_text(value) + " in row " + std::to_string(row + 1) +
                  "; the poisson family takes counts, whole numbers from 0");
}

void fit_target(const Table& table, const EncoderPlan& plan, const std::vector<bool>& use, Encoder& encoder) {
  const Column& target = table.column(plan.target);
  refuse_bytes(target);
  const std::string name = "the target, " + named(plan.target) + ",";
  encoder.target = target.info;
  encoder.log_target = plan.log_target;
  if (plan.kind == TargetKind::classes) return fit_classes(target, name, use, encoder);
  if (target.info.type == ColumnType::text || target.info.type == ColumnType::category) {
    throw DataError(name + " holds text; a number is needed, or --family categorical");
  }
  std::vector<double> values = target.values;
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) continue;
    rows += use[i];
    if (plan.kind == TargetKind::count) check_count(values[i], static_cast<std::int64_t>(i), name);
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
  encoder.target_scaling = scaling_of(values, use);
  if (encoder.target_scaling.sd == 0.0) {
    std::size_t first = 0;
    while (!use[first] || std::isnan(target.values[first])) ++first;
    throw DataError(name + " is " + number_text(target.values[first]) +
                    " in every training row; there is nothing to learn");
  }
  encoder.target_summary = encoder.target_scaling;
  if (plan.kind == TargetKind::count) encoder.target_scaling = {};
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

[[noreturn]] void refuse_missing_image(const ImageSettings& settings, std::int64_t row) {
  const bool patch = !settings.raster.empty();
  throw DataError(
      "row " + std::to_string(row + 1) +
      (patch ? " has no place inside \"" + settings.raster + "\"" : " has no image in " + named(settings.columns[0])) +
      "; use --gaps drop to leave such rows out, or --gaps fill");
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

// The number of a class; not a number for one that training rows do not have.
double encode_class(const Column& target, const Encoder& encoder, std::int64_t row) {
  const auto found = std::find(encoder.classes.begin(), encoder.classes.end(), level_text(target, row));
  if (found == encoder.classes.end()) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(found - encoder.classes.begin());
}

void refuse_unknown_class(const Column& target, const Encoder& encoder, const Dataset& rows) {
  const at::Tensor unknown = rows.y.isnan().nonzero();
  if (unknown.size(0) == 0) return;
  const std::int64_t row = rows.rows[unknown[0].item<std::int64_t>()];
  const std::string text = level_text(target, row);
  throw DataError("the target, " + named(encoder.target.name) + ", has" +
                  (text.empty() ? " a class" : " the class \"" + text + "\"") + " in row " + std::to_string(row + 1) +
                  " that no training row has; the model knows " + join_words(encoder.classes));
}

at::Tensor encode_target(const Column& target, const Encoder& encoder, const Rows& rows) {
  at::Tensor y = at::empty({std::ssize(rows)}, at::kDouble);
  double* to = y.data_ptr<double>();
  for (const std::int64_t i : rows) {
    const double value = target.values[i];
    if (!encoder.classes.empty()) {
      *to++ = encode_class(target, encoder, i);
      continue;
    }
    if (encoder.log_target && value <= 0.0) {
      throw DataError("the target, " + named(encoder.target.name) + ", has the value " + number_text(value) +
                      " in row " + std::to_string(i + 1) + "; log() takes positive numbers only");
    }
    *to++ = ((encoder.log_target ? std::log(value) : value) - encoder.target_scaling.mean) / encoder.target_scaling.sd;
  }
  return y;
}

}  // namespace

std::vector<ColumnInfo> Encoder::columns() const {
  std::vector<ColumnInfo> all;
  const auto add = [&](const ColumnInfo& info) {
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const ColumnInfo& each) { return each.name == info.name; });
    if (!known) all.push_back(info);
  };
  for (const KernelColumn& column : kernel_columns) add(column.info);
  for (const NetworkInputs& network : networks) {
    for (const ColumnInfo& info : network.infos()) add(info);
  }
  return all;
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
  part.images = images;
  for (auto& each : part.images) {
    if (each) each->number = each->number.index_select(0, index);
  }
  if (y.defined()) part.y = y.index_select(0, index);
  const std::int64_t* at = index.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < index.size(0); ++i) part.rows.push_back(rows[at[i]]);
  return part;
}

at::Tensor Dataset::inputs(std::size_t network, const at::Tensor& index, const LoadImage& load) const {
  const at::Tensor numbers = networks[network].index_select(0, index);
  if (network >= images.size() || !images[network]) return numbers;
  const RowImages& of_rows = *images[network];
  const std::int64_t pixels = of_rows.known.shape.numbers(), count = index.size(0);
  at::Tensor all = at::empty({count, pixels + numbers.size(1)}, at::kFloat);
  all.narrow(1, pixels, numbers.size(1)).copy_(numbers);
  const at::Tensor rows_asked = index.contiguous();
  const std::int64_t* const row = rows_asked.data_ptr<std::int64_t>();
  const std::int64_t* const image = of_rows.number.data_ptr<std::int64_t>();
  float* to = all.data_ptr<float>();
  for (std::int64_t i = 0; i < count; ++i, to += all.size(1)) {
    if (load) {
      load(row[i], image[row[i]], to);
    } else {
      of_rows.load(image[row[i]], to);
    }
  }
  return all;
}

// A network holds some hundred numbers for each pixel of a row.
std::int64_t Dataset::block(std::int64_t most) const {
  std::int64_t largest = 1;
  for (const auto& each : images) {
    if (each) largest = std::max(largest, each->known.shape.numbers());
  }
  constexpr std::int64_t kPixels = 400'000;
  return largest == 1 ? most : std::clamp<std::int64_t>(kPixels / largest, 8, most);
}

at::Tensor Dataset::complete() const {
  at::Tensor whole = x.isnan().logical_not().all(1);
  for (const auto& each : images) {
    if (each) whole = whole.logical_and(each->number != RowImages::kMissing);
  }
  return whole;
}

Encoder fit_encoder(const Table& table, const EncoderPlan& plan, const std::vector<bool>& use) {
  Encoder encoder;
  encoder.gaps = plan.gaps;
  fit_target(table, plan, use, encoder);
  for (const std::string& name : plan.kernel_columns) {
    encoder.kernel_columns.push_back(fit_kernel_column(table.column(name), plan, use));
  }
  for (std::size_t a = 0; a < plan.networks.size(); ++a) {
    const std::uint64_t seed = seed_for(plan.seed, "network " + std::to_string(a + 1));
    encoder.networks.push_back(fit_network_inputs(table, plan.networks[a], use, seed));
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
  for (const NetworkPlan& network : plan.networks) {
    if (!network.image || table.images == nullptr) continue;
    const std::vector<std::int64_t> image = table.images->find(table, *network.image);
    for (const std::int64_t i : rows) {
      if (image[i] >= 0) continue;
      if (plan.gaps == Gaps::refuse) refuse_missing_image(*network.image, i);
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
  for (std::size_t a = 0; a < encoder.networks.size(); ++a) {
    const NetworkInputs& inputs = encoder.networks[a];
    all.networks.push_back(encode_numbers(table, inputs, all.rows, said.filled, said.unseen));
    if (!inputs.image) continue;
    all.images.resize(encoder.networks.size());
    all.images[a] = encode_images(table, *inputs.image, all.rows);
    at::Tensor& number = all.images[a]->number;
    if (const auto missing = (number < 0).sum().item<std::int64_t>(); missing > 0 && encoder.gaps == Gaps::fill) {
      said.filled[inputs.image->settings.columns[0]] += missing;
      number.masked_fill_(number < 0, RowImages::kMean);
    }
    if (encoder.gaps != Gaps::refuse) continue;
    const at::Tensor missing = (number < 0).nonzero();
    if (missing.size(0) > 0) refuse_missing_image(inputs.image->settings, all.rows[missing[0].item<std::int64_t>()]);
  }

  const at::Tensor complete = all.complete().nonzero().select(1, 0).contiguous();
  const std::int64_t with_gaps = all.size() - complete.size(0);
  said.with_gaps += with_gaps;
  if (!with_target) return all;
  if (with_gaps > 0) all = all.select(complete);
  if (!encoder.classes.empty()) refuse_unknown_class(*target, encoder, all);
  return all;
}

}  // namespace ick
