#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ick/base/error.h"
#include "ick/kernel/table.h"
#include "support/feature_case.h"

// A map is made on training rows, trained, taken apart by state(), and made again on a kernel that never saw the rows.
namespace ick {
namespace {

constexpr std::int64_t kMembers = 3;
const at::ScalarType kTypes[] = {at::kFloat, at::kDouble};

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && at::equal(a, b) && at::equal(a.signbit(), b.signbit());
}

MapOptions options_of(MapKind kind, std::int64_t features = 12) {
  MapOptions options;
  options.kind = kind;
  options.features = features;
  options.seed = 5;
  return options;
}

// What training does: every parameter and every point that has a gradient moves.
void move_parameters(Kernel& kernel, const FeatureMap& map) {
  const at::NoGradGuard no_gradient;
  scatter_parameters(kernel, 77, 0.4);
  for (at::Tensor own : map.own_parameters()) {
    Random random(seed_for(3, "moved points"));
    for (std::int64_t i = 0; i < own.numel(); ++i) {
      if (i % own.size(-1) != 4) own.data_ptr<double>()[i] += 0.1 * random.normal();  // a level stays what it is
    }
  }
}

// Rows of another place and number than those the map was made on, so that nothing of theirs can creep in but the centre
// of the columns, which is kept with them.
Kernel strange_kernel(const std::string& formula, const Kernel& original) {
  const at::Tensor x = feature_rows(31, 99, 4.0) + at::tensor({1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 0.0}, at::kDouble);
  std::vector<InputSummary> inputs = summarise(x, kFeatureColumns, kFeatureLevels);
  for (const auto& product : original.terms()) {
    for (const Factor& f : product) {
      for (std::size_t d = 0; d < f.centre.size(); ++d)
        inputs[static_cast<std::size_t>(f.columns[d])].centre = f.centre[d];
    }
  }
  return {make_kernel_sum(parse_expression(formula)), inputs, {kMembers, 12}};
}

void expect_restored(const std::string& formula, MapOptions options) {
  SCOPED_TRACE(formula);
  Kernel kernel = feature_kernel(formula, kMembers);
  const auto map = make_feature_map(kernel, feature_rows(80, 4, 2.0), options);
  move_parameters(kernel, *map);
  const MapState state = map->state();
  for (const auto& [name, tensor] : state) {
    EXPECT_TRUE(tensor.is_contiguous() && !tensor.requires_grad() && tensor.numel() > 0) << name;
    EXPECT_TRUE(tensor.scalar_type() == at::kDouble || tensor.scalar_type() == at::kLong) << name;
  }

  Kernel other = strange_kernel(formula, kernel);
  other.parameters().raw().detach().copy_(kernel.parameters().raw().detach());
  MapState shuffled(state.rbegin(), state.rend());
  const auto restored = restore_feature_map(other, options, shuffled);
  EXPECT_EQ(restored->report().name, map->report().name);
  ASSERT_EQ(restored->features(), map->features());
  ASSERT_EQ(restored->own_parameters().size(), map->own_parameters().size());
  for (const std::int64_t n : {1, 37, 300}) {
    const at::Tensor x = feature_rows(n, 8, 2.5);
    for (const at::ScalarType dtype : kTypes) {
      const at::Tensor z = map->evaluate(x, dtype), again = restored->evaluate(x, dtype);
      EXPECT_TRUE(same_bits(z.detach(), again.detach())) << n;
      const at::Tensor upstream = random_like(z, 2);
      const auto gradients = map_gradients(*map, z, upstream),
                 restored_gradients = map_gradients(*restored, again, upstream);
      for (std::size_t i = 0; i < gradients.size(); ++i)
        EXPECT_TRUE(same_bits(gradients[i], restored_gradients[i])) << i;
    }
    EXPECT_TRUE(same_bits((*map)(x).detach(), (*restored)(x).detach()));
  }
  EXPECT_EQ(restored->report().jitter_steps, map->report().jitter_steps);

  const MapState twice = restored->state();
  ASSERT_EQ(twice.size(), state.size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    EXPECT_EQ(twice[i].first, state[i].first);
    EXPECT_TRUE(at::equal(twice[i].second, state[i].second)) << state[i].first;
  }
}

TEST(MapState, NystromOfEveryKernel) {
  std::vector<std::string> formulas = {"rbf(x, t, u)", "rbf(x) * periodic(t) * categorical(level)",
                                       "matern32(lat, lon, sphere) * rbf(x)"};
  for (const KernelRow& row : kernel_table()) formulas.push_back(call_text(row));
  for (const std::string& formula : formulas) {
    for (const Path path : {Path::fused, Path::reference}) {
      for (const bool trained : {false, true}) {
        MapOptions options = options_of(MapKind::nystrom);
        options.path = path;
        options.train_points = trained;
        expect_restored(formula, options);
      }
    }
  }
}

TEST(MapState, NystromOfEveryPlacement) {
  struct Case {
    const char* formula;
    Placement placement;
  };
  for (const Case& each :
       {Case{"rbf(x)", Placement::grid}, Case{"periodic(t)", Placement::one_period},
        Case{"periodic(t)", Placement::grid}, Case{"periodic(t)", Placement::kmeans},
        Case{"rbf(x, t)", Placement::kmeans}, Case{"rbf(x) * matern12(u)", Placement::pivoted_cholesky},
        Case{"rbf(x) * periodic(x)", Placement::automatic}, Case{"constant()", Placement::automatic}}) {
    for (const Path path : {Path::fused, Path::reference}) {
      for (const bool trained : {false, true}) {
        for (const at::ScalarType dtype : kTypes) {
          MapOptions options = options_of(MapKind::nystrom);
          options.placement = each.placement;
          options.path = path;
          options.train_points = trained;
          options.dtype = dtype;
          expect_restored(each.formula, options);
        }
      }
    }
  }
}

TEST(MapState, FourierOfEverySpectrum) {
  std::vector<std::string> formulas = {"rbf(x) * matern32(t)",
                                       "rbf(t) * periodic(t)",
                                       "spectral_mixture(x) * periodic(t)",
                                       "periodic(x) * cosine(x)",
                                       "periodic(x) * periodic(t)",
                                       "rational_quadratic(x, u) * matern52(lat, lon, sphere) * matern12(v)",
                                       "rbf(x) * periodic(t) * periodic(u)",
                                       "spectral_mixture(x, t, components=3) * cosine(u)"};
  int spectra = 0;
  for (const KernelRow& row : kernel_table()) {
    if (row.spectrum == Spectrum::none) continue;
    formulas.push_back(call_text(row));
    if (row.spectrum != Spectrum::series && row.inputs == Inputs::numbers) formulas.push_back(call_text(row, 3));
    ++spectra;
  }
  EXPECT_GE(spectra, 7);
  for (const std::string& formula : formulas) {
    for (const Draws draws : {Draws::orthogonal, Draws::independent}) {
      MapOptions options = options_of(MapKind::fourier, 33);
      options.draws = draws;
      expect_restored(formula, options);
    }
  }
}

TEST(MapState, FourierStoresItsDraws) {
  Kernel kernel = feature_kernel("rbf(x, t) * matern32(u) * periodic(v)", kMembers);
  MapOptions options = options_of(MapKind::fourier, 20);
  const auto map = make_feature_map(kernel, feature_rows(40, 1), options);
  options.seed = 6;
  options.draws = Draws::independent;
  const at::Tensor x = feature_rows(20, 2);
  EXPECT_TRUE(same_bits((*restore_feature_map(kernel, options, map->state()))(x).detach(), (*map)(x).detach()));
}

TEST(MapState, HilbertOfEveryDensity) {
  for (const char* formula :
       {"rbf(x)", "rbf(x, t)", "matern12(x)", "matern32(x, t, u)", "matern52(u)", "spectral_mixture(x)", "periodic(t)",
        "cosine(t)", "constant()", "rbf(x) * periodic(t)", "periodic(t) * matern32(x, u)",
        "rbf(x) * cosine(t) * constant()", "matern52(lat, lon, sphere)"}) {
    expect_restored(formula, options_of(MapKind::hilbert, 40));
  }
}

TEST(MapState, SumsOfEveryKind) {
  for (const MapKind kind : {MapKind::nystrom, MapKind::fourier, MapKind::hilbert}) {
    MapOptions options = options_of(kind);
    options.train_points = true;
    expect_restored("rbf(x) * (periodic(t) + matern32(u)) + periodic(t) + constant()", options);
  }
  const auto map = make_feature_map(feature_kernel("periodic(t) + rbf(x)"), feature_rows(30, 1), {});
  std::vector<std::string> names;
  for (const auto& [name, tensor] : map->state()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"map1.turns", "map1.origin", "map2.points"}));
}

