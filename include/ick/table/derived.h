#pragma once

#include <optional>
#include <vector>

#include "ick/formula/derived.h"
#include "ick/table/table.h"

namespace ick {

// What has to be known of a table before its columns are computed, found once and kept: units, days of files, and where
// elapsed(t) begins, at the first time of any row. Files are opened here and nowhere else. DataError names the place in
// the formula when a column is of a type that its function does not take, or a file is not a list of dates.
void find_derived_settings(const Table& table, std::vector<DerivedColumn>& derived);

// elapsed(t) begins at the first time of the rows in `use`.
void start_elapsed(const Table& table, const std::vector<bool>& use, std::vector<DerivedColumn>& derived);

// Derived columns alone, as a table. DataError when a column that they need is absent, or of another type.
Table derive(const Table& table, const std::vector<DerivedColumn>& derived);

// The table with its derived columns, made in `made`; itself where there are none. A column of such a name gives way.
const Table& with_derived(const Table& table, const std::vector<DerivedColumn>& derived, std::optional<Table>& made);

}  // namespace ick
