#include "store/json.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <type_traits>

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

// One list of fields for both ways. What a file does not have keeps its default: later versions add fields.
struct Writer {
  Json json = Json::object();

  template <class Value>
  void operator()(const char* name, const Value& value) {
    json[name] = written(value);
  }

  static Json written(double value) { return number(value); }
  static Json written(const Split& split) { return print(split); }
  static Json written(const Scores& scores) { return to_json(scores); }
  static Json written(const FitOptions& options) { return to_json(options); }
  static Json written(const EncodingNotes& notes);
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
    if constexpr (std::is_enum_v<Value>) {
      return choice_name(value);
    } else {
      return value;
    }
  }
};

struct Reader {
  const Json& json;

  template <class Value>
  void operator()(const char* name, Value& value) const {
    if (json.contains(name)) read(json.at(name), value);
  }

  static void read(const Json& from, double& to) { to = number_from(from); }
  static void read(const Json& from, Split& to) { to = parse_split(from.get<std::string>()); }
  static void read(const Json& from, Scores& to) { to = scores_from_json(from); }
  static void read(const Json& from, FitOptions& to) { to = options_from_json(from); }
  static void read(const Json& from, EncodingNotes& to);
  static void read(const Json& from, std::map<std::string, double>& to) {
    for (const auto& [name, value] : from.items()) to[name] = number_from(value);
  }
  template <class Value>
  static void read(const Json& from, std::optional<Value>& to) {
    if (!from.is_null()) read(from, to.emplace());
  }
  template <class Value>
  static void read(const Json& from, Value& to) {
    if constexpr (std::is_enum_v<Value>) {
      to = choice_from<Value>(from);
    } else {
      to = from.get<Value>();
    }
  }
};

// `Data` is the struct, constant for a Writer.
template <class Data, class Visitor>
void visit_notes(Data& notes, Visitor&& visit) {
  visit("without_target", notes.without_target);
  visit("with_gaps", notes.with_gaps);
  visit("filled", notes.filled);
  visit("unseen_levels", notes.unseen);
}

template <class Data, class Visitor>
void visit_options(Data& o, Visitor&& visit) {
  visit("seed", o.seed);
  visit("members", o.members);
  visit("posterior", o.posterior);
  visit("perturbation", o.perturbation);
  visit("noise", o.noise);
  visit("noise_formula", o.noise_formula);
  visit("epochs", o.epochs);
  visit("batch", o.batch);
  visit("layers", o.layers);
  visit("loss", o.loss);
  visit("optimiser", o.optimiser);
  visit("schedule", o.schedule);
  visit("learning_rate", o.learning_rate);
  visit("kernels", o.kernels);
  visit("kernel_rate", o.kernel_rate);
  visit("momentum", o.momentum);
  visit("weight_decay", o.weight_decay);
  visit("clip", o.clip);
  visit("patience", o.patience);
  visit("warm_start", o.warm_start);
  visit("polish", o.polish);
  visit("refit", o.refit);
  visit("holdout", o.holdout);
  visit("validation", o.validation);
  visit("gaps", o.gaps);
  visit("units", o.units);
  visit("checkpoint_seconds", o.checkpoint_seconds);
}

template <class Data, class Visitor>
void visit_scores(Data& s, Visitor&& visit) {
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

template <class Data, class Visitor>
void visit_report(Data& report, Visitor&& visit) {
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
}

Json Writer::written(const EncodingNotes& notes) {
  Writer writer;
  visit_notes(notes, writer);
  return writer.json;
}

void Reader::read(const Json& from, EncodingNotes& to) { visit_notes(to, Reader{from}); }

}  // namespace

Json to_json(const FitOptions& options) {
  Writer writer;
  visit_options(options, writer);
  return writer.json;
}

FitOptions options_from_json(const Json& json) {
  FitOptions options;
  visit_options(options, Reader{json});
  return options;
}

Json to_json(const Scores& scores) {
  Writer writer;
  visit_scores(scores, writer);
  return writer.json;
}

Scores scores_from_json(const Json& json) {
  Scores scores;
  visit_scores(scores, Reader{json});
  return scores;
}

Json to_json(const FitReport& report) {
  Writer writer;
  visit_report(report, writer);
  return writer.json;
}

FitReport report_from_json(const Json& json) {
  FitReport report;
  visit_report(report, Reader{json});
  return report;
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

Json to_json(const std::vector<ParameterValue>& values) {
  Json list = Json::array();
  for (const ParameterValue& each : values) {
    list.push_back({{"path", each.path}, {"values", each.values}, {"unit", each.unit}, {"fixed", each.fixed}});
  }
  return list;
}

}  // namespace ick
