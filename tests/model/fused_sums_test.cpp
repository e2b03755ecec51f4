#include "model/fused_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ick/base/seed.h"
#include "net/float_rows.h"

namespace ick {
namespace {

// Against the sums written out in float64, for rows that fill registers and that do not.
TEST(FusedSums, AreTheSums) {
  Random random(7);
  for (const int rows : {1, 3, 4, 13, kChunkRows}) {
    for (const std::int64_t step : {0, 1}) {
      const int p = 7, apart = rows + 2;
      FloatColumns f = float_columns(p);
      std::vector<double> z, variance, missed(rows, 0.5);
      std::vector<float> sum(rows, 0.25F);
      for (float& each : f) each = static_cast<float>(random.normal());
      for (int i = 0; i < p * apart; ++i) z.push_back(random.normal() / std::sqrt(7.0));
      for (int r = 0; r < rows; ++r) variance.push_back(2.0 * random.uniform());  // |z|^2 may be more
      FusedSums sums;
      sums.f = f.data(), sums.z = z.data(), sums.variance = variance.data();
      sums.z_column = apart, sums.variance_step = step;
      sums.features = p, sums.share = 0.7;
      sums.add(rows, sum.data(), missed.data());
      for (int r = 0; r < rows; ++r) {
        double product = 0.0, square = 0.0, explained = 0.0;
        for (int k = 0; k < p; ++k) {
          const double latent = f[k * kRowsApart + r], feature = z[k * apart + r];
          product += latent * feature, square += latent * latent, explained += feature * feature;
        }
        EXPECT_NEAR(sum[r], 0.25 + 0.7 * product, 2e-6);
        EXPECT_NEAR(missed[r], 0.5 + 0.49 * std::max(0.0, variance[step * r] - explained) * square / p, 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace ick
