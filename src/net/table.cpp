#include <algorithm>
#include <array>

#include "ick/net/network.h"
#include "net/cnn.h"
#include "net/mlp.h"
#include "net/resnet.h"
#include "net/torchscript.h"
#include "net/vit.h"

namespace ick {

namespace {

// A new network is a header, a source and a row here.
constexpr std::array kNetworks = {
    NetworkRow{"mlp", "fully connected layers on columns of numbers", kMlpArguments, make_mlp},
    NetworkRow{"cnn", "blocks of convolution, norm, activation and pooling on images; dense layers", kCnnArguments,
               make_cnn, Reads::image},
    NetworkRow{"resnet", "residual convolutional blocks on images", kResnetArguments, make_resnet, Reads::image},
    NetworkRow{"vit", "attention among patches of images", kVitArguments, make_vit, Reads::image},
    NetworkRow{"deepvit", "the same with attention maps mixed across heads", kVitArguments, make_deepvit, Reads::image},
    NetworkRow{"torchscript", "a network on images from elsewhere, by its file", kTorchscriptArguments,
               make_torchscript, Reads::image, /*brings_code=*/true},
};

}  // namespace

std::span<const NetworkRow> network_table() { return kNetworks; }

const NetworkRow* find_network(std::string_view name) {
  const auto* found =
      std::find_if(kNetworks.begin(), kNetworks.end(), [&](const auto& row) { return row.name == name; });
  return found == kNetworks.end() ? nullptr : found;
}

std::unique_ptr<Network> make_network(const NetworkSpec& network, const NetworkContext& context) {
  return find_network(network.name)->make(network, context);
}

bool brings_code(const Expression& expression) {
  if (expression.kind != Expression::Kind::call)
    return std::any_of(expression.operands.begin(), expression.operands.end(), brings_code);
  const NetworkRow* const network = find_network(expression.call.name);
  return network != nullptr && network->brings_code;
}

}  // namespace ick
