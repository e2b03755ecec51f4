#include "ick/inference/function_posterior.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "model/row_cost.h"

namespace ick {

namespace {

std::int64_t rows_of_members(std::int64_t members) {
  return std::max<std::int64_t>(64, kPredictBlock / std::max<std::int64_t>(1, members / 8));
}

}  // namespace

std::int64_t FunctionPosterior::rows_at_once() const { return rows_of_members(model().members()); }

at::Tensor FunctionPosterior::members(const Batch& batch, const Likelihood& likelihood) const {
  const at::Tensor f = model()(batch).to(at::kDouble);
  const bool shifted = likelihood.link != Link::identity && batch.offset.defined();
  return mean_at(likelihood, shifted ? f + batch.offset : f);
}

FunctionMoments moments_at(const FunctionPosterior& posterior, const Likelihood& likelihood, const Dataset& rows) {
  at::NoGradGuard no_grad;
  FunctionMoments all{at::empty({rows.size()}, at::kDouble), at::empty({rows.size()}, at::kDouble)};
  const std::int64_t block = rows.block(posterior.rows_at_once());
  for (std::int64_t first = 0; first < rows.size(); first += block) {
    const std::int64_t count = std::min(block, rows.size() - first);
    const FunctionMoments some = posterior.at(batch_of(rows, first, count), likelihood);
    all.mean.narrow(0, first, count).copy_(some.mean);
    all.variance.narrow(0, first, count).copy_(some.variance);
  }
  return all;
}

at::Tensor member_functions(const Model& model, const Dataset& rows) {
  at::NoGradGuard no_grad;
  constexpr std::int64_t kRows = 4096;
  const std::int64_t block = rows.block(kRows), classes = model.outputs(), members = model.members();
  at::Tensor all = classes > 1 ? at::empty({members, rows.size(), classes}, at::kFloat)
                               : at::empty({members, rows.size()}, at::kFloat);
  for (std::int64_t first = 0; first < rows.size(); first += block) {
    const std::int64_t count = std::min(block, rows.size() - first);
    const Batch batch = batch_of(rows, first, count);
    const at::Tensor f = model(batch);
    all.narrow(1, first, count).copy_(batch.offset.defined() ? f + batch.offset.to(f.scalar_type()) : f);
  }
  return all;
}

at::Tensor draws_at(const FunctionPosterior& posterior, const Likelihood& likelihood, const Dataset& rows,
                    std::int64_t count, std::uint64_t seed) {
  at::NoGradGuard no_grad;
  at::Tensor all = at::empty({count, rows.size()}, at::kDouble);
  const std::int64_t block = posterior.draws_rows_together()
                                 ? std::max<std::int64_t>(1, rows.size())
                                 : rows.block(rows_of_members(std::max(count, posterior.model().members())));
  for (std::int64_t first = 0; first < rows.size(); first += block) {
    const std::int64_t some = std::min(block, rows.size() - first);
    all.narrow(1, first, some).copy_(posterior.draws(batch_of(rows, first, some), likelihood, count, seed));
  }
  return all;
}

}  // namespace ick
