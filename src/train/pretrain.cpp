#include "ick/train/pretrain.h"

#include <ATen/ATen.h>
#include <torch/optim/adamw.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "train/epochs.h"
#include "train/loader.h"
#include "train/masked_autoencoder.h"

namespace ick {

namespace {

constexpr std::int64_t kFewestImages = 10, kValidationShare = 10;  // one of ten

void check(const NetworkSpec& network, const PretrainOptions& options) {
  if (network.name != "vit" && network.name != "deepvit") {
    throw UsageError(where(network.position) + network.name +
                     " cannot be pre-trained; patches are hidden from transformers, which are vit and deepvit");
  }
  if (!(options.mask > 0.0 && options.mask < 1.0)) {
    throw UsageError("a share of " + number_text(options.mask) +
                     " of the patches cannot be hidden; expected a number between 0 and 1, as 0.75");
  }
  if (options.epochs < 1 || options.batch < 1 || options.decoder_width < 2 || options.decoder_depth < 1) {
    throw UsageError(
        "pre-training needs at least one epoch, one image in a batch, and a decoder of width 2 and depth 1");
  }
}

// One row for each image, of those that stand in no row of the holdout.
struct ImageRows {
  std::vector<std::int64_t> rows;
  std::int64_t without_image = 0;
};

ImageRows find_rows(const Table& table, const ImageSettings& settings, const std::vector<bool>& held) {
  if (table.images == nullptr) throw DataError("this table has no folder to look for images in; read it from a file");
  const std::vector<std::int64_t> image = table.images->find(table, settings);
  std::set<std::int64_t> taken;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (held[i]) taken.insert(image[i]);
  }
  ImageRows found;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    if (held[i]) continue;
    found.without_image += image[i] < 0;
    if (image[i] >= 0 && taken.insert(image[i]).second) found.rows.push_back(i);
  }
  if (std::ssize(found.rows) >= kFewestImages) return found;
  throw DataError("pre-training needs at least " + std::to_string(kFewestImages) + " different images, and there " +
                  (found.rows.size() == 1 ? "is " : "are ") + std::to_string(found.rows.size()) +
                  " in rows that are not held out");
}

Dataset dataset_of(const Table& table, const NetworkImages& images, const std::vector<std::int64_t>& rows) {
  Dataset part;
  part.x = at::empty({std::ssize(rows), 0}, at::kDouble);
  part.networks = {at::empty({std::ssize(rows), 0}, at::kFloat)};
  part.images = {encode_images(table, images, rows)};
  part.rows = rows;
  return part;
}

class Pretraining {
 public:
  Pretraining(const MaskedAutoencoder& model, const Dataset& training, const Dataset& validation,
              const Augmentation& augmentation, const PretrainOptions& options)
      : model_(model),
        training_(training),
        validation_(validation),
        options_(options),
        steps_((training.size() + options.batch - 1) / options.batch),
        loader_(training, {augmentation}, options.seed, options.loaders) {
    constexpr double kDecay = 0.05;  // the paper's
    std::vector<at::Tensor> decaying, steady;
    for (const NamedTensor& each : model.parameters()) (each.decays ? decaying : steady).push_back(each.value);
    const auto group = [&](std::vector<at::Tensor> values, double decay) {
      auto settings = torch::optim::AdamWOptions(options.learning_rate).betas({0.9, 0.95}).weight_decay(decay);
      return torch::optim::OptimizerParamGroup(std::move(values),
                                               std::make_unique<torch::optim::AdamWOptions>(settings));
    };
    optimiser_ = std::make_unique<torch::optim::AdamW>(std::vector{group(decaying, kDecay), group(steady, 0.0)});
  }

  double epoch(std::int64_t number) {  // mean loss of its images
    const std::uint64_t seed = seed_for(options_.seed, "epoch " + std::to_string(number));
    const at::Tensor order = at::tensor(shuffled(training_.size(), seed), at::kLong);
    const auto rows = [&](std::int64_t step) { return batch(order, step); };
    constexpr std::int64_t kAhead = 4;
    double sum = 0.0;
    for (std::int64_t step = 0, asked = 0; step < steps_; ++step) {
      for (; asked < std::min(step + kAhead, steps_); ++asked) loader_.ask(rows(asked), number);
      const at::Tensor x = loader_.take()[0];
      const double loss = take_step(x, masks(training_, rows(step), number), number * steps_ + step);
      if (!std::isfinite(loss)) {
        throw NumericError("the loss is not finite in epoch " + std::to_string(number + 1) + "; lower " +
                           setting("learning_rate") + " (now " + number_text(options_.learning_rate) + ")");
      }
      sum += loss * static_cast<double>(x.size(0));
    }
    return sum / static_cast<double>(training_.size());
  }

  double explained() const {  // 1 - squared error / squares, of hidden pixels of validation images
    const at::NoGradGuard no_gradient;
    const at::Tensor all = at::arange(validation_.size(), at::kLong);
    double error = 0.0, squares = 0.0;
    for (std::int64_t step = 0; step * options_.batch < validation_.size(); ++step) {
      const at::Tensor rows = batch(all, step);
      const auto [predicted, target] = model_(validation_.inputs(0, rows), masks(validation_, rows, -1));
      error += (predicted - target).to(at::kDouble).square().sum().item<double>();
      squares += target.to(at::kDouble).square().sum().item<double>();
    }
    if (squares > 0.0) return 1.0 - error / squares;
    throw DataError(
        "the patches of the images kept for validation are of one colour each; there is nothing to predict");
  }

