#pragma once

namespace ick {

// One for each core, of which processes on one machine share what there are, unless OMP_NUM_THREADS says how many.
int default_threads();

// Threads of tensors and of matrix products: OpenBLAS, where it is the one that multiplies, counts its own.
void use_torch_threads(int threads);
int torch_threads();

// Threads for as long as it lives: workers of the fast path, and of tensors when a number is given; 0: all cores.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int workers_, tensors_;  // before
};

}  // namespace ick
