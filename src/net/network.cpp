#include "ick/net/network.h"

#include <algorithm>

#include "ick/base/error.h"

namespace ick {

at::Tensor find_tensor(const TensorState& state, std::string_view path) {
  const auto found = std::find_if(state.begin(), state.end(), [&](const auto& each) { return each.first == path; });
  return found == state.end() ? at::Tensor() : found->second;
}

std::vector<BilinearFeatures> Network::tangents(const at::Tensor&, const at::Tensor&) const {
  throw UsageError("tangents are known for fully connected networks only; take mlp(...), or do without them");
}

}  // namespace ick
