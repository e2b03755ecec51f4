#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ick/train/fit_hooks.h"
#include "ick/train/options.h"

namespace ick {

// Parameters that are updated alike, as one flat buffer: the tensors of the model are views of it.
struct ParameterGroup {
  std::string name;
  at::Tensor value;   // (count), a leaf; its gradient is as flat
  double rate = 1.0;  // relative to the learning rate
  double weight_decay = 0.0;
  std::vector<at::Tensor> members;  // (E, ...) gradients of each tensor, views of value.grad()

  std::int64_t steps = 0;
  at::Tensor first, second;  // (count) each: what the optimiser keeps; sgd has only the first, its momentum
};

// Lays tensors of one type end to end and lets them be views of the whole, values and gradients alike.
ParameterGroup flatten(std::string name, const std::vector<at::Tensor>& tensors, double rate, double weight_decay);

// One step of each value by its gradient, in one pass over memory.
void update(const FitOptions& options, double learning_rate, ParameterGroup& group);

// A group's values and, after the first step, what the optimiser keeps, as optimiser.NAME. in a checkpoint; and back.
void save(const ParameterGroup& group, const FitOptions& options, Checkpoint& to);
void restore(ParameterGroup& group, const FitOptions& options, std::int64_t steps, const Checkpoint& from);

// By name; DataError when the checkpoint does not have it.
const at::Tensor& tensor_of(const Checkpoint& checkpoint, const std::string& name);
double number_of(const Checkpoint& checkpoint, const std::string& name);

}  // namespace ick
