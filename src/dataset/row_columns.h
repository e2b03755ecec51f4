#pragma once

#include <vector>

#include "ick/dataset/encoder.h"

namespace ick {

// DataError that names the row when weights(...), offset(...) or error(...) has no number there that makes sense.
void check_row_columns(const Table& table, const EncoderPlan& plan, const std::vector<bool>& use);

}  // namespace ick
