#include <ATen/ATen.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/accept.h"
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/words.h"
#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/base/unit.h"
#include "ick/fit/fit.h"
#include "ick/store/json.h"

namespace ick {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kLevelsAssumed = 3;
constexpr double kYearsAssumed = 3.0;
constexpr std::int64_t kRowsAssumed = 1000;
constexpr std::int64_t kPixelsAssumed = 64;  // of images of three channels, by as many

bool has_time(const KernelSpec& kernel) {
  const auto is_time = [](const Quantity& quantity) { return is_time_unit(quantity.unit); };
  return std::any_of(kernel.arguments.begin(), kernel.arguments.end(), [&](const Argument& argument) {
    return std::any_of(argument.values.begin(), argument.values.end(), is_time) ||
           (argument.low && is_time(*argument.low)) || (argument.high && is_time(*argument.high));
  });
}

// Without data every column is taken to range from 0 to 1, one that categorical() reads to have three levels, and one
// that a kernel measures in a unit of time, as in period=1y, to be three years in days.
Encoder assumed_encoder(const ModelSpec& spec) {
  Encoder encoder;
  for (const std::string& name : spec.kernel_columns) {
    KernelColumn& column = encoder.kernel_columns.emplace_back();
    column.info.name = column.summary.name = name;
    if (const DerivedColumn* const derived = find_derived(spec.derived, name)) {
      const DerivedFunction& function = *find_derived_function(derived->function);
      column.unit = column.summary.unit = function.unit;
      column.summary.low = function.low, column.summary.high = function.high;
    }
    for (const TermSpec& term : spec.terms) {
      for (const KernelProduct& product : term.kernels) {
        for (const KernelSpec& kernel : product) {
          if (!contains(kernel.columns, name)) continue;
          if (reads_levels(kernel.name)) column.summary.levels = kLevelsAssumed;
          if (!has_time(kernel) || !column.unit.empty()) continue;
          column.summary.unit = column.unit = "d";
          column.summary.high = convert(kYearsAssumed, "y", "d").value();
        }
      }
    }
    column.summary.centre = 0.5 * (column.summary.low + column.summary.high);
    column.summary.root_mean_square = column.summary.span() / std::sqrt(12.0);
  }
  for (const TermSpec& term : spec.terms) {
    for (const NetworkSpec& network : term.networks) {
      const NetworkPlan& plan = network.inputs;
      NetworkInputs& inputs = encoder.networks.emplace_back();
      inputs.columns.resize(plan.columns.size() + plan.ranked.size());
      for (const CyclePlan& cycle : plan.cycles)
        inputs.columns.emplace_back().periods.resize(cycle.periods.size(), 1.0);
      for (const TreesPlan& trees : plan.trees) {
        RandomTree tree;
        tree.column.resize((std::size_t{1} << trees.depth) - 1);
        inputs.trees.emplace_back().trees.assign(static_cast<std::size_t>(trees.count), tree);
      }
      if (!plan.image) continue;
      const ImageSettings& s = *plan.image;
      const auto bands = std::ssize(s.bands);
      inputs.image = NetworkImages{
          s,
          {bands > 0 ? bands : 3, s.height > 0 ? s.height : kPixelsAssumed, s.width > 0 ? s.width : kPixelsAssumed},
          {}};
    }
  }
  return encoder;
}

Dataset assumed_rows(const Encoder& encoder) {
  Dataset rows;
  std::vector<at::Tensor> columns;
  for (const KernelColumn& column : encoder.kernel_columns) {
    const InputSummary& s = column.summary;
    const at::Tensor steps = at::arange(kRowsAssumed, at::kDouble);
    columns.push_back(s.levels > 0 ? steps.remainder(s.levels) : s.low + s.span() * steps / (kRowsAssumed - 1.0));
  }
  rows.x = columns.empty() ? at::zeros({kRowsAssumed, 0}, at::kDouble) : at::stack(columns, 1);
  for (const NetworkInputs& inputs : encoder.networks) {
    rows.networks.push_back(at::zeros({kRowsAssumed, inputs.numbers()}, at::kFloat));
  }
  rows.rows.resize(kRowsAssumed);
  return rows;
}

struct ExplainRequest {
  std::string formula, data;
  std::int64_t features = 0;
  bool json = false;
  DataOptions reading;
};

// What there is to say about a formula, made once and said as text or JSON.
struct Explanation {
  ModelSpec spec;
  std::unique_ptr<Model> model;  // null where trees are alone
  std::optional<FitPlan> plan;   // with data
  double variance_unit = 1.0;    // the target's variance, shared among the products
};

// An expression without a target is explained as the right side of one.
Formula read_formula(const std::string& text) {
  if (text.find('~') != std::string::npos) return parse_formula(text);
  Formula formula;
  formula.right = parse_expression(text);
  return formula;
}

Explanation explain(const ExplainRequest& request) {
  const Formula formula = read_formula(request.formula);
  Explanation e;
  const auto set_features = [&](ModelSpec& spec) {
    for (TermSpec& term : spec.terms) {
      if (request.features > 0 && !term.kernels.empty()) term.features = request.features;
    }
  };
  if (request.data.empty()) {
    e.spec = make_spec(formula, {});
    if (e.spec.terms.empty()) return e;
    set_features(e.spec);
    choose_features(e.spec, kRowsAssumed);
    const Encoder encoder = assumed_encoder(e.spec);
    e.model = std::make_unique<Model>(e.spec, encoder, assumed_rows(encoder), ModelOptions{});
    e.variance_unit = stated_variance_unit(e.spec, encoder);
    return e;
  }
  if (formula.target.empty()) {
    throw UsageError("with a table explain needs a target, as in 'y ~ " + request.formula + "'");
  }
  const Table table = read_table(request.data, request.reading.read_options(formula));
  if (trees_alone(formula.right) != nullptr) {
    e.spec = plan_rows(table, formula, {}).spec;
    return e;
  }
  e.plan = plan_fit(table, formula, {});
  e.spec = e.plan->spec;
  set_features(e.spec);
  const Dataset rows = open_rows(table, e.plan->encoder, std::vector<bool>(table.rows, true));
  ModelOptions model_options;
  model_options.seed = e.plan->options.seed;
  model_options.layers = e.plan->options.layers;
  if (likelihood_of(e.plan->options).link == Link::softmax) model_options.outputs = std::ssize(e.plan->encoder.classes);
  e.model = std::make_unique<Model>(e.spec, e.plan->encoder, rows, model_options);
  e.variance_unit = stated_variance_unit(e.spec, e.plan->encoder);
  return e;
}

struct ParameterText {
  std::string path, start, state;
};

// Known, or learned with the prior of its first number: the range that holds 90% of it.
std::string state_of(const Parameter& parameter, double unit) {
  if (parameter.fixed) return "known";
  const Prior& prior = parameter.prior.front();
  const double low = unit * constrain(parameter.constraint, prior.centre - kNinety * prior.below);
  const double high = unit * constrain(parameter.constraint, prior.centre + kNinety * prior.above);
  return fmt::format("learned, prior({:.3g}, {:.3g})", low, high);
}

// `target`: the variance of the target, shared among the products.
std::vector<ParameterText> parameters_of(const Kernel& kernel, const Factor& factor, double target) {
  std::vector<ParameterText> rows;
  for (const Parameter& each : kernel.parameters().parameters()) {
    if (each.first < factor.first_parameter || each.first >= factor.first_parameter + factor.parameter_count) continue;
    const double unit = each.unit == Unit::target_squared && is_scale(kernel, each) ? target : 1.0;
    const at::Tensor values = unit * kernel.parameters().natural(each.path).detach()[0];
    std::string start;
    for (std::int64_t i = 0; i < values.size(0); ++i) {
      start += (i == 0 ? "" : ", ") + fmt::format("{:.4g}", values[i].item<double>());
    }
    rows.push_back({each.path, each.count == 1 ? start : "[" + start + "]", state_of(each, unit)});
  }
  return rows;
}

// K_mlp(a, b) * rbf(x): networks stand for the covariance of their random starts.
std::string covariance_text(const TermSpec& term) {
  std::string text;
  for (const NetworkSpec& network : term.networks) {
    text += (text.empty() ? "" : " * ") + fmt::format("K_{}({})", network.name, fmt::join(network.sources, ", "));
  }
  if (term.kernels.empty()) return text;
  const bool alone = text.empty() || term.kernels.size() == 1;
  return (text.empty() ? "" : text + " * ") + (alone ? print(term.kernels) : "(" + print(term.kernels) + ")");
}

// Weights of one network of term t: "13 -> 128 -> 64 -> 16", and how many weights it has.
std::pair<std::string, std::int64_t> network_text(const Model& model, std::size_t t, std::size_t a) {
  const std::string prefix = fmt::format("term{}.{}{}.", t + 1, model.spec().terms[t].networks[a].name, a + 1);
  std::string shape;
  std::int64_t numbers = 0;
  for (const NamedTensor& each : model.network_parameters()) {
    if (!each.path.starts_with(prefix)) continue;
    numbers += each.value.numel();
    if (each.value.dim() != 3 || !each.path.ends_with(".weight")) continue;
    if (shape.empty()) shape = std::to_string(each.value.size(1));
    shape += " -> " + std::to_string(each.value.size(2));
  }
  return {shape, numbers};
}

std::int64_t count_parameters(const Model& model) {
  std::int64_t total = model.has_kernels() ? model.kernel().parameters().size() : 0;
  for (const NamedTensor& each : model.network_parameters()) total += each.value.numel();
  return total;
}

// Arguments of trees with their values: "rounds", "until ..."
std::vector<std::pair<std::string, std::string>> settings_of(const TreeTerm& trees) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const TreeArgument& each : trees.kind->arguments) {
    const double value = trees.argument(each.name);
    const bool open = value == each.otherwise;
    settings.emplace_back(each.name, open ? std::string(each.default_text) : number_text(value));
  }
  return settings;
}

