#include "ick/predict/exact_process.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/inference/draw.h"
#include "ick/inference/neural_kernel.h"
#include "inference/bilinear.h"
#include "inference/engines.h"

namespace ick {

namespace {

DensePrior prior_of(const Network& network) {
  const std::optional<DensePrior> prior = network.dense_prior();
  if (!prior) throw UsageError("the exact process is known for fully connected networks only");
  return *prior;
}

// The NTK of a product of networks is not the product of their NTKs.
void check_networks(const Model::TermParts& parts, const Engine& engine) {
  if (engine.tangent && parts.networks.size() > 1) {
    throw UsageError("the exact process of an ntk is known for one network in each term");
  }
}

// In blocks of the matrix: the recursion needs it.
at::Tensor ntk_diagonal(const DensePrior& prior, const at::Tensor& x) {
  constexpr std::int64_t kBlock = 64;
  at::Tensor all = at::empty({x.size(0)}, at::kDouble);
  for (std::int64_t first = 0; first < x.size(0); first += kBlock) {
    const at::Tensor some = x.narrow(0, first, std::min(kBlock, x.size(0) - first));
    all.narrow(0, first, some.size(0)).copy_(neural_kernels(prior, some, some).ntk.diagonal());
  }
  return all;
}

CompositePredictor solved_again(const CompositePredictor& model, const Dataset& training, double s2) {
  CompositePredictor again = model;
  auto own = std::make_shared<Model>(model.spec(), model.encoder, model.model().state(), model.options);
  const LastingNoise lasting = model.posterior->lasting();
  again.posterior = lasting.lasts()
                        ? solve_features(std::move(own), training, s2, lasting)
                        : model.posterior->engine().solve_again(std::move(own), training, model.posterior->amplitude(),
                                                                s2, model.options.seed);
  return again;
}

}  // namespace

at::Tensor ExactProcess::covariance(const Dataset& a, const Dataset& b) const {
  at::NoGradGuard no_grad;
  const Model& model = model_.model();
  const Engine& engine = model_.posterior->engine();
  at::Tensor total = at::full({a.size(), b.size()}, engine.has_bias ? 1.0 : 0.0, at::kDouble);
  for (std::size_t t = 0; t < model.spec().terms.size(); ++t) {
    const Model::TermParts parts = model.parts_of(t);
    check_networks(parts, engine);
    at::Tensor product = at::full({}, model.spec().share(), at::kDouble);
    for (std::size_t i = 0; i < parts.networks.size(); ++i) {
      const NeuralKernels kernels =
          neural_kernels(prior_of(*parts.networks[i]), a.networks[parts.sources[i]], b.networks[parts.sources[i]]);
      if (engine.tangent && !kernels.ntk.defined()) {
        throw UsageError("a network with a layer norm has no ntk in closed form");
      }
      product = product * (engine.tangent ? kernels.ntk : kernels.nngp);
    }
    if (parts.kernel) product = product * parts.kernel->matrix(a.x, b.x).mean(0);
    total = total + product;
  }
  return amplitude_ * total;
}

at::Tensor ExactProcess::variance(const Dataset& rows) const {
  at::NoGradGuard no_grad;
  const Model& model = model_.model();
  const Engine& engine = model_.posterior->engine();
  at::Tensor total = at::full({rows.size()}, engine.has_bias ? 1.0 : 0.0, at::kDouble);
  for (std::size_t t = 0; t < model.spec().terms.size(); ++t) {
    const Model::TermParts parts = model.parts_of(t);
    at::Tensor product = at::full({}, model.spec().share(), at::kDouble);
    for (std::size_t i = 0; i < parts.networks.size(); ++i) {
      const DensePrior prior = prior_of(*parts.networks[i]);
      const at::Tensor& x = rows.networks[parts.sources[i]];
      product = product * (engine.tangent ? ntk_diagonal(prior, x) : nngp_diagonal(prior, x));
    }
    if (parts.kernel) product = product * parts.kernel->diagonal(rows.x).mean(0);
    total = total + product;
  }
  return amplitude_ * total;
}

std::pair<at::Tensor, at::Tensor> ExactProcess::posterior(const Dataset& training, const at::Tensor& noise,
                                                          const Dataset& rows) const {
  at::NoGradGuard no_grad;
  const LastingNoise lasting = model_.posterior->lasting();
  const at::Tensor errors = lasting.lasts() ? noise.sqrt().unsqueeze(1) * noise.sqrt() *
                                                  covariance_of(lasting, training.x.select(1, lasting.column))
                                            : noise.diag();
  const at::Tensor factor = lower_factor(covariance(training, training) + errors);
  const at::Tensor cross = covariance(training, rows);                            // (n, m)
  const at::Tensor whitened = at::linalg_solve_triangular(factor, cross, false);  // (n, m)
  const at::Tensor y = at::linalg_solve_triangular(factor, training.y.unsqueeze(1), false);
  const at::Tensor mean = whitened.t().matmul(y).squeeze(1);
  return {mean, (variance(rows) - whitened.square().sum(0)).clamp_min(0.0)};
}

Comparison compare_with_exact(const CompositePredictor& model, const Table& table, const Dataset& training,
                              const Dataset& compared, bool solve_again) {
  const bool closed_form = !model.posterior->engine().trains;
  const double s2 = model.solved_noise * model.solved_noise;
  CompositePredictor own = solve_again && closed_form ? solved_again(model, training, s2) : model;
  own.calibration = {};
  const at::Tensor noise = at::full({training.size()}, s2, at::kDouble);
  double amplitude = own.posterior->amplitude();
  if (!closed_form) {  // trained networks have no prior of a size of their own
    const at::Tensor gram = ExactProcess(own, 1.0).covariance(training, training);
    amplitude = find_scales(gram, training.y, s2).amplitude;
  }
  const auto [exact_mean, exact_variance] = ExactProcess(own, amplitude).posterior(training, noise, compared);
  const auto [mean, variance] = own.predict_function(compared);
  // a row whose noise is unknown has that of the others
  const at::Tensor compared_noise = own.noise_variance(table, compared).nan_to_num(s2);

  Comparison result;
  result.training_rows = training.size();
  result.rows = compared.size();
  result.same_rows = !solve_again || closed_form;
  const auto rms = [](const at::Tensor& each) { return each.square().mean().sqrt().item<double>(); };
  const Scaling& scaling = own.encoder.target_scaling;
  result.mean_difference = scaling.sd * rms(mean - exact_mean);
  result.relative_difference = rms((mean - exact_mean) / (exact_variance + compared_noise).sqrt());
  const at::Tensor ratio = (variance / exact_variance.clamp_min(1e-300)).sqrt();
  result.sd_ratio = ratio.mean().item<double>();
  result.sd_difference = (ratio - 1.0).abs().mean().item<double>();
  result.scored = compared.y.defined();
  if (!result.scored) return result;
  const auto scores = [&](const at::Tensor& m, const at::Tensor& v) {
    const Prediction p = own.in_units(m, v, compared_noise, 0.9, compared.row_offset());
    return score(own.predictive(), own.observed(table, compared), p.location, p.scale, {scaling.mean, scaling.sd});
  };
  result.model = scores(mean, variance);
  result.exact = scores(exact_mean, exact_variance);
  return result;
}

Table points_between(const Table& table, const std::vector<std::int64_t>& rows, const std::vector<ColumnInfo>& columns,
                     std::int64_t count, std::uint64_t seed) {
  constexpr int kLooks = 16;  // rows of which the nearest is taken
  struct Measured {
    const Column* from;
    double scale;  // 1 / variance
  };
  std::vector<Measured> measured;
  for (const ColumnInfo& info : columns) {
    const Column& column = table.column(info.name);
    if (column.info.type == ColumnType::category || column.info.type == ColumnType::text) continue;
    double sum = 0.0, squares = 0.0, known = 0.0;
    for (const std::int64_t row : rows) {
      const double value = column.values[row];
      if (std::isfinite(value)) known += 1.0, sum += value, squares += value * value;
    }
    const double variance = known > 0.0 ? squares / known - (sum / known) * (sum / known) : 0.0;
    measured.push_back({&column, variance > 0.0 ? 1.0 / variance : 0.0});
  }
  Random random(seed);
  const auto any = [&] { return rows[static_cast<std::size_t>(random.below(std::ssize(rows)))]; };
  std::vector<std::int64_t> first, second;
  std::vector<double> shares;
  for (std::int64_t i = 0; i < count; ++i) {
    first.push_back(any()), second.push_back(first.back());
    double nearest = std::numeric_limits<double>::infinity();
    for (int look = 0; look < kLooks; ++look) {
      const std::int64_t other = any();
      double distance = 0.0;
      for (const Measured& each : measured) {
        const double apart = each.from->values[other] - each.from->values[first.back()];
        if (std::isfinite(apart)) distance += each.scale * apart * apart;
      }
      if (other != first.back() && distance > 0.0 && distance < nearest) nearest = distance, second.back() = other;
    }
    shares.push_back(random.uniform());
  }
  Table points = select_rows(table, first);
  for (const Measured& each : measured) {
    const auto place = static_cast<std::size_t>(each.from - table.columns.data());
    std::vector<double> values;
    for (std::size_t i = 0; i < first.size(); ++i) {
      const double from = each.from->values[first[i]], to = each.from->values[second[i]];
      values.push_back(std::isfinite(to) ? from + shares[i] * (to - from) : from);
    }
    points.columns[place].values = std::move(values);
  }
  return points;
}

}  // namespace ick
