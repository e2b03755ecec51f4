#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "support/message.h"

namespace ick {

// A file that lives as long as this object.
class ScratchFile {
 public:
  explicit ScratchFile(std::string_view content, const std::string& suffix = ".csv") {
    path_ = (std::filesystem::temp_directory_path() / "ick_table_XXXXXX").string() + suffix;
    const int descriptor = ::mkstemps(path_.data(), static_cast<int>(suffix.size()));
    if (descriptor < 0) throw std::runtime_error("mkstemps");
    ::close(descriptor);
    std::ofstream(path_, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
  }
  ~ScratchFile() { std::remove(path_.c_str()); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace ick
