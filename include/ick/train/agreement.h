#pragma once

#include <cstdint>
#include <string>

#include "ick/table/csv.h"
#include "ick/train/ranks.h"

// What processes that train one model together must have in common.
namespace ick {

// The first process parses a large table, and what it keeps beside the table serves the others; where machines do not
// see the same files, the first of each machine parses it. `ranks` null: this process alone.
Table read_in_turn(const std::string& path, const ReadOptions& options, Ranks* ranks);

// DataError or UsageError, of all processes, unless all read the same table (its fingerprint; `path` for the message)
// and have the same settings.
void check_alike(const std::string& path, std::uint32_t table, const std::string& settings, Ranks& ranks);

}  // namespace ick
