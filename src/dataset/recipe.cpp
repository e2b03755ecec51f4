#include "dataset/recipe.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>

#include "dataset/names.h"
#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "ick/base/text.h"
#include "table/read_ahead.h"

namespace ick {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// "" where missing.
std::string level_text(const Column& column, std::int64_t row) {
  const double value = column.values[row];
  if (std::isnan(value)) return "";
  if (column.info.type != ColumnType::category) return number_text(value);
  return value < 0.0 ? "" : column.info.levels[static_cast<std::size_t>(value)];
}

void note(std::map<std::string, std::int64_t>& counts, const std::string& column, std::int64_t count) {
  if (count > 0) counts[column] += count;
}

}  // namespace

void refuse_gaps(const std::string& column, std::int64_t count, std::int64_t first) {
  throw DataError(named(column) + ": " + std::to_string(count) + (count == 1 ? " row has" : " rows have") +
                  " no value (the first is row " + std::to_string(first + 1) +
                  "), and a kernel needs every value; use " + setting("gaps", "drop") + " or " +
                  setting("gaps", "fill"));
}

void refuse_outside(const Table& table, const std::vector<DerivedColumn>& derived, const std::string& column,
                    const std::vector<bool>& use) {
  for (const DerivedColumn& each : needed_for(derived, {column})) {
    const std::string_view domain = find_derived_function(each.function)->domain;
    const Numbers &from = table.column(each.inputs[0]).values, &to = table.column(each.name).values;
    for (std::size_t i = 0; i < from.size() && !domain.empty(); ++i) {
      if (!use[i] || std::isnan(from[i]) || !std::isnan(to[i])) continue;
      throw DataError(each.name + ": " + named(each.inputs[0]) + " has the value " + number_text(from[i]) + " in row " +
                      std::to_string(i + 1) + ", and " + each.function + "() takes " + std::string(domain) +
                      "; to a kernel that is a gap: use " + setting("gaps", "drop") + " or " + setting("gaps", "fill"));
    }
  }
}

void refuse_missing_image(const ImageSettings& settings, std::int64_t row) {
  const bool patch = !settings.raster.empty();
  throw DataError(
      "row " + std::to_string(row + 1) +
      (patch ? " has no place inside \"" + settings.raster + "\"" : " has no image in " + named(settings.columns[0])) +
      "; use " + setting("gaps", "drop") + " to leave such rows out, or " + setting("gaps", "fill"));
}

// The text of a number is read back to the same number.
LevelCodes::LevelCodes(const Column& column, const std::vector<std::string>& levels)
    : category_(column.info.type == ColumnType::category) {
  for (std::size_t l = 0; l < levels.size() && !category_; ++l) {
    double value = kNone;
    std::from_chars(levels[l].data(), levels[l].data() + levels[l].size(), value);
    of_number_.emplace_back(value, static_cast<std::int64_t>(l));
  }
  std::sort(of_number_.begin(), of_number_.end());
  for (std::size_t l = 0; l < column.info.levels.size() && category_; ++l) {
    const auto found = std::find(levels.begin(), levels.end(), column.info.levels[l]);
    of_category_.push_back(found != levels.end() ? found - levels.begin() : -1);
  }
}

std::int64_t LevelCodes::operator()(double value) const {
  if (category_) return value >= 0.0 ? of_category_[static_cast<std::size_t>(value)] : -1;
  const auto found = std::lower_bound(of_number_.begin(), of_number_.end(), value,
                                      [](const auto& level, double wanted) { return level.first < wanted; });
  return found != of_number_.end() && found->first == value ? found->second : -1;
}