TEST(MapState, IsACopyBothWays) {
  Kernel kernel = feature_kernel("rbf(x) * periodic(t)", kMembers);
  MapOptions options = options_of(MapKind::nystrom);
  options.train_points = true;
  const at::Tensor x = feature_rows(25, 2, 2.0);
  const auto map = make_feature_map(kernel, feature_rows(60, 1, 2.0), options);
  const MapState state = map->state();
  const at::Tensor before = (*map)(x).detach();
  map->own_parameters()[0].detach().add_(0.2);
  const auto restored = restore_feature_map(kernel, options, state);
  for (const auto& [name, tensor] : state) tensor.zero_();
  EXPECT_FALSE(at::equal((*map)(x), before));
  EXPECT_TRUE(at::equal((*restored)(x), before));
  EXPECT_TRUE(restored->own_parameters()[0].is_leaf() && restored->own_parameters()[0].requires_grad());
}

// One state and ways to spoil it.
struct Spoilt {
  Kernel kernel;
  MapOptions options;
  MapState state;

  Spoilt(const std::string& formula, const MapOptions& o)
      : kernel(feature_kernel(formula, kMembers)),
        options(o),
        state(make_feature_map(kernel, feature_rows(60, 1, 2.0), o)->state()) {}

  at::Tensor& at(const std::string& name) {
    return std::find_if(state.begin(), state.end(), [&](const auto& each) { return each.first == name; })->second;
  }
  std::string message() const {
    return message_of<DataError>([&] { restore_feature_map(kernel, options, state); });
  }
};

