#include "ick/baseline/predictor.h"
#include "ick/store/json.h"
#include "store/kinds.h"

// How baselines are kept.
namespace ick {

namespace {

PredictorParts write_baseline(const Predictor& predictor) {
  const auto& model = dynamic_cast<const BaselinePredictor&>(predictor);
  PredictorParts parts;
  parts.json["baseline"] = model.baseline->name;
  parts.json["description"] = model.description();
  parts.json["formula"] = model.formula_text;
  parts.json["likelihood"] = model.likelihood->name;
  parts.json["noise"] = model.noise;
  parts.json["encoder"] = to_json(model.encoder);
  calibration_json(model.calibration, parts.json);
  parts.weights = model.rule->tensors();
  add_scores(model.calibration, parts.posterior);
  return parts;
}

std::shared_ptr<const Predictor> read_baseline(const PredictorParts& parts, const PredictorPlace& place) {
  auto model = std::make_shared<BaselinePredictor>();
  model->baseline = &baseline_named(parts.json.at("baseline").get<std::string>());
  model->formula_text = parts.json.at("formula");
  model->likelihood = &likelihood_named(parts.json.at("likelihood").get<std::string>());
  model->noise = parts.json.at("noise");
  model->encoder = encoder_from_json(parts.json.at("encoder"));
  model->calibration = read_calibration(parts.json, parts.posterior, place.directory + "/posterior.safetensors");
  try {
    if (model->baseline->restore == nullptr) damaged(place.directory, "it names a baseline that is a formula");
    model->rule = model->baseline->restore(parts.weights, model->encoder);
  } catch (const DataError& error) {
    damaged(place.directory + "/weights.safetensors", error.what());
  }
  return model;
}

}  // namespace

PredictorKind baseline_kind() { return {"baseline", write_baseline, read_baseline}; }

}  // namespace ick
