#include "store/summary_json.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ick/base/error.h"

namespace ick {

namespace {

using Json = nlohmann::json;

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
double number_or_none(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

}  // namespace

Json to_json(const ColumnInfo& info) {
  Json json = {{"name", info.name}, {"type", column_type_name(info.type)}};
  if (!info.time_format.empty()) json["time_format"] = info.time_format;
  if (!info.levels.empty()) json["levels"] = info.levels;
  return json;
}

ColumnInfo column_info_from_json(const Json& json) {
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

Json to_json(const DataSummary& summary) {
  Json json = {{"columns", Json::array()},
               {"time", summary.time},
               {"step", {{"days", summary.step.days}, {"months", summary.step.months}}},
               {"keys", summary.keys},
               {"fixed", summary.fixed},
               {"series", Json::array()},
               {"series_count", summary.series_count}};
  if (summary.step.month_end) json["step"]["month_end"] = true;
  for (const ColumnSummary& each : summary.columns) {
    Json column = to_json(each.info);
    column["low"] = number_or_null(each.low);
    column["high"] = number_or_null(each.high);
    column["typical"] = number_or_null(each.typical);
    if (!each.read) column["read"] = false;
    json["columns"].push_back(std::move(column));
  }
  for (const SeriesSummary& each : summary.series) {
    Json values = Json::array();
    for (const double value : each.values) values.push_back(number_or_null(value));
    json["series"].push_back({{"values", std::move(values)}, {"last", each.last}});
  }
  return json;
}

DataSummary summary_from_json(const Json& json) {
  DataSummary summary;
  for (const Json& each : json.at("columns")) {
    ColumnSummary& column = summary.columns.emplace_back();
    column.info = column_info_from_json(each);
    column.low = number_or_none(each.at("low"));
    column.high = number_or_none(each.at("high"));
    column.typical = number_or_none(each.at("typical"));
    column.read = each.value("read", true);
  }
  summary.time = json.at("time");
  const Json& step = json.at("step");
  summary.step = {step.at("days"), step.at("months"), step.value("month_end", false)};
  summary.keys = json.at("keys").get<std::vector<std::string>>();
  summary.fixed = json.at("fixed").get<std::vector<std::string>>();
  summary.series_count = json.at("series_count");
  for (const Json& each : json.at("series")) {
    SeriesSummary& series = summary.series.emplace_back();
    for (const Json& value : each.at("values")) series.values.push_back(number_or_none(value));
    if (series.values.size() != summary.fixed.size()) throw DataError("a series has not the values of its columns");
    series.last = each.at("last");
  }
  for (const std::string& name : summary.fixed) summary.column(name);
  if (!summary.time.empty()) summary.column(summary.time);
  return summary;
}

}  // namespace ick
