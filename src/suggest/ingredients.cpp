#include "ingredients.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ick/base/text.h"
#include "ick/formula/expression.h"

namespace ick::detail {
namespace {

constexpr int kNetworkWeight = 2;
constexpr int kTreesWeight = 4;  // they read all columns
constexpr std::size_t kMostTerms = 4;
constexpr std::size_t kMostFactors = 2;
constexpr std::size_t kMostSingles = 4;   // numbers that get a curve each
constexpr std::int64_t kMostLevels = 50;  // of a category that a network reads
constexpr double kMostMissing = 0.2;      // of a column that a kernel reads

// Which products have a meaning: what stands first changes with the second.
struct RolePair {
  Role of, with;
};
constexpr std::array<RolePair, 8> kProducts = {{{Role::numbers, Role::season},
                                                {Role::group, Role::season},
                                                {Role::place, Role::season},
                                                {Role::image, Role::season},
                                                {Role::season, Role::season},
                                                {Role::numbers, Role::group},
                                                {Role::trend, Role::group},
                                                {Role::place, Role::trend}}};

bool may_multiply(const Ingredient& a, const Ingredient& b) {
  if (a.alone || b.alone) return false;
  return std::any_of(kProducts.begin(), kProducts.end(), [&](const RolePair& pair) {
    return (pair.of == a.role && pair.with == b.role) || (pair.of == b.role && pair.with == a.role);
  });
}

std::string call_text(const std::string& name, const std::vector<std::string>& columns) {
  Call call;
  call.name = name, call.columns = columns;
  return print(call);
}

// Beside a network whose kernels are learned step by step, features are what a fit takes its time for.
std::string with_few_points(Call call) {
  constexpr double kPoints = 64.0;
  Argument& argument = call.arguments.emplace_back();
  argument.name = "points";
  argument.values = {{kPoints, ""}};
  return print(call);
}

// Reads the terms of a page one by one.
class Collector {
 public:
  Collector(const TableLook& page, const TableLook& plain) : page_(page), plain_(plain) {}

  Ingredients collect() {
    for (const ColumnLook& column : page_.columns) {
      if (column.role == ColumnRole::target) {
        made_.target = column.terms.empty() ? column.name : column.terms.front();
      } else if (column.terms.empty()) {
        made_.left_out.push_back(column.name + " (" + why_none(column) + ")");
      } else {
        for (const std::string& term : column.terms) take(column, parse_expression(term).call, term);
        seasons_of_times(column);
      }
    }
    add_numbers();
    add_trees();
    std::stable_sort(made_.all.begin(), made_.all.end(),
                     [](const Ingredient& a, const Ingredient& b) { return a.weight < b.weight; });
    return std::move(made_);
  }

 private:
  static std::string why_none(const ColumnLook& column) {
    if (!column.note.empty()) return column.note;
    if (column.role == ColumnRole::constant) return "constant";
    return std::string(column_role_name(column.role));
  }

  bool few_gaps(const ColumnLook& column) const {
    return static_cast<double>(column.missing) <= kMostMissing * static_cast<double>(page_.rows);
  }

  void add(const ColumnLook& column, Ingredient made) {
    const bool known =
        std::any_of(made_.all.begin(), made_.all.end(), [&](const Ingredient& each) { return each.text == made.text; });
    if (known || !few_gaps(column)) return;
    made_.gaps = made_.gaps || column.missing > 0;
    made_.all.push_back(std::move(made));
  }

