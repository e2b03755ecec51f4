#include "ick/dataset/encoder.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <unordered_map>

#include "dataset/names.h"
#include "dataset/recipe.h"
#include "dataset/row_columns.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"

namespace ick {

namespace {

KernelColumn fit_kernel_column(const Column& column, const EncoderPlan& plan,
                               const std::map<std::string, std::string>& units, const std::vector<bool>& use) {
  refuse_text(column, "a kernel");
  refuse_bytes(column);
  const auto refuse_nothing = [&] { throw DataError(named(column.info.name) + " has no values in the training rows"); };
  KernelColumn fitted;
  fitted.info = column.info;
  fitted.summary.name = column.info.name;
  const Scaling scaling = scaling_of(column.values, use);
  fitted.fill = scaling.mean;
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
  const auto unit = units.find(column.info.name);
  fitted.unit = column.info.type == ColumnType::time ? "d" : unit == units.end() ? "" : unit->second;
  InputSummary& summary = fitted.summary;
  summary.unit = fitted.unit;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    const double value = column.values[i];
    if (!use[i] || std::isnan(value)) continue;
    summary.low = summary.rows == 0 ? value : std::min(summary.low, value);
    summary.high = summary.rows == 0 ? value : std::max(summary.high, value);
    ++summary.rows;
  }
  if (summary.rows == 0) refuse_nothing();
  summary.centre = summary.high > summary.low ? scaling.mean : summary.low;  // of a constant column to the last bit
  summary.root_mean_square = scaling.sd;
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

// What a kind of target takes, in words; empty when it takes this value.
std::string refused_by(TargetKind kind, double value) {
  if (kind == TargetKind::count && !(value >= 0.0 && value == std::floor(value))) return "counts, whole numbers from 0";
  if (kind == TargetKind::positive && !(value > 0.0)) return "positive numbers";
  if (kind == TargetKind::proportion && !(value > 0.0 && value < 1.0))
    return "numbers between 0 and 1, without the ends";
  return "";
}

// weights(w), offset(log(n)), error(se) of the rows in use: every number must be there and make sense.
std::optional<RowColumn> fit_row_column(const Table& table, const RowTerm& term, const std::string& role,
                                        const std::vector<bool>& use) {
  if (!term.exists()) return std::nullopt;
  const Column& column = table.column(term.column);
  const std::string name = role + "(" + term.column + "): " + named(term.column);
  if (column.info.type != ColumnType::number && column.info.type != ColumnType::integer) {
    throw DataError(name + " is a " + std::string(column_type_name(column.info.type)) + "; numbers are needed");
  }
  refuse_bytes(column);
  const Transform& transform = *find_transform(term.transform);
  const bool positive = role == "weights";
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    const double value = column.values[i];
    if (!use[i]) continue;
    const std::string found = name + " has " + (std::isnan(value) ? "no value" : "the value " + number_text(value)) +
                              " in row " + std::to_string(i + 1);
    if (std::isnan(value) || !transform.admits(value)) {
      throw DataError(found + "; expected " + (transform.name.empty() ? "a number" : std::string(transform.domain)));
    }
    const double number = transform.forward(value);
    if (positive && !(number > 0.0)) throw DataError(found + "; weights are positive: leave the row out instead");
    if (role == "error" && !(number >= 0.0)) throw DataError(found + "; a standard deviation is not negative");
  }
  RowColumn fitted{column.info, term.transform};
  if (positive) {
    fitted.scale = scaling_of(column.values, use, [&](std::size_t, double v) { return transform.forward(v); }).mean;
  }
  return fitted;
}

void fit_target(const Table& table, const EncoderPlan& plan, const std::vector<bool>& use, Encoder& encoder) {
  const Column& target = table.column(plan.target);
  refuse_bytes(target);
  const std::string name = "the target, " + named(plan.target) + ",";
  encoder.target = target.info;
  encoder.target_kind = plan.kind;
  encoder.transform = plan.transform;
  if (plan.kind == TargetKind::classes) return fit_classes(target, name, use, encoder);
  if (target.info.type == ColumnType::text || target.info.type == ColumnType::category) {
    throw DataError(name + " holds text; a number is needed, or " + setting("likelihood", "categorical"));
  }
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < target.values.size(); ++i) {
    const double value = target.values[i];
    if (std::isnan(value)) continue;
    rows += use[i];
    const auto refuse = [&](const std::string& reason) {
      throw DataError(name + " has the value " + number_text(value) + " in row " + std::to_string(i + 1) + "; " +
                      reason);
    };
    if (const std::string takes = refused_by(plan.kind, value); !takes.empty())
      refuse("this likelihood takes " + takes);
    if (!plan.transform->admits(value)) {
      refuse(std::string(plan.transform->name) + "() takes " + std::string(plan.transform->domain) + " only");
    }
  }
  if (rows < 2) {
    throw DataError(name + " has " + std::to_string(rows) + (rows == 1 ? " value" : " values") +
                    " in the training rows; expected at least 2 rows to learn from");
  }
  const Column* const offset =
      encoder.offset && encoder.offset_in_target() ? &table.column(plan.offset.column) : nullptr;
  const Transform& of_offset = *find_transform(plan.offset.transform);
  encoder.target_scaling = scaling_of(target.values, use, [&](std::size_t i, double y) {
    const double z = plan.transform->forward(y);
    return offset != nullptr ? z - of_offset.forward(offset->values[i]) : z;
  });
  if (encoder.target_scaling.sd == 0.0) {
    std::size_t first = 0;
    while (!use[first] || std::isnan(target.values[first])) ++first;
    throw DataError(name + " is " + number_text(target.values[first]) +
                    " in every training row; there is nothing to learn");
  }
  encoder.target_summary = encoder.target_scaling;
  if (plan.kind != TargetKind::number) encoder.target_scaling = {};
}

}  // namespace

