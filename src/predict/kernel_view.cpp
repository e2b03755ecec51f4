#include "ick/predict/kernel_view.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "ick/predict/composite.h"
#include "predict/in_units.h"

namespace ick {

namespace {

constexpr std::int64_t kCurvePoints = 240;

bool names_parameter(const Parameter& parameter, std::string_view name) {
  return parameter.path.size() > name.size() && parameter.path.ends_with(name) &&
         parameter.path[parameter.path.size() - name.size() - 1] == '.';
}

// How far a curve goes that is to show a kernel: three of its longest periods, else four of its longest lengthscales,
// and no further than the rows.
double shown_reach(const Kernel& kernel, const std::vector<std::int64_t>& columns, double reach) {
  const at::Tensor natural = kernel.parameters().natural().detach().mean(0);
  double period = 0.0, lengthscale = 0.0;
  for (const auto& factors : kernel.terms()) {
    for (const Factor& f : factors) {
      if (f.columns != columns && !(columns.size() == 1 && std::ranges::find(f.columns, columns[0]) != f.columns.end()))
        continue;
      for (const Parameter& each : kernel.parameters().parameters()) {
        if (each.first < f.first_parameter || each.first >= f.first_parameter + f.parameter_count) continue;
        const double largest = natural.narrow(0, each.first, each.count).max().item<double>();
        if (names_parameter(each, "period")) period = std::max(period, largest);
        if (each.unit == Unit::input || each.unit == Unit::kilometre) lengthscale = std::max(lengthscale, largest);
      }
    }
  }
  const double wanted = period > 0.0 ? 3.0 * period : 4.0 * lengthscale;
  return wanted > 0.0 ? std::min(reach, wanted) : reach;
}

double great_circle(double north_a, double east_a, double north_b, double east_b) {
  double a[3], b[3];
  place_to_point(north_a, east_a, a), place_to_point(north_b, east_b, b);
  const double chord = std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
  return 2.0 * kEarthRadius * std::asin(std::min(1.0, 0.5 * chord / kEarthRadius));
}

// k(x_i, y_j) / sqrt(k(x_i, x_i) k(y_j, y_j)), the mean over members: (n, m). Zero where a row has no variance.
at::Tensor correlation_of(const Kernel& kernel, const at::Tensor& x, const at::Tensor& y) {
  const at::Tensor scale = kernel.diagonal(x).unsqueeze(-1) * kernel.diagonal(y).unsqueeze(-2);
  return at::nan_to_num(kernel.matrix(x, y) / scale.sqrt(), 0.0, 0.0, 0.0).mean(0);
}

// The columns of one factor that are looked at together: a place on the globe, else one by one.
struct CurveColumns {
  std::vector<std::int64_t> columns;
  bool sphere = false;
};

std::vector<CurveColumns> curve_columns(const Kernel& kernel, const Encoder& encoder) {
  std::vector<CurveColumns> found;
  const auto add = [&](const CurveColumns& wanted) {
    for (const CurveColumns& each : found) {
      if (each.columns == wanted.columns) return;
    }
    found.push_back(wanted);
  };
  for (const auto& factors : kernel.terms()) {
    for (const Factor& f : factors) {
      if (f.row->inputs == Inputs::place) add({f.columns, true});
      if (f.row->inputs != Inputs::numbers) continue;
      for (const std::int64_t column : f.columns) {
        if (encoder.kernel_columns[static_cast<std::size_t>(column)].levels.empty()) add({{column}, false});
      }
    }
  }
  return found;
}

// Nothing where the kernel's variance changes along the way, as that of a line does: there the correlation depends on
// the place of both rows, not on how far apart they are.
std::optional<KernelCurve> curve_along(const Kernel& kernel, const Encoder& encoder, const CurveColumns& along) {
  const auto summary = [&](std::int64_t column) -> const InputSummary& {
    return encoder.kernel_columns[static_cast<std::size_t>(column)].summary;
  };
  KernelCurve curve;
  for (const std::int64_t column : along.columns) {
    curve.column +=
        (curve.column.empty() ? "" : ", ") + encoder.kernel_columns[static_cast<std::size_t>(column)].info.name;
  }
  const InputSummary& first = summary(along.columns[0]);
  curve.unit = along.sphere ? "km" : encoder.kernel_columns[static_cast<std::size_t>(along.columns[0])].unit;
  curve.reach = along.sphere
                    ? great_circle(first.low, summary(along.columns[1]).low, first.high, summary(along.columns[1]).high)
                    : first.span();
  const double most = shown_reach(kernel, along.columns, curve.reach);
  std::vector<double> start;
  for (const KernelColumn& column : encoder.kernel_columns)
    start.push_back(column.levels.empty() ? column.summary.low : 0);
  at::Tensor from = at::tensor(start, at::kDouble).unsqueeze(0);
  if (along.sphere) {  // along the equator: on the globe only the distance counts
    for (const std::int64_t column : along.columns) from.select(1, column).zero_();
  }
  at::Tensor to = from.repeat({kCurvePoints, 1});
  const double degrees = 180.0 / (std::numbers::pi * kEarthRadius);
  for (std::int64_t i = 0; i < kCurvePoints; ++i) {
    const double d = most * static_cast<double>(i) / static_cast<double>(kCurvePoints - 1);
    curve.distance.push_back(d);
    to[i][along.columns.back()] += along.sphere ? d * degrees : d;
  }
  const at::Tensor variance = kernel.diagonal(to);
  if (!at::allclose(variance, variance.narrow(1, 0, 1).expand_as(variance), /*rtol=*/1e-6, /*atol=*/0.0)) return {};
  curve.correlation = to_vector(correlation_of(kernel, from, to).squeeze(0).contiguous());
  return curve;
}

// Some of the rows, spread evenly over the order of their first column.
at::Tensor spread_rows(const at::Tensor& x, std::int64_t column, std::int64_t most) {
  const at::Tensor order = std::get<1>(x.select(1, column).sort(/*stable=*/true, /*dim=*/0, /*descending=*/false));
  const std::int64_t n = order.size(0), count = std::min(n, most);
  std::vector<std::int64_t> places;
  for (std::int64_t k = 0; k < count; ++k) places.push_back(count > 1 ? k * (n - 1) / (count - 1) : 0);
  return order.index_select(0, at::tensor(places, at::kLong));
}

// (E, n, n), the mean over members of the eigenvalues over n, the largest first.
std::vector<double> spectrum_of(const at::Tensor& matrix) {
  const at::Tensor values = at::linalg_eigvalsh(matrix).mean(0).flip(0) / matrix.size(-1);
  return to_vector(values.clamp_min(0.0).contiguous());
}

}  // namespace

std::vector<KernelCurve> CompositePredictor::kernel_curves() const {
  const at::NoGradGuard no_gradient;
  std::vector<KernelCurve> curves;
  for (std::size_t t = 0; t < spec().terms.size(); ++t) {
    const std::optional<Kernel> kernel = model().parts_of(t).kernel;
    if (!kernel) continue;
    for (const CurveColumns& along : curve_columns(*kernel, encoder)) {
      std::optional<KernelCurve> curve = curve_along(*kernel, encoder, along);
      if (!curve) continue;
      curve->term = "term" + std::to_string(t + 1), curve->text = print(spec().terms[t].kernels);
      curves.push_back(std::move(*curve));
    }
  }
  return curves;
}

std::vector<KernelMatrix> CompositePredictor::kernel_matrices(const Table& given, std::int64_t most_rows) const {
  const at::NoGradGuard no_gradient;
  std::vector<KernelMatrix> matrices;
  if (!model().has_kernels() || given.rows == 0) return matrices;
  std::optional<Table> made;
  const Table& table = readable(given, made);
  constexpr std::int64_t kLookedAt = 20'000;
  const at::Tensor drawn = draw_rows(table.rows, kLookedAt, options.seed);
  const at::Tensor index = drawn.contiguous();
  const std::vector<std::int64_t> rows(index.data_ptr<std::int64_t>(), index.data_ptr<std::int64_t>() + index.numel());
  Encoder lenient = encoder;
  if (lenient.gaps == Gaps::refuse) lenient.gaps = Gaps::drop;
  lenient.networks.clear();  // kernels alone are looked at: no images are read
  const Dataset encoded = encode_rows(table, lenient, rows);
  const at::Tensor complete = at::isfinite(encoded.x).all(1).nonzero().select(1, 0);
  if (complete.size(0) < 2) return matrices;
  const at::Tensor x = encoded.x.index_select(0, complete);
  for (std::size_t t = 0; t < spec().terms.size(); ++t) {
    const std::optional<Kernel> kernel = model().parts_of(t).kernel;
    if (!kernel || kernel->terms().empty() || kernel->terms()[0][0].columns.empty()) continue;
    const at::Tensor some = spread_rows(x, kernel->terms()[0][0].columns[0], most_rows);
    const at::Tensor at_rows = x.index_select(0, some);
    KernelMatrix& matrix = matrices.emplace_back();
    matrix.term = "term" + std::to_string(t + 1), matrix.text = print(spec().terms[t].kernels);
    for (std::int64_t i = 0; i < some.size(0); ++i) {
      const std::int64_t place = complete[some[i].item<std::int64_t>()].item<std::int64_t>();
      matrix.rows.push_back(rows[static_cast<std::size_t>(place)]);
    }
    const at::Tensor covariance = kernel->matrix(at_rows, at_rows);  // (E, n, n)
    const at::Tensor correlation = correlation_of(*kernel, at_rows, at_rows).contiguous();
    for (std::int64_t i = 0; i < correlation.size(0); ++i) matrix.correlation.push_back(to_vector(correlation[i]));
    matrix.eigenvalues = spectrum_of(covariance);
    const at::Tensor z = model().features_at(at_rows)[t];
    if (!z.defined()) continue;
    const at::Tensor features = z.to(at::kDouble);
    const at::Tensor gram = features.matmul(features.transpose(-1, -2));
    matrix.feature_eigenvalues = spectrum_of(gram);
    const auto trace = [](const at::Tensor& of) { return of.diagonal(0, -2, -1).sum(-1).mean().item<double>(); };
    matrix.carried = trace(gram) / trace(covariance);
  }
  return matrices;
}

}  // namespace ick
