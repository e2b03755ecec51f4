#include "ick/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/text.h"

namespace ick {
namespace {

namespace fs = std::filesystem;

std::string reason(int code) { return std::generic_category().message(code); }

std::string parent_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

std::string advice(const std::string& path, int code) {
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      return "free some space or give another place";
    case EACCES:
    case EPERM:
    case EROFS:
      return "give a place you may write to";
    case ENOENT:
      return fmt::format("make the folder \"{}\" first or give another place", parent_of(path));
    case EISDIR:
      return "give the name of a file";
    default:
      return "give another place";
  }
}

[[noreturn]] void cannot_write(const std::string& path, int code) {
  throw Error(fmt::format("cannot write \"{}\": {}; {}", path, reason(code), advice(path, code)));
}

[[noreturn]] void cannot_read(const std::string& path, int code) {
  std::string hint;
  if (code == ENOENT) {
    std::vector<std::string> neighbours;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(parent_of(path), none))
      neighbours.push_back(entry.path().filename().string());
    std::sort(neighbours.begin(), neighbours.end());
    hint = did_you_mean(fs::path(path).filename().string(), neighbours);
  }
  throw DataError(fmt::format("cannot read \"{}\": {}{}", path, reason(code), hint));
}

// What a link points to, so that this is replaced and not the link.
std::string through_links(const std::string& path) {
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  const fs::path real = fs::canonical(path, error);
  return error ? path : real.string();
}

// "out/p.csv" -> "out/.p.csv.part-4711-09f3c21a": in the same folder, since rename does not cross file systems.
std::string part_name(const std::string& path) {
  const std::string name = fs::path(path).filename().string().substr(0, 200);  // the longest is 255 bytes
  return (fs::path(path).parent_path() / fmt::format(".{}.part-{}-{:08x}", name, ::getpid(), std::random_device{}()))
      .string();
}

void write_all(int descriptor, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      cannot_write(path, errno);
    }
  }
}

// Makes durable and closes; a disk may turn out to be full only here. The system's error code, or 0.
int finish(int descriptor) {
  int code = ::fsync(descriptor) == 0 ? 0 : errno;
  if (code == EINVAL || code == EROFS || code == ENOTSUP) code = 0;  // a device, a pipe: nothing to make durable
  if (::close(descriptor) != 0 && code == 0 && errno != EINTR) code = errno;
  return code;
}

// Makes a file, or the list of names of a folder, durable. One that may not be read is left to the system.
void make_durable(const std::string& place, const std::string& path) {
  const int descriptor = ::open(place.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  if (const int code = finish(descriptor)) cannot_write(path, code);
}

bool is_regular(const std::string& path) {
  struct stat there {};
  return ::lstat(path.c_str(), &there) == 0 && S_ISREG(there.st_mode);
}

std::vector<std::string> sorted_names(const std::string& folder, std::error_code& error) {
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

// The files of an older folder at `path`, which may be replaced; none when there is nothing, or an empty folder.
std::vector<std::string> files_of_older(const std::string& path, const FolderKind& kind) {
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (there.type() == fs::file_type::not_found) return {};
  if (error) cannot_write(path, error.value());
  if (!fs::is_directory(there))
    throw UsageError(fmt::format("\"{}\" is a file, and a folder is to be written; give another place", path));
  const std::vector<std::string> names = sorted_names(path, error);
  if (error) cannot_write(path, error.value());
  for (const std::string& name : names) {
    if (kind.may_hold && kind.may_hold(name) && is_regular(path + '/' + name)) continue;
    throw UsageError(fmt::format(
        "the folder \"{}\" holds \"{}\", which ick did not write, so it is not replaced; give another place "
        "or move it",
        path, name));
  }
  if (names.empty()) return {};
  const bool has_mark = std::binary_search(names.begin(), names.end(), kind.mark);
  if (!has_mark || !kind.is_own || !kind.is_own(path + '/' + kind.mark))
    throw UsageError(fmt::format(
        "the folder \"{}\" has no \"{}\" that ick wrote, so it is not replaced; give another place or move it", path,
        kind.mark));
  return names;
}

// The folder `older` under a name beside `path` that is free: model.old, model.old2, ...
std::string made_visible(const std::string& older, const std::string& path) {
  for (int number = 1; number < 1000; ++number) {
    const std::string name = path + ".old" + (number == 1 ? "" : std::to_string(number));
    if (::renameat2(AT_FDCWD, older.c_str(), AT_FDCWD, name.c_str(), RENAME_NOREPLACE) == 0) return name;
    if (errno == EEXIST) continue;
    std::error_code ignored;  // a file system without this kind of rename
    if (fs::exists(fs::symlink_status(name, ignored))) continue;
    if (::rename(older.c_str(), name.c_str()) == 0) return name;
  }
  return older;
}

// Takes `files` out of the folder `older`, which stood at `path`, and the folder itself when nothing else is in it.
void remove_older(const std::string& older, const std::vector<std::string>& files, const std::string& path) {
  for (const std::string& name : files) {
    if (is_regular(older + '/' + name)) ::unlink((older + '/' + name).c_str());
  }
  if (::rmdir(older.c_str()) == 0) return;
  std::error_code ignored;
  const std::vector<std::string> left = sorted_names(older, ignored);
  throw Error(fmt::format("\"{}\" is written; the older folder, in which there is still \"{}\", is kept as \"{}\"",
                          path, left.empty() ? "" : left.front(), made_visible(older, path)));
}

// Puts the folder `part` in the place of `path`, where a folder stands; returns where the older one is now.
std::string put_in_place(const std::string& part, const std::string& path) {
  if (::renameat2(AT_FDCWD, part.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) return part;
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) cannot_write(path, errno);
  // A file system that cannot exchange: for a moment nothing is at `path`, and both folders are beside it.
  const std::string aside = part + "-old";
  if (::rename(path.c_str(), aside.c_str()) != 0) cannot_write(path, errno);
  if (::rename(part.c_str(), path.c_str()) != 0) {
    const int code = errno;
    ::rename(aside.c_str(), path.c_str());
    cannot_write(path, code);
  }
  return aside;
}

}  // namespace

std::string read_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) cannot_read(path, errno);
  struct stat there {};
  ::fstat(descriptor, &there);
  // One byte more than the size, so that the end is met without growing; a pipe has size 0 and grows.
  std::string bytes(std::max<std::size_t>(static_cast<std::size_t>(there.st_size) + 1, 1 << 16), '\0');
  std::size_t size = 0;
  for (;;) {
    if (size == bytes.size()) bytes.resize(2 * size);
    const ssize_t count = ::read(descriptor, bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int code = errno;
      ::close(descriptor);
      cannot_read(path, code);
    }
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  ::close(descriptor);
  bytes.resize(size);
  return bytes;
}

