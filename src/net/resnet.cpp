#include "net/resnet.h"

#include <ATen/ATen.h>

#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "net/arguments.h"
#include "net/parts.h"

namespace ick {

namespace {

struct Block {
  Convolution first, second, shortcut;  // the shortcut's weight is undefined where the shape stays

  at::Tensor operator()(const at::Tensor& h, bool training) const {
    const at::Tensor inner = at::relu(first(h, training));
    return at::relu(second(inner, training) + (shortcut.weight.defined() ? shortcut(h, training) : h));
  }

  std::vector<Block> members() const {
    const std::vector<Convolution> firsts = first.members(), seconds = second.members();
    std::vector<Convolution> shortcuts(firsts.size());
    if (shortcut.weight.defined()) shortcuts = shortcut.members();
    std::vector<Block> members;
    for (std::size_t e = 0; e < firsts.size(); ++e) members.push_back({firsts[e], seconds[e], shortcuts[e]});
    return members;
  }
};

class Resnet : public ImageNetwork {
 public:
  Resnet(const std::vector<std::int64_t>& blocks, std::int64_t width, const NetworkContext& context)
      : ImageNetwork(context) {
    TensorList list(context);
    const auto convolution = [&](const std::string& path, Convolution::Options own) {
      own.norm = ImageNorm::batch;
      own.weight_variance = 2.0 / static_cast<double>(own.in * own.kernel * own.kernel);  // He et al. 2015
      return Convolution(list, path, own);
    };
    stem_ = convolution("stem", {.in = image_.channels, .out = width});
    std::int64_t in = width, height = image_.height, columns = image_.width;
    for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
      const std::int64_t out = width << stage;
      for (std::int64_t b = 0; b < blocks[stage]; ++b) {
        const std::string path = "stage" + std::to_string(stage + 1) + ".block" + std::to_string(b + 1);
        const std::int64_t stride = stage > 0 && b == 0 ? 2 : 1;
        Block block;
        block.first = convolution(path + ".first", {.in = in, .out = out, .stride = stride});
        // Blocks start as their shortcuts (Goyal et al. 2017): the variance does not grow with depth.
        block.second = convolution(path + ".second", {.in = out, .out = out, .scale_start = 0.0});
        if (stride > 1 || in != out) {
          block.shortcut = convolution(path + ".shortcut", {.in = in, .out = out, .kernel = 1, .stride = stride});
        }
        blocks_.push_back(std::move(block));
        in = out, height = (height - 1) / stride + 1, columns = (columns - 1) / stride + 1;
      }
    }
    // The mean over pixels of relu(z), z ~ N(0, 1) as the norms make it, taken as independent:
    //   E[relu(z)]^2 = 1 / (2 pi),   E[relu(z)^2] = 1/2
    constexpr double kMeanSquare = 0.5 * std::numbers::inv_pi;
    const double square = kMeanSquare + (0.5 - kMeanSquare) / static_cast<double>(height * columns);
    finish(list, Readout(list, in, {}, *find_activation("relu"), 0.0, square));
  }

 protected:
  at::Tensor embed(const at::Tensor& x, const std::optional<at::Generator>& training) const override {
    const std::vector<Convolution> stems = stem_.members();
    std::vector<std::vector<Block>> blocks;  // by block, by member
    for (const Block& block : blocks_) blocks.push_back(block.members());
    std::vector<at::Tensor> embedded;
    for (std::size_t e = 0; e < stems.size(); ++e) {
      at::Tensor h = at::relu(stems[e](x, training.has_value()));
      for (const auto& block : blocks) h = block[e](h, training.has_value());
      embedded.push_back(h.mean({2, 3}));
    }
    return stack_members(embedded);
  }

 private:
  Convolution stem_;
  std::vector<Block> blocks_;
};

}  // namespace

std::unique_ptr<Network> make_resnet(const NetworkSpec& network, const NetworkContext& context) {
  const Arguments arguments(network, kResnetArguments);
  arguments.check_sizes(context, Reads::image);
  const std::vector<std::int64_t> blocks = arguments.whole_numbers("blocks", {2, 2, 2}, 1000);
  const std::int64_t width = arguments.whole_number("width", 16);
  std::int64_t channels = width;
  for (std::size_t stage = 1; stage < blocks.size() && channels <= kMostUnits; ++stage) channels *= 2;
  if (channels > kMostUnits) {
    arguments.fail("blocks", "the last of " + std::to_string(blocks.size()) + " stages would have more than " +
                                 std::to_string(kMostUnits) + " channels, as each has twice those of the one before; " +
                                 "give fewer stages or a smaller width");
  }
  return std::make_unique<Resnet>(blocks, width, context);
}

}  // namespace ick
