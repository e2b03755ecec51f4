#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace ick::detail {

// The bytes of a file or of stdin ("-"), unpacked when they are gzip. What cannot be sought (a pipe) is copied to a
// temporary file if `again` is asked for, so that rewind() works on everything.
class Source {
 public:
  Source(const std::string& path, bool again);
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  std::size_t read(char* to, std::size_t most);  // fewer than `most` only at the end
  void rewind();
  std::uint64_t bytes() const { return gzip_ ? 0 : bytes_; }  // of a file; 0 when not known
  const std::string& name() const { return name_; }           // for messages

 private:
  struct Gzip;
  std::size_t read_raw(char* to, std::size_t most);
  void start();

  std::string name_;
  int descriptor_ = -1;
  std::int64_t begin_ = 0;  // where the data start; -1 when the descriptor cannot be sought
  std::uint64_t bytes_ = 0;
  std::FILE* copy_ = nullptr;
  bool replay_ = false;  // from copy_
  bool again_;
  std::string head_;  // bytes looked at to recognise the format, not yet given out
  std::unique_ptr<Gzip> gzip_;
};

}  // namespace ick::detail
