#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "ick/base/error.h"
#include "ick/base/file.h"
#include "ick/fit/fit.h"
#include "ick/store/model_directory.h"
#include "support/model_case.h"
#include "support/store_case.h"

namespace ick {
namespace {

FitOptions quick(const std::string& posterior) {
  FitOptions options;
  options.posterior = posterior;
  options.layers = {8};
  options.epochs = 2;
  options.warm_start = false;
  if (posterior == "nngp" || posterior == "ntk") options.members = 4;
  return options;
}

StoredModel stored(const Fit& fit, const Table& table, const ScratchFolder& folder) {
  save_model(fit, folder / "m", table, {});
  EXPECT_TRUE(verify_model(folder / "m").passed);
  return load_model(folder / "m");
}

// Whatever a posterior needs, its calibration and the support of its kernels.
TEST(StoredPosterior, ComesBack) {
  const Table table = mixed_table(80, 1);
  for (const std::string posterior : {"ensemble", "nngp", "ntk", "laplace", "exact"}) {
    SCOPED_TRACE(posterior);
    const std::string formula = posterior == "exact"
                                    ? "y ~ rbf(day, points=6) + linear(b)"
                                    : "y ~ mlp(a, site) * rbf(day, points=6) * matern32(b) + mlp(floor)";
    const Fit fitted = fit_model(table, formula, quick(posterior));
    ASSERT_EQ(fitted.model.posterior->engine().name, posterior);
    ASSERT_GT(fitted.model.calibration.rows(), 0);
    ASSERT_EQ(fitted.model.support.size(), 2u);
    const ScratchFolder folder;
    const StoredModel again = stored(fitted, table, folder);
    const CompositePredictor& model = again.composite("a test");
    EXPECT_EQ(model.posterior->engine().name, posterior);
    EXPECT_EQ(model.posterior->amplitude(), fitted.model.posterior->amplitude());
    EXPECT_EQ(model.calibration.rows(), fitted.model.calibration.rows());
    EXPECT_EQ(model.calibration.scores(), fitted.model.calibration.scores());
    const Table other = mixed_table(50, 2);
    expect_same(model.predict(other, {0.8, true}), fitted.model.predict(other, {0.8, true}));
    EXPECT_EQ(again.report.options.posterior, posterior);
  }
}

// Networks with neighbours: the rows that predictions need, and the kernels of their residuals.
TEST(StoredPosterior, WithNeighboursBesideNetworks) {
  const Table table = mixed_table(80, 3), other = mixed_table(50, 4);
  FitOptions options = quick("ensemble");
  options.members = 2;
  options.neighbours = Neighbours::yes;
  const Fit fitted =
      fit_model(table, "y ~ mlp(a, site) + matern32(day, points=6) + mlp(b) * rbf(a, points=4)", options);
  ASSERT_TRUE(find_tensor(fitted.model.posterior->tensors(), "neighbours.x").defined());
  const ScratchFolder folder;
  const StoredModel again = stored(fitted, table, folder);
  expect_same(again.model->predict(other, {0.8, true}), fitted.model.predict(other, {0.8, true}));
  DrawOptions draws;
  draws.count = 3;
  EXPECT_EQ(again.model->draw(other, draws), fitted.model.draw(other, draws));
  EXPECT_EQ(again.report.options.neighbours, Neighbours::yes);
  EXPECT_NE(read_file(folder / "m/model.json").find("\"kept_rows\": 80"), std::string::npos);
}

TEST(StoredPosterior, WithAFormulaOfTheNoise) {
  const Table table = mixed_table(600, 1);
  FitOptions options = quick("ensemble");
  options.noise_formula = "sigma ~ rbf(b, points=5)";
  const Fit fitted = fit_model(table, "y ~ mlp(a) * rbf(day, points=6)", options);
  ASSERT_NE(fitted.model.noise_model, nullptr);
  const ScratchFolder folder;
  const StoredModel again = stored(fitted, table, folder);
  const CompositePredictor& model = again.composite("a test");
  ASSERT_NE(model.noise_model, nullptr);
  const Table other = mixed_table(50, 2);
  expect_same(model.predict(other, {0.8, true}), fitted.model.predict(other, {0.8, true}));
  EXPECT_EQ(again.report.options.noise_formula, options.noise_formula);
}

// Without its file a model is damaged, not another one.
TEST(StoredPosterior, IsMissed) {
  const Table table = mixed_table(80, 1);
  for (const std::string posterior : {"ntk", "laplace"}) {
    const ScratchFolder folder;
    save_model(fit_model(table, "y ~ mlp(a) * rbf(day, points=6)", quick(posterior)), folder / "m", table, {});
    std::filesystem::remove(folder / "m/posterior.safetensors");
    EXPECT_THROW(load_model(folder / "m"), DataError);
  }
}

}  // namespace
}  // namespace ick
