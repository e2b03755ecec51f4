#include "train/step.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "ick/base/parallel.h"
#include "net/mlp.h"

namespace ick {

namespace {

// A network on the fast path; no value when it has to stay with autograd.
std::optional<FusedNetworkShape> shape_of(const Network& network, std::size_t source) {
  const auto* const mlp = dynamic_cast<const Mlp*>(&network);
  if (mlp == nullptr || !mlp->fuses()) return std::nullopt;
  FusedNetworkShape shape;
  shape.widths.push_back(static_cast<int>(mlp->inputs()));
  for (const std::int64_t width : mlp->options().layers) shape.widths.push_back(static_cast<int>(width));
  shape.widths.push_back(static_cast<int>(mlp->outputs()));
  shape.activation = mlp->options().activation.name;
  shape.source = static_cast<int>(source);
  return shape;
}

std::optional<std::vector<FusedTermShape>> shapes_of(const Model& model) {
  // Wide layers are torch's: its products keep the machine busy, and a chunk would not stay in the cache.
  constexpr int kWidest = 1024;
  std::vector<FusedTermShape> shapes;
  const double share = std::sqrt(model.spec().share());
  for (std::size_t t = 0; t < model.spec().terms.size(); ++t) {
    const Model::TermParts parts = model.parts_of(t);
    FusedTermShape& term = shapes.emplace_back();
    for (std::size_t a = 0; a < parts.networks.size(); ++a) {
      std::optional<FusedNetworkShape> network = shape_of(*parts.networks[a], parts.sources[a]);
      if (!network || *std::max_element(network->widths.begin(), network->widths.end()) > kWidest) return std::nullopt;
      term.networks.push_back(std::move(*network));
    }
    term.features = static_cast<int>(model.features_of(t));
    term.kernels = parts.kernel.has_value();
    term.share = static_cast<float>(term.kernels ? share : share / std::sqrt(static_cast<double>(term.features)));
  }
  return shapes;
}

// Rows from `first` on of tensor (rows, columns), or of a member of (E, rows, columns).
FloatRows<float> rows_from(const at::Tensor& of, std::int64_t first, std::int64_t member = 0) {
  const std::int64_t start = of.dim() == 3 ? member * of.stride(0) : 0;
  return {of.data_ptr<float>() + start + first * of.stride(-2), of.stride(-2), of.stride(-1)};
}

bool all_share(const at::Tensor& features) { return features.size(0) == 1 || features.stride(0) == 0; }

// The columns of chunk c, (width, rows), of those of all chunks.
template <class Columns>
auto* chunk_at(Columns& columns, std::int64_t c, std::int64_t width) {
  return columns.data() + c * width * kRowsApart;
}

int chunks_of(std::int64_t rows) { return static_cast<int>((rows + kChunkRows - 1) / kChunkRows); }

}  // namespace

bool FusedStep::fits(const Model& model) {
  if (model.own_kernels()) return false;
  for (const NamedTensor& each : model.network_parameters()) {
    if (each.value.scalar_type() != at::kFloat) return false;
  }
  return shapes_of(model).has_value();
}

FusedStep::FusedStep(const Model& model, const Likelihood& likelihood, at::Tensor log_noise)
    : terms_(*shapes_of(model)),
      members_(model.members()),
      outputs_(model.outputs()),
      likelihood_(likelihood),
      log_noise_(std::move(log_noise)),
      parameters_(model.network_parameters()),
      losses_(static_cast<std::size_t>(members_)) {
  for (const NamedTensor& each : parameters_) sizes_.push_back(each.value.numel() / members_);
  for (const std::int64_t size : sizes_) size_ += size;
  for (const FusedTermShape& term : terms_) {
    for (const FusedNetworkShape& network : term.networks) {
      input_widths_.resize(std::max(input_widths_.size(), static_cast<std::size_t>(network.source) + 1));
      input_widths_[static_cast<std::size_t>(network.source)] = network.widths[0];
    }
  }
}

void FusedStep::make_workers() {
  while (std::ssize(workers_) < ick::workers()) {
    workers_.push_back({FusedModel(terms_, static_cast<int>(outputs_), true),
                        std::vector<const float*>(input_widths_.size()), std::vector<const float*>(terms_.size()),
                        std::vector<const float*>(parameters_.size()), std::vector<float*>(parameters_.size()),
                        std::vector<float*>(terms_.size()), std::vector<FloatColumns>(terms_.size()),
                        std::vector<FloatColumns>(terms_.size())});
  }
}

// What all members read, chunk by chunk.
void FusedStep::turn(const Batch& batch, const std::vector<at::Tensor>& features) {
  const std::int64_t count = batch.x.size(0);
  const int chunks = chunks_of(count);
  const auto room = [&](FloatColumns& columns, std::int64_t width) {
    const auto wanted = static_cast<std::size_t>(chunks * width * kRowsApart);
    if (columns.size() < wanted) columns.resize(wanted);
  };
  inputs_.resize(input_widths_.size()), shared_.resize(terms_.size());
  for (std::size_t a = 0; a < inputs_.size(); ++a) room(inputs_[a], input_widths_[a]);
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    if (terms_[t].kernels && all_share(features[t])) room(shared_[t], terms_[t].features);
  }
  parallel(chunks, [&](int c, int) {
    const std::int64_t first = static_cast<std::int64_t>(c) * kChunkRows;
    const int rows = static_cast<int>(std::min<std::int64_t>(kChunkRows, count - first));
    for (std::size_t a = 0; a < inputs_.size(); ++a) {
      const int width = input_widths_[a];
      turn_in(rows_from(batch.networks[a], first), rows, width, chunk_at(inputs_[a], c, width));
    }
    for (std::size_t t = 0; t < terms_.size(); ++t) {
      const int p = terms_[t].features;
      if (!terms_[t].kernels || !all_share(features[t])) continue;
      turn_in(rows_from(features[t], first), rows, p, chunk_at(shared_[t], c, p));
    }
  });
}

