#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ick/base/seed.h"
#include "ick/table/table.h"

namespace ick {

// Columns x1, x2, ... of normal numbers, then those named: t of uniform ones, any other of normal ones.
inline Table random_table(std::int64_t rows, int columns, const std::vector<std::string>& named = {"y"}) {
  Table table;
  table.rows = rows;
  Random random(5);
  std::vector<std::string> names;
  for (int c = 1; c <= columns; ++c) names.push_back("x" + std::to_string(c));
  names.insert(names.end(), named.begin(), named.end());
  for (const std::string& name : names) {
    std::vector<double> values(static_cast<std::size_t>(rows));
    for (double& value : values) value = name == "t" ? random.uniform() : random.normal();
    Column& column = table.columns.emplace_back();
    column.info.name = name;
    column.values = std::move(values);
  }
  return table;
}

}  // namespace ick
