#include "fit/second.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "fit/sanity.h"
#include "ick/base/seed.h"

namespace ick {

namespace {

constexpr double kWorse = 1.1;            // root mean square errors, of rows that the second has learned from
constexpr double kFarther = 1.5;          // than the first erred in its own future
constexpr std::int64_t kMoved = 1000;     // rows in the future of the second
constexpr std::int64_t kCompared = 1000;  // rows that both have learned from

at::Tensor predicted(const Trained& model, const Likelihood& likelihood, const Dataset& rows) {
  const Scaling& scaling = model.encoder.target_scaling;
  return moments_at(model.posterior, likelihood, rows).mean * scaling.sd + scaling.mean;
}

double root_mean_square(const at::Tensor& values) { return std::sqrt(values.square().mean().item<double>()); }

// Some validation rows, as they would be if they followed the last row: later by the time that validation rows take.
Table moved_rows(const Table& table, const FitPlan& plan, const std::string& time) {
  std::vector<std::int64_t> rows;
  double seen = -HUGE_VAL, last = -HUGE_VAL;  // by the first, by the second
  const Numbers& times = table.column(time).values;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (plan.training[i]) seen = std::max(seen, times[i]);
    if (plan.validation[i]) last = std::max(last, times[i]), rows.push_back(i);
  }
  const at::Tensor drawn = draw_rows(std::ssize(rows), kMoved, seed_for(plan.options.seed, "moved rows"));
  Table moved;
  moved.rows = drawn.size(0);
  for (const Column& column : table.columns) {
    Column& own = moved.columns.emplace_back();
    own.info = column.info;
    std::vector<double> values;
    for (std::int64_t i = 0; i < moved.rows; ++i) {
      const std::int64_t row = rows[static_cast<std::size_t>(drawn.data_ptr<std::int64_t>()[i])];
      if (!column.text.empty()) own.text.push_back(column.text[static_cast<std::size_t>(row)]);
      if (column.values.empty()) continue;
      values.push_back(column.values[row] + (column.info.name == time ? last - seen : 0.0));
    }
    own.values = values;
  }
  return moved;
}

}  // namespace

double spread_of(const Table& table, const FitPlan& plan, const Trained& model) {
  const at::NoGradGuard no_grad;
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (plan.training[i]) rows.push_back(i);
  }
  const at::Tensor drawn = draw_rows(std::ssize(rows), kCompared, seed_for(plan.options.seed, "rows of both"));
  std::vector<bool> some(static_cast<std::size_t>(table.rows), false);
  for (std::int64_t i = 0; i < drawn.size(0); ++i) {
    some[static_cast<std::size_t>(rows[static_cast<std::size_t>(drawn.data_ptr<std::int64_t>()[i])])] = true;
  }
  const Dataset both = open_rows(table, model.encoder, some, nullptr, plan.options.held_bytes);
  const double scale = model.encoder.target_scaling.sd;
  return moments_at(model.posterior, likelihood_of(plan.options), both).variance.median().item<double>() * scale *
         scale;
}

std::string why_second_is_wrong(const Table& table, const FitPlan& plan, const Trained& first, const Trained& second,
                                const at::Tensor& unseen) {
  const at::NoGradGuard no_grad;
  const Likelihood& likelihood = likelihood_of(plan.options);
  if (second.wild && !first.wild) return "between its rows it predicts far beyond the range of the target";
  const Dataset rows = open_rows(table, second.encoder, plan.validation, nullptr, plan.options.held_bytes);
  const Scaling& scaling = second.encoder.target_scaling;
  const at::Tensor y = rows.targets() * scaling.sd + scaling.mean;
  const double erred = root_mean_square(unseen - y);
  if (!(root_mean_square(predicted(second, likelihood, rows) - y) <= kWorse * erred)) {
    return "it predicts the rows that were added worse than the model that had not seen them";
  }
  const Split& split = *plan.options.validation;
  const std::string time = split.kind == Split::Kind::last ? time_column_of(table, split) : "";
  const auto& networks = first.encoder.networks;
  const bool images = std::any_of(networks.begin(), networks.end(), [](const auto& each) { return each.image; });
  if (!time.empty() && !images) {
    const Table moved = moved_rows(table, plan, time);
    const at::Tensor before = predicted(first, likelihood, encode(moved, first.encoder, false)),
                     after = predicted(second, likelihood, encode(moved, second.encoder, false));
    if (!(root_mean_square(after - before) <= kFarther * erred)) {
      return "after its last row it departs from the first model by more than that one erred after its own";
    }
  }
  return "";
}

}  // namespace ick
