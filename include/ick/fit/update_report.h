#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ick/dataset/notes.h"
#include "ick/model/metrics.h"

namespace ick {

// What new rows say of a model that had not seen them, and what became of them.
struct UpdateReport {
  std::int64_t rows = 0;         // taken in
  std::int64_t rows_before = 0;  // that the model had learned from, earlier updates included
  std::int64_t rows_fitted = 0;  // of these, the rows its parameters were estimated from
  EncodingNotes notes;           // rows left out

  // By the model as it was. ----------------------------------------------------------------------------------------
  Scores scores;
  // Errors over their predicted sds, of a transformed target on its scale: 0 and 1 where the model is right.
  double mean_error = 0.0, root_mean_square_error = 0.0;
  double missed = 0.0;    // share of the kernels' variance at the new rows that features do not carry; 0: neighbours do
  double coverage = 0.0;  // share of rows inside their 90% intervals, the mean over blocks where rows come in blocks
  std::int64_t blocks = 0;  // that validation rows were set apart in; 0: row by row
  // Probability that intervals which hold what they promise cover as little as this; none: too few blocks to tell.
  std::optional<double> chance;

  std::vector<std::string> reasons;  // why a new fit is due: sentences; empty when none is
  bool fit_due() const { return !reasons.empty(); }
};

}  // namespace ick
