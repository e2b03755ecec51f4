#pragma once

#include <functional>

#include "ick/inference/draw.h"
#include "ick/inference/engine.h"
#include "inference/stage.h"

// What the engines of draws, nngp and ntk, share. Draws come in pairs c +- d about the mean of a posterior with its own
// hidden layers.
namespace ick {

FunctionMoments moments_of_draws(const at::Tensor& f);                                 // f (E, B)
at::Tensor some_members(const at::Tensor& f, std::int64_t count, std::uint64_t seed);  // (S, B)

// The formula says something of the variance of a kernel, which is in the target's units, squared: the amplitude v then
// is one, for all terms, and a network without a kernel has its share of the target's variance.
bool states_scale(const ModelSpec& spec);

// The model, its kernels and scales: from an earlier stage, or found.
void prepare_draws(Stage& stage, const StageRun& run, LinearKind kind);

FitBytes drawn_bytes(const FitSizes& sizes, const FitOptions& options, double copies);
Engine::Seconds drawn_seconds(Model& model, const FitOptions& options, const Dataset& some, double rows,
                              const std::function<void(const Dataset&)>& draw);

}  // namespace ick
