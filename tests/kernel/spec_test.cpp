#include "ick/kernel/spec.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ick/base/error.h"
#include "table/scratch.h"

namespace ick {
namespace {

KernelSpec spec_of(const std::string& text) { return make_kernel_spec(parse_expression(text).call); }

TEST(KernelSpec, IsWhatTheFormulaSays) {
  const KernelSpec spec = spec_of("rbf(lat, \"the lon\", sphere, lengthscale=fixed(30km), variance=2)");
  EXPECT_EQ(spec.name, "rbf");
  EXPECT_EQ(spec.columns, (std::vector<std::string>{"lat", "the lon"}));
  EXPECT_TRUE(spec.sphere);
  ASSERT_EQ(spec.arguments.size(), 2u);  // the flag is none of them
  EXPECT_EQ(spec.find("sphere"), nullptr);
  EXPECT_EQ(spec.find("lengthscale")->kind, Argument::Kind::fixed);
  EXPECT_EQ(spec.find("variance")->values.at(0).number, 2.0);
  EXPECT_EQ(spec.position, 1u);
  EXPECT_EQ(spec.column_positions, (std::vector<std::size_t>{5, 10}));
  EXPECT_EQ(spec.text, "rbf(lat, \"the lon\", sphere, lengthscale=fixed(30km), variance=2)");
  EXPECT_FALSE(spec_of("rbf(lat, \"sphere\")").sphere);
}

TEST(KernelSpec, Refusals) {
  EXPECT_EQ(message_of<UsageError>([] { spec_of("rbf(lat, lon, sphere=3)"); }),
            "formula column 15: sphere is a word that stands alone, as in rbf(lat, lon, sphere)");
  EXPECT_EQ(message_of<UsageError>([] { spec_of("rbf(t, .)"); }),
            "formula column 1: rbf has \".\" for the columns of a table, and there is no table here; name the columns");
}

TEST(KernelSum, IsMultipliedOut) {
  const KernelSum sum = make_kernel_sum(parse_expression("rbf(t) * (linear(a) + rbf(t))"));
  ASSERT_EQ(sum.size(), 2u);
  EXPECT_EQ(print(sum), "rbf(t) * linear(a) + rbf(t) * rbf(t)");
  EXPECT_EQ(sum[0][0].id, sum[1][0].id);
  EXPECT_NE(sum[1][0].id, sum[1][1].id);
  EXPECT_EQ(print(KernelSum{}), "");
}

}  // namespace
}  // namespace ick
