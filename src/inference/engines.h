#pragma once

#include <optional>

#include "ick/inference/engine.h"
#include "ick/train/lasting_noise.h"

// What engines share.
namespace ick {

class Stage;

// Gradient descent, to the first stage's best epoch where there was one; then the last layers in closed form, if rows
// not seen (or the first stage) agree.
void descend_and_polish(Stage& stage, const StageRun& run);

FitBytes descent_bytes(const FitSizes& sizes, const FitOptions& options);
Engine::Seconds descent_seconds(Model& model, const FitOptions& options, const Dataset& some, double rows);

// Normal numbers of each draw, the same for all rows: (S, numbers) in float64.
at::Tensor function_normals(std::int64_t count, std::int64_t numbers, std::uint64_t seed);
// Normal numbers for each row and draw that depend on the row's inputs and not on its place: (S, B) in float64.
at::Tensor independent_normals(const Batch& batch, std::int64_t count, std::uint64_t seed);

// A product of networks is not linear in what is learned of it. `asked` starts the sentence.
void one_network_each(const ModelSpec& spec, const std::string& asked);

// Kernels only: parameters that maximise the posterior through features, from where they are; weights in closed form. Where
// errors may last, how they do is found in turns with the parameters. The cost of a row.
double maximise_evidence(Stage& stage);
// The column of the kernels' inputs along which errors may last: that of time, where rows are set apart by it, all kernels
// read it alone, and none of them decays, so that what lasts for a while has no other place in the model.
std::optional<std::int64_t> lasting_column(const Stage& stage);
// Parameters where errors may last: from where they are and from the raw ones of `start`, the more likely ones.
void maximise_evidence_of_lasting(Stage& stage, const at::Tensor& start);
// Lengthscales twice, four or eight times as long, one after the other, where parts left out are predicted better by it; the
// noise follows.
void lengthen(Stage& stage);
std::shared_ptr<const FunctionPosterior> solve_features(std::shared_ptr<Model> model, const Dataset& rows,
                                                        double noise_variance, const LastingNoise& lasting = {});
void choose_kernels_only(const ModelSpec& spec, FitOptions& options, std::vector<Message>& remarks);

// Members and what features miss, but of the terms that neighbours carry.
std::shared_ptr<const FunctionPosterior> ensemble_posterior(std::shared_ptr<const Model> model,
                                                            std::vector<std::size_t> carried = {});

// Whether this engine is one of draws: solved, with options that have no effect.
void choose_draws(const ModelSpec& spec, FitOptions& options, std::vector<Message>& remarks);

constexpr double kWarmStartSeconds = 1.0;  // about, whatever the table

}  // namespace ick
