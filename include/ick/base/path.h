#pragma once

namespace ick {

// How numbers are computed: by fused code on the CPU where that exists, or by composed tensor operations with autograd.
// Both give the same numbers to rounding.
enum class Path { fused, reference };

}  // namespace ick