namespace {

// What kernels and networks read, derived columns among them.
std::vector<ColumnInfo> columns_of_model(const Encoder& encoder) {
  std::vector<ColumnInfo> all;
  for (const KernelColumn& column : encoder.kernel_columns) all.push_back(column.info);
  for (const NetworkInputs& network : encoder.networks) {
    const std::vector<ColumnInfo> more = network.infos();
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::vector<std::string> names_of(const std::vector<ColumnInfo>& infos) {
  std::vector<std::string> names;
  for (const ColumnInfo& each : infos) names.push_back(each.name);
  return names;
}

// A unit that was declared for both columns is that of their difference.
std::map<std::string, std::string> units_of(const EncoderPlan& plan) {
  std::map<std::string, std::string> units = plan.units;
  for (const DerivedColumn& each : plan.derived) {
    const auto first = units.find(each.inputs.front()), second = units.find(each.inputs.back());
    const bool declared = each.function == "-" && first != units.end() && second != units.end();
    const std::string unit = declared && first->second == second->second ? first->second : each.unit;
    if (!unit.empty()) units[each.name] = unit;
  }
  return units;
}

}  // namespace

std::vector<ColumnInfo> Encoder::columns() const {
  std::vector<ColumnInfo> all;
  const auto add = [&](const ColumnInfo& info) {
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const ColumnInfo& each) { return each.name == info.name; });
    if (!known) all.push_back(info);
  };
  for (const ColumnInfo& info : columns_of_model(*this)) {
    if (find_derived(derived, info.name) == nullptr) {
      add(info);
      continue;
    }
    for (const std::string& name : read_for(derived, std::array{info.name})) {
      for (const ColumnInfo& each : derived_from) {
        if (each.name == name) add(each);
      }
    }
  }
  if (offset) add(offset->info);
  if (error) add(error->info);
  return all;
}

std::vector<ColumnInfo> Encoder::training_columns() const {
  std::vector<ColumnInfo> all = columns();
  all.push_back(target);
  if (weights) all.push_back(weights->info);
  return all;
}

// Fisher and Yates' shuffle up to `count`, of which only the places that are not at home are kept.
at::Tensor draw_rows(std::int64_t rows, std::int64_t count, std::uint64_t seed) {
  if (count >= rows) return at::arange(rows, at::kLong);
  std::unordered_map<std::int64_t, std::int64_t> moved;
  const auto standing_at = [&](std::int64_t place) {
    const auto found = moved.find(place);
    return found == moved.end() ? place : found->second;
  };
  Random random(seed);
  at::Tensor drawn = at::empty({count}, at::kLong);
  std::int64_t* const to = drawn.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t other = i + random.below(rows - i);
    to[i] = standing_at(other);
    moved[other] = standing_at(i);
  }
  std::sort(to, to + count);
  return drawn;
}

namespace {

// Rows of the table that these places in a dataset are.
std::vector<std::int64_t> rows_at(const std::vector<std::int64_t>& rows, const at::Tensor& index) {
  const at::Tensor places = index.contiguous();
  const std::int64_t* const place = places.data_ptr<std::int64_t>();
  std::vector<std::int64_t> found(static_cast<std::size_t>(places.numel()));
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = rows[place[i]];
  return found;
}

}  // namespace

