#include "growing_column.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace ick::detail {
namespace {

constexpr std::size_t kPart = std::size_t{1} << 16;  // numbers, half a megabyte

[[noreturn]] void fail() { throw std::system_error(errno, std::generic_category()); }

Descriptor open_nameless(const std::string& folder) {
  Descriptor file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0644));
  if (file.is_open()) return file;
  std::string name = folder + "/.ick-column-XXXXXX";  // on a file system without O_TMPFILE
  file = Descriptor(::mkostemp(name.data(), O_CLOEXEC));
  if (!file.is_open()) fail();
  ::unlink(name.c_str());
  return file;
}

// `move` reads or writes what is left of so many bytes, and says how many it did.
template <typename Move>
void move_all(std::size_t bytes, const Move& move) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t count = move(done);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = EIO;
    if (count <= 0) fail();
    done += static_cast<std::size_t>(count);
  }
}

void read_numbers(const Descriptor& file, std::size_t first, std::span<double> to) {
  const auto offset = static_cast<off_t>(first * sizeof(double));
  char* const bytes = reinterpret_cast<char*>(to.data());
  move_all(to.size_bytes(), [&](std::size_t done) {
    return ::pread(file.number(), bytes + done, to.size_bytes() - done, offset + static_cast<off_t>(done));
  });
}

void write_numbers(const Descriptor& file, std::size_t first, std::span<const double> from) {
  const auto offset = static_cast<off_t>(first * sizeof(double));
  const char* const bytes = reinterpret_cast<const char*>(from.data());
  move_all(from.size_bytes(), [&](std::size_t done) {
    return ::pwrite(file.number(), bytes + done, from.size_bytes() - done, offset + static_cast<off_t>(done));
  });
}

// Calls use(first, part) for parts of the file.
template <typename Use>
void each_part(const Descriptor& file, std::size_t size, const Use& use) {
  std::vector<double> buffer(std::min(size, kPart));
  for (std::size_t first = 0; first < size; first += kPart) {
    const std::span<double> part(buffer.data(), std::min(kPart, size - first));
    read_numbers(file, first, part);
    use(first, part);
  }
}

}  // namespace

Descriptor::~Descriptor() {
  if (is_open()) ::close(number_);
}

void GrowingColumn::append(std::span<const double> values) {
  if (!is_spilled()) {
    values_.insert(values_.end(), values.begin(), values.end());
    return;
  }
  write_numbers(file_, spilled_, values);
  spilled_ += values.size();
}

void GrowingColumn::spill(const std::string& folder) {
  if (is_spilled()) return;
  file_ = open_nameless(folder);
  append(std::exchange(values_, {}));
}

void GrowingColumn::visit(const std::function<void(std::span<const double>)>& use) const {
  if (!is_spilled()) return use(values_);
  each_part(file_, spilled_, [&](std::size_t, std::span<const double> part) { use(part); });
}

void GrowingColumn::change(const std::function<void(std::span<double>)>& use) {
  if (!is_spilled()) return use(values_);
  each_part(file_, spilled_, [&](std::size_t first, std::span<double> part) {
    use(part);
    write_numbers(file_, first, part);
  });
}

Numbers GrowingColumn::numbers() {
  return is_spilled() ? Numbers::mapped(file_.number(), spilled_) : Numbers(std::move(values_));
}

void GrowingColumn::keep(const std::string& path) const {
  const std::string file = "/proc/self/fd/" + std::to_string(file_.number());
  if (::linkat(AT_FDCWD, file.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) return;
  std::filesystem::copy_file(file, path);
}

}  // namespace ick::detail
