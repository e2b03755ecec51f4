#include <algorithm>
#include <array>

#include "ick/net/network.h"
#include "net/mlp.h"

namespace ick {

namespace {

// A new network is a header, a source and a row here.
constexpr std::array kNetworks = {
    NetworkRow{"mlp", "fully connected layers on columns of numbers", kMlpArguments, make_mlp},
};

}  // namespace

std::span<const NetworkRow> network_table() { return kNetworks; }

const NetworkRow* find_network(std::string_view name) {
  const auto* found =
      std::find_if(kNetworks.begin(), kNetworks.end(), [&](const auto& row) { return row.name == name; });
  return found == kNetworks.end() ? nullptr : found;
}

}  // namespace ick
