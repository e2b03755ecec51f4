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
                       [](const NetworkSpec& network) { return network.inputs.image.has_value(); });
  });
}

bool has_attention(const ModelSpec& spec) {
  return std::any_of(spec.terms.begin(), spec.terms.end(), [](const TermSpec& term) {
    return std::any_of(term.networks.begin(), term.networks.end(),
                       [](const NetworkSpec& network) { return network.name == "vit" || network.name == "deepvit"; });
  });
}

void one_network_each(const ModelSpec& spec, const std::string& asked) {
  for (const TermSpec& term : spec.terms) {
    if (term.networks.size() < 2) continue;
    throw UsageError(where(term.networks[1].position) + asked +
                     " takes one network in a product, whose posterior is linear; use --posterior ensemble");
  }
}

// Closed forms are of Gaussian noise.
void refuse_closed_forms(const FitOptions& o) {
  if (likelihood_of(o).conjugate || o.posterior == Posterior::ensemble) return;
  throw UsageError("--posterior " + choice_name(o.posterior) +
                   " is for --likelihood gaussian; use --posterior ensemble");
}

// What belongs to a row must make sense where it is used.
void check_row_terms(const Formula& formula, const Likelihood& likelihood, const FitOptions& o) {
  const auto refuse = [](const RowTerm& term, const std::string& reason) {
    throw UsageError(where(term.position) + reason);
  };
  const bool draws =
      o.posterior == Posterior::nngp || o.posterior == Posterior::ntk || o.posterior == Posterior::laplace;
  if (formula.error.exists()) {
    if (likelihood.target != TargetKind::number || !likelihood.conjugate) {
      refuse(formula.error,
             "error(...) is added to Gaussian noise; leave it out with --likelihood " + std::string(likelihood.name));
    }
    if (!formula.transform.empty()) {
      refuse(formula.error, "error(...) is in the target's units and is not added to the noise of " +
                                formula.transform + "(" + formula.target + "); leave one of them out");
    }
    if (draws) refuse(formula.error, "error(...) has no part in --posterior " + choice_name(o.posterior));
  }
  if (formula.weights.exists() && draws) {
    refuse(formula.weights, "weights(...) has no part in --posterior " + choice_name(o.posterior));
  }
  if (formula.offset.exists() && likelihood.link == Link::softmax) {
    refuse(formula.offset, "offset(...) is added to one function, and --likelihood categorical has one for each class");
  }
}

// What --posterior asks for must be possible; what has no effect is said.
void choose_posterior(const ModelSpec& spec, Optimiser asked_optimiser, FitPlan& plan) {
  FitOptions& o = plan.options;
  const std::string asked = "--posterior " + choice_name(o.posterior);
  if (o.noise < 0.0 || !std::isfinite(o.noise)) throw UsageError("the noise must be a positive number");
  if (o.optimiser == Optimiser::lbfgs) {
    if (o.posterior != Posterior::ensemble && o.posterior != Posterior::exact) {
      throw UsageError(asked + " is for formulas with a network; the posterior of kernels alone is known exactly");
    }
    o.posterior = Posterior::exact;
    if (o.members > 1) plan.remarks.push_back("kernels only: the posterior is exact, --members has no effect");
    if (o.perturbation != Perturbation::none) {
      plan.remarks.push_back("kernels only: there are no members to differ, --perturb has no effect");
    }
    if (o.batch > 0 || o.learning_rate > 0.0) {
      plan.remarks.push_back(
          "kernels only: the marginal likelihood is maximised, --batch and --learning-rate have no effect");
    }
    o.members = 1;
    return;
  }
  if (o.posterior == Posterior::exact) throw UsageError("the exact posterior is for formulas of kernels only");
  const bool draws = o.posterior == Posterior::nngp || o.posterior == Posterior::ntk;
  if (o.perturbation != Perturbation::none && (draws || o.posterior == Posterior::laplace)) {
    throw UsageError("--perturb is for --posterior ensemble; " + choice_name(o.posterior) +
                     (draws ? " perturbs the targets by itself" : " is one model"));
  }
  if (o.perturbation == Perturbation::noise && o.noise == 0.0) {
    throw UsageError("--perturb noise adds noise to the targets and has to know how much: give --noise");
  }
  if (o.posterior == Posterior::laplace) {
    if (o.members > 1) throw UsageError(asked + " is one model; leave --members out, or use --posterior ensemble");
    o.members = 1;
  }
  if (o.posterior == Posterior::laplace) one_network_each(spec, asked);
  if (!draws) return;
  one_network_each(spec, asked);
  if (reads_images(spec)) {
    throw UsageError(asked + " is for fully connected networks, and this one reads images; use --posterior ensemble");
  }
  constexpr std::int64_t kDraws = 30;
  if (o.members == 0) o.members = kDraws;
  if (o.members == 1) {
    throw UsageError(asked + " with one member has no spread; ask for --members 30 or more (at least 2)");
  }
  if (o.members % 2 == 1) {
    ++o.members;
    plan.remarks.push_back(asked + " draws members in pairs: there are " + std::to_string(o.members));
  }
  const bool trains = o.epochs > 0 || o.batch > 0 || o.learning_rate > 0.0 || !o.polish ||
                      asked_optimiser != Optimiser::automatic || o.kernels == KernelTraining::learned;
  if (trains) {
    plan.remarks.push_back(asked +
                           " is solved, not trained: --epochs, --batch, --learning-rate, --optimiser, --kernels "
                           "and --no-polish have no effect");
  }
  for (const TermSpec& term : spec.terms) {
    if (term.train_points) {
      throw UsageError(asked + " trains nothing by gradient descent; leave train_points=yes out of the formula");
    }
    for (const NetworkSpec& network : term.networks) {
      const Argument* norm = network.find("norm");
      if (o.posterior == Posterior::ntk && norm != nullptr && norm->word == "layer") {
        throw UsageError(where(norm->position) +
                         "a network with a layer norm has no tangent kernel in closed form; leave norm out");
      }
    }
  }
}

}  // namespace

