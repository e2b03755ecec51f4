#include "ick/kernel/kernel.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <numbers>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/base/unit.h"
#include "kernel/values.h"

namespace ick {

namespace {

struct Option {
  std::string_view name;
  int Structure::*field;
  std::string_view kernel;
  int most;
};

constexpr std::array kOptions = {Option{"components", &Structure::components, "spectral_mixture", 100},
                                 Option{"degree", &Structure::degree, "polynomial", 10},
                                 Option{"rank", &Structure::rank, "categorical", 100}};

std::size_t column_position(const KernelSpec& spec, std::size_t i) {
  return i < spec.column_positions.size() ? spec.column_positions[i] : spec.position;
}

// Binds the kernels of an expression one by one; the parts of one factor are easier to follow apart.
class Binder {
 public:
  Binder(const std::vector<InputSummary>& inputs, const KernelOptions& options, ParameterSet& parameters)
      : inputs_(inputs), options_(options), parameters_(parameters) {}

  // A kernel that multiplying out has put into several terms is bound once: its parameters are shared.
  const Factor* shared(const KernelSpec& spec) const {
    const auto found = bound_.find(spec.id);
    return spec.id == 0 || found == bound_.end() ? nullptr : &found->second;
  }

  Factor bind(const KernelSpec& spec, const std::string& term, bool has_scale) {
    Factor factor;
    factor.row = &find_kernel(spec.name, spec.sphere, spec.position);
    factor.columns = columns_of(spec);
    check_inputs(spec, factor);
    factor.structure = structure_of(spec, factor);
    if (factor.row->centred) {
      for (const std::int64_t column : factor.columns) factor.centre.push_back(inputs_[column].centre);
    }
    check_argument_names(spec, *factor.row);
    factor.first_parameter = parameters_.size();
    std::string prefix = term + "." + column_text(spec) + spec.name;
    while (taken(prefix)) prefix += "'";
    for (const ParameterDeclaration& declaration : factor.row->parameters) {
      add_parameter(spec, factor, declaration, prefix, has_scale);
    }
    factor.parameter_count = parameters_.size() - factor.first_parameter;
    bound_.emplace(spec.id, factor);
    return factor;
  }

 private:
  std::vector<std::int64_t> columns_of(const KernelSpec& spec) const {
    std::vector<std::int64_t> columns;
    std::vector<std::string> names;
    for (const InputSummary& each : inputs_) names.push_back(each.name);
    for (std::size_t i = 0; i < spec.columns.size(); ++i) {
      const std::string& column = spec.columns[i];
      const std::string place = where(column_position(spec, i));
      const auto found = std::find(names.begin(), names.end(), column);
      if (found == names.end()) {
        throw DataError(place + "no column named \"" + column + "\"" + did_you_mean(column, names));
      }
      columns.push_back(found - names.begin());
      if (std::find(columns.begin(), columns.end() - 1, columns.back()) != columns.end() - 1) {
        throw UsageError(place + spec.name + " names column \"" + column + "\" twice; once is enough");
      }
    }
    return columns;
  }

  void check_inputs(const KernelSpec& spec, const Factor& factor) const {
    const auto count = factor.columns.size();
    const std::string name = factor.row->title(), place = where(spec.position);
    if (factor.row->inputs == Inputs::place && count != 2) {
      throw UsageError(place + name + " has " + std::to_string(count) + " columns; it takes latitude and longitude");
    }
    if (factor.row->inputs == Inputs::level && count != 1) {
      throw UsageError(place + name + " has " + std::to_string(count) + " columns; it takes one column of levels");
    }
    if (count == 0 && factor.row->name != "constant") {
      throw UsageError(place + name + " has no column; name at least one, as in " + std::string(factor.row->name) +
                       "(x)");
    }
    for (std::size_t i = 0; i < count; ++i) {
      const InputSummary& input = inputs_[factor.columns[i]];
      const std::string column_place = where(column_position(spec, i));
      if (factor.row->inputs == Inputs::level && input.levels == 0) {
        throw DataError(column_place + "column \"" + input.name +
                        "\" holds numbers; categorical takes a column of levels");
      }
      if (factor.row->inputs != Inputs::level && input.levels > 0) {
        throw DataError(column_place + "column \"" + input.name + "\" holds levels; " + name +
                        " takes numbers (use categorical(" + input.name + "))");
      }
    }
  }

