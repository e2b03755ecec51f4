#pragma once

#include <string>
#include <vector>

#include "ick/dataset/encoder.h"
#include "ick/net/network.h"
#include "trees/sums.h"

namespace ick {

// The trees of a formula after a fit. What they predict, offset(...) of the formula included, stands in a column of its
// own: to the other terms it is known beforehand, as an offset is.
struct GrownTrees {
  std::string column;
  Encoder encoder;
  TreeSums sums;

  // In the units of the transformed target: (n) of the table's rows.
  std::vector<double> predict(const Table& table, EncodingNotes* notes = nullptr) const;
  // The table with that column, which has these values.
  Table added_to(const Table& table, std::vector<double> values) const;
};

}  // namespace ick