std::string sum_text(const ModelSpec& spec) {
  std::string text = spec.trees ? spec.trees->text : "";
  for (const TermSpec& term : spec.terms) text += (text.empty() ? "" : " + ") + print(term);
  return text;
}

// Calls visit(factor, owner) for the kernels of term t; `owner` is the term a shared kernel was first seen in.
template <class Visit>
void each_factor(const Explanation& e, std::size_t t, Visit visit) {
  std::size_t product = 0;
  std::map<std::int64_t, std::size_t> owners;
  for (std::size_t u = 0; u <= t; ++u) {
    for (std::size_t i = 0; i < e.spec.terms[u].kernels.size(); ++i, ++product) {
      for (const Factor& f : e.model->kernel().terms()[product]) {
        const auto [owner, is_new] = owners.emplace(f.first_parameter, u);
        if (u == t) visit(f, is_new ? t : owner->second, is_new);
      }
    }
  }
}

// "hour of the day, 0 to below 24, of date (h)"
std::string derived_text(const DerivedColumn& derived) {
  const std::string_view text = find_derived_function(derived.function)->text;
  const std::string unit = derived.unit.empty() ? "" : " (" + derived.unit + ")";
  return fmt::format("{}, of {}{}", text, join_words(derived.inputs), unit);
}

