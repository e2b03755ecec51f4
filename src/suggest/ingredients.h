#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ick/look/look.h"

// What formulas are made of: kernels and networks, each on the columns of one role.
namespace ick::detail {

enum class Role { season, trend, place, group, numbers, image, trees };

struct Ingredient {
  Role role = Role::numbers;
  std::string text;    // as in a formula: "periodic(date, period=1y)"
  std::string noun;    // "a season of 1y in date"
  std::string hint;    // what the table says of it: "45% of the variance of pm25 in its spectrum"; may be empty
  int weight = 1;      // how much simpler a formula is without it
  bool alone = false;  // no factor of a product
  bool network = false;
  std::string quick = {};  // as in a fit of the search; empty: as above
};

struct Ingredients {
  std::string target;  // as in a formula: log(pm25)
  std::vector<Ingredient> all;
  std::vector<std::string> left_out;  // "casual (suspected leak)"
  bool gaps = false;                  // a kernel's column has missing cells
};

// `page` is about the rows that may be seen and has a target, `plain` is one without: the seasons that the times could
// show, whether or not the target's own spectrum does. A product with a network can hide one.
Ingredients ingredients_of(const TableLook& page, const TableLook& plain);

// A formula: a sum of products of ingredients, by their numbers, each ascending. The empty one is the mean.
using Term = std::vector<std::size_t>;
using Structure = std::vector<Term>;

std::string formula_of(const Ingredients& from, const Structure& structure, bool quick = false);
std::string meaning_of(const Ingredients& from, const Structure& structure);
bool has_role(const Ingredients& from, const Structure& structure, Role role);
int weight_of(const Ingredients& from, const Structure& structure);
bool has_network(const Ingredients& from, const Structure& structure);
// The same with a network of the numbers in place of lines and curves in them.
Structure with_networks(const Ingredients& from, const Structure& structure);
std::string hints_of(const Ingredients& from, const Structure& structure);  // "" when there are none

// Formulas one step from this one: a term more, a factor more, a product taken apart. From the mean: each ingredient,
// and the products of two roles, of which neither need show by itself.
std::vector<Structure> steps_from(const Ingredients& from, const Structure& structure);

}  // namespace ick::detail