FusedStep::Chunk FusedStep::chunk_of(int task, std::int64_t rows, Members members) const {
  const int chunks = chunks_of(rows);
  const std::int64_t first = static_cast<std::int64_t>(task % chunks) * kChunkRows;
  return {members.first + task / chunks, first, static_cast<int>(std::min<std::int64_t>(kChunkRows, rows - first))};
}

FusedModel& FusedStep::load(int worker, std::int64_t member) {
  Worker& of = workers_[static_cast<std::size_t>(worker)];
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    of.parameters[i] = parameters_[i].value.data_ptr<float>() + member * sizes_[i];
  }
  of.model.load(of.parameters);
  return of.model;
}

FusedRowsOf FusedStep::rows_of(int worker, const std::vector<at::Tensor>& features, const Chunk& chunk) {
  Worker& of = workers_[static_cast<std::size_t>(worker)];
  const std::int64_t c = chunk.first / kChunkRows;
  for (std::size_t a = 0; a < of.inputs.size(); ++a) of.inputs[a] = chunk_at(inputs_[a], c, input_widths_[a]);
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    if (!terms_[t].kernels) continue;
    const int p = terms_[t].features;
    if (all_share(features[t])) {
      of.features[t] = chunk_at(shared_[t], c, p);
      continue;
    }
    if (of.own[t].empty()) of.own[t] = float_columns(p);
    turn_in(rows_from(features[t], chunk.first, chunk.member), chunk.rows, p, of.own[t].data());
    of.features[t] = of.own[t].data();
  }
  return {of.inputs, of.features, chunk.rows};
}

// Gradients of chunk c > 0 of a member, until they are added up; those of the first go where they belong.
float* FusedStep::slot(std::int64_t member, std::int64_t c, Members members) {
  return slots_.data() + ((c - 1) * (members.end - members.first) + member - members.first) * size_;
}

float* FusedStep::gradient(std::size_t parameter, std::int64_t member) const {
  return parameters_[parameter].value.grad().data_ptr<float>() + member * sizes_[parameter];
}

