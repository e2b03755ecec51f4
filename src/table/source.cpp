#include "source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "ick/base/error.h"

namespace ick::detail {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view bytes, name, advice;
};

constexpr std::array<Magic, 9> kNotText = {{
    {"\xFD\x37zXZ"sv, "an xz file", "unpack it first (xz -dc)"},
    {"\x28\xB5\x2F\xFD"sv, "a zstd file", "unpack it first (zstd -dc)"},
    {"BZh"sv, "a bzip2 file", "unpack it first (bzip2 -dc)"},
    {"PK\x03\x04"sv, "a zip file or a spreadsheet", "unpack it or save it as CSV first"},
    {"PAR1"sv, "a Parquet file", "save it as CSV first"},
    {"\x89PNG"sv, "a PNG image", "a table is text with separators (CSV)"},
    {"\xFF\xD8\xFF"sv, "a JPEG image", "a table is text with separators (CSV)"},
    {"\xFF\xFE"sv, "UTF-16 text", "save it as UTF-8"},
    {"\xFE\xFF"sv, "UTF-16 text", "save it as UTF-8"},
}};

std::string reason() { return std::generic_category().message(errno); }

}  // namespace

struct Source::Gzip {
  z_stream stream{};
  std::vector<char> packed = std::vector<char>(1 << 16);
  bool between_members = true;

  Gzip() { inflateInit2(&stream, 16 + MAX_WBITS); }
  ~Gzip() { inflateEnd(&stream); }
};

Source::Source(const std::string& path, bool again) : name_(path == "-" ? "stdin" : path), again_(again) {
  if (path == "-") {
    descriptor_ = ::dup(STDIN_FILENO);
  } else {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  if (descriptor_ < 0 && errno == ENOENT) throw DataError(name_ + ": there is no such file");
  if (descriptor_ < 0 && errno == EACCES) throw DataError(name_ + ": no permission to read this file");
  if (descriptor_ < 0) throw DataError(name_ + ": cannot be opened (" + reason() + ")");
  struct stat status {};
  if (::fstat(descriptor_, &status) == 0 && S_ISDIR(status.st_mode)) {
    ::close(descriptor_);
    throw DataError(name_ + ": is a folder; the path of a CSV file was expected");
  }
  if (S_ISREG(status.st_mode)) bytes_ = static_cast<std::uint64_t>(status.st_size);
  begin_ = ::lseek(descriptor_, 0, SEEK_CUR);
  try {
    start();
  } catch (...) {
    if (copy_) std::fclose(copy_);
    ::close(descriptor_);
    throw;
  }
}

Source::~Source() {
  if (copy_) std::fclose(copy_);
  ::close(descriptor_);
}

void Source::start() {
  gzip_.reset();
  head_.resize(16);
  head_.resize(read_raw(head_.data(), head_.size()));
  for (const Magic& magic : kNotText) {
    if (head_.starts_with(magic.bytes)) {
      throw DataError(name_ + ": is " + std::string(magic.name) + ", not a table; " + std::string(magic.advice));
    }
  }
  if (head_.starts_with("\x1F\x8B")) {
    gzip_ = std::make_unique<Gzip>();
    std::copy(head_.begin(), head_.end(), gzip_->packed.begin());
    gzip_->stream.next_in = reinterpret_cast<Bytef*>(gzip_->packed.data());
    gzip_->stream.avail_in = static_cast<uInt>(head_.size());
    head_.clear();
  }
}

void Source::rewind() {
  if (begin_ >= 0) {
    ::lseek(descriptor_, begin_, SEEK_SET);
  } else {
    for (std::vector<char> rest(1 << 16); read_raw(rest.data(), rest.size()) > 0;) continue;
    std::rewind(copy_);
    replay_ = true;
  }
  start();
}

std::size_t Source::read_raw(char* to, std::size_t most) {
  std::size_t count = 0;
  if (replay_) return std::fread(to, 1, most, copy_);
  while (count < most) {
    const ssize_t got = ::read(descriptor_, to + count, most - count);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw DataError(name_ + ": cannot be read (" + reason() + ")");
    if (got == 0) break;
    count += static_cast<std::size_t>(got);
  }
  if (begin_ < 0 && again_ && count > 0) {
    if (!copy_) copy_ = std::tmpfile();
    if (!copy_ || std::fwrite(to, 1, count, copy_) != count) {
      throw Error(name_ + ": no temporary file to keep it in (" + reason() + "); give a file in place of a pipe");
    }
  }
  return count;
}

std::size_t Source::read(char* to, std::size_t most) {
  std::size_t count = 0;
  if (!gzip_) {
    count = std::min(most, head_.size());
    std::copy_n(head_.begin(), count, to);
    head_.erase(0, count);
    return count + read_raw(to + count, most - count);
  }
  z_stream& stream = gzip_->stream;
  while (count < most) {
    if (stream.avail_in == 0) {
      stream.next_in = reinterpret_cast<Bytef*>(gzip_->packed.data());
      stream.avail_in = static_cast<uInt>(read_raw(gzip_->packed.data(), gzip_->packed.size()));
      if (stream.avail_in == 0 && gzip_->between_members && stream.total_in > 0) break;
      if (stream.avail_in == 0) throw DataError(name_ + ": the gzip file ends too early; it was cut off");
    }
    gzip_->between_members = false;
    const std::size_t room = std::min<std::size_t>(most - count, 1 << 30);
    stream.next_out = reinterpret_cast<Bytef*>(to + count);
    stream.avail_out = static_cast<uInt>(room);
    const int state = inflate(&stream, Z_NO_FLUSH);
    count += room - stream.avail_out;
    if (state == Z_STREAM_END) {  // gzip files may be put one behind the other
      gzip_->between_members = true;
      if (inflateReset(&stream) != Z_OK) throw Error(name_ + ": zlib failed");
      stream.total_in = 1;
    } else if (state != Z_OK) {
      throw DataError(name_ + ": the gzip file is damaged" +
                      (stream.msg ? " (" + std::string(stream.msg) + ")" : std::string()));
    }
  }
  return count;
}

}  // namespace ick::detail
