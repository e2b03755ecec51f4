#include "ick/model/model.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "ick/base/error.h"
#include "ick/base/seed.h"

namespace ick {

namespace {

at::Tensor seeded_normals(std::int64_t members, std::int64_t count, std::uint64_t seed, const std::string& path) {
  at::Tensor draws = at::empty({members, count}, at::kFloat);
  float* to = draws.data_ptr<float>();
  for (std::int64_t e = 0; e < members; ++e) {
    Random random(seed_for(seed, path + "#" + std::to_string(e)));
    for (std::int64_t k = 0; k < count; ++k) *to++ = static_cast<float>(random.normal());
  }
  return draws;
}

std::string term_path(std::size_t t) { return "term" + std::to_string(t + 1); }

const at::Tensor* find(const TensorState& state, const std::string& path) {
  const auto found = std::find_if(state.begin(), state.end(), [&](const auto& each) { return each.first == path; });
  return found == state.end() ? nullptr : &found->second;
}

void load(const TensorState& state, const std::string& path, const at::Tensor& to) {
  const at::Tensor* from = find(state, path);
  if (from == nullptr) throw DataError("the model's weights have no tensor named \"" + path + "\"");
  if (from->sizes() != to.sizes() || from->scalar_type() != to.scalar_type()) {
    throw DataError("the model's tensor \"" + path + "\" has another shape or type than its formula needs");
  }
  to.detach().copy_(*from);
}

}  // namespace

// Every product of every term, in order: one kernel, so that what was written once is learned once.
void Model::make_kernel(const Encoder& encoder) {
  SumOfProducts all;
  KernelOptions options{options_.members, seed_for(options_.seed, "kernel")};
  for (std::size_t t = 0; t < spec_.terms.size(); ++t) {
    for (const Product& product : spec_.terms[t].kernels) {
      terms_[t].products.push_back(all.size());
      all.push_back(product);
      options.names.push_back(term_path(t));
    }
  }
  if (all.empty()) return;
  std::vector<InputSummary> inputs;
  for (const KernelColumn& column : encoder.kernel_columns) inputs.push_back(column.summary);
  kernel_ = std::make_unique<Kernel>(all, inputs, options);
}

MapOptions Model::map_options(std::size_t t) const {
  const TermSpec& term = spec_.terms[t];
  MapOptions options;
  options.kind = term.map;
  options.placement = term.placement;
  options.features = term.features;
  options.train_points = term.train_points;
  options.path = options_.path;
  options.seed = seed_for(options_.seed, term_path(t) + ".map");
  return options;
}

void Model::place_maps(const Dataset& rows) {
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    Term& term = terms_[t];
    if (term.products.empty()) continue;
    term.map = make_feature_map(kernel_->select(term.products), rows.x, map_options(t));
    if (term.weight.defined() && term.map->features() != term.features) term.weight = at::Tensor();
    term.features = term.map->features();
    if (spec_.terms[t].networks.empty() && !term.weight.defined()) {
      term.weight = seeded_normals(options_.members, term.features, options_.seed, term_path(t) + ".weight");
      term.weight.requires_grad_(true);
    }
  }
}

void Model::make_networks(const Encoder& encoder) {
  std::size_t source = 0;
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    for (const Call& call : spec_.terms[t].networks) {
      NetworkContext context;
      context.inputs = encoder.width(source);
      context.outputs = terms_[t].features;
      context.members = options_.members;
      context.seed =
          seed_for(options_.seed, term_path(t) + "." + call.name + std::to_string(terms_[t].networks.size()));
      context.default_layers = options_.layers;
      terms_[t].networks.push_back(find_network(call.name)->make(call, context));
      terms_[t].sources.push_back(source++);
    }
  }
}

Model::Model(const ModelSpec& spec, const Encoder& encoder, const Dataset& rows, const ModelOptions& options)
    : spec_(spec), options_(options), terms_(spec.terms.size()) {
  make_kernel(encoder);
  choose_features(spec_, rows.size());
  for (std::size_t t = 0; t < terms_.size(); ++t) terms_[t].features = spec_.terms[t].features;
  place_maps(rows);
  make_networks(encoder);
  bias_ = at::zeros({options_.members, 1}, at::kFloat).requires_grad_(true);
}

