#pragma once

#include <vector>

namespace ick {

// What the rows say of the raw numbers of kernel parameters where a search has ended: normal about the mode, by the
// curvature of the posterior there (Laplace). `sd` is not a number where it is not known.
struct RawSpread {
  std::vector<double> mode, sd;  // of each; empty: nothing is known
};

}  // namespace ick
