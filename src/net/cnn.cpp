#include "net/cnn.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "ick/base/seed.h"
#include "net/arguments.h"
#include "net/parts.h"

namespace ick {

namespace {

struct CnnOptions {
  std::vector<std::int64_t> channels, layers;
  std::int64_t kernel = 3, pool = 7;
  ImageNorm norm = ImageNorm::batch;
  Activation activation;
  double dropout = 0.0;
};

// A unit h at the start, at one place and at two far from each other.
struct UnitLaw {
  double square = 1.0;  // E[h^2]
  double common = 0.0;  // E[h h'] / E[h^2]
};

// Moments of h = max of phi(z) over the four places of a window, z ~ N(0, 1) with correlation `common` between places.
// By a fixed sample: constants to a hundredth.
UnitLaw pooled_unit(const Activation& phi, double common) {
  constexpr std::int64_t kDraws = 16384, kWindows = 2, kPlaces = 4;
  Random random(seed_for(0, "pooled_unit"));
  const at::Tensor draws = at::empty({kDraws, kWindows * kPlaces + 1}, at::kDouble);
  std::generate_n(draws.data_ptr<double>(), draws.numel(), [&] { return random.normal(); });
  const at::Tensor shared = draws.narrow(1, 0, 1), own = draws.narrow(1, 1, kWindows * kPlaces);
  const at::Tensor z = std::sqrt(common) * shared + std::sqrt(1.0 - common) * own;
  const at::Tensor h = phi.value(z).view({kDraws, kWindows, kPlaces}).amax(2);
  const double square = h.square().mean().item<double>();
  return {square, std::max(0.0, h.prod(1).mean().item<double>() / square)};
}

// Mean number of the k taps of a kernel that lie inside n pixels; the others meet zeros.
double taps_inside(std::int64_t n, std::int64_t k) {
  std::int64_t count = 0;
  for (std::int64_t shift = -(k / 2); shift <= k / 2; ++shift) count += std::max<std::int64_t>(0, n - std::abs(shift));
  return static_cast<double>(count) / static_cast<double>(n);
}

class Cnn : public ImageNetwork {
 public:
  // Every z = W * h + b starts with variance one over members, for images whose pixels are independent and standard
  // normal. Smooth images have smaller maxima, and a little less.
  Cnn(const CnnOptions& options, const NetworkContext& context)
      : ImageNetwork(context), activation_(options.activation) {
    TensorList list(context);
    const bool batch = options.norm == ImageNorm::batch;
    const double bias_share = batch ? 0.0 : kBiasShare;  // a norm of the batch takes the bias away
    UnitLaw unit;
    std::int64_t in = image_.channels, height = image_.height, width = image_.width;
    for (std::size_t l = 0; l < options.channels.size(); ++l) {
      Convolution::Options own{.in = in, .out = options.channels[l], .kernel = options.kernel, .norm = options.norm};
      const double taps = taps_inside(height, own.kernel) * taps_inside(width, own.kernel);
      own.weight_variance = (1.0 - bias_share) / (static_cast<double>(in) * taps * unit.square);
      own.bias_variance = bias_share;
      blocks_.emplace_back(list, "block" + std::to_string(l + 1), own);
      unit = pooled_unit(activation_, batch ? 0.0 : bias_share + (1.0 - bias_share) * unit.common);
      in = own.out, height /= 2, width /= 2;
    }
    rows_ = std::min(options.pool, height), columns_ = std::min(options.pool, width);
    const double averaged = static_cast<double>(height * width) / static_cast<double>(rows_ * columns_);
    const double square = unit.square * (unit.common + (1.0 - unit.common) / averaged);
    finish(list, Readout(list, in * rows_ * columns_, options.layers, activation_, options.dropout, square));
  }

 protected:
  at::Tensor embed(const at::Tensor& x, const std::optional<at::Generator>& training) const override {
    std::vector<std::vector<Convolution>> blocks;  // by block, by member
    for (const Convolution& block : blocks_) blocks.push_back(block.members());
    std::vector<at::Tensor> embedded;
    for (std::size_t e = 0; e < static_cast<std::size_t>(members_); ++e) {
      at::Tensor h = x;
      for (const auto& block : blocks) h = pooled(block[e](h, training.has_value()));
      embedded.push_back(at::adaptive_avg_pool2d(h, {rows_, columns_}).flatten(1));
    }
    return stack_members(embedded);
  }

 private:
  // A function that never falls has its largest value at the largest argument: it is then taken of a quarter of them.
  at::Tensor pooled(const at::Tensor& z) const {
    return activation_.monotone ? activation_.value(at::max_pool2d(z, 2)) : at::max_pool2d(activation_.value(z), 2);
  }

  std::int64_t rows_ = 1, columns_ = 1;  // height and width before the dense layers
  Activation activation_;
  std::vector<Convolution> blocks_;
};

}  // namespace

std::unique_ptr<Network> make_cnn(const NetworkSpec& network, const NetworkContext& context) {
  const Arguments arguments(network, kCnnArguments);
  arguments.check_sizes(context, Reads::image);
  CnnOptions options;
  options.channels = arguments.whole_numbers("channels", {64, 64});
  options.kernel = arguments.whole_number("kernel", 3, 99);
  options.pool = arguments.whole_number("pool", 7);
  options.layers = arguments.widths_or_none("layers", {512, 512});
  options.norm = static_cast<ImageNorm>(arguments.choice("norm", {"batch", "group", "none"}, 0));
  options.activation = activation_of(arguments, "relu");
  options.dropout = arguments.share("dropout", 0.0);
  if (options.kernel % 2 == 0) {
    arguments.fail("kernel", "kernel = " + std::to_string(options.kernel) + " is even; give an odd number, as 3 or 5");
  }
  std::size_t halvings = 0;
  for (std::int64_t side = std::min(context.image.height, context.image.width); side > 1; side /= 2) ++halvings;
  if (options.channels.size() > halvings) {
    arguments.fail("channels", "cnn has " + std::to_string(options.channels.size()) +
                                   " blocks, each of which halves the image, but " +
                                   std::to_string(context.image.height) + " x " + std::to_string(context.image.width) +
                                   " pixels can be halved " + std::to_string(halvings) +
                                   " times; give fewer channels, as in channels=[64], or larger images");
  }
  return std::make_unique<Cnn>(options, context);
}

}  // namespace ick
