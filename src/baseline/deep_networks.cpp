#include "baseline/deep_networks.h"

#include <ATen/ATen.h>

#include "baseline/kinds.h"
#include "baseline/process_task.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/formula/expression.h"

namespace ick {

namespace {

std::string network_name(std::size_t place) { return "network" + std::to_string(place + 1); }

std::string text_of(const NetworkSpec& network) {
  Call call;
  call.name = network.name;
  call.columns = {"x"};
  call.arguments = network.arguments;
  return print(call);
}

}  // namespace

DeepNetworks::DeepNetworks(const ModelSpec& spec, const Encoder& encoder, std::uint64_t seed) {
  for (const TermSpec& term : spec.terms) {
    for (const NetworkSpec& network : term.networks) add(text_of(network), encoder, seed);
  }
}

DeepNetworks::DeepNetworks(const TensorState& state, const Encoder& encoder) {
  for (std::size_t i = 0; i < encoder.networks.size(); ++i) {
    try {
      add(kept_text(state, network_name(i)), encoder, 0);
    } catch (const UsageError&) {
      refuse_kept(network_name(i));
    }
    for (const NamedTensor& each : networks_.back()->parameters()) {
      const std::string path = network_name(i) + "." + each.path;
      const at::Tensor kept = find_tensor(state, path);
      if (!kept.defined() || kept.sizes() != each.value.sizes()) refuse_kept(path);
      each.value.detach().copy_(kept);
    }
  }
}

void DeepNetworks::add(const std::string& text, const Encoder& encoder, std::uint64_t seed) {
  const std::size_t place = networks_.size();
  NetworkContext context;
  context.inputs = encoder.networks.at(place).numbers();
  context.outputs = kOutputs;
  context.seed = seed_for(seed, network_name(place));
  networks_.push_back(make_network(make_network_spec(parse_expression(text).call), context));
  texts_.push_back(text);
}

Dataset DeepNetworks::through(const Dataset& rows, const std::optional<at::Generator>& dropout) const {
  Dataset all = rows;
  for (std::size_t i = 0; i < networks_.size(); ++i) all.networks[i] = (*networks_[i])(rows.networks[i], dropout)[0];
  return all;
}

std::vector<at::Tensor> DeepNetworks::weights() const {
  std::vector<at::Tensor> all;
  for (const std::shared_ptr<Network>& network : networks_) {
    for (const NamedTensor& each : network->parameters()) all.push_back(each.value);
  }
  return all;
}

void DeepNetworks::keep(TensorState& state) const {
  for (std::size_t i = 0; i < networks_.size(); ++i) {
    keep_text(network_name(i), texts_[i], state);
    for (const NamedTensor& each : networks_[i]->parameters()) {
      state.emplace_back(network_name(i) + "." + each.path, each.value.detach());
    }
  }
}

std::int64_t DeepNetworks::columns(const Encoder& encoder) {
  return std::ssize(encoder.kernel_columns) + kOutputs * std::ssize(encoder.networks);
}

}  // namespace ick
