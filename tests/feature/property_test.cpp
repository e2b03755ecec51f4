#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "ick/base/error.h"
#include "ick/kernel/table.h"
#include "support/feature_case.h"

// Random expressions, parameters and rows, seeded: a map gives finite features and gradients, or says why not.
namespace ick {
namespace {

constexpr int kTried = 4000;

template <class T, std::size_t n>
const T& pick(const std::array<T, n>& from, Random& random) {
  return from[static_cast<std::size_t>(random.below(n))];
}

std::string random_factor(Random& random, bool prefer_spectra) {
  const auto draw = [&] { return &kernel_table()[static_cast<std::size_t>(random.below(std::ssize(kernel_table())))]; };
  const KernelRow* drawn = draw();
  for (int again = 0; prefer_spectra && again < 3 && drawn->spectrum == Spectrum::none; ++again) drawn = draw();
  const KernelRow& row = *drawn;
  if (row.inputs != Inputs::numbers) return call_text(row);
  static const std::array<std::string, 4> kNames = {"x", "t", "u", "v"};
  const auto first = random.below(4), count = row.spectrum == Spectrum::series ? 1 : 1 + random.below(2);
  std::string text = std::string(row.name) + "(" + kNames[static_cast<std::size_t>(first)];
  if (count > 1) text += ", " + kNames[static_cast<std::size_t>((first + 1) % 4)];
  return text + ")";
}

std::string random_formula(Random& random, bool prefer_spectra) {
  std::string text;
  for (std::int64_t t = 1 + random.below(2); t > 0; --t) {
    for (std::int64_t f = 1 + random.below(3); f > 0; --f) {
      text += random_factor(random, prefer_spectra) + (f > 1 ? " * " : "");
    }
    text += t > 1 ? " + " : "";
  }
  return text;
}

// Scales from 1e-3 to 1e6, an offset now and then, constant columns and rows that repeat.
struct Inputs7 {
  std::array<double, 4> scale{}, offset{};
  bool repeats = false;

  explicit Inputs7(Random& random) {
    for (std::size_t d = 0; d < 4; ++d) {
      scale[d] = random.below(5) == 0 ? 0.0 : std::pow(10.0, -3.0 + 9.0 * random.uniform());
      offset[d] = random.below(3) == 0 ? scale[d] * 10.0 * random.normal() : 0.0;
    }
    repeats = random.below(3) == 0;
  }