  void take(const ColumnLook& column, const Call& call, const std::string& text) {
    const std::string columns = join_words(call.columns);
    const bool of_many_levels = call.name == "categorical" && column.distinct > kMostLevels;
    if (call.name != "cnn" && !of_many_levels) add_new(for_trees_, call.columns);
    if (call.name == "periodic") {
      const std::string period = print(call.find("period")->values.front());
      if (column.role == ColumnRole::number) numbers_.push_back(&column);
      const auto found = std::find_if(page_.periods.begin(), page_.periods.end(), [&](const PeriodLook& each) {
        return each.column == column.name && each.text == period;
      });
      const std::string hint =
          found == page_.periods.end()
              ? std::string()
              : fmt::format("{} explains {:.0f}% of the variance in the spectrum", period, 100.0 * found->share);
      add(column, {Role::season, text, "a season of " + period + " in " + columns, hint});
    } else if (call.name == "matern32" && column.role == ColumnRole::time) {
      add(column, {Role::trend, text, "a slow change over " + columns, "", 1, false, false, with_few_points(call)});
      add(column, {Role::trend, call_text("linear", call.columns), "a straight trend over " + columns, ""});
    } else if (call.name == "matern32") {
      add(column, {Role::place, text, "a map over " + columns, "", 1, false, false, with_few_points(call)});
    } else if (call.name == "categorical") {
      if (column.role == ColumnRole::group && column.distinct <= kMostLevels) levels_.push_back(&column);
      add(column, {Role::group, text, "a level of each " + columns, ""});
    } else if (call.name == "cnn") {
      add(column, {Role::image, text, "a network of the images in " + columns, "", 3, false, true});
    } else if (call.name == "mlp") {
      numbers_.push_back(&column);
    }
  }

  // Those that the look without a target names, too.
  void seasons_of_times(const ColumnLook& column) {
    if (column.role != ColumnRole::time) return;
    for (const ColumnLook& same : plain_.columns) {
      if (same.name != column.name) continue;
      for (const std::string& term : same.terms) take(column, parse_expression(term).call, term);
    }
  }

  void add_numbers() {
    std::vector<std::string> all, complete, with_levels;
    for (const ColumnLook* column : numbers_) {
      all.push_back(column->name);
      if (few_gaps(*column)) complete.push_back(column->name);
    }
    with_levels = all;
    for (const ColumnLook* column : levels_) with_levels.push_back(column->name);
    if (!complete.empty()) {
      made_.all.push_back({Role::numbers, call_text("linear", complete), "a line in " + join_words(complete), ""});
    }
    for (const ColumnLook* column : numbers_) {
      if (numbers_.size() > kMostSingles) break;
      add(*column, {Role::numbers, call_text("rbf", {column->name}), "a curve of " + column->name, "", 1, true});
    }
    const auto add_network = [&](const std::vector<std::string>& columns, int weight) {
      made_.all.push_back(
          {Role::numbers, call_text("mlp", columns), "a network of " + join_words(columns), "", weight, false, true});
    };
    if (!all.empty()) add_network(all, kNetworkWeight);
    // No simpler than a network of the numbers and a level of each category.
    if (!levels_.empty()) add_network(with_levels, kNetworkWeight + static_cast<int>(levels_.size()) + 1);
    for (const ColumnLook* column : numbers_) made_.gaps = made_.gaps || (column->missing > 0 && few_gaps(*column));
  }

  // Of all columns: what a formula with fewer has to beat.
  void add_trees() {
    if (for_trees_.size() < 2) return;
    made_.all.push_back({Role::trees, call_text("boost", for_trees_), "trees of " + join_words(for_trees_), "",
                         kTreesWeight, /*alone=*/true});
  }

