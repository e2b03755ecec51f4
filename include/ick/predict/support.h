#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ick/dataset/encoder.h"
#include "ick/feature/feature_map.h"
#include "ick/model/model.h"
#include "ick/predict/prediction.h"

namespace ick {

// What one source of the kernels, a column or a place, knows of a row: by the share of a kernel's variance that
// training rows leave unexplained,
//   r(x) = 1 - k(x, Z) K(Z, Z)^-1 k(Z, x) / k(x, x),   Z some training rows,
// the largest over the kernels that read these columns. Inside: no more than training rows themselves have. From half
// way between that and one on, extrapolating. Unknown where a column is missing, or Z is too coarse for a kernel to
// explain training rows. A kernel that repeats, or is linear, reaches further than its data.
class SupportSource {
 public:
  const std::string& name() const { return name_; }   // "date", "lat, lon"
  at::Tensor unexplained(const at::Tensor& x) const;  // r: (n) in float64
  std::vector<Support> operator()(const at::Tensor& x) const;

 private:
  friend std::vector<SupportSource> make_support(const Model&, const Encoder&, const Dataset&, std::uint64_t);
  friend std::vector<SupportSource> restore_support(const Model&, const Encoder&, const TensorState&);
  friend TensorState support_state(const std::vector<SupportSource>&);

  std::string name_;
  std::vector<std::shared_ptr<const FeatureMap>> maps_;  // one for each kernel
  double usual_ = 0.0;                                   // r of nearly all training rows
};

std::vector<SupportSource> make_support(const Model& model, const Encoder& encoder, const Dataset& training,
                                        std::uint64_t seed);
TensorState support_state(const std::vector<SupportSource>& sources);
// DataError when tensors are missing or do not fit.
std::vector<SupportSource> restore_support(const Model& model, const Encoder& encoder, const TensorState& state);

}  // namespace ick
