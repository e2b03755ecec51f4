#include "train/optimiser.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "train/fused_update.h"

namespace ick {

namespace {

template <class Number>
void update_as(const FitOptions& options, double rate, ParameterGroup& group) {
  const std::int64_t count = group.value.numel();
  const Number* const gradient = group.value.grad().data_ptr<Number>();
  auto* const value = group.value.data_ptr<Number>();
  auto* const first = group.first.data_ptr<Number>();
  if (options.optimiser == Optimiser::sgd) {
    fused_sgd(rate, options.momentum, group.weight_decay, count, gradient, value, first);
    return;
  }
  const AdamSettings settings{rate, group.weight_decay, options.optimiser != Optimiser::adam, group.steps};
  auto* const second = group.second.data_ptr<Number>();
  constexpr std::int64_t kPiece = 8192;  // some microseconds
  parallel(static_cast<int>((count + kPiece - 1) / kPiece), [&](int piece, int) {
    const std::int64_t from = piece * kPiece;
    fused_adam(settings, std::min(kPiece, count - from), gradient + from, value + from, first + from, second + from);
  });
}

std::string prefix_of(const ParameterGroup& group) { return "optimiser." + group.name + "."; }

}  // namespace

ParameterGroup flatten(std::string name, const std::vector<at::Tensor>& tensors, double rate, double weight_decay) {
  ParameterGroup group;
  group.name = std::move(name);
  group.rate = rate;
  group.weight_decay = weight_decay;
  std::vector<at::Tensor> flat;
  for (const at::Tensor& each : tensors) flat.push_back(each.detach().reshape(-1));
  group.value = at::cat(flat).requires_grad_(true);
  group.value.mutable_grad() = at::zeros_like(group.value);
  group.first = at::zeros_like(group.value.detach());
  group.second = at::zeros_like(group.first);
  std::int64_t first = 0;
  for (at::Tensor each : tensors) {
    each.set_data(group.value.detach().narrow(0, first, each.numel()).view(each.sizes()));
    each.mutable_grad() = group.value.grad().narrow(0, first, each.numel()).view(each.sizes());
    group.members.push_back(each.grad());
    first += each.numel();
  }
  return group;
}

void update(const FitOptions& options, double learning_rate, ParameterGroup& group) {
  ++group.steps;
  const double rate = learning_rate * group.rate;
  if (group.value.scalar_type() == at::kFloat) {
    update_as<float>(options, rate, group);
  } else {
    update_as<double>(options, rate, group);
  }
}

void save(const ParameterGroup& group, const FitOptions& options, Checkpoint& to) {
  const std::string prefix = prefix_of(group);
  to.tensors.emplace_back(prefix + "value", group.value.detach().clone());
  if (group.steps == 0) return;
  if (options.optimiser == Optimiser::sgd) {
    to.tensors.emplace_back(prefix + "momentum", group.first.clone());
    return;
  }
  to.numbers[prefix + "step"] = static_cast<double>(group.steps);
  to.tensors.emplace_back(prefix + "first", group.first.clone());
  to.tensors.emplace_back(prefix + "second", group.second.clone());
}

void restore(ParameterGroup& group, const FitOptions& options, std::int64_t steps, const Checkpoint& from) {
  const std::string prefix = prefix_of(group);
  const auto take = [&](const std::string& name, const at::Tensor& to) {
    const at::Tensor& stored = tensor_of(from, prefix + name);
    if (stored.sizes() != to.sizes()) {
      throw DataError("the checkpoint's parameters have another size than the model's; it belongs to another fit");
    }
    to.copy_(stored);
  };
  take("value", group.value.detach());
  group.steps = steps;
  if (steps == 0) return;
  if (options.optimiser == Optimiser::sgd) {
    take("momentum", group.first);
    return;
  }
  take("first", group.first);
  take("second", group.second);
}

const at::Tensor& tensor_of(const Checkpoint& checkpoint, const std::string& name) {
  for (const auto& [each, tensor] : checkpoint.tensors) {
    if (each == name) return tensor;
  }
  throw DataError("the checkpoint has no tensor named \"" + name + "\"; it belongs to another fit");
}

double number_of(const Checkpoint& checkpoint, const std::string& name) {
  const auto found = checkpoint.numbers.find(name);
  if (found == checkpoint.numbers.end()) {
    throw DataError("the checkpoint has no number named \"" + name + "\"; it belongs to another fit");
  }
  return found->second;
}

}  // namespace ick
