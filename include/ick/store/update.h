#pragma once

#include <string>

#include "ick/fit/update.h"
#include "ick/store/model_directory.h"

namespace ick {

// The model of a folder after an update, with what a folder keeps beside it.
struct StoredUpdate {
  Update update;
  FitReport fit;  // of the model
  DataOrigin origin;
  std::string log;

  // Replaces an older model at `directory`, that of `stored` included, as save_model() does. `rows` are those taken in.
  void save(const std::string& directory, const Table& rows) const;
};

// update_model() for a model that was loaded. `source` says where the rows came from. DataError for a table that the
// model was fitted on or has taken in before.
StoredUpdate update_stored(const StoredModel& stored, const Table& rows, const std::string& source);

}  // namespace ick
