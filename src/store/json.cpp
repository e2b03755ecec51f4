#include "store/json.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "ick/base/error.h"

namespace ick {

namespace {

using Json = nlohmann::json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
double number_from(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

Json to_json(const ColumnInfo& info) {
  Json json = {{"name", info.name}, {"type", column_type_name(info.type)}};
  if (!info.time_format.empty()) json["time_format"] = info.time_format;
  if (!info.levels.empty()) json["levels"] = info.levels;
  return json;
}

ColumnInfo info_from(const Json& json) {
  ColumnInfo info;
  info.name = json.at("name");
  const std::string type = json.at("type");
  constexpr ColumnType kTypes[] = {ColumnType::number, ColumnType::integer, ColumnType::time, ColumnType::category,
                                   ColumnType::text};
  const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](ColumnType each) { return column_type_name(each) == type; });
  if (found == std::end(kTypes)) throw DataError("no type of column named \"" + type + "\"");
  info.type = *found;
  info.time_format = json.value("time_format", "");
  info.levels = json.value("levels", std::vector<std::string>{});
  return info;
}

Json to_json(const Scaling& scaling) { return {{"mean", scaling.mean}, {"sd", scaling.sd}}; }
Scaling scaling_from(const Json& json) { return {json.at("mean"), json.at("sd")}; }

Json to_json(const KernelColumn& column) {
  Json json = to_json(column.info);
  const InputSummary& s = column.summary;
  json["unit"] = column.unit;
  json["kernel_levels"] = column.levels;
  json["fill"] = column.fill;
  json["range"] = {s.low, s.high};
  json["root_mean_square"] = s.root_mean_square;
  json["rows"] = s.rows;
  json["frequencies"] = s.frequencies;
  return json;
}

KernelColumn kernel_column_from(const Json& json) {
  KernelColumn column;
  column.info = info_from(json);
  column.unit = json.at("unit");
  column.levels = json.at("kernel_levels").get<std::vector<std::string>>();
  column.fill = json.at("fill");
  InputSummary& s = column.summary;
  s.name = column.info.name;
  s.unit = column.unit;
  s.low = json.at("range").at(0);
  s.high = json.at("range").at(1);
  s.root_mean_square = json.at("root_mean_square");
  s.rows = json.at("rows");
  s.levels = static_cast<int>(column.levels.size());
  s.frequencies = json.at("frequencies").get<std::vector<double>>();
  return column;
}

Json to_json(const EncodingNotes& notes) {
  return {{"without_target", notes.without_target},
          {"with_gaps", notes.with_gaps},
          {"filled", notes.filled},
          {"unseen_levels", notes.unseen}};
}

}  // namespace

Json to_json(const FitOptions& o) {
  Json json = {{"seed", o.seed},
               {"members", o.members},
               {"posterior", choice_name(o.posterior)},
               {"perturbation", choice_name(o.perturbation)},
               {"noise", o.noise},
               {"noise_formula", o.noise_formula},
               {"epochs", o.epochs},
               {"batch", o.batch},
               {"layers", o.layers},
               {"loss", choice_name(o.loss)},
               {"optimiser", choice_name(o.optimiser)},
               {"schedule", choice_name(o.schedule)},
               {"learning_rate", o.learning_rate},
               {"kernels", choice_name(o.kernels)},
               {"kernel_rate", o.kernel_rate},
               {"momentum", o.momentum},
               {"weight_decay", o.weight_decay},
               {"clip", o.clip},
               {"patience", o.patience},
               {"warm_start", o.warm_start},
               {"polish", o.polish},
               {"refit", o.refit},
               {"holdout", print(o.holdout)},
               {"gaps", choice_name(o.gaps)},
               {"units", o.units},
               {"checkpoint_seconds", o.checkpoint_seconds}};
  json["validation"] = o.validation ? Json(print(*o.validation)) : Json(nullptr);
  return json;
}

FitOptions options_from_json(const Json& json) {
  FitOptions o;
  o.seed = json.at("seed");
  o.members = json.at("members");
  o.posterior = json.contains("posterior") ? choice_from<Posterior>(json.at("posterior")) : Posterior::ensemble;
  o.perturbation =
      json.contains("perturbation") ? choice_from<Perturbation>(json.at("perturbation")) : Perturbation::none;
  o.noise = json.value("noise", 0.0);
  o.noise_formula = json.value("noise_formula", "");
  o.epochs = json.at("epochs");
  o.batch = json.at("batch");
  o.layers = json.at("layers").get<std::vector<std::int64_t>>();
  o.loss = choice_from<Loss>(json.at("loss"));
  o.optimiser = choice_from<Optimiser>(json.at("optimiser"));
  o.schedule = choice_from<Schedule>(json.at("schedule"));
  o.learning_rate = json.at("learning_rate");
  o.kernels = choice_from<KernelTraining>(json.at("kernels"));
  o.kernel_rate = json.at("kernel_rate");
  o.momentum = json.at("momentum");
  o.weight_decay = json.at("weight_decay");
  o.clip = json.at("clip");
  o.patience = json.at("patience");
  o.warm_start = json.at("warm_start");
  o.polish = json.at("polish");
  o.refit = json.at("refit");
  o.holdout = parse_split(json.at("holdout").get<std::string>());
  if (!json.at("validation").is_null()) o.validation = parse_split(json.at("validation").get<std::string>());
  o.gaps = choice_from<Gaps>(json.at("gaps"));
  o.units = json.at("units").get<std::map<std::string, std::string>>();
  o.checkpoint_seconds = json.at("checkpoint_seconds");
  return o;
}