void print_json(const Explanation& e) {
  Json out = {{"schema", 1}, {"canonical", sum_text(e.spec)}};
  if (e.model != nullptr) out["parameters"] = count_parameters(*e.model), out["features"] = e.model->features();
  if (!e.spec.formula.target.empty()) out["formula"] = print(e.spec.formula);
  for (const DerivedColumn& each : e.spec.derived) {
    out["derived"].push_back({{"name", each.name}, {"what", derived_text(each)}, {"columns", each.inputs}});
  }
  if (e.spec.trees) {
    out["trees"] = {{"term", e.spec.trees->text}, {"what", e.spec.trees->kind->text}};
    for (const auto& [name, value] : settings_of(*e.spec.trees)) out["trees"]["settings"][name] = value;
  }
  out["terms"] = Json::array();
  std::size_t map = 0;
  for (std::size_t t = 0; t < e.spec.terms.size(); ++t) {
    const TermSpec& term = e.spec.terms[t];
    Json each = {{"term", print(term)}, {"covariance", covariance_text(term)}, {"features", e.model->features_of(t)}};
    each["networks"] = Json::array();
    for (std::size_t a = 0; a < term.networks.size(); ++a) {
      const auto [shape, numbers] = network_text(*e.model, t, a);
      each["networks"].push_back({{"network", term.networks[a].text}, {"layers", shape}, {"parameters", numbers}});
    }
    each["parameters"] = Json::array();
    if (!term.kernels.empty()) {
      each["map"] = e.model->maps()[map++].name;
      each_factor(e, t, [&](const Factor& f, std::size_t, bool is_new) {
        if (!is_new) return;
        for (const ParameterText& p : parameters_of(e.model->kernel(), f, e.variance_unit)) {
          each["parameters"].push_back({{"path", p.path}, {"start", p.start}, {"state", p.state}});
        }
      });
    }
    out["terms"].push_back(std::move(each));
  }
  if (e.plan) out["settings"] = Json::parse(to_json(e.plan->options).dump());
  fmt::print("{}\n", out.dump(2));
}

void print_settings(const FitPlan& plan) {
  const FitOptions& o = plan.options;
  fmt::print("\ndefaults for this table\n");
  fmt::print("  members {}, batch {}, epochs {}, optimiser {}, schedule {}, learning rate {:.4g}\n", o.members, o.batch,
             o.epochs, choice_name(o.optimiser), choice_name(o.schedule), o.learning_rate);
  fmt::print("  likelihood {}, weight decay {:.4g}, patience {}, seed {}\n", o.likelihood, o.weight_decay, o.patience,
             o.seed);
  fmt::print("  validation {}: {}\n", print(*o.validation), plan.validation_reason);
}

