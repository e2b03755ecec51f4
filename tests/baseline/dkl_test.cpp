#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "baseline/deep_training.h"
#include "baseline/process_task.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/formula/expression.h"
#include "ick/ick.h"
#include "ick/store/model_directory.h"
#include "support/message.h"
#include "support/store_case.h"
#include "support/table_case.h"

namespace ick {
namespace {

// sin(2 u v) of the scaled sums u and v of three columns each, with noise of sd 0.1.
Table product_table(std::int64_t rows, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<double>> x(6);
  std::vector<double> w, y;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::vector<double>& each : x) each.push_back(random.normal());
    const double u = (x[0].back() + x[1].back() + x[2].back()) / std::sqrt(3.0);
    const double v = (x[3].back() + x[4].back() + x[5].back()) / std::sqrt(3.0);
    y.push_back(std::sin(2.0 * u * v) + 0.1 * random.normal());
    w.push_back(1.0 + static_cast<double>(random.below(3)));
  }
  return table_of({column_of("a", x[0]), column_of("b", x[1]), column_of("c", x[2]), column_of("d", x[3]),
                   column_of("e", x[4]), column_of("f", x[5]), column_of("w", w), column_of("y", y)});
}

FitOptions deep_options(const std::string& model = "dkl") {
  FitOptions options;
  options.model = model;
  options.validation = parse_split("random=20%");
  return options;
}

Prediction deep_prediction(const std::string& formula, const Table& table, const FitOptions& options) {
  return fit(table, formula, options)->predict(table);
}

double root_mean_square(const Prediction& p, const Table& table) {
  const Numbers& y = table.columns.back().values;
  double squares = 0.0;
  for (std::size_t i = 0; i < p.mean.size(); ++i) squares += std::pow(p.mean[i] - y[i], 2);
  return std::sqrt(squares / static_cast<double>(p.mean.size()));
}

// Twenty rows of two networks, one of which is multiplied by a kernel, all in float64.
struct DeepCase {
  static constexpr double kShare = 0.5;
  Table table = product_table(20, 3);
  ModelSpec spec = make_spec(
      parse_formula(
          "y ~ mlp(a, b, layers=[3], activation=tanh) * rbf(c) + mlp(d, layers=[2], norm=layer) + weights(w)"),
      {});
  Encoder encoder = fit_encoder(table, encoder_plan(spec, FitOptions{}), std::vector<bool>(20, true));
  Dataset rows = encode(table, encoder, true);
  DeepNetworks networks{spec, encoder, 5};
  Kernel kernel = [] {
    std::vector<InputSummary> inputs(9);
    const char* const names[] = {"c", "g1", "g2", "g3", "g4", "h1", "h2", "h3", "h4"};
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].name = names[i];
    return Kernel(make_kernel_sum(parse_expression("rbf(c) * rbf(g1, g2, g3, g4) + rbf(h1, h2, h3, h4)")), inputs);
  }();
  ProcessKernel process_kernel{kernel, kShare};
  double log_noise = std::log(0.2);
  at::Tensor points = inputs().narrow(0, 0, 6) + 0.1;

  DeepCase() {
    for (at::Tensor each : networks.weights()) each.set_data(each.detach().to(at::kDouble));
    points = inputs().narrow(0, 0, 6) + 0.1;
  }
  at::Tensor inputs() const {
    const at::NoGradGuard no_gradient;
    return process_kernel.inputs(process_x(networks.through(rows)));
  }
  SparseBatch batch() const {
    const ProcessNoise noise = noise_of_rows(rows);
    return {inputs(), rows.targets(), noise.weights, noise.error};
  }
  double best_bound() const {  // over q
    const SparseProcess process(process_kernel, points, log_noise, at::kDouble);
    const SparseProcess::Seen seen = process.see(batch());
    Variational q = Variational::prior(points.size(0));
    SparseProcess::follow(seen, 1.0, 1.0, q);
    return process.bound(q, batch(), seen, 1.0);
  }
};

// With all rows in the batch q is the best one, where the bound does not change with q: its derivatives with q held are
// those of the best bound.
TEST(DeepTraining, GradientsOfWeightsAreThoseOfTheBound) {
  DeepCase given;
  SparseTraining::Settings settings;
  settings.products = at::kDouble;
  const SparseBatch batch = given.batch();
  DeepTraining training(given.networks,
                        {given.kernel.parameters(),
                         given.process_kernel,
                         given.points,
                         given.log_noise,
                         {batch.inputs, batch.y, {batch.weights, batch.error}},
                         settings},
                        given.rows, 1);
  training.follow(given.rows);
  constexpr double kStep = 1e-5;
  std::int64_t checked = 0;
  for (const at::Tensor& each : given.networks.weights()) {
    const at::Tensor found = each.grad().reshape(-1).clone();
    double* const value = each.data_ptr<double>();
    for (std::int64_t i = 0; i < each.numel(); ++i, ++checked) {
      const double start = value[i];
      value[i] = start + kStep;
      const double up = given.best_bound();
      value[i] = start - kStep;
      const double down = given.best_bound();
      value[i] = start;
      EXPECT_NEAR(found[i].item<double>(), -(up - down) / (2.0 * kStep * 20.0), 1e-7) << i;
    }
  }
  EXPECT_EQ(checked, (2 * 3 + 3 + 3 * 4 + 4) + (2 + 2 + 2 * 2 + 2 * 4 + 4));
}

