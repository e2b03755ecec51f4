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

std::string network_path(std::size_t t, const NetworkSpec& network, std::size_t a) {
  return term_path(t) + "." + network.name + std::to_string(a + 1) + ".";
}

void load(const TensorState& state, const std::string& path, const at::Tensor& to) {
  const at::Tensor from = find_tensor(state, path);
  if (!from.defined()) throw DataError("the model's weights have no tensor named \"" + path + "\"");
  if (from.sizes() != to.sizes() || from.scalar_type() != to.scalar_type()) {
    throw DataError("the model's tensor \"" + path + "\" has another shape or type than its formula needs");
  }
  to.detach().copy_(from);
}

}  // namespace

Batch batch_of(const Dataset& rows, std::int64_t first, std::int64_t count) {
  if (!rows.held()) return batch_of(rows.select(at::arange(first, first + count, at::kLong)), 0, count);
  Batch batch{rows.x.narrow(0, first, count), {}, {}};
  for (std::size_t a = 0; a < rows.networks.size(); ++a) {
    const bool image = a < rows.images.size() && rows.images[a];
    batch.networks.push_back(image ? rows.inputs(a, at::arange(first, first + count, at::kLong))
                                   : rows.networks[a].narrow(0, first, count));
  }
  const auto narrowed = [&](const at::Tensor& all) { return all.defined() ? all.narrow(0, first, count) : all; };
  batch.y = narrowed(rows.y);
  batch.offset = narrowed(rows.offset);
  batch.error = narrowed(rows.error);
  if (rows.weights.defined()) batch.weights = narrowed(rows.weights).to(at::kFloat).unsqueeze(0);
  return batch;
}

double stated_variance_unit(const ModelSpec& spec, const Encoder& encoder) {
  return encoder.target_scaling.sd * encoder.target_scaling.sd * spec.share();
}

