#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "support/golden_steps.h"
#include "support/train_case.h"
#include "train/trainer.h"

namespace ick {
namespace {

constexpr char kFormula[] =
    "y ~ mlp(a, b, layers=[8, 5], activation=tanh) * mlp(c, layers=[6], activation=relu)"
    " * rbf(t, points=6, train_points=yes) * periodic(s) + periodic(u, points=5)";

// tests/golden/ten_steps.csv, written by ten_steps.py beside it.
class TenSteps : public testing::Test {
 protected:
  const std::map<std::string, Tensors> golden_ = golden_steps("ten_steps.csv");
  const Tensors& start_ = golden_.at("start");

  static Table table_of(const Tensors& data) {
    Columns columns;
    for (const auto& [name, values] : data) {
      columns.emplace_back(name,
                           std::vector<double>(values.data_ptr<double>(), values.data_ptr<double>() + values.numel()));
    }
    return make_table(columns);
  }

  // The columns as they are, without the encoder's scaling.
  static Dataset dataset_of(const Tensors& data) {
    Dataset rows;
    rows.x = at::stack({data.at("t"), data.at("s"), data.at("u")}, 1);
    rows.networks = {at::stack({data.at("a"), data.at("b")}, 1).to(at::kFloat),
                     data.at("c").unsqueeze(1).to(at::kFloat)};
    rows.y = data.at("y");
    for (std::int64_t i = 0; i < rows.y.size(0); ++i) rows.rows.push_back(i);
    return rows;
  }

  // The model of the golden file: every tensor of another model's state replaced.
  std::unique_ptr<Model> make_model(const TrainCase& on) const {
    TensorState state = on.model(2)->state();
    for (auto& [path, tensor] : state) {
      if (path == "kernel") continue;
      const std::string name = path == "term1.map.points"   ? "term1.points1"
                               : path == "term2.map.turns"  ? "turns"
                               : path == "term2.map.origin" ? "origin"
                                                            : path;
      tensor = start_.at(name).view(tensor.sizes()).to(tensor.scalar_type());
    }
    ModelOptions options;
    options.members = 2;
    auto model = std::make_unique<Model>(on.spec, on.encoder, state, options);
    ParameterSet& kernel = model->kernel().parameters();
    for (const Parameter& each : kernel.parameters()) {
      if (!each.fixed) kernel.set(each.path, start_.at(each.path).view({2, each.count}));
    }
    return model;
  }

  // Gradients of everything trainable; those of kernel parameters by their own paths.
  static Tensors gradients_of(const Model& model) {
    Tensors gradients;
    for (const NamedTensor& each : all_parameters(model)) gradients[each.path] = each.value.grad().to(at::kDouble);
    const at::Tensor kernel = gradients.extract("kernel").mapped();  // (E, P)
    for (const Parameter& each : model.kernel().parameters().parameters()) {
      gradients[each.path] = kernel.narrow(1, each.first, each.count);
    }
    return gradients;
  }

  // Losses to `loss_tolerance`, relative; every gradient tensor to `tolerance` of its largest element.
  void run(bool in_double, double loss_tolerance, double tolerance) const {
    ASSERT_EQ(golden_.size(), 12u);
    const Dataset rows = dataset_of(golden_.at("data"));
    const TrainCase on(table_of(golden_.at("data")), kFormula);
    const auto model = make_model(on);
    if (in_double) to_double(*model);
    FitOptions options;
    options.batch = 8, options.epochs = 4;
    options.optimiser = Optimiser::adamw;
    options.learning_rate = 0.01, options.kernel_rate = 0.1, options.weight_decay = 0.2;
    const FitHooks hooks;
    Trainer trainer(*model, likelihood_objective(*model, options), options, rows, nullptr, 1.0, hooks, "train");
    for (int step = 0; step < 10; ++step) {
      SCOPED_TRACE("step " + std::to_string(step + 1));
      const Tensors& expected = golden_.at(std::to_string(step + 1));
      const Batch batch = batch_of(rows, 8 * (step % 3), 8);
      const at::Tensor losses = trainer.loss(batch).detach().to(at::kDouble);
      EXPECT_TRUE(at::allclose(losses, expected.at("loss"), loss_tolerance, 0.0)) << losses << expected.at("loss");
      const double mean = trainer.step(batch);
      EXPECT_NEAR(mean, expected.at("loss").mean().item<double>(), loss_tolerance * mean);

      const Tensors found = gradients_of(*model);
      // The loss on one side stands against a fixed variance on the other, that of the second kernel of a product.
      ASSERT_EQ(found.size(), expected.size());
      for (const auto& [path, gradient] : found) {
        if (path == "term1.s.periodic.variance") {
          EXPECT_EQ(gradient.abs().max().item<double>(), 0.0) << path;
          continue;
        }
        const at::Tensor& golden = expected.at(path);
        const double largest = golden.abs().max().item<double>();
        EXPECT_GT(largest, 1e-4) << path;
        const double miss = (gradient.flatten() - golden).abs().max().item<double>();
        EXPECT_LE(miss, tolerance * largest) << path;
      }
    }
  }
};

TEST_F(TenSteps, LossesAndGradientsAreThoseOfPyTorch) { run(true, 1e-12, 1e-12); }

// Networks in float32: a gradient carries roundings of 6e-8 of its largest element, and Adam, which divides each
// element by its own size, hands on those of small ones.
TEST_F(TenSteps, AreThoseOfPyTorchInFloat32) { run(false, 1e-6, 1e-5); }

}  // namespace
}  // namespace ick
