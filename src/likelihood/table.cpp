#include <cmath>

#include "base/registry.h"
#include "ick/base/error.h"
#include "likelihood/beta.h"
#include "likelihood/classes.h"
#include "likelihood/counts.h"
#include "likelihood/gamma.h"
#include "likelihood/gaussian.h"
#include "likelihood/student.h"

namespace ick {

namespace {

// The table. A new likelihood is a file like its neighbours and one line here; the property tests of tests/likelihood,
// the command line, `ick list`, saving and loading follow.
Registry<Likelihood>& table() {
  static Registry<Likelihood> rows(
      "likelihood", {gaussian(), gaussian_nll(), mae(), huber(), student_row(), poisson(), negative_binomial(),
                     gamma_row(), beta_row(), bernoulli(), probit(), categorical()});
  return rows;
}

}  // namespace

std::vector<const Likelihood*> likelihoods() { return table().all(); }
const Likelihood* find_likelihood(std::string_view name) { return table().find(name); }
const Likelihood& likelihood_named(std::string_view name) { return table().named(name); }

void add_likelihood(const Likelihood& likelihood) {
  const std::string name(likelihood.name);
  const bool whole = likelihood.has_classes() ||
                     (likelihood.moments != nullptr && likelihood.noise != nullptr &&
                      likelihood.log_density != nullptr && likelihood.cdf != nullptr && likelihood.quantile != nullptr);
  if (name.empty() || likelihood.cost == nullptr || !whole) {
    throw UsageError("likelihood \"" + name + "\": a name, cost, and (but for classes) moments, noise, log_density, " +
                     "cdf and quantile are needed");
  }
  // Offsets and validation scores rely on it.
  const bool number = likelihood.target == TargetKind::number, identity = likelihood.link == Link::identity;
  const bool classes_link = likelihood.link == Link::softmax || likelihood.link == Link::probit;
  if (!likelihood.has_classes() && (number != identity || classes_link)) {
    throw UsageError("likelihood \"" + name + "\": targets of any number have the link identity, others log or logit");
  }
  table().add(likelihood);
}

double function_at_mean(const Likelihood& likelihood, double mean) {
  if (likelihood.has_classes()) return 0.0;
  switch (likelihood.link) {
    case Link::identity:
    case Link::softmax:
      return mean;
    case Link::log:
      // no event so far says little about the next
      return std::log(likelihood.target == TargetKind::count ? std::fmax(mean, 1e-3) : mean);
    case Link::logit:
      return std::log(mean) - std::log1p(-mean);
    case Link::probit:
      return normal_quantile(mean);
  }
  return mean;
}

}  // namespace ick
