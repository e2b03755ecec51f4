#include "ick/store/json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <type_traits>

#include "ick/base/error.h"
#include "ick/store/option_json.h"
#include "store/derived_json.h"
#include "store/summary_json.h"

namespace ick {

namespace {

using Json = nlohmann::json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
double number_from(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
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
  json["centre"] = s.centre;
  json["root_mean_square"] = s.root_mean_square;
  json["rows"] = s.rows;
  json["frequencies"] = s.frequencies;
  return json;
}

KernelColumn kernel_column_from(const Json& json) {
  KernelColumn column;
  column.info = column_info_from_json(json);
  column.unit = json.at("unit");
  column.levels = json.at("kernel_levels").get<std::vector<std::string>>();
  column.fill = json.at("fill");
  InputSummary& s = column.summary;
  s.name = column.info.name;
  s.unit = column.unit;
  s.low = json.at("range").at(0);
  s.high = json.at("range").at(1);
  s.centre = json.value("centre", 0.0);  // up to format 3 nothing was taken off
  s.root_mean_square = json.at("root_mean_square");
  s.rows = json.at("rows");
  s.levels = static_cast<int>(column.levels.size());
  s.frequencies = json.at("frequencies").get<std::vector<double>>();
  return column;
}

Json to_json(const std::vector<NetworkColumn>& columns) {
  Json json = Json::array();
  for (const NetworkColumn& column : columns) {
    Json each = to_json(column.info);
    each["scaling"] = to_json(column.scaling);
    each["has_gaps"] = column.has_gaps;
    if (column.ranks) each["ranks"] = {{"values", column.ranks->values}, {"scores", column.ranks->scores}};
    if (!column.periods.empty()) each["periods"] = column.periods;
    json.push_back(std::move(each));
  }
  return json;
}

NormalScores normal_scores_from(const Json& json) {
  NormalScores found{json.at("values").get<std::vector<double>>(), json.at("scores").get<std::vector<double>>()};
  const bool ascending =
      std::adjacent_find(found.values.begin(), found.values.end(), std::greater_equal<>()) == found.values.end();
  if (found.values.size() != found.scores.size() || !ascending) {
    throw DataError("ranks of a column are not as many scores as values, ascending");
  }
  return found;
}

std::vector<NetworkColumn> network_columns_from(const Json& json) {
  std::vector<NetworkColumn> columns;
  for (const Json& each : json) {
    NetworkColumn& column = columns.emplace_back();
    column.info = column_info_from_json(each);
    column.scaling = scaling_from(each.at("scaling"));
    column.has_gaps = each.at("has_gaps").get<bool>();
    if (each.contains("ranks")) column.ranks = normal_scores_from(each.at("ranks"));
    if (each.contains("periods")) column.periods = each.at("periods").get<std::vector<double>>();
  }
  return columns;
}

constexpr std::array<std::string_view, 5> kTargetKinds = {"number", "positive", "count", "proportion", "classes"};
constexpr std::array<std::string_view, 3> kDepths = {"any", "bytes", "wide"};

Json to_json(const NetworkImages& images) {
  Json channels = Json::array();
  for (const Scaling& channel : images.channels) channels.push_back(to_json(channel));
  const ImageSettings& s = images.settings;
  return {{"columns", s.columns},
          {"idx", s.idx},
          {"raster", s.raster},
          {"size", {s.height, s.width}},
          {"fit", s.fit == ImageSettings::Fit::crop ? "crop" : "resize"},
          {"bands", s.bands},
          {"shape", {images.shape.channels, images.shape.height, images.shape.width}},
          {"depth", kDepths[static_cast<std::size_t>(images.shape.depth)]},
          {"channels", channels}};
}

NetworkImages network_images_from(const Json& json) {
  NetworkImages images;
  ImageSettings& s = images.settings;
  s.columns = json.at("columns").get<std::vector<std::string>>();
  s.idx = json.at("idx");
  s.raster = json.at("raster");
  s.height = json.at("size").at(0);
  s.width = json.at("size").at(1);
  s.fit = json.at("fit") == "crop" ? ImageSettings::Fit::crop : ImageSettings::Fit::resize;
  s.bands = json.at("bands").get<std::vector<int>>();
  images.shape = {json.at("shape").at(0), json.at("shape").at(1), json.at("shape").at(2)};
  const auto depth = std::find(kDepths.begin(), kDepths.end(), json.value("depth", "any"));
  images.shape.depth = static_cast<ImageShape::Depth>(depth - kDepths.begin());
  for (const Json& channel : json.at("channels")) images.channels.push_back(scaling_from(channel));
  return images;
}

Json to_json(const NetworkInputs& inputs) {
  Json json = {{"columns", to_json(inputs.columns)}};
  for (const TreesColumn& column : inputs.trees) {
    Json trees = Json::array();
    for (const RandomTree& tree : column.trees) {
      trees.push_back({{"column", tree.column}, {"threshold", tree.threshold}});
    }
    json["trees"].push_back({{"columns", to_json(column.columns)}, {"trees", trees}});
  }
  if (inputs.image) json["image"] = to_json(*inputs.image);
  return json;
}

NetworkInputs network_inputs_from(const Json& json) {
  NetworkInputs inputs;
  inputs.columns = network_columns_from(json.at("columns"));
  for (const Json& each : json.value("trees", Json::array())) {
    TreesColumn& column = inputs.trees.emplace_back();
    column.columns = network_columns_from(each.at("columns"));
    for (const Json& tree : each.at("trees")) {
      column.trees.push_back(
          {tree.at("column").get<std::vector<std::int64_t>>(), tree.at("threshold").get<std::vector<double>>()});
    }
  }
  if (json.contains("image")) inputs.image = network_images_from(json.at("image"));
  return inputs;
}

// One list of fields for both ways. What a file does not have keeps its default: later versions add fields.
struct Writer {
  Json json = Json::object();

