#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ick/baseline/baseline.h"

// Formulas made of a formula.
namespace ick {

// Sum of products of its calls in which "." has become the names it stands for.
SumOfProducts spelled_out(const ModelSpec& spec);

// The formula with another right side.
Formula with_right(const Formula& formula, const SumOfProducts& right);

// The network of the formula; of several mlps one that reads what they do. None: there is no network, or there are
// several of which some are no mlp.
std::optional<Call> only_network(const ModelSpec& spec);

// cycle(date, period=[1d, 1y]) of the time: the periods that the formula states for it, or else those of the calendar
// that its times show twice. None where there are none.
std::optional<Call> cycle_of_time(const BaselineTask& task);

// What kernels read of a row, in the order of the formula: without the time where they read nothing but its phase, if
// `by_phase`.
std::vector<std::string> kernel_columns(const BaselineTask& task, bool by_phase);

}  // namespace ick
