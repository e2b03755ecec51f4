#pragma once

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
  void commit();

 private:
  std::string path_, part_;
  int descriptor_ = -1;
};

// The same for a folder of files: filled under a temporary name beside `path`, then put in its place. An older folder
// is replaced when it holds a file named `mark`; any other existing file or folder that is not empty is refused
// (UsageError) by the constructor already, before work is spent, and so is a place that cannot be written to (Error).
class StagedFolder {
 public:
  StagedFolder(std::string path, std::string mark);
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;
  std::string file(const std::string& name) const;  // where to write the file of that name
  void write(const std::string& name, std::string_view bytes);
  void commit();

 private:
  std::string path_, mark_, part_;
};

}  // namespace ick
