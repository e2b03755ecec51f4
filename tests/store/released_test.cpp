#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "ick/store/model_directory.h"
#include "ick/table/csv.h"

namespace ick {
namespace {

// Models written by the first version of every format, tests/data/make_model.sh: read for ever.
class Released : public testing::TestWithParam<const char*> {};

TEST_P(Released, StillPredictsWhatItDid) {
  const std::string path = std::string(ICK_TESTS_DIR) + "/data/" + GetParam();
  const StoredModel stored = load_model(path);
  EXPECT_TRUE(verify_model(path).passed);
  ReadOptions options;
  options.known = stored.model->columns();
  const Table input = read_table(path + ".input.csv", options), expected = read_table(path + ".expected.csv");
  const Prediction p = stored.model->predict(input, {0.9});
  ASSERT_EQ(p.mean.size(), 60u);
  ASSERT_EQ(expected.rows, 60);
  for (std::size_t i = 0; i < 60; ++i) {
    const auto near = [&](const std::vector<double>& found, const char* column) {
      const double value = expected.column(column).values[i];
      const double scale = std::abs(value) + expected.column("sd").values[i];
      EXPECT_NEAR(found[i], value, 1e-5 * scale) << column << " of row " << i + 1;
    };
    near(p.mean, "mean");
    near(p.sd, "sd");
    near(p.lower, "lower");
    near(p.upper, "upper");
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Released, testing::Values("model_v1", "model_v1_kernels", "model_v3_ranks"));

}  // namespace
}  // namespace ick
