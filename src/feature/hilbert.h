#pragma once

#include "feature/state.h"
#include "ick/feature/feature_map.h"

namespace ick {

// Hilbert-space features (Solin and Sarkka 2020) of one product of stationary kernels on different columns, up to three
// inputs in all. On the box |x - centre| <= L:
//   z_j(x) = sqrt(S(w_j)) prod_d L_d^-1/2 sin(w_jd (x_d - centre_d + L_d)),  w_jd = pi j_d / (2 L_d)
// The basis does not depend on the parameters, only the spectral weights do; there is no Cholesky factor. A periodic,
// cosine or constant kernel contributes its exact Fourier series instead.
class HilbertMap final : public FeatureMap {
 public:
  HilbertMap(const Kernel& product, const at::Tensor& x, const MapOptions& options);
  HilbertMap(const Kernel& product, const StateReader& state, const MapOptions& options);

  const Kernel& kernel() const override { return kernel_; }
  std::int64_t features() const override { return features_; }
  at::Tensor evaluate(const at::Tensor& x, at::ScalarType dtype) const override;
  MapReport report() const override;
  MapState state() const override;  // "centre" and "half_width" of all factors, one after the other

 private:
  struct Basis {
    at::Tensor centre;       // (D)
    at::Tensor half_width;   // (D): L; (0) for a series
    at::Tensor frequencies;  // (J, D): w_j
    int harmonics = 0;       // of a series; 0 for a sine basis
  };

  HilbertMap(const Kernel& product, const MapOptions& options);  // without bases yet
  void add_basis(const Factor& f, const at::Tensor& centre, const at::Tensor& half_width);

  at::Tensor sine_features(const Factor& f, const Basis& basis, const at::Tensor& parameters,
                           const at::Tensor& x) const;
  at::Tensor series_features(const Factor& f, const Basis& basis, const at::Tensor& parameters,
                             const at::Tensor& x) const;

  Kernel kernel_;
  std::int64_t per_input_ = 1;  // basis functions
  std::vector<Basis> bases_;    // of each factor
  std::int64_t features_ = 1;
};

}  // namespace ick
