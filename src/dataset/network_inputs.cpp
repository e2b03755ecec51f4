#include "ick/dataset/network_inputs.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <set>

#include "dataset/names.h"
#include "dataset/recipe.h"
#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "ick/base/unit.h"

namespace ick {

namespace {

using Rows = std::vector<std::int64_t>;

// Moments of the values that are in use and present.
struct ColumnMoments {
  double count = 0.0, mean = 0.0, squares = 0.0;  // sum (v - mean)^2
  bool has_gaps = false;

  // Both together (Chan, Golub and LeVeque 1979).
  void operator+=(const ColumnMoments& other) {
    has_gaps = has_gaps || other.has_gaps;
    if (other.count == 0.0) return;
    const double all = count + other.count, apart = other.mean - mean;
    mean += apart * other.count / all;
    squares += other.squares + apart * apart * count * other.count / all;
    count = all;
  }
};

// Moments of rows that fit into the first-level cache.
constexpr std::size_t kFewRows = 2048;
ColumnMoments moments_of_few(std::span<const double> values, std::size_t first, const std::vector<bool>& use,
                             const OfRow& of_row) {
  std::array<double, kFewRows> kept;
  std::size_t count = 0, used = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool in_use = use[first + i], there = in_use && !std::isnan(values[i]);
    kept[count] = there && of_row ? of_row(first + i, values[i]) : values[i];
    used += in_use;
    count += there;
  }
  ColumnMoments found;
  found.has_gaps = count < used;
  if (count == 0) return found;
  // Four sums: one addition need not wait for the last.
  const auto sum_of = [&](const auto& term) {
    std::array<double, 4> sums = {};
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) {
      for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += term(kept[i + lane]);
    }
    for (; i < count; ++i) sums[0] += term(kept[i]);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  };
  found.count = static_cast<double>(count);
  found.mean = sum_of([](double v) { return v; }) / found.count;
  found.squares = sum_of([&](double v) { return (v - found.mean) * (v - found.mean); });
  return found;
}

// Workers share out blocks, which are the same for any number of them.
ColumnMoments moments_of(std::span<const double> values, const std::vector<bool>& use, const OfRow& of_row = {}) {
  constexpr std::size_t kBlock = 32 * kFewRows;
  std::vector<ColumnMoments> blocks((values.size() + kBlock - 1) / kBlock);
  parallel(static_cast<int>(blocks.size()), [&](int block, int) {
    const std::size_t from = static_cast<std::size_t>(block) * kBlock, end = std::min(from + kBlock, values.size());
    for (std::size_t first = from; first < end; first += kFewRows) {
      blocks[block] += moments_of_few(values.subspan(first, std::min(kFewRows, end - first)), first, use, of_row);
    }
  });
  return std::accumulate(blocks.begin(), blocks.end(), ColumnMoments(),
                         [](ColumnMoments all, const ColumnMoments& block) {
                           all += block;
                           return all;
                         });
}

Scaling scaling_by(const ColumnMoments& moments) {
  const double sd = moments.count > 0.0 ? std::sqrt(moments.squares / moments.count) : 0.0;
  // A constant column has no scale; rounding of its mean must not become one.
  return {moments.mean, sd > 1e-12 * std::abs(moments.mean) && std::isfinite(sd) ? sd : 0.0};
}

}  // namespace

Scaling scaling_of(std::span<const double> values, const std::vector<bool>& use, const OfRow& of_row) {
  return scaling_by(moments_of(values, use, of_row));
}

void refuse_bytes(const Column& column) {
  const auto& levels = column.info.levels;
  if (is_utf8(column.info.name) && std::all_of(levels.begin(), levels.end(), is_utf8)) return;
  throw DataError(named(column.info.name) + ": its name or a level is not UTF-8; save the table as UTF-8");
}