Model::Model(const ModelSpec& spec, const Encoder& encoder, const TensorState& state, const ModelOptions& options)
    : spec_(spec), options_(options), terms_(spec.terms.size()) {
  make_kernel(encoder);
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    Term& term = terms_[t];
    term.features = spec_.terms[t].features;
    if (term.products.empty()) continue;
    const std::string prefix = term_path(t) + ".map.";
    TensorState map;
    for (const auto& [path, tensor] : state) {
      if (path.starts_with(prefix)) map.emplace_back(path.substr(prefix.size()), tensor);
    }
    term.map = restore_feature_map(kernel_->select(term.products), map_options(t), map);
    term.features = term.map->features();
    if (spec_.terms[t].networks.empty()) {
      term.weight = at::zeros({options_.members, term.features}, at::kFloat).requires_grad_(true);
    }
  }
  make_networks(encoder);
  bias_ = at::zeros({options_.members, 1}, at::kFloat).requires_grad_(true);
  if (kernel_ != nullptr) load(state, "kernel", kernel_->parameters().raw());
  for (const NamedTensor& each : network_parameters()) load(state, each.path, each.value);
}

std::int64_t Model::features() const {
  std::int64_t total = 0;
  for (const Term& term : terms_) total += term.features;
  return total;
}

// prod_a f_ak(x_a), or the weights themselves: (E, B, p)
at::Tensor Model::latent(const Term& term, const Batch& batch, const std::optional<at::Generator>& dropout) const {
  if (term.networks.empty()) return term.weight.unsqueeze(1);
  at::Tensor product;
  for (std::size_t a = 0; a < term.networks.size(); ++a) {
    const at::Tensor f = (*term.networks[a])(batch.networks[term.sources[a]], dropout);
    product = product.defined() ? product * f : f;
  }
  return product;
}

at::Tensor Model::term(std::size_t t, const Batch& batch, const std::optional<at::Generator>& dropout) const {
  const Term& term = terms_.at(t);
  const at::Tensor f = latent(term, batch, dropout);
  const double share = std::sqrt(spec_.share());
  if (term.map == nullptr) return f.sum(-1) * (share / std::sqrt(static_cast<double>(term.features)));
  const bool known = t < batch.features.size() && batch.features[t].defined();
  const at::Tensor z =
      known ? batch.features[t].to(f.scalar_type()) : term.map->evaluate(batch.x, f.scalar_type());  // (1 or E, B, p)
  if (term.networks.empty()) return share * z.matmul(f.transpose(1, 2)).squeeze(-1);
  return share * (f * z).sum(-1);
}

std::vector<at::Tensor> Model::features_at(const at::Tensor& x) const {
  std::vector<at::Tensor> features;
  for (const Term& term : terms_) {
    features.push_back(term.map != nullptr ? term.map->evaluate(x, at::kFloat) : at::Tensor());
  }
  return features;
}

at::Tensor Model::operator()(const Batch& batch, const std::optional<at::Generator>& dropout) const {
  at::Tensor sum = bias_;
  for (std::size_t t = 0; t < terms_.size(); ++t) sum = sum + term(t, batch, dropout);
  return sum;
}

