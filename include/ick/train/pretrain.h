#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "ick/net/network.h"
#include "ick/table/split.h"
#include "ick/table/table.h"
#include "ick/train/fit_hooks.h"

namespace ick {

struct PretrainOptions {
  std::uint64_t seed = 0;
  std::int64_t epochs = 50;
  std::int64_t batch = 128;      // images
  double mask = 0.75;            // share of the patches that is hidden
  double learning_rate = 0.001;  // at its highest
  std::int64_t decoder_width = 64, decoder_depth = 1;
  Split holdout;    // rows whose images have no part in it
  int loaders = 2;  // threads that decode images

  bool operator==(const PretrainOptions&) const = default;

  template <class Table>
  static void declare(Table& table) {
    using Self = PretrainOptions;
    table("seed", &Self::seed, {.text = "Seed of everything random"});
    table("epochs", &Self::epochs, {.range = {{1, 1e6}}, .text = "Passes over the images"});
    table("batch", &Self::batch, {.range = {{1, 1e7}}, .text = "Images in a mini-batch"});
    table("mask", &Self::mask, {.range = {{0, 1, true}}, .text = "Share of the patches that is hidden"});
    table("learning_rate", &Self::learning_rate,
          {.range = {{0, 1e3, true}}, .text = "Largest learning rate of the schedule"});
    table("decoder_width", &Self::decoder_width,
          {.range = {{2, 65536}}, .text = "Width of a token in the decoder, which is thrown away after training"});
    table("decoder_depth", &Self::decoder_depth, {.range = {{1, 1000}}, .text = "Transformer blocks of the decoder"});
    table("holdout", &Self::holdout, {.text = "Rows whose images are not used, written as for fit"});
    table("loaders", &Self::loaders,
          {.group = OptionGroup::running, .range = {{1, 256}}, .text = "Threads that decode images ahead of training"});
  }
};

// What a transformer on images starts from: vit(image, start="encoder.safetensors").
struct Pretrained {
  TensorState tensors;                          // (1, ...) by path below the network
  std::map<std::string, std::string> metadata;  // format, call, settings, how channels were standardised
  std::int64_t images = 0, validation_images = 0;
  std::int64_t without_image = 0;  // rows
  double loss = 0.0;               // mean squared error of the last epoch
  double explained = 0.0;          // share of the variance of hidden pixels, of images kept for validation
};

// A masked autoencoder (He et al. 2022): most patches of each image are hidden, the network sees the others, and a
// small decoder, which is thrown away, predicts the hidden ones. `network` is a vit or deepvit on images, as in a
// formula; other columns that it reads have no part. Each image counts once, in however many rows it stands; images
// that a row of the holdout shows are not decoded. UsageError for another network or a mask outside (0, 1); DataError
// for fewer than ten images, or when none of them has anything to predict.
Pretrained pretrain(const Table& table, const NetworkSpec& network, const PretrainOptions& options = {},
                    const std::function<void(const Progress&)>& progress = {});

}  // namespace ick
