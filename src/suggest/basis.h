#pragma once

#include <cstdint>
#include <vector>

#include "ick/table/table.h"
#include "ingredients.h"

// Functions of a row that a kernel, or a network, can be told by: a few of them, computed at once, for a linear model.
namespace ick::detail {

using Columns = std::vector<std::vector<double>>;  // [function][row]

// Squares of the functions add up to one at a row on average. None for what has no such functions: images, trees.
//   periodic   1, cos(2 pi h t / P) / h and sin(2 pi h t / P) / h, h = 1, 2, 3
//   linear     x standardised
//   categorical  one for each level
//   rbf, matern32  bumps exp(-r^2 / (2 w^2)) about some of the rows
//   mlp        1, x, and max(0, a . x + b) with a and b drawn: a layer that is not trained
Columns basis_of(const Ingredient& ingredient, const Table& table, std::uint64_t seed);

// Of a term: the products of the functions of its factors, at most kMostFunctions, then drawn among them.
inline constexpr std::size_t kMostFunctions = 80;
Columns basis_of(const std::vector<const Columns*>& factors, std::uint64_t seed);

}  // namespace ick::detail
