#include "ick/model/spec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/kernel/table.h"
#include "ick/net/network.h"

namespace ick {

namespace {

std::string where(std::size_t position) { return "formula column " + std::to_string(position) + ": "; }

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_new(std::vector<std::string>& names, const std::vector<std::string>& more) {
  for (const std::string& name : more) {
    if (!contains(names, name)) names.push_back(name);
  }
}

bool is_network(const Call& call) { return find_network(call.name) != nullptr; }

// Networks and kernels stand in two tables; a misspelt name is looked for in both.
void check_name(const Call& call) {
  std::vector<std::string> known;
  for (const NetworkRow& row : network_table()) known.emplace_back(row.name);
  for (const KernelRow& row : kernel_table()) add_new(known, {std::string(row.name)});
  if (contains(known, call.name)) return;
  const std::string guess = did_you_mean(call.name, known);
  throw UsageError(where(call.position) + "no network or kernel named \"" + call.name + "\"" +
                   (guess.empty() ? "; `ick list` shows them all" : guess));
}

void check_columns(const Call& call, const Formula& formula, const std::vector<std::string>& columns) {
  for (std::size_t i = 0; i < call.columns.size(); ++i) {
    const std::string& name = call.columns[i];
    const std::string place = where(i < call.column_positions.size() ? call.column_positions[i] : call.position);
    if (name == formula.target) {
      throw UsageError(place + "\"" + name + "\" is the target; a model may not read what it is to predict");
    }
    if (!columns.empty() && !contains(columns, name)) {
      const std::string guess = did_you_mean(name, columns);
      throw DataError(place + "no column named \"" + name + "\"" +
                      (guess.empty() ? "; there are " + join_words(columns) : guess));
    }
  }
}

void add_columns(const Call& call, std::vector<std::string>& names) {
  add_new(names, call.columns);
  for (const Call& nested : call.nested) add_new(names, nested.columns);
}

// Transformations of columns: networks read them, kernels do not.
void check_nested(const Call& call) {
  for (const Call& nested : call.nested) {
    if (!is_network(call)) {
      throw UsageError(where(nested.position) + nested.name + "(...) stands among the columns of " + call.name +
                       ", a kernel; only networks read transformed columns");
    }
    if (nested.name == "trees" && nested.nested.empty() && !nested.rest) continue;
    throw UsageError(where(nested.position) + "no transformation of columns named \"" + nested.name +
                     "\"; there is trees(x, n=10, depth=2)");
  }
}

void collect_calls(const Expression& expression, std::vector<const Call*>& calls) {
  if (expression.kind == Expression::Kind::call) calls.push_back(&expression.call);
  for (const Expression& operand : expression.operands) collect_calls(operand, calls);
}

// Options that say how a term is computed rather than what a kernel or network is. Any call of the term may carry them.
template <class Value>
struct Word {
  std::string_view text;
  Value value;
};
constexpr std::array kMaps = {Word<MapKind>{"nystrom", MapKind::nystrom}, Word<MapKind>{"fourier", MapKind::fourier},
                              Word<MapKind>{"hilbert", MapKind::hilbert}};
constexpr std::array kPlacements = {
    Word<Placement>{"automatic", Placement::automatic}, Word<Placement>{"grid", Placement::grid},
    Word<Placement>{"one_period", Placement::one_period}, Word<Placement>{"kmeans", Placement::kmeans},
    Word<Placement>{"pivoted_cholesky", Placement::pivoted_cholesky}};

template <class Words, class Value>
void read_word(const Argument& argument, const Words& words, Value& value) {
  std::vector<std::string> known;
  for (const auto& each : words) {
    known.emplace_back(each.text);
    if (argument.kind == Argument::Kind::word && argument.word == each.text) {
      value = each.value;
      return;
    }
  }
  throw UsageError(where(argument.position) + argument.name + " is one of " + join_words(known) +
                   (argument.kind == Argument::Kind::word ? did_you_mean(argument.word, known) : ""));
}

constexpr std::int64_t kMostFeatures = 4096;

void read_count(const Argument& argument, std::int64_t& value) {
  const bool is_plain = argument.kind == Argument::Kind::start && argument.values.size() == 1 &&
                        argument.values[0].unit.empty() && argument.values[0].number >= 1.0 &&
                        argument.values[0].number <= kMostFeatures &&
                        argument.values[0].number == std::floor(argument.values[0].number);
  if (!is_plain) {
    throw UsageError(where(argument.position) + "points must be a whole number from 1 to " +
                     std::to_string(kMostFeatures));
  }
  value = static_cast<std::int64_t>(argument.values[0].number);
}

bool read_option(const Argument& argument, TermSpec& term) {
  if (argument.name == "points") {
    read_count(argument, term.features);
  } else if (argument.name == "features") {
    read_word(argument, kMaps, term.map);
  } else if (argument.name == "placement") {
    read_word(argument, kPlacements, term.placement);
  } else if (argument.name == "train_points") {
    constexpr std::array kAnswers = {Word<bool>{"yes", true}, Word<bool>{"no", false}};
    read_word(argument, kAnswers, term.train_points);
  } else {
    return false;
  }
  return true;
}

// Removes the term's options from its calls.
Product take_options(const Product& product, TermSpec& term) {
  Product rest = product;
  std::vector<Argument> taken;
  for (Call& call : rest) {
    std::erase_if(call.arguments, [&](const Argument& argument) {
      if (!read_option(argument, term)) return false;
      for (const Argument& other : taken) {
        if (other.name != argument.name || other == argument) continue;
        throw UsageError(where(argument.position) + argument.name +
                         " is said a second time, and otherwise, in one term" +
                         "; say it once (the first is in column " + std::to_string(other.position) + ")");
      }
      taken.push_back(argument);
      return true;
    });
  }
  return rest;
}

// The same networks, told apart by their place in the formula.
bool same_networks(const Product& a, const Product& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Call& x, const Call& y) { return x.position == y.position && x == y; });
}

