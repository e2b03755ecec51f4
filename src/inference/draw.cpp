#include "ick/inference/draw.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "ick/base/seed.h"
#include "inference/bilinear.h"
#include "inference/last_layers.h"

namespace ick {

namespace {

constexpr double kChunkBytes = 5e8;    // of work for the members that are solved at once
constexpr double kBlockNumbers = 2e7;  // hidden units of all members and some rows

// Of each pair a factor of its weights' prior covariance, I = F F', for the left side: (E, I, I); undefined: one.
using LeftFactors = std::vector<at::Tensor>;

// What the model multiplies with the weights that are learned.
class Rows {
 public:
  Rows(const Model& model, LinearKind kind, LayerPrior prior, const Dataset& rows, LeftFactors factors = {})
      : model_(model), kind_(kind), prior_(prior), rows_(rows), factors_(std::move(factors)) {
    one_row_ = of_all_members(batch_of(rows, 0, 1));
    weights_ = weights_of(one_row_);
    for (const BilinearFeatures& each : one_row_) {
      numbers_ += each.right.size(2) + (each.left.defined() ? each.left.size(2) : 0);
    }
  }

  std::int64_t weights() const { return weights_; }
  std::int64_t size() const { return rows_.size(); }

  // Whether what a member makes of all rows fits into memory; else it is made again for each pass over them. Few rows
  // are solved for by a factor over them, whatever they take.
  bool fits() const { return bytes_of_rows() <= kChunkBytes || size() <= kMostFactored; }

  // Members that fit into memory together.
  std::int64_t chunk() const {
    const auto p = static_cast<double>(weights_);
    const double fewer = fits() ? std::min(p, static_cast<double>(size())) : p;
    const double factored = fewer <= static_cast<double>(kMostFactored) ? 3.0 * fewer * fewer : fits() ? 0.0 : 8.0 * p;
    const double bytes = (fits() ? bytes_of_rows() : 0.0) + 8.0 * factored;
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(kChunkBytes / bytes), 1, model_.members());
  }

  // Features of some members, in float64, (C, B, .), with y (B): all rows in order, a block at a time.
  template <class Visit>
  void each_block(std::int64_t first, std::int64_t count, Visit visit) const {
    const double per_row = static_cast<double>(model_.members() * numbers_);
    const auto step =
        rows_.block(std::clamp<std::int64_t>(static_cast<std::int64_t>(kBlockNumbers / per_row), 16, 8192));
    for (std::int64_t row = 0; row < size(); row += step) {
      const Batch batch = batch_of(rows_, row, std::min(step, size() - row));
      visit(of_members(batch, first, count), batch.y);
    }
  }

  // The same, of all rows at once.
  Pairs of_members(std::int64_t first, std::int64_t count) const {
    std::vector<Pairs> blocks;
    each_block(first, count, [&](Pairs pairs, const at::Tensor&) { blocks.push_back(std::move(pairs)); });
    return joined(blocks);
  }

  PairWeights split_weights(const at::Tensor& w) const { return split(w, one_row_); }  // (C, P)

 private:
  double bytes_of_rows() const { return 16.0 * static_cast<double>(size()) * static_cast<double>(numbers_); }

  Pairs of_all_members(const Batch& batch) const {
    return kind_ == LinearKind::nngp ? model_.last_layers(batch, prior_) : model_.tangents(batch);
  }

  Pairs of_members(const Batch& batch, std::int64_t first, std::int64_t count) const {
    Pairs pairs = of_all_members(batch);
    for (std::size_t b = 0; b < pairs.size(); ++b) {
      BilinearFeatures& each = pairs[b];
      if (each.left.defined()) each.left = narrowed(each.left, first, count);
      if (b < factors_.size() && factors_[b].defined()) {
        each.left = each.left.matmul(factors_[b].narrow(0, first, count));
      }
      each.right = narrowed(each.right, first, count);
    }
    return pairs;
  }

  // Kernels that members share have one leading axis for all.
  static at::Tensor narrowed(const at::Tensor& all, std::int64_t first, std::int64_t count) {
    const at::Tensor some = all.size(0) == 1 ? all.expand({count, -1, -1}) : all.narrow(0, first, count);
    return some.to(at::kDouble);
  }

  const Model& model_;
  LinearKind kind_;
  LayerPrior prior_;
  const Dataset& rows_;
  LeftFactors factors_;
  Pairs one_row_;  // for their widths
  std::int64_t weights_ = 0, numbers_ = 0;
};

// Normal numbers of members first, first + 1, ..., as many as are asked for at a time: every other member has those of
// the one before with the opposite sign.
class MirroredNormals {
 public:
  MirroredNormals(std::int64_t first, std::int64_t members, std::uint64_t seed, const std::string& path)
      : first_(first), members_(members) {
    for (std::int64_t e = first - first % 2; e < first + members; e += 2) {
      random_.emplace_back(seed_for(seed, path + "#" + std::to_string(e)));
    }
  }