void refuse_text(const Column& column, const std::string& reader) {
  if (column.info.type != ColumnType::text) return;
  throw DataError(named(column.info.name) + " holds text; " + reader +
                  " takes numbers, times or categories (declare it with " +
                  setting("types", column.info.name + "=category") + ")");
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

const Column& same_kind(const Table& table, const ColumnInfo& info) {
  const Column& column = table.column(info.name);
  const auto kind = [](ColumnType type) { return type == ColumnType::integer ? ColumnType::number : type; };
  if (kind(column.info.type) != kind(info.type)) {
    throw DataError(named(info.name) + " holds " + std::string(column_type_name(column.info.type)) +
                    " values; the model was trained on " + std::string(column_type_name(info.type)) + " values");
  }
  return column;
}

namespace {

// Of at most 65,536 rows drawn from those in use; 257 values, or fewer where there are no more.
NormalScores fit_normal_scores(const Column& column, const std::vector<bool>& use, std::uint64_t seed) {
  constexpr std::size_t kMostValues = 257;
  Rows rows;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    if (use[i] && std::isfinite(column.values[i])) rows.push_back(static_cast<std::int64_t>(i));
  }
  const at::Tensor drawn = draw_rows(std::ssize(rows), kManyRows, seed_for(seed, "ranks of " + column.info.name));
  std::vector<double> sorted;
  for (std::int64_t k = 0; k < drawn.size(0); ++k) {
    sorted.push_back(column.values[rows[static_cast<std::size_t>(drawn.data_ptr<std::int64_t>()[k])]]);
  }
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  NormalScores all;
  for (auto from = sorted.begin(); from != sorted.end();) {
    const auto to = std::upper_bound(from, sorted.end(), *from);
    const auto before = static_cast<double>(from - sorted.begin()), after = static_cast<double>(to - sorted.begin());
    all.values.push_back(*from), all.scores.push_back(normal_quantile(0.5 * (before + after) / n));
    from = to;
  }
  if (all.values.size() <= kMostValues) return all;
  NormalScores kept;
  for (std::size_t k = 0; k < kMostValues; ++k) {
    const std::size_t i = k * (all.values.size() - 1) / (kMostValues - 1);
    kept.values.push_back(all.values[i]), kept.scores.push_back(all.scores[i]);
  }
  return kept;
}

NetworkColumn fit_network_column(const Column& column, const std::vector<bool>& use, bool ranked = false,
                                 std::uint64_t seed = 0) {
  refuse_text(column, "a network");
  refuse_bytes(column);
  NetworkColumn fitted;
  fitted.info = column.info;
  if (column.info.type == ColumnType::category) {
    fitted.info.levels = levels_of(column, use);
    return fitted;
  }
  OfRow score;
  if (ranked && column.info.type != ColumnType::time) {
    fitted.ranks = fit_normal_scores(column, use, seed);
    score = [&](std::size_t, double value) { return fitted.ranks->of(value); };
  }
  const ColumnMoments moments = moments_of(column.values, use, score);
  fitted.scaling = scaling_by(moments);
  if (fitted.scaling.sd == 0.0) fitted.scaling.sd = 1.0;
  fitted.has_gaps = moments.has_gaps;
  return fitted;
}

using Units = std::map<std::string, std::string>;

NetworkColumn fit_cycle(const Column& column, const CyclePlan& plan, const std::vector<bool>& use, const Units& units) {
  const std::string& name = column.info.name;
  if (column.info.type == ColumnType::category || column.info.type == ColumnType::text) {
    throw DataError(where(plan.position) + named(name) + " holds " + std::string(column_type_name(column.info.type)) +
                    " values; cycle(t, period=...) takes times or numbers");
  }
  NetworkColumn fitted = fit_network_column(column, use);
  fitted.scaling = {};
  const auto declared = units.find(name);
  const std::string unit = column.info.type == ColumnType::time ? "d" : declared != units.end() ? declared->second : "";
  for (const Quantity& period : plan.periods) {
    const std::optional<double> length =
        period.unit.empty() ? period.number : convert(period.number, period.unit, unit);
    if (!length) {
      throw UsageError(where(plan.position) + "period=" + print(period) + " is not in the unit of " + named(name) +
                       (unit.empty()
                            ? ", which has none; write the number alone, or declare one with " + setting("units")
                            : ", which is " + unit));
    }
    fitted.periods.push_back(*length);
  }
  return fitted;
}

TreesColumn fit_trees(const Table& table, const TreesPlan& plan, const std::vector<bool>& use, std::uint64_t seed,
                      const Units& units) {
  TreesColumn fitted;
  for (const std::string& name : plan.columns) {
    fitted.columns.push_back(fit_network_column(table.column(name), use));
  }
  for (const CyclePlan& cycle : plan.cycles) {
    fitted.columns.push_back(fit_cycle(table.column(cycle.column), cycle, use, units));
  }
  Rows rows;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (use[i]) rows.push_back(i);
  }
  if (std::ssize(rows) > kManyRows) {  // splits are drawn at random: some rows tell where they may be
    const at::Tensor drawn = draw_rows(std::ssize(rows), kManyRows, seed_for(seed, "rows"));
    for (std::int64_t k = 0; k < kManyRows; ++k) rows[k] = rows[drawn.data_ptr<std::int64_t>()[k]];
    rows.resize(kManyRows);
  }
  Encoder encoder;
  encoder.networks.emplace_back().columns = fitted.columns;
  const at::Tensor numbers = Recipe(table, encoder, false).numbers(0, rows);
  const std::span<const float> values(numbers.data_ptr<float>(), static_cast<std::size_t>(numbers.numel()));
  for (std::int64_t t = 0; t < plan.count; ++t) {
    fitted.trees.push_back(grow_tree(values, numbers.size(1), plan.depth, seed_for(seed, "tree " + std::to_string(t))));
  }
  return fitted;
}