bool same_options(const TermSpec& a, const TermSpec& b) {
  return a.map == b.map && a.placement == b.placement && a.features == b.features && a.train_points == b.train_points;
}

void add_product(const Product& product, std::vector<TermSpec>& terms) {
  TermSpec term;
  Product kernels;
  for (Call& call : take_options(product, term))
    (is_network(call) ? term.networks : kernels).push_back(std::move(call));
  const auto twin = std::find_if(terms.begin(), terms.end(), [&](const TermSpec& each) {
    return !term.networks.empty() && !kernels.empty() && !each.kernels.empty() && same_options(each, term) &&
           same_networks(each.networks, term.networks);
  });
  if (twin != terms.end()) {
    twin->kernels.push_back(std::move(kernels));
    return;
  }
  if (!kernels.empty()) term.kernels.push_back(std::move(kernels));
  terms.push_back(std::move(term));
}

}  // namespace

bool ModelSpec::kernels_only() const {
  return std::all_of(terms.begin(), terms.end(), [](const TermSpec& term) { return term.networks.empty(); });
}

double ModelSpec::share() const {
  std::size_t parts = 0;
  for (const TermSpec& term : terms) parts += std::max<std::size_t>(1, term.kernels.size());
  return 1.0 / static_cast<double>(parts);
}

ModelSpec make_spec(const Formula& formula, const std::vector<std::string>& columns) {
  ModelSpec spec;
  spec.formula = formula;
  if (!columns.empty() && !contains(columns, formula.target)) {
    const std::string guess = did_you_mean(formula.target, columns);
    throw DataError(where(formula.position) + "no column named \"" + formula.target + "\" to predict" +
                    (guess.empty() ? "; there are " + join_words(columns) : guess));
  }
  std::vector<const Call*> calls;
  collect_calls(formula.right, calls);
  std::vector<std::string> named = {formula.target};
  for (const Call* call : calls) {
    check_name(*call);
    check_nested(*call);
    check_columns(*call, formula, columns);
    for (const Call& nested : call->nested) check_columns(nested, formula, columns);
    add_columns(*call, named);
    if (is_network(*call)) network_plan(*call);  // for what it refuses
  }
  std::vector<std::string> others;
  std::copy_if(columns.begin(), columns.end(), std::back_inserter(others),
               [&](const std::string& name) { return !contains(named, name); });

  SumOfProducts sum = canonical(formula.right);
  for (Product& product : sum) {
    for (Call& call : product) {
      if (call.rest && !is_network(call)) {
        throw UsageError(where(call.position) + "\".\" (all other columns) is for networks; name the columns of " +
                         call.name);
      }
      if (call.rest) {
        if (columns.empty())
          throw UsageError(where(call.position) + "\".\" has a meaning only with data; give a table");
        if (others.empty()) throw UsageError(where(call.position) + "\".\" stands for no column; all are used already");
        add_new(call.columns, others);
        call.rest = false;
      }
      if (is_network(call) && call.columns.empty() && call.nested.empty()) {
        throw UsageError(where(call.position) + call.name + " has no column; name at least one, as in " + call.name +
                         "(x), or all others, as in " + call.name + "(.)");
      }
      add_columns(call, is_network(call) ? spec.network_columns : spec.kernel_columns);
    }
    add_product(product, spec.terms);
  }
  return spec;
}

