#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "block.h"
#include "growing_column.h"
#include "ick/table/table.h"

namespace ick::detail {

// How to read a column of which these are the first cells.
Plan guess_plan(const Layout& layout, const CellSet& cells, const ColumnInfo* known);

// A column from all its cells; `codes` has one code into `cells` for each row, which the column's values replace.
Column resolve(const Layout& layout, const std::string& name, const ColumnInfo* known, const CellSet& cells,
               GrowingColumn& codes, int most_levels);

}  // namespace ick::detail
