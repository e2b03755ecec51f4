#include "net/torchscript.h"

#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <exception>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ick/base/error.h"
#include "ick/base/file.h"
#include "ick/base/seed.h"
#include "net/arguments.h"
#include "net/embedding_cache.h"
#include "net/parts.h"
#include "net/script_check.h"

namespace ick {

namespace {

// One line: an error inside a script ends with its kind and the reason, behind the lines of the script; another begins
// with it.
std::string reason_of(const std::exception& error) {
  const auto* own = dynamic_cast<const c10::Error*>(&error);
  std::string text = own ? own->what_without_backtrace() : error.what();
  constexpr std::string_view kInside = "RuntimeError: ";
  if (const auto found = text.rfind(kInside); found != std::string::npos) text.erase(0, found + kInside.size());
  return text.substr(0, text.find('\n'));
}

class Torchscript : public ImageNetwork {
 public:
  struct Options {
    std::string name;  // of the file, for messages
    at::Tensor bytes;  // uint8
    bool train = false;
    std::vector<std::int64_t> layers;
    Activation activation;
    double dropout = 0.0;
  };

  Torchscript(const Options& options, const NetworkContext& context) : ImageNetwork(context), name_(options.name) {
    TensorList list(context);
    load(options.bytes);
    list.keep_buffer({"script", options.bytes, false});
    const at::Tensor output = probe();
    width_ = output.size(1);
    for (const auto& [path, value] : module_.named_parameters()) {
      value.set_requires_grad(false);
      if (!options.train || !value.is_floating_point()) continue;
      const at::Tensor all = value.unsqueeze(0).repeat(repeats(value)).requires_grad_(true);
      list.keep({"script." + path, all, value.dim() > 1});
      learned_.push_back({owner_of(path), path.substr(path.rfind('.') + 1), all});
    }
    if (options.train && learned_.empty()) {
      throw DataError(name_ +
                      ": this script has no parameters to train, as torch.jit.freeze leaves it; save it without, " +
                      "or leave train=yes out");
    }
    const double square = std::max(1e-6, output.square().mean().item<double>());
    finish(list, Readout(list, output.size(1), options.layers, options.activation, options.dropout, square));
  }

 protected:
  at::Tensor embed(const at::Tensor& x, const std::optional<at::Generator>&) const override {
    if (learned_.empty()) {
      const at::NoGradGuard no_gradient;
      return run_or_recall(x.to(at::kFloat).contiguous()).to(x.scalar_type()).expand({members_, -1, -1});
    }
    std::vector<std::vector<at::Tensor>> values;  // by parameter, by member
    for (const Learned& each : learned_) values.push_back(unbind_members(each.all, members_));
    std::vector<at::Tensor> embedded;
    for (std::size_t e = 0; e < static_cast<std::size_t>(members_); ++e) {
      for (std::size_t k = 0; k < learned_.size(); ++k) learned_[k].owner.setattr(learned_[k].name, values[k][e]);
      embedded.push_back(run(x));
    }
    return stack_members(embedded);
  }

 private:
  struct Learned {
    torch::jit::Module owner;  // the part of the script that has it
    std::string name;
    at::Tensor all;  // (E, ...)
  };

  void load(const at::Tensor& bytes) {
    const at::Tensor flat = bytes.contiguous();
    const std::string archive(reinterpret_cast<const char*>(flat.data_ptr<std::uint8_t>()),
                              static_cast<std::size_t>(flat.numel()));
    const std::int64_t shape[] = {image_.channels, image_.height, image_.width};
    key_ = EmbeddingCache::key(flat.data_ptr(), flat.nbytes(), EmbeddingCache::key(shape, sizeof shape));
    std::string found;  // that the script must not have
    try {
      found = code_run_by_loading(archive);
      if (found.empty()) {
        std::istringstream in(archive);
        module_ = torch::jit::load(in, at::Device(at::kCPU));
        found = operation_beyond_tensors(module_);
      }
    } catch (const std::exception& error) {
      unreadable(error);
    }
    if (!found.empty()) {
      throw DataError(name_ + ": this script uses " + found +
                      ", which can do more than compute with tensors, so it is not run; save a network without it");
    }
    try {
      module_.to(at::kFloat);
      module_.eval();
    } catch (const std::exception& error) {
      unreadable(error);
    }
  }

  [[noreturn]] void unreadable(const std::exception& error) const {
    throw DataError(name_ + ": this is not a script that torch can read (" + reason_of(error) +
                    "); write one with torch.jit.script(network).save(\"" + name_ + "\")");
  }

