#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ick/base/error.h"
#include "ick/kernel/table.h"
#include "support/feature_case.h"

// What a map says when it cannot go on.
namespace ick {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Variant {
  MapKind kind;
  Path path;
  at::ScalarType dtype;
};

const Variant kVariants[] = {{MapKind::nystrom, Path::fused, at::kFloat},
                             {MapKind::nystrom, Path::fused, at::kDouble},
                             {MapKind::nystrom, Path::reference, at::kFloat},
                             {MapKind::fourier, Path::fused, at::kFloat},
                             {MapKind::hilbert, Path::fused, at::kFloat}};

std::string text(const Variant& variant) {
  const char* const kinds[] = {"nystrom", "fourier", "hilbert"};
  return std::string(" ") + kinds[static_cast<int>(variant.kind)] + (variant.path == Path::fused ? "" : " reference");
}

// Null where the kernel has no such map.
std::unique_ptr<FeatureMap> map_of(const Kernel& kernel, const Variant& variant) {
  MapOptions options;
  options.kind = variant.kind;
  options.path = variant.path;
  options.dtype = variant.dtype;
  options.features = 8;
  try {
    return make_feature_map(kernel, feature_rows(40, 1, 2.0), options);
  } catch (const UsageError&) {
    EXPECT_NE(variant.kind, MapKind::nystrom);
    return nullptr;
  }
}

TEST(MapErrors, NameTheRowAndInputThatIsNotFinite) {
  int checked = 0;
  for (const KernelRow& row : kernel_table()) {
    const Kernel kernel = feature_kernel(call_text(row), 2);
    for (const Variant& variant : kVariants) {
      const auto map = map_of(kernel, variant);
      if (map == nullptr) continue;
      for (const double broken : {std::nan(""), kInfinity, -kInfinity}) {
        for (const std::int64_t column : kernel.terms()[0][0].columns) {
          at::Tensor x = feature_rows(7, 2, 2.0);
          x[4][column] = broken;
          const std::string place = "row 5, input " + std::to_string(column + 1);
          const std::string expected =
              row.inputs == Inputs::level
                  ? place + ": a level code outside 0 to 3; the kernel knows only the levels it was made with"
                  : place + " is not finite; fill or drop missing values before a kernel reads them";
          EXPECT_EQ(message_of<DataError>([&] { (*map)(x); }), expected)
              << row.title() << text(variant) << " " << broken;
          ++checked;
        }
      }
    }
  }
  EXPECT_GT(checked, 200);
}

TEST(MapErrors, ColumnsThatAreNotReadMayBeMissing) {
  const Kernel kernel = feature_kernel("rbf(x)");
  for (const Variant& variant : kVariants) {
    at::Tensor x = feature_rows(7, 2, 2.0);
    x.select(1, 3).fill_(std::nan(""));
    EXPECT_TRUE((*map_of(kernel, variant))(x).isfinite().all().item<bool>()) << text(variant);
  }
}

TEST(MapErrors, NameTheParameterThatOverflows) {
  int checked = 0;
  for (const KernelRow& row : kernel_table()) {
    for (const Variant& variant : kVariants) {
      Kernel kernel = feature_kernel(call_text(row) + " * matern32(u)", 2);
      const auto map = map_of(kernel, variant);
      if (map == nullptr) continue;
      for (const Parameter& each : kernel.parameters().parameters()) {
        if (each.fixed || each.constraint.kind != Constraint::Kind::positive) continue;
        for (const double raw : {1000.0, -1000.0, std::nan("")}) {
          const at::Tensor number = kernel.parameters().raw().detach()[1][each.first + each.count - 1];
          const double before = number.item<double>();
          number.fill_(raw);
          const std::string value = std::isnan(raw) ? "nan" : raw > 0.0 ? "inf" : "0";
          EXPECT_EQ(message_of<NumericError>([&] { (*map)(feature_rows(7, 2, 2.0)); }),
                    each.path + " has become " + value +
                        " in member 2 (expected a positive number); bound it in the formula, as in bounded(start, low, "
                        "high), or lower the learning rate")
              << text(variant);
          number.fill_(before);
          ++checked;
        }
      }
      EXPECT_TRUE((*map)(feature_rows(7, 2, 2.0)).isfinite().all().item<bool>()) << "all is well again";
    }
  }
  EXPECT_GT(checked, 300);
}

TEST(MapErrors, BoundedParametersDoNotOverflow) {
  Kernel kernel = kernel_on("rbf(x, lengthscale=bounded(1, 0.5, 2), variance=bounded(1, 0.1, 10))",
                            feature_rows(40, 1, 2.0), kFeatureColumns, kFeatureLevels);
  for (const Variant& variant : kVariants) {
    const auto map = map_of(kernel, variant);
    for (const double raw : {1000.0, -1000.0}) {
      kernel.parameters().raw().detach().fill_(raw);
      const at::Tensor z = (*map)(feature_rows(7, 2, 2.0));
      EXPECT_TRUE(z.isfinite().all().item<bool>());
      EXPECT_EQ(largest(map_gradients(*map, z, at::ones_like(z))[0]), 0.0) << "flat there";
    }
  }
}

TEST(MapErrors, SayWhenFeaturesDoNotFitTheirType) {
  const at::Tensor x = feature_rows(30, 3, 2.0);
  Kernel kernel = kernel_on("rbf(x, variance=1e90)", x, kFeatureColumns, kFeatureLevels);
  for (const Path path : {Path::fused, Path::reference}) {
    EXPECT_EQ(message_of<NumericError>([&] {
                (*map_of(kernel, {MapKind::nystrom, path, at::kFloat}))(x);
              }),
              "features are too large for their number type; rescale the inputs or bound the kernel's parameters");
    EXPECT_LT(frobenius_miss(gram((*map_of(kernel, {MapKind::nystrom, path, at::kDouble}))(x)), kernel.matrix(x, x)),
              0.2);
  }
}

TEST(MapErrors, RowsOfAnotherWidthAreRefused) {
  const Kernel kernel = feature_kernel("rbf(x)");
  for (const Variant& variant : kVariants) {
    const auto map = map_of(kernel, variant);
    EXPECT_EQ(message_of<UsageError>([&] { (*map)(feature_rows(5, 1).narrow(1, 0, 3)); }),
              "a feature map takes rows of 7 columns");
    EXPECT_EQ(message_of<UsageError>([&] { (*map)(feature_rows(5, 1)[0]); }), "a feature map takes rows of 7 columns");
  }
}

TEST(MapErrors, LevelsTheKernelDoesNotKnow) {
  const Kernel kernel = feature_kernel("categorical(level)");
  at::Tensor x = feature_rows(4, 1);
  const at::Tensor known = x.clone();
  x[1][4] = 4.0;
  const std::string expected =
      "row 2, input 5: a level code outside 0 to 3; the kernel knows only the levels it was made with";
  EXPECT_EQ(message_of<DataError>([&] { kernel.matrix(known, x); }), expected);
  EXPECT_EQ(message_of<DataError>([&] { kernel.matrix(x, known); }), expected);
  EXPECT_EQ(message_of<DataError>([&] { make_feature_map(kernel, x); }), expected);
}

TEST(MapErrors, NumberTypes) {
  MapOptions options;
  options.dtype = at::kHalf;
  EXPECT_EQ(message_of<UsageError>([&] { make_feature_map(feature_kernel("rbf(x)"), feature_rows(4, 1), options); }),
            "features are of type float32 or float64");
}

TEST(MapErrors, LevelsTheMapDoesNotKnow) {
  const Kernel kernel = feature_kernel("rbf(x) * categorical(level)");
  const auto map = map_of(kernel, kVariants[0]);
  for (const double code : {4.0, -1.0, 1.5}) {
    at::Tensor x = feature_rows(5, 1);
    x[1][4] = code;
    EXPECT_EQ(message_of<DataError>([&] { (*map)(x); }),
              "row 2, input 5: a level code outside 0 to 3; the kernel knows only the levels it was made with");
  }
}

}  // namespace
}  // namespace ick
