#pragma once

#include <functional>

#include "ick/inference/function_posterior.h"

namespace ick {

// Parts of a model with members: `values` are a term's for all of them, (E, B), of which `moments` are taken; `missed` is
// the variance of a term besides, (B).
using ValuesOfTerm = std::function<at::Tensor(std::size_t t)>;
FunctionParts parts_of_members(const Model& model, const Batch& batch, FunctionMoments (*moments)(const at::Tensor& f),
                               const ValuesOfTerm& values, const ValuesOfTerm& missed);

// Members as a mixture: mean and mean square about it, of (E, B).
FunctionMoments moments_of_mixture(const at::Tensor& f);

// Where the features of each term stand among those of all terms: first, count.
std::vector<std::pair<std::int64_t, std::int64_t>> feature_ranges(const Model& model);

}  // namespace ick
