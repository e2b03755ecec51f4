#include "ick/evaluate/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/accept.h"
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/fit_text.h"
#include "cli/fold_json.h"
#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/predict/composite.h"
#include "ick/store/model_directory.h"
#include "ick/table/csv.h"
#include "ick/table/time.h"

namespace ick {

namespace {

using Json = nlohmann::ordered_json;

struct EffectsRequest {
  std::string model, data;
  std::vector<std::string> columns;  // or pairs of them, a:b
  std::vector<std::string> held;     // column=value
  std::int64_t points = 0;           // 0: as many as suit
  EffectOptions curves;
  ImportanceOptions importance;
  LoadOptions loading;
  bool json = false;
  DataOptions reading;
};

std::string point_text(const EffectPoints& points, std::size_t k) {
  if (!points.levels.empty()) return points.levels[k];
  return points.type == ColumnType::time ? time_text(points.at[k]) : number_text(points.at[k]);
}

Json point_json(const EffectPoints& points, std::size_t k) {
  const bool number = points.levels.empty() && points.type != ColumnType::time;
  return number ? Json(points.at[k]) : Json(point_text(points, k));
}

std::string cell_of(double value) { return std::isfinite(value) ? fmt::format("{:.6g}", value) : ""; }

std::string kind_text(const Effect& effect) {
  return effect.accumulated ? "accumulated local effects, because it goes with " + effect.goes_with : "partial effect";
}

// "▁▂▄▇█": a curve in the height of a line, at most so many points of it
std::string curve_text(const std::vector<double>& curve) {
  constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::size_t kMost = 30;
  const auto [low, high] = std::minmax_element(curve.begin(), curve.end());
  std::string text;
  const std::size_t count = std::min(curve.size(), kMost);
  for (std::size_t i = 0; i < count; ++i) {
    const double value = curve[i * (curve.size() - 1) / std::max<std::size_t>(1, count - 1)];
    const double height = *high > *low ? (value - *low) / (*high - *low) : 0.0;
    text += kBlocks[std::min<std::size_t>(7, static_cast<std::size_t>(8.0 * height))];
  }
  return text;
}

// What an effect is measured in.
std::string unit_of_effect(const EffectsRequest& request, const Predictor& model) {
  return request.curves.term.empty() ? model.target().name : model.component_scale();
}

// The two columns of "a:b"; none where that is a column itself. Names may have colons.
std::optional<std::pair<std::string, std::string>> pair_of(const Predictor& model, const std::string& text) {
  std::vector<std::string> read;
  for (const ColumnInfo& info : model.columns()) read.push_back(info.name);
  if (contains(read, text) || text.find(':') == std::string::npos) return std::nullopt;
  for (std::size_t colon = text.find(':'); colon != std::string::npos; colon = text.find(':', colon + 1)) {
    const std::string a = text.substr(0, colon), b = text.substr(colon + 1);
    if (contains(read, a) && contains(read, b)) return std::pair(a, b);
  }
  const std::size_t colon = text.find(':');  // a message names what the model does not read
  return std::pair(text.substr(0, colon), text.substr(colon + 1));
}

Json curve_json(const Effect& effect, const std::string& unit) {
  Json json = {{"column", effect.column}, {"kind", effect.accumulated ? "accumulated" : "partial"}};
  if (effect.accumulated) json["goes_with"] = effect.goes_with;
  json["unit"] = unit;
  for (std::size_t k = 0; k < effect.mean.size(); ++k) {
    json["curve"].push_back({{"at", point_json(effect, k)},
                             {"effect", effect.mean[k]},
                             {"lower", finite_json(effect.lower[k])},
                             {"upper", finite_json(effect.upper[k])}});
  }
  return json;
}

Json grid_json(const Interaction& grid, const std::string& unit) {
  Json json = {{"columns", {grid.a.column, grid.b.column}}, {"unit", unit}, {"go_together", grid.go_together}};
  json["h"] = {
      {"value", finite_json(grid.h)}, {"lower", finite_json(grid.h_lower)}, {"upper", finite_json(grid.h_upper)}};
  const std::size_t columns = grid.b.size();
  for (std::size_t k = 0; k < grid.effect.size(); ++k) {
    json["grid"].push_back({{"at", {point_json(grid.a, k / columns), point_json(grid.b, k % columns)}},
                            {"effect", grid.effect[k]},
                            {"lower", finite_json(grid.lower[k])},
                            {"upper", finite_json(grid.upper[k])},
                            {"interaction", grid.interaction[k]},
                            {"rows", grid.rows[k]}});
  }
  return json;
}

void print_grids(const std::vector<Interaction>& grids, double level) {
  fmt::print("column,at,column2,at2,effect,lower,upper,interaction,rows\n");
  for (const Interaction& grid : grids) {
    const std::size_t columns = grid.b.size();
    for (std::size_t k = 0; k < grid.effect.size(); ++k) {
      fmt::print("{},{},{},{},{},{},{},{},{}\n", csv_cell(grid.a.column, ','),
                 csv_cell(point_text(grid.a, k / columns), ','), csv_cell(grid.b.column, ','),
                 csv_cell(point_text(grid.b, k % columns), ','), cell_of(grid.effect[k]), cell_of(grid.lower[k]),
                 cell_of(grid.upper[k]), cell_of(grid.interaction[k]), grid.rows[k]);
    }
    const std::string band =
        std::isfinite(grid.h_lower)
            ? fmt::format(" ({}% of draws: {:.2f} to {:.2f})", number_text(100.0 * level), grid.h_lower, grid.h_upper)
            : "";
    fmt::print(stderr, "{}:{}: interaction H {:.2f}{}, from 0, effects add up, to 1{}\n", grid.a.column, grid.b.column,
               grid.h, band,
               grid.go_together ? "; the columns go together: where rows is 0 nothing like it was seen" : "");
  }
}

// Curves of columns, or grids of two, as rows of a table on stdout.
int print_curves(const EffectsRequest& request, const Predictor& model, const Table& table) {
  constexpr std::int64_t kGridPoints = 8;  // of each column: with the usual 20, predictions of 80,000 rows
  std::vector<Effect> effects;
  std::vector<Interaction> grids;
  EffectOptions options = request.curves;
  const std::int64_t of_curve = options.points;
  for (const std::string& each : request.columns) {
    const auto two = pair_of(model, each);
    options.points = request.points > 0 ? request.points : two ? kGridPoints : of_curve;
    if (two) grids.push_back(interaction_of(model, table, two->first, two->second, options));
    if (!two) effects.push_back(effect_of(model, table, each, options));
  }
  const std::string unit = unit_of_effect(request, model);
  if (request.json) {
    Json out = {{"schema", 1}, {"level", request.curves.level}};
    if (!request.curves.term.empty()) out["term"] = request.curves.term;
    for (const auto& [column, text] : request.curves.at) out["held"][column] = text;
    for (const Effect& effect : effects) out["effects"].push_back(curve_json(effect, unit));
    for (const Interaction& grid : grids) out["interactions"].push_back(grid_json(grid, unit));
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  if (!effects.empty() && !grids.empty()) {
    throw UsageError("curves and grids are different tables: ask for one column or two at a time, or for --json");
  }
  if (!grids.empty()) {
    print_grids(grids, options.level);
    return 0;
  }
  fmt::print("column,at,effect,lower,upper\n");
  for (const Effect& effect : effects) {
    for (std::size_t k = 0; k < effect.mean.size(); ++k) {
      fmt::print("{},{},{},{},{}\n", csv_cell(effect.column, ','), csv_cell(point_text(effect, k), ','),
                 cell_of(effect.mean[k]), cell_of(effect.lower[k]), cell_of(effect.upper[k]));
    }
    fmt::print(stderr, "{}: {}\n", effect.column, kind_text(effect));
  }
  return 0;
}

// All columns: how much predictions lose without them, and the curve of each that has one.
int print_overview(const EffectsRequest& request, const Predictor& model, const Table& table) {
  const std::vector<TermShare> shares = term_shares(model, table);
  const std::vector<Importance> all = importance_of(model, table, request.importance);
  std::vector<Effect> effects;
  for (const Importance& each : all) {
    const Column& column = table.column(each.column);
    const bool varies = column.info.type != ColumnType::text && model.classes().empty() &&
                        std::any_of(column.values.begin(), column.values.end(),
                                    [&](double value) { return !std::isnan(value) && value != column.values[0]; });
    effects.push_back(varies ? effect_of(model, table, each.column, request.curves) : Effect{});
  }
  const bool classes = !model.classes().empty();
  const std::string measure = classes ? "log loss" : "rmse";
  if (request.json) {
    Json out = {{"schema", 1}, {"score", classes ? "log_loss" : "rmse"}, {"level", request.curves.level}};
    for (const TermShare& each : shares) {
      out["terms"].push_back({{"term", each.name.path}, {"text", each.name.text}, {"share", finite_json(each.share)}});
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      Json one = {{"column", all[i].column}, {"increase", all[i].increase}, {"error", all[i].error}};
      if (!effects[i].mean.empty()) one["effect"] = curve_json(effects[i], model.target().name);
      out["columns"].push_back(std::move(one));
    }
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  print_shares(shares, model);
  if (!shares.empty()) fmt::print("\n");
  std::size_t width = 6;
  for (const Importance& each : all) width = std::max(width, each.column.size());
  fmt::print("{:<{}}  {:>21}  {:>21}\n", "column", width, measure + " without it", classes ? "" : "effect");
  for (std::size_t i = 0; i < all.size(); ++i) {
    fmt::print("{:<{}}  {:>21}", all[i].column, width, fmt::format("{:+.3g} +- {:.1g}", all[i].increase, all[i].error));
    if (const std::vector<double>& curve = effects[i].mean; !curve.empty()) {
      const auto [low, high] = std::minmax_element(curve.begin(), curve.end());
      fmt::print("  {:>21}  {}{}", fmt::format("{:+.3g} to {:+.3g}", *low, *high), curve_text(curve),
                 effects[i].accumulated ? "  accumulated, goes with " + effects[i].goes_with : "");
    }
    fmt::print("\n");
  }
  fmt::print("\n{} without it: increase when its values are dealt out anew among the rows ({} times)\n", measure,
             request.importance.deals);
  if (!classes)
    fmt::print("effect: on {}, from the smallest value of the column to the largest\n", model.target().name);
  return 0;
}

int run_effects(const EffectsRequest& request) {
  const StoredModel stored = load_model(request.model, request.loading);
  const Predictor& model = *stored.model;
  const bool overview = request.columns.empty();
  if (overview && (!request.curves.term.empty() || !request.curves.at.empty())) {
    throw UsageError("--term and --at are for curves: name the columns whose effects are wanted");
  }
  const Table table = read_table(request.data, request.reading.read_options(model, /*with_target=*/overview));
  if (overview) return print_overview(request, model, table);
  const int code = print_curves(request, model, table);
  const auto* const composite = dynamic_cast<const CompositePredictor*>(&model);
  if (composite != nullptr && composite->posterior->engine().name == "ensemble" && stored.report.polished) {
    fmt::print(stderr,
               "bands are the spread of members, and too narrow where last layers are solved in closed form, as here; "
               "fit with --posterior laplace or nngp for bands that can be relied on\n");
  }
  return code;
}

}  // namespace

Command add_effects(CLI::App& program) {
  auto request = std::make_shared<EffectsRequest>();
  CLI::App* app = program.add_subcommand(
      "effects", "What a model does with its columns: shares of terms, importance, and curves with bands");
  EffectsRequest& r = *request;
  app->add_option("model", r.model, "Folder of a model")->required();
  app->add_option("data", r.data, "CSV or TSV table, may be gzipped; - for stdin; best one that it was not trained on")
      ->required();
  app->add_option(
      "columns", r.columns,
      "Columns whose curves are printed as rows of a table, with a band, or pairs of them, as in wind:temp, "
      "whose grids are; by default an overview of all");
  app->add_option("--term", r.curves.term, "Effects on this component alone: term1, term2, ...");
  app->add_option("--at", r.held, "Hold a column at a value: COLUMN=VALUE; repeatable")->allow_extra_args(false);
  app->add_option("--points", r.points,
                  "Points of a column, quantiles of it; by default 20, of a grid 8 for each column")
      ->check(accept_number<std::int64_t>(2, 10'000));
  app->add_option("--rows", r.curves.rows, "Rows that a curve is averaged over, drawn at random")
      ->check(accept_number<std::int64_t>(1, 10'000'000))
      ->capture_default_str();
  app->add_option("--draws", r.curves.draws, "Draws of the function that bands are made of")
      ->check(accept_number<std::int64_t>(2, 100'000))
      ->capture_default_str();
  app->add_option("--level", r.curves.level, "Share of the draws' curves within a band")
      ->check(accept_number(0.0, 1.0, /*open=*/true))
      ->capture_default_str();
  app->add_option("--deals", r.importance.deals, "Times that a column's values are dealt out anew")
      ->check(accept_number<std::int64_t>(1, 10'000))
      ->capture_default_str();
  app->add_option("--seed", r.curves.seed, "Seed of the rows and draws")->capture_default_str();
  app->add_flag("--json", r.json, "Print JSON");
  add_trust(*app, r.loading);
  r.reading.add_to(*app);
  return {app, [request] {
            request->importance.seed = request->curves.seed;
            for (const std::string& each : request->held) {
              const std::size_t equals = each.find('=');
              if (equals == std::string::npos || equals == 0) {
                throw UsageError("--at " + each + ": expected COLUMN=VALUE, as in --at wind=3");
              }
              request->curves.at[each.substr(0, equals)] = each.substr(equals + 1);
            }
            return run_effects(*request);
          }};
}

}  // namespace ick
