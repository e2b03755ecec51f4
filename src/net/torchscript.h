#pragma once

#include <array>
#include <memory>

#include "ick/net/network.h"

namespace ick {

inline constexpr std::array kTorchscriptArguments = {
    NetworkArgument{"file", "a script as torch.jit.save writes it, (B, C, H, W) -> (B, D) in float32", ""},
    NetworkArgument{"train", "yes: its parameters are learned further; no: they stay", "no"},
    NetworkArgument{"layers", "widths of dense layers on its output, or none", "none"},
    NetworkArgument{"activation", "relu, gelu, silu, tanh or erf, of those layers", "gelu"},
    NetworkArgument{"dropout", "share of their units left out in training, from 0 to below 1", "0"}};

// Dense layers, the last one linear, on a network from elsewhere. The script is always run as in use: its norms keep
// the statistics they came with, its dropout is off. One that is not trained sees each image once, however many members
// and networks of the process read it. The file's bytes are the buffer "script".
std::unique_ptr<Network> make_torchscript(const NetworkSpec& network, const NetworkContext& context);

}  // namespace ick
