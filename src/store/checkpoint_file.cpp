#include "ick/store/checkpoint_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "ick/base/error.h"
#include "ick/store/json.h"

namespace ick {

namespace {

nlohmann::json settings_of(const FitOptions& options) {
  nlohmann::json json = to_json(options);
  for (const char* const how : {"checkpoint_seconds", "loaders"}) json.erase(how);
  return json;
}

}  // namespace

CheckpointFile::CheckpointFile(std::string path, StoredCheckpoint fit) : path_(std::move(path)), fit_(std::move(fit)) {}

void CheckpointFile::set_table(std::uint32_t fingerprint) {
  fit_.fingerprint = fingerprint;
  has_table_ = true;
}

CheckpointFile::Mark CheckpointFile::mark() const {
  struct stat there {};
  if (::stat(path_.c_str(), &there) != 0) return {};
  return {static_cast<std::int64_t>(there.st_ino), there.st_size, there.st_mtim.tv_sec, there.st_mtim.tv_nsec};
}

void CheckpointFile::check() const {
  struct stat there {};
  if (::lstat(path_.c_str(), &there) != 0 && errno == ENOENT) return;
  const std::string place = "\"" + path_ + "\", where this fit would keep its checkpoints, ";
  StoredCheckpoint found;
  try {
    if (::stat(path_.c_str(), &there) != 0 || !S_ISREG(there.st_mode)) throw DataError("not a file");
    found = load_checkpoint(path_, {.trust = true});  // looked at, not resumed
  } catch (const Error&) {
    throw UsageError(place + "is not a checkpoint that ick wrote, or a damaged one; move it, or give another " +
                     setting("out"));
  }
  const bool same = found.formula == fit_.formula && settings_of(found.options) == settings_of(fit_.options) &&
                    (!has_table_ || found.fingerprint == fit_.fingerprint);
  if (same) return;
  throw UsageError(place + "is the checkpoint of another fit (" + print(found.formula) + ", of " + found.data +
                   "); resume that one with " + setting("resume") + ", remove it, or give another " + setting("out"));
}

void CheckpointFile::save(const Checkpoint& checkpoint) {
  if (written_ == Mark{} || mark() != written_) check();
  fit_.checkpoint = checkpoint;
  save_checkpoint(fit_, path_);
  fit_.checkpoint = {};
  written_ = mark();
}

void CheckpointFile::remove() {
  try {
    if (written_ == Mark{} || mark() != written_) check();
  } catch (const UsageError&) {
    return;
  }
  ::unlink(path_.c_str());
}

}  // namespace ick
