#include "report/json.h"

#include "ick/report/page.h"
#include "report/letters.h"
#include "report/palette.h"

namespace ick {
namespace detail {
namespace {

// Numbers as they are; what is none, null.
Json entry_json(const Entry& entry) {
  if (!entry.value) return clean(entry.text);
  return {{"value", *entry.value}, {"text", clean(entry.text)}};
}

Json texts_json(const std::vector<std::string>& texts) {
  Json json = Json::array();
  for (const std::string& text : texts) json.push_back(clean(text));
  return json;
}

Json table_json(const TextTable& table) {
  Json rows = Json::array();
  for (const std::vector<Entry>& row : table.rows) {
    Json entries = Json::array();
    for (const Entry& entry : row) entries.push_back(entry_json(entry));
    rows.push_back(std::move(entries));
  }
  Json json = {{"id", clean(table.id)},
               {"caption", clean(table.caption)},
               {"header", texts_json(table.header)},
               {"rows", std::move(rows)}};
  if (table.best) json["best"] = *table.best;
  return json;
}

Json axis_json(const Axis& axis) {
  Json json = {{"title", clean(axis.title)}, {"scale", scale_name(axis.scale)}};
  if (axis.low) json["low"] = *axis.low;
  if (axis.high) json["high"] = *axis.high;
  if (!axis.levels.empty()) json["levels"] = texts_json(axis.levels);
  return json;
}

Json layer_json(const PlotLayer& layer) {
  Json json = {{"mark", mark_name(layer.mark)}, {"tone", tone_name(layer.tone)}, {"name", clean(layer.name)}};
  const std::pair<const char*, const std::vector<double>*> columns[] = {
      {"x", &layer.x}, {"y", &layer.y}, {"x2", &layer.x2}, {"y2", &layer.y2}, {"value", &layer.value}};
  for (const auto& [name, values] : columns) {
    if (!values->empty()) json[name] = *values;
  }
  if (!layer.text.empty()) json["text"] = texts_json(layer.text);
  return json;
}

Json figure_json(const Figure& figure) {
  Json json = {{"id", clean(figure.id)},
               {"title", clean(figure.title)},
               {"caption", clean(figure.caption)},
               {"x", axis_json(figure.x)},
               {"y", axis_json(figure.y)}};
  if (!figure.colour.title.empty()) json["colour"] = {{"title", clean(figure.colour.title)}};
  json["layers"] = Json::array();
  for (const PlotLayer& layer : figure.layers) json["layers"].push_back(layer_json(layer));
  return json;
}

Json part_json(const Paragraph& part) { return {{"paragraph", clean(part.text)}}; }
Json part_json(const TextTable& part) { return {{"table", table_json(part)}}; }
Json part_json(const Figure& part) { return {{"figure", figure_json(part)}}; }
Json part_json(const CommandLine& part) { return {{"command", clean(part.text, true)}}; }

}  // namespace

std::string_view mark_name(Mark mark) {
  constexpr std::string_view kNames[] = {"line", "band", "points", "bars", "cells", "rule", "labels"};
  return kNames[static_cast<std::size_t>(mark)];
}

std::string_view scale_name(AxisScale kind) {
  constexpr std::string_view kNames[] = {"linear", "logarithmic", "time", "levels"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace detail

std::string json_of(const Page& page) {
  using detail::Json;
  constexpr const char* kKinds[] = {"good", "warning", "note"};
  Json json = {{"schema", 1},
               {"title", detail::clean(page.title)},
               {"subtitle", detail::clean(page.subtitle)},
               {"verdict", detail::clean(page.verdict)},
               {"remarks", Json::array()},
               {"headline", Json::array()},
               {"sections", Json::array()}};
  for (const Remark& remark : page.remarks) {
    json["remarks"].push_back(
        {{"kind", kKinds[static_cast<std::size_t>(remark.kind)]}, {"text", detail::clean(remark.text)}});
  }
  for (const TextTable& table : page.headline) json["headline"].push_back(detail::table_json(table));
  for (const Section& section : page.sections) {
    Json parts = Json::array();
    for (const PagePart& part : section.parts) {
      parts.push_back(std::visit([](const auto& each) { return detail::part_json(each); }, part));
    }
    json["sections"].push_back(
        {{"id", detail::clean(section.id)}, {"title", detail::clean(section.title)}, {"parts", std::move(parts)}});
  }
  return json.dump() + "\n";
}

}  // namespace ick
