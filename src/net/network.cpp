#include "ick/net/network.h"

#include "ick/base/error.h"

namespace ick {

std::vector<BilinearFeatures> Network::tangents(const at::Tensor&, const at::Tensor&) const {
  throw UsageError("tangents are known for fully connected networks only; take mlp(...), or do without them");
}

}  // namespace ick