  const TableLook &page_, &plain_;
  Ingredients made_;
  std::vector<std::string> for_trees_;
  std::vector<const ColumnLook*> numbers_, levels_;
};

Structure in_order(Structure structure) {
  for (Term& term : structure) std::sort(term.begin(), term.end());
  std::sort(structure.begin(), structure.end());
  return structure;
}

bool holds(const Structure& structure, const Term& term) {
  return std::find(structure.begin(), structure.end(), term) != structure.end();
}

// In a product what changes stands before what it changes with.
Term spoken(const Ingredients& from, Term term) {
  if (term.size() != 2) return term;
  const auto is = [&](std::size_t a, std::size_t b) {
    return std::any_of(kProducts.begin(), kProducts.end(), [&](const RolePair& pair) {
      return pair.of == from.all[a].role && pair.with == from.all[b].role;
    });
  };
  if (!is(term[0], term[1])) std::swap(term[0], term[1]);
  return term;
}

}  // namespace

Ingredients ingredients_of(const TableLook& page, const TableLook& plain) { return Collector(page, plain).collect(); }

std::string formula_of(const Ingredients& from, const Structure& structure, bool quick) {
  quick = quick && has_network(from, structure);
  std::string text = from.target + " ~ ";
  for (std::size_t t = 0; t < structure.size(); ++t) {
    const Term term = spoken(from, structure[t]);
    for (std::size_t f = 0; f < term.size(); ++f) {
      const Ingredient& each = from.all[term[f]];
      text += (f > 0 ? " * " : t > 0 ? " + " : "") + (quick && !each.quick.empty() ? each.quick : each.text);
    }
  }
  return text;
}

std::string meaning_of(const Ingredients& from, const Structure& structure) {
  std::string text;
  for (const Term& each : structure) {
    const Term term = spoken(from, each);
    text += text.empty() ? "" : ", plus ";
    text += from.all[term[0]].noun;
    for (std::size_t f = 1; f < term.size(); ++f) text += " that changes with " + from.all[term[f]].noun;
  }
  return text;
}

int weight_of(const Ingredients& from, const Structure& structure) {
  int weight = 0;
  for (const Term& term : structure) {
    for (const std::size_t each : term) weight += from.all[each].weight;
  }
  return weight;
}

bool has_network(const Ingredients& from, const Structure& structure) {
  return std::any_of(structure.begin(), structure.end(), [&](const Term& term) {
    return std::any_of(term.begin(), term.end(), [&](std::size_t each) { return from.all[each].network; });
  });
}

bool has_role(const Ingredients& from, const Structure& structure, Role role) {
  return std::any_of(structure.begin(), structure.end(), [&](const Term& term) {
    return std::any_of(term.begin(), term.end(), [&](std::size_t each) { return from.all[each].role == role; });
  });
}

Structure with_networks(const Ingredients& from, const Structure& structure) {
  const auto is_network = [](const Ingredient& each) { return each.role == Role::numbers && each.network; };
  const auto network = std::find_if(from.all.begin(), from.all.end(), is_network);
  if (network == from.all.end()) return structure;
  Structure made;
  for (Term term : structure) {
    for (std::size_t& each : term) {
      if (from.all[each].role == Role::numbers) each = static_cast<std::size_t>(network - from.all.begin());
    }
    std::sort(term.begin(), term.end());
    if (!holds(made, term)) made.push_back(term);
  }
  return in_order(std::move(made));
}

std::string hints_of(const Ingredients& from, const Structure& structure) {
  std::vector<std::string> hints;
  for (const Term& term : structure) {
    for (const std::size_t each : term) {
      const std::string& hint = from.all[each].hint;
      if (!hint.empty() && !contains(hints, hint)) hints.push_back(hint);
    }
  }
  return join_words(hints);
}

std::vector<Structure> steps_from(const Ingredients& from, const Structure& structure) {
  std::vector<Structure> steps;
  const auto add = [&](Structure step) {
    step = in_order(std::move(step));
    if (std::find(steps.begin(), steps.end(), step) == steps.end()) steps.push_back(std::move(step));
  };
  const auto with = [&](const Term& term) {
    Structure more = structure;
    more.push_back(term);
    return more;
  };
  for (std::size_t i = 0; i < from.all.size(); ++i) {
    if (structure.size() < kMostTerms && !holds(structure, {i})) add(with({i}));
  }
  for (std::size_t t = 0; t < structure.size(); ++t) {
    Structure others = structure;
    const Term term = others[t];
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(t));
    if (term.size() > 1) {
      Structure apart = others;
      for (const std::size_t each : term) {
        if (!holds(apart, {each})) apart.push_back({each});
      }
      add(apart);
    }
    for (std::size_t i = 0; i < from.all.size() && term.size() < kMostFactors; ++i) {
      if (i == term.front() || !may_multiply(from.all[term.front()], from.all[i])) continue;
      Structure product = others;
      product.push_back({term.front(), i});
      add(product);
    }
  }
  for (std::size_t i = 0; i < from.all.size() && structure.empty(); ++i) {
    for (std::size_t j = i + 1; j < from.all.size(); ++j) {
      if (may_multiply(from.all[i], from.all[j])) add({{i, j}});
    }
  }
  return steps;
}

}  // namespace ick::detail
