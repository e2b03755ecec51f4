#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "ick/base/parallel.h"
#include "ick/model/model.h"
#include "model/fused_sums.h"
#include "net/float_rows.h"
#include "net/mlp.h"

// What features leave out of the kernels.
namespace ick {

namespace {

// use(member, first, rows, f) for chunks of f (E, B, p), as Mlp::visit does it.
void visit_chunks(const at::Tensor& f, const Mlp::UseChunk& use) {
  const at::Tensor all = f.to(at::kFloat).contiguous();
  const std::int64_t members = all.size(0), count = all.size(1), p = all.size(2);
  const std::int64_t chunks = (count + kChunkRows - 1) / kChunkRows;
  parallel(static_cast<int>(members * chunks), [&](int task, int) {
    const std::int64_t e = task / chunks, first = task % chunks * kChunkRows;
    const int rows = static_cast<int>(std::min<std::int64_t>(kChunkRows, count - first));
    FloatColumns columns = float_columns(static_cast<int>(p));
    turn_in({all.data_ptr<float>() + (e * count + first) * p, p}, rows, static_cast<int>(p), columns.data());
    use(e, first, rows, columns.data());
  });
}

}  // namespace

std::vector<at::Tensor> Model::residuals(const at::Tensor& x) const {
  std::vector<at::Tensor> all;
  for (const Term& term : terms_) all.push_back(residual_of(term, x));
  return all;
}

at::Tensor Model::residual_of(const Term& term, const at::Tensor& x) const {
  return term.map != nullptr ? spec_.share() * term.map->residual(x) : at::Tensor();
}

at::Tensor Model::missed_variance_of(std::size_t t, const Batch& batch) const {
  const at::NoGradGuard no_gradient;
  const Term& term = terms_.at(t);
  const at::Tensor residual = residual_of(term, batch.x);
  if (!residual.defined()) return at::zeros({members(), batch.x.size(0)}, at::kDouble);
  if (term.networks.empty()) return residual.expand({members(), batch.x.size(0)});
  return residual * latent(term, batch, {}).square().mean(-1);
}

// Weights of terms without networks have a prior variance of one, whatever they have come to.
std::pair<at::Tensor, at::Tensor> Model::with_missed_variance(const Batch& batch) const {
  const at::NoGradGuard no_gradient;
  const std::int64_t count = batch.x.size(0);
  at::Tensor missed = at::zeros({members(), count}, at::kDouble);
  at::Tensor sum = at::zeros({members(), count}, at::kFloat) + bias_;
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    const Term& term = terms_[t];
    if (term.map == nullptr) {
      sum = sum + this->term(t, batch);
      continue;
    }
    const at::Tensor z = shared_by_members(term.map->evaluate(batch.x, at::kDouble));  // (1 or E, B, p)
    if (term.networks.empty()) {
      Batch known{batch.x, {}, {}};
      known.features.resize(terms_.size());
      known.features[t] = z;
      sum = sum + this->term(t, known);
      missed = missed + spec_.share() * term.map->residual(batch.x, z);
      continue;
    }
    const at::Tensor columns = z.transpose(1, 2).contiguous();         // (1 or E, p, B)
    const at::Tensor variance = term.map->kernel().diagonal(batch.x);  // (E, B)
    const auto add = [&](std::int64_t e, std::int64_t first, int rows, const float* f) {
      FusedSums sums;
      sums.f = f;
      sums.z = columns.data_ptr<double>() + (columns.size(0) > 1 ? e * columns.stride(0) : 0) + first;
      sums.z_column = columns.stride(1);
      sums.variance = variance.data_ptr<double>() + e * variance.stride(0) + first * variance.stride(1);
      sums.variance_step = variance.stride(1);
      sums.features = static_cast<int>(term.features);
      sums.share = std::sqrt(spec_.share());
      sums.add(rows, sum.data_ptr<float>() + e * count + first, missed.data_ptr<double>() + e * count + first);
    };
    const auto* const mlp = term.networks.size() == 1 ? dynamic_cast<const Mlp*>(term.networks[0].get()) : nullptr;
    if (mlp != nullptr && mlp->fuses()) {
      mlp->visit(batch.networks[term.sources[0]], add);
    } else {
      visit_chunks(latent(term, batch, {}), add);
    }
  }
  return {sum, missed};
}

}  // namespace ick
