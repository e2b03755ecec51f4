#include "inference/parts.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace ick {

FunctionMoments moments_of_mixture(const at::Tensor& f) {
  const at::Tensor mean = f.mean(0);
  return {mean, (f - mean).square().mean(0)};
}

FunctionParts parts_of_members(const Model& model, const Batch& batch, FunctionMoments (*moments)(const at::Tensor& f),
                               const ValuesOfTerm& values, const ValuesOfTerm& missed) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> means, variances;
  for (std::size_t t = 0; t < model.spec().terms.size(); ++t) {
    const FunctionMoments found = moments(values(t).to(at::kDouble));
    means.push_back(found.mean), variances.push_back(found.variance + missed(t));
  }
  return {at::stack(means), at::stack(variances), model.bias().to(at::kDouble).mean(0).expand({batch.x.size(0)})};
}

std::vector<std::pair<std::int64_t, std::int64_t>> feature_ranges(const Model& model) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  std::int64_t first = 0;
  for (std::size_t t = 0; t < model.spec().terms.size(); ++t) {
    ranges.emplace_back(first, model.features_of(t));
    first += model.features_of(t);
  }
  return ranges;
}

FunctionParts FunctionPosterior::parts(const Batch& batch) const {
  return parts_of_members(
      model(), batch, moments_of_mixture, [&](std::size_t t) { return model().term(t, batch); },
      [&](std::size_t t) { return model().missed_variance_of(t, batch).mean(0); });
}

FunctionParts parts_at(const FunctionPosterior& posterior, const Dataset& rows) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> means, variances, constants;
  const auto terms = static_cast<std::int64_t>(posterior.model().spec().terms.size());
  if (rows.size() == 0) {
    return {at::empty({terms, 0}, at::kDouble), at::empty({terms, 0}, at::kDouble), at::empty({0}, at::kDouble)};
  }
  const std::int64_t block = rows.block(posterior.rows_at_once());
  for (std::int64_t first = 0; first < rows.size(); first += block) {
    const FunctionParts some = posterior.parts(batch_of(rows, first, std::min(block, rows.size() - first)));
    means.push_back(some.mean), variances.push_back(some.variance), constants.push_back(some.constant);
  }
  return {at::cat(means, 1), at::cat(variances, 1), at::cat(constants)};
}

}  // namespace ick
