#pragma once

#include <string>
#include <vector>

#include "ick/baseline/baseline.h"

namespace ick {

// What the columns of a formula are to a baseline.
struct BaselineRoles {
  std::vector<std::string> columns;  // all that the formula reads; names of images apart
  std::string time;                  // the one that a kernel reads, or else the first one; "": none
  std::string time_unit;             // "": a number that a periodic kernel reads
  std::vector<double> periods;       // that the formula states for it, in its unit
  std::vector<std::string> places;   // none, or as many as a place has
  bool sphere = false;               // they are latitude and longitude in degrees
};
BaselineRoles roles_of(const BaselineTask& task);

// A column of categories whose levels are series: nearly all times that come several times come once in each of them.
// "" when there is none.
std::string series_column(const BaselineTask& task, const BaselineRoles& roles);

// All columns of the formula, as a network reads them; and why they cannot be read, "" when they can.
void read_all_columns(const BaselineTask& task, EncoderPlan& plan);
std::string why_not_columns(const BaselineTask& task);

// What time and series are to a baseline of these: x is the time, and the only network reads the series.
void read_seasons(const BaselineTask& task, EncoderPlan& plan);
// The series of each row, -1 where it is not known: (n); all 0 where there is one.
std::vector<std::int64_t> series_of(const Dataset& rows);

}  // namespace ick
