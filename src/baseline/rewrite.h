#pragma once

#include <string>

#include "ick/baseline/baseline.h"

// Formulas made of a formula.
namespace ick {

// Sum of products of its calls in which "." has become the names it stands for.
SumOfProducts spelled_out(const ModelSpec& spec);

// The formula with another right side.
Formula with_right(const Formula& formula, const SumOfProducts& right);

}  // namespace ick
