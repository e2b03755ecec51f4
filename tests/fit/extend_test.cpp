#include "ick/extend.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "ick/ick.h"
#include "support/store_case.h"
#include "support/train_case.h"

// Parts that another program brings. Everything here is outside of ick's own sources.
namespace ick {
namespace {

// Cauchy's kernel.
struct Rational {
  static constexpr std::string_view name = "tests_rational";
  static constexpr std::string_view formula = "variance / (1 + r^2)";
  static constexpr Inputs inputs = Inputs::numbers;
  static constexpr Spectrum spectrum = Spectrum::none;
  static constexpr std::array parameters = {
      ParameterDeclaration{"variance", Shape::scalar, Constraint::positive(), Unit::target_squared, start::one, "1"},
      ParameterDeclaration{"lengthscale", Shape::per_input, Constraint::positive(), Unit::input, start::lengthscale,
                           ""}};

  template <class At>
  static auto value(const At& at) {
    return at.p(0) * inverse(1.0 + sum(at.structure().inputs,
                                       [&](int d) { return square((at.x(d) - at.y(d)) * inverse(at.p(1, d))); }));
  }
};

void add_all() {
  static const bool added = [] {
    add_kernel<Rational>();
    Likelihood own = likelihood_named("student");
    own.name = "tests_student";
    add_likelihood(own);
    NetworkRow row = *find_network("mlp");
    row.name = "tests_mlp";
    add_network(row);
    Engine engine = engine_named("ensemble");
    engine.name = "tests_ensemble";
    add_engine(engine);
    return true;
  }();
  EXPECT_TRUE(added);
}

FitOptions few_epochs() {
  FitOptions options;
  options.members = 2;
  options.epochs = 6;
  options.layers = {8};
  return options;
}

// rational_quadratic with alpha = 1 and lengthscale l is 1 / (1 + r^2 / 2): the same kernel at another lengthscale.
TEST(Extend, AKernelHasTheNumbersOfItsFormula) {
  add_all();
  const Table table = generic_table(40);
  const TrainCase own(table, "y ~ tests_rational(t, s, variance=fixed(1.5), lengthscale=fixed(0.7))");
  const TrainCase known(
      table, "y ~ rational_quadratic(t, s, variance=fixed(1.5), alpha=fixed(1), lengthscale=fixed(0.494974746830583))");
  const at::Tensor found = own.model()->kernel().matrix(own.rows.x, own.rows.x);
  EXPECT_TRUE(at::allclose(found, known.model()->kernel().matrix(known.rows.x, known.rows.x), 1e-10, 1e-10));
  EXPECT_THROW(add_kernel<Rational>(), UsageError);
}

TEST(Extend, PartsOfOthersAreFittedSavedAndLoaded) {
  add_all();
  const Table table = generic_table(120);
  FitOptions options = few_epochs();
  options.likelihood = "tests_student";
  options.posterior = "tests_ensemble";
  const Fitted fitted = fit(table, "y ~ tests_mlp(a, b) * tests_rational(t) + tests_rational(s)", options);
  const ScratchFolder folder;
  fitted.save(folder / "m");
  const std::shared_ptr<const Predictor> again = load(folder / "m");
  EXPECT_EQ(again->formula(), "y ~ tests_mlp(a, b) * tests_rational(t) + tests_rational(s)");
  EXPECT_EQ(again->predict(table).mean, fitted->predict(table).mean);
}

// The same by kernels alone, in closed form: marginal likelihood without a fast path.
TEST(Extend, KernelsAlone) {
  add_all();
  const Fitted fitted = fit(generic_table(80), "y ~ tests_rational(t) + linear(u)");
  EXPECT_GT(fitted->parameter("term1.t.tests_rational.lengthscale").values[0], 0.0);
}

}  // namespace
}  // namespace ick