  Structure structure_of(const KernelSpec& spec, const Factor& factor) const {
    Structure structure;
    structure.inputs = factor.row->inputs == Inputs::place ? 3 : static_cast<int>(factor.columns.size());
    if (factor.row->inputs == Inputs::level) {
      structure.levels = inputs_[factor.columns[0]].levels;
      structure.rank = std::min(structure.rank, structure.levels);
    }
    for (const Option& option : kOptions) {
      const Argument* argument = spec.find(option.name);
      if (argument == nullptr || option.kernel != factor.row->name) continue;
      const bool is_plain = argument->values.size() == 1 && argument->values[0].unit.empty();
      const double value = is_plain ? argument->values[0].number : 0.0;
      if (argument->kind != Argument::Kind::value || value != std::floor(value) || value < 1.0 || value > option.most) {
        throw UsageError(where(argument->position) + std::string(option.name) + " must be a whole number from 1 to " +
                         std::to_string(option.most));
      }
      structure.*option.field = static_cast<int>(value);
    }
    return structure;
  }

  void check_argument_names(const KernelSpec& spec, const KernelRow& row) const {
    std::vector<std::string> known;
    for (const ParameterDeclaration& each : row.parameters) known.emplace_back(each.name);
    for (const Option& each : kOptions) {
      if (each.kernel == row.name) known.emplace_back(each.name);
    }
    if (row.inputs == Inputs::place) known.emplace_back("sphere");
    for (const Argument& argument : spec.arguments) {
      if (contains(known, argument.name)) continue;
      const std::string guess = did_you_mean(argument.name, known);
      throw UsageError(where(argument.position) + spec.name + " has no parameter named \"" + argument.name + "\"" +
                       (guess.empty() ? "; it has " + join_words(known) : guess));
    }
  }

  // In the unit that number i of the parameter is kept in. Inputs are the last axis of every shape that has them.
  double resolve(const Argument& argument, const Quantity& quantity, const Factor& factor, Unit unit,
                 std::int64_t i) const {
    if (quantity.unit.empty()) return quantity.number;
    const auto inputs = std::ssize(factor.columns);
    const InputSummary input = inputs == 0 ? InputSummary{} : inputs_[factor.columns[i % inputs]];
    const std::string kept_in = unit == Unit::kilometre ? "km" : unit == Unit::input ? input.unit : "";
    if (const auto number = convert(quantity.number, quantity.unit, kept_in)) return *number;
    throw UsageError(where(argument.position) + argument.name + " = " + number_text(quantity.number) + quantity.unit +
                     ": the unit \"" + quantity.unit + "\" does not fit " + expected_unit(unit, input));
  }

  // A bound holds for every number of its parameter.
  double resolve_bound(const Argument& argument, const Quantity& quantity, const Factor& factor, Unit unit,
                       std::int64_t count) const {
    const double bound = resolve(argument, quantity, factor, unit, 0);
    for (std::int64_t i = 1; i < count; ++i) {
      if (resolve(argument, quantity, factor, unit, i) == bound) continue;
      throw UsageError(where(argument.position) + argument.name +
                       " has bounds for columns of different units; write the bounds without a unit");
    }
    return bound;
  }

  static std::string expected_unit(Unit unit, const InputSummary& input) {
    const std::string column = "column \"" + input.name + "\"";
    switch (unit) {
      case Unit::kilometre:
        return "a distance on the Earth (expected km or m)";
      case Unit::input:
        return input.unit.empty()
                   ? "a column of plain numbers (" + column +
                         " has no unit; write the number alone, or give the column one with " + setting("units") + ")"
                   : column + ", which is in " + input.unit + " (write a unit of the same kind, or the number alone)";
      case Unit::per_input:
        return "a frequency (write the number alone: cycles per " +
               (input.unit.empty() ? "unit of " + column : input.unit) + ")";
      case Unit::none:
      case Unit::target_squared:
        break;
    }
    return "a parameter that is not measured along a column (write the number alone)";
  }

  void add_parameter(const KernelSpec& spec, const Factor& factor, const ParameterDeclaration& declaration,
                     const std::string& prefix, bool has_scale) {
    Parameter parameter;
    parameter.path = prefix + "." + std::string(declaration.name);
    parameter.constraint = declaration.constraint;
    parameter.unit = declaration.unit;
    parameter.count = size_of(declaration.shape, factor.structure);
    const Argument* argument = spec.find(declaration.name);
    const bool is_scale = declaration.name == "variance" && declaration.shape == Shape::scalar;
    const double unit = is_scale && !has_scale ? options_.target_variance : 1.0;
    parameter.stated = argument != nullptr;
    if (argument == nullptr && is_scale && has_scale) {
      parameter.fixed = true;
      parameters_.add(std::move(parameter), std::vector<double>(static_cast<std::size_t>(options_.members), 1.0));
      return;
    }
    std::vector<double> start = drawn_start(factor, declaration, parameter);
    if (argument != nullptr) {
      check_argument(*argument, parameter);
      if (argument->kind == Argument::Kind::prior) {
        start = start_of_prior(*argument, factor, declaration, parameter, unit);
      } else {
        start = stated_start(*argument, factor, declaration, parameter, unit);
      }
    }
    parameters_.add(std::move(parameter), start);
  }

