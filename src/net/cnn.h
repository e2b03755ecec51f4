#pragma once

#include <array>
#include <memory>

#include "ick/net/network.h"

namespace ick {

inline constexpr std::array kCnnArguments = {
    NetworkArgument{"channels", "channels of each block; every block halves height and width", "[64, 64]"},
    NetworkArgument{"kernel", "height and width of the convolutions, odd", "3"},
    NetworkArgument{"pool", "most pixels of height and width before the dense layers, by averages", "7"},
    NetworkArgument{"layers", "widths of the dense layers, or none", "[512, 512]"},
    NetworkArgument{"norm", "batch, group (at most 8, of 4 channels or more) or none, behind each convolution",
                    "batch"},
    NetworkArgument{"activation", "relu, gelu, silu, tanh or erf", "relu"},
    NetworkArgument{"dropout", "share of dense units left out in training, from 0 to below 1", "0"}};

// Convolutional blocks, then dense layers, the last one linear:
//   h_l = pool2(phi(norm(W_l * h_{l-1} + b_l))),   dense layers on the averages over pool x pool parts of h_L
std::unique_ptr<Network> make_cnn(const NetworkSpec& network, const NetworkContext& context);

}  // namespace ick
