#pragma once

#include <string>

#include "ick/model/spec.h"
#include "ick/table/table.h"
#include "ick/train/options.h"

// What columns are, by their names, types and units.
namespace ick {

bool names_north(const std::string& column);  // lat, latitude, northing, whatever their case
bool names_east(const std::string& column);   // lon, longitude, easting, ...
bool measures_time(const Column& column, const FitOptions& options);

template <class Visit>
void each_kernel(const ModelSpec& spec, Visit visit) {
  for (const TermSpec& term : spec.terms) {
    for (const KernelProduct& product : term.kernels) {
      for (const KernelSpec& kernel : product) visit(kernel);
    }
  }
}

}  // namespace ick