// The shape is that of the first image in use; means and sds are those of some of the others.
NetworkImages fit_images(const Table& table, const ImageSettings& settings, const std::vector<bool>& use,
                         std::uint64_t seed) {
  constexpr std::size_t kSome = 2000;
  if (table.images == nullptr) throw DataError("this table has no folder to look for images in; read it from a file");
  const std::vector<std::int64_t> numbers = table.images->find(table, settings);
  std::vector<std::int64_t> distinct;
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (use[i] && numbers[i] >= 0 && seen.insert(numbers[i]).second) distinct.push_back(numbers[i]);
  }
  if (distinct.empty()) throw DataError("no training row has an image");
  NetworkImages fitted;
  fitted.settings = settings;
  fitted.shape = table.images->shape(distinct.front());
  Random random(seed);
  for (std::size_t i = 1; i < std::min(kSome, distinct.size()); ++i) {
    std::swap(distinct[i], distinct[i + random.below(std::ssize(distinct) - static_cast<std::int64_t>(i))]);
  }
  distinct.resize(std::min(kSome, distinct.size()));

  const std::int64_t channels = fitted.shape.channels, pixels = fitted.shape.height * fitted.shape.width;
  std::vector<double> sum(channels, 0.0), squares(channels, 0.0), counts(channels, 0.0);
  std::vector<float> image(fitted.shape.numbers());
  for (const std::int64_t number : distinct) {
    table.images->read(number, fitted.shape, image.data());
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t i = 0; i < pixels; ++i) {
        const double value = image[c * pixels + i];
        if (!std::isfinite(value)) continue;  // a channel without any value
        sum[c] += value, squares[c] += value * value;
        ++counts[c];
      }
    }
  }
  for (std::int64_t c = 0; c < channels; ++c) {
    const double count = std::max(1.0, counts[c]);
    const double mean = sum[c] / count, variance = squares[c] / count - mean * mean;
    fitted.channels.push_back({mean, variance > 1e-12 * mean * mean ? std::sqrt(variance) : 1.0});
  }
  return fitted;
}

}  // namespace

double NormalScores::of(double value) const {
  if (std::isnan(value) || values.empty()) return value;
  const auto above = std::upper_bound(values.begin(), values.end(), value);
  if (above == values.begin()) return scores.front();
  if (above == values.end()) return scores.back();
  const auto i = static_cast<std::size_t>(above - values.begin());
  const double share = (value - values[i - 1]) / (values[i] - values[i - 1]);
  return scores[i - 1] + share * (scores[i] - scores[i - 1]);
}

