#include "predict/in_units.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "ick/base/error.h"

namespace ick {

Encoder lenient(Encoder encoder) {
  if (encoder.gaps == Gaps::refuse) encoder.gaps = Gaps::drop;
  return encoder;
}

at::Tensor complete_rows(const Dataset& rows) { return rows.complete().nonzero().select(1, 0).contiguous(); }

at::Tensor spread_out(const at::Tensor& values, const at::Tensor& index, std::int64_t n) {
  const at::Tensor all = at::full({n}, std::numeric_limits<double>::quiet_NaN(), at::kDouble);
  return all.index_copy_(0, index, values);
}

std::vector<double> to_vector(const at::Tensor& values) {
  const at::Tensor dense = values.to(at::kDouble).contiguous();
  return {dense.data_ptr<double>(), dense.data_ptr<double>() + dense.numel()};
}

Prediction in_units(const PredictiveScale& of, const at::Tensor& mean, const at::Tensor& variance,
                    const at::Tensor& noise_variance, double level, const at::Tensor& offset) {
  if (!(level > 0.0 && level < 1.0)) throw UsageError("the level of an interval must be between 0 and 1");
  const double width = of.calibration.half_width(level);
  const Scaling& scaling = of.encoder.target_scaling;
  Prediction p;
  const bool shifted = offset.defined() && of.encoder.offset_in_target();
  p.location = to_vector((shifted ? mean + offset : mean) * scaling.sd + scaling.mean);
  p.scale = to_vector((variance + noise_variance).sqrt() * scaling.sd);
  p.function_sd = to_vector(variance.sqrt() * scaling.sd);
  for (std::vector<double>* each : {&p.mean, &p.sd, &p.lower, &p.upper}) each->resize(p.location.size());
  for (std::size_t i = 0; i < p.location.size(); ++i) {
    const double m = p.location[i], s = p.scale[i];
    const Moments moments = of.predictive.moments(m, s);
    p.mean[i] = moments.mean, p.sd[i] = moments.sd;
    p.lower[i] = p.upper[i] = std::numeric_limits<double>::quiet_NaN();
    if (std::isfinite(m) && std::isfinite(s)) {
      p.lower[i] = of.predictive.bound(-width, m, s), p.upper[i] = of.predictive.bound(width, m, s);
    }
  }
  return p;
}

}  // namespace ick
