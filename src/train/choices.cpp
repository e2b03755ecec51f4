#include <algorithm>
#include <cmath>
#include <set>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "train/plan.h"

// The choices that a user may leave open, and what cannot be chosen together.
namespace ick {

namespace {

bool reads_images(const ModelSpec& spec) {
  return std::any_of(spec.terms.begin(), spec.terms.end(), [](const TermSpec& term) {
    return std::any_of(term.networks.begin(), term.networks.end(),
                       [](const Call& call) { return find_network(call.name)->reads == Reads::image; });
  });
}

bool has_attention(const ModelSpec& spec) {
  return std::any_of(spec.terms.begin(), spec.terms.end(), [](const TermSpec& term) {
    return std::any_of(term.networks.begin(), term.networks.end(),
                       [](const Call& call) { return call.name == "vit" || call.name == "deepvit"; });
  });
}

void one_network_each(const ModelSpec& spec, const std::string& asked) {
  for (const TermSpec& term : spec.terms) {
    if (term.networks.size() < 2) continue;
    throw UsageError("formula column " + std::to_string(term.networks[1].position) + ": " + asked +
                     " takes one network in a product, whose posterior is linear; use " +
                     setting("posterior", "ensemble"));
  }
}

// Closed forms are of Gaussian noise.
void refuse_closed_forms(const FitOptions& o) {
  if (o.family == Family::gaussian || o.posterior == Posterior::ensemble) return;
  throw UsageError(setting("posterior", choice_name(o.posterior)) + " is for " + setting("family", "gaussian") +
                   "; use " + setting("posterior", "ensemble"));
}

// What --posterior asks for must be possible; what has no effect is said.
void choose_posterior(const ModelSpec& spec, Optimiser asked_optimiser, FitPlan& plan) {
  FitOptions& o = plan.options;
  const std::string asked = setting("posterior", choice_name(o.posterior));
  if (o.noise < 0.0 || !std::isfinite(o.noise)) throw UsageError("the noise must be a positive number");
  if (o.optimiser == Optimiser::lbfgs) {
    if (o.posterior != Posterior::ensemble && o.posterior != Posterior::exact) {
      throw UsageError(asked + " is for formulas with a network; the posterior of kernels alone is known exactly");
    }
    o.posterior = Posterior::exact;
    if (o.members > 1)
      plan.remarks.push_back("kernels only: the posterior is exact, " + setting("members") + " has no effect");
    if (o.perturbation != Perturbation::none) {
      plan.remarks.push_back("kernels only: there are no members to differ, " + setting("perturbation") +
                             " has no effect");
    }
    if (o.batch > 0 || o.learning_rate > 0.0 || (o.loss != Loss::mse && o.loss != Loss::gaussian)) {
      plan.remarks.push_back("kernels only: the marginal likelihood is maximised, " + setting("batch") + ", " +
                             setting("learning_rate") + " and " + setting("loss") + " have no effect");
    }
    o.members = 1;
    return;
  }
  if (o.posterior == Posterior::exact) throw UsageError("the exact posterior is for formulas of kernels only");
  const bool draws = o.posterior == Posterior::nngp || o.posterior == Posterior::ntk;
  if (o.perturbation != Perturbation::none && (draws || o.posterior == Posterior::laplace)) {
    throw UsageError(setting("perturbation") + " is for " + setting("posterior", "ensemble") + "; " +
                     choice_name(o.posterior) + (draws ? " perturbs the targets by itself" : " is one model"));
  }
  if (o.perturbation == Perturbation::noise && o.noise == 0.0) {
    throw UsageError(setting("perturbation", "noise") + " adds noise to the targets and has to know how much: give " +
                     setting("noise"));
  }
  if (o.posterior == Posterior::laplace) {
    if (o.members > 1)
      throw UsageError(asked + " is one model; leave " + setting("members") + " out, or use " +
                       setting("posterior", "ensemble"));
    if (o.loss == Loss::mae || o.loss == Loss::huber) {
      throw UsageError(asked + " is of a Gaussian noise; use " + setting("loss", "mse") + " or gaussian");
    }
    o.members = 1;
  }
  if (o.posterior == Posterior::laplace) one_network_each(spec, asked);
  if (!draws) return;
  one_network_each(spec, asked);
  if (reads_images(spec)) {
    throw UsageError(asked + " is for fully connected networks, and this one reads images; use " +
                     setting("posterior", "ensemble"));
  }
  constexpr std::int64_t kDraws = 30;
  if (o.members == 0) o.members = kDraws;
  if (o.members == 1) {
    throw UsageError(asked + " with one member has no spread; ask for " + setting("members", "30") +
                     " or more (at least 2)");
  }
  if (o.members % 2 == 1) {
    ++o.members;
    plan.remarks.push_back(asked + " draws members in pairs: there are " + std::to_string(o.members));
  }
  const bool trains = o.epochs > 0 || o.batch > 0 || o.learning_rate > 0.0 || o.loss != Loss::mse || !o.polish ||
                      asked_optimiser != Optimiser::automatic || o.kernels == KernelTraining::learned;
  if (trains) {
    plan.remarks.push_back(asked + " is solved, not trained: " + setting("epochs") + ", " + setting("batch") + ", " +
                           setting("learning_rate") + ", " + setting("loss") + ", " + setting("optimiser") + ", " +
                           setting("kernels") + " and " + setting("polish", "false") + " have no effect");
  }
  for (const TermSpec& term : spec.terms) {
    if (term.train_points) {
      throw UsageError(asked + " trains nothing by gradient descent; leave train_points=yes out of the formula");
    }
    for (const Call& call : term.networks) {
      const Argument* norm = call.find("norm");
      if (o.posterior == Posterior::ntk && norm != nullptr && norm->word == "layer") {
        throw UsageError("formula column " + std::to_string(norm->position) +
                         ": a network with a layer norm has no tangent kernel in closed form; leave norm out");
      }
    }
  }
}

}  // namespace

// Text is classes; so are whole numbers of which there are few.
void choose_family(const Table& table, const Formula& formula, const std::vector<bool>& use, FitPlan& plan) {
  constexpr std::size_t kFewValues = 10;
  FitOptions& o = plan.options;
  const Column& target = table.column(formula.target);
  const bool levels = target.info.type == ColumnType::category;
  std::set<double> values;
  constexpr std::size_t kManyValues = 1000;  // no classes
  for (std::size_t i = 0; i < target.values.size() && values.size() < kManyValues; ++i) {
    if (use[i]) values.insert(target.values[i]);
  }
  if (o.family == Family::bernoulli && values.size() > 2) {
    throw DataError(setting("family", "bernoulli") + " is of two classes, and the target, column \"" + formula.target +
                    "\", has " + (values.size() < kManyValues ? "" : "at least ") + std::to_string(values.size()) +
                    "; use " + setting("family", "categorical"));
  }
  if (!o.family) {
    // What only numbers have says that the target is one.
    const bool as_number = o.noise > 0.0 || !o.noise_formula.empty() || o.loss != Loss::mse ||
                           o.perturbation == Perturbation::noise || o.posterior != Posterior::ensemble;
    const bool few = target.info.type == ColumnType::integer && values.size() <= kFewValues && values.size() > 1 &&
                     count_of(use) >= 10 * std::ssize(values) && !as_number;
    const bool classes = (levels || few) && !formula.log_target;
    o.family = !classes ? Family::gaussian : values.size() <= 2 ? Family::bernoulli : Family::categorical;
    if (classes) {
      plan.remarks.push_back("target: " + std::to_string(values.size()) + " classes, family " + choice_name(*o.family) +
                             (few ? " (for a number: " + setting("family", "gaussian") + ")" : ""));
    }
  }
  if (formula.log_target && o.family != Family::gaussian && o.family != Family::student) {
    throw UsageError("formula column " + std::to_string(formula.position) + ": log() of the target is for numbers; " +
                     "leave it out with " + setting("family", choice_name(*o.family)));
  }
  if (o.own_kernels && o.family != Family::categorical) {
    throw UsageError(setting("own_kernels", "true") + " is for " + setting("family", "categorical") +
                     ", where there are several functions");
  }
  if (o.link != Link::logit && o.family != Family::bernoulli) {
    throw UsageError(setting("link") + " is for " + setting("family", "bernoulli") + ", a target of two classes");
  }
  const std::string family = setting("family", choice_name(*o.family));
  if (o.family != Family::gaussian && o.loss != Loss::mse) {
    throw UsageError(family + " has its own loss; leave " + setting("loss") + " out");
  }
  if (o.family == Family::gaussian || o.family == Family::student) return;
  if (o.noise > 0.0 || !o.noise_formula.empty() || o.perturbation == Perturbation::noise) {
    throw UsageError(family + " has no noise of its own; leave " + setting("noise") + ", " + setting("noise_formula") +
                     " and " + setting("perturbation", "noise") + " out");
  }
}

// Some thousands of steps suffice for what a network of this size can learn; few rows get more epochs and more
// members, many rows larger batches.
void choose_options(const ModelSpec& spec, std::int64_t rows, FitPlan& plan) {
  FitOptions& options = plan.options;
  const bool kernels_only = spec.kernels_only(), gaussian = options.family == Family::gaussian;
  const bool images = reads_images(spec);
  const Optimiser asked_optimiser = options.optimiser;
  if (options.optimiser == Optimiser::automatic) {
    options.optimiser = kernels_only && gaussian ? Optimiser::lbfgs : Optimiser::adamw;
  }
  if (options.optimiser == Optimiser::lbfgs && !gaussian) {
    throw UsageError("lbfgs is for " + setting("family", "gaussian") + "; use adam, adamw or sgd");
  }
  refuse_closed_forms(options);
  if (options.optimiser == Optimiser::lbfgs && !kernels_only) {
    throw UsageError("lbfgs is for models of kernels only, and this one has a network; use adam, adamw or sgd");
  }
  choose_posterior(spec, asked_optimiser, plan);
  const bool closed_form = options.optimiser == Optimiser::lbfgs;
  if (options.kernels == KernelTraining::automatic) {
    const bool moving =
        std::any_of(spec.terms.begin(), spec.terms.end(), [](const TermSpec& t) { return t.train_points; });
    // The warm start sees little of an image: kernels beside one learn on.
    const bool hold = options.warm_start && !moving && !images && !options.own_kernels;
    options.kernels = hold ? KernelTraining::held : KernelTraining::learned;
  }
  if (options.members == 0) {
    const std::int64_t work = images ? 10 * rows : rows;
    options.members = closed_form ? 1 : work <= 20'000 ? 4 : work <= 500'000 ? 2 : 1;
  }
  const bool ensemble = options.posterior == Posterior::ensemble;
  if (ensemble && options.members == 1) {
    const bool numbers = !has_classes(*options.family);
    if (numbers) plan.remarks.push_back("one member has no spread: intervals come from the noise alone");
  }
  if (options.perturbation != Perturbation::none && ensemble && options.members == 1) {
    throw UsageError(setting("perturbation") + " makes members differ, and there is one; ask for more " +
                     setting("members"));
  }
  if (closed_form) options.loss = Loss::gaussian;  // what the marginal likelihood is of
  if (options.batch == 0) {
    options.batch = 32;
    const std::int64_t most = images ? 128 : 1024;
    while (options.batch < most && options.batch * 60 < rows) options.batch *= 2;
  }
  options.batch = std::min(options.batch, rows);
  if (options.epochs == 0) {
    const double steps = images ? 1500.0 : 4000.0;
    const double per_epoch = std::ceil(static_cast<double>(rows) / static_cast<double>(options.batch));
    options.epochs = closed_form ? 60 : std::clamp<std::int64_t>(static_cast<std::int64_t>(steps / per_epoch), 8, 150);
  }
  if (options.layers.empty()) {
    options.layers = rows < 1'000 ? std::vector<std::int64_t>{64, 32} : std::vector<std::int64_t>{128, 64};
  }
  if (options.learning_rate == 0.0) {
    options.learning_rate = options.optimiser == Optimiser::sgd ? 0.01
                            : has_attention(spec)               ? 0.001
                            : kernels_only                      ? 0.05  // a convex problem
                                                                : 0.003;
  }
  if (options.patience == 0) options.patience = std::max<std::int64_t>(10, options.epochs / 2);
}

}  // namespace ick