  at::Tensor next(std::int64_t count) {  // (C, count)
    at::Tensor draws = at::empty({2 * std::ssize(random_), count}, at::kDouble);
    for (std::size_t pair = 0; pair < random_.size(); ++pair) {
      const at::Tensor drawn = draws[2 * static_cast<std::int64_t>(pair)];
      for (double *to = drawn.data_ptr<double>(), *end = to + count; to != end; ++to) *to = random_[pair].normal();
      draws[2 * static_cast<std::int64_t>(pair) + 1].copy_(-drawn);
    }
    return draws.narrow(0, first_ % 2, members_);
  }

 private:
  std::int64_t first_, members_;
  std::vector<Random> random_;  // of each pair
};

void pair_members(Model& model) {
  const std::int64_t pairs = model.members() / 2;
  const auto pair = [&](const std::vector<NamedTensor>& parameters) {
    for (const NamedTensor& each : parameters) {
      const at::Tensor all = each.value.detach().narrow(0, 0, 2 * pairs);
      all.slice(0, 1, 2 * pairs, 2).copy_(all.slice(0, 0, 2 * pairs, 2));
    }
  };
  pair(model.network_parameters());
  pair(model.kernel_parameters());
}

// Weights of some members for targets that `t` makes of y (B), (C, B), block after block.
template <class Targets>
PairWeights solve(const Rows& features, const Dataset& rows, std::int64_t first, std::int64_t count, Targets t,
                  const at::Tensor& lambda, const at::Tensor& w0, const Tick& tick) {
  const PairWeights start = features.split_weights(w0);
  if (features.fits()) {
    const Pairs pairs = features.of_members(first, count);
    return solve_ridge(pairs, t(rows.targets()), lambda, start, RidgeWay::automatic, tick);
  }
  at::Tensor y;
  const RowBlocks blocks = [&](const VisitPairs& visit) {
    features.each_block(first, count, [&](const Pairs& pairs, const at::Tensor& of_block) {
      if (tick) tick();
      y = of_block;
      visit(pairs);
    });
  };
  return solve_ridge(
      blocks, [&] { return t(y); }, lambda, start, RidgeWay::automatic, tick);
}

// Draws of the posterior for some members.
PairWeights draws(const Rows& features, const Dataset& rows, const Scales& scales, std::int64_t first,
                  std::int64_t count, std::uint64_t seed, const Tick& tick) {
  const double v = scales.amplitude, s2 = scales.noise_variance;
  const at::Tensor prior = std::sqrt(v) * MirroredNormals(first, count, seed, "weights").next(features.weights());
  MirroredNormals noise(first, count, seed, "noise");
  const auto perturbed = [&](const at::Tensor& y) { return y + std::sqrt(s2) * noise.next(y.size(0)); };
  return solve(features, rows, first, count, perturbed, at::full({count, 1}, s2 / v, at::kDouble), prior, tick);
}

// argmin_B |a B - y|^2, a millionth of the mean square of a's columns on the diagonal: columns may be sums of others.
at::Tensor least_squares(const at::Tensor& a, const at::Tensor& y) {  // (C, n, I), (C, n, J) -> (C, I, J)
  constexpr double kRidge = 1e-6;
  at::Tensor square = a.transpose(1, 2).matmul(a);
  square.diagonal(0, 1, 2).add_(kRidge * square.diagonal(0, 1, 2).mean(1, true));
  return at::cholesky_solve(a.transpose(1, 2).matmul(y), lower_factor(square));
}

// Factors of the priors that solve_last_layers() states, from `units` of some rows, the pairs under LayerPrior::even.
// S is one until weights are known.
LeftFactors linear_factors(const Model& model, const Pairs& units, const Dataset& rows, double share,
                           const PairWeights& known) {
  constexpr double kOpen = 0.01;  // of S, for directions that no output has taken
  const Batch batch = batch_of(rows, 0, rows.size());
  LeftFactors factors(units.size());
  for (std::size_t t = 0; t < model.spec().terms.size(); ++t) {
    const Model::TermParts parts = model.parts_of(t);
    if (parts.networks.empty() || !parts.networks[0]->dense_prior()) continue;  // nobody is linear in pixels
    const at::Tensor& left = units[t].left;                                     // (C, n, H + 1)
    const at::Tensor x = batch.networks[parts.sources[0]].to(at::kDouble);
    const at::Tensor one = at::ones({x.size(0), 1}, at::kDouble);
    const at::Tensor linear = at::cat({one, x}, 1).unsqueeze(0).expand({left.size(0), -1, -1});  // (C, n, F + 1)
    const std::int64_t width = linear.size(2), outputs = units[t].right.size(2);
    at::Tensor s = at::eye(width, at::kDouble);
    if (!known.empty() && outputs >= 2 * width) {
      const at::Tensor a = least_squares(linear, left.matmul(known[t]));  // (C, F + 1, p)
      const at::Tensor found = a.matmul(a.transpose(1, 2));
      s = kOpen * s + (1.0 - kOpen) * found / found.diagonal(0, 1, 2).mean(1).view({-1, 1, 1});
    }
    const at::Tensor b = least_squares(left, linear);  // (C, H + 1, F + 1)
    const at::Tensor own = b.matmul(s).matmul(b.transpose(1, 2));
    const at::Tensor size = left.matmul(own).mul(left).sum({1, 2}, true) / left.square().sum({1, 2}, true);
    at::Tensor covariance = share * own / size;
    covariance.diagonal(0, 1, 2).add_(1.0 - share);
    factors[t] = lower_factor(covariance);  // (C, H + 1, H + 1)
  }
  return factors;
}

// Weights of all members at the mean of their posterior, in the coordinates of LayerPrior::even, and the prior.
struct SolvedLayers {
  PairWeights weights;
  LeftFactors factors;
  at::Tensor lambda;  // (E, 1)
};

SolvedLayers posterior_mean(const Model& model, const Dataset& rows, const Dataset& few, const LeftFactors& factors) {
  const Rows features(model, LinearKind::nngp, LayerPrior::even, rows, factors);
  const Rows of_few(model, LinearKind::nngp, LayerPrior::even, few, factors);
  std::vector<std::vector<at::Tensor>> parts;  // of each pair, chunk by chunk
  std::vector<at::Tensor> lambdas;
  for (std::int64_t first = 0, count = features.chunk(); first < model.members(); first += count) {
    count = std::min(count, model.members() - first);
    const at::Tensor grams = [&] {
      const Pairs some = of_few.of_members(first, count);
      return gram(some, some);  // (C, m, m)
    }();
    at::Tensor lambda = at::empty({count, 1}, at::kDouble);
    for (std::int64_t c = 0; c < count; ++c) {
      const Scales scales = find_scales(grams[c], few.y);
      lambda[c] = scales.noise_variance / scales.amplitude;
    }
    lambdas.push_back(lambda);
    const at::Tensor zero = at::zeros({count, features.weights()}, at::kDouble);
    const auto alike = [&](const at::Tensor& y) { return y.unsqueeze(0).expand({count, -1}); };
    const PairWeights solved = solve(features, rows, first, count, alike, lambda, zero, {});
    parts.resize(solved.size());
    for (std::size_t t = 0; t < solved.size(); ++t) {
      const bool turned = t < factors.size() && factors[t].defined();
      parts[t].push_back(turned ? factors[t].narrow(0, first, count).matmul(solved[t]) : solved[t]);
    }
  }
  SolvedLayers solved{{}, factors, at::cat(lambdas)};
  for (const std::vector<at::Tensor>& each : parts) solved.weights.push_back(at::cat(each));
  return solved;
}

SolvedLayers solved_layers(const Model& model, const Dataset& rows, std::uint64_t seed, double linear_share) {
  const Dataset few = rows.select(draw_rows(rows.size(), kEvidenceRows, seed_for(seed, "last layer rows")));
  if (linear_share <= 0.0) return posterior_mean(model, rows, few, {});
  const Pairs units = Rows(model, LinearKind::nngp, LayerPrior::even, few).of_members(0, model.members());
  SolvedLayers solved;
  for (int step = 0; step < 2; ++step) {
    solved = posterior_mean(model, rows, few, linear_factors(model, units, few, linear_share, solved.weights));
  }
  return solved;
}

}  // namespace

