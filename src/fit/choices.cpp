#include <algorithm>
#include <cmath>
#include <set>

#include "fit/choices.h"
#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/inference/engine.h"
#include "inference/beside.h"
#include "model/named_columns.h"

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

// Columns that a split goes by. That of `last` need not be said: it is the table's time.
std::vector<std::string> columns_of(const Split& split, const Table& table) {
  std::vector<std::string> names = split.columns;
  if (split.kind != Split::Kind::last || !names.empty()) return names;
  for (const Column& column : table.columns) {
    if (column.info.type == ColumnType::time) names.push_back(column.info.name);
  }
  return names;
}

// Closed forms are of Gaussian noise.
void refuse_closed_forms(const FitOptions& o) {
  if (likelihood_of(o).conjugate || engine_named(o.posterior).any_likelihood) return;
  throw UsageError(setting("posterior", o.posterior) + " is for " + setting("likelihood", "gaussian") + "; use " +
                   setting("posterior", "ensemble"));
}

// What belongs to a row must make sense where it is used.
void check_row_terms(const Formula& formula, const Likelihood& likelihood, const FitOptions& o) {
  const auto refuse = [](const RowTerm& term, const std::string& reason) {
    throw UsageError(where(term.position) + reason);
  };
  const bool has_part = engine_named(o.posterior).row_terms;
  if (formula.error.exists()) {
    if (likelihood.target != TargetKind::number || !likelihood.conjugate) {
      refuse(formula.error,
             "error(...) is added to Gaussian noise; leave it out with " + setting("likelihood", likelihood.name));
    }
    if (!formula.transform.empty()) {
      refuse(formula.error, "error(...) is in the target's units and is not added to the noise of " +
                                formula.transform + "(" + formula.target + "); leave one of them out");
    }
    if (!o.noise_formula.empty()) {
      refuse(formula.error,
             "error(...) and " + setting("noise_formula") + " both say what the noise of a row is; leave one out");
    }
    if (!has_part) refuse(formula.error, "error(...) has no part in " + setting("posterior", o.posterior));
  }
  if (formula.weights.exists() && !has_part) {
    refuse(formula.weights, "weights(...) has no part in " + setting("posterior", o.posterior));
  }
  if (formula.offset.exists() && likelihood.link == Link::softmax) {
    refuse(formula.offset, "offset(...) is added to one function, and " + setting("likelihood", "categorical") +
                               " has one for each class");
  }
}

// What trees leave is learned as a difference.
void check_trees(const ModelSpec& spec, const Likelihood& likelihood) {
  if (!spec.trees || likelihood.link == Link::identity) return;
  throw UsageError(where(spec.trees->position) + "trees beside other terms are for numbers, and this is " +
                   setting("likelihood", likelihood.name) + "; use " + setting("model", spec.trees->kind->baseline) +
                   ", trees alone");
}

// What is asked for must be possible; what has no effect is said.
void choose_posterior(const ModelSpec& spec, Optimiser asked_optimiser, FitPlan& plan) {
  FitOptions& o = plan.options;
  if (o.noise < 0.0 || !std::isfinite(o.noise)) throw UsageError("the noise must be a positive number");
  if (o.optimiser == Optimiser::lbfgs) {
    if (o.posterior != "ensemble" && !engine_named(o.posterior).kernels_only) {
      throw UsageError(setting("posterior", o.posterior) +
                       " is for formulas with a network; the posterior of kernels alone is known exactly");
    }
    plan.engine_asked = o.posterior != "ensemble";
    if (!plan.engine_asked) o.posterior = "neighbours";
  } else if (engine_named(o.posterior).kernels_only) {
    throw UsageError(setting("posterior", o.posterior) + " is for formulas of kernels only, of numbers with Gaussian " +
                     "noise");
  }
  const Engine& engine = engine_named(o.posterior);
  engine.choose(spec, o, plan.remarks);
  const bool trains = o.epochs > 0 || o.batch > 0 || o.learning_rate > 0.0 || !o.polish ||
                      asked_optimiser != Optimiser::automatic || o.kernels == KernelTraining::learned;
  if (engine.draws && trains) {
    plan.remarks.push_back(setting("posterior", o.posterior) + " is solved, not trained: " + setting("epochs") + ", " +
                           setting("batch") + ", " + setting("learning_rate") + ", " + setting("optimiser") + ", " +
                           setting("kernels") + " and " + setting("polish", "false") + " have no effect");
  }
}

