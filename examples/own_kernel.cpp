// A kernel of one's own: k = variance / (1 + r^2), r^2 = sum_d ((x_d - x'_d) / lengthscale_d)^2, Cauchy's.
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <vector>

#include "ick/extend.h"
#include "ick/ick.h"

namespace {

struct Cauchy {
  static constexpr std::string_view name = "cauchy";
  static constexpr std::string_view formula = "variance / (1 + r^2)";
  static constexpr ick::Inputs inputs = ick::Inputs::numbers;
  static constexpr ick::Spectrum spectrum = ick::Spectrum::none;  // features are Nystrom's
  static constexpr std::array parameters = {
      ick::ParameterDeclaration{"variance", ick::Shape::scalar, ick::Constraint::positive(), ick::Unit::target_squared,
                                ick::start::one, "1"},
      ick::ParameterDeclaration{"lengthscale", ick::Shape::per_input, ick::Constraint::positive(), ick::Unit::input,
                                ick::start::lengthscale, "a quarter of the range"}};

  template <class At>
  static auto value(const At& at) {
    using ick::inverse, ick::square;
    const auto r2 =
        ick::sum(at.structure().inputs, [&](int d) { return square((at.x(d) - at.y(d)) * inverse(at.p(1, d))); });
    return at.p(0) * inverse(1.0 + r2);
  }
};

}  // namespace

int main() {
  ick::add_kernel<Cauchy>();
  std::vector<double> x, y;
  for (int i = 0; i < 120; ++i) {
    x.push_back(0.05 * i);
    y.push_back(std::sin(2.0 * x.back()) + 0.05 * std::cos(37.0 * i));
  }
  const ick::Table table = ick::Table::from({ick::Column::numbers("x", x), ick::Column::numbers("y", y)});
  ick::FitOptions options;
  options.validation = ick::parse_split("random=20%");
  const ick::Fitted fitted = ick::fit(table, "y ~ cauchy(x)", options);
  const double lengthscale = fitted->parameter("term1.x.cauchy.lengthscale").values[0];
  const double rmse = fitted->evaluate(table).scores.rmse;
  std::printf("%s: lengthscale %.3f, rmse %.3f\n", fitted->formula().c_str(), lengthscale, rmse);
  return rmse < 0.06 && lengthscale > 0.05 && lengthscale < 10.0 ? 0 : 1;
}