FusedCost FusedStep::differentiate(int worker, const Chunk& chunk, const Work& work) {
  Worker& of = workers_[static_cast<std::size_t>(worker)];
  FusedModel& model = load(worker, chunk.member);
  const FusedRowsOf rows = rows_of(worker, work.features, chunk);
  model.forward(rows);
  const Batch& batch = work.batch;
  const std::int64_t count = batch.x.size(0);
  FusedTarget target;
  target.likelihood = &likelihood_;
  target.y = batch.y.data_ptr<double>() + (batch.y.dim() == 2 ? chunk.member * count : 0) + chunk.first;
  if (batch.weights.defined()) target.weights = batch.weights.data_ptr<float>() + chunk.member * count + chunk.first;
  const bool shifts = batch.offset.defined() && likelihood_.link != Link::identity;  // else the target is less it
  if (shifts) target.offset = batch.offset.data_ptr<double>() + chunk.first;
  if (batch.error.defined()) target.error = batch.error.data_ptr<double>() + chunk.first;
  if (log_noise_.defined()) target.log_scale = log_noise_.data_ptr<double>()[chunk.member];
  target.each = 1.0 / static_cast<double>(work.rows);
  const FusedCost cost = model.cost(target, chunk.rows);

  const std::int64_t c = chunk.first / kChunkRows;
  float* place = c > 0 ? slot(chunk.member, c, work.members) : nullptr;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    of.gradients[i] = c > 0 ? place : gradient(i, chunk.member);
    if (c > 0) place += sizes_[i];
  }
  const auto wanted = [&](std::size_t t) { return t < work.d_features.size() && work.d_features[t].defined(); };
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    if (wanted(t) && of.d_own[t].empty()) of.d_own[t] = float_columns(terms_[t].features);
    of.d_features[t] = wanted(t) ? of.d_own[t].data() : nullptr;
  }
  model.backward(rows, of.gradients, of.d_features);
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    if (!wanted(t)) continue;
    turn_out(of.d_features[t], chunk.rows, terms_[t].features,
             rows_from(work.d_features[t], chunk.first, chunk.member));
  }
  return cost;
}

const std::vector<double>& FusedStep::operator()(const Work& work, const std::function<void()>& meanwhile) {
  make_workers();
  turn(work.batch, work.features);
  const Members& members = work.members;
  const std::int64_t count = work.batch.x.size(0), own = members.end - members.first;
  const int chunks = chunks_of(count), tasks = static_cast<int>(own) * chunks, before = meanwhile ? 1 : 0;
  slots_.resize(std::max(slots_.size(), static_cast<std::size_t>((chunks - 1) * own * size_)));
  costs_.resize(static_cast<std::size_t>(tasks));
  parallel(before + tasks, [&](int number, int worker) {
    const int task = number - before;
    if (task < 0) return meanwhile();
    costs_[static_cast<std::size_t>(task)] = differentiate(worker, chunk_of(task, count, members), work);
  });

  parallel(chunks > 1 ? static_cast<int>(own) : 0, [&](int task, int) {
    const std::int64_t member = members.first + task;
    for (int c = 1; c < chunks; ++c) {
      const float* from = slot(member, c, members);
      for (std::size_t i = 0; i < parameters_.size(); ++i) {
        float* const to = gradient(i, member);
        for (std::int64_t j = 0; j < sizes_[i]; ++j) to[j] += from[j];
        from += sizes_[i];
      }
    }
  });
  std::fill(losses_.begin(), losses_.end(), 0.0);
  for (int task = 0; task < tasks; ++task) {
    const FusedCost& cost = costs_[static_cast<std::size_t>(task)];
    const std::int64_t member = members.first + task / chunks;
    losses_[static_cast<std::size_t>(member)] += cost.loss;
    if (log_noise_.defined()) log_noise_.grad().data_ptr<double>()[member] += cost.d_log_scale;
  }
  return losses_;
}

at::Tensor FusedStep::functions(const Batch& batch, const std::vector<at::Tensor>& features) {
  make_workers();
  turn(batch, features);
  const std::int64_t count = batch.x.size(0);
  at::Tensor f = at::empty({members_, count, outputs_}, at::kFloat);
  const Members all{0, members_};
  parallel(static_cast<int>(members_) * chunks_of(count), [&](int task, int worker) {
    const Chunk chunk = chunk_of(task, count, all);
    const double* const from = load(worker, chunk.member).forward(rows_of(worker, features, chunk));
    float* const to = f.data_ptr<float>() + (chunk.member * count + chunk.first) * outputs_;
    std::copy_n(from, chunk.rows * outputs_, to);
  });
  return outputs_ == 1 ? f.squeeze(2) : f;
}

}  // namespace ick
