#pragma once

#include <string>
#include <vector>

#include "ick/formula/formula.h"
#include "ick/table/table.h"
#include "ick/train/options.h"

namespace ick {

// A baseline as a candidate for a table and a formula. Free of torch.
struct BaselineChoice {
  std::string name, text;
  std::string why_not;  // a half sentence: it cannot serve, because; empty when it can
};

// All of them, in the order of their table. UsageError or DataError when not even the formula fits the table.
std::vector<BaselineChoice> baselines_for(const Table& table, const std::string& formula,
                                          const FitOptions& options = {});

}  // namespace ick
