#pragma once

#include <map>
#include <string>

namespace ick {

// A column of rows that are made which is the same in all of them.
struct HeldColumn {
  std::string column;
  std::string value;        // as a cell
  bool is_typical = false;  // median or most frequent level of the rows that the model has seen; else it was set
};

// Values of columns, as cells: {{"date", "2019-07-01"}}.
using SetValues = std::map<std::string, std::string>;

}  // namespace ick
