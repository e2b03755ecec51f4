#pragma once

#include <ATen/core/Tensor.h>

#include "ick/model/family.h"
#include "model/row_loss.h"

namespace ick {

// -log p(y | f) of each row, (E, B), for the families that need no scale: f (E, B), of categorical (E, B, C); y (B) or
// (E, B) a count or the number of a class.
at::Tensor surprise(Family family, Link link, const at::Tensor& f, const at::Tensor& y);

// -log p(y | f) under Student's law with four degrees of freedom and the scale s of each member, log s^2 (E): (E, B)
at::Tensor student_surprise(const at::Tensor& residual, const at::Tensor& log_scale);

// The probability of each class, f over a temperature: (E, B, C). Bernoulli's are those of both classes.
at::Tensor probabilities(Family family, Link link, const at::Tensor& f, double temperature = 1.0);

}  // namespace ick
