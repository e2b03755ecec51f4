#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ick {

// A file that appears whole or not at all: written under a temporary name in the same folder, made durable, renamed.
// Error (exit code 1) with the system's reason when it cannot be; nothing is left behind.
void write_file(const std::string& path, std::string_view bytes);

std::string read_file(const std::string& path);  // DataError with the system's reason

// The same for rows that arrive little by little: nothing at `path` until commit().
class StagedFile {
 public:
  explicit StagedFile(std::string path);
  ~StagedFile();  // without commit(): removes what was written
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;
  void write(std::string_view bytes);
  const std::string& part() const { return part_; }  // for those who write it by a name
  void commit();

 private:
  std::string path_, part_;
  int descriptor_ = -1;
};

// What a folder looks like that the program wrote and may therefore replace: a flat list of regular files, each of a
// name that `may_hold` knows, and among them `mark`, of which `is_own` says by its content whether the program wrote
// it. The default is a folder that is never replaced.
struct FolderKind {
  std::string mark;
  std::function<bool(const std::string& name)> may_hold;
  std::function<bool(const std::string& path)> is_own;
};

// The same for a folder of files: filled under a temporary name beside `path`, then put in its place. An older folder
// of the same kind is replaced, and an empty one; any other file or folder is refused (UsageError, which names the
// first entry that is not the program's) by the constructor already, before work is spent, and so is a place that
// cannot be written to (Error). commit() removes the recognised files of an older folder, one by one, and nothing else:
// what came into it at the last moment stays in a folder beside `path`, and an Error says where.
class StagedFolder {
 public:
  StagedFolder(std::string path, FolderKind kind);
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;
  std::string file(const std::string& name) const;  // where to write the file of that name
  void write(const std::string& name, std::string_view bytes);
  void commit();

 private:
  std::string path_, part_;
  FolderKind kind_;
};

}  // namespace ick
