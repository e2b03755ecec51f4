#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ick/base/path.h"
#include "ick/kernel/kernel.h"

namespace ick {

// What a map can say about itself after its last evaluation.
struct MapReport {
  std::string name;           // "nystrom (k-means, 64 points)"
  int jitter_steps = 0;       // rungs climbed above the first, at most over the members
  double largest_jitter = 0;  // relative to the mean diagonal of K(Z, Z)
};

// Tensors by name, on their way to a file or from one.
using MapState = std::vector<std::pair<std::string, at::Tensor>>;

// z(x) with z(x) . z(x') ~ k(x, x'). The kernel's parameters are shared with the map: change them and the features
// follow.
class FeatureMap {
 public:
  explicit FeatureMap(at::ScalarType dtype);  // UsageError unless float32 or float64
  virtual ~FeatureMap() = default;

  virtual const Kernel& kernel() const = 0;
  virtual std::int64_t features() const = 0;  // p

  // x (n, D) in float64 -> (E, n, p), float32 unless asked otherwise, differentiable in the kernel's parameters.
  // DataError for an input that is not finite, NumericError when no features can be had.
  at::Tensor operator()(const at::Tensor& x) const { return evaluate(x, dtype_); }
  virtual at::Tensor evaluate(const at::Tensor& x, at::ScalarType dtype) const = 0;

  // What has a gradient besides the kernel's parameters: inducing points, when they are trained.
  virtual std::vector<at::Tensor> own_parameters() const { return {}; }

  virtual MapReport report() const = 0;

  // What the map holds besides the kernel's parameters: enough to make it again without the training rows. Copies,
  // float64 or int64, none of them empty. In a sum the names begin with "map1.", "map2.", ...
  virtual MapState state() const = 0;

  // k(x, x) - z(x) . z(x), how much of x the features miss: (E, n) in float64, not below zero, no gradient.
  at::Tensor residual(const at::Tensor& x) const;
  at::Tensor residual(const at::Tensor& x, const at::Tensor& z) const;  // z (1 or E, n, p) in float64, known already

 private:
  at::ScalarType dtype_;
};

// (1, n, p) of features (E, n, p) that all members share in memory, having parameters that are alike; else as they are.
at::Tensor shared_by_members(const at::Tensor& z);

enum class MapKind { nystrom, fourier, hilbert };

// Where inducing points are put.
enum class Placement {
  automatic,         // one column: one period for a periodic kernel alone, else a grid; several: k-means; with levels,
                     // where a repeating kernel shares its one column, or where points are as many as the rank of the
                     // kernel: pivoted Cholesky
  grid,              // evenly over the range of one column
  one_period,        // evenly over one period, following the period as it is learned; a cosine: a quarter of one
  kmeans,            // the training rows nearest to the centres of k-means
  pivoted_cholesky,  // training rows drawn in proportion to what is not yet explained
};

enum class Draws { orthogonal, independent };

struct MapOptions {
  MapKind kind = MapKind::nystrom;
  std::int64_t features = 64;  // p for each term of the sum; a map may use fewer (see features()): a Nystrom map no
                               // more than the rank of the kernel
  Placement placement = Placement::automatic;
  bool train_points = false;
  double explained = 0.0;  // pivoted Cholesky places no further point when no row has more than this share left
  Draws draws = Draws::orthogonal;  // draws of random Fourier features
  double boundary = 1.5;            // Hilbert features: half-width of the box over that of the data, at least; the box
                                    // also reaches beyond the data by some lengthscales of the start
  Path path = Path::fused;
  at::ScalarType dtype = at::kFloat;
  std::uint64_t seed = 0;
};

// A map for a kernel expression: one map per term on its joined inputs, features of the terms side by side. `x` (n, D)
// are training rows: they say where the inputs live.
std::unique_ptr<FeatureMap> make_feature_map(const Kernel& kernel, const at::Tensor& x, const MapOptions& options = {});

// The map that `state` was taken from, for the same kernel expression, centres of columns and options; with equal
// parameters its features are equal bit for bit. DataError when the tensors do not fit. Chained maps cannot be restored.
std::unique_ptr<FeatureMap> restore_feature_map(const Kernel& kernel, const MapOptions& options, const MapState& state);

// For comparison only: the paper's product of features, one map for each kernel, multiplied element by element. Its
// covariance is NOT the product of the kernels. Terms are side by side as above. UsageError when the kernels of a
// product get different numbers of features.
std::unique_ptr<FeatureMap> make_chained_map(const Kernel& kernel, const at::Tensor& x, const MapOptions& options = {});

}  // namespace ick
