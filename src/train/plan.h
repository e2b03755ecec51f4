#pragma once

#include "ick/train/fit.h"

namespace ick {

std::int64_t count_of(const std::vector<bool>& rows);  // those that are true

EncoderPlan encoder_plan(const ModelSpec& spec, const FitOptions& options);

}  // namespace ick