  static void check_argument(const Argument& argument, const Parameter& parameter) {
    if (argument.kind == Argument::Kind::word || argument.kind == Argument::Kind::flag) {
      throw UsageError(where(argument.position) + argument.name + " must be a number");
    }
    if (argument.kind == Argument::Kind::prior || argument.values.size() == 1) return;
    if (std::ssize(argument.values) != parameter.count) {
      throw UsageError(where(argument.position) + argument.name + " has " + std::to_string(argument.values.size()) +
                       " values; expected 1" + (parameter.count > 1 ? " or " + std::to_string(parameter.count) : ""));
    }
  }

  // prior(low, high): 90% lie between. The start is in the middle.
  std::vector<double> start_of_prior(const Argument& argument, const Factor& factor,
                                     const ParameterDeclaration& declaration, Parameter& parameter, double unit) const {
    std::vector<double> start;
    parameter.prior.clear();
    for (std::int64_t i = 0; i < parameter.count; ++i) {
      const double low = resolve(argument, *argument.low, factor, declaration.unit, i) / unit;
      const double high = resolve(argument, *argument.high, factor, declaration.unit, i) / unit;
      for (const double end : {low, high}) {
        if (admits(parameter.constraint, end)) continue;
        throw UsageError(where(argument.position) + argument.name + " = " + number_text(end * unit) + " is not " +
                         describe(parameter.constraint));
      }
      if (!(low < high)) {
        throw UsageError(where(argument.position) + argument.name + ": prior(" + print(*argument.low) + ", " +
                         print(*argument.high) + ") holds nothing; give a low and a higher end");
      }
      const double from = unconstrain(parameter.constraint, low), to = unconstrain(parameter.constraint, high);
      const double sd = 0.5 * (to - from) / kNinety;
      parameter.prior.push_back({0.5 * (from + to), sd, sd});
    }
    for (std::int64_t e = 0; e < options_.members; ++e) {
      for (const Prior& each : parameter.prior) start.push_back(constrain(parameter.constraint, each.centre));
    }
    return start;
  }

  std::vector<double> stated_start(const Argument& argument, const Factor& factor,
                                   const ParameterDeclaration& declaration, Parameter& parameter, double unit) const {
    const auto count = argument.values.size();
    parameter.fixed = argument.kind == Argument::Kind::fixed || argument.kind == Argument::Kind::value;
    if (argument.kind == Argument::Kind::bounded) {
      const double low = resolve_bound(argument, *argument.low, factor, declaration.unit, parameter.count);
      const double high = resolve_bound(argument, *argument.high, factor, declaration.unit, parameter.count);
      if (declaration.constraint.kind == Constraint::Kind::positive && low < 0.0) {
        throw UsageError(where(argument.position) + argument.name + " must be positive, but its lower bound is " +
                         number_text(low));
      }
      if (!(low < high) || !std::isfinite(high)) {
        throw UsageError(where(argument.position) + argument.name + ": bounds " + number_text(low) + " and " +
                         number_text(high) + " do not enclose anything; give a low and a higher high");
      }
      parameter.constraint = Constraint::interval(low / unit, high / unit);
      parameter.prior.clear();  // what the formula says counts
    }
    std::vector<double> start;
    for (std::int64_t i = 0; i < options_.members * parameter.count; ++i) {
      const Quantity& quantity = argument.values[count == 1 ? 0 : i % parameter.count];
      const double value = resolve(argument, quantity, factor, declaration.unit, i);
      if (!admits(parameter.constraint, value / unit)) {
        const Constraint& c = parameter.constraint;
        const bool bounded = c.kind == Constraint::Kind::interval;
        throw UsageError(where(argument.position) + argument.name + " = " + number_text(value) + " is not " +
                         describe(bounded ? Constraint::interval(c.low * unit, c.high * unit) : c));
      }
      start.push_back(value / unit);
    }
    return start;
  }