void print_trees(const TreeTerm& trees, bool alone) {
  fmt::print("\ntrees: {}\n  {}\n", trees.text, trees.kind->text);
  for (const auto& [name, value] : settings_of(trees)) fmt::print("  {:<20} {}\n", name, value);
  if (alone) {
    fmt::print("  alone they are the baseline {}: no covariance, nothing else to learn\n", trees.kind->baseline);
  } else {
    fmt::print(
        "  grown first; the other terms learn what they leave of rows that they have not seen, in five folds. "
        "Variances below start as for the whole target.\n");
  }
}

void print_text(const Explanation& e) {
  if (!e.spec.formula.target.empty()) fmt::print("{}\n  is ", print(e.spec.formula));
  fmt::print("{}\n", sum_text(e.spec));
  for (const DerivedColumn& each : e.spec.derived) fmt::print("  {:<20} {}\n", each.name, derived_text(each));
  if (!e.spec.left_out.empty()) {
    fmt::print("  \".\" of a kernel stands for numbers and leaves out {}\n", join_words(e.spec.left_out));
  }
  if (e.spec.trees) print_trees(*e.spec.trees, e.spec.terms.empty());
  if (e.spec.terms.empty()) return;
  const std::int64_t numbers = count_parameters(*e.model);
  if (e.spec.trees) fmt::print("\n");
  fmt::print("  {} term{}, {} number{} to learn or hold for each member, {} features\n", e.spec.terms.size(),
             e.spec.terms.size() == 1 ? "" : "s", numbers, numbers == 1 ? "" : "s", e.model->features());
  fmt::print(
      "  * is a product of covariances: kernels on their joined inputs, mapped to features once; networks element by "
      "element.\n  + is a sum, features side by side.\n  {}\n",
      kLetters);
  std::size_t map = 0;
  for (std::size_t t = 0; t < e.spec.terms.size(); ++t) {
    const TermSpec& term = e.spec.terms[t];
    fmt::print("\nterm {}: {}\n", t + 1, print(term));
    fmt::print("  covariance at the start: {}\n", covariance_text(term));
    for (std::size_t a = 0; a < term.networks.size(); ++a) {
      const auto [shape, count] = network_text(*e.model, t, a);
      fmt::print("  {:<20} {}, {} numbers\n", term.networks[a].name, shape, count);
    }
    if (term.networks.empty()) fmt::print("  {:<20} {} of its own\n", "weights", e.model->features_of(t));
    if (term.kernels.empty()) continue;
    fmt::print("  {:<20} {}\n", "features", e.model->maps()[map++].name);
    each_factor(e, t, [&](const Factor& f, std::size_t owner, bool is_new) {
      fmt::print("  {:<20} {}{}\n", f.row->title(), f.row->formula,
                 owner < t ? fmt::format(" (shared with term {})", owner + 1) : "");
      if (!is_new) return;
      for (const ParameterText& each : parameters_of(e.model->kernel(), f, e.variance_unit)) {
        fmt::print("    {:<34} starts at {:<22} {}\n", each.path, each.start, each.state);
      }
    });
  }
  if (e.plan) print_settings(*e.plan);
}

int run_explain(const ExplainRequest& request) {
  const Explanation explanation = explain(request);
  if (request.json) {
    print_json(explanation);
  } else {
    print_text(explanation);
  }
  if (request.data.empty()) {
    fmt::print(
        stderr,
        "\nWithout data, columns are taken to go from 0 to 1, times over three years, images to have 64 x 64 pixels of "
        "three channels; with data starts and sizes follow it.\n");
  }
  return 0;
}

}  // namespace

Command add_explain(CLI::App& program) {
  auto request = std::make_shared<ExplainRequest>();
  CLI::App* app = program.add_subcommand("explain", "Show what a formula means, with every default");
  app->add_option("formula", request->formula,
                  "Formula, for example 'y ~ mlp(a) * periodic(t, period=7)', or its right side alone")
      ->required();
  app->add_option("data", request->data, "Table the formula is for; may be left out");
  app->add_option("--features", request->features, "Features for each product of kernels; 0: from the data")
      ->check(accept_number(0, 100000))
      ->capture_default_str();
  app->add_flag("--json", request->json, "Print JSON");
  request->reading.add_to(*app);
  return {app, [request] { return run_explain(*request); }};
}

}  // namespace ick