// Every product of every term, in order: one kernel, so that what was written once is learned once.
void Model::make_kernel(const Encoder& encoder) {
  KernelSum all;
  KernelOptions options{options_.members * (options_.own_kernels ? options_.outputs : 1),
                        seed_for(options_.seed, "kernel")};
  options.target_variance = options_.stated_in_units ? stated_variance_unit(spec_, encoder) : 1.0;
  for (std::size_t t = 0; t < spec_.terms.size(); ++t) {
    for (const KernelProduct& product : spec_.terms[t].kernels) {
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

void limit_features(ModelSpec& spec, const Encoder& encoder) {
  std::vector<InputSummary> inputs;
  for (const KernelColumn& column : encoder.kernel_columns) inputs.push_back(column.summary);
  for (TermSpec& term : spec.terms) {
    if (term.kernels.empty() || term.map != MapKind::nystrom) continue;
    const Kernel kernel(term.kernels, inputs);
    std::int64_t most = 1;
    for (const std::vector<Factor>& product : kernel.terms()) most = std::max(most, rank_of(product));
    term.features = std::min(term.features, most);
  }
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

namespace {

// x of the rows that tell where the inputs live: of many rows a seeded draw, and those at the ends of each column,
// which grids and boxes reach to. (m, D)
at::Tensor placing_rows(const Dataset& rows, std::uint64_t seed) {
  if (rows.size() <= kManyRows) return rows.x_of(0, rows.size());
  at::Tensor low, high, lowest, highest;  // values and rows: (D) each
  for (std::int64_t first = 0; first < rows.size(); first += kManyRows) {
    const at::Tensor x = rows.x_of(first, std::min(kManyRows, rows.size() - first));
    const auto [least, least_at] = x.min(0);
    const auto [most, most_at] = x.max(0);
    if (first == 0) low = least, high = most, lowest = least_at, highest = most_at;
    lowest = at::where(least < low, least_at + first, lowest);
    highest = at::where(most > high, most_at + first, highest);
    low = at::minimum(low, least), high = at::maximum(high, most);
  }
  return rows.select(at::cat({draw_rows(rows.size(), kManyRows, seed), lowest, highest})).x;
}

}  // namespace

void Model::place_maps(const Dataset& rows) {
  if (kernel_ == nullptr) return;
  const at::Tensor x = placing_rows(rows, seed_for(options_.seed, "map rows"));
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    Term& term = terms_[t];
    if (term.products.empty()) continue;
    term.map = make_feature_map(kernel_->select(term.products), x, map_options(t));
    if (term.weight.defined() && term.weight.size(1) != outputs() * term.map->features()) term.weight = at::Tensor();
    term.features = term.map->features();
    if (spec_.terms[t].networks.empty() && !term.weight.defined()) {
      term.weight =
          seeded_normals(options_.members, outputs() * term.features, options_.seed, term_path(t) + ".weight");
      term.weight.requires_grad_(true);
    }
  }
}

void Model::make_networks(const Encoder& encoder, const TensorState* stored, bool trust) {
  std::size_t source = 0;
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    for (const NetworkSpec& network : spec_.terms[t].networks) {
      const NetworkInputs& inputs = encoder.networks.at(source);
      const std::size_t a = terms_[t].networks.size();
      NetworkContext context;
      context.inputs = inputs.numbers();
      if (inputs.image) context.image = inputs.image->shape;
      context.outputs = outputs() * terms_[t].features;
      context.members = options_.members;
      context.seed = seed_for(options_.seed, term_path(t) + "." + network.name + std::to_string(a));
      context.default_layers = options_.layers;
      context.trust = trust;
      if (stored != nullptr) {
        context.stored = [stored, prefix = network_path(t, network, a)](const std::string& path) {
          return find_tensor(*stored, prefix + path);
        };
      }
      terms_[t].networks.push_back(make_network(network, context));
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
  bias_ = at::zeros({options_.members, outputs()}, at::kFloat).requires_grad_(true);
}

Model::Model(const ModelSpec& spec, const Encoder& encoder, const TensorState& state, const ModelOptions& options,
             bool trust)
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
      term.weight = at::zeros({options_.members, outputs() * term.features}, at::kFloat).requires_grad_(true);
    }
  }
  make_networks(encoder, &state, trust);
  bias_ = at::zeros({options_.members, outputs()}, at::kFloat).requires_grad_(true);
  if (kernel_ != nullptr) load(state, "kernel", kernel_->parameters().raw());
  for (const NamedTensor& each : network_parameters()) load(state, each.path, each.value);
  for (const NamedTensor& each : buffers()) load(state, each.path, each.value);
}

std::int64_t Model::features() const {
  std::int64_t total = 0;
  for (const Term& term : terms_) total += term.features;
  return total;
}

// prod_a f_ak(x_a), or the weights themselves: (E, B or 1, C p)
at::Tensor Model::latent(const Term& term, const Batch& batch, const std::optional<at::Generator>& training) const {
  if (term.networks.empty()) return term.weight.unsqueeze(1);
  at::Tensor product;
  for (std::size_t a = 0; a < term.networks.size(); ++a) {
    const at::Tensor f = (*term.networks[a])(batch.networks[term.sources[a]], training);
    product = product.defined() ? product * f : f;
  }
  return product;
}

at::Tensor Model::term(std::size_t t, const Batch& batch, const std::optional<at::Generator>& training) const {
  return term(t, latent(terms_.at(t), batch, training), batch);
}

at::Tensor Model::term(std::size_t t, at::Tensor f, const Batch& batch) const {
  const Term& term = terms_[t];
  const std::int64_t classes = outputs();
  if (classes > 1) f = f.view({f.size(0), f.size(1), classes, term.features});  // (E, B, C, p)
  const double share = std::sqrt(spec_.share());
  if (term.map == nullptr) return f.sum(-1) * (share / std::sqrt(static_cast<double>(term.features)));
  const bool known = t < batch.features.size() && batch.features[t].defined();
  at::Tensor z =
      known ? batch.features[t].to(f.scalar_type()) : term.map->evaluate(batch.x, f.scalar_type());  // (1 or E, B, p)
  if (classes == 1 && term.networks.empty()) return share * z.matmul(f.transpose(1, 2)).squeeze(-1);
  if (classes > 1) {
    const bool own = options_.own_kernels && z.size(0) > 1;  // (E C, B, p)
    z = own ? z.view({members(), classes, z.size(1), z.size(2)}).transpose(1, 2) : z.unsqueeze(2);
  }
  return share * (f * z).sum(-1);
}

std::vector<at::Tensor> Model::features_at(const at::Tensor& x) const {
  std::vector<at::Tensor> features;
  for (const Term& term : terms_) {
    features.push_back(term.map != nullptr ? term.map->evaluate(x, at::kFloat) : at::Tensor());
  }
  return features;
}

at::Tensor Model::operator()(const Batch& batch, const std::optional<at::Generator>& training) const {
  at::Tensor sum = outputs() == 1 ? bias_ : bias_.unsqueeze(1);
  for (std::size_t t = 0; t < terms_.size(); ++t) sum = sum + term(t, batch, training);
  return sum;
}

namespace {

// sqrt of the prior variances of a network's last weights and biases, as a row: (H + 1) in float32
at::Tensor last_deviations(const Network& network, LayerPrior prior) {
  const std::int64_t hidden = network.last_weight().size(1);
  const auto even = 1.0 / std::sqrt(static_cast<double>(hidden + 1));
  if (prior == LayerPrior::even) return at::full({hidden + 1}, even, at::kFloat);
  const std::optional<DensePrior> drawn = network.dense_prior();
  if (!drawn)
    throw UsageError("only fully connected networks have a prior in closed form; use " +
                     setting("posterior", "ensemble"));
  const DensePrior::Layer& last = drawn->layers.back();
  at::Tensor deviations = at::full({hidden + 1}, std::sqrt(last.weight / static_cast<double>(hidden)), at::kFloat);
  deviations[hidden] = std::sqrt(last.bias);
  return deviations;
}

}  // namespace

// sqrt(share) z of a term's kernels: (E, B, p) in float32
at::Tensor Model::signal(const Term& term, const Batch& batch) const {
  const double share = std::sqrt(spec_.share());
  if (term.map != nullptr) return share * term.map->evaluate(batch.x, at::kFloat);
  const double each = share / std::sqrt(static_cast<double>(term.features));
  return at::full({members(), batch.x.size(0), term.features}, each, at::kFloat);
}

std::vector<BilinearFeatures> Model::last_layers(const Batch& batch, LayerPrior prior) const {
  std::vector<BilinearFeatures> layers;
  const at::Tensor one = at::ones({members(), batch.x.size(0), 1}, at::kFloat);
  for (const Term& term : terms_) {
    BilinearFeatures layer;
    layer.right = signal(term, batch);
    for (std::size_t a = 0; a < term.networks.size(); ++a) {
      const at::Tensor& inputs = batch.networks[term.sources[a]];
      if (a > 0) {
        layer.right = layer.right * (*term.networks[a])(inputs);
        continue;
      }
      const at::Tensor hidden = term.networks[0]->hidden(inputs);
      layer.left = at::cat({hidden, one}, 2) * last_deviations(*term.networks[0], prior);
    }
    layers.push_back(std::move(layer));
  }
  if (prior == LayerPrior::even) layers.push_back({{}, one});
  return layers;
}

void Model::set_last_layers(std::int64_t first_member, const std::vector<at::Tensor>& weights, LayerPrior prior) {
  const std::int64_t count = weights[0].size(0);
  const auto members_of = [&](const at::Tensor& all) { return all.detach().narrow(0, first_member, count); };
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    Term& term = terms_[t];
    if (term.networks.empty()) {
      members_of(term.weight).copy_(weights[t].squeeze(1));
      continue;
    }
    const Network& network = *term.networks[0];
    const at::Tensor all = weights[t] * last_deviations(network, prior).unsqueeze(1);  // (C, H + 1, p)
    const std::int64_t hidden = all.size(1) - 1;
    members_of(network.last_weight()).copy_(all.narrow(1, 0, hidden));
    members_of(network.last_bias()).copy_(all.narrow(1, hidden, 1));
  }
  if (prior == LayerPrior::even) {
    members_of(bias_).copy_(weights.back().squeeze(2));
  } else {
    members_of(bias_).zero_();
  }
}

