#include "cli/fold_json.h"

#include <cmath>
#include <limits>

namespace ick {

nlohmann::json finite_json(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

namespace {

// JSON has no NaN: null.
nlohmann::json numbers_json(const std::vector<double>& values) {
  nlohmann::json json = nlohmann::json::array();
  for (const double value : values) json.push_back(finite_json(value));
  return json;
}

std::vector<double> numbers_from(const nlohmann::json& json) {
  std::vector<double> values;
  for (const nlohmann::json& each : json) {
    values.push_back(each.is_null() ? std::numeric_limits<double>::quiet_NaN() : each.get<double>());
  }
  return values;
}

struct NumbersField {
  const char* name;
  std::vector<double> UnseenRows::*values;
};
constexpr NumbersField kNumbersFields[] = {{"weight", &UnseenRows::weight}, {"target", &UnseenRows::target},
                                           {"mean", &UnseenRows::mean},     {"sd", &UnseenRows::sd},
                                           {"lower", &UnseenRows::lower},   {"upper", &UnseenRows::upper},
                                           {"nlpd", &UnseenRows::nlpd},     {"crps", &UnseenRows::crps}};

}  // namespace

nlohmann::json to_json(const FoldResult& result) {
  const UnseenRows& of = result.unseen;
  nlohmann::json json = {{"fold", result.fold},
                         {"not_scored", result.not_scored},
                         {"parameters", result.parameters},
                         {"seconds", result.seconds},
                         {"rows", of.rows},
                         {"inside", of.inside},
                         {"classes", of.classes},
                         {"seen", of.seen},
                         {"probability", nlohmann::json::array()}};
  for (const NumbersField& field : kNumbersFields) json[field.name] = numbers_json(of.*field.values);
  for (const std::vector<double>& each : of.probability) json["probability"].push_back(numbers_json(each));
  return json;
}

FoldResult fold_result_from_json(const nlohmann::json& json) {
  FoldResult result;
  result.fold = json.at("fold");
  result.not_scored = json.at("not_scored");
  result.parameters = json.at("parameters");
  result.seconds = json.at("seconds");
  UnseenRows& of = result.unseen;
  of.rows = json.at("rows").get<std::vector<std::int64_t>>();
  of.inside = json.at("inside").get<std::vector<bool>>();
  of.classes = json.at("classes").get<std::vector<std::string>>();
  of.seen = json.at("seen").get<std::vector<std::int64_t>>();
  for (const NumbersField& field : kNumbersFields) of.*field.values = numbers_from(json.at(field.name));
  for (const nlohmann::json& each : json.at("probability")) of.probability.push_back(numbers_from(each));
  return result;
}

nlohmann::ordered_json to_json(const Estimate& estimate) {
  return {{"mean", finite_json(estimate.mean)}, {"standard_error", finite_json(estimate.error)}};
}

nlohmann::ordered_json to_json(const CrossValidation& all) {
  nlohmann::ordered_json json = {{"by", print(all.plan.rule)}, {"reason", all.plan.reason}, {"level", all.plan.level}};
  json["folds"] = nlohmann::ordered_json::array();
  for (std::size_t k = 0; k < all.folds.size(); ++k) {
    const Fold& fold = all.plan.folds[k];
    nlohmann::ordered_json& each = json["folds"].emplace_back();
    each = {{"name", fold.name},
            {"training_rows", fold.training.size()},
            {"rows", all.folds[k].unseen.rows.size()},
            {"not_scored", all.folds[k].not_scored},
            {"seconds", all.folds[k].seconds}};
    for (const auto& [name, value] : all.scores[k]) each[name] = finite_json(value);
  }
  for (const auto& [name, estimate] : all.average) json["scores"][name] = to_json(estimate);
  return json;
}

}  // namespace ick