// Through the eigenvalues of G: on a grid of lambda with ten steps to a factor of ten, v at its best for each; or,
// where s^2 or v is given, on the same grid of s^2 / v.
Scales find_scales(const at::Tensor& gram, const at::Tensor& y, std::optional<double> noise_variance,
                   std::optional<double> amplitude) {
  if (noise_variance && amplitude) return {*amplitude, *noise_variance};
  const auto [values, vectors] = at::linalg_eigh(gram);
  const at::Tensor eigenvalues = values.clamp_min(0.0), turned = vectors.t().mv(y).square();
  const double size = gram.diagonal().mean().item<double>();
  const auto n = static_cast<double>(y.size(0));
  Scales best;
  double lowest = HUGE_VAL;
  const bool given = noise_variance || amplitude;  // v may then be far from its best
  for (double power = given ? -9.0 : -6.0; power <= (amplitude ? 3.0 : 1.0); power += 0.1) {
    const double lambda = size * std::pow(10.0, power);
    const at::Tensor total = eigenvalues + lambda;
    const double explained = (turned / total).sum().item<double>();
    const double v = amplitude ? *amplitude : noise_variance ? *noise_variance / lambda : explained / n;
    const double cost = n * std::log(v) + total.log().sum().item<double>() + explained / v;
    if (cost < lowest) lowest = cost, best = {v, v * lambda};
  }
  return best;
}