std::vector<BilinearFeatures> Model::tangents(const Batch& batch, Part part) const {
  std::vector<BilinearFeatures> all;
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const std::vector<BilinearFeatures> own = tangents_of(t, batch, part);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::vector<BilinearFeatures> Model::tangents_of(std::size_t t, const Batch& batch, Part part) const {
  const Term& term = terms_.at(t);
  at::Tensor s;
  if (part == Part::carried) {
    s = signal(term, batch);
  } else if (const at::Tensor missed = residual_of(term, batch.x); missed.defined()) {
    s = (missed / static_cast<double>(term.features)).sqrt().to(at::kFloat).unsqueeze(2);
    s = s.expand({-1, -1, term.features});
  } else {
    return {};
  }
  if (term.networks.empty()) return {{{}, s}};
  if (term.networks.size() > 1) {
    throw UsageError("a product of networks is not linear in all their weights; use " +
                     setting("posterior", "ensemble"));
  }
  return term.networks[0]->tangents(batch.networks[term.sources[0]], s);
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

std::vector<NamedTensor> Model::network_parameters() const {
  std::vector<NamedTensor> all;
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const Term& term = terms_[t];
    for (std::size_t a = 0; a < term.networks.size(); ++a) {
      const std::string prefix = network_path(t, spec_.terms[t].networks[a], a);
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

std::vector<NamedTensor> Model::buffers() const {
  std::vector<NamedTensor> all;
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    for (std::size_t a = 0; a < terms_[t].networks.size(); ++a) {
      for (NamedTensor each : terms_[t].networks[a]->buffers()) {
        each.path = network_path(t, spec_.terms[t].networks[a], a) + each.path;
        all.push_back(std::move(each));
      }
    }
  }
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
  const std::int64_t kernels = kernel_->parameters().raw().size(0);
  for (const Parameter& each : kernel_->parameters().parameters()) total -= each.fixed ? each.count * kernels : 0;
  return total;
}

Model::TermParts Model::parts_of(std::size_t t) const {
  const Term& term = terms_.at(t);
  TermParts parts;
  for (const auto& network : term.networks) parts.networks.push_back(network.get());
  parts.sources = term.sources;
  if (!term.products.empty()) parts.kernel = kernel_->select(term.products);
  return parts;
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
  for (const NamedTensor& each : buffers()) state.emplace_back(each.path, each.value.detach().clone());
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    if (terms_[t].map == nullptr) continue;
    for (const auto& [name, tensor] : terms_[t].map->state()) {
      state.emplace_back(term_path(t) + ".map." + name, tensor.detach().clone());
    }
  }
  return state;
}

}  // namespace ick
