#include "feature/composite.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "feature/hilbert.h"
#include "feature/nystrom.h"
#include "feature/random_fourier.h"
#include "feature/state.h"
#include "feature/support.h"
#include "ick/base/error.h"

namespace ick {

FeatureMap::FeatureMap(at::ScalarType dtype) : dtype_(dtype) {
  if (dtype != at::kFloat && dtype != at::kDouble) throw UsageError("features are of type float32 or float64");
}

at::Tensor FeatureMap::residual(const at::Tensor& x) const {
  const at::NoGradGuard no_gradient;
  return residual(x, shared_by_members(evaluate(x, at::kDouble)));
}

at::Tensor FeatureMap::residual(const at::Tensor& x, const at::Tensor& z) const {
  const at::NoGradGuard no_gradient;
  return (kernel().diagonal(x) - z.square().sum(-1)).clamp_min(0.0);
}

at::Tensor shared_by_members(const at::Tensor& z) { return z.stride(0) == 0 ? z.narrow(0, 0, 1) : z; }

JoinedMap::JoinedMap(const Kernel& kernel, std::vector<std::unique_ptr<FeatureMap>> maps, Join join,
                     at::ScalarType dtype)
    : FeatureMap(dtype), kernel_(kernel), maps_(std::move(maps)), join_(join) {
  for (const auto& map : maps_) {
    if (join_ == Join::side_by_side) {
      features_ += map->features();
    } else if (features_ != 0 && features_ != map->features()) {
      throw UsageError("chained maps need as many features each, found " + std::to_string(features_) + " and " +
                       std::to_string(map->features()));
    } else {
      features_ = map->features();
    }
  }
}

at::Tensor JoinedMap::evaluate(const at::Tensor& x, at::ScalarType dtype) const {
  std::vector<at::Tensor> parts;
  for (const auto& map : maps_) parts.push_back(map->evaluate(x, dtype));
  if (join_ == Join::side_by_side) return at::cat(parts, -1);
  at::Tensor product = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) product = product * parts[i];
  return product;
}

std::vector<at::Tensor> JoinedMap::own_parameters() const {
  std::vector<at::Tensor> all;
  for (const auto& map : maps_) {
    const std::vector<at::Tensor> own = map->own_parameters();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

MapReport JoinedMap::report() const {
  MapReport joined;
  for (const auto& map : maps_) {
    const MapReport part = map->report();
    joined.name += (joined.name.empty() ? "" : join_ == Join::side_by_side ? " + " : " . ") + part.name;
    joined.jitter_steps = std::max(joined.jitter_steps, part.jitter_steps);
    joined.largest_jitter = std::max(joined.largest_jitter, part.largest_jitter);
  }
  return joined;
}

namespace {

std::string part_prefix(std::size_t i) { return "map" + std::to_string(i + 1) + "."; }

}  // namespace

MapState JoinedMap::state() const {
  MapState all;
  for (std::size_t i = 0; i < maps_.size(); ++i) {
    for (const auto& [name, tensor] : maps_[i]->state()) all.emplace_back(part_prefix(i) + name, tensor);
  }
  return all;
}

namespace {

// `source`: training rows, or the state of such a map.
template <class Source>
std::unique_ptr<FeatureMap> make_product_map(const Kernel& product, const Source& source, const MapOptions& options) {
  switch (options.kind) {
    case MapKind::nystrom:
      return std::make_unique<NystromMap>(product, source, options);
    case MapKind::fourier:
      return std::make_unique<RandomFourierMap>(product, source, options);
    case MapKind::hilbert:
      return std::make_unique<HilbertMap>(product, source, options);
  }
  throw UsageError("no such kind of feature map");
}

// One map for each term, made by `make(term, options)`, side by side.
template <class Make>
std::unique_ptr<FeatureMap> join_terms(const Kernel& kernel, MapOptions options, Make make) {
  std::vector<std::unique_ptr<FeatureMap>> maps;
  for (std::size_t t = 0; t < kernel.terms().size(); ++t) {
    maps.push_back(make(kernel.term(t), options));
    options.seed = seed_for(options.seed, "next term");
  }
  if (maps.size() == 1) return std::move(maps[0]);
  return std::make_unique<JoinedMap>(kernel, std::move(maps), JoinedMap::Join::side_by_side, options.dtype);
}

}  // namespace

std::unique_ptr<FeatureMap> make_feature_map(const Kernel& kernel, const at::Tensor& x, const MapOptions& options) {
  const at::Tensor rows = checked_rows(x.detach(), kernel);
  return join_terms(kernel, options,
                    [&](const Kernel& term, const MapOptions& o) { return make_product_map(term, rows, o); });
}

std::unique_ptr<FeatureMap> restore_feature_map(const Kernel& kernel, const MapOptions& options,
                                                const MapState& state) {
  const StateReader reader(state);
  std::size_t done = 0;
  auto map = join_terms(kernel, options, [&](const Kernel& term, const MapOptions& o) {
    return make_product_map(term, kernel.terms().size() == 1 ? reader : reader.part(part_prefix(done++)), o);
  });
  const MapState used = map->state();
  for (const auto& [name, tensor] : state) {
    const auto same_name = [&name = name](const auto& each) { return each.first == name; };
    if (std::none_of(used.begin(), used.end(), same_name)) reader.refuse(name, "is not part of this map");
    if (std::count_if(state.begin(), state.end(), same_name) > 1) reader.refuse(name, "is there twice");
  }
  return map;
}

std::unique_ptr<FeatureMap> make_chained_map(const Kernel& kernel, const at::Tensor& x, const MapOptions& options) {
  const at::Tensor rows = checked_rows(x.detach(), kernel);
  return join_terms(kernel, options, [&](const Kernel& term, const MapOptions& o) -> std::unique_ptr<FeatureMap> {
    std::vector<std::unique_ptr<FeatureMap>> maps;
    for (std::size_t f = 0; f < term.terms()[0].size(); ++f)
      maps.push_back(make_product_map(term.factor(0, f), rows, o));
    return std::make_unique<JoinedMap>(term, std::move(maps), JoinedMap::Join::element_by_element, o.dtype);
  });
}

}  // namespace ick
