#include "train/last_layer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ick/base/seed.h"
#include "train/evidence.h"

namespace ick {

namespace {

constexpr std::int64_t kMostRows = 3000;     // of the solution over rows: n^2 numbers, n^3 / 3 products
constexpr std::int64_t kMostWeights = 2100;  // of the solution over weights
constexpr std::int64_t kEvidenceRows = 600;  // that v and lambda are found on
constexpr std::int64_t kBlock = 4096;

// The last layers of one member on some rows, in float64.
struct Layers {
  std::vector<at::Tensor> phi, z;  // (n, H + 1) or undefined, (n, p)
  double share = 1.0;

  std::int64_t rows() const { return z[0].size(0); }

  // What a weight's prior variance is multiplied with.
  double scale(std::size_t t) const { return phi[t].defined() ? 1.0 / static_cast<double>(phi[t].size(1)) : 1.0; }

  // (n, n): 1 + share sum_t scale_t (phi phi') . (z z')
  at::Tensor gram() const {
    at::Tensor total = at::ones({rows(), rows()}, at::kDouble);
    for (std::size_t t = 0; t < z.size(); ++t) {
      at::Tensor part = z[t].matmul(z[t].t());
      if (phi[t].defined()) part = part * phi[t].matmul(phi[t].t());
      total += share * scale(t) * part;
    }
    return total;
  }

