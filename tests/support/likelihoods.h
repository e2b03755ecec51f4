#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ick/model/metrics.h"

namespace ick {

inline std::string likelihood_name(const testing::TestParamInfo<const Likelihood*>& info) {
  return std::string(info.param->name);
}

inline Predictive predictive(std::string_view likelihood, std::string_view transform = "") {
  return {likelihood_named(likelihood), *find_transform(transform)};
}

// Scores of Gaussian and, given the logarithms of what was seen, of log-normal predictions.
inline Scores normal_scores(const std::vector<double>& y, const std::vector<double>& mean,
                            const std::vector<double>& sd, double training_mean, double training_sd,
                            const std::function<double(double)>& half_width = {}) {
  return score(predictive("gaussian"), y, mean, sd, {training_mean, training_sd}, half_width);
}
inline Scores log_normal_scores(const std::vector<double>& log_y, const std::vector<double>& location,
                                const std::vector<double>& scale, double training_location, double training_scale,
                                const std::function<double(double)>& half_width = {}) {
  std::vector<double> y;
  for (const double each : log_y) y.push_back(std::exp(each));
  return score(predictive("gaussian", "log"), y, location, scale, {training_location, training_scale}, half_width);
}

}  // namespace ick