Recipe::Recipe(const Table& table, const Encoder& encoder, bool with_target)
    : table_(&table), encoder_(encoder), derived_(derive(table, encoder.derived)) {
  const auto column_of = [&](const ColumnInfo& info) -> const Column& {
    return same_kind(derived_.find(info.name) != nullptr ? derived_ : table, info);
  };
  if (with_target) target_ = &same_kind(table, encoder_.target);
  if (with_target && encoder_.weights) weights_ = &same_kind(table, encoder_.weights->info);
  if (encoder_.offset) offset_ = &same_kind(table, encoder_.offset->info);
  if (encoder_.error) error_ = &same_kind(table, encoder_.error->info);
  if (with_target && !encoder_.classes.empty()) classes_ = LevelCodes(*target_, encoder_.classes);
  for (const KernelColumn& fitted : encoder_.kernel_columns) {
    const Column& column = column_of(fitted.info);
    kernels_.push_back({&column, &fitted, LevelCodes(column, fitted.levels)});
  }
  const auto bound = [&](const std::vector<NetworkColumn>& columns) {
    std::vector<NumberSource> sources;
    for (const NetworkColumn& fitted : columns) {
      const Column& column = column_of(fitted.info);
      sources.push_back({&column, &fitted, LevelCodes(column, fitted.info.levels)});
    }
    return sources;
  };
  for (const NetworkInputs& inputs : encoder_.networks) {
    NetworkSource& source = networks_.emplace_back();
    source.columns = bound(inputs.columns);
    for (const TreesColumn& trees : inputs.trees) source.trees.push_back(bound(trees.columns));
    if (!inputs.image) continue;
    if (table.images == nullptr) throw DataError("this table has no folder to look for images in; read it from a file");
    source.images = table.images->find(table, inputs.image->settings);
  }
}

bool Recipe::has_target(std::int64_t row) const { return target_ == nullptr || !std::isnan(target_->values[row]); }

void Recipe::refuse_gap(const Column& column) const {
  std::int64_t count = 0, first = -1;
  for (std::int64_t i = 0; i < table_->rows; ++i) {
    if (!std::isnan(column.values[i]) || !has_target(i)) continue;
    if (count++ == 0) first = i;
  }
  refuse_gaps(column.info.name, count, first);
}

void Recipe::refuse_class(std::int64_t row) const {
  const std::string text = level_text(*target_, row);
  throw DataError("the target, " + named(encoder_.target.name) + ", has" +
                  (text.empty() ? " a class" : " the class \"" + text + "\"") + " in row " + std::to_string(row + 1) +
                  " that no training row has; the model knows " + join_words(encoder_.classes));
}

void Recipe::encode_kernel_column(const KernelSource& source, Rows rows, double* to, std::int64_t stride,
                                  EncodingNotes* notes) const {
  const Column& column = *source.column;
  const bool leveled = !source.fitted->levels.empty();
  std::int64_t filled = 0;
  for (const std::int64_t i : rows) {
    const double value = column.values[i];
    *to = value;
    if (std::isnan(value)) {
      if (encoder_.gaps == Gaps::refuse) refuse_gap(column);
      if (encoder_.gaps == Gaps::fill && !leveled) *to = source.fitted->fill, ++filled;
    } else if (leveled) {
      const std::int64_t code = source.codes(value);
      if (code < 0) {
        const std::string text = level_text(column, i);
        throw DataError(named(column.info.name) + ": row " + std::to_string(i + 1) + " has a level" +
                        (text.empty() ? "" : " (" + text + ")") + " that no training row has; categorical() knows " +
                        std::to_string(source.fitted->levels.size()) + " levels");
      }
      *to = static_cast<double>(code);
    }
    to += stride;
  }
  if (notes != nullptr) note(notes->filled, column.info.name, filled);
}

at::Tensor Recipe::x(Rows rows, EncodingNotes* notes) const {
  at::Tensor all = at::empty({std::ssize(rows), std::ssize(kernels_)}, at::kDouble);
  double* to = all.data_ptr<double>();
  for (const KernelSource& source : kernels_) encode_kernel_column(source, rows, to++, std::ssize(kernels_), notes);
  return all;
}

void Recipe::each_column(const std::function<void(const Numbers&)>& visit) const {
  for (const Column* each : {target_, weights_, offset_, error_}) {
    if (each != nullptr) visit(each->values);
  }
  for (const KernelSource& source : kernels_) visit(source.column->values);
  for (const NetworkSource& network : networks_) {
    for (const NumberSource& source : network.columns) visit(source.column->values);
    for (const std::vector<NumberSource>& tree : network.trees) {
      for (const NumberSource& source : tree) visit(source.column->values);
    }
  }
}

void expect_rows(const Dataset& rows, std::int64_t first, std::int64_t count) {
  if (rows.held() || count == 0) return;
  const auto [least, most] = std::minmax(rows.rows[first], rows.rows[first + count - 1]);
  const auto from = static_cast<std::size_t>(least), length = static_cast<std::size_t>(most - least + 1);
  rows.recipe->each_column([&](const Numbers& numbers) { read_ahead(numbers, from, length); });
}

void expect_rows_in_order(const Dataset& rows) {
  if (!rows.held()) rows.recipe->each_column(read_in_order);
}

