#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>

#include "ick/base/error.h"
#include "ick/base/file.h"

namespace ick {

// Goes to stdout as it comes, or to a file that appears when it is whole.
class Output {
 public:
  explicit Output(const std::string& path) {
    if (!path.empty() && path != "-") file_.emplace(path);
  }
  void write(const fmt::memory_buffer& text) {
    if (file_) {
      file_->write({text.data(), text.size()});
    } else if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
      throw Error(std::string("cannot write to stdout: ") + std::strerror(errno));
    }
  }
  void commit() {
    if (file_) file_->commit();
  }

 private:
  std::optional<StagedFile> file_;
};

}  // namespace ick
