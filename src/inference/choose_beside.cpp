#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "inference/beside.h"
#include "inference/crossfit.h"
#include "inference/golden_section.h"

// Whether neighbours stand beside networks: networks are cross-fitted, and rows left out decide.
namespace ick {

namespace {

constexpr double kMissed = 0.01;        // of a term's variance, that features may miss
constexpr double kClearly = 0.02;       // nats a row, by which rows left out must be predicted better
constexpr double kHardlyWorse = 0.005;  // nats a row, that blocks without neighbours may lose

// Terms beside networks whose kernels features do not carry, or, with `any`, all of the library's own kernels.
std::vector<std::size_t> terms_to_carry(const Stage& stage, bool any) {
  const at::NoGradGuard no_grad;
  const Model& model = stage.model();
  std::vector<std::size_t> found;
  const std::vector<std::size_t> possible = terms_beside(model.spec());
  if (possible.empty()) return found;
  constexpr std::int64_t kRows = 2000;
  const Dataset& rows = stage.training();
  const at::Tensor x = rows.select(draw_rows(rows.size(), kRows, seed_for(stage.options().seed, "missed"))).x;
  const std::vector<at::Tensor> missed = model.residuals(x);
  for (const std::size_t t : possible) {
    const Model::TermParts parts = model.parts_of(t);
    if (!fuses(*parts.kernel)) continue;
    const double all = model.spec().share() * parts.kernel->diagonal(x).mean().item<double>();
    if (any || missed[t].mean().item<double>() > kMissed * all) found.push_back(t);
  }
  return found;
}

// Whether it is worth trying unasked: folds are trained in minutes, and there are rows to judge by.
bool promises(const Stage& stage) {
  const FitOptions& o = stage.options();
  const Dataset& rows = stage.training();
  return likelihood_of(o).conjugate && o.warm_start && stage.hooks().ranks == nullptr && rows.images.empty() &&
         rows.size() >= kFewestBeside && rows.size() <= kMostBeside && !terms_to_carry(stage, false).empty();
}

// Mean -log density of observations with the noise that suits them best, or the one that is stated.
double cost_of(const FunctionMoments& found, const at::Tensor& y, const at::Tensor& error,
               const std::optional<double>& noise) {
  const at::Tensor squares = (y - found.mean).square();
  const at::Tensor known = error.defined() ? found.variance + error : found.variance;
  const auto cost = [&](double log_noise) {
    const at::Tensor variance = known + std::exp(log_noise);
    return 0.5 * (variance.log() + squares / variance).mean().item<double>();
  };
  const double least = 2.0 * std::log(kLeastNoise), most = std::log(100.0);
  return cost(noise ? std::log(*noise) : golden_section(least, most, 1e-4, cost));
}

// Nats a row that neighbours in other folds gain of residuals.
double gain_of_folds(const ResidualProcess& near, const Dataset& rows, const CrossFit& fitted,
                     const std::optional<double>& noise, std::uint64_t seed) {
  constexpr std::int64_t kRows = 2000;
  const at::Tensor index = draw_rows(rows.size(), kRows, seed_for(seed, "rows of folds"));
  const at::Tensor fold = fitted.folds.index_select(0, near.process->order()).contiguous();  // of the process's rows
  const at::Tensor own = fitted.folds.index_select(0, index).contiguous();
  const std::int64_t *of_row = fold.data_ptr<std::int64_t>(), *of_query = own.data_ptr<std::int64_t>();
  const Dataset some = rows.select(index);
  const FunctionMoments found =
      near.at(some.x, [&](std::int64_t q, std::int64_t row) { return of_row[row] != of_query[q]; });
  const at::Tensor r = fitted.residuals.index_select(0, index), zero = at::zeros_like(r);
  return cost_of({zero, zero}, r, some.error, noise) - cost_of(found, r, some.error, noise);
}

// Rows drawn at random have neighbours and decide by themselves. Those of blocks and of the future may have none: they
// decide that no harm is done, and left-out folds of training rows that it is worth it.
bool helps(const Stage& stage, const FunctionPosterior& ensemble, const FunctionPosterior& with,
           const ResidualProcess& near, const CrossFit& fitted) {
  const FitOptions& o = stage.options();
  const Dataset& unseen = stage.validation();
  const std::optional<double> noise = stage.stated_noise_variance();
  if (unseen.size() > 0) {
    const at::Tensor y = unseen.targets(), error = unseen.row_error();
    const auto cost = [&](const FunctionPosterior& posterior) {
      return cost_of(moments_at(posterior, likelihood_of(o), unseen), y, error, noise);
    };
    const double gain = cost(ensemble) - cost(with);
    if (o.validation->kind == Split::Kind::random) return gain >= kClearly;
    if (gain < -kHardlyWorse) return false;
  }
  return gain_of_folds(near, stage.training(), fitted, noise, o.seed) >= kClearly;
}

}  // namespace

std::shared_ptr<const FunctionPosterior> ensemble_or_neighbours(Stage& stage, const StageRun& run) {
  const std::shared_ptr<const FunctionPosterior> ensemble = ensemble_posterior(stage.shared_model());
  const FitOptions& o = stage.options();
  const bool again = run.before != nullptr, asked = o.neighbours == Neighbours::yes;
  if (again ? !run.before->neighbours : o.neighbours == Neighbours::no || (!asked && !promises(stage))) return ensemble;
  const auto refuse = [](const std::string& reason) {
    throw UsageError(setting("neighbours", "yes") + " " + reason + "; leave it out");
  };
  std::vector<std::size_t> terms = terms_to_carry(stage, asked);
  if (terms.empty()) terms = terms_to_carry(stage, true);  // of rows that miss a little less than those before
  if (terms.empty()) refuse("is for the library's own kernels");
  const CrossFit fitted = cross_fit(stage, kBesideFolds);
  if (!fitted.residuals.defined()) {
    if (asked) refuse("needs two groups of rows or more, to train networks without one of them");
    return ensemble;
  }
  stage.say("neighbours");
  const ResidualProcess near = fit_residuals(stage.model().spec(), terms, stage.encoder(), stage.training(),
                                             fitted.residuals, o.seed, stage.tick());
  const auto with = with_neighbours(stage.shared_model(), near);
  if (!again && !asked && !helps(stage, *ensemble, *with, near, fitted)) return ensemble;
  stage.set_neighbours(true);
  stage.take_back_remarks();  // that features miss something
  stage.remark("neighbouring rows carry what networks and features leave, learned from residuals of " +
               std::to_string(kBesideFolds) +
               " folds that the networks had not seen, and the model keeps the rows it was trained on");
  return with;
}

}  // namespace ick
