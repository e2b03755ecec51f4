#include "ick/model/spec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>
#include <variant>

#include "formula/from_r.h"
#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/kernel/table.h"
#include "ick/net/network.h"
#include "model/named_columns.h"

namespace ick {

namespace {

bool is_network(const Call& call) { return find_network(call.name) != nullptr; }

// Networks, kernels and trees stand in tables; a misspelt name is looked for in all.
void check_name(const Call& call) {
  std::vector<std::string> known;
  for (const NetworkRow& row : network_table()) known.emplace_back(row.name);
  for (const KernelRow& row : kernel_table()) known.emplace_back(row.name);
  for (const TreeKind& kind : tree_kinds()) known.emplace_back(kind.name);
  if (contains(known, call.name)) return;
  const std::string guess = did_you_mean(call.name, known), advice = advice_on_function(call);
  throw UsageError(where(call.position) + "no network or kernel named \"" + call.name + "\"" +
                   (!advice.empty() ? "; " + advice
                    : guess.empty() ? "; `ick list` shows them all"
                                    : guess));
}

void check_column(const std::string& name, std::size_t position, const Formula& formula,
                  const std::vector<std::string>& columns) {
  const std::string place = where(position);
  if (name == formula.target) {
    throw UsageError(place + "\"" + name + "\" is the target; a model may not read what it is to predict");
  }
  if (columns.empty() || contains(columns, name)) return;
  const std::string guess = did_you_mean(name, columns);
  throw DataError(place + "no column named \"" + name + "\"" +
                  (guess.empty() ? "; there are " + join_words(columns) : guess));
}

void check_columns(const Call& call, const Formula& formula, const std::vector<std::string>& columns) {
  for (const DerivedColumn& each : call.derived) {  // wind-speed without quotes is a difference
    if (each.function != "-" || contains(columns, each.inputs[0])) continue;
    const std::string whole = each.inputs[0] + "-" + each.inputs[1];
    if (!contains(columns, whole)) continue;
    throw DataError(where(each.positions[0]) + "no column named \"" + each.inputs[0] +
                    "\"; a name with a minus stands in quotes: \"" + whole + "\"");
  }
  for (const PlacedColumn& each : columns_read(call)) check_column(each.name, each.position, formula, columns);
  for (std::size_t i = 0; i < call.without.size(); ++i) {
    check_column(call.without[i], i < call.without_positions.size() ? call.without_positions[i] : call.position,
                 formula, columns);
  }
}

// Transformations of columns: networks read them, kernels do not.
void check_nested(const Call& call) {
  for (const Call& nested : call.nested) {
    if (find_trees(call.name) != nullptr) continue;  // refused with its other arguments
    std::vector<std::string> functions;
    for (const DerivedFunction& each : derived_functions()) functions.emplace_back(each.name);
    functions.pop_back();  // -
    const std::string meant = did_you_mean(nested.name, functions);
    if (!is_network(call)) {
      throw UsageError(where(nested.position) + nested.name + "(...) stands among the columns of " + call.name +
                       ", a kernel" +
                       (meant.empty() ? "; kernels read columns and " + join_words(functions) + " of them" : meant));
    }
    const bool known = nested.name == "trees" || nested.name == "rank" || nested.name == "cycle";
    const bool cycles = nested.name == "trees" && std::ranges::all_of(nested.nested, [](const Call& each) {
                          return each.name == "cycle" && each.nested.empty() && !each.rest;
                        });
    if (known && (nested.nested.empty() || cycles) && !nested.rest) continue;
    throw UsageError(where(nested.position) + "no transformation of columns named \"" + nested.name + "\"" +
                     (!meant.empty()
                          ? meant
                          : "; there are rank(x), cycle(t, period=1y) and trees(x, n=10, depth=2), of columns or "
                            "cycles"));
  }
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
  const bool is_plain = argument.kind == Argument::Kind::value && argument.values.size() == 1 &&
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
    term.stated_features = true;
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

// What "." can stand for.
struct Rest {
  const std::vector<std::string>& columns;      // names that the data have; none: there are no data
  const std::vector<std::string>& not_numbers;  // those of them that are none
  std::vector<std::string> others;              // those that the formula does not name

  // What it stands for in a call.
  std::vector<std::string> of(const Call& call, bool numbers = false) const {
    std::vector<std::string> found = others;
    std::erase_if(found, [&](const std::string& name) {
      return contains(call.without, name) || (numbers && contains(not_numbers, name));
    });
    if (call.rest && columns.empty()) {
      throw UsageError(where(call.position) + "\".\" has a meaning only with data; give a table");
    }
    if (!call.rest || !found.empty()) return found;
    std::vector<std::string> left = others;
    std::erase_if(left, [&](const std::string& name) { return contains(call.without, name); });
    throw UsageError(where(call.position) + "\".\" stands for no column; " +
                     (left.empty()
                          ? "all are used already"
                          : "of a kernel it stands for numbers, and " + join_words(left) +
                                (left.size() == 1 ? " is none" : " are none") + "; name the columns of " + call.name));
  }
};

// One call of the formula, read once, in however many products it stands.
struct Part {
  std::vector<Argument> options;  // of the terms it stands in
  std::variant<NetworkSpec, KernelSpec> spec;
};

Part read_part(Call call, const Rest& rest) {
  Part part;
  std::erase_if(call.arguments, [&](const Argument& argument) {
    TermSpec term;
    if (!read_option(argument, term)) return false;
    part.options.push_back(argument);
    return true;
  });
  if (!is_network(call)) {
    if (call.rest) spell_out(call, rest.of(call, /*numbers=*/true));
    part.spec = make_kernel_spec(call);
    return part;
  }
  NetworkSpec network = make_network_spec(call, rest.of(call));
  if (network.sources.empty()) {
    throw UsageError(where(call.position) + call.name + " has no column; name at least one, as in " + call.name +
                     "(x), or all others, as in " + call.name + "(.)");
  }
  part.spec = std::move(network);
  return part;
}

void add_columns(const Part& part, ModelSpec& spec) {
  if (const auto* kernel = std::get_if<KernelSpec>(&part.spec)) {
    add_new(spec.kernel_columns, kernel->columns);
    if (reads_levels(kernel->name)) add_new(spec.level_columns, kernel->columns);
    return;
  }
  const NetworkPlan& inputs = std::get<NetworkSpec>(part.spec).inputs;
  if (inputs.image) add_new(spec.network_columns, inputs.image->columns);
  add_new(spec.network_columns, inputs.columns);
  add_new(spec.network_columns, inputs.ranked);
  const auto add_cycles = [&](const std::vector<CyclePlan>& cycles) {
    for (const CyclePlan& cycle : cycles) add_new(spec.network_columns, std::span(&cycle.column, 1));
  };
  add_cycles(inputs.cycles);
  for (const TreesPlan& trees : inputs.trees) add_new(spec.network_columns, trees.columns), add_cycles(trees.cycles);
}

// Options of all calls of a product are options of its term.
void read_options(const std::vector<const Part*>& product, TermSpec& term) {
  std::vector<Argument> taken;
  for (const Part* part : product) {
    for (const Argument& argument : part->options) {
      read_option(argument, term);
      for (const Argument& other : taken) {
        if (other.name != argument.name || other == argument) continue;
        throw UsageError(where(argument.position) + argument.name +
                         " is said a second time, and otherwise, in one term" +
                         "; say it once (the first is in column " + std::to_string(other.position) + ")");
      }
      taken.push_back(argument);
    }
  }
}

bool same_networks(const std::vector<NetworkSpec>& a, const std::vector<NetworkSpec>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const NetworkSpec& x, const NetworkSpec& y) { return x.id == y.id; });
}

bool same_options(const TermSpec& a, const TermSpec& b) {
  return a.map == b.map && a.placement == b.placement && a.features == b.features && a.train_points == b.train_points;
}

void add_product(const std::vector<const Part*>& product, std::vector<TermSpec>& terms) {
  TermSpec term;
  KernelProduct kernels;
  read_options(product, term);
  for (const Part* part : product) {
    if (const auto* network = std::get_if<NetworkSpec>(&part->spec)) term.networks.push_back(*network);
    if (const auto* kernel = std::get_if<KernelSpec>(&part->spec)) kernels.push_back(*kernel);
  }
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

namespace {

// The terms of a formula whose kernels and networks are read elsewhere: trees stand alone in theirs, which is the only one.
void add_trees(const Product& product, const Rest& rest, ModelSpec& spec) {
  const auto found =
      std::find_if(product.begin(), product.end(), [](const Call& call) { return find_trees(call.name) != nullptr; });
  if (product.size() > 1) {
    throw UsageError(where(found->position) + found->name +
                     "(...) stands in a product; trees have no covariance to multiply, and are added, as in " +
                     found->name + "(a) + rbf(x)");
  }
  if (spec.trees) {
    throw UsageError(where(found->position) + "the formula has trees already, " + spec.trees->text +
                     "; name all their columns in one term");
  }
  spec.trees = make_tree_term(*found, rest.of(*found));
  if (!spec.trees->columns.empty()) return;
  throw UsageError(where(found->position) + found->name + " has no column; name at least one, as in " + found->name +
                   "(x), or all others, as in " + found->name + "(.)");
}

bool has_trees(const Product& product) {
  return std::any_of(product.begin(), product.end(), [](const Call& call) { return find_trees(call.name) != nullptr; });
}

}  // namespace

std::vector<std::string> named_columns(const Formula& formula) {
  std::vector<std::string> named = {formula.target};
  for (const RowTerm* term : {&formula.weights, &formula.offset, &formula.error}) {
    if (term->exists()) add_new(named, std::span(&term->column, 1));
  }
  for (const Call* call : all_calls_of(formula.right)) {
    for (const PlacedColumn& each : columns_read(*call)) add_new(named, std::span(&each.name, 1));
  }
  return named;
}

std::vector<std::string> removed_columns(const Formula& formula) {
  std::vector<std::string> removed;
  for (const Call* call : calls_of(formula.right)) add_new(removed, call->without);
  return removed;
}

std::vector<std::string> not_numbers(const Table& table) {
  std::vector<std::string> names;
  for (const Column& column : table.columns) {
    const ColumnType type = column.info.type;
    if (type != ColumnType::number && type != ColumnType::integer) names.push_back(column.info.name);
  }
  return names;
}

bool has_rest(const Formula& formula) {
  const std::vector<const Call*> calls = calls_of(formula.right);
  return std::any_of(calls.begin(), calls.end(), [](const Call* call) { return call->rest; });
}

ModelSpec make_spec(const Formula& formula, const std::vector<std::string>& columns,
                    const std::vector<std::string>& not_numbers) {
  ModelSpec spec;
  spec.formula = formula;
  spec.offset = formula.offset;
  if (!columns.empty() && !contains(columns, formula.target)) {
    const std::string guess = did_you_mean(formula.target, columns);
    throw DataError(where(formula.position) + "no column named \"" + formula.target + "\" to predict" +
                    (guess.empty() ? "; there are " + join_words(columns) : guess));
  }
  for (const RowTerm* term : {&formula.weights, &formula.offset, &formula.error}) {
    if (term->exists()) check_column(term->column, term->position, formula, columns);
  }
  for (const Call* call : calls_of(formula.right)) {
    check_name(*call);
    check_nested(*call);
  }
  for (const Call* call : all_calls_of(formula.right)) {
    check_columns(*call, formula, columns);
    for (const DerivedColumn& each : call->derived) {
      if (contains(columns, each.name)) {
        throw DataError(where(each.positions[0]) + "the table has a column named \"" + each.name +
                        "\", which is what the formula computes; rename the column");
      }
      if (find_derived(spec.derived, each.name) == nullptr) spec.derived.push_back(each);
    }
  }
  const std::vector<std::string> named = named_columns(formula);
  Rest rest{columns, not_numbers, {}};
  std::copy_if(columns.begin(), columns.end(), std::back_inserter(rest.others),
               [&](const std::string& name) { return !contains(named, name); });

  std::map<std::size_t, Part> parts;  // by the call's id
  for (const Product& product : canonical(formula.right)) {
    if (has_trees(product)) {
      add_trees(product, rest, spec);
      continue;
    }
    std::vector<const Part*> factors;
    for (const Call& call : product) {
      auto found = parts.find(call.id);
      if (found == parts.end()) found = parts.emplace(call.id, read_part(call, rest)).first;
      factors.push_back(&found->second);
      add_columns(*factors.back(), spec);
      if (!call.rest || is_network(call)) continue;
      std::vector<std::string> left = rest.of(call);
      std::erase_if(left, [&](const std::string& name) { return !contains(not_numbers, name); });
      add_new(spec.left_out, left);
    }
    add_product(factors, spec.terms);
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
    for (const KernelProduct& product : term.kernels) {
      std::size_t columns = 0;
      for (const KernelSpec& kernel : product) {
        periodic = periodic && kernel.name == "periodic" && product.size() == 1;
        columns += kernel.columns.size();
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

std::string print(const TermSpec& term) {
  std::string text;
  for (const NetworkSpec& network : term.networks) text += (text.empty() ? "" : " * ") + network.text;
  if (term.kernels.empty()) return text;
  const bool alone = text.empty() || term.kernels.size() == 1;
  return (text.empty() ? "" : text + " * ") + (alone ? print(term.kernels) : "(" + print(term.kernels) + ")");
}

}  // namespace ick