  template <class Value>
  void operator()(const char* name, const Value& value) {
    json[name] = written(value);
  }

  static Json written(double value) { return number(value); }
  static Json written(const Scores& scores) { return to_json(scores); }
  static Json written(const ClassScores& scores) { return to_json(scores); }
  static Json written(const FitOptions& options) { return to_json(options); }
  static Json written(const EncodingNotes& notes);
  static Json written(const EpochRecord& record) { return to_json(record); }
  static Json written(const std::vector<Message>& messages) {
    Json list = Json::array();
    for (const Message& message : messages) list.push_back(message.text());
    return list;
  }
  static Json written(const std::vector<EpochRecord>& records) {
    Json list = Json::array();
    for (const EpochRecord& record : records) list.push_back(to_json(record));
    return list;
  }
  static Json written(const std::vector<TermShare>& shares) {
    Json list = Json::array();
    for (const TermShare& each : shares) {
      list.push_back({{"term", each.name.path},
                      {"text", each.name.text},
                      {"share", number(each.share)},
                      {"rmse_lost", number(each.rmse_lost)},
                      {"rmse_lost_error", number(each.rmse_lost_error)}});
    }
    return list;
  }
  static Json written(const std::map<std::string, double>& values) {
    Json object = Json::object();
    for (const auto& [name, value] : values) object[name] = number(value);
    return object;
  }
  template <class Value>
  static Json written(const std::optional<Value>& value) {
    return value ? written(*value) : Json(nullptr);
  }
  template <class Value>
  static Json written(const Value& value) {
    return value;
  }
};

struct Reader {
  const Json& json;

  template <class Value>
  void operator()(const char* name, Value& value) const {
    if (json.contains(name)) read(json.at(name), value);
  }