std::string refusal(const std::string& name, const std::string& found) {
  return "the state of the feature map: \"" + name + "\" " + found +
         "; restore it with the kernel and the options it was saved with";
}

// Whatever tensor of whatever map is missing, of another shape or type, or not finite, is named.
TEST(MapState, EveryTensorIsChecked) {
  MapOptions trained = options_of(MapKind::nystrom);
  trained.train_points = true;
  const Spoilt whole[] = {{"rbf(x, t)", options_of(MapKind::nystrom)},
                          {"periodic(t)", options_of(MapKind::nystrom)},
                          {"rbf(x, t)", trained},
                          {"rbf(x) * matern32(t) * periodic(u)", options_of(MapKind::fourier)},
                          {"rbf(x) * periodic(t)", options_of(MapKind::hilbert, 30)},
                          {"rbf(x) + periodic(t)", options_of(MapKind::nystrom)}};
  int checked = 0;
  for (const Spoilt& each : whole) {
    EXPECT_EQ(each.message(), "");
    for (std::size_t i = 0; i < each.state.size(); ++i) {
      const auto& [name, tensor] = each.state[i];
      Spoilt spoilt = each;
      spoilt.state.erase(spoilt.state.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_EQ(spoilt.message(), refusal(name, "is missing"));

      spoilt = each;
      spoilt.state[i].second = at::stack({tensor, tensor});
      EXPECT_NE(spoilt.message().find("\"" + name + "\" has the shape (2, "), std::string::npos) << spoilt.message();
      spoilt.state[i].second = tensor.narrow(0, 0, 0);
      EXPECT_NE(spoilt.message().find("\"" + name + "\" has the shape (0"), std::string::npos) << spoilt.message();
      spoilt.state[i].second = tensor.to(at::kFloat);
      EXPECT_NE(spoilt.message().find("\"" + name + "\" holds numbers of type Float (expected "), std::string::npos)
          << spoilt.message();
      checked += 4;
      if (tensor.scalar_type() != at::kDouble) continue;
      for (const double broken : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
        spoilt.state[i].second = tensor.clone();
        spoilt.state[i].second.view(-1)[-1] = broken;
        const std::string number = std::isnan(broken) ? "nan" : broken > 0.0 ? "inf" : "-inf";
        EXPECT_NE(spoilt.message().find("\"" + name + "\" holds " + number + " at place " +
                                        std::to_string(tensor.numel()) + " (expected a "),
                  std::string::npos)
            << spoilt.message();
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 80);
}

TEST(MapState, MessagesAreWhole) {
  Spoilt points("rbf(x, t)", options_of(MapKind::nystrom));
  points.at("points") = at::zeros({12, 6}, at::kDouble);
  EXPECT_EQ(points.message(), refusal("points", "has the shape (12, 6) (expected (any, 7))"));
  points.at("points") = at::full({2, 7}, std::nan(""), at::kDouble);
  EXPECT_EQ(points.message(), refusal("points", "holds nan at place 1 (expected a finite number)"));
  points.at("points") = at::Tensor();
  EXPECT_EQ(points.message(), refusal("points", "is missing"));

  Spoilt sum("rbf(x) + periodic(t)", options_of(MapKind::nystrom));
  sum.at("map2.turns") = at::zeros({3, 1}, at::kDouble);
  EXPECT_EQ(sum.message(), refusal("map2.turns", "has the shape (3, 1) (expected (any))"));
}

TEST(MapState, NumbersOutOfPlace) {
  Spoilt levels("rbf(x) * categorical(level)", options_of(MapKind::nystrom));
  levels.at("points")[2][4] = 4.0;
  EXPECT_EQ(levels.message(), refusal("points", "holds a level that the kernel does not know"));

  Spoilt box("rbf(x) * matern32(t)", options_of(MapKind::hilbert));
  box.at("half_width")[1] = 0.0;
  EXPECT_EQ(box.message(), refusal("half_width", "holds 0 at place 2 (expected a positive number)"));

  const Spoilt whole("spectral_mixture(x) * matern32(t)", options_of(MapKind::fourier));
  Spoilt draws = whole;
  draws.at("uniform") = draws.at("uniform").clone();
  draws.at("uniform")[3][0] = 1.0;
  EXPECT_EQ(draws.message(), refusal("uniform", "holds 1 at place 4 (expected a number between 0 and 1)"));
  draws = whole;
  draws.at("part") = draws.at("part") + 1;
  EXPECT_EQ(draws.message(), refusal("part", "names component 3 of spectral_mixture, which has fewer"));
  draws.at("part") = draws.at("part") - 2;
  EXPECT_EQ(draws.message().find("the state of the feature map: \"part\" holds -1 at place "), 0U);
  draws = whole;
  draws.at("sign") = draws.at("sign") * 0.5;
  EXPECT_EQ(draws.message(), refusal("sign", "holds another number than 1 and -1"));
  draws = whole;
  draws.at("count") = draws.at("count") + 1;
  EXPECT_EQ(draws.message(), refusal("normal", "has the shape (6, 2) (expected (8, 2))"));
  draws.at("count") = draws.at("count") * 0;
  EXPECT_EQ(draws.message(), refusal("count", "holds 0 at place 1 (expected 1 to 6)"));
}

TEST(MapState, OfAnotherMapIsRefused) {
  const Spoilt saved("rbf(x) + periodic(t)", options_of(MapKind::nystrom));
  Spoilt other = saved;
  other.options.kind = MapKind::fourier;
  EXPECT_EQ(other.message(), refusal("map1.centre", "is missing"));
  other = saved;
  other.options.train_points = true;
  EXPECT_EQ(other.message(), refusal("map1.points", "has the shape (12, 7) (expected (3, any, 7))"));
  other = saved;
  other.kernel = feature_kernel("rbf(x)", kMembers);
  EXPECT_EQ(other.message(), refusal("points", "is missing"));
  other.kernel = feature_kernel("rbf(x) + periodic(t) + rbf(u)", kMembers);
  EXPECT_EQ(other.message(), refusal("map3.points", "is missing"));
  other.kernel = feature_kernel("periodic(t) + rbf(x)", kMembers);
  EXPECT_EQ(other.message(), refusal("map1.turns", "is missing"));
  other = saved;
  other.state.emplace_back("map3.points", at::zeros({2, 7}, at::kDouble));
  EXPECT_EQ(other.message(), refusal("map3.points", "is not part of this map"));
  other = saved;
  other.state.push_back(other.state.front());
  EXPECT_EQ(other.message(), refusal("map1.points", "is there twice"));

  MapOptions trained = options_of(MapKind::nystrom);
  trained.train_points = true;
  Spoilt members("rbf(x)", trained);
  members.kernel = feature_kernel("rbf(x)", 2);
  EXPECT_EQ(members.message(), refusal("points", "has the shape (3, 12, 7) (expected (2, any, 7))"));
}

}  // namespace
}  // namespace ick