std::int64_t NetworkColumn::width() const {
  if (info.type == ColumnType::category) return std::ssize(info.levels);
  return (periods.empty() ? 1 : 2 * std::ssize(periods)) + (has_gaps ? 1 : 0);
}

std::int64_t TreesColumn::width() const {
  std::int64_t total = 0;
  for (const RandomTree& tree : trees) total += tree.leaves();
  return total;
}

std::int64_t NetworkInputs::numbers() const {
  std::int64_t total = 0;
  for (const NetworkColumn& column : columns) total += column.width();
  for (const TreesColumn& column : trees) total += column.width();
  return total;
}

std::int64_t NetworkInputs::width() const { return numbers() + (image ? image->shape.numbers() : 0); }

std::vector<ColumnInfo> NetworkInputs::infos() const {
  std::vector<ColumnInfo> all;
  for (const NetworkColumn& column : columns) all.push_back(column.info);
  for (const TreesColumn& each : trees) {
    for (const NetworkColumn& column : each.columns) all.push_back(column.info);
  }
  if (!image) return all;
  const bool names = image->settings.idx.empty() && image->settings.raster.empty();
  for (const std::string& name : image->settings.columns) {
    all.push_back({name, names ? ColumnType::text : ColumnType::number, "", {}});
  }
  return all;
}

void RowImages::load(std::int64_t image, float* to, const Augmentation& augmentation, std::uint64_t seed) const {
  const std::int64_t pixels = known.shape.height * known.shape.width;
  if (image < 0) {
    std::fill_n(to, known.shape.numbers(), 0.0f);
    return;
  }
  store->read(image, known.shape, to);
  if (augmentation.any()) augment(augmentation, known.shape, seed, to);
  for (const Scaling& channel : known.channels) {
    const auto mean = static_cast<float>(channel.mean), scale = static_cast<float>(1.0 / channel.sd);
    for (std::int64_t i = 0; i < pixels; ++i) to[i] = std::isfinite(to[i]) ? (to[i] - mean) * scale : 0.0f;
    to += pixels;
  }
}

NetworkInputs fit_network_inputs(const Table& table, const NetworkPlan& plan, const std::vector<bool>& use,
                                 std::uint64_t seed, bool ranked, const Units& units) {
  NetworkInputs inputs;
  for (const std::string& name : plan.columns) {
    inputs.columns.push_back(fit_network_column(table.column(name), use, ranked, seed));
  }
  for (const std::string& name : plan.ranked) {
    const ColumnType type = table.column(name).info.type;
    if (type == ColumnType::category || type == ColumnType::time) {
      throw DataError(named(name) + " holds " + std::string(column_type_name(type)) +
                      " values; rank(x) takes columns of numbers");
    }
    inputs.columns.push_back(fit_network_column(table.column(name), use, true, seed));
  }
  for (const CyclePlan& cycle : plan.cycles) {
    inputs.columns.push_back(fit_cycle(table.column(cycle.column), cycle, use, units));
  }
  for (std::size_t i = 0; i < plan.trees.size(); ++i) {
    inputs.trees.push_back(fit_trees(table, plan.trees[i], use, seed_for(seed, "trees " + std::to_string(i)), units));
  }
  if (plan.image) inputs.image = fit_images(table, *plan.image, use, seed_for(seed, "images"));
  return inputs;
}

RowImages encode_images(const Table& table, const NetworkImages& images, const Rows& rows) {
  if (table.images == nullptr) throw DataError("this table has no folder to look for images in; read it from a file");
  const std::vector<std::int64_t> all = table.images->find(table, images.settings);
  RowImages found{table.images, images, at::empty({std::ssize(rows)}, at::kLong)};
  std::int64_t* to = found.number.data_ptr<std::int64_t>();
  for (const std::int64_t row : rows) *to++ = all[row];
  return found;
}

}  // namespace ick