// A smooth kernel of one period needs few features; several inputs need more; weights alone, which are found in closed
// form, can afford more than the outputs of networks.
void choose_features(ModelSpec& spec, std::int64_t rows) {
  for (TermSpec& term : spec.terms) {
    if (term.features > 0) continue;
    if (term.kernels.empty()) {
      term.features = term.networks.size() == 1 ? 1 : 16;
      continue;
    }
    bool periodic = true;
    std::size_t most = 0;  // columns of a product
    for (const Product& product : term.kernels) {
      std::size_t columns = 0;
      for (const Call& call : product) {
        periodic = periodic && call.name == "periodic" && product.size() == 1;
        columns += call.columns.size();
      }
      most = std::max(most, columns);
    }
    const bool weights_alone = term.networks.empty();
    const std::int64_t wanted = periodic    ? (weights_alone ? 32 : 16)
                                : most == 1 ? (weights_alone ? 128 : 64)
                                : most == 2 ? (weights_alone ? 256 : 64)
                                            : (weights_alone ? 256 : 128);
    term.features = std::clamp<std::int64_t>(rows / 2, 4, wanted);
  }
}

namespace {

std::int64_t whole_number(const Argument& argument, std::int64_t low, std::int64_t high) {
  const bool plain = argument.kind == Argument::Kind::start && argument.values.size() == 1 &&
                     argument.values[0].unit.empty() &&
                     argument.values[0].number == std::floor(argument.values[0].number);
  const double number = plain ? argument.values[0].number : -1.0;
  if (number >= static_cast<double>(low) && number <= static_cast<double>(high))
    return static_cast<std::int64_t>(number);
  throw UsageError(where(argument.position) + argument.name + " must be a whole number from " + std::to_string(low) +
                   " to " + std::to_string(high));
}

TreesPlan trees_plan(const Call& call) {
  TreesPlan plan;
  plan.columns = call.columns;
  if (plan.columns.empty()) throw UsageError(where(call.position) + "trees has no column; name one, as in trees(x)");
  for (const Argument& argument : call.arguments) {
    if (argument.name == "n") {
      plan.count = whole_number(argument, 1, 1000);
    } else if (argument.name == "depth") {
      plan.depth = static_cast<int>(whole_number(argument, 1, 10));
    } else {
      throw UsageError(where(argument.position) + "trees has no argument named \"" + argument.name +
                       "\"; it has n and depth");
    }
  }
  return plan;
}

bool reads_images(const Call& call) { return find_network(call.name)->reads == Reads::image; }

}  // namespace

NetworkPlan network_plan(const Call& call) {
  NetworkPlan plan;
  plan.columns = call.columns;
  for (const Call& nested : call.nested) plan.trees.push_back(trees_plan(nested));
  if (!reads_images(call)) return plan;
  Call rest = call;
  plan.image = take_image_settings(rest);
  plan.columns = rest.columns;
  return plan;
}

Augmentation augmentation_of(const Call& call) {
  Call rest = call;
  return reads_images(call) ? take_augmentation(rest) : Augmentation{};
}

Call without_sources(const Call& call) {
  Call rest = call;
  if (reads_images(call)) {
    take_image_settings(rest);
    take_augmentation(rest);
  }
  return rest;
}

std::string print(const TermSpec& term) {
  std::string text;
  for (const Call& call : term.networks) text += (text.empty() ? "" : " * ") + print(call);
  if (term.kernels.empty()) return text;
  const bool alone = text.empty() || term.kernels.size() == 1;
  return (text.empty() ? "" : text + " * ") + (alone ? print(term.kernels) : "(" + print(term.kernels) + ")");
}

}  // namespace ick