TEST(DeepNetworks, AreKept) {
  const DeepCase given;
  const DeepNetworks drawn(given.spec, given.encoder, 6);
  TensorState state;
  drawn.keep(state);
  const DeepNetworks kept(state, given.encoder);
  const at::NoGradGuard no_gradient;
  const Dataset before = drawn.through(given.rows), after = kept.through(given.rows);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(after.networks[i].sizes(), (std::vector<std::int64_t>{20, DeepNetworks::kOutputs}));
    EXPECT_TRUE(after.networks[i].equal(before.networks[i]));
  }
  for (std::size_t missing = 0; missing < state.size(); ++missing) {
    TensorState part = state;
    part.erase(part.begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_THROW(DeepNetworks(part, given.encoder), DataError) << state[missing].first;
  }
  state.front().second = at::full({4}, 'z', at::kByte);
  EXPECT_THROW(DeepNetworks(state, given.encoder), DataError) << "no network of that name";
}

// A kernel of distances in six columns has to see each wave of u v; two of a network's outputs can be u + v and u - v.
// The process is the exact one, which svgp comes near to. A half of its error is a fourth of its variance, noise of 0.1
// included: more than any choice of a kernel of distances would give.
TEST(DeepKernel, LearnsWhatAKernelOfTheColumnsCannot) {
  const Table table = product_table(1000, 1), others = product_table(500, 2);
  const Fitted deep = fit(table, "y ~ mlp(a, b, c, d, e, f)", deep_options());
  const Fitted plain = fit(table, "y ~ mlp(a, b, c, d, e, f)", deep_options("gp"));
  const double of_deep = root_mean_square(deep->predict(others), others);
  const double of_plain = root_mean_square(plain->predict(others), others);
  EXPECT_LT(of_deep, 0.5 * of_plain) << of_deep << " " << of_plain;
  RecordProperty("rmse", std::to_string(of_deep) + " " + std::to_string(of_plain));
  const Evaluation found = deep->evaluate(others);
  EXPECT_NEAR(found.scores.coverage.at("0.9"), 0.9, 0.06);
}

TEST(DeepKernel, IsSavedAndLoaded) {
  const Table table = product_table(150, 4);
  for (const std::string formula :
       {"y ~ mlp(a, b, layers=[8], activation=tanh, dropout=0.1) * rbf(c) + mlp(d) + weights(w)",
        "y ~ matern32(a, d) + linear(e)"}) {
    const Fitted fitted = fit(table, formula, deep_options());
    const ScratchFolder folder;
    fitted.save(folder / "m");
    EXPECT_TRUE(verify_model(folder / "m").passed);
    const Prediction before = fitted->predict(table), after = load(folder / "m")->predict(table);
    EXPECT_EQ(before.mean, after.mean);
    EXPECT_EQ(before.upper, after.upper);
  }
}

TEST(DeepKernel, IsTheSameForAnyNumberOfThreads) {
  const Table table = product_table(150, 5);
  FitOptions options = deep_options();
  options.threads = 1;
  const Prediction one = deep_prediction("y ~ mlp(a, d) + rbf(b)", table, options);
  options.threads = 2;
  const Prediction two = deep_prediction("y ~ mlp(a, d) + rbf(b)", table, options);
  EXPECT_EQ(one.mean, two.mean);
  EXPECT_EQ(one.upper, two.upper);
}

TEST(DeepKernel, StopsWhenItIsAskedTo) {
  std::string phase, before;
  int asked = 0;
  FitControl control;
  control.progress = [&](const Progress& progress) { before = phase, phase = progress.phase; };
  control.cancelled = [&] { return before == "parameters" && phase == "train" && ++asked > 3; };
  EXPECT_THROW(fit(product_table(150, 6), "y ~ mlp(a, b)", deep_options(), control), Interrupted);
  EXPECT_EQ(asked, 4) << "asked at each mini-batch";
}

TEST(DeepKernel, ServesFewRowsWithoutValidation) {
  FitOptions options = deep_options();
  options.validation = Split{};
  const Prediction p = deep_prediction("y ~ mlp(a)", product_table(4, 7), options);
  for (const double each : p.upper) EXPECT_TRUE(std::isfinite(each));
}

TEST(DeepKernel, RefusesWhatItCannotServe) {
  const auto refused = [](const Table& table, const std::string& formula, const std::string& likelihood) {
    FitOptions options = deep_options();
    if (!likelihood.empty()) options.likelihood = likelihood;
    return message_of<UsageError>([&] { fit(table, formula, options); });
  };
  Table table = mixed_table(60, 8);
  table.columns.push_back(text_column("photo", std::vector<std::string>(60, "p.png")));
  EXPECT_NE(
      refused(table, "y ~ mlp(a) + cnn(photo)", "").find("its networks are mlp(...), and the formula has cnn(...)"),
      std::string::npos);
  EXPECT_NE(refused(table, "site ~ mlp(a)", "").find("the target is one of classes"), std::string::npos);
  EXPECT_NE(refused(table, "floor ~ mlp(a)", "poisson").find("its noise is Gaussian"), std::string::npos);
}

}  // namespace
}  // namespace ick