  static void read(const Json& from, double& to) { to = number_from(from); }
  static void read(const Json& from, Scores& to) { to = scores_from_json(from); }
  static void read(const Json& from, ClassScores& to) { to = class_scores_from_json(from); }
  static void read(const Json& from, FitOptions& to) { to = options_from_json(from); }
  static void read(const Json& from, EncodingNotes& to);
  static void read(const Json& from, std::vector<EpochRecord>& to);
  static void read(const Json& from, std::vector<Message>& to) {
    for (const Json& each : from) to.emplace_back(each.get<std::string>());
  }
  static void read(const Json& from, std::vector<TermShare>& to) {
    for (const Json& each : from) {
      const auto lost = [&](const char* name) { return number_from(each.value(name, Json(nullptr))); };
      to.push_back({{each.at("term").get<std::string>(), each.at("text").get<std::string>()},
                    number_from(each.at("share")),
                    lost("rmse_lost"),
                    lost("rmse_lost_error")});
    }
  }
  static void read(const Json& from, std::map<std::string, double>& to) {
    for (const auto& [name, value] : from.items()) to[name] = number_from(value);
  }
  template <class Value>
  static void read(const Json& from, std::optional<Value>& to) {
    if (!from.is_null()) read(from, to.emplace());
  }
  template <class Value>
  static void read(const Json& from, Value& to) {
    to = from.get<Value>();
  }
};

// The struct itself, constant for a Writer.
template <class Data, class Struct>
concept Of = std::is_same_v<std::remove_const_t<Data>, Struct>;

template <Of<EncodingNotes> Data, class Visitor>
void visit_fields(Data& notes, Visitor&& visit) {
  visit("without_target", notes.without_target);
  visit("with_gaps", notes.with_gaps);
  visit("filled", notes.filled);
  visit("unseen_levels", notes.unseen);
}

template <Of<Scores> Data, class Visitor>
void visit_fields(Data& s, Visitor&& visit) {
  visit("rows", s.rows);
  visit("rmse", s.rmse);
  visit("mae", s.mae);
  visit("r2", s.r2);
  visit("spearman", s.spearman);
  visit("nlpd", s.nlpd);
  visit("msll", s.msll);
  visit("crps", s.crps);
  visit("coverage", s.coverage);
  visit("width", s.width);
  visit("pit", s.pit);
}

template <Of<ClassScores> Data, class Visitor>
void visit_fields(Data& s, Visitor&& visit) {
  visit("rows", s.rows);
  visit("accuracy", s.accuracy);
  visit("log_loss", s.log_loss);
  visit("brier", s.brier);
  visit("calibration_error", s.calibration_error);
  visit("coverage", s.coverage);
  visit("set_size", s.set_size);
  visit("confusion", s.confusion);
}

template <Of<EpochRecord> Data, class Visitor>
void visit_fields(Data& record, Visitor&& visit) {
  visit("phase", record.phase);
  visit("epoch", record.epoch);
  visit("loss", record.loss);
  visit("validation", record.validation);
  visit("learning_rate", record.learning_rate);
}

template <Of<FitReport> Data, class Visitor>
void visit_fields(Data& report, Visitor&& visit) {
  visit("rows", report.rows);
  visit("training_rows", report.training_rows);
  visit("validation_rows", report.validation_rows);
  visit("holdout_rows", report.holdout_rows);
  visit("validation_split", report.validation_split);
  visit("validation_reason", report.validation_reason);
  visit("holdout_split", report.holdout_split);
  visit("notes", report.notes);
  visit("epochs", report.epochs);
  visit("best_epoch", report.best_epoch);
  visit("polished", report.polished);
  visit("seconds", report.seconds);
  visit("settings", report.options);
  visit("validation", report.validation);
  visit("holdout", report.holdout);
  visit("class_validation", report.class_validation);
  visit("class_holdout", report.class_holdout);
  visit("waiting", report.waiting);
  visit("history", report.history);
  visit("calibrated_on", report.calibrated_on);
  visit("remarks", report.remarks);
  visit("term_shares", report.term_shares);
}

template <class Data>
Json fields_of(const Data& data) {
  Writer writer;
  visit_fields(data, writer);
  return writer.json;
}

template <class Data>
Data from_fields(const Json& json) {
  Data data;
  visit_fields(data, Reader{json});
  return data;
}

Json Writer::written(const EncodingNotes& notes) { return fields_of(notes); }
void Reader::read(const Json& from, EncodingNotes& to) { to = from_fields<EncodingNotes>(from); }
void Reader::read(const Json& from, std::vector<EpochRecord>& to) {
  for (const Json& each : from) to.push_back(from_fields<EpochRecord>(each));
}

}  // namespace

// Up to format 3 the likelihood was said in three words.
std::string likelihood_from(const Json& json) {
  const std::string family = json.contains("family") && json.at("family").is_string() ? json.at("family") : "";
  const std::string loss = json.value("loss", "mse");
  if (family == "bernoulli" && json.value("link", "logit") == "probit") return "probit";
  if (!family.empty() && family != "gaussian") return family;
  return loss == "gaussian" ? "gaussian_nll" : loss == "mse" ? family : loss;
}

Json to_json(const FitOptions& options) { return options_json(options); }
FitOptions options_from_json(const Json& json) {
  FitOptions options;
  Json current = json;
  if (json.contains("refit") && json.at("refit").is_boolean()) {  // up to format 4
    current["refit"] = choice_name(json.at("refit").get<bool>() ? Refit::yes : Refit::no);
  }
  read_options_json(current, options);
  if (!json.contains("likelihood")) options.likelihood = likelihood_from(json);
  return options;
}

Json to_json(const Scores& scores) { return fields_of(scores); }
Scores scores_from_json(const Json& json) { return from_fields<Scores>(json); }

Json to_json(const ClassScores& scores) { return fields_of(scores); }
ClassScores class_scores_from_json(const Json& json) { return from_fields<ClassScores>(json); }

Json to_json(const EpochRecord& record) { return fields_of(record); }

Json to_json(const FitReport& report) { return fields_of(report); }
FitReport report_from_json(const Json& json) { return from_fields<FitReport>(json); }

Json to_json(const Encoder& encoder) {
  Json json;
  json["target"] = to_json(encoder.target);
  json["transform"] = encoder.transform->name;
  json["target_kind"] = kTargetKinds[static_cast<std::size_t>(encoder.target_kind)];
  for (const auto& [name, column] : {std::pair("weights", &encoder.weights), std::pair("offset", &encoder.offset),
                                     std::pair("error", &encoder.error)}) {
    if (!*column) continue;
    json[name] = to_json((*column)->info);
    json[name]["transform"] = (*column)->transform;
    json[name]["scale"] = (*column)->scale;
  }
  json["target_scaling"] = to_json(encoder.target_scaling);
  json["gaps"] = choice_name(encoder.gaps);
  json["kernel_columns"] = Json::array();
  for (const KernelColumn& column : encoder.kernel_columns) json["kernel_columns"].push_back(to_json(column));
  json["classes"] = encoder.classes;
  json["target_summary"] = to_json(encoder.target_summary);
  json["networks"] = Json::array();
  for (const NetworkInputs& network : encoder.networks) json["networks"].push_back(to_json(network));
  for (const DerivedColumn& each : encoder.derived) json["derived"].push_back(to_json(each));
  for (const ColumnInfo& each : encoder.derived_from) json["derived_from"].push_back(to_json(each));
  return json;
}

Encoder encoder_from_json(const Json& json) {
  Encoder encoder;
  encoder.target = column_info_from_json(json.at("target"));
  // up to format 3 there was one transform, and kinds of targets were told apart by the family
  encoder.transform = json.contains("transform") ? find_transform(json.at("transform").get<std::string>())
                                                 : find_transform(json.at("log_target").get<bool>() ? "log" : "");
  if (encoder.transform == nullptr) throw DataError("no transform named " + json.at("transform").dump());
  const auto* kind = std::find(kTargetKinds.begin(), kTargetKinds.end(), json.value("target_kind", "number"));
  if (kind == kTargetKinds.end()) throw DataError("no kind of target named " + json.at("target_kind").dump());
  encoder.target_kind = static_cast<TargetKind>(kind - kTargetKinds.begin());
  for (const auto& [name, column] : {std::pair("weights", &encoder.weights), std::pair("offset", &encoder.offset),
                                     std::pair("error", &encoder.error)}) {
    if (!json.contains(name)) continue;
    const Json& from = json.at(name);
    *column = RowColumn{column_info_from_json(from), from.at("transform"), from.at("scale")};
    if (find_transform((*column)->transform) == nullptr)
      throw DataError("no transform named " + from.at("transform").dump());
  }
  encoder.target_scaling = scaling_from(json.at("target_scaling"));
  encoder.gaps = choice_from<Gaps>(json.at("gaps"));
  for (const Json& column : json.at("kernel_columns")) encoder.kernel_columns.push_back(kernel_column_from(column));
  encoder.classes = json.value("classes", std::vector<std::string>());
  encoder.target_summary =
      json.contains("target_summary") ? scaling_from(json.at("target_summary")) : encoder.target_scaling;
  if (json.contains("networks")) {
    for (const Json& network : json.at("networks")) encoder.networks.push_back(network_inputs_from(network));
  } else {  // up to format 2
    for (const Json& network : json.at("network_columns")) {
      encoder.networks.emplace_back().columns = network_columns_from(network);
    }
  }
  encoder.derived = derived_from_json(json.value("derived", Json::array()));
  for (const Json& each : json.value("derived_from", Json::array()))
    encoder.derived_from.push_back(column_info_from_json(each));
  return encoder;
}

Json to_json(const std::vector<ParameterValue>& values) {
  Json list = Json::array();
  for (const ParameterValue& each : values) {
    list.push_back({{"path", each.path},
                    {"values", each.values},
                    {"lower", each.lower},
                    {"upper", each.upper},
                    {"unit", each.unit},
                    {"fixed", each.fixed},
                    {"at_edge", each.at_edge}});
  }
  return list;
}

}  // namespace ick
