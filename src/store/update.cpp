#include "ick/store/update.h"

#include <filesystem>

#include "ick/base/error.h"
#include "ick/base/file.h"
#include "store/model_files.h"

namespace ick {

namespace {

// Rows count as often as they are taken in.
void refuse_known(const DataOrigin& origin, std::uint32_t sum) {
  const auto refuse = [](const std::string& path, const std::string& how) {
    throw DataError("these are the rows of " + (path.empty() ? "the table" : path) + ", which the model " + how +
                    "; taken in again they would count twice");
  };
  if (sum == origin.fingerprint) refuse(origin.path, "was fitted on");
  for (const DataUpdate& each : origin.updates) {
    if (sum == each.fingerprint) refuse(each.path, "has taken in already");
  }
}

}  // namespace

StoredUpdate update_stored(const StoredModel& stored, const Table& rows, const std::string& source) {
  const CompositePredictor& model = stored.composite("update");
  const std::uint32_t sum = fingerprint(rows);
  refuse_known(stored.origin, sum);
  StoredUpdate made{update_model(model, stored.report, stored.origin.rows_added(), rows), stored.report, stored.origin,
                    ""};
  if (made.fit.summary) extend(*made.fit.summary, rows);
  made.origin.updates.push_back({source, made.update.report.rows, sum});
  const std::string log = stored.directory + "/" + std::string(kTrainLog);
  std::error_code none;
  if (std::filesystem::exists(log, none)) made.log = read_file(log);
  return made;
}

void StoredUpdate::save(const std::string& directory, const Table& rows) const {
  save_model(update.model, fit, directory, rows, origin, log);
}

}  // namespace ick
