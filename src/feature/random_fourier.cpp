#include "feature/random_fourier.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "feature/support.h"
#include "ick/base/error.h"
#include "kernel/special.h"

namespace ick {

namespace {

constexpr int kMostCombinations = 4096;
constexpr int kMostHarmonics = 256;  // of a series within a drawn product: enough for a lengthscale of 0.02

// m numbers in (0, 1): one in each of m equal shares, in random order, or drawn independently.
at::Tensor uniforms(std::int64_t m, Draws draws, Random& random) {
  at::Tensor u = at::empty({m}, at::kDouble);
  double* number = u.data_ptr<double>();
  for (std::int64_t i = 0; i < m; ++i) {
    number[i] = draws == Draws::independent ? random.uniform()
                                            : (static_cast<double>(i) + random.uniform()) / static_cast<double>(m);
  }
  if (draws == Draws::orthogonal) {
    for (std::int64_t i = m - 1; i > 0; --i) std::swap(number[i], number[random.below(i + 1)]);
  }
  return u;
}

bool has_random(const std::vector<Factor>& factors) {
  return std::any_of(factors.begin(), factors.end(), [](const Factor& f) { return is_random(f.row->spectrum); });
}

bool has_random_scale(Spectrum spectrum) {
  return spectrum == Spectrum::student || spectrum == Spectrum::gamma_mixture;
}

at::Tensor factor_parameters(const at::Tensor& parameters, const Factor& f) {
  return parameters.narrow(1, f.first_parameter, f.parameter_count);
}

}  // namespace

at::Tensor standard_normals(std::int64_t m, std::int64_t inputs, Draws draws, Random& random) {
  const auto normals = [&](std::int64_t rows) {
    at::Tensor block = at::empty({rows, inputs}, at::kDouble);
    for (std::int64_t i = 0; i < block.numel(); ++i) block.data_ptr<double>()[i] = random.normal();
    return block;
  };
  if (draws == Draws::independent || inputs == 0 || m == 0) return normals(m);
  std::vector<at::Tensor> blocks;
  for (std::int64_t first = 0; first < m; first += inputs) {
    const auto [q, r] = at::linalg_qr(normals(inputs));
    blocks.push_back((q * r.diagonal().sign()).t());  // the sign makes the directions uniform
  }
  const at::Tensor length = uniforms(m, draws, random);  // of a chi variable with D degrees
  for (std::int64_t i = 0; i < m; ++i) {
    double& u = length.data_ptr<double>()[i];
    const auto degrees = static_cast<double>(inputs);
    u = std::sqrt(degrees * unit_gamma_quantile(u, 0.5 * degrees));
  }
  return at::cat(blocks).narrow(0, 0, m) * length.unsqueeze(1);
}

RandomFourierMap::RandomFourierMap(const Kernel& product, const MapOptions& options)
    : FeatureMap(options.dtype), kernel_(product), options_(options) {
  if (options.features < 2) throw UsageError("Fourier features come in pairs of cosine and sine; ask for at least 2");
}

RandomFourierMap::RandomFourierMap(const Kernel& product, const at::Tensor& x, const MapOptions& options)
    : RandomFourierMap(product, options) {
  const std::vector<Factor>& factors = kernel_.terms()[0];
  for (const Factor& f : factors) {
    centres_.push_back(x.size(0) > 0 ? Kernel::embed(f, x).mean(0) : at::zeros({f.structure.inputs}, at::kDouble));
  }
  // A periodic lengthscale that shrinks in training needs higher harmonics: pairs are shared out as if it were half.
  at::Tensor parameters = kernel_.parameters().natural().detach().clone();
  for (const Factor& f : factors) {
    if (f.row->spectrum == Spectrum::series) parameters.select(1, f.first_parameter + 2).mul_(0.5);
  }
  components_ = combinations(parameters, most_harmonics());
  share_out(components_, options.features / 2, options.seed);
  for (std::size_t c = 0; c < components_.size(); ++c) {
    draw(components_[c], seed_for(options.seed, "frequencies " + std::to_string(c)));
  }
  count_up();
}

RandomFourierMap::RandomFourierMap(const Kernel& product, const StateReader& state, const MapOptions& options)
    : RandomFourierMap(product, options) {
  const std::vector<Factor>& factors = kernel_.terms()[0];
  std::vector<std::int64_t> inputs;
  std::int64_t drawn = 0, scaled = 0;
  for (const Factor& f : factors) {
    inputs.push_back(f.structure.inputs);
    drawn += is_random(f.row->spectrum) ? f.structure.inputs : 0;
    scaled += has_random_scale(f.row->spectrum) ? 1 : 0;
  }
  centres_ = state.numbers("centre", {std::accumulate(inputs.begin(), inputs.end(), std::int64_t{0})})
                 .split_with_sizes(inputs);
  const at::Tensor count = state.integers("count", {StateReader::kAny}, 1, options.features / 2);
  const std::int64_t components = count.size(0), factor_count = std::ssize(factors),
                     m = count.sum().item<std::int64_t>();
  const at::Tensor part = state.integers("part", {components, factor_count}, 0, std::numeric_limits<int>::max());
  const at::Tensor sign = state.numbers("sign", {components, factor_count});
  if (!sign.abs().eq(1.0).all().item<bool>()) state.refuse("sign", "holds another number than 1 and -1");
  const at::Tensor share = state.numbers("share", {components}, kPositive);
  const at::Tensor normal = state.numbers("normal", {m, drawn});
  const at::Tensor uniform = state.numbers("uniform", {m, scaled}, kInsideUnit);
  for (std::int64_t c = 0, first = 0; c < components; ++c) {
    Component component;
    component.share = share[c].item<double>();
    component.count = count[c].item<std::int64_t>();
    for (std::int64_t f = 0; f < factor_count; ++f) {
      component.part.push_back(part[c][f].item<int>());
      component.sign.push_back(sign[c][f].item<double>());
      if (component.part.back() >= component_count(factors[f], most_harmonics())) {
        state.refuse("part", "names component " + std::to_string(component.part.back() + 1) + " of " +
                                 factors[f].row->title() + ", which has fewer");
      }
    }
    deal(component, normal.narrow(0, first, component.count), uniform.narrow(0, first, component.count));
    first += component.count;
    components_.push_back(std::move(component));
  }
  count_up();
}

int RandomFourierMap::most_harmonics() const {
  const std::vector<Factor>& factors = kernel_.terms()[0];
  const auto series = std::count_if(factors.begin(), factors.end(),
                                    [](const Factor& f) { return f.row->spectrum == Spectrum::series; });
  const double room = std::pow(kMostCombinations, 1.0 / static_cast<double>(std::max<std::ptrdiff_t>(1, series)));
  const std::int64_t wanted = has_random(factors) ? kMostHarmonics : options_.features / 2;
  return static_cast<int>(std::min(room, static_cast<double>(wanted)));
}

void RandomFourierMap::count_up() {
  const std::vector<Factor>& factors = kernel_.terms()[0];
  for (std::size_t f = 0; f < factors.size(); ++f) {
    int parts = component_count(factors[f], 1);
    for (const Component& each : components_) parts = std::max(parts, each.part[f] + 1);
    parts_.push_back(parts);
  }
  for (const Component& each : components_) frequencies_ += each.count;
}

// All ways to take one component from each factor. cos a cos b = (cos(a + b) + cos(a - b)) / 2: every factor after the
// first whose distribution is not symmetric appears with both signs.
std::vector<RandomFourierMap::Component> RandomFourierMap::combinations(const at::Tensor& parameters,
                                                                        int harmonics) const {
  std::vector<Component> all = {Component{{}, {}, 1.0, 1.0, 1, {}}};
  bool one_sided_before = false;
  for (const Factor& f : kernel_.terms()[0]) {
    const int parts = component_count(f, harmonics);
    const at::Tensor weights = component_weights(f, factor_parameters(parameters, f), parts).mean(0);
    const bool one_sided = is_one_sided(f.row->spectrum);
    std::vector<Component> next;
    for (const Component& before : all) {
      for (int c = 0; c < parts; ++c) {
        const bool at_zero = f.row->spectrum == Spectrum::series && c == 0;
        const bool both = one_sided && one_sided_before && !at_zero;
        for (const double sign : {1.0, -1.0}) {
          if (sign < 0.0 && !both) continue;
          Component component = before;
          component.part.push_back(c);
          component.sign.push_back(sign);
          component.share *= both ? 0.5 : 1.0;
          component.weight *= weights[c].item<double>() * (both ? 0.5 : 1.0);
          next.push_back(std::move(component));
        }
      }
      if (std::ssize(next) > 4 * kMostCombinations) {
        throw UsageError("the product has too many spectral components for Fourier features; use Nystrom");
      }
    }
    one_sided_before = one_sided_before || one_sided;
    all = std::move(next);
  }
  return all;
}

// Known frequencies: the heaviest components, one pair each. Drawn ones: pairs in proportion to the weights at the
// start, and at least one for each component of a mixture. A harmonic that is due less than one pair gets one with that
// probability, by a systematic draw, and then counts for more: the mean of z . z' over seeds is k, whatever was left
// out.
void RandomFourierMap::share_out(std::vector<Component>& components, std::int64_t pairs, std::uint64_t seed) const {
  const std::vector<Factor>& factors = kernel_.terms()[0];
  std::stable_sort(components.begin(), components.end(),
                   [](const Component& a, const Component& b) { return a.weight > b.weight; });
  if (!has_random(factors)) {
    if (std::ssize(components) > pairs) components.resize(pairs);
    return;
  }
  const bool series =
      std::any_of(factors.begin(), factors.end(), [](const Factor& f) { return f.row->spectrum == Spectrum::series; });
  const std::int64_t reserved = series ? 0 : std::ssize(components);
  if (reserved > pairs) {
    throw UsageError("the product has " + std::to_string(components.size()) +
                     " spectral components; ask for at least twice as many Fourier features");
  }
  const auto shared = static_cast<double>(pairs - reserved);
  double total = 0.0;
  for (const Component& each : components) total += each.weight;
  double mark = Random(seed_for(seed, "components")).uniform(), running = 0.0;
  for (Component& each : components) {
    const double due = shared * each.weight / total;
    running += due;
    each.count = series ? 0 : 1;
    for (; mark < running; mark += 1.0) ++each.count;
    if (series && due < 1.0) each.share /= due;  // drawn with probability `due`
  }
  if (mark < shared) ++components.front().count;  // rounding left the last mark beyond the sum
  std::erase_if(components, [](const Component& each) { return each.count == 0; });
}

void RandomFourierMap::draw(Component& component, std::uint64_t seed) const {
  Random random(seed);
  std::int64_t inputs = 0;
  for (const Factor& f : kernel_.terms()[0]) inputs += is_random(f.row->spectrum) ? f.structure.inputs : 0;
  const at::Tensor normal = standard_normals(component.count, inputs, options_.draws, random);  // on the joined inputs
  std::vector<at::Tensor> uniform = {at::empty({component.count, 0}, at::kDouble)};
  for (const Factor& f : kernel_.terms()[0]) {
    if (!has_random_scale(f.row->spectrum)) continue;
    uniform.push_back(uniforms(component.count, options_.draws, random).unsqueeze(1));
  }
  deal(component, normal, at::cat(uniform, 1));
}

// Gives each factor its columns of the standard draws: normal (m_c, drawn inputs), uniform (m_c, factors with a random
// scale).
void RandomFourierMap::deal(Component& component, const at::Tensor& normal, const at::Tensor& uniform) const {
  std::int64_t input = 0, scale = 0;
  for (const Factor& f : kernel_.terms()[0]) {
    SpectralDraws draws;
    if (is_random(f.row->spectrum)) {
      draws.normal = normal.narrow(1, input, f.structure.inputs);
      input += f.structure.inputs;
    } else {
      draws.normal = at::zeros({component.count, f.structure.inputs}, at::kDouble);
    }
    if (has_random_scale(f.row->spectrum)) draws.uniform = uniform.select(1, scale++);
    fix_scales(f, draws);
    component.draws.push_back(std::move(draws));
  }
}

MapState RandomFourierMap::state() const {
  const std::vector<Factor>& factors = kernel_.terms()[0];
  std::vector<std::int64_t> part, count;
  std::vector<double> sign, share;
  std::vector<at::Tensor> normal, uniform;
  for (const Component& component : components_) {
    part.insert(part.end(), component.part.begin(), component.part.end());
    sign.insert(sign.end(), component.sign.begin(), component.sign.end());
    share.push_back(component.share);
    count.push_back(component.count);
    std::vector<at::Tensor> normals = {at::empty({component.count, 0}, at::kDouble)}, scales = normals;
    for (std::size_t f = 0; f < factors.size(); ++f) {
      if (is_random(factors[f].row->spectrum)) normals.push_back(component.draws[f].normal);
      if (has_random_scale(factors[f].row->spectrum)) scales.push_back(component.draws[f].uniform.unsqueeze(1));
    }
    normal.push_back(at::cat(normals, 1));
    uniform.push_back(at::cat(scales, 1));
  }
  MapState state;
  put(state, "centre", at::cat(centres_));
  put(state, "part", at::tensor(part, at::kLong).view({-1, std::ssize(factors)}));
  put(state, "sign", at::tensor(sign, at::kDouble).view({-1, std::ssize(factors)}));
  put(state, "share", at::tensor(share, at::kDouble));
  put(state, "count", at::tensor(count, at::kLong));
  put(state, "normal", at::cat(normal));
  put(state, "uniform", at::cat(uniform));
  return state;
}

at::Tensor RandomFourierMap::evaluate(const at::Tensor& x, at::ScalarType dtype) const {
  const at::Tensor rows = checked_rows(x, kernel_);
  const std::vector<Factor>& factors = kernel_.terms()[0];
  const at::Tensor parameters = kernel_.parameters().natural();
  std::vector<at::Tensor> inputs, weights;
  for (std::size_t f = 0; f < factors.size(); ++f) {
    inputs.push_back(Kernel::embed(factors[f], rows) - centres_[f]);
    weights.push_back(component_weights(factors[f], factor_parameters(parameters, factors[f]), parts_[f]));
  }
  std::vector<at::Tensor> frequencies, amplitudes;
  for (const Component& component : components_) {
    at::Tensor weight = at::full({1}, component.share / static_cast<double>(component.count), at::kDouble);
    std::vector<at::Tensor> joined;
    for (std::size_t f = 0; f < factors.size(); ++f) {
      weight = weight * weights[f].select(1, component.part[f]);
      joined.push_back(component.sign[f] * component_frequencies(factors[f], factor_parameters(parameters, factors[f]),
                                                                 component.part[f], component.draws[f]));
    }
    frequencies.push_back(at::cat(joined, 2));  // (E, m_c, D)
    // A weight can underflow to zero, where the root has no slope.
    const at::Tensor amplitude = weight.clamp_min(1e-300).sqrt();
    amplitudes.push_back(amplitude.unsqueeze(1).expand({kernel_.members(), component.count}));  // (E, m_c)
  }
  const at::Tensor phase = at::cat(inputs, 1).matmul(at::cat(frequencies, 1).transpose(1, 2));  // (E, n, m)
  const at::Tensor amplitude = at::cat(amplitudes, 1).unsqueeze(1);
  const at::Tensor z = at::cat({amplitude * phase.cos(), amplitude * phase.sin()}, 2).to(dtype);
  return checked_features(z);
}

MapReport RandomFourierMap::report() const {
  MapReport report;
  report.name = has_random(kernel_.terms()[0]) ? "random Fourier (" : "Fourier series (";
  report.name += std::to_string(frequencies_) + " frequencies)";
  return report;
}

}  // namespace ick