// Text is classes; so are whole numbers of which there are few.
void choose_likelihood(const Table& table, const Formula& formula, const std::vector<bool>& use, FitPlan& plan) {
  constexpr std::size_t kFewValues = 10;
  FitOptions& o = plan.options;
  const Column& target = table.column(formula.target);
  const bool levels = target.info.type == ColumnType::category;
  std::set<double> values;
  constexpr std::size_t kManyValues = 1000;  // no classes
  for (std::size_t i = 0; i < target.values.size() && values.size() < kManyValues; ++i) {
    if (use[i]) values.insert(target.values[i]);
  }
  if (o.likelihood.empty()) {
    // What only numbers have says that the target is one.
    const bool as_number = o.noise > 0.0 || !o.noise_formula.empty() || o.perturbation == Perturbation::noise ||
                           o.posterior != Posterior::ensemble || formula.error.exists();
    const bool few = target.info.type == ColumnType::integer && values.size() <= kFewValues && values.size() > 1 &&
                     count_of(use) >= 10 * std::ssize(values) && !as_number;
    const bool classes = (levels || few) && formula.transform.empty();
    o.likelihood = !classes ? "gaussian" : values.size() <= 2 ? "bernoulli" : "categorical";
    if (classes) {
      plan.remarks.push_back("target: " + std::to_string(values.size()) + " classes, likelihood " + o.likelihood +
                             (few ? " (for a number: --likelihood gaussian)" : ""));
    }
  }
  const Likelihood& likelihood = likelihood_of(o);
  o.likelihood = likelihood.name;  // not another name for it
  const std::string asked = "--likelihood " + o.likelihood;
  const bool two_classes = likelihood.has_classes() && likelihood.link != Link::softmax;
  if (two_classes && values.size() > 2) {
    throw DataError(asked + " is of two classes, and the target, column \"" + formula.target + "\", has " +
                    (values.size() < kManyValues ? "" : "at least ") + std::to_string(values.size()) +
                    "; use --likelihood categorical");
  }
  if (!formula.transform.empty() && likelihood.target != TargetKind::number) {
    throw UsageError(where(formula.position) + formula.transform +
                     "() of the target is for numbers; leave it out with " + asked);
  }
  if (o.own_kernels && likelihood.link != Link::softmax) {
    throw UsageError("--class-kernels own is for --likelihood categorical, where there are several functions");
  }
  check_row_terms(formula, likelihood, o);
  if (likelihood.target == TargetKind::number) return;
  if (o.noise > 0.0 || !o.noise_formula.empty() || o.perturbation == Perturbation::noise) {
    throw UsageError(asked + " has no noise of its own; leave --noise, --sigma and --perturb noise out");
  }
}

// Some thousands of steps suffice for what a network of this size can learn; few rows get more epochs and more
// members, many rows larger batches.
void choose_options(const ModelSpec& spec, std::int64_t rows, FitPlan& plan) {
  FitOptions& options = plan.options;
  const bool kernels_only = spec.kernels_only(), gaussian = likelihood_of(options).conjugate;
  const bool images = reads_images(spec);
  const Optimiser asked_optimiser = options.optimiser;
  if (options.optimiser == Optimiser::automatic) {
    options.optimiser = kernels_only && gaussian ? Optimiser::lbfgs : Optimiser::adamw;
  }
  if (options.optimiser == Optimiser::lbfgs && !gaussian) {
    throw UsageError("lbfgs is for --likelihood gaussian; use adam, adamw or sgd");
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
    const bool numbers = !likelihood_of(options).has_classes();
    if (numbers) plan.remarks.push_back("one member has no spread: intervals come from the noise alone");
  }
  if (options.perturbation != Perturbation::none && ensemble && options.members == 1) {
    throw UsageError("--perturb makes members differ, and there is one; ask for more --members");
  }
  // A measurement's error is added to s^2, which has to be known while training.
  if (spec.formula.error.exists() && !closed_form && options.likelihood == "gaussian") {
    options.likelihood = "gaussian_nll";
    plan.remarks.push_back("error(...): the noise is learned together with the function (likelihood gaussian_nll)");
  }
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