Json to_json(const Encoder& encoder) {
  Json json;
  json["target"] = to_json(encoder.target);
  json["log_target"] = encoder.log_target;
  json["target_scaling"] = to_json(encoder.target_scaling);
  json["gaps"] = choice_name(encoder.gaps);
  json["kernel_columns"] = Json::array();
  for (const KernelColumn& column : encoder.kernel_columns) json["kernel_columns"].push_back(to_json(column));
  json["network_columns"] = Json::array();
  for (const auto& network : encoder.network_columns) {
    Json columns = Json::array();
    for (const NetworkColumn& column : network) {
      Json each = to_json(column.info);
      each["scaling"] = to_json(column.scaling);
      each["has_gaps"] = column.has_gaps;
      columns.push_back(std::move(each));
    }
    json["network_columns"].push_back(std::move(columns));
  }
  return json;
}

Encoder encoder_from_json(const Json& json) {
  Encoder encoder;
  encoder.target = info_from(json.at("target"));
  encoder.log_target = json.at("log_target");
  encoder.target_scaling = scaling_from(json.at("target_scaling"));
  encoder.gaps = choice_from<Gaps>(json.at("gaps"));
  for (const Json& column : json.at("kernel_columns")) encoder.kernel_columns.push_back(kernel_column_from(column));
  for (const Json& network : json.at("network_columns")) {
    auto& columns = encoder.network_columns.emplace_back();
    for (const Json& each : network) {
      columns.push_back({info_from(each), scaling_from(each.at("scaling")), each.at("has_gaps").get<bool>()});
    }
  }
  return encoder;
}

Json to_json(const Scores& s) {
  Json coverage = Json::object(), width = Json::object();
  for (const auto& [level, share] : s.coverage) coverage[level] = number(share);
  for (const auto& [level, mean] : s.width) width[level] = number(mean);
  return {{"rows", s.rows},
          {"rmse", number(s.rmse)},
          {"mae", number(s.mae)},
          {"r2", number(s.r2)},
          {"spearman", number(s.spearman)},
          {"nlpd", number(s.nlpd)},
          {"msll", number(s.msll)},
          {"crps", number(s.crps)},
          {"coverage", coverage},
          {"width", width},
          {"pit", s.pit}};
}

Scores scores_from_json(const Json& json) {
  Scores s;
  s.rows = json.at("rows");
  s.rmse = number_from(json.at("rmse"));
  s.mae = number_from(json.at("mae"));
  s.r2 = number_from(json.at("r2"));
  s.spearman = number_from(json.at("spearman"));
  s.nlpd = number_from(json.at("nlpd"));
  s.msll = number_from(json.at("msll"));
  s.crps = number_from(json.at("crps"));
  for (const auto& [level, share] : json.at("coverage").items()) s.coverage[level] = number_from(share);
  if (json.contains("width")) {
    for (const auto& [level, mean] : json.at("width").items()) s.width[level] = number_from(mean);
    s.pit = json.at("pit").get<std::vector<double>>();
  }
  return s;
}

Json to_json(const FitReport& report) {
  Json json = {{"rows", report.rows},
               {"training_rows", report.training_rows},
               {"validation_rows", report.validation_rows},
               {"holdout_rows", report.holdout_rows},
               {"validation_split", report.validation_split},
               {"validation_reason", report.validation_reason},
               {"holdout_split", report.holdout_split},
               {"notes", to_json(report.notes)},
               {"epochs", report.epochs},
               {"best_epoch", report.best_epoch},
               {"polished", report.polished},
               {"seconds", report.seconds},
               {"settings", to_json(report.options)}};
  json["validation"] = report.validation ? to_json(*report.validation) : Json(nullptr);
  json["holdout"] = report.holdout ? to_json(*report.holdout) : Json(nullptr);
  return json;
}

FitReport report_from_json(const Json& json) {
  FitReport report;
  report.rows = json.at("rows");
  report.training_rows = json.at("training_rows");
  report.validation_rows = json.at("validation_rows");
  report.holdout_rows = json.at("holdout_rows");
  report.validation_split = json.at("validation_split");
  report.validation_reason = json.at("validation_reason");
  report.holdout_split = json.at("holdout_split");
  const Json& notes = json.at("notes");
  report.notes.without_target = notes.at("without_target");
  report.notes.with_gaps = notes.at("with_gaps");
  report.notes.filled = notes.at("filled").get<std::map<std::string, std::int64_t>>();
  report.notes.unseen = notes.at("unseen_levels").get<std::map<std::string, std::int64_t>>();
  report.epochs = json.at("epochs");
  report.best_epoch = json.at("best_epoch");
  report.polished = json.at("polished");
  report.seconds = json.at("seconds");
  report.options = options_from_json(json.at("settings"));
  if (!json.at("validation").is_null()) report.validation = scores_from_json(json.at("validation"));
  if (!json.at("holdout").is_null()) report.holdout = scores_from_json(json.at("holdout"));
  return report;
}

Json to_json(const std::vector<ParameterValue>& values) {
  Json list = Json::array();
  for (const ParameterValue& each : values) {
    list.push_back({{"path", each.path}, {"values", each.values}, {"unit", each.unit}, {"fixed", each.fixed}});
  }
  return list;
}

}  // namespace ick