at::Tensor Recipe::targets(Rows rows) const {
  if (target_ == nullptr) return {};
  at::Tensor y = at::empty({std::ssize(rows)}, at::kDouble);
  double* to = y.data_ptr<double>();
  const auto [mean, sd] = encoder_.target_scaling;
  const Transform& transform = *encoder_.transform;
  const bool shifted = offset_ != nullptr && encoder_.offset_in_target();
  for (const std::int64_t i : rows) {
    const double value = target_->values[i];
    if (!encoder_.classes.empty()) {
      const std::int64_t code = classes_(value);
      *to++ = code < 0 ? kNone : static_cast<double>(code);
      continue;
    }
    if (!transform.admits(value)) {
      throw DataError("the target, " + named(encoder_.target.name) + ", has the value " + number_text(value) +
                      " in row " + std::to_string(i + 1) + "; " + std::string(transform.name) + "() takes " +
                      std::string(transform.domain) + " only");
    }
    const double z = transform.forward(value);
    *to++ = ((shifted ? z - find_transform(encoder_.offset->transform)->forward(offset_->values[i]) : z) - mean) / sd;
  }
  return y;
}

// Not a number where there is none, or none that makes sense.
at::Tensor Recipe::numbers_of(const Column* column, const std::optional<RowColumn>& fitted, Rows rows) {
  if (column == nullptr) return {};
  const Transform& transform = *find_transform(fitted->transform);
  at::Tensor numbers = at::empty({std::ssize(rows)}, at::kDouble);
  double* to = numbers.data_ptr<double>();
  for (const std::int64_t i : rows) {
    const double value = column->values[i];
    *to++ = transform.admits(value) ? transform.forward(value) / fitted->scale : kNone;
  }
  return numbers;
}

at::Tensor Recipe::weights(Rows rows) const { return numbers_of(weights_, encoder_.weights, rows); }
at::Tensor Recipe::offset(Rows rows) const { return numbers_of(offset_, encoder_.offset, rows); }
at::Tensor Recipe::error(Rows rows) const {
  return error_ != nullptr ? numbers_of(error_, encoder_.error, rows).square() : at::Tensor();
}

namespace {

// Gaps and levels not seen.
struct Odd {
  std::int64_t filled = 0, unseen = 0;
};

Odd encode_levels(const Column& column, const LevelCodes& codes, Recipe::Rows rows, float* to, std::int64_t stride) {
  Odd odd;
  for (const std::int64_t i : rows) {
    const double value = column.values[i];
    const std::int64_t level = codes(value);
    if (level >= 0) {
      to[level] = 1.0f;
    } else {
      ++(std::isnan(value) ? odd.filled : odd.unseen);
    }
    to += stride;
  }
  return odd;
}

Odd encode_scaled(const Column& column, const NetworkColumn& fitted, Recipe::Rows rows, float* to,
                  std::int64_t stride) {
  Odd odd;
  const auto [mean, sd] = fitted.scaling;
  const bool has_gaps = fitted.has_gaps;
  const NormalScores* const ranks = fitted.ranks ? &*fitted.ranks : nullptr;
  for (const std::int64_t i : rows) {
    const double value = ranks != nullptr ? ranks->of(column.values[i]) : column.values[i];
    const bool gap = std::isnan(value);
    odd.filled += gap;
    to[0] = gap ? 0.0f : static_cast<float>((value - mean) / sd);
    if (has_gaps) to[1] = gap ? 1.0f : 0.0f;
    to += stride;
  }
  return odd;
}

Odd encode_cycle(const Column& column, const NetworkColumn& fitted, Recipe::Rows rows, float* to, std::int64_t stride) {
  Odd odd;
  const std::size_t waves = 2 * fitted.periods.size();
  for (const std::int64_t i : rows) {
    const double t = column.values[i];
    const bool gap = std::isnan(t);
    odd.filled += gap;
    for (std::size_t k = 0; k < fitted.periods.size(); ++k) {
      const double turns = t / fitted.periods[k], angle = 2.0 * std::numbers::pi * (turns - std::floor(turns));
      to[2 * k] = gap ? 0.0f : static_cast<float>(std::numbers::sqrt2 * std::sin(angle));
      to[2 * k + 1] = gap ? 0.0f : static_cast<float>(std::numbers::sqrt2 * std::cos(angle));
    }
    if (fitted.has_gaps) to[waves] = gap ? 1.0f : 0.0f;
    to += stride;
  }
  return odd;
}

// Columns side by side, the first at `to`. Workers share out blocks of rows that stay in the cache from one column to
// the next; a batch of training is one.
template <class Sources>
void encode_columns(const Sources& sources, Recipe::Rows rows, float* to, std::int64_t stride, EncodingNotes* notes) {
  constexpr std::size_t kBlock = 4096;
  const std::size_t blocks = (rows.size() + kBlock - 1) / kBlock;
  std::vector<Odd> odd(blocks * sources.size());
  parallel(static_cast<int>(blocks), [&](int block, int) {
    const std::size_t first = static_cast<std::size_t>(block) * kBlock;
    const Recipe::Rows some = rows.subspan(first, std::min(kBlock, rows.size() - first));
    float* column_to = to + static_cast<std::int64_t>(first) * stride;
    Odd* found = odd.data() + static_cast<std::size_t>(block) * sources.size();
    for (const auto& [column, fitted, codes] : sources) {
      const bool levels = fitted->info.type == ColumnType::category;
      *found++ = levels                     ? encode_levels(*column, codes, some, column_to, stride)
                 : !fitted->periods.empty() ? encode_cycle(*column, *fitted, some, column_to, stride)
                                            : encode_scaled(*column, *fitted, some, column_to, stride);
      column_to += fitted->width();
    }
  });
  if (notes == nullptr) return;
  for (std::size_t i = 0; i < odd.size(); ++i) {
    const std::string& name = sources[i % sources.size()].column->info.name;
    note(notes->filled, name, odd[i].filled);
    note(notes->unseen, name, odd[i].unseen);
  }
}

}  // namespace

