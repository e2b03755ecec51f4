#include <cmath>
#include <deque>
#include <mutex>

#include "ick/base/error.h"
#include "ick/base/text.h"
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
std::deque<Likelihood>& table() {
  static std::deque<Likelihood> rows = {
      gaussian(),          gaussian_nll(), mae(),      huber(),     student_row(), poisson(),
      negative_binomial(), gamma_row(),    beta_row(), bernoulli(), probit(),      categorical(),
  };
  return rows;
}

std::mutex& table_mutex() {
  static std::mutex mutex;
  return mutex;
}

const Likelihood* find_in_table(std::string_view name) {
  for (const Likelihood& row : table()) {
    if (row.name == name || (!row.alias.empty() && row.alias == name)) return &row;
  }
  return nullptr;
}

}  // namespace

std::vector<const Likelihood*> likelihoods() {
  const std::lock_guard lock(table_mutex());
  std::vector<const Likelihood*> rows;
  for (const Likelihood& row : table()) rows.push_back(&row);
  return rows;
}

const Likelihood* find_likelihood(std::string_view name) {
  const std::lock_guard lock(table_mutex());
  return find_in_table(name);
}

const Likelihood& likelihood_named(std::string_view name) {
  if (const Likelihood* found = find_likelihood(name)) return *found;
  std::vector<std::string> names;
  for (const Likelihood* row : likelihoods()) names.emplace_back(row->name);
  const std::string guess = did_you_mean(name, names);
  throw UsageError("no likelihood named \"" + std::string(name) + "\"" +
                   (guess.empty() ? "; there are " + join_words(names) : guess));
}

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
  const std::lock_guard lock(table_mutex());
  if (find_in_table(likelihood.name) != nullptr) {
    throw UsageError("there is a likelihood named \"" + name + "\" already; give another name");
  }
  table().push_back(likelihood);
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