Dataset Dataset::select(const at::Tensor& index) const {
  if (!held()) return recipe->encode(rows_at(rows, index));
  Dataset part;
  part.x = x.index_select(0, index);
  for (const at::Tensor& each : networks) part.networks.push_back(each.index_select(0, index));
  part.images = images;
  for (auto& each : part.images) {
    if (each) each->number = each->number.index_select(0, index);
  }
  const auto of_rows = [&](const at::Tensor& all) { return all.defined() ? all.index_select(0, index) : all; };
  part.y = of_rows(y);
  part.weights = of_rows(weights);
  part.offset = of_rows(offset);
  part.error = of_rows(error);
  part.rows = rows_at(rows, index);
  return part;
}

Dataset Dataset::subset(const at::Tensor& index) const {
  if (held()) return select(index);
  Dataset part;
  part.networks = networks;
  part.images = images;
  for (auto& each : part.images) {
    if (each) each->number = each->number.index_select(0, index);
  }
  part.rows = rows_at(rows, index);
  part.recipe = recipe;
  return part;
}

at::Tensor Dataset::x_of(std::int64_t first, std::int64_t count) const {
  if (held()) return x.narrow(0, first, count);
  return recipe->x(Recipe::Rows(rows).subspan(first, count));
}

at::Tensor Dataset::targets() const { return held() ? y : recipe->targets(rows); }
at::Tensor Dataset::row_weights() const { return held() ? weights : recipe->weights(rows); }
at::Tensor Dataset::row_offset() const { return held() ? offset : recipe->offset(rows); }
at::Tensor Dataset::row_error() const { return held() ? error : recipe->error(rows); }

at::Tensor weights_or_one(const Dataset& rows) {
  const at::Tensor weights = rows.row_weights();
  return weights.defined() ? weights : at::ones({rows.size()}, at::kDouble);
}

at::Tensor Dataset::inputs(std::size_t network, const at::Tensor& index, const LoadImage& load) const {
  const at::Tensor numbers =
      held() ? networks[network].index_select(0, index) : recipe->numbers(network, rows_at(rows, index));
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
  if (!held()) return at::ones({size()}, at::kBool);
  at::Tensor whole = x.isnan().logical_not().all(1);
  for (const at::Tensor& each : {offset, error, weights}) {
    if (each.defined()) whole = whole.logical_and(each.isfinite());
  }
  for (const auto& each : images) {
    if (each) whole = whole.logical_and(each->number != RowImages::kMissing);
  }
  return whole;
}

void check_row_columns(const Table& table, const EncoderPlan& plan, const std::vector<bool>& use) {
  fit_row_column(table, plan.weights, "weights", use);
  fit_row_column(table, plan.offset, "offset", use);
  fit_row_column(table, plan.error, "error", use);
}

Encoder fit_encoder(const Table& given, const EncoderPlan& plan, const std::vector<bool>& use) {
  std::optional<Table> made;
  const Table& table = with_derived(given, plan.derived, made);
  const std::map<std::string, std::string> units = units_of(plan);
  Encoder encoder;
  encoder.gaps = plan.gaps;
  encoder.target_kind = plan.kind;
  std::vector<bool> known = use;
  const Column& target = table.column(plan.target);
  for (std::size_t i = 0; i < target.values.size(); ++i) known[i] = known[i] && !std::isnan(target.values[i]);
  encoder.weights = fit_row_column(table, plan.weights, "weights", known);
  encoder.offset = fit_row_column(table, plan.offset, "offset", known);
  encoder.error = fit_row_column(table, plan.error, "error", known);
  fit_target(table, plan, use, encoder);
  if (encoder.offset) encoder.offset->scale = encoder.target_scaling.sd;
  if (encoder.error) encoder.error->scale = encoder.target_scaling.sd;
  for (const std::string& name : plan.kernel_columns) {
    encoder.kernel_columns.push_back(fit_kernel_column(table.column(name), plan, units, use));
  }
  for (std::size_t a = 0; a < plan.networks.size(); ++a) {
    const std::uint64_t seed = seed_for(plan.seed, "network " + std::to_string(a + 1));
    encoder.networks.push_back(fit_network_inputs(table, plan.networks[a], use, seed, plan.ranked, units));
  }
  const std::vector<std::string> read = names_of(columns_of_model(encoder));
  encoder.derived = needed_for(plan.derived, read);
  for (const DerivedColumn& each : encoder.derived) {
    for (const std::string& name : read_for(plan.derived, each.inputs)) {
      if (!contains(names_of(encoder.derived_from), name)) encoder.derived_from.push_back(table.column(name).info);
    }
  }
  return encoder;
}