  // (n, P): the features whose products gram() holds, the bias last
  at::Tensor features() const {
    std::vector<at::Tensor> blocks;
    for (std::size_t t = 0; t < z.size(); ++t) {
      const at::Tensor block =
          phi[t].defined() ? (phi[t].unsqueeze(2) * z[t].unsqueeze(1)).reshape({rows(), -1}) : z[t];
      blocks.push_back(std::sqrt(share * scale(t)) * block);
    }
    blocks.push_back(at::ones({rows(), 1}, at::kDouble));
    return at::cat(blocks, 1);
  }
};

Layers member_of(const std::vector<Model::LastLayer>& all, std::int64_t member, double share) {
  Layers layers;
  layers.share = share;
  for (const Model::LastLayer& each : all) {
    layers.phi.push_back(each.phi.defined() ? each.phi[member].to(at::kDouble) : at::Tensor());
    layers.z.push_back(each.z[member].to(at::kDouble));
  }
  return layers;
}

std::vector<Model::LastLayer> layers_of(const Model& model, const Dataset& rows, std::int64_t first,
                                        std::int64_t count) {
  Batch batch{rows.x.narrow(0, first, count), {}, {}};
  for (const at::Tensor& each : rows.networks) batch.networks.push_back(each.narrow(0, first, count));
  return model.last_layers(batch);
}

std::int64_t weights_of(const std::vector<Model::LastLayer>& layers) {
  std::int64_t count = 1;
  for (const Model::LastLayer& each : layers) {
    count += each.z.size(2) * (each.phi.defined() ? each.phi.size(2) : 1);
  }
  return count;
}

// The lambda that makes y ~ N(0, v (G + lambda I)) most likely, v at its best for each: from eigenvalues of G, on a
// grid with ten steps to a factor of ten.
double best_lambda(const at::Tensor& gram, const at::Tensor& y) {
  const auto [values, vectors] = at::linalg_eigh(gram);
  const at::Tensor turned = vectors.t().mv(y).square();
  const double size = gram.diagonal().mean().item<double>();
  const auto n = static_cast<double>(y.size(0));
  double best = size, lowest = HUGE_VAL;
  for (double power = -6.0; power <= 1.0; power += 0.1) {
    const double lambda = size * std::pow(10.0, power);
    const at::Tensor total = values.clamp_min(0.0) + lambda;
    const double cost = n * std::log((turned / total).sum().item<double>()) + total.log().sum().item<double>();
    if (cost < lowest) lowest = cost, best = lambda;
  }
  return best;
}

// W of each term from the weights of features(), in their order.
std::vector<at::Tensor> split(const at::Tensor& weights, const Layers& layers) {
  std::vector<at::Tensor> parts;
  std::int64_t first = 0;
  for (std::size_t t = 0; t < layers.z.size(); ++t) {
    const std::int64_t p = layers.z[t].size(1), h = layers.phi[t].defined() ? layers.phi[t].size(1) : 1;
    // features() carry T^-1/2, which the model applies by itself
    const at::Tensor part = std::sqrt(layers.scale(t)) * weights.narrow(0, first, h * p);
    parts.push_back(layers.phi[t].defined() ? part.view({h, p}) : part);
    first += h * p;
  }
  return parts;
}

void solve_over_rows(Model& model, std::int64_t member, const Layers& layers, const at::Tensor& y, double lambda) {
  at::Tensor matrix = layers.gram();
  matrix.diagonal().add_(lambda);
  const at::Tensor alpha = at::cholesky_solve(y.unsqueeze(1), lower_factor(matrix));  // (n, 1)
  std::vector<at::Tensor> weights;
  for (std::size_t t = 0; t < layers.z.size(); ++t) {
    const at::Tensor weighted = std::sqrt(layers.share) * layers.scale(t) * alpha * layers.z[t];  // (n, p)
    weights.push_back(layers.phi[t].defined() ? layers.phi[t].t().matmul(weighted) : weighted.sum(0));
  }
  model.set_last_layers(member, weights, alpha.sum().item<double>());
}

void solve_over_weights(Model& model, const Dataset& rows, std::int64_t member, double lambda) {
  at::Tensor a, b;
  Layers last;
  for (std::int64_t first = 0; first < rows.size(); first += kBlock) {
    const std::int64_t count = std::min(kBlock, rows.size() - first);
    last = member_of(layers_of(model, rows, first, count), member, model.spec().share());
    const at::Tensor features = last.features();
    if (!a.defined()) {
      a = lambda * at::eye(features.size(1), at::kDouble);
      b = at::zeros({features.size(1)}, at::kDouble);
    }
    a.addmm_(features.t(), features);
    b.addmv_(features.t(), rows.y.narrow(0, first, count));
  }
  const at::Tensor weights = at::cholesky_solve(b.unsqueeze(1), lower_factor(a)).squeeze(1);
  model.set_last_layers(member, split(weights, last), weights[-1].item<double>());
}

Dataset some_rows(const Dataset& rows, std::int64_t count, std::uint64_t seed) {
  if (rows.size() <= count) return rows;
  Random random(seed_for(seed, "last layer rows"));
  std::vector<std::int64_t> index(rows.size());
  std::iota(index.begin(), index.end(), 0);
  for (std::int64_t i = 0; i < count; ++i) std::swap(index[i], index[i + random.below(rows.size() - i)]);
  index.resize(count);
  return rows.select(at::tensor(index, at::kLong));
}

}  // namespace

bool solve_last_layers(Model& model, const Dataset& rows, std::uint64_t seed) {
  at::NoGradGuard no_grad;
  const bool over_rows = rows.size() <= kMostRows;
  const Dataset few = some_rows(rows, kEvidenceRows, seed);
  const std::vector<Model::LastLayer> of_few = layers_of(model, few, 0, few.size());
  if (!over_rows && weights_of(of_few) > kMostWeights) return false;
  const std::vector<Model::LastLayer> of_all = over_rows ? layers_of(model, rows, 0, rows.size()) : of_few;
  for (std::int64_t e = 0; e < model.members(); ++e) {
    const double lambda = best_lambda(member_of(of_few, e, model.spec().share()).gram(), few.y);
    if (over_rows) {
      solve_over_rows(model, e, member_of(of_all, e, model.spec().share()), rows.y, lambda);
    } else {
      solve_over_weights(model, rows, e, lambda);
    }
  }
  return true;
}

}  // namespace ick
