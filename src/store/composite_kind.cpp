#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/predict/composite.h"
#include "ick/store/json.h"
#include "inference/beside.h"
#include "model/named_columns.h"
#include "store/kinds.h"
#include "trees/grown.h"

// How the composite model is kept.
namespace ick {

namespace {

using Json = nlohmann::json;

// All of a model that is not a tensor.
Json fitted_json(const CompositePredictor& model) {
  Json json;
  json["formula"] = print(model.spec().formula);
  Json features = Json::array();
  for (const TermSpec& term : model.spec().terms) features.push_back(term.features);
  json["features"] = features;
  json["members"] = model.options.members;
  json["seed"] = model.options.seed;
  json["layers"] = model.options.layers;
  json["noise"] = model.noise;
  json["noise_sd"] = model.noise * model.encoder.target_scaling.sd;
  json["posterior"] = model.posterior->engine().name;
  json["likelihood"] = model.likelihood->name;
  json["temperature"] = model.temperature;
  json["own_kernels"] = model.options.own_kernels;
  json["amplitude"] = model.posterior->amplitude();
  json["solved_noise"] = model.solved_noise;
  json["spread"] = model.spread;
  json["centres"] = model.centres;
  if (const RawSpread& raw = model.raw_spread; !raw.mode.empty()) {
    json["raw_spread"] = {{"mode", raw.mode}, {"sd", raw.sd}};  // not a number: null
  }
  calibration_json(model.calibration, json);
  json["support"] = !model.support.empty();
  if (const at::Tensor kept = find_tensor(model.posterior->tensors(), "neighbours.x"); kept.defined()) {
    json["kept_rows"] = kept.size(0);  // neighbours of the rows to be predicted are among them
  }
  if (model.trees != nullptr) {
    json["trees"] = {{"column", model.trees->column},
                     {"text", model.trees->sums.text()},
                     {"encoder", to_json(model.trees->encoder)}};
  }
  json["encoder"] = to_json(model.encoder);
  json["kernels"] = to_json(model.parameters());
  json["parameters"] = model.model().trainable();
  if (model.noise_model != nullptr) json["noise_model"] = fitted_json(*model.noise_model);
  return json;
}

// What only the posterior needs.
TensorState posterior_state(const CompositePredictor& model) {
  TensorState state = model.posterior->tensors();
  add_scores(model.calibration, state);
  const TensorState support = support_state(model.support);
  state.insert(state.end(), support.begin(), support.end());
  return state;
}

TensorState prefixed(const TensorState& state, const std::string& prefix) {
  TensorState result;
  for (const auto& [name, tensor] : state) result.emplace_back(prefix + name, tensor);
  return result;
}

TensorState below(const TensorState& state, const std::string& prefix) {
  TensorState result;
  for (const auto& [name, tensor] : state) {
    if (name.starts_with(prefix)) result.emplace_back(name.substr(prefix.size()), tensor);
  }
  return result;
}

constexpr char kNoisePrefix[] = "noise_model.";

TensorState with_noise(TensorState state, const CompositePredictor& model,
                       TensorState (*state_of)(const CompositePredictor&)) {
  if (model.noise_model == nullptr) return state;
  const TensorState noise = prefixed(state_of(*model.noise_model), kNoisePrefix);
  state.insert(state.end(), noise.begin(), noise.end());
  return state;
}

constexpr char kTreesPrefix[] = "trees.";

TensorState weights_state(const CompositePredictor& model) {
  TensorState state = model.model().state();
  if (model.trees == nullptr) return state;
  const TensorState trees = prefixed(model.trees->sums.tensors(), kTreesPrefix);
  state.insert(state.end(), trees.begin(), trees.end());
  return state;
}

std::shared_ptr<const GrownTrees> trees_from(const Json& json, const TensorState& weights, const std::string& path) {
  const Encoder encoder = encoder_from_json(json.at("encoder"));
  try {
    TreeSums sums = TreeSums::restore(below(weights, kTreesPrefix), encoder);
    return std::make_shared<const GrownTrees>(GrownTrees{json.at("column"), encoder, std::move(sums)});
  } catch (const DataError& error) {
    damaged(path, error.what());
  }
}

std::shared_ptr<const Model> model_from(const TensorState& tensors, const std::string& path, const ModelSpec& spec,
                                        const Encoder& encoder, const ModelOptions& options, bool trust) {
  try {
    return std::make_shared<Model>(spec, encoder, tensors, options, trust);
  } catch (const DataError& error) {
    damaged(path, error.what());
  }
}

// Models of format 1 had a posterior factor or nothing.
void read_posterior(CompositePredictor& model, const std::shared_ptr<const Model>& of, const Json& json,
                    const TensorState& tensors, const std::string& path) {
  const auto find = [&](const std::string& name) { return find_tensor(tensors, name); };
  const bool named = json.contains("posterior");
  const std::string engine = named                      ? json.at("posterior").get<std::string>()
                             : find("factor").defined() ? "exact"
                                                        : "ensemble";
  model.solved_noise = json.value("solved_noise", model.noise);
  try {
    // In models of format 1 the noise had what features miss of kernels.
    model.posterior = engine_named(engine).restore(of, tensors, json.value("amplitude", 1.0), named);
    if (const auto near = restore_neighbours(of, model.encoder, tensors)) model.posterior = near;
    if (json.value("support", false)) model.support = restore_support(*of, model.encoder, tensors);
  } catch (const DataError& error) {
    damaged(path, error.what());
  }
  model.calibration = read_calibration(json, tensors, path);
}

RawSpread raw_spread_from(const Json& json) {
  RawSpread found{json.at("mode").get<std::vector<double>>(), {}};
  for (const Json& each : json.at("sd")) found.sd.push_back(each.is_null() ? std::nan("") : each.get<double>());
  if (found.sd.size() != found.mode.size()) throw DataError("raw_spread has not as many sds as modes");
  return found;
}

// Up to format 4 a value that a formula states was where a parameter started.
void values_were_starts(Expression& expression) {
  for (Expression& operand : expression.operands) values_were_starts(operand);
  for (const KernelRow& row : kernel_table()) {
    if (row.name != expression.call.name) continue;
    for (Argument& argument : expression.call.arguments) {
      const bool known = std::any_of(row.parameters.begin(), row.parameters.end(),
                                     [&](const ParameterDeclaration& each) { return each.name == argument.name; });
      if (known && argument.kind == Argument::Kind::value) argument.kind = Argument::Kind::start;
    }
  }
}

// A model of its parts; the noise's model, if there is one, is a part of it.
CompositePredictor fitted_from(const Json& json, const TensorState& weights, const TensorState& posterior,
                               const PredictorPlace& place) {
  const std::string& directory = place.directory;
  CompositePredictor model;
  model.encoder = encoder_from_json(json.at("encoder"));
  if (json.contains("trees")) model.trees = trees_from(json.at("trees"), weights, directory + "/weights.safetensors");
  model.noise = json.at("noise");
  model.spread = json.value("spread", 1.0);
  model.centres = json.value("centres", std::vector<double>());
  if (json.contains("raw_spread")) model.raw_spread = raw_spread_from(json.at("raw_spread"));
  model.options.members = json.at("members");
  model.options.seed = json.at("seed");
  model.options.layers = json.at("layers").get<std::vector<std::int64_t>>();
  if (json.contains("likelihood") || json.contains("family")) {  // from format 3 on
    model.likelihood = &likelihood_named(json.contains("likelihood") ? json.at("likelihood").get<std::string>()
                                                                     : likelihood_from(json));
    model.encoder.target_kind = model.likelihood->target;
    model.temperature = json.at("temperature");
    model.options.own_kernels = json.at("own_kernels");
  }
  if (model.likelihood->link == Link::softmax) model.options.outputs = std::ssize(model.encoder.classes);
  Formula formula = parse_formula(json.at("formula").get<std::string>());
  if (place.format < 5) {
    values_were_starts(formula.right);
    model.options.stated_in_units = false;
  }
  if (!place.trust) refuse_code(formula, directory);
  std::vector<std::string> read = named_columns(formula);  // `.` stood for what else the encoder reads
  add_new(read, removed_columns(formula));
  std::vector<std::string> numbers;
  for (const ColumnInfo& info : model.columns()) {
    read.push_back(info.name);
    if (info.type == ColumnType::number || info.type == ColumnType::integer) numbers.push_back(info.name);
  }
  std::vector<std::string> columns = place.columns;
  std::erase_if(columns, [&](const std::string& name) { return !contains(read, name); });
  std::vector<std::string> others = columns;
  std::erase_if(others, [&](const std::string& name) { return contains(numbers, name); });
  ModelSpec spec = make_spec(formula, columns, others);
  spec.derived = model.encoder.derived;
  for (std::size_t t = 0; t < spec.terms.size(); ++t) spec.terms[t].features = json.at("features").at(t);
  const std::shared_ptr<const Model> of =
      model_from(weights, directory + "/weights.safetensors", spec, model.encoder, model.options, place.trust);
  read_posterior(model, of, json, posterior, directory + "/posterior.safetensors");
  if (json.contains("noise_model")) {
    PredictorPlace with_sigma = place;
    with_sigma.columns.emplace_back("sigma");
    model.noise_model = std::make_shared<CompositePredictor>(
        fitted_from(json.at("noise_model"), below(weights, kNoisePrefix), below(posterior, kNoisePrefix), with_sigma));
  }
  return model;
}

PredictorParts write(const Predictor& predictor) {
  const auto& model = dynamic_cast<const CompositePredictor&>(predictor);
  return {fitted_json(model), with_noise(weights_state(model), model, weights_state),
          with_noise(posterior_state(model), model, posterior_state)};
}

std::shared_ptr<const Predictor> read(const PredictorParts& parts, const PredictorPlace& place) {
  return std::make_shared<const CompositePredictor>(fitted_from(parts.json, parts.weights, parts.posterior, place));
}

}  // namespace

PredictorKind composite_kind() { return {kComposite, write, read}; }

}  // namespace ick
