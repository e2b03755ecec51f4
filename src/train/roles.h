#pragma once

#include "ick/model/spec.h"
#include "ick/table/table.h"
#include "ick/train/options.h"

// What columns are, by their types and units, and which kernels read them.
namespace ick {

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
