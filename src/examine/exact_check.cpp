#include "ick/examine/exact_check.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <optional>

#include "ick/base/error.h"
#include "ick/base/seed.h"

namespace ick {

namespace {

// Rows that the exact process learns from, and new rows, where it is compared with the model.
struct CheckParts {
  Dataset training, compared;
  Table points;  // that were made for it, where no row is new
  std::string compared_at, name;
  bool own_rows = false;
};

Dataset some_of_rows(const Dataset& rows, std::int64_t count, std::uint64_t seed) {
  return rows.select(draw_rows(rows.size(), count, seed));
}

CheckParts check_parts(const StoredModel& stored, const CompositePredictor& model, const Table& table,
                       std::int64_t count) {
  Encoder encoder = model.encoder;
  if (encoder.gaps == Gaps::refuse) encoder.gaps = Gaps::drop;
  std::optional<Table> made;
  const Dataset all = open_rows(model.readable(table, made), encoder, std::vector<bool>(table.rows, true));
  if (all.size() < 4)
    throw DataError("a check needs at least 4 rows with a target, and there are " + std::to_string(all.size()));
  const std::uint64_t seed = model.options.seed;
  CheckParts parts;
  if (fingerprint(table) != stored.origin.fingerprint) {
    const at::Tensor order = draw_rows(all.size(), std::min(2 * count, all.size()), seed_for(seed, "check rows"));
    const std::int64_t half = order.size(0) / 2;
    parts.training = all.select(order.slice(0, 0, order.size(0), 2).contiguous());
    parts.compared = all.select(order.slice(0, 1, 2 * half, 2).contiguous());
    parts.compared_at = "other rows of the same table, which is not the one of the fit";
    parts.name = "other table";
    return parts;
  }
  const FitOptions& options = stored.report.options;
  std::vector<bool> rest(table.rows, false);
  for (const std::int64_t row : all.rows) rest[row] = true;
  const auto set_apart = [&](const Split& split, const char* name) {
    const std::vector<bool> apart = held_out(table, split, seed_for(seed, name), rest);
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = rest[i] && !apart[i];
    return apart;
  };
  std::vector<bool> apart(table.rows, false);
  if (stored.report.holdout_rows > 0) apart = set_apart(options.holdout, "holdout");
  if (stored.report.validation_rows > 0 && options.refit == Refit::no) {
    const std::vector<bool> validation = set_apart(*options.validation, "validation");
    if (stored.report.holdout_rows == 0) apart = validation;
  }
  std::vector<std::int64_t> in, out;
  for (std::int64_t i = 0; i < all.size(); ++i) {
    if (rest[all.rows[i]]) in.push_back(i);
    if (apart[all.rows[i]]) out.push_back(i);
  }
  const Dataset training = all.subset(at::tensor(in, at::kLong));
  parts.own_rows = training.size() <= count && stored.origin.updates.empty();
  parts.training = some_of_rows(training, count, seed_for(seed, "check training"));
  if (!out.empty()) {
    const bool held = stored.report.holdout_rows > 0;
    parts.compared = some_of_rows(all.subset(at::tensor(out, at::kLong)), count, seed_for(seed, "check holdout"));
    parts.compared_at = held ? "rows held out of the fit" : "validation rows, which the model was not trained on";
    parts.name = held ? "holdout" : "validation";
    return parts;
  }
  parts.points = points_between(table, parts.training.rows, model.columns(), parts.training.size(),
                                seed_for(seed, "check points"));
  parts.compared = encode(model.readable(parts.points, made), encoder, false);
  parts.compared = parts.compared.select(parts.compared.complete().nonzero().select(1, 0).contiguous());
  parts.compared_at = "points between them: the fit has seen every row";
  parts.name = "between";
  return parts;
}

}  // namespace

ExactCheck check_against_exact(const StoredModel& stored, const Table& table, std::int64_t rows) {
  const CompositePredictor& model = stored.composite("check");
  if (!model.likelihood->conjugate || model.encoder.weights || model.encoder.error) {
    throw UsageError("check compares numbers with Gaussian noise of one size; this model's likelihood is " +
                     std::string(model.likelihood->name) +
                     (model.likelihood->conjugate ? " with weights(...) or error(...)" : ""));
  }
  const CheckParts parts = check_parts(stored, model, table, rows);
  const Table& compared_table = parts.points.rows > 0 ? parts.points : table;
  ExactCheck found;
  found.comparison = compare_with_exact(model, compared_table, parts.training, parts.compared, !parts.own_rows);
  found.compared_at = parts.compared_at, found.name = parts.name, found.own_rows = parts.own_rows;
  return found;
}

std::string posterior_text(const CompositePredictor& model) {
  const Engine& engine = model.posterior->engine();
  if (engine.name == "neighbours") return "kernel features and neighbouring rows";
  if (engine.kernels_only) return "kernel features";
  return fmt::format("{} posterior of {} member{}", engine.name, model.options.members,
                     model.options.members == 1 ? "" : "s");
}

}  // namespace ick
