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

constexpr int kFolds = 5;
constexpr double kMissed = 0.01;                       // of a term's variance, that features may miss
constexpr double kClearly = 0.02;                      // nats a row, by which rows left out must be predicted better
constexpr double kHardlyWorse = 0.005;                 // nats a row, that blocks without neighbours may lose
constexpr std::int64_t kFewest = 200, kMost = 50'000;  // training rows, for which it is tried unasked

// Terms whose kernels features do not carry; all that stand beside networks when neighbours are asked for.
std::vector<std::size_t> terms_to_carry(const Stage& stage, bool asked) {
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
    if (asked || missed[t].mean().item<double>() > kMissed * all) found.push_back(t);
  }
  return found;
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

}  // namespace

std::shared_ptr<const FunctionPosterior> ensemble_or_neighbours(Stage& stage, const StageRun& run) {
  const std::shared_ptr<const FunctionPosterior> ensemble = ensemble_posterior(stage.shared_model());
  const FitOptions& o = stage.options();
  const bool again = run.before != nullptr, asked = o.neighbours == Neighbours::yes;
  if (again ? !run.before->neighbours : o.neighbours == Neighbours::no) return ensemble;
  if (stage.hooks().ranks != nullptr) {  // networks that share their work do not cross-fit
    if (asked) throw UsageError(setting("neighbours", "yes") + " is for a fit by one process; leave it out");
    return ensemble;
  }
  const Likelihood& likelihood = likelihood_of(o);
  const Dataset &rows = stage.training(), &unseen = stage.validation();
  if (!again && !asked) {
    const bool fitting =
        likelihood.conjugate && o.warm_start && rows.images.empty() && rows.size() >= kFewest && rows.size() <= kMost;
    if (!fitting) return ensemble;
  }
  const std::vector<std::size_t> terms = terms_to_carry(stage, asked);
  if (terms.empty()) return ensemble;

  const CrossFit fitted = cross_fit(stage, kFolds);
  if (!fitted.residuals.defined()) return ensemble;
  stage.say("neighbours");
  ResidualProcess near =
      fit_residuals(stage.model().spec(), terms, stage.encoder(), rows, fitted.residuals, o.seed, stage.tick());
  const auto posterior = with_neighbours(stage.shared_model(), near);
  if (!again && !asked) {
    const std::optional<double> noise = stage.stated_noise_variance();
    double gain = gain_of_folds(near, rows, fitted, noise, o.seed);
    if (unseen.size() > 0) {
      const at::Tensor y = unseen.targets(), error = unseen.row_error();
      const double of_unseen = cost_of(moments_at(*ensemble, likelihood, unseen), y, error, noise) -
                               cost_of(moments_at(*posterior, likelihood, unseen), y, error, noise);
      // rows drawn at random have neighbours; those of blocks and of the future may have none, and decide that no harm
      // is done
      if (of_unseen < -kHardlyWorse) return ensemble;
      if (o.validation->kind == Split::Kind::random) gain = of_unseen;
    }
    if (gain < kClearly) return ensemble;
  }
  stage.set_neighbours(true);
  stage.remark("neighbouring rows carry what networks and features leave, learned from residuals of " +
               std::to_string(kFolds) +
               " folds that the networks had not seen; the model keeps the rows it was trained on");
  return posterior;
}

}  // namespace ick
