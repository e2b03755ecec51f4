#pragma once

#include <atomic>

#include "feature/inducing.h"
#include "ick/feature/feature_map.h"

namespace ick {

// z(x) = L^-1 k(Z, x), K(Z, Z) + jitter = L L^T, for one product of kernels on its joined inputs.
// The paper's Algorithm 1 takes the Cholesky factor of the inverse of K(Z, Z): the same map on paper, wrong by 0.3
// where this is right to 2e-8.
class NystromMap final : public FeatureMap {
 public:
  NystromMap(const Kernel& product, const at::Tensor& x, const MapOptions& options);
  NystromMap(const Kernel& product, const StateReader& state, const MapOptions& options);

  const Kernel& kernel() const override { return kernel_; }
  std::int64_t features() const override { return points_.z.size(-2); }
  at::Tensor evaluate(const at::Tensor& x, at::ScalarType dtype) const override;
  std::vector<at::Tensor> own_parameters() const override;
  MapReport report() const override;
  MapState state() const override;  // "points", or "turns" and "origin" where they follow the period

  struct Fused;  // what the fast path needs to know besides the tensors

  // Inducing points (p, D), or (E, p, D) when each member has its own: trained, or over a learned period.
  at::Tensor points() const;

 private:
  NystromMap(const Kernel& product, InducingPoints placed, const MapOptions& options);

  at::Tensor reference(const at::Tensor& x) const;  // (E, n, p) in float64

  Kernel kernel_;
  MapOptions options_;
  InducingPoints points_;
  std::shared_ptr<const Fused> fused_;
  mutable std::atomic<int> jitter_steps_ = 0;  // threads may evaluate one map
};

}  // namespace ick
