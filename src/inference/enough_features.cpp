#include "inference/enough_features.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <vector>

#include "ick/base/seed.h"

namespace ick {

namespace {

constexpr std::int64_t kRows = 4000;        // looked at: half of them place the points, the other half are asked
constexpr std::int64_t kMostOutputs = 256;  // of a network: its last layer then takes twice the time of [128, 64]
constexpr std::int64_t kMostWeights = 512;  // of kernels beside networks: as many as kernels alone get
constexpr double kMostBytes = 256e6;        // of the features of all rows, which the trainer holds up to here
constexpr double kWorth = 0.8;              // what twice the features must leave of what they missed, at most

// The kernels of a spec without its networks, at known parameters: what their features miss.
class Trial {
 public:
  Trial(const Model& model, const Encoder& encoder, const Dataset& rows, const ModelOptions& options)
      : encoder_(encoder), options_(options), raw_(model.kernel().parameters().raw().detach()) {
    options_.members = 1;  // parameters of all members are alike after a warm start
    const Dataset some = rows.select(draw_rows(rows.size(), kRows, seed_for(options.seed, "feature rows")));
    const at::Tensor place = at::arange(0, some.size(), 2, at::kLong), ask = at::arange(1, some.size(), 2, at::kLong);
    placing_ = some.select(place);
    asked_ = some.select(ask).x;
    for (std::size_t t = 0; t < model.spec().terms.size(); ++t) {
      if (model.spec().terms[t].kernels.empty()) continue;
      terms_.push_back(t);
      variance_.push_back(model.parts_of(t).kernel->diagonal(asked_).mean().item<double>());
    }
  }

  const std::vector<std::size_t>& terms() const { return terms_; }  // that have kernels
  double variance(std::size_t i) const { return variance_[i]; }     // mean k(x, x) of the i-th of these

  // mean k(x, x) - |z(x)|^2 of each of these
  std::vector<double> missed_of(const ModelSpec& spec) const {
    ModelSpec kernels = spec;
    kernels.terms.clear();
    for (const std::size_t t : terms_) {
      kernels.terms.push_back(spec.terms[t]);
      kernels.terms.back().networks.clear();
    }
    Model model(kernels, encoder_, placing_, options_);
    const at::Tensor raw = model.kernel().parameters().raw().detach();
    raw.copy_(raw_.narrow(0, 0, raw.size(0)));
    model.place_maps(placing_);
    std::vector<double> all;
    for (const at::Tensor& each : model.residuals(asked_)) all.push_back(each.mean().item<double>() / kernels.share());
    return all;
  }

 private:
  const Encoder& encoder_;
  ModelOptions options_;
  at::Tensor raw_;
  Dataset placing_;
  at::Tensor asked_;                // x of rows that features are asked about
  std::vector<std::size_t> terms_;  // of the spec
  std::vector<double> variance_;
};

// Features of all terms, for one row.
double features_of(const ModelSpec& spec) {
  double all = 0.0;
  for (const TermSpec& term : spec.terms) all += static_cast<double>(term.features * std::ssize(term.kernels));
  return all;
}

}  // namespace

EnoughFeatures enough_features(const Model& model, const Encoder& encoder, const Dataset& rows,
                               const ModelOptions& options) {
  const at::NoGradGuard no_grad;
  EnoughFeatures found{model.spec()};
  constexpr std::int64_t kFewest = 4;
  if (!model.has_kernels() || rows.size() < kFewest) return found;
  const Trial trial(model, encoder, rows, options);
  std::vector<double> missed = trial.missed_of(found.spec);
  double variance = static_cast<double>(found.spec.terms.size() - missed.size());  // of networks alone
  for (std::size_t i = 0; i < missed.size(); ++i) variance += trial.variance(i);
  const double whole = std::min(variance, 1.0 / found.spec.share());
  const auto share = [&] {
    double sum = 0.0;
    for (const double each : missed) sum += each;
    return sum / whole;
  };
  std::vector<bool> done(missed.size(), false);
  while (share() > kMissedAtMost) {
    std::size_t most = missed.size();
    for (std::size_t i = 0; i < missed.size(); ++i) {
      if (!done[i] && (most == missed.size() || missed[i] > missed[most])) most = i;
    }
    if (most == missed.size()) break;
    ModelSpec more = found.spec;
    TermSpec& term = more.terms[trial.terms()[most]];
    const std::int64_t before = term.features;
    const std::int64_t limit = (term.networks.empty() ? kMostWeights : kMostOutputs) / std::ssize(term.kernels);
    term.features = std::min(2 * before, limit);
    limit_features(more, encoder);
    const bool possible = !term.stated_features && term.features > before &&
                          4.0 * static_cast<double>(rows.size()) * features_of(more) <= kMostBytes;
    const std::vector<double> then = possible ? trial.missed_of(more) : missed;
    if (!possible || then[most] > kWorth * missed[most]) {
      done[most] = true;
      continue;
    }
    found.spec = more;
    missed = then;
  }
  found.missed = share();
  return found;
}

}  // namespace ick