void write_file(const std::string& path, std::string_view bytes) {
  StagedFile file(path);
  file.write(bytes);
  file.commit();
}

StagedFile::StagedFile(std::string path) : path_(through_links(path)) {
  struct stat there {};
  const bool exists = ::stat(path_.c_str(), &there) == 0;
  if (path_.empty()) cannot_write(path_, ENOENT);
  if (exists && S_ISDIR(there.st_mode)) cannot_write(path_, EISDIR);
  if (exists && ::access(path_.c_str(), W_OK) != 0) cannot_write(path_, errno);  // rename would not mind
  if (exists && !S_ISREG(there.st_mode)) {
    // A device or a pipe is written to as it is: a rename would put a file in the place of /dev/null.
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    part_ = part_name(path_);
    descriptor_ = ::open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  }
  if (descriptor_ < 0) cannot_write(path_, errno);
}

StagedFile::~StagedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!part_.empty()) ::unlink(part_.c_str());
}

void StagedFile::write(std::string_view bytes) { write_all(descriptor_, bytes, path_); }

void StagedFile::commit() {
  if (const int code = finish(std::exchange(descriptor_, -1))) cannot_write(path_, code);
  if (part_.empty()) return;
  if (::rename(part_.c_str(), path_.c_str()) != 0) cannot_write(path_, errno);
  part_.clear();
  make_durable(parent_of(path_), path_);
}

StagedFolder::StagedFolder(std::string path, FolderKind kind) : kind_(std::move(kind)) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::string name = fs::path(path).filename().string();
  if (name.empty() || name == "." || name == "..")
    throw UsageError(fmt::format("\"{}\" is no name for a new folder; give one, such as \"model\"", path));
  path_ = through_links(path);
  files_of_older(path_, kind_);
  // Made, and taken away until it is needed: shows now that it can be made, and an interrupted program leaves nothing.
  part_ = part_name(path_);
  if (::mkdir(part_.c_str(), 0755) != 0) cannot_write(path_, errno);
  ::rmdir(part_.c_str());
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  if (!part_.empty()) fs::remove_all(part_, ignored);
}

std::string StagedFolder::file(const std::string& name) const {
  if (::mkdir(part_.c_str(), 0755) != 0 && errno != EEXIST) cannot_write(path_, errno);
  return part_ + '/' + name;
}

void StagedFolder::write(const std::string& name, std::string_view bytes) {
  const std::string place = file(name), shown = path_ + '/' + name;
  const int descriptor = ::open(place.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) cannot_write(shown, errno);
  try {
    write_all(descriptor, bytes, shown);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  if (const int code = finish(descriptor)) cannot_write(shown, code);
}

void StagedFolder::commit() {
  const std::string folder = file("");
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) make_durable(entry.path().string(), path_);
  make_durable(folder, path_);
  const std::vector<std::string> files = files_of_older(path_, kind_);
  std::string older;
  if (!files.empty()) {
    older = put_in_place(part_, path_);
  } else if (::rename(part_.c_str(), path_.c_str()) != 0) {
    cannot_write(path_, errno);
  }
  part_.clear();
  make_durable(parent_of(path_), path_);
  if (!older.empty()) remove_older(older, files, path_);
}

}  // namespace ick
