#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ick/dataset/encoder.h"
#include "ick/model/spec.h"
#include "ick/net/network.h"

namespace ick {

// Rows of a mini-batch.
struct Batch {
  at::Tensor x;                           // (B, D) in float64
  std::vector<at::Tensor> networks;       // (B, F) in float32, for each network; of images pixels first
  at::Tensor y;                           // (B), or (E, B) when members see different targets, in float64; or undefined
  std::vector<at::Tensor> features = {};  // kernel features of each term, (1 or E, B, p), when known already
  at::Tensor weights = {};                // (1 or E, B) of the rows in the loss, in float32; undefined: all one
  at::Tensor offset = {};                 // (B) added to the function; undefined: nothing
  at::Tensor error = {};                  // (B) known variances of the measurement; undefined: none
  std::int64_t whole = 0;                 // rows of the step that these are a share of; 0: all
};

Batch batch_of(const Dataset& rows, std::int64_t first, std::int64_t count);  // consecutive rows

struct ModelOptions {
  std::int64_t members = 1;  // E
  std::int64_t outputs = 1;  // C: functions that one model has, one for each class
  bool own_kernels = false;  // each of them has kernel parameters of its own
  std::uint64_t seed = 0;
  std::vector<std::int64_t> layers = {128, 64};  // hidden widths of networks that do not say
  Path path = Path::fused;                       // code path of feature maps
  bool stated_in_units = true;                   // variances in a formula are in the target's units, squared
};

// Features of a spec's terms, where they are chosen, to no more than the rank of the kernels: of the largest, where a
// term has several products.
void limit_features(ModelSpec& spec, const Encoder& encoder);

// What a variance that the formula states is measured in: that of the target, shared among the products.
double stated_variance_unit(const ModelSpec& spec, const Encoder& encoder);

// What last layers are drawn from, for those who solve for them.
enum class LayerPrior {
  start,  // what the networks were drawn from; the model has no bias
  even,   // weights and biases of a layer alike, N(0, 1 / (H + 1)), for hidden units that have been trained
};

// The composite model, E members at once, in standardised units of the target:
//   f_c(x) = bias_c + T^-1/2 sum_t sum_k prod_a f_tack(x_a) z_tk(x),   c = 1 .. C
// T counts the products of kernels, and the terms without: the prior variance at the start is one (and that of the
// bias is zero) for any number of terms, networks and kernels.
class Model {
 public:
  // `rows` are training rows: they say where inducing points go. Networks take their inputs' widths from them.
  Model(const ModelSpec& spec, const Encoder& encoder, const Dataset& rows, const ModelOptions& options);

  // The model that state() was taken from, without training rows. DataError when tensors are missing or do not fit;
  // UsageError when there is code among them (a TorchScript) and no `trust` in where they come from.
  Model(const ModelSpec& spec, const Encoder& encoder, const TensorState& state, const ModelOptions& options,
        bool trust = false);

  std::int64_t members() const { return options_.members; }
  std::int64_t outputs() const { return options_.outputs; }
  bool own_kernels() const { return options_.own_kernels; }  // every output has kernel parameters of its own
  const ModelSpec& spec() const { return spec_; }
  std::int64_t features() const;  // p, summed over terms
  std::int64_t features_of(std::size_t t) const { return terms_.at(t).features; }

  // (E, B), with several outputs (E, B, C), in float32, differentiable in all parameters. With a generator this is a
  // step of training: dropout is on.
  at::Tensor operator()(const Batch& batch, const std::optional<at::Generator>& training = {}) const;

  // Features of each term's kernels, (E, B, p), of own kernels (E C, B, p), in float32; undefined for terms without.
  std::vector<at::Tensor> features_at(const at::Tensor& x) const;

  // One term of the sum, with its share of T^-1/2: (E, B) or (E, B, C)
  at::Tensor term(std::size_t t, const Batch& batch, const std::optional<at::Generator>& training = {}) const;

  // The model as it is linear in its last layers, everything before them held (for one output only, as all below):
  //   f = sum_b sum_ij w_bij left_bi right_bj,   w ~ N(0, 1) at the start
  // One pair for each term: left of its first network, right of its kernels and other networks. With LayerPrior::even
  // a last pair is the bias.
  std::vector<BilinearFeatures> last_layers(const Batch& batch, LayerPrior prior) const;
  // Sets w of each pair for some members, (C, I, J) each, and the bias to zero where `prior` has none.
  void set_last_layers(std::int64_t first_member, const std::vector<at::Tensor>& weights, LayerPrior prior);