  // Sets the prior, too.
  std::vector<double> drawn_start(const Factor& factor, const ParameterDeclaration& declaration,
                                  Parameter& parameter) const {
    std::vector<InputSummary> inputs;
    for (const std::int64_t column : factor.columns) inputs.push_back(inputs_[column]);
    const bool by_component = declaration.shape == Shape::per_component_input;
    const int width = by_component ? factor.structure.inputs : 1;
    std::vector<double> start;
    for (std::int64_t e = 0; e < options_.members; ++e) {
      Random random(seed_for(options_.seed, parameter.path + "#" + std::to_string(e)));
      for (int i = 0; i < parameter.count; ++i) {
        const bool by_input = declaration.shape == Shape::per_input || by_component;
        const StartContext context{inputs, by_input ? i % (by_component ? width : factor.structure.inputs) : 0,
                                   by_component ? i / width : i, factor.structure, random};
        start.push_back(declaration.start(context));
        if (e > 0 || declaration.prior == nullptr) continue;
        const PriorRange range = declaration.prior(context);
        const double centre = unconstrain(parameter.constraint, start.back());
        parameter.prior.push_back(
            {centre, (centre - std::log(range.low)) / kPriorTail, (std::log(range.high) - centre) / kPriorTail});
      }
    }
    return start;
  }

  static std::string column_text(const KernelSpec& spec) {
    std::string text;
    for (const std::string& column : spec.columns) text += (text.empty() ? "" : "_") + column;
    return text.empty() ? text : text + ".";
  }

  bool taken(const std::string& prefix) const {
    return std::any_of(parameters_.parameters().begin(), parameters_.parameters().end(),
                       [&](const Parameter& each) { return each.path.starts_with(prefix + "."); });
  }

