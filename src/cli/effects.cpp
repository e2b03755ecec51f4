#include "ick/evaluate/effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/accept.h"
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/fit_text.h"
#include "cli/fold_json.h"
#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/store/model_directory.h"
#include "ick/table/csv.h"
#include "ick/table/time.h"

namespace ick {

namespace {

using Json = nlohmann::ordered_json;

struct EffectsRequest {
  std::string model, data;
  std::vector<std::string> columns;
  EffectOptions curves;
  ImportanceOptions importance;
  LoadOptions loading;
  bool json = false;
  DataOptions reading;
};

std::string point_text(const Effect& effect, std::size_t k) {
  if (!effect.levels.empty()) return effect.levels[k];
  return effect.type == ColumnType::time ? time_text(effect.at[k]) : number_text(effect.at[k]);
}

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

Json curve_json(const Effect& effect, const Predictor& model) {
  Json json = {{"column", effect.column}, {"kind", effect.accumulated ? "accumulated" : "partial"}};
  if (effect.accumulated) json["goes_with"] = effect.goes_with;
  json["unit"] = model.target().name;
  for (std::size_t k = 0; k < effect.mean.size(); ++k) {
    const bool number = effect.levels.empty() && effect.type != ColumnType::time;
    json["curve"].push_back({{"at", number ? Json(effect.at[k]) : Json(point_text(effect, k))},
                             {"effect", effect.mean[k]},
                             {"lower", finite_json(effect.lower[k])},
                             {"upper", finite_json(effect.upper[k])}});
  }
  return json;
}

// Curves of columns, as rows of a table on stdout.
int print_curves(const EffectsRequest& request, const Predictor& model, const Table& table) {
  std::vector<Effect> effects;
  for (const std::string& column : request.columns) {
    effects.push_back(effect_of(model, table, column, request.curves));
  }
  if (request.json) {
    Json out = {{"schema", 1}, {"level", request.curves.level}};
    for (const Effect& effect : effects) out["effects"].push_back(curve_json(effect, model));
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  fmt::print("column,at,effect,lower,upper\n");
  for (const Effect& effect : effects) {
    for (std::size_t k = 0; k < effect.mean.size(); ++k) {
      const auto number = [](double value) { return std::isfinite(value) ? fmt::format("{:.6g}", value) : ""; };
      fmt::print("{},{},{},{},{}\n", csv_cell(effect.column, ','), csv_cell(point_text(effect, k), ','),
                 number(effect.mean[k]), number(effect.lower[k]), number(effect.upper[k]));
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
      out["terms"].push_back({{"term", each.name.path}, {"text", each.name.text}, {"share", each.share}});
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      Json one = {{"column", all[i].column}, {"increase", all[i].increase}, {"error", all[i].error}};
      if (!effects[i].mean.empty()) one["effect"] = curve_json(effects[i], model);
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
  const Table table = read_table(request.data, request.reading.read_options(model, /*with_target=*/overview));
  return overview ? print_overview(request, model, table) : print_curves(request, model, table);
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
  app->add_option("columns", r.columns,
                  "Columns whose curves are printed as rows of a table, with a band; by default "
                  "an overview of all");
  app->add_option("--points", r.curves.points, "Points of a curve, quantiles of the column")
      ->check(accept_number<std::int64_t>(2, 10'000))
      ->capture_default_str();
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
            return run_effects(*request);
          }};
}

}  // namespace ick