  // The model's derivative in all weights of its networks and kernels, in units of their prior sds; for each
  // term one pair for each layer. `missed`: the derivative of what the features leave out of the kernels, which is
  // taken to have any direction. UsageError for a term with several networks.
  enum class Part { carried, missed };
  std::vector<BilinearFeatures> tangents(const Batch& batch, Part part = Part::carried) const;
  std::vector<BilinearFeatures> tangents_of(std::size_t t, const Batch& batch, Part part = Part::carried) const;

  // For a model of kernels only: the features of all terms side by side, T^-1/2 z, and last a constant one for the
  // bias. (E, B, P + 1) in float64; f = phi . (w, bias).
  at::Tensor linear_features(const at::Tensor& x) const;
  void set_linear_weights(const at::Tensor& weights);  // (E, P + 1)

  // The variance of the kernels of such a model, sum_t k_t(x, x) / T, differentiable: (E, B) in float64.
  at::Tensor prior_variance(const at::Tensor& x) const;

  // What each term's features miss of its kernels' variance, with the term's share: (E, B) in float64; undefined for
  // terms without kernels.
  std::vector<at::Tensor> residuals(const at::Tensor& x) const;
  // f (E, B), and the variance that this leaves out of it, networks taken as they are,
  // sum_t residual_t mean_k prod_a f_tak^2: (E, B) in float64. No gradient.
  std::pair<at::Tensor, at::Tensor> with_missed_variance(const Batch& batch) const;
  at::Tensor missed_variance(const Batch& batch) const { return with_missed_variance(batch).second; }
  // The same of one term: (E, B) in float64.
  at::Tensor missed_variance_of(std::size_t t, const Batch& batch) const;
  at::Tensor bias() const { return bias_.detach(); }  // (E, C)

  // Trainable tensors. Those of kernels are apart: they never decay and may learn at another rate.
  std::vector<NamedTensor> network_parameters() const;  // networks, weights, bias
  std::vector<NamedTensor> kernel_parameters() const;   // raw kernel parameters (E, P), trained inducing points
  std::vector<NamedTensor> buffers() const;             // buffers of networks

  std::int64_t trainable() const;  // how many parameters these are

  bool has_kernels() const { return kernel_ != nullptr; }
  Kernel& kernel() { return *kernel_; }
  const Kernel& kernel() const { return *kernel_; }
  std::vector<MapReport> maps() const;  // one for each term with kernels

  // What a term is made of. Networks live as long as the model.
  struct TermParts {
    std::vector<const Network*> networks;
    std::vector<std::size_t> sources;  // which Batch::networks each reads
    std::optional<Kernel> kernel;      // the sum of its products; shares its parameters with the model's
  };
  TermParts parts_of(std::size_t t) const;

  // Feature maps again, as the kernel's present parameters would have them: inducing points by pivoted Cholesky follow
  // starting values.
  void place_maps(const Dataset& rows);

  TensorState state() const;  // parameters and what the maps hold, by path

 private:
  struct Term {
    std::vector<std::unique_ptr<Network>> networks;
    std::vector<std::size_t> sources;   // which Batch::networks each reads
    std::unique_ptr<FeatureMap> map;    // null without kernels
    std::vector<std::size_t> products;  // which products of the kernel
    at::Tensor weight;                  // (E, C p) float32 leaf, without networks
    std::int64_t features = 1;          // p
  };

  void make_kernel(const Encoder& encoder);
  void make_networks(const Encoder& encoder, const TensorState* stored = nullptr, bool trust = false);
  MapOptions map_options(std::size_t t) const;
  at::Tensor signal(const Term& term, const Batch& batch) const;
  at::Tensor residual_of(const Term& term, const at::Tensor& x) const;  // (E, B); undefined without kernels
  at::Tensor latent(const Term& term, const Batch& batch, const std::optional<at::Generator>& training) const;
  at::Tensor term(std::size_t t, at::Tensor f, const Batch& batch) const;  // f = latent()

  ModelSpec spec_;
  ModelOptions options_;
  std::unique_ptr<Kernel> kernel_;  // all products of all terms: a kernel written once is one kernel
  std::vector<Term> terms_;
  at::Tensor bias_;  // (E, C) float32 leaf
};

}  // namespace ick
