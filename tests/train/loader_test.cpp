#include "train/loader.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ick/base/error.h"
#include "support/image_case.h"
#include "support/train_case.h"

namespace ick {
namespace {

constexpr char kFormula[] = "y ~ cnn(row, t, idx=\"bars.idx\", channels=[4], layers=8) * rbf(t)";

TEST(Loader, BatchesAreThoseOfTheRowsInOrder) {
  const ImageFolder folder;
  const TrainCase on(bars_table(folder, 60, 1), kFormula);
  for (const int threads : {1, 3}) {
    Loader loader(on.rows, {Augmentation{}}, 1, threads);
    const std::vector<at::Tensor> batches = at::randperm(60, at::kLong).split(7);
    for (const at::Tensor& each : batches) loader.ask(each, 0);
    EXPECT_EQ(loader.asked(), batches.size());
    for (const at::Tensor& each : batches) {
      const std::vector<at::Tensor> inputs = loader.take();
      ASSERT_EQ(inputs.size(), 1u);
      EXPECT_TRUE(at::equal(inputs[0], on.rows.inputs(0, each)));
    }
  }
}

// Pixels are standardised and come first, columns after them.
TEST(Loader, InputsArePixelsThenNumbers) {
  const ImageFolder folder;
  const Table table = bars_table(folder, 60, 1);
  const TrainCase on(table, kFormula);
  const at::Tensor all = on.rows.inputs(0, at::arange(60, at::kLong));
  ASSERT_EQ(all.size(1), 64 + 1);
  const at::Tensor pixels = all.narrow(1, 0, 64);
  EXPECT_NEAR(pixels.mean().item<double>(), 0.0, 1e-5);
  EXPECT_NEAR(pixels.std(false).item<double>(), 1.0, 1e-5);
  EXPECT_TRUE(at::equal(all.narrow(1, 64, 1), on.rows.networks[0]));
}

TEST(Loader, AugmentationsFollowFromEpochAndRowAlone) {
  const ImageFolder folder;
  const TrainCase on(bars_table(folder, 40, 2), kFormula);
  Augmentation turned;
  turned.rotate = 20.0, turned.flip_horizontal = true;
  Loader one(on.rows, {turned}, 5, 1), three(on.rows, {turned}, 5, 3);
  const at::Tensor index = at::arange(40, at::kLong), some = at::tensor({31, 4}, at::kLong);
  const at::Tensor first = one.make(index, 0)[0];
  three.ask(some, 0);
  EXPECT_TRUE(at::equal(three.take()[0], first.index_select(0, some)));
  EXPECT_FALSE(at::equal(one.make(index, 1)[0], first));
  EXPECT_FALSE(at::equal(on.rows.inputs(0, index), first));
}

TEST(Loader, AnImageThatCannotBeReadIsSaidToWhoTakesIt) {
  const ImageFolder folder;
  TrainCase on(bars_table(folder, 30, 3), kFormula);
  on.rows.images[0]->store = std::make_shared<ImageStore>(folder.path());  // knows no image yet
  Loader loader(on.rows, {Augmentation{}}, 1, 2);
  loader.ask(at::arange(8, at::kLong), 0);
  EXPECT_ANY_THROW(loader.take());
}

}  // namespace
}  // namespace ick
