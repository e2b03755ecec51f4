#pragma once

#include "ick/model/model.h"

namespace ick {

// Finds the last layers of a trained model in closed form, everything before them held: the mean of the posterior of
//   y = f(x) + noise,  W ~ N(0, v / (H + 1)),  w ~ N(0, v),  bias ~ N(0, v),  noise ~ N(0, v lambda)
// for each member, with v and lambda by marginal likelihood. Gradient descent stops where it overfits or runs out of
// epochs; this is where it would go if it did not. Solved over rows or over weights, whichever are fewer. False, and
// nothing changed, when both are too many.
bool solve_last_layers(Model& model, const Dataset& rows, std::uint64_t seed);

}  // namespace ick