std::vector<bool> readable_rows(const Table& given, const EncoderPlan& plan, const std::vector<bool>& use) {
  std::vector<bool> readable = use;
  if (plan.gaps == Gaps::fill) return readable;
  std::optional<Table> made;
  const Table& table = with_derived(given, plan.derived, made);
  for (const std::string& name : plan.kernel_columns) {
    const Column& column = table.column(name);
    if (column.info.type == ColumnType::text) continue;  // refused elsewhere
    std::int64_t gaps = 0, first = -1;
    for (std::int64_t i = 0; i < table.rows; ++i) {
      if (!use[i] || !std::isnan(column.values[i])) continue;
      if (gaps++ == 0) first = i;
      readable[i] = false;
    }
    if (gaps == 0 || plan.gaps != Gaps::refuse) continue;
    refuse_outside(table, plan.derived, name, use);
    refuse_gaps(name, gaps, first);
  }
  for (const NetworkPlan& network : plan.networks) {
    if (!network.image || table.images == nullptr) continue;
    const std::vector<std::int64_t> image = table.images->find(table, *network.image);
    for (std::int64_t i = 0; i < table.rows; ++i) {
      if (!use[i] || image[i] >= 0) continue;
      if (plan.gaps == Gaps::refuse) refuse_missing_image(*network.image, i);
      readable[i] = false;
    }
  }
  return readable;
}

double bytes_of_row(const Encoder& encoder) {
  double bytes = 8.0 * static_cast<double>(encoder.kernel_columns.size() + 1);  // and the target
  for (const NetworkInputs& each : encoder.networks) bytes += 4.0 * static_cast<double>(each.numbers());
  return bytes;
}

Dataset encode(const Table& table, const Encoder& encoder, bool with_target, EncodingNotes* notes) {
  const Recipe recipe(table, encoder, with_target);
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (recipe.has_target(i)) rows.push_back(i);
  }
  Dataset all = recipe.encode(rows, notes);
  const at::Tensor complete = all.complete().nonzero().select(1, 0).contiguous();
  if (notes != nullptr) {
    notes->without_target += table.rows - all.size();
    notes->with_gaps += all.size() - complete.size(0);
  }
  if (!with_target) return all;
  if (complete.size(0) < all.size()) all = all.select(complete);
  const at::Tensor unknown = all.y.isnan().nonzero();  // a class
  if (unknown.size(0) > 0) recipe.refuse_class(all.rows[unknown[0].item<std::int64_t>()]);
  return all;
}

Dataset encode_rows(const Table& table, const Encoder& encoder, const std::vector<std::int64_t>& rows) {
  return Recipe(table, encoder, false).encode(rows);
}

Dataset open_rows(const Table& table, const Encoder& encoder, const std::vector<bool>& use, EncodingNotes* notes,
                  double most_held) {
  constexpr std::int64_t kBlock = 8192;
  const auto recipe = std::make_shared<const Recipe>(table, encoder, true);
  Dataset open;
  open.rows.reserve(static_cast<std::size_t>(std::count(use.begin(), use.end(), true)));
  std::vector<std::int64_t> rows;
  for (std::int64_t first = 0; first < table.rows; first += kBlock) {
    rows.clear();
    const std::int64_t end = std::min(first + kBlock, table.rows);
    for (std::int64_t i = first; i < end; ++i) {
      const bool known = recipe->has_target(i);
      if (known && (use[i] || notes != nullptr)) rows.push_back(i);
      if (!known && notes != nullptr) ++notes->without_target;
    }
    const Dataset block = recipe->encode(rows, notes);
    const at::Tensor complete = block.complete();
    const bool* const whole = complete.data_ptr<bool>();
    const double* const y = block.y.data_ptr<double>();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!whole[i] && notes != nullptr) ++notes->with_gaps;
      if (!whole[i] || !use[rows[i]]) continue;
      if (std::isnan(y[i])) recipe->refuse_class(rows[i]);
      open.rows.push_back(rows[i]);
    }
  }
  if (bytes_of_row(encoder) * static_cast<double>(open.size()) <= most_held) return recipe->encode(open.rows);
  open.networks.resize(encoder.networks.size());
  for (std::size_t a = 0; a < encoder.networks.size(); ++a) {
    if (!encoder.networks[a].image) continue;
    open.images.resize(encoder.networks.size());
    open.images[a] = recipe->images(a, open.rows);
  }
  open.recipe = recipe;
  return open;
}

}  // namespace ick