std::vector<Model::LastLayer> Model::last_layers(const Batch& batch) const {
  std::vector<LastLayer> layers;
  for (const Term& term : terms_) {
    LastLayer layer;
    const at::IntArrayRef rows = batch.x.sizes();
    layer.z = term.map != nullptr ? term.map->evaluate(batch.x, at::kFloat)
                                  : at::full({members(), rows[0], term.features},
                                             1.0 / std::sqrt(static_cast<double>(term.features)), at::kFloat);
    for (std::size_t a = 0; a < term.networks.size(); ++a) {
      const at::Tensor& inputs = batch.networks[term.sources[a]];
      if (a > 0) {
        layer.z = layer.z * (*term.networks[a])(inputs);
        continue;
      }
      const at::Tensor hidden = term.networks[0]->hidden(inputs);
      layer.phi = at::cat({hidden, at::ones({members(), rows[0], 1}, at::kFloat)}, 2);
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

void Model::set_last_layers(std::int64_t member, const std::vector<at::Tensor>& weights, double bias) {
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    Term& term = terms_[t];
    if (term.networks.empty()) {
      term.weight.detach()[member].copy_(weights[t]);
      continue;
    }
    const std::int64_t hidden = weights[t].size(0) - 1;
    term.networks[0]->last_weight().detach()[member].copy_(weights[t].narrow(0, 0, hidden));
    term.networks[0]->last_bias().detach()[member].copy_(weights[t].narrow(0, hidden, 1));
  }
  bias_.detach()[member].fill_(bias);
}

at::Tensor Model::linear_features(const at::Tensor& x) const {
  const double share = std::sqrt(spec_.share());
  std::vector<at::Tensor> parts;
  for (const Term& term : terms_) parts.push_back(share * term.map->evaluate(x, at::kDouble));
  parts.push_back(at::ones({members(), x.size(0), 1}, at::kDouble));
  return at::cat(parts, -1);
}

void Model::set_linear_weights(const at::Tensor& weights) {
  std::int64_t first = 0;
  for (Term& term : terms_) {
    term.weight.detach().copy_(weights.narrow(1, first, term.features));
    first += term.features;
  }
  bias_.detach().copy_(weights.narrow(1, first, 1));
}

at::Tensor Model::prior_variance(const at::Tensor& x) const { return kernel_->diagonal(x) * spec_.share(); }

at::Tensor Model::residual(const at::Tensor& x) const {
  at::Tensor total = at::zeros({members(), x.size(0)}, at::kDouble);
  for (const Term& term : terms_) {
    if (term.map != nullptr && term.networks.empty()) total = total + term.map->residual(x);
  }
  return total * spec_.share();
}

std::vector<NamedTensor> Model::network_parameters() const {
  std::vector<NamedTensor> all;
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const Term& term = terms_[t];
    for (std::size_t a = 0; a < term.networks.size(); ++a) {
      const std::string prefix = term_path(t) + "." + spec_.terms[t].networks[a].name + std::to_string(a + 1) + ".";
      for (NamedTensor each : term.networks[a]->parameters()) {
        each.path = prefix + each.path;
        all.push_back(std::move(each));
      }
    }
    if (term.weight.defined()) all.push_back({term_path(t) + ".weight", term.weight, true});
  }
  all.push_back({"bias", bias_, false});
  return all;
}

std::vector<NamedTensor> Model::kernel_parameters() const {
  std::vector<NamedTensor> all;
  if (kernel_ == nullptr) return all;
  all.push_back({"kernel", kernel_->parameters().raw(), false});
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    if (terms_[t].map == nullptr) continue;
    std::size_t i = 0;
    for (const at::Tensor& own : terms_[t].map->own_parameters()) {
      all.push_back({term_path(t) + ".points" + std::to_string(++i), own, false});
    }
  }
  return all;
}

std::int64_t Model::trainable() const {
  std::int64_t total = 0;
  for (const NamedTensor& each : network_parameters()) total += each.value.numel();
  for (const NamedTensor& each : kernel_parameters()) total += each.value.numel();
  if (kernel_ == nullptr) return total;
  for (const Parameter& each : kernel_->parameters().parameters()) total -= each.fixed ? each.count * members() : 0;
  return total;
}

std::vector<MapReport> Model::maps() const {
  std::vector<MapReport> reports;
  for (const Term& term : terms_) {
    if (term.map != nullptr) reports.push_back(term.map->report());
  }
  return reports;
}

TensorState Model::state() const {
  TensorState state;
  if (kernel_ != nullptr) state.emplace_back("kernel", kernel_->parameters().raw().detach().clone());
  for (const NamedTensor& each : network_parameters()) state.emplace_back(each.path, each.value.detach().clone());
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    if (terms_[t].map == nullptr) continue;
    for (const auto& [name, tensor] : terms_[t].map->state()) {
      state.emplace_back(term_path(t) + ".map." + name, tensor.detach().clone());
    }
  }
  return state;
}

}  // namespace ick