  at::Tensor rows(std::int64_t n, Random& random) const {
    at::Tensor x = feature_rows(n, random.bits(), 1.0);
    for (std::size_t d = 0; d < 4; ++d) x.select(1, static_cast<std::int64_t>(d)).mul_(scale[d]).add_(offset[d]);
    if (repeats && n > 1) x.narrow(0, n / 2, n - n / 2).copy_(x.narrow(0, 0, n - n / 2).clone());
    return x;
  }
};

// Ten orders of magnitude in natural units, a different one for every number; one case in four keeps its start.
void scatter_wildly(Kernel& kernel, Random& random) {
  if (random.below(4) == 0) return;
  for (const Parameter& each : kernel.parameters().parameters()) {
    const at::Tensor values = at::empty({kernel.members(), each.count}, at::kDouble);
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      const double size = std::pow(10.0, -5.0 + 10.0 * random.uniform());
      const bool is_real = each.constraint.kind == Constraint::Kind::real;
      values.data_ptr<double>()[i] = is_real && random.below(2) == 0 ? -size : size;
    }
    kernel.parameters().set(each.path, values);
  }
}

// Waves that lie between rows, at most. A phase of so many turns is rounded by as many times 2 pi 1e-16.
double most_turns(const Kernel& kernel, const at::Tensor& training, const at::Tensor& x) {
  const at::Tensor all = at::cat({training, x}), theta = kernel.parameters().natural().detach();
  const at::Tensor span = std::get<0>(all.max(0)) - std::get<0>(all.min(0));
  double turns = 0.0;
  for (const auto& factors : kernel.terms()) {
    for (const Factor& f : factors) {
      const int inputs = f.structure.inputs, components = f.structure.components;
      for (int d = 0; d < inputs; ++d) {
        const double range = span[f.columns[static_cast<std::size_t>(d) % f.columns.size()]].item<double>();
        const std::int64_t second =
            f.first_parameter + (f.row->spectrum == Spectrum::gaussian_mixture ? components : 1);
        if (f.row->spectrum == Spectrum::line || f.row->spectrum == Spectrum::series) {
          turns += range / theta.select(1, second + d).min().item<double>();
        }
        for (int q = 0; q < components && f.row->spectrum == Spectrum::gaussian_mixture; ++q) {
          turns += range * theta.select(1, second + q * inputs + d).max().item<double>();
        }
      }
    }
  }
  return turns;
}

struct Tally {
  int mapped = 0, refused = 0, gave_up = 0;
};

void check_case(const Kernel& kernel, const at::Tensor& training, const at::Tensor& x, const MapOptions& options,
                Tally& tally) {
  std::unique_ptr<FeatureMap> map;
  at::Tensor z;
  try {
    map = make_feature_map(kernel, training, options);
    z = (*map)(x);
  } catch (const Error& error) {
    EXPECT_GT(std::string(error.what()).size(), 20U);
    ++(dynamic_cast<const NumericError*>(&error) != nullptr ? tally.gave_up : tally.refused);
    return;
  }
  ++tally.mapped;
  ASSERT_EQ(z.sizes().vec(), (std::vector<std::int64_t>{kernel.members(), x.size(0), map->features()}));
  ASSERT_TRUE(z.isfinite().all().item<bool>());
  for (const at::Tensor& gradient : map_gradients(*map, z, random_like(z, 1))) {
    ASSERT_TRUE(gradient.isfinite().all().item<bool>()) << "gradient";
  }
  if (options.kind != MapKind::nystrom) return;
  if (x.size(0) == 0) return;
  // Where rounding made K(Z, Z) indefinite, features can exceed k by about as much as had to be added to it; where it
  // moved k(Z, x) by d, by d^2 over the smallest eigenvalue, which is no less than the jitter.
  const MapReport report = map->report();
  const double phase = 2.0 * std::numbers::pi * 2e-16 * most_turns(kernel, training, x);
  const double rounding = (options.dtype == at::kFloat ? 1e-6 : 1e-8) +
                          (report.jitter_steps > 0 ? 10.0 * report.largest_jitter : 0.0) +
                          phase * phase / report.largest_jitter;
  const at::Tensor diagonal = kernel.diagonal(x).detach(), covered = z.detach().to(at::kDouble).square().sum(-1);
  EXPECT_LE((covered - diagonal * (1.0 + rounding)).max().item<double>(), 1e-40)
      << "features exceed k(x, x) = " << largest(diagonal) << ", jitter " << report.largest_jitter;
}

TEST(Property, FiniteFeaturesOrAClearError) {
  Random random(2024);
  std::array<Tally, 3> tallies;
  for (int i = 0; i < kTried; ++i) {
    MapOptions options;
    options.kind = pick(std::array{MapKind::nystrom, MapKind::fourier, MapKind::hilbert}, random);
    const std::string formula = random_formula(random, options.kind != MapKind::nystrom);
    const Inputs7 inputs(random);
    const std::array<std::int64_t, 4> counts = {0, 1, 2, 17};
    const at::Tensor training = inputs.rows(pick(counts, random), random),
                     x = inputs.rows(pick(counts, random), random);
    Kernel kernel = kernel_on(formula, training, kFeatureColumns, kFeatureLevels, {1 + random.below(2), random.bits()});
    scatter_wildly(kernel, random);
    options.features = 1 + random.below(random.below(4) == 0 ? 100 : 12);
    options.placement = pick(std::array{Placement::automatic, Placement::kmeans, Placement::pivoted_cholesky}, random);
    options.train_points = random.below(2) == 0;
    options.draws = pick(std::array{Draws::orthogonal, Draws::independent}, random);
    options.dtype = pick(std::array{at::kFloat, at::kDouble}, random);
    options.seed = random.bits();
    for (const Path path : {Path::fused, Path::reference}) {
      if (path == Path::reference && options.kind != MapKind::nystrom) continue;
      options.path = path;
      SCOPED_TRACE("case " + std::to_string(i) + ": " + formula + ", " + std::to_string(training.size(0)) +
                   " training rows, " + std::to_string(x.size(0)) + " rows, kind " +
                   std::to_string(static_cast<int>(options.kind)) + (path == Path::fused ? "" : ", reference"));
      try {
        check_case(kernel, training, x, options, tallies[static_cast<std::size_t>(options.kind)]);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "an error that is not ours: " << error.what();
      }
    }
  }
  for (const Tally& each : tallies) {
    RecordProperty(
        "mapped_refused_gave_up_" + std::to_string(&each - tallies.data()),
        std::to_string(each.mapped) + " " + std::to_string(each.refused) + " " + std::to_string(each.gave_up));
  }
  EXPECT_GT(tallies[0].mapped, kTried / 3);  // no training rows in a quarter of the cases
  EXPECT_GT(tallies[1].mapped, kTried / 8);
  EXPECT_GT(tallies[2].mapped, kTried / 20);  // four inputs, or a column twice, are common
}

}  // namespace
}  // namespace ick