// Residuals about an ensemble, with Gaussian noise, by kernels that no network multiplies.
void check_neighbours(const ModelSpec& spec, const FitOptions& o) {
  if (o.neighbours != Neighbours::yes) return;
  const std::string asked = setting("neighbours", "yes");
  if (spec.kernels_only()) {
    throw UsageError(asked + " is for kernels beside networks; of kernels only use " +
                     setting("posterior", "neighbours"));
  }
  if (terms_beside(spec).empty()) {
    throw UsageError(asked + " is for kernels that stand beside networks, as in y ~ mlp(a) + matern32(lat, lon), and " +
                     "this formula has none; leave it out");
  }
  if (o.posterior != "ensemble") {
    throw UsageError(asked + " is for " + setting("posterior", "ensemble") + ", and this is " +
                     setting("posterior", o.posterior) + "; leave one of them out");
  }
  if (!likelihood_of(o).conjugate) {
    throw UsageError(asked + " is for Gaussian noise, and this is " + setting("likelihood", o.likelihood) +
                     "; leave it out");
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
                           !engine_named(o.posterior).any_likelihood || formula.error.exists();
    const bool few = target.info.type == ColumnType::integer && values.size() <= kFewValues && values.size() > 1 &&
                     count_of(use) >= 10 * std::ssize(values) && !as_number;
    const bool classes = (levels || few) && formula.transform.empty();
    o.likelihood = !classes ? "gaussian" : values.size() <= 2 ? "bernoulli" : "categorical";
    if (classes) {
      plan.remarks.push_back("target: " + std::to_string(values.size()) + " classes, likelihood " + o.likelihood +
                             (few ? " (for a number: " + setting("likelihood", "gaussian") + ")" : std::string()));
    }
  }
  const Likelihood& likelihood = likelihood_of(o);
  o.likelihood = likelihood.name;  // not another name for it
  const std::string asked = setting("likelihood", o.likelihood);
  const bool two_classes = likelihood.has_classes() && likelihood.link != Link::softmax;
  if (two_classes && values.size() > 2) {
    throw DataError(asked + " is of two classes, and the target, column \"" + formula.target + "\", has " +
                    (values.size() < kManyValues ? "" : "at least ") + std::to_string(values.size()) + "; use " +
                    setting("likelihood", "categorical"));
  }
  if (!formula.transform.empty() && likelihood.target != TargetKind::number) {
    throw UsageError(where(formula.position) + formula.transform +
                     "() of the target is for numbers; leave it out with " + asked);
  }
  if (o.own_kernels && likelihood.link != Link::softmax) {
    throw UsageError(setting("own_kernels", "true") + " is for " + setting("likelihood", "categorical") +
                     ", where there are several functions");
  }
  check_row_terms(formula, likelihood, o);
  if (likelihood.target == TargetKind::number) return;
  if (o.noise > 0.0 || !o.noise_formula.empty() || o.perturbation == Perturbation::noise) {
    throw UsageError(asked + " has no noise of its own; leave " + setting("noise") + ", " + setting("noise_formula") +
                     " and " + setting("perturbation", "noise") + " out");
  }
}

std::vector<std::string> columns_for(const Formula& formula, const Table& table, const FitOptions& options,
                                     std::vector<std::string>* left_out) {
  std::vector<std::string> apart = columns_of(options.holdout, table);
  if (options.validation) add_new(apart, columns_of(*options.validation, table));
  std::vector<std::string> named = named_columns(formula);
  add_new(named, removed_columns(formula));
  std::erase_if(apart, [&](const std::string& name) { return contains(named, name); });
  std::vector<std::string> columns = table.names();
  std::erase_if(columns, [&](const std::string& name) { return contains(apart, name); });
  if (left_out != nullptr && has_rest(formula)) *left_out = apart;
  return columns;
}

// Some thousands of steps suffice for what a network of this size can learn; few rows get more epochs and more
// members, many rows larger batches.
void choose_options(const ModelSpec& spec, std::int64_t rows, FitPlan& plan) {
  FitOptions& options = plan.options;
  const bool kernels_only = spec.kernels_only(), gaussian = likelihood_of(options).conjugate;
  check_trees(spec, likelihood_of(options));
  const bool images = reads_images(spec);
  const Optimiser asked_optimiser = options.optimiser;
  if (options.optimiser == Optimiser::automatic) {
    options.optimiser = kernels_only && gaussian ? Optimiser::lbfgs : Optimiser::adamw;
  }
  if (options.optimiser == Optimiser::lbfgs && !gaussian) {
    throw UsageError("lbfgs is for " + setting("likelihood", "gaussian") + "; use adam, adamw or sgd");
  }
  refuse_closed_forms(options);
  if (options.optimiser == Optimiser::lbfgs && !kernels_only) {
    throw UsageError("lbfgs is for models of kernels only, and this one has a network; use adam, adamw or sgd");
  }
  choose_posterior(spec, asked_optimiser, plan);
  check_neighbours(spec, options);
  const bool closed_form = options.optimiser == Optimiser::lbfgs;
  if (options.kernels == KernelTraining::automatic) {
    const bool moving =
        std::any_of(spec.terms.begin(), spec.terms.end(), [](const TermSpec& t) { return t.train_points; });
    // The warm start sees little of an image: kernels beside one are learned further.
    const bool hold = options.warm_start && !moving && !images && !options.own_kernels;
    options.kernels = hold ? KernelTraining::held : KernelTraining::learned;
  }
  if (options.members == 0) {
    const std::int64_t work = images ? 10 * rows : rows;
    options.members = closed_form ? 1 : work <= 20'000 ? 4 : work <= 500'000 ? 2 : 1;
  }
  const bool ensemble = engine_named(options.posterior).any_likelihood;
  if (ensemble && options.members == 1) {
    const bool numbers = !likelihood_of(options).has_classes();
    if (numbers) plan.remarks.push_back("one member has no spread: intervals come from the noise alone");
  }
  if (options.perturbation != Perturbation::none && ensemble && options.members == 1) {
    throw UsageError(setting("perturbation") + " makes members differ, and there is one; ask for more " +
                     setting("members"));
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
  constexpr std::int64_t kMostRefitted = 100'000;  // to which a tenth more adds little
  if (options.refit == Refit::automatic) options.refit = rows <= kMostRefitted ? Refit::yes : Refit::no;
  if (options.patience == 0) options.patience = std::max<std::int64_t>(10, options.epochs / 2);
}

}  // namespace ick
