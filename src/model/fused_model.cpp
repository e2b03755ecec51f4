#include "model/fused_model.h"

#include <algorithm>
#include <utility>

#include "net/float_lanes.h"

namespace ick {

namespace {

constexpr int kLanes = Floats::kWidth;

Floats column(const float* from, int number, int row) { return Floats::load(from + number * kRowsApart + row); }

}  // namespace

FusedModel::FusedModel(std::vector<FusedTermShape> terms, int outputs, bool with_gradients)
    : f_(static_cast<std::size_t>(kChunkRows) * outputs),
      slope_(f_),
      signal_(float_columns(outputs)),
      outputs_(outputs) {
  for (FusedTermShape& shape : terms) {
    Term& term = terms_.emplace_back();
    for (const FusedNetworkShape& network : shape.networks) {
      std::vector<FusedLayer> layers;
      for (std::size_t l = 0; l + 1 < network.widths.size(); ++l) {
        layers.push_back({nullptr, nullptr, network.widths[l], network.widths[l + 1]});
      }
      term.networks.emplace_back(layers, network.activation, with_gradients);
    }
    term.outputs.resize(term.networks.size());
    if (term.networks.size() > 1) term.product = float_columns(outputs * shape.features);
    if (term.networks.empty()) term.product = float_columns(outputs);
    term.shape = std::move(shape);
  }
}

void FusedModel::load(std::span<const float* const> parameters) {
  std::size_t next = 0;
  for (Term& term : terms_) {
    for (std::size_t a = 0; a < term.networks.size(); ++a) {
      const std::vector<int>& widths = term.shape.networks[a].widths;
      layers_.clear();
      for (std::size_t l = 0; l + 1 < widths.size(); ++l, next += 2) {
        layers_.push_back({parameters[next], parameters[next + 1], widths[l], widths[l + 1]});
      }
      term.networks[a].load(layers_);
    }
    if (term.networks.empty()) term.weight = parameters[next++];
  }
  bias_ = parameters[next];
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
    const bool own = term.networks.empty();  // always with kernels: without either there is no term
    if (own) fused_product(outputs_, p, term.weight, p, 1, rows.features[t], rows.rows, term.product.data());
    const float* const product = own ? term.product.data() : product_of(term, rows.rows);
    for (int c = 0; c < outputs_; ++c) {
      for (int r = 0; r < rows.rows; r += kLanes) {
        Floats sum = own ? column(product, c, r) : 0.0F;
        for (int k = 0; k < p && !own; ++k) {
          const Floats each = column(product, c * p + k, r);
          sum = sum + (term.shape.kernels ? each * column(rows.features[t], k, r) : each);
        }
        const int taken = std::min(kLanes, rows.rows - r);
        for (int i = 0; i < taken; ++i) {
          f_[(r + i) * outputs_ + c] += static_cast<double>(term.shape.share * sum.v[i]);
        }
      }
    }
  }
  return f_.data();
}

// prod_b f_b without network `but`, (C p, rows); null: all one.
const float* FusedModel::product_of(Term& term, int rows, std::size_t but) {
  const float* product = nullptr;
  for (std::size_t b = 0; b < term.networks.size(); ++b) {
    if (b == but) continue;
    const float* const other = term.outputs[b];
    if (product != nullptr) {
      for (int i = 0; i < term.networks[b].outputs(); ++i) {
        for (int r = 0; r < rows; r += kLanes) {
          (column(product, i, r) * column(other, i, r)).store(term.product.data() + i * kRowsApart + r);
        }
      }
    }
    product = product == nullptr ? other : term.product.data();
  }
  return product;
}

FusedCost FusedModel::cost(const FusedTarget& target, int rows) {
  FusedCost sum;
  for (int r = 0; r < rows; ++r) {
    const double each = target.each * (target.weights != nullptr ? static_cast<double>(target.weights[r]) : 1.0);
    double* const slope = slope_.data() + r * outputs_;
    double d_log_scale = 0.0;
    double* const f = f_.data() + r * outputs_;
    if (target.offset != nullptr) f[0] += target.offset[r];
    const ScaleOfRow scale(target.log_scale, target.error != nullptr ? target.error[r] : 0.0);
    const double loss = target.likelihood->cost(f, outputs_, target.y[r], scale.log_scale, slope, &d_log_scale);
    sum.loss += each * loss;
    sum.d_log_scale += each * (d_log_scale * scale.share);
    for (int c = 0; c < outputs_; ++c) slope[c] *= each;
  }
  turn_slopes(rows);
  return sum;
}

void FusedModel::turn_slopes(int rows) {
  for (int c = 0; c < outputs_; ++c) {
    float* const to = signal_.data() + c * kRowsApart;
    for (int r = 0; r < rows; ++r) to[r] = static_cast<float>(slope_[r * outputs_ + c]);
    std::fill(to + rows, to + whole_floats(rows), 0.0F);
  }
}

void FusedModel::backward(const FusedRowsOf& rows, std::span<float* const> gradients,
                          std::span<float* const> d_features) {
  std::size_t next = 0;
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    Term& term = terms_[t];
    if (d_features[t] != nullptr) features_backward(term, rows.rows, d_features[t]);
    for (std::size_t a = 0; a < term.networks.size(); ++a) {
      outputs_backward(term, a, rows, rows.features[t]);
      gradients_.clear();
      for (std::size_t l = 1; l < term.shape.networks[a].widths.size(); ++l, next += 2) {
        gradients_.push_back({gradients[next], gradients[next + 1]});
      }
      term.networks[a].backward(gradients_);
    }
    if (!term.networks.empty()) continue;
    const int p = term.shape.features;
    float* const to = gradients[next++];
    fused_outer(outputs_, p, signal_.data(), rows.features[t], rows.rows, to);
    for (int i = 0; i < outputs_ * p; ++i) to[i] *= term.shape.share;
  }
  for (int c = 0; c < outputs_; ++c) {
    double sum = 0.0;
    for (int r = 0; r < rows.rows; ++r) sum += slope_[r * outputs_ + c];
    gradients[next][c] = static_cast<float>(sum);
  }
}

// d/dz_k = share sum_c d/df_c prod_a f_ack
void FusedModel::features_backward(Term& term, int rows, float* d_features) {
  const int p = term.shape.features;
  const float* const product = product_of(term, rows);
  for (int k = 0; k < p; ++k) {
    for (int r = 0; r < rows; r += kLanes) {
      Floats sum = 0.0F;
      for (int c = 0; c < outputs_; ++c) {
        const Floats each = product != nullptr ? column(product, c * p + k, r) : Floats(term.weight[c * p + k]);
        sum = sum + column(signal_.data(), c, r) * each;
      }
      (term.shape.share * sum).store(d_features + k * kRowsApart + r);
    }
  }
}

// d/df_ack = share d/df_c z_k prod_{b != a} f_bck
void FusedModel::outputs_backward(Term& term, std::size_t a, const FusedRowsOf& rows, const float* features) {
  const int p = term.shape.features;
  const float* const others = product_of(term, rows.rows, a);
  float* const to = term.networks[a].d_outputs();
  for (int c = 0; c < outputs_; ++c) {
    for (int k = 0; k < p; ++k) {
      for (int r = 0; r < rows.rows; r += kLanes) {
        Floats each = term.shape.share * column(signal_.data(), c, r);
        if (term.shape.kernels) each = each * column(features, k, r);
        if (others != nullptr) each = each * column(others, c * p + k, r);
        each.store(to + (c * p + k) * kRowsApart + r);
      }
    }
  }
}

}  // namespace ick