at::Tensor Recipe::numbers(std::size_t network, Rows rows, EncodingNotes* notes) const {
  const NetworkInputs& inputs = encoder_.networks[network];
  const NetworkSource& source = networks_[network];
  const std::int64_t width = inputs.numbers();
  at::Tensor all = at::zeros({std::ssize(rows), width}, at::kFloat);
  encode_columns(source.columns, rows, all.data_ptr<float>(), width, notes);
  std::int64_t first = 0;
  for (const NetworkColumn& column : inputs.columns) first += column.width();
  for (std::size_t t = 0; t < inputs.trees.size(); ++t) {
    const TreesColumn& trees = inputs.trees[t];
    std::size_t read = 0;
    for (const NetworkColumn& column : trees.columns) read += static_cast<std::size_t>(column.width());
    const at::Tensor values = at::zeros({std::ssize(rows), static_cast<std::int64_t>(read)}, at::kFloat);
    encode_columns(source.trees[t], rows, values.data_ptr<float>(), values.size(1), notes);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      float* to = all.data_ptr<float>() + static_cast<std::int64_t>(r) * width + first;
      for (const RandomTree& tree : trees.trees) {
        to[tree.leaf({values.data_ptr<float>() + r * read, read})] = 1.0f;
        to += tree.leaves();
      }
    }
    first += trees.width();
  }
  return all;
}

RowImages Recipe::images(std::size_t network, Rows rows, EncodingNotes* notes) const {
  const NetworkImages& known = *encoder_.networks[network].image;
  RowImages found{table_->images, known, at::empty({std::ssize(rows)}, at::kLong)};
  std::int64_t* to = found.number.data_ptr<std::int64_t>();
  std::int64_t filled = 0;
  for (const std::int64_t row : rows) {
    std::int64_t image = networks_[network].images[row];
    if (image < 0 && encoder_.gaps == Gaps::refuse) refuse_missing_image(known.settings, row);
    if (image < 0 && encoder_.gaps == Gaps::fill) image = RowImages::kMean, ++filled;
    *to++ = image;
  }
  if (notes != nullptr) note(notes->filled, known.settings.columns[0], filled);
  return found;
}

Dataset Recipe::encode(Rows rows, EncodingNotes* notes) const {
  Dataset part;
  part.rows.assign(rows.begin(), rows.end());
  part.y = targets(rows);
  part.weights = weights(rows);
  part.offset = offset(rows);
  part.error = error(rows);
  part.x = x(rows, notes);
  for (std::size_t a = 0; a < networks_.size(); ++a) {
    part.networks.push_back(numbers(a, rows, notes));
    if (!encoder_.networks[a].image) continue;
    part.images.resize(networks_.size());
    part.images[a] = images(a, rows, notes);
  }
  return part;
}

}  // namespace ick
