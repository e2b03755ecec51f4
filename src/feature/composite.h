#pragma once

#include "ick/feature/feature_map.h"

namespace ick {

// Several maps of the same rows, joined: side by side for a sum of kernels, or multiplied element by element (the
// paper's chain, for comparison only).
class JoinedMap final : public FeatureMap {
 public:
  enum class Join { side_by_side, element_by_element };

  JoinedMap(const Kernel& kernel, std::vector<std::unique_ptr<FeatureMap>> maps, Join join, at::ScalarType dtype);

  const Kernel& kernel() const override { return kernel_; }
  std::int64_t features() const override { return features_; }
  at::Tensor evaluate(const at::Tensor& x, at::ScalarType dtype) const override;
  std::vector<at::Tensor> own_parameters() const override;
  MapReport report() const override;
  MapState state() const override;

 private:
  Kernel kernel_;
  std::vector<std::unique_ptr<FeatureMap>> maps_;
  Join join_;
  std::int64_t features_ = 0;
};

}  // namespace ick
