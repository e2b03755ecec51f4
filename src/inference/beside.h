#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ick/inference/function_posterior.h"
#include "inference/engines.h"
#include "inference/neighbour_process.h"

// Neighbours beside networks. What features miss of kernels that stand alone in a sum with networks, and whatever else
// of residuals goes by these kernels:
//   f(x) = g(x) + r(x),   g the trained ensemble,   r ~ GP(0, k) given residuals of rows that g had not seen
// k has the kernels of these terms with parameters of its own. Networks and neighbours are taken as independent:
//   mean = mean of g + mean of r,   variance = spread of g + what features miss of other terms + var r (1 + m / k),
// m what features miss of the terms of k: counted by the share of k that neighbours leave unknown.
namespace ick {

// Networks are trained without the rows of each of so many folds in turn; unasked, with so many training rows.
inline constexpr int kBesideFolds = 5;
inline constexpr std::int64_t kFewestBeside = 200, kMostBeside = 50'000;

// The terms of a spec without networks that neighbours can carry. Empty when there are none beside networks.
std::vector<std::size_t> terms_beside(const ModelSpec& spec);

// A Gaussian process of residuals, measured in their own standard deviation.
struct ResidualProcess {
  std::vector<std::size_t> terms;  // whose kernels it has
  std::shared_ptr<const Model> model;
  std::shared_ptr<const NeighbourProcess> process;
  double unit = 1.0;  // standardised units of the target

  FunctionMoments at(const at::Tensor& x, const NeighbourSearch::Admits& admits = {}) const;  // standardised
  // At rows of each fold, given the residuals of all rows but those of its cells; see FunctionPosterior::left_out().
  std::vector<FunctionMoments> left_out(const std::vector<std::int64_t>& cell_of,
                                        const std::vector<LeftOut>& folds) const;
};

// mean of g + mean of r, with the variances of the formula above: moments of networks with those of neighbours at x.
FunctionMoments together(const Model& model, const ResidualProcess& residuals, const FunctionMoments& of_networks,
                         const FunctionMoments& near, const at::Tensor& x);

// Parameters by marginal likelihood given neighbours, then conditioned on all rows. `residuals` (n) are standardised.
// What the formula states of lengthscales and periods is held. A variance that it states is that of the whole term, of
// which residuals have a part: it is learned, up to the variance of the residuals.
ResidualProcess fit_residuals(const ModelSpec& spec, const std::vector<std::size_t>& terms, const Encoder& encoder,
                              const Dataset& rows, const at::Tensor& residuals, std::uint64_t seed,
                              const std::function<void()>& tick = {});

// An ensemble with neighbours.
std::shared_ptr<const FunctionPosterior> with_neighbours(std::shared_ptr<const Model> model, ResidualProcess residuals);
// The same from what tensors() kept; DataError when it is not whole. Null when nothing was kept.
std::shared_ptr<const FunctionPosterior> restore_neighbours(std::shared_ptr<const Model> model, const Encoder& encoder,
                                                            const TensorState& tensors);

// The residuals that neighbours predict; null for an ensemble without.
const ResidualProcess* residuals_beside(const FunctionPosterior& posterior);

// The trained ensemble, with neighbours where they are asked for or predict rows left out better.
std::shared_ptr<const FunctionPosterior> ensemble_or_neighbours(Stage& stage, const StageRun& run);

}  // namespace ick
