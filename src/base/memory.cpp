#include "ick/base/memory.h"

#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace ick {

namespace {

// The first number in a file, or after `name` in it; infinite when there is none ("max", no such file).
double number_in(const std::string& path, const std::string& name = "") {
  std::ifstream file(path);
  std::string word;
  double number = 0.0;
  while (!name.empty() && file >> word && word != name) {
  }
  return file >> number ? number : std::numeric_limits<double>::infinity();
}

}  // namespace

// A container may have less than the machine.
double free_bytes() {
  const double machine = 1024.0 * number_in("/proc/meminfo", "MemAvailable:");
  const double limit = number_in("/sys/fs/cgroup/memory.max"), used = number_in("/sys/fs/cgroup/memory.current");
  const double cache = number_in("/sys/fs/cgroup/memory.stat", "inactive_file");  // given back when asked for
  const bool limited = limit < std::numeric_limits<double>::infinity();
  const double container = limited ? limit - used + (cache < limit ? cache : 0.0) : limit;
  return std::min(machine, container);
}

void keep_large_buffers() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

}  // namespace ick
