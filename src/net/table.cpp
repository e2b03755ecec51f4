#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "ick/base/error.h"
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

// Room for those of other programs: rows stay where they are.
constexpr std::size_t kMostAdded = 256;

std::vector<NetworkRow>& all_rows() {
  static std::vector<NetworkRow> rows = [] {
    std::vector<NetworkRow> own;
    own.reserve(kNetworks.size() + kMostAdded);
    own.assign(kNetworks.begin(), kNetworks.end());
    return own;
  }();
  return rows;
}

}  // namespace

std::span<const NetworkRow> network_table() { return all_rows(); }

const NetworkRow* find_network(std::string_view name) {
  for (const NetworkRow& row : all_rows()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

void add_network(const NetworkRow& row) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (find_network(row.name) != nullptr) {
    throw UsageError("there is a network named \"" + std::string(row.name) + "\" already; give another name");
  }
  std::vector<NetworkRow>& rows = all_rows();
  if (rows.size() == rows.capacity())
    throw UsageError("no more than " + std::to_string(kMostAdded) + " networks can be added");
  rows.push_back(row);
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
