#pragma once

#include <array>
#include <memory>

#include "ick/net/network.h"

namespace ick {

inline constexpr std::array kResnetArguments = {
    NetworkArgument{"blocks", "blocks of each stage; every stage but the first halves height and width", "[2, 2, 2]"},
    NetworkArgument{"width", "channels of the first stage; every later one has twice as many", "16"}};

// He et al. 2016, the small kind: a convolution, stages of basic blocks, the mean over all pixels, a linear layer.
//   h <- relu(norm(W_2 * relu(norm(W_1 * h))) + s(h)),   s a 1 x 1 convolution with norm where the shape changes
std::unique_ptr<Network> make_resnet(const NetworkSpec& network, const NetworkContext& context);

}  // namespace ick
