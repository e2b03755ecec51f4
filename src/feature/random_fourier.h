#pragma once

#include "feature/state.h"
#include "ick/feature/feature_map.h"
#include "kernel/spectrum.h"

namespace ick {

// Random Fourier features of one product of stationary kernels on its joined inputs:
//   z(x) = sqrt(w_c / m_c) [cos(omega_i . x), sin(omega_i . x)],  i = 1 .. m_c, for each component c of the spectrum.
// A product's frequencies are sums of its factors' frequencies. Kernels whose frequencies are known (periodic, cosine,
// constant) use them; nothing is drawn.
class RandomFourierMap final : public FeatureMap {
 public:
  RandomFourierMap(const Kernel& product, const at::Tensor& x, const MapOptions& options);
  RandomFourierMap(const Kernel& product, const StateReader& state, const MapOptions& options);

  const Kernel& kernel() const override { return kernel_; }
  std::int64_t features() const override { return 2 * frequencies_; }
  at::Tensor evaluate(const at::Tensor& x, at::ScalarType dtype) const override;
  MapReport report() const override;
  // C components of F factors with m frequencies in all: "centre" (D), "part" and "sign" (C, F), "share" and "count"
  // (C), the standard draws "normal" (m, drawn inputs) and "uniform" (m, factors with a random scale).
  MapState state() const override;

 private:
  // One component of each factor, and the frequencies drawn for the combination.
  struct Component {
    std::vector<int> part;             // component of each factor
    std::vector<double> sign;          // of its frequencies
    double share = 1.0;                // 1/2 for each factor with both signs; 1 / probability if it was drawn
    double weight = 0.0;               // at the start, to share out the frequencies
    std::int64_t count = 1;            // m_c
    std::vector<SpectralDraws> draws;  // of each factor
  };

  RandomFourierMap(const Kernel& product, const MapOptions& options);  // without components yet
  int most_harmonics() const;                                          // of a series
  std::vector<Component> combinations(const at::Tensor& parameters, int harmonics) const;
  void share_out(std::vector<Component>& components, std::int64_t pairs, std::uint64_t seed) const;
  void draw(Component& component, std::uint64_t seed) const;
  void deal(Component& component, const at::Tensor& normal, const at::Tensor& uniform) const;
  void count_up();

  Kernel kernel_;
  MapOptions options_;
  std::vector<at::Tensor> centres_;  // of each factor's inputs: phases count from there
  std::vector<Component> components_;
  std::vector<int> parts_;  // components of each factor's spectrum
  std::int64_t frequencies_ = 0;
};

// (m, D) standard normal numbers. Orthogonal: blocks of D rows at right angles, lengths drawn one from each of m equal
// shares of their distribution; in one dimension these are quantiles of the normal.
at::Tensor standard_normals(std::int64_t m, std::int64_t inputs, Draws draws, Random& random);

}  // namespace ick
