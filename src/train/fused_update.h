#pragma once

#include <cstdint>

// One pass over memory for a step of an optimiser, on flat buffers. Torch-free.
namespace ick {

struct AdamSettings {
  double rate = 1e-3;
  double decay = 0.0;
  bool decoupled = true;  // AdamW: weights shrink by themselves; else decay is part of the gradient
  std::int64_t step = 1;  // from 1
};

// m <- b1 m + (1 - b1) g,   v <- b2 v + (1 - b2) g^2,   w <- w - rate m / (1 - b1^n) / (sqrt(v / (1 - b2^n)) + 1e-8)
// with b1 = 0.9, b2 = 0.999, after n steps.
template <class Number>
void fused_adam(const AdamSettings& settings, std::int64_t count, const Number* gradient, Number* value, Number* first,
                Number* second);

// b <- momentum b + g,   w <- w - rate b, with g <- g + decay w before.
template <class Number>
void fused_sgd(double rate, double momentum, double decay, std::int64_t count, const Number* gradient, Number* value,
               Number* buffer);

}  // namespace ick
