#include "model/fused_model.h"

#include <algorithm>
#include <utility>

#include "net/float_lanes.h"

namespace ick {

namespace {

constexpr int kLanes = Floats::kWidth;

float dot(const float* a, const float* b, int count) {
  Floats sum = 0.0F;
  int k = 0;
  for (; k + kLanes <= count; k += kLanes) sum = sum + Floats::load(a + k) * Floats::load(b + k);
  float rest = 0.0F;
  for (; k < count; ++k) rest += a[k] * b[k];
  return rest + total(sum);
}

float total(const float* a, int count) {
  float sum = 0.0F;
  for (int k = 0; k < count; ++k) sum += a[k];
  return sum;
}

void multiply(float* to, const float* by, int count) {
  for (int k = 0; k < count; ++k) to[k] *= by[k];
}

}  // namespace

FusedModel::FusedModel(std::vector<FusedTermShape> terms, int outputs, bool with_gradients)
    : bias_(outputs), f_(static_cast<std::size_t>(kChunkRows) * outputs), slope_(f_), outputs_(outputs) {
  for (FusedTermShape& shape : terms) {
    Term& term = terms_.emplace_back();
    for (const FusedNetworkShape& network : shape.networks) {
      std::vector<FusedLayer> layers;
      for (std::size_t l = 0; l + 1 < network.widths.size(); ++l) {
        layers.push_back({nullptr, nullptr, network.widths[l], network.widths[l + 1]});
      }
      term.networks.emplace_back(layers, network.activation, with_gradients);
      term.stride = term.networks.back().stride();
    }
    term.outputs.resize(term.networks.size());
    if (term.networks.size() > 1) term.product.resize(static_cast<std::size_t>(kChunkRows) * term.stride);
    if (term.networks.empty()) term.weight.resize(static_cast<std::size_t>(outputs) * shape.features);
    term.shape = std::move(shape);
  }
}

void FusedModel::load(std::span<const float* const> parameters) {
  std::size_t next = 0;
  std::vector<FusedLayer> layers;
  for (Term& term : terms_) {
    for (std::size_t a = 0; a < term.networks.size(); ++a) {
      const std::vector<int>& widths = term.shape.networks[a].widths;
      layers.clear();
      for (std::size_t l = 0; l + 1 < widths.size(); ++l, next += 2) {
        layers.push_back({parameters[next], parameters[next + 1], widths[l], widths[l + 1]});
      }
      term.networks[a].load(layers);
    }
    if (term.networks.empty()) std::copy_n(parameters[next++], term.weight.size(), term.weight.begin());
  }
  std::copy_n(parameters[next], bias_.size(), bias_.begin());
}

const double* FusedModel::forward(const FusedRowsOf& rows) {
  for (int r = 0; r < rows.rows; ++r) {
    for (int c = 0; c < outputs_; ++c) f_[r * outputs_ + c] = bias_[c];
  }
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    Term& term = terms_[t];
    const int p = term.shape.features;
    for (std::size_t a = 0; a < term.networks.size(); ++a) {
      term.outputs[a] = term.networks[a].forward(rows.inputs[term.shape.networks[a].source], rows.rows);
    }
    const Rows product = product_of(term, rows.rows);
    for (int r = 0; r < rows.rows; ++r) {
      const float* const of_row = product.at + r * product.stride;
      for (int c = 0; c < outputs_; ++c) {
        const float sum =
            term.shape.kernels ? dot(of_row + c * p, rows.features[t] + r * p, p) : total(of_row + c * p, p);
        f_[r * outputs_ + c] += static_cast<double>(term.shape.share * sum);
      }
    }
  }
  return f_.data();
}

// prod_b f_b without network `but`; the term's own weights without networks.
FusedModel::Rows FusedModel::product_of(Term& term, int rows, std::size_t but) {
  if (term.networks.empty()) return {term.weight.data(), 0};
  Rows product;
  for (std::size_t b = 0; b < term.networks.size(); ++b) {
    if (b == but) continue;
    if (product.at == nullptr) {
      product = {term.outputs[b], term.stride};
      continue;
    }
    const float *const one = product.at, *const other = term.outputs[b];
    for (int i = 0; i < rows * term.stride; ++i) term.product[i] = one[i] * other[i];
    product.at = term.product.data();
  }
  return product;
}

FusedCost FusedModel::cost(const FusedTarget& target, int rows) {
  FusedCost sum;
  for (int r = 0; r < rows; ++r) {
    const double each = target.each * (target.weights != nullptr ? static_cast<double>(target.weights[r]) : 1.0);
    double* const slope = slope_.data() + r * outputs_;
    double d_log_scale = 0.0;
    const double loss =
        row_loss(target.kind, f_.data() + r * outputs_, outputs_, target.y[r], target.log_scale, slope, d_log_scale);
    sum.loss += each * loss;
    sum.d_log_scale += each * d_log_scale;
    for (int c = 0; c < outputs_; ++c) slope[c] *= each;
  }
  return sum;
}

void FusedModel::backward(const FusedRowsOf& rows, std::span<float* const> gradients,
                          std::span<float* const> d_features) {
  std::size_t next = 0;
  std::vector<FusedLayerGradient> layers;
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    Term& term = terms_[t];
    const int p = term.shape.features;
    const auto slope_of = [&](int r, int c) { return term.shape.share * static_cast<float>(slope_[r * outputs_ + c]); };
    if (d_features[t] != nullptr) {
      const Rows product = product_of(term, rows.rows);
      for (int r = 0; r < rows.rows; ++r) {
        float* const to = d_features[t] + r * p;
        std::fill_n(to, p, 0.0F);
        for (int c = 0; c < outputs_; ++c) {
          const float g = slope_of(r, c);
          const float* const of_row = product.at + r * product.stride + c * p;
          for (int k = 0; k < p; ++k) to[k] += g * of_row[k];
        }
      }
    }
    for (std::size_t a = 0; a < term.networks.size(); ++a) {
      float* const d_outputs = term.networks[a].d_outputs();
      const Rows others = product_of(term, rows.rows, a);
      for (int r = 0; r < rows.rows; ++r) {
        for (int c = 0; c < outputs_; ++c) {
          const float g = slope_of(r, c);
          float* const to = d_outputs + r * term.stride + c * p;
          std::fill_n(to, p, g);
          if (term.shape.kernels) multiply(to, rows.features[t] + r * p, p);
          if (others.at != nullptr) multiply(to, others.at + r * others.stride + c * p, p);
        }
      }
    }
    for (std::size_t a = 0; a < term.networks.size(); ++a) {  // after all: the way back uses up outputs
      layers.clear();
      for (std::size_t l = 1; l < term.shape.networks[a].widths.size(); ++l, next += 2) {
        layers.push_back({gradients[next], gradients[next + 1]});
      }
      term.networks[a].backward(layers);
    }
    if (!term.networks.empty()) continue;
    float* const to = gradients[next++];
    std::fill_n(to, term.weight.size(), 0.0F);
    for (int r = 0; r < rows.rows; ++r) {
      for (int c = 0; c < outputs_; ++c) {
        const float g = slope_of(r, c);
        for (int k = 0; k < p; ++k) to[c * p + k] += g * rows.features[t][r * p + k];
      }
    }
  }
  for (int c = 0; c < outputs_; ++c) {
    double sum = 0.0;
    for (int r = 0; r < rows.rows; ++r) sum += slope_[r * outputs_ + c];
    gradients[next][c] = static_cast<float>(sum);
  }
}

}  // namespace ick
