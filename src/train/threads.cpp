#include "ick/train/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "ick/base/parallel.h"

namespace ick {

int default_threads() {
  const auto number = [](const char* name) {
    const char* const text = std::getenv(name);
    return text != nullptr ? std::atoi(text) : 0;
  };
  if (const int stated = number("OMP_NUM_THREADS"); stated > 0) return stated;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / std::max(1, number("LOCAL_WORLD_SIZE")));
}

void use_torch_threads(int threads) {
  at::set_num_threads(threads);
  using Set = void (*)(int);
  if (const auto set = reinterpret_cast<Set>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) set(threads);
}

int torch_threads() { return at::get_num_threads(); }

ThreadScope::ThreadScope(int threads) : workers_(workers()), tensors_(torch_threads()) {
  set_workers(threads > 0 ? threads : default_threads());
  if (threads > 0) use_torch_threads(threads);
}

ThreadScope::~ThreadScope() {
  set_workers(workers_);
  if (torch_threads() != tensors_) use_torch_threads(tensors_);
}

}  // namespace ick
