#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/optim/adamw.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "support/golden_steps.h"
#include "support/gradient_check.h"
#include "support/message.h"
#include "support/network_case.h"

namespace ick {

inline NetworkContext image_context(ImageShape image, std::int64_t outputs, std::int64_t members) {
  NetworkContext context;
  context.inputs = 0, context.image = image, context.outputs = outputs, context.members = members, context.seed = 7;
  return context;
}

// Noise: pixels and further numbers of `rows` rows, in float64.
inline at::Tensor rows_of(const NetworkContext& context, std::int64_t rows, std::uint64_t seed) {
  return normals({rows, context.image.numbers() + context.inputs}, seed);
}

inline at::Generator generator_of(std::uint64_t seed) { return at::make_generator<at::CPUGeneratorImpl>(seed); }

inline at::Tensor buffer_of(const Network& network, const std::string& path) {
  for (const NamedTensor& each : network.buffers()) {
    if (each.path == path) return each.value;
  }
  return {};
}

// Parameters and running means.
inline void all_to_double(const Network& network) {
  to_double(network);
  for (const NamedTensor& each : network.buffers()) each.value.set_data(each.value.to(at::kDouble));
}

inline std::string usage_message(const std::string& call, const NetworkContext& context) {
  return message_of<UsageError>([&] { make_network(call, context); });
}

inline std::int64_t parameter_count(const std::string& call, const NetworkContext& context) {
  std::int64_t count = 0;
  for (const NamedTensor& each : make_network(call, context)->parameters()) count += each.value.numel();
  return count;
}

// Autograd against differences, in the image and in every parameter, at generic values. Those in `without` have no part
// in the output. A kink between two points of a difference would show as a large error: seeds are such that there is
// none.
inline void expect_gradients(const std::string& call, const NetworkContext& context, bool training, std::uint64_t seed,
                             const std::vector<std::string>& without = {}) {
  SCOPED_TRACE(call + (training ? " in training" : " in use"));
  const auto network = make_network(call, context);
  scatter_parameters(*network, seed);
  all_to_double(*network);
  const at::Tensor x = rows_of(context, 3, seed + 1);
  const at::Tensor slope = normals({context.members, 3, context.outputs}, seed + 2);
  const auto loss = [&](const at::Tensor& images) {
    const at::Tensor f = training ? (*network)(images, generator_of(1)) : (*network)(images);
    return (f * (slope + 0.1 * f)).sum();
  };
  loss(x).backward();
  for (const NamedTensor& each : network->parameters()) {
    const GradientCheck check = check_parameter(each.value, [&] { return loss(x); });
    if (std::find(without.begin(), without.end(), each.path) != without.end()) {
      EXPECT_LT(check.largest, 1e-8) << each.path;
      continue;
    }
    EXPECT_LT(check.error, 1e-6) << each.path;
    EXPECT_GT(check.largest, 1e-3) << each.path;
  }
  const GradientCheck check = check_gradient(loss, x);
  EXPECT_LT(check.error, 1e-6) << "x";
  EXPECT_GT(check.largest, 1e-3) << "x";
}

// Mean 0 and variance 1 of the outputs over members, which are independent, for images of noise; the error of the mean
// over members is known from their spread. `slack` is what the start does not take into account.
inline void expect_standard_start(const std::string& call, const NetworkContext& context, double slack) {
  SCOPED_TRACE(call);
  const at::NoGradGuard no_gradient;
  const at::Tensor x = rows_of(context, 16, 31).to(at::kFloat);
  const at::Tensor f = (*make_network(call, context))(x, generator_of(1)).to(at::kDouble);
  const at::Tensor mean = f.mean({1, 2}), square = f.square().mean({1, 2});  // (E)
  const auto error = [&](const at::Tensor& t) {
    return t.std().item<double>() / std::sqrt(static_cast<double>(context.members));
  };
  EXPECT_NEAR(mean.mean().item<double>(), 0.0, 4.0 * error(mean));
  EXPECT_NEAR(square.mean().item<double>(), 1.0, 4.0 * error(square) + slack);
  EXPECT_LT(error(square), 0.05);
}

// Eight rows learned by heart: the mean square falls to a thousandth of that at the start.
inline void expect_overfits(const std::string& call, const NetworkContext& context, int steps, double rate) {
  SCOPED_TRACE(call);
  const auto network = make_network(call, context);
  const at::Tensor x = rows_of(context, 8, 41).to(at::kFloat);
  const at::Tensor y = normals({8, context.outputs}, 42).to(at::kFloat);
  std::vector<at::Tensor> values;
  for (const NamedTensor& each : network->parameters()) values.push_back(each.value);
  torch::optim::AdamW optimiser(values, torch::optim::AdamWOptions(rate).weight_decay(0.0));
  double first = 0.0, last = 0.0;
  for (int step = 0; step < steps; ++step) {
    const at::Tensor loss = ((*network)(x, generator_of(1)) - y).square().mean();
    optimiser.zero_grad();
    loss.backward();
    optimiser.step();
    last = loss.item<double>();
    if (step == 0) first = last;
  }
  EXPECT_GT(first, 0.1);
  EXPECT_LT(last, 1e-3 * first);
}

// Member e of an ensemble is the network that its parameters and buffers make alone; the first one has its draws too.
inline void expect_members_are_networks(const std::string& call, NetworkContext context) {
  SCOPED_TRACE(call);
  context.members = 3;
  const auto all = make_network(call, context);
  context.members = 1;
  const auto alone = make_network(call, context);
  const auto drawn = alone->parameters(), ensemble = all->parameters();
  ASSERT_EQ(drawn.size(), ensemble.size());
  for (std::size_t k = 0; k < drawn.size(); ++k) {
    EXPECT_EQ(drawn[k].path, ensemble[k].path);
    EXPECT_TRUE(at::equal(drawn[k].value[0], ensemble[k].value[0])) << drawn[k].path;
  }
  scatter_parameters(*all, 51);
  const at::Tensor x = rows_of(context, 5, 52).to(at::kFloat);
  const at::Tensor trained = (*all)(x, generator_of(1)).detach(), used = (*all)(x).detach();
  ASSERT_EQ(used.sizes(), at::IntArrayRef({3, 5, context.outputs}));
  EXPECT_FALSE(at::allclose(used[0], used[1], 1e-2, 1e-2));
  for (std::int64_t e = 0; e < 3; ++e) {
    const auto one = make_network(call, context);
    for (const NamedTensor& each : one->parameters()) {
      each.value.set_data(parameter_of(*all, each.path).detach().narrow(0, e, 1).clone());
    }
    EXPECT_TRUE(at::allclose((*one)(x, generator_of(1))[0], trained[e], 1e-4, 1e-4)) << e;
    EXPECT_TRUE(at::allclose((*one)(x)[0], used[e], 1e-4, 1e-4)) << e;  // with the running means of that step
  }
  EXPECT_TRUE(at::allclose(at::baddbmm(all->last_bias(), all->hidden(x), all->last_weight()), used, 1e-5, 1e-5));
}

// Ten steps of AdamW as another library made them: losses and gradients of each to 1e-10 of the largest element. Those
// in `without` have no part in the output.
inline void expect_ten_steps(const Network& network, const std::map<std::string, Tensors>& golden, std::int64_t batch,
                             const std::vector<std::string>& without = {}) {
  for (const NamedTensor& each : network.parameters()) {
    each.value.set_data(golden.at("start").at(each.path).view(each.value.sizes()));
  }
  for (const NamedTensor& each : network.buffers()) each.value.set_data(each.value.to(at::kDouble));
  const at::Tensor y = golden.at("data").at("y").view({-1, network.outputs()});
  const at::Tensor x = golden.at("data").at("x").view({y.size(0), -1});
  std::vector<at::Tensor> decaying, steady;
  for (const NamedTensor& each : network.parameters()) (each.decays ? decaying : steady).push_back(each.value);
  torch::optim::AdamW optimiser(
      {torch::optim::OptimizerParamGroup(
           decaying, std::make_unique<torch::optim::AdamWOptions>(torch::optim::AdamWOptions(0.01).weight_decay(0.2))),
       torch::optim::OptimizerParamGroup(
           steady, std::make_unique<torch::optim::AdamWOptions>(torch::optim::AdamWOptions(0.01).weight_decay(0.0)))});
  for (std::int64_t step = 0; step < 10; ++step) {
    SCOPED_TRACE("step " + std::to_string(step + 1));
    const Tensors& expected = golden.at(std::to_string(step + 1));
    const std::int64_t first = batch * step % x.size(0);
    const at::Tensor f = network(x.narrow(0, first, batch), generator_of(1));
    const at::Tensor losses = (f - y.narrow(0, first, batch)).square().mean({1, 2});
    optimiser.zero_grad();
    losses.sum().backward();
    EXPECT_TRUE(at::allclose(losses, expected.at("loss"), 1e-10, 0.0)) << losses << expected.at("loss");
    ASSERT_EQ(expected.size(), network.parameters().size() + 1);
    for (const NamedTensor& each : network.parameters()) {
      const at::Tensor& values = expected.at(each.path);
      const double miss = (each.value.grad().flatten() - values).abs().max().item<double>();
      const bool idle = std::find(without.begin(), without.end(), each.path) != without.end();
      const double largest = values.abs().max().item<double>();
      EXPECT_EQ(largest < 1e-12, idle) << each.path;
      EXPECT_LE(miss, idle ? 1e-12 : 1e-10 * largest) << each.path;
      if (idle) each.value.grad().zero_();  // Adam would make steps of roundings
    }
    optimiser.step();
  }
}

}  // namespace ick
