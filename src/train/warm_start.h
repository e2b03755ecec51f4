#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ick/kernel/spread.h"
#include "ick/likelihood/likelihood.h"
#include "ick/model/model.h"

namespace ick {

// Starting values for kernel parameters, by the marginal likelihood of an exact Gaussian process on a few hundred
// rows, in which a kernel on the standardised inputs stands for each network: an RBF kernel or that of lines, whichever
// makes the rows likelier. Lengthscales start from several
// sizes and unknown periods from several peaks of the spectrum, because gradient descent leaves the valley it starts
// in for neither. All members of `model` get the values. Returns log s^2, the noise found, or `log_noise` if that is
// given. `keep_going` is asked now and then. `apart`: kernel columns of the places, where new places are to be predicted.
// `spread`, when given, gets what is known of the model's raw parameters where they are now.
double warm_start(Model& model, const Encoder& encoder, const Dataset& rows, const Likelihood& likelihood,
                  std::uint64_t seed, const std::function<bool()>& keep_going, std::optional<double> log_noise = {},
                  const std::vector<std::int64_t>& apart = {}, RawSpread* spread = nullptr);

// By how many nats at most 2,000 rows are likelier where lines stand for the networks instead of smooth functions, the
// kernels held as they are but for their variances. 0 where networks read images.
double nats_of_lines(const Model& model, const Encoder& encoder, const Dataset& rows, const Likelihood& likelihood,
                     std::uint64_t seed);

// Fills in InputSummary::frequencies of columns that repeating kernels read.
void find_frequencies(const ModelSpec& spec, const Dataset& rows, const Likelihood& likelihood, std::uint64_t seed,
                      Encoder& encoder);

}  // namespace ick
