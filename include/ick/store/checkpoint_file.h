#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "ick/store/model_directory.h"

namespace ick {

// Where a fit under way is kept: FOLDER.checkpoint beside the model to be. It is written, and in the end removed, only
// where there is nothing or a checkpoint of the same fit: same formula, options and table. What merely says how a fit
// is run (checkpoint_seconds, loaders) does not count.
class CheckpointFile {
 public:
  // `fit` is what the file will hold, but for the checkpoint itself.
  CheckpointFile(std::string path, StoredCheckpoint fit);

  const std::string& path() const { return path_; }
  void set_table(std::uint32_t fingerprint);  // once it is read

  // UsageError that says what to do when something else stands there. Before set_table() any table is the same.
  void check() const;
  void save(const Checkpoint& checkpoint);  // checks before it writes
  void remove();                            // leaves anything else alone

 private:
  using Mark = std::array<std::int64_t, 4>;  // which file it is, its size, when it was written
  Mark mark() const;

  std::string path_;
  StoredCheckpoint fit_;
  bool has_table_ = false;
  Mark written_{};  // by save()
};

}  // namespace ick
