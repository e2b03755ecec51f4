#include "ick/predict/calibration.h"

#include <ATen/ATen.h>

#include "store/kinds.h"

namespace ick {

void calibration_json(const Calibration& calibration, nlohmann::json& json) {
  json["calibration_rows"] = calibration.rows();
  json["calibration_blocks"] = calibration.blocks();
  json["calibration_effective"] = calibration.effective();
}

void add_scores(const Calibration& calibration, TensorState& state) {
  if (calibration.rows() > 0) state.emplace_back("calibration", at::tensor(calibration.scores(), at::kDouble));
}

Calibration read_calibration(const nlohmann::json& json, const TensorState& state, const std::string& path) {
  const at::Tensor scores = find_tensor(state, "calibration");
  if (!scores.defined()) return {};
  const at::Tensor dense = scores.to(at::kDouble).contiguous();
  try {
    return Calibration({dense.data_ptr<double>(), dense.data_ptr<double>() + dense.numel()},
                       json.at("calibration_rows").get<std::int64_t>(),
                       json.value("calibration_blocks", std::int64_t{0}), json.value("calibration_effective", 0.0));
  } catch (const UsageError& error) {
    damaged(path, error.what());
  }
}

}  // namespace ick