  const std::vector<InputSummary>& inputs_;
  const KernelOptions& options_;
  ParameterSet& parameters_;
  std::map<std::size_t, Factor> bound_;  // by id
};

}  // namespace

Kernel::Kernel(const KernelSum& expression, const std::vector<InputSummary>& inputs, const KernelOptions& options)
    : parameters_(std::make_shared<ParameterSet>(options.members)), inputs_(std::ssize(inputs)) {
  if (options.members < 1) throw UsageError("a kernel needs at least one member");
  if (expression.empty()) throw UsageError("a kernel expression needs at least one kernel");
  Binder binder(inputs, options, *parameters_);
  for (std::size_t t = 0; t < expression.size(); ++t) {
    if (expression[t].empty()) throw UsageError("a term of a kernel expression needs at least one kernel");
    std::vector<Factor> factors;
    bool has_scale = false;  // a kernel of this term's own came before
    for (const KernelSpec& spec : expression[t]) {
      const Factor* shared = binder.shared(spec);
      const std::string name = t < options.names.size() ? options.names[t] : "term" + std::to_string(t + 1);
      factors.push_back(shared != nullptr ? *shared : binder.bind(spec, name, has_scale));
      has_scale = has_scale || shared == nullptr;
    }
    terms_.push_back(std::move(factors));
  }
}

Kernel::Kernel(std::shared_ptr<ParameterSet> parameters, std::int64_t inputs, std::vector<std::vector<Factor>> terms)
    : parameters_(std::move(parameters)), inputs_(inputs), terms_(std::move(terms)) {}

Kernel Kernel::select(const std::vector<std::size_t>& products) const {
  std::vector<std::vector<Factor>> picked;
  for (const std::size_t t : products) picked.push_back(terms_.at(t));
  return {parameters_, inputs_, std::move(picked)};
}

Kernel Kernel::term(std::size_t t) const { return {parameters_, inputs_, {terms_.at(t)}}; }

Kernel Kernel::factor(std::size_t t, std::size_t f) const { return {parameters_, inputs_, {{terms_.at(t).at(f)}}}; }

at::Tensor Kernel::embed(const Factor& f, const at::Tensor& x) {
  const at::Tensor picked = x.index_select(-1, at::tensor(f.columns, at::kLong));
  if (!f.centre.empty()) return picked - at::tensor(f.centre, at::kDouble);
  if (f.row->inputs != Inputs::place) return picked;
  const at::Tensor radians = picked * (std::numbers::pi / 180.0);
  const at::Tensor latitude = radians.select(-1, 0), longitude = radians.select(-1, 1);
  return kEarthRadius *
         at::stack({latitude.cos() * longitude.cos(), latitude.cos() * longitude.sin(), latitude.sin()}, -1);
}

std::int64_t rank_of(const std::vector<Factor>& product) {
  constexpr std::int64_t kEnough = 1 << 30;  // more than any map has, and its square is still a number
  std::int64_t rank = 1;
  for (const Factor& f : product) {
    if (f.row->rank == nullptr) return kNoRank;
    rank = std::min(kEnough, rank * std::min(kEnough, f.row->rank(f.structure)));
  }
  return rank;
}

void check_levels(const Factor& f, const at::Tensor& x) {
  if (f.row->inputs != Inputs::level) return;
  const at::Tensor codes = x.detach().select(-1, f.columns[0]).flatten().contiguous();
  for (std::int64_t j = 0; j < codes.size(0); ++j) {
    const double code = codes.data_ptr<double>()[j];
    if (code >= 0.0 && code < f.structure.levels && code == std::floor(code)) continue;
    throw DataError("row " + std::to_string(j + 1) + ", input " + std::to_string(f.columns[0] + 1) +
                    ": a level code outside 0 to " + std::to_string(f.structure.levels - 1) +
                    "; the kernel knows only the levels it was made with");
  }
}

namespace {

// (n, D) or (E, n, D) to (1 or E, n, D) in float64
at::Tensor rows_of(const at::Tensor& x, std::int64_t inputs, std::int64_t members) {
  if (x.dim() < 2 || x.dim() > 3 || x.size(-1) != inputs) {
    throw UsageError("inputs of a kernel must be rows of " + std::to_string(inputs) + " columns");
  }
  if (x.dim() == 3 && x.size(0) != 1 && x.size(0) != members) {
    throw UsageError("inputs of a kernel are for " + std::to_string(x.size(0)) + " members, but it has " +
                     std::to_string(members));
  }
  const at::Tensor rows = x.to(at::kDouble);
  return rows.dim() == 2 ? rows.unsqueeze(0) : rows;
}

at::Tensor evaluate(const std::vector<std::vector<Factor>>& terms, const at::Tensor& parameters, const at::Tensor& x,
                    const at::Tensor& y, bool paired) {
  at::Tensor total;
  for (const std::vector<Factor>& factors : terms) {
    at::Tensor product;
    for (const Factor& f : factors) {
      check_levels(f, x);
      check_levels(f, y);
      const at::Tensor value =
          kernel_values(f.row->index, f.structure, parameters.narrow(1, f.first_parameter, f.parameter_count),
                        Kernel::embed(f, x), Kernel::embed(f, y), paired);
      product = product.defined() ? product * value : value;
    }
    total = total.defined() ? total + product : product;
  }
  return total.expand({parameters.size(0), x.size(1), paired ? 1 : y.size(1)});
}

}  // namespace

at::Tensor Kernel::matrix(const at::Tensor& x, const at::Tensor& y) const {
  return evaluate(terms_, parameters_->natural(), rows_of(x, inputs_, members()), rows_of(y, inputs_, members()),
                  false);
}

at::Tensor Kernel::diagonal(const at::Tensor& x) const {
  at::Tensor rows = rows_of(x, inputs_, members());
  const std::int64_t n = rows.size(1);
  const auto has_spectrum = [](const Factor& f) { return f.row->spectrum != Spectrum::none; };
  const bool stationary = std::all_of(terms_.begin(), terms_.end(), [&](const std::vector<Factor>& factors) {
    return std::all_of(factors.begin(), factors.end(), has_spectrum);
  });
  if (stationary && n > 1) rows = rows.narrow(1, 0, 1);  // k(x, x) is the same everywhere
  return evaluate(terms_, parameters_->natural(), rows, rows, true).squeeze(-1).expand({members(), n});
}

std::vector<InputSummary> summarise(const at::Tensor& x, const std::vector<std::string>& names,
                                    const std::vector<int>& levels) {
  if (x.dim() != 2 || x.size(1) != std::ssize(names)) {
    throw UsageError("summarise takes rows of as many columns as there are names");
  }
  std::vector<InputSummary> summaries;
  for (std::int64_t d = 0; d < x.size(1); ++d) {
    InputSummary summary;
    summary.name = names[d];
    summary.rows = x.size(0);
    if (d < std::ssize(levels)) summary.levels = levels[d];
    if (x.size(0) > 0) {
      const at::Tensor column = x.select(1, d).detach().to(at::kDouble);
      summary.low = column.min().item<double>();
      summary.high = column.max().item<double>();
      // a constant column is its own mean, to the last bit
      summary.centre = summary.high > summary.low ? column.mean().item<double>() : summary.low;
      summary.root_mean_square = (column - summary.centre).square().mean().sqrt().item<double>();
      if (!std::isfinite(summary.low) || !std::isfinite(summary.high)) {
        throw DataError("column \"" + summary.name + "\" holds a value that is not finite; a kernel needs every value");
      }
      if (summary.levels > 0 && (summary.low < 0.0 || summary.high >= summary.levels)) {
        throw DataError("column \"" + summary.name + "\" holds a level code outside 0 to " +
                        std::to_string(summary.levels - 1));
      }
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

}  // namespace ick
