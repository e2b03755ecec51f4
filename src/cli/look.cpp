#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/look_text.h"
#include "cli/report_files.h"
#include "ick/look/look.h"
#include "ick/table/time.h"

namespace ick {

namespace {

using Json = nlohmann::ordered_json;

struct LookRequest {
  std::string data, target;
  std::uint64_t seed = 0;
  bool json = false;
  ReportFiles report;
  DataOptions reading;
};

Json column_json(const ColumnLook& column) {
  Json json = {{"name", column.name},
               {"type", column_type_name(column.type)},
               {"role", column_role_name(column.role)},
               {"missing", column.missing},
               {"distinct", column.distinct}};
  if (column.range) {
    const ValueRange& range = *column.range;
    const bool is_time = column.type == ColumnType::time;
    const auto value = [&](double number) { return is_time ? Json(time_text(number)) : Json(number); };
    json["low"] = value(range.low), json["median"] = value(range.median), json["high"] = value(range.high);
    if (!is_time) json["skewness"] = range.skewness;
  }
  for (const LevelCount& level : column.commonest) {
    json["commonest"].push_back({{"value", level.text}, {"rows", level.rows}});
  }
  json["terms"] = column.terms;
  if (!column.note.empty()) json["note"] = column.note;
  return json;
}

Json look_json(const TableLook& page) {
  Json json = {{"schema", 1}, {"rows", page.rows}, {"examined", page.examined}, {"equal_rows", page.equal_rows}};
  json["columns"] = Json::array();
  for (const ColumnLook& column : page.columns) json["columns"].push_back(column_json(column));
  json["times"] = Json::array();
  for (const TimeLook& time : page.times) {
    json["times"].push_back({{"column", time.column},
                             {"low", time_text(time.low)},
                             {"high", time_text(time.high)},
                             {"instants", time.instants},
                             {"step_days", time.step},
                             {"near_step", time.near},
                             {"gaps", time.gaps},
                             {"longest_gap_days", time.longest_gap},
                             {"most_rows", time.most_rows},
                             {"shared_instants", time.shared_instants},
                             {"series", time.series},
                             {"series_count", time.series_count},
                             {"filled", time.filled}});
  }
  json["date_parts"] = page.date_parts;
  if (page.place) {
    const PlaceLook& place = *page.place;
    json["place"] = {{"north", place.north},
                     {"east", place.east},
                     {"sphere", place.sphere},
                     {"north_range", {place.south_low, place.north_high}},
                     {"east_range", {place.west_low, place.east_high}},
                     {"north_extent", place.north_extent},
                     {"east_extent", place.east_extent},
                     {"places", place.places},
                     {"rows", {place.least_rows, place.median_rows, place.most_rows}}};
  }
  json["groups"] = Json::array();
  for (const GroupLook& group : page.groups) {
    json["groups"].push_back({{"columns", group.columns},
                              {"groups", group.groups},
                              {"rows", {group.least_rows, group.median_rows, group.most_rows}},
                              {"constant", group.constant}});
  }
  if (page.target.empty()) return json;
  json["target"] = page.target;
  if (!page.remark.empty()) {
    json["remark"] = page.remark;
    return json;
  }
  json["leaks"] = Json::array();
  for (const LeakLook& leak : page.leaks) {
    json["leaks"].push_back({{"columns", leak.columns},
                             {"expression", leak.expression},
                             {"from_target", leak.from_target},
                             {"score", leak.score},
                             {"score_of", leak.classes ? "classes" : "ranks"},
                             {"rows", leak.rows}});
  }
  json["periods"] = Json::array();
  for (const PeriodLook& period : page.periods) {
    json["periods"].push_back(
        {{"column", period.column}, {"period", period.text}, {"days", period.days}, {"share", period.share}});
  }
  return json;
}

int run_look(const LookRequest& request) {
  check_report_place(request.report, request.data);
  const Table table = read_table(request.data, request.reading.read_options());
  request.reading.check_types(table.names());
  const TableLook page = look(table, {.target = request.target, .seed = request.seed});
  if (request.report.wanted()) {
    write_report(report_of(page, table, report_options(request.data, request.seed)), request.report);
  }
  if (request.json) {
    fmt::print("{}\n", look_json(page).dump(2, ' ', false, Json::error_handler_t::replace));
    return 0;
  }
  fmt::print("{}", look_text(page, request.data));
  if (request.target.empty()) {
    fmt::print("\nWith a target, `ick look {} TARGET` also looks for its leaks and its periods.\n", request.data);
  }
  return 0;
}

}  // namespace

Command add_look(CLI::App& program) {
  auto request = std::make_shared<LookRequest>();
  CLI::App* app = program.add_subcommand(
      "look", "Describe a table before any formula: columns, times, places, groups, suspected leaks of a target");
  app->add_option("data", request->data, "Table")->required();
  app->add_option("target", request->target, "Column to be predicted, whose leaks and periods are looked for");
  app->add_option("--seed", request->seed, "Seed of the rows that are drawn to look for leaks and periods")
      ->capture_default_str();
  app->add_flag("--json", request->json, "Print JSON");
  add_report(*app, request->report);
  request->reading.add_to(*app);
  return {app, [request] { return run_look(*request); }};
}

}  // namespace ick