Scales find_scales(const Model& model, LinearKind kind, const Dataset& rows, std::uint64_t seed,
                   std::optional<double> noise_variance, std::optional<double> amplitude) {
  at::NoGradGuard no_grad;
  constexpr std::int64_t kMostMembers = 20;  // of the mean: their Gram matrices differ by the inverse root of the width
  const Dataset few = rows.select(draw_rows(rows.size(), kEvidenceRows, seed_for(seed, "scale rows")));
  const Pairs pairs = Rows(model, kind, LayerPrior::start, few).of_members(0, std::min(kMostMembers, model.members()));
  return find_scales(gram(pairs, pairs).mean(0), few.y, noise_variance, amplitude);
}

void draw_last_layers(Model& model, const Dataset& rows, const Scales& scales, std::uint64_t seed, const Tick& tick) {
  at::NoGradGuard no_grad;
  pair_members(model);
  const Rows features(model, LinearKind::nngp, LayerPrior::start, rows);
  for (std::int64_t first = 0, count = features.chunk(); first < model.members(); first += count) {
    count = std::min(count, model.members() - first);
    if (tick) tick();
    model.set_last_layers(first, draws(features, rows, scales, first, count, seed, tick), LayerPrior::start);
  }
}

std::vector<at::Tensor> draw_tangent_weights(Model& model, const Dataset& rows, const Scales& scales,
                                             std::uint64_t seed, const Tick& tick) {
  at::NoGradGuard no_grad;
  pair_members(model);
  const Rows features(model, LinearKind::ntk, LayerPrior::start, rows);
  std::vector<std::vector<at::Tensor>> parts;  // of each pair, chunk by chunk
  for (std::int64_t first = 0, count = features.chunk(); first < model.members(); first += count) {
    count = std::min(count, model.members() - first);
    if (tick) tick();
    const PairWeights drawn = draws(features, rows, scales, first, count, seed, tick);
    parts.resize(drawn.size());
    for (std::size_t b = 0; b < drawn.size(); ++b) parts[b].push_back(drawn[b].to(at::kFloat));
  }
  std::vector<at::Tensor> weights;
  for (const std::vector<at::Tensor>& each : parts) weights.push_back(at::cat(each));
  return weights;
}

// With many rows descent has taken enough steps to know the last layers by itself; adding up their normal equations,
// n P^2, would take longer than it did.
bool can_solve_last_layers(const Model& model, const Dataset& rows) {
  if (rows.size() > kManyRows) return false;
  const Rows features(model, LinearKind::nngp, LayerPrior::even, rows);
  return std::min(features.size(), features.weights()) <= kMostFactored;
}

double last_layer_work(const Model& model, const Dataset& rows) {
  const Rows features(model, LinearKind::nngp, LayerPrior::even, rows);
  const auto n = static_cast<double>(features.size()), fewer = std::min(n, static_cast<double>(features.weights()));
  return static_cast<double>(model.members()) * n * fewer * fewer;
}

bool solve_last_layers(Model& model, const Dataset& rows, std::uint64_t seed, double linear_share) {
  at::NoGradGuard no_grad;
  if (!can_solve_last_layers(model, rows)) return false;
  model.set_last_layers(0, solved_layers(model, rows, seed, linear_share).weights, LayerPrior::even);
  return true;
}

std::vector<at::Tensor> last_layer_precision(const Model& model, const Dataset& rows, std::uint64_t seed,
                                             double linear_share) {
  const at::NoGradGuard no_grad;
  const SolvedLayers solved = solved_layers(model, rows, seed, linear_share);
  const at::Tensor lambda = solved.lambda.unsqueeze(2);  // (E, 1, 1)
  std::vector<at::Tensor> precision;
  for (std::size_t b = 0; b < solved.weights.size(); ++b) {
    const at::Tensor one = at::eye(solved.weights[b].size(1), at::kDouble).unsqueeze(0);
    const bool turned = b < solved.factors.size() && solved.factors[b].defined();
    precision.push_back(lambda * (turned ? at::cholesky_inverse(solved.factors[b]) : one));
  }
  return precision;
}

}  // namespace ick
