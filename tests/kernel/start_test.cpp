#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/law.h"

namespace ick {
namespace {

// Columns far from zero and one in place and range; degrees and levels as they are.
struct Data {
  at::Tensor x;
  std::vector<InputSummary> inputs;
};

Data start_data(const LawCase& each) {
  Random random(23);
  at::Tensor x = law_rows(each, 60, 0, random);
  std::vector<std::string> names;
  std::vector<int> levels;
  for (int d = 0; d < each.columns; ++d) {
    names.push_back("x" + std::to_string(d + 1));
    levels.push_back(each.row->inputs == Inputs::level ? kLawLevels : 0);
    if (each.row->inputs == Inputs::numbers) x.select(1, d).mul_(std::pow(20.0, d)).add_(3.0 * d);
  }
  return {x, summarise(x, names, levels)};
}

Kernel started(const LawCase& each, std::int64_t members, std::uint64_t seed) {
  return Kernel(make_kernel_sum(parse_expression(each.formula())), start_data(each).inputs, {members, seed});
}

class Start : public Law {};

TEST_P(Start, Admitted) {
  const Kernel kernel = started(law(), 3, 31);
  kernel.parameters().check();
  const at::Tensor natural = kernel.parameters().natural().detach().contiguous();
  const std::vector<ParameterSet::Column> columns = kernel.parameters().columns();
  ASSERT_EQ(std::ssize(columns), natural.size(1));
  for (std::int64_t e = 0; e < 3; ++e) {
    for (std::int64_t i = 0; i < natural.size(1); ++i) {
      const Constraint& constraint = columns[static_cast<std::size_t>(i)].constraint;
      EXPECT_TRUE(admits(constraint, natural[e][i].item<double>())) << "column " << i;
    }
  }
}

TEST_P(Start, SeededByMember) {
  const at::Tensor first = started(law(), 3, 31).parameters().natural().detach();
  EXPECT_TRUE(first.equal(started(law(), 3, 31).parameters().natural().detach())) << "same seed, same values";
  EXPECT_TRUE(first.narrow(0, 0, 2).equal(started(law(), 2, 31).parameters().natural().detach()))
      << "a member does not depend on how many there are";
  const at::Tensor other = started(law(), 3, 32).parameters().natural().detach();
  const std::vector<InputSummary> inputs = start_data(law()).inputs;
  const Structure structure = started(law(), 1, 0).terms()[0][0].structure;
  const auto draw = [&](const ParameterDeclaration& each, std::uint64_t seed) {
    Random random(seed);
    return each.start(StartContext{inputs, 0, 0, structure, random});
  };
  const bool is_random = std::any_of(law().row->parameters.begin(), law().row->parameters.end(),
                                     [&](const auto& each) { return draw(each, 1) != draw(each, 2); });
  EXPECT_EQ(!first.equal(other), is_random) << "another seed";
  EXPECT_EQ(!first[0].equal(first[1]), is_random) << "another member";
}

TEST_P(Start, PriorVarianceIsNearOne) {
  const Data data = start_data(law());
  const at::Tensor variance = started(law(), 5, 33).diagonal(data.x).mean(1);  // (E)
  EXPECT_GE(variance.min().item<double>(), 0.2);
  EXPECT_LE(variance.max().item<double>(), 5.0);
}

TEST_P(Start, EveryParameterHasAGradient) {
  const Data data = start_data(law());
  const Kernel kernel = started(law(), 2, 34);
  const at::Tensor weights = at::sin(at::arange(60 * 60, at::kDouble)).view({60, 60});
  (weights * kernel.matrix(data.x, data.x)).sum().backward();
  const at::Tensor gradient = kernel.parameters().raw().grad();
  EXPECT_TRUE(gradient.isfinite().all().item<bool>());
  for (const Parameter& each : kernel.parameters().parameters()) {
    const at::Tensor block = gradient.narrow(1, each.first, each.count).abs();
    EXPECT_GT(block.min().item<double>(), 1e-8) << each.path << ": a number that would never move";
  }
}

INSTANTIATE_TEST_SUITE_P(Kernel, Start, testing::ValuesIn(law_cases()),
                         [](const auto& each) { return each.param.name(); });

InputSummary column(const std::string& name, double low, double high, double size) {
  InputSummary input;
  input.name = name;
  input.low = low;
  input.high = high;
  input.root_mean_square = size;
  return input;
}

Kernel kernel_of(const std::string& text, const std::vector<InputSummary>& inputs) {
  return Kernel(make_kernel_sum(parse_expression(text)), inputs, {40, 5});
}

double typical(const Kernel& kernel, const std::string& path, std::int64_t i = 0) {
  return kernel.parameters().natural(path).select(1, i).log().mean().exp().item<double>();
}

TEST(StartValues, AreInUnitsOfTheData) {
  const std::vector<InputSummary> inputs = {column("a", 100.0, 180.0, 140.0), column("b", -0.5, 0.5, 0.3)};
  // forty members, each a factor e^(0.1 normal) away: the geometric mean is within 5 * 0.1 / sqrt(40) = 8 %
  EXPECT_NEAR(typical(kernel_of("rbf(a)", inputs), "term1.a.rbf.lengthscale") / 20.0, 1.0, 0.08);
  const Kernel both = kernel_of("rbf(a, b)", inputs);
  EXPECT_NEAR(typical(both, "term1.a_b.rbf.lengthscale", 0) / (20.0 * std::sqrt(2.0)), 1.0, 0.08);
  EXPECT_NEAR(typical(both, "term1.a_b.rbf.lengthscale", 1) / (0.25 * std::sqrt(2.0)), 1.0, 0.08);
  EXPECT_NEAR(typical(kernel_of("periodic(a)", inputs), "term1.a.periodic.period") / (80.0 / 3.0), 1.0, 0.08);
  EXPECT_NEAR(typical(kernel_of("linear(a, b)", inputs), "term1.a_b.linear.variance", 1), 1.0 / (2.0 * 0.09), 1e-12);
  EXPECT_NEAR(typical(kernel_of("polynomial(b, degree=3)", inputs), "term1.b.polynomial.variance"), 0.125, 1e-15);
  const Kernel place = kernel_of("rbf(b, a, sphere)", inputs);
  EXPECT_NEAR(typical(place, "term1.b_a.rbf.lengthscale") / (0.25 * 111.2 * std::hypot(1.0, 80.0)), 1.0, 0.08);
}

TEST(StartValues, KnownFrequenciesAreUsed) {
  InputSummary input = column("t", 0.0, 30.0, 17.0);
  input.frequencies = {0.14, 0.52};
  EXPECT_NEAR(typical(kernel_of("periodic(t)", {input}), "term1.t.periodic.period"), 1.0 / 0.14, 1e-12);
  const at::Tensor means =
      kernel_of("spectral_mixture(t, components=3)", {input}).parameters().natural("term1.t.spectral_mixture.mean");
  EXPECT_NEAR(means[7][0].item<double>(), 0.14, 1e-15);
  EXPECT_NEAR(means[7][1].item<double>(), 0.52, 1e-15);
  EXPECT_GT(means.select(1, 2).std().item<double>(), 0.01) << "drawn beyond the known ones";

  InputSummary other = column("u", 0.0, 5.0, 2.0);
  other.frequencies = {1.9, 0.7};
  const at::Tensor both = kernel_of("spectral_mixture(t, u, components=2)", {input, other})
                              .parameters()
                              .natural("term1.t_u.spectral_mixture.mean");  // component by component
  const double expected[] = {0.14, 1.9, 0.52, 0.7};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(both[3][i].item<double>(), expected[i], 1e-14) << i;
}

// A mean at zero has gradient zero: the kernel is even in it.
TEST(StartValues, MixtureMeansAreDrawnAwayFromZero) {
  const Kernel kernel = kernel_of("spectral_mixture(a, components=4)", {column("a", 10.0, 30.0, 21.0)});
  const at::Tensor means = kernel.parameters().natural("term1.a.spectral_mixture.mean").detach();
  EXPECT_GE(means.min().item<double>(), 0.5 / 20.0);
  EXPECT_LE(means.max().item<double>(), 8.0 / 20.0);
  const at::Tensor x = 10.0 + 20.0 * at::rand({30, 1}, at::kDouble);
  kernel.matrix(x, x).select(1, 0).sum().backward();
  const Parameter& mean = kernel.parameters().find("term1.a.spectral_mixture.mean");
  const at::Tensor gradient = kernel.parameters().raw().grad().narrow(1, mean.first, mean.count);
  EXPECT_GT(gradient.abs().min().item<double>(), 1e-6);
}

}  // namespace
}  // namespace ick