  double waited() const { return loader_.waited(); }

 private:
  at::Tensor batch(const at::Tensor& order, std::int64_t step) const {
    const std::int64_t first = step * options_.batch;
    return order.narrow(0, first, std::min(options_.batch, order.size(0) - first));
  }

  // Other patches of a row are hidden in each epoch.
  at::Tensor masks(const Dataset& rows, const at::Tensor& index, std::int64_t epoch) const {
    std::vector<std::uint64_t> seeds;
    for (std::int64_t i = 0; i < index.size(0); ++i) {
      const std::int64_t row = rows.rows[index.data_ptr<std::int64_t>()[i]];
      seeds.push_back(seed_for(options_.seed, "mask " + std::to_string(epoch) + " " + std::to_string(row)));
    }
    return model_.draw_order(seeds);
  }

  double take_step(const at::Tensor& x, const at::Tensor& order, std::int64_t step) {
    const auto total = static_cast<double>(options_.epochs * steps_);
    const double rate = options_.learning_rate * one_cycle(static_cast<double>(step) / total);
    for (auto& group : optimiser_->param_groups()) group.options().set_lr(rate);
    const auto [predicted, target] = model_(x, order);
    const at::Tensor loss = (predicted - target).square().mean();
    optimiser_->zero_grad();
    loss.backward();
    optimiser_->step();
    return loss.item<double>();
  }

  const MaskedAutoencoder& model_;
  const Dataset &training_, &validation_;
  const PretrainOptions& options_;
  std::int64_t steps_;  // of an epoch
  Loader loader_;
  std::unique_ptr<torch::optim::AdamW> optimiser_;
};

std::string list_of(const std::vector<Scaling>& channels, double Scaling::*part) {
  std::string text;
  for (const Scaling& each : channels) text += (text.empty() ? "" : " ") + number_text(each.*part);
  return text;
}

}  // namespace

Pretrained pretrain(const Table& table, const NetworkSpec& network, const PretrainOptions& options,
                    const std::function<void(const Progress&)>& progress) {
  check(network, options);
  const NetworkPlan plan{{}, {}, network.inputs.image};
  const ImageRows found =
      find_rows(table, *plan.image, held_out(table, options.holdout, seed_for(options.seed, "holdout")));

  const auto count = std::ssize(found.rows);
  const std::vector<std::int64_t> order = shuffled(count, seed_for(options.seed, "validation"));
  std::vector<std::int64_t> rows[2];  // training, validation; each in the order of the table
  for (std::int64_t i = 0; i < count; ++i) rows[order[i] < count / kValidationShare].push_back(found.rows[i]);
  std::vector<bool> use(table.rows, false);
  for (const std::int64_t row : rows[0]) use[row] = true;
  const NetworkImages images = *fit_network_inputs(table, plan, use, options.seed).image;
  const Dataset training = dataset_of(table, images, rows[0]), validation = dataset_of(table, images, rows[1]);

  NetworkContext context;
  context.inputs = 0;
  context.image = images.shape;
  context.seed = seed_for(options.seed, "encoder");
  const auto made = make_network(network, context);
  const Vit& vit = dynamic_cast<const Vit&>(*made);
  if (vit.patches() < 2) {
    throw UsageError(where(network.position) +
                     "the images are one patch each, and one of two has to be hidden; give a smaller patch");
  }
  const MaskedAutoencoder model(
      vit, {options.mask, options.decoder_width, options.decoder_depth, seed_for(options.seed, "decoder")});
  Pretraining run(model, training, validation, network.augmentation, options);

  Pretrained result;
  result.images = training.size(), result.validation_images = validation.size();
  result.without_image = found.without_image;
  const auto start = std::chrono::steady_clock::now();
  Progress said;
  said.phase = "pretrain", said.measure = "explained", said.epochs = options.epochs;
  said.best = -std::numeric_limits<double>::infinity();
  for (std::int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    result.loss = run.epoch(epoch);
    result.explained = run.explained();
    said.epoch = epoch + 1, said.loss = result.loss, said.validation = result.explained;
    said.best = std::max(said.best, said.validation);
    said.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double each = said.seconds / static_cast<double>(said.epoch);
    said.seconds_left = each * static_cast<double>(options.epochs - said.epoch);
    said.rows_per_second = static_cast<double>(training.size()) / each;
    said.waiting = run.waited() / said.seconds;
    if (progress) progress(said);
  }

  for (const NamedTensor& each : vit.encoder()) result.tensors.emplace_back(each.path, each.value.detach());
  result.metadata = {{"format", kPretrainedFormat},
                     {"call", network.text},
                     {"channel_means", list_of(images.channels, &Scaling::mean)},
                     {"channel_deviations", list_of(images.channels, &Scaling::sd)},
                     {"explained", number_text(result.explained)}};
  for (const auto& [name, value] : vit.settings()) result.metadata[name] = value;
  return result;
}

}  // namespace ick
