#include "ick/predict/support.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "ick/base/error.h"
#include "ick/base/seed.h"

namespace ick {

namespace {

constexpr std::int64_t kPoints = 256;  // Z
constexpr std::int64_t kRows = 4096;   // that they are chosen from
constexpr double kNearlyAll = 0.99;
constexpr double kSlack = 0.02;
constexpr double kExplained = 1e-3;  // of a row's variance left: far below the slack
constexpr double kMostUsual = 0.9;   // more: Z is too coarse for this kernel to tell anything

MapOptions map_options(std::uint64_t seed) {
  MapOptions options;
  options.features = kPoints;
  options.placement = Placement::pivoted_cholesky;
  options.explained = kExplained;
  options.dtype = at::kDouble;
  options.seed = seed;
  return options;
}

// The kernels that read the same columns. A kernel that multiplying out has put into several products counts once, and
// one on levels not at all: a level is known or refused.
struct Source {
  std::string name;
  std::vector<std::int64_t> columns;
  std::vector<std::pair<std::size_t, std::size_t>> factors;  // product, place in it
};

std::vector<Source> sources_of(const Model& model, const Encoder& encoder) {
  std::vector<Source> sources;
  if (!model.has_kernels()) return sources;
  std::vector<std::int64_t> seen;
  const auto& products = model.kernel().terms();
  for (std::size_t t = 0; t < products.size(); ++t) {
    for (std::size_t f = 0; f < products[t].size(); ++f) {
      const Factor& factor = products[t][f];
      const bool levels = std::any_of(factor.columns.begin(), factor.columns.end(),
                                      [&](std::int64_t c) { return !encoder.kernel_columns[c].levels.empty(); });
      const bool again = std::find(seen.begin(), seen.end(), factor.first_parameter) != seen.end();
      if (factor.columns.empty() || levels || again) continue;
      seen.push_back(factor.first_parameter);
      auto found = std::find_if(sources.begin(), sources.end(),
                                [&](const Source& each) { return each.columns == factor.columns; });
      if (found == sources.end()) {
        Source source{"", factor.columns, {}};
        for (const std::int64_t column : factor.columns) {
          source.name += (source.name.empty() ? "" : ", ") + encoder.kernel_columns[column].info.name;
        }
        found = sources.insert(sources.end(), source);
      }
      found->factors.emplace_back(t, f);
    }
  }
  return sources;
}

std::string state_name(std::size_t source, std::size_t map) {
  return "support" + std::to_string(source + 1) + ".kernel" + std::to_string(map + 1) + ".";
}

}  // namespace

std::string_view support_name(Support support) {
  constexpr std::string_view kNames[] = {"inside", "edge", "extrapolating", ""};
  return kNames[static_cast<std::size_t>(support)];
}

at::Tensor SupportSource::unexplained(const at::Tensor& x) const {
  at::NoGradGuard no_grad;
  at::Tensor largest = at::zeros({x.size(0)}, at::kDouble);
  for (const auto& map : maps_) {
    const at::Tensor variance = map->kernel().diagonal(x);                  // (E, n)
    const at::Tensor z = shared_by_members(map->evaluate(x, at::kDouble));  // (1 or E, n, p)
    const at::Tensor residual = (variance - z.square().sum(-1)).clamp_min(0.0);
    largest = at::maximum(largest, (residual / variance.clamp_min(1e-300)).mean(0));
  }
  return largest;
}

std::vector<Support> SupportSource::operator()(const at::Tensor& x) const {
  const at::Tensor r = unexplained(x);
  std::vector<Support> support;
  for (const double *each = r.data_ptr<double>(), *end = each + r.size(0); each != end; ++each) {
    support.push_back(usual_ > kMostUsual             ? Support::unknown
                      : *each <= usual_ + kSlack      ? Support::inside
                      : *each <= 0.5 * (1.0 + usual_) ? Support::edge
                                                      : Support::extrapolating);
  }
  return support;
}

std::vector<SupportSource> make_support(const Model& model, const Encoder& encoder, const Dataset& training,
                                        std::uint64_t seed) {
  at::NoGradGuard no_grad;
  // Points are chosen from one half of the rows, and what rows usually have is read off the other: a row explains
  // itself.
  const at::Tensor x = training.select(draw_rows(training.size(), kRows, seed_for(seed, "support rows"))).x;
  const at::Tensor candidates = x.slice(0, 0, x.size(0), 2).contiguous(),
                   others = x.slice(0, 1, x.size(0), 2).contiguous();
  std::vector<SupportSource> result;
  for (const Source& source : sources_of(model, encoder)) {
    SupportSource made;
    made.name_ = source.name;
    for (const auto& [t, f] : source.factors) {
      made.maps_.push_back(
          make_feature_map(model.kernel().factor(t, f), candidates, map_options(seed_for(seed, "support"))));
    }
    made.usual_ = made.unexplained(others).quantile(kNearlyAll).item<double>();
    result.push_back(std::move(made));
  }
  return result;
}

TensorState support_state(const std::vector<SupportSource>& sources) {
  TensorState state;
  for (std::size_t s = 0; s < sources.size(); ++s) {
    for (std::size_t m = 0; m < sources[s].maps_.size(); ++m) {
      for (const auto& [name, tensor] : sources[s].maps_[m]->state()) {
        state.emplace_back(state_name(s, m) + name, tensor);
      }
    }
    state.emplace_back("support" + std::to_string(s + 1) + ".usual", at::full({1}, sources[s].usual_, at::kDouble));
  }
  return state;
}

std::vector<SupportSource> restore_support(const Model& model, const Encoder& encoder, const TensorState& state) {
  std::vector<SupportSource> result;
  const std::vector<Source> sources = sources_of(model, encoder);
  for (std::size_t s = 0; s < sources.size(); ++s) {
    SupportSource made;
    made.name_ = sources[s].name;
    bool known = false;
    for (const auto& [name, tensor] : state) {
      if (name != "support" + std::to_string(s + 1) + ".usual") continue;
      made.usual_ = tensor[0].item<double>();
      known = true;
    }
    if (!known) throw DataError("the tensors of support \"" + made.name_ + "\" are missing");
    for (std::size_t m = 0; m < sources[s].factors.size(); ++m) {
      const std::string prefix = state_name(s, m);
      MapState map;
      for (const auto& [name, tensor] : state) {
        if (name.starts_with(prefix)) map.emplace_back(name.substr(prefix.size()), tensor);
      }
      const auto [t, f] = sources[s].factors[m];
      made.maps_.push_back(restore_feature_map(model.kernel().factor(t, f), map_options(0), map));
    }
    result.push_back(std::move(made));
  }
  return result;
}

}  // namespace ick
