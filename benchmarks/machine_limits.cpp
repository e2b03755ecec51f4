#include <algorithm>
#include <chrono>

#include "kernel/lanes.h"

namespace ick {

double exp_limit() {
  alignas(64) double data[1024];
  for (int i = 0; i < 1024; ++i) data[i] = -0.01 * i;
  constexpr int kRepeats = 200;
  double best = 0.0;
  for (int run = 0; run < 30; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    Lanes total[4] = {0.0, 0.0, 0.0, 0.0};
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      for (int i = 0; i < 1024; i += 4 * Lanes::kWidth) {
        for (int k = 0; k < 4; ++k) total[k] = total[k] + exp(Lanes::load(data + i + k * Lanes::kWidth));
      }
      data[repeat] -= 1e-9;
    }
    volatile const double sink = (total[0] + total[1] + total[2] + total[3]).total();
    (void)sink;
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    best = std::max(best, 1024.0 * kRepeats / time.count());
  }
  return best;
}

}  // namespace ick