  // The script's outputs (2, D) for two images of noise: that they fit, and how large they are.
  at::Tensor probe() const {
    Random random(seed_for(0, "torchscript"));
    const at::Tensor noise = at::empty({2, image_.channels, image_.height, image_.width}, at::kFloat);
    std::generate_n(noise.data_ptr<float>(), noise.numel(), [&] { return static_cast<float>(random.normal()); });
    const at::NoGradGuard no_gradient;
    const at::Tensor output = run(noise);
    if (output.dim() != 2 || output.size(0) != 2 || output.size(1) < 1) {
      std::ostringstream found;
      found << output.sizes();
      throw DataError(name_ + ": from 2 images this script makes a tensor of shape " + found.str() +
                      ", where (2, D) was expected, a row of numbers for each; end it with flatten(1)");
    }
    return output;
  }

  at::Tensor run(const at::Tensor& x) const {
    torch::jit::Module module = module_;  // a handle
    c10::IValue output;
    try {
      output = module.forward({x});
    } catch (const std::exception& error) {
      throw DataError(name_ + ": this script fails on images of " + std::to_string(image_.channels) + " x " +
                      std::to_string(image_.height) + " x " + std::to_string(image_.width) +
                      " (channels, height and width): " + reason_of(error));
    }
    if (!output.isTensor() || !output.toTensor().is_floating_point()) {
      throw DataError(name_ + ": this script gives a value of type " + output.tagKind() +
                      " where a tensor (B, D) of real numbers was expected; let its forward return that alone");
    }
    return output.toTensor();
  }

  // The frozen script's outputs (B, D). It runs on the rows that no network of the same script has seen: in use, norms
  // have the statistics they came with, and what is made of a row does not depend on the others.
  at::Tensor run_or_recall(const at::Tensor& x) const {
    EmbeddingCache& cache = EmbeddingCache::of_process();
    const auto width = static_cast<std::size_t>(width_), bytes = static_cast<std::size_t>(image_.numbers()) * 4;
    const auto row = [&](const at::Tensor& all, std::int64_t i) {
      return std::span(all.data_ptr<float>() + i * width_, width);
    };
    at::Tensor outputs = at::empty({x.size(0), width_}, at::kFloat);
    std::vector<EmbeddingCache::Key> keys;  // of the rows that are not known
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < x.size(0); ++i) {
      const auto key = EmbeddingCache::key(x.data_ptr<float>() + i * image_.numbers(), bytes, key_);
      if (cache.find(key, row(outputs, i))) continue;
      keys.push_back(key);
      rows.push_back(i);
    }
    if (rows.empty()) return outputs;
    const at::Tensor index = at::tensor(rows, at::kLong);
    const at::Tensor made = run(x.index_select(0, index)).to(at::kFloat).contiguous();
    outputs.index_copy_(0, index, made);
    for (std::size_t k = 0; k < keys.size(); ++k) cache.keep(keys[k], row(made, static_cast<std::int64_t>(k)));
    return outputs;
  }

  std::vector<std::int64_t> repeats(const at::Tensor& value) const {
    std::vector<std::int64_t> times(static_cast<std::size_t>(value.dim()) + 1, 1);
    times[0] = members_;
    return times;
  }

  torch::jit::Module owner_of(const std::string& path) const {  // features.0.weight: that of features.0
    torch::jit::Module owner = module_;
    std::istringstream in(path.substr(0, path.rfind('.') == std::string::npos ? 0 : path.rfind('.')));
    for (std::string part; std::getline(in, part, '.');) owner = owner.attr(part).toModule();
    return owner;
  }

  std::string name_;
  torch::jit::Module module_;
  EmbeddingCache::Key key_;               // of the script and the images' shape
  std::int64_t width_ = 0;                // D
  mutable std::vector<Learned> learned_;  // setattr() of a handle is not const
};

}  // namespace

std::unique_ptr<Network> make_torchscript(const NetworkSpec& network, const NetworkContext& context) {
  const Arguments arguments(network, kTorchscriptArguments);
  arguments.check_sizes(context, Reads::image);
  Torchscript::Options options;
  options.name = arguments.text("file", "backbone.pt");
  options.train = arguments.choice("train", {"no", "yes"}, 0) == 1;
  options.layers = arguments.widths_or_none("layers", {});
  options.activation = activation_of(arguments, "gelu");
  options.dropout = arguments.share("dropout", 0.0);
  if (context.stored) {
    if (!context.trust) {
      arguments.fail("file",
                     "the stored model carries this TorchScript, a program that could run any code as you; load "
                     "it with trust only if you trust the place it comes from");
    }
    options.bytes = context.stored("script");
    if (!options.bytes.defined()) throw DataError("there is no tensor for the script of " + options.name);
  } else {
    const std::string bytes = read_file(options.name);
    options.bytes = at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
    std::copy(bytes.begin(), bytes.end(), options.bytes.data_ptr<std::uint8_t>());
  }
  return std::make_unique<Torchscript>(options, context);
}

}  // namespace ick
