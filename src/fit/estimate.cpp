#include "ick/fit/estimate.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "fit/baseline.h"
#include "fit/calibrate.h"
#include "fit/choices.h"
#include "fit/first.h"
#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/inference/engine.h"
#include "inference/beside.h"

namespace ick {

namespace {

constexpr double kUnitsPerPixel = 40.0;  // that a network on images holds, about

double bytes_of(const Table& table) {
  double bytes = 0.0;
  for (const Column& column : table.columns) {
    if (!column.values.is_mapped()) bytes += 8.0 * static_cast<double>(column.values.size());
    for (const std::string& text : column.text) bytes += static_cast<double>(text.size() + sizeof(std::string));
  }
  return bytes;
}

// Whether networks may be cross-fitted for neighbours beside them. What features miss decides, too, which is known after
// the warm start only: counted where it can come to that.
bool may_cross_fit(const FitPlan& plan, std::int64_t rows) {
  const FitOptions& o = plan.options;
  const auto& networks = plan.encoder.networks;
  const bool images = std::any_of(networks.begin(), networks.end(), [](const auto& each) { return each.image; });
  if (o.posterior != "ensemble" || o.neighbours == Neighbours::no || terms_beside(plan.spec).empty()) return false;
  return o.neighbours == Neighbours::yes ||
         (likelihood_of(o).conjugate && o.warm_start && !images && rows >= kFewestBeside && rows <= kMostBeside);
}

}  // namespace

FitBytes bytes_of(const FitPlan& plan) {
  const FitOptions& o = plan.options;
  FitSizes sizes;
  sizes.rows = static_cast<double>(count_of(plan.training) + count_of(plan.validation));
  sizes.parameters = 1.0;
  sizes.inputs = static_cast<double>(plan.encoder.kernel_columns.size());
  std::size_t source = 0;
  for (const TermSpec& term : plan.spec.terms) {
    const auto p =
        static_cast<double>(term.features) * static_cast<double>(std::max<std::size_t>(1, term.kernels.size()));
    sizes.features += p;
    sizes.terms += 1.0;
    sizes.stated_features = sizes.stated_features && term.stated_features;
    if (term.networks.empty()) sizes.parameters += p;
    for (const NetworkSpec& network : term.networks) {
      NetworkContext context;
      const NetworkInputs& inputs = plan.encoder.networks[source++];
      context.inputs = inputs.numbers();
      if (inputs.image) context.image = inputs.image->shape;
      context.outputs = static_cast<std::int64_t>(p) * outputs_of(plan.options, plan.encoder);
      context.default_layers = o.layers;
      sizes.pixels += kUnitsPerPixel * static_cast<double>(context.image.numbers());
      for (const NamedTensor& each : make_network(network, context)->parameters()) {
        sizes.parameters += static_cast<double>(each.value.numel());
        sizes.units += static_cast<double>(each.value.size(-1));
      }
    }
  }
  FitBytes bytes = engine_named(o.posterior).bytes(sizes, o);
  if (may_cross_fit(plan, count_of(plan.training))) {  // rows and their neighbours are held, without features
    sizes.features = 0.0, sizes.stated_features = true;
    bytes.rows += engine_named("neighbours").bytes(sizes, o).rows;
  }
  const double row = bytes_of_row(plan.encoder);
  const bool held = row * sizes.rows <= o.held_bytes;
  bytes.rows += sizes.rows * (held ? 2.0 * row : 8.0);  // else which rows they are
  return bytes;
}

namespace {

constexpr double kUsable = 0.9;  // of the memory that is free

double bytes_needed(const FitPlan& plan) {
  const FitBytes bytes = bytes_of(plan);
  return bytes.rows + static_cast<double>(plan.options.members) * bytes.member;
}

std::string gigabytes(double bytes) { return number_text(std::ceil(bytes / 1e8) / 10.0) + " GB"; }

}  // namespace

// Features of all rows need not be in memory at once; rows, their neighbours and the trees to find them must.
void choose_for_memory(FitPlan& plan, double free) {
  const double needed = bytes_needed(plan);
  if (plan.options.posterior != "neighbours" || plan.engine_asked || needed <= kUsable * free) return;
  plan.options.posterior = "exact";
  plan.remarks.push_back("neighbours of so many rows would take about " + gigabytes(needed) + " of memory, and " +
                         gigabytes(free) + " are free: features carry the kernels alone (" +
                         setting("posterior", "exact") + ")");
}

void check_memory(const FitPlan& plan, double free) {
  const FitBytes bytes = bytes_of(plan);
  const auto members = static_cast<double>(plan.options.members);
  const double needed = bytes_needed(plan);
  if (needed <= kUsable * free) return;
  const auto fit = static_cast<std::int64_t>((kUsable * free - bytes.rows) / std::max(1.0, bytes.member));
  const auto& networks = plan.encoder.networks;
  const bool images = std::any_of(networks.begin(), networks.end(), [](const auto& each) { return each.image; });
  const std::string remedy =
      plan.options.posterior == "neighbours"
          ? "use " + setting("posterior", "exact") + ", which reads rows in blocks, or fewer rows"
      : fit >= 1 && members > 1.0 ? "ask for at most " + std::to_string(fit) + " " + setting("members")
      : images ? "use a smaller " + setting("batch") + ", smaller images (size=...), or a smaller network"
               : "use fewer rows, smaller " + setting("layers") + ", or points=... in the formula";
  throw UsageError("this fit with " + std::to_string(plan.options.members) +
                   (plan.options.members == 1 ? " member" : " members") + " would take about " + gigabytes(needed) +
                   " of memory, and " + number_text(std::floor(free / 1e8) / 10.0) + " GB are free; " + remedy);
}

FitEstimate estimate_fit(const Table& table, const Formula& formula, const FitOptions& asked) {
  const FitOptions options = with_model(formula, asked);
  FitEstimate estimate;
  const bool learns = !options.model.empty() && baseline_named(options.model).learn != nullptr;
  estimate.plan = learns ? plan_baseline(table, formula, options)
                         : plan_fit(table, formula_of_model(table, formula, options), options);
  const FitPlan& plan = estimate.plan;
  const FitOptions& o = plan.options;
  estimate.training_rows = count_of(plan.training);
  estimate.validation_rows = count_of(plan.validation);
  estimate.holdout_rows = count_of(plan.holdout);

  if (learns) return estimate;

  const Dataset all = open_rows(table, plan.encoder, std::vector<bool>(table.rows, true));
  const std::int64_t some = std::min<std::int64_t>(all.size(), std::max<std::int64_t>(4 * o.batch, 4096));
  const Dataset rows = all.select(at::arange(some, at::kLong));
  const Engine& engine = engine_named(o.posterior);
  ModelOptions model_options;
  model_options.members = engine.draws ? std::min<std::int64_t>(o.members, 4) : o.members;  // all cost the same
  model_options.outputs = outputs_of(o, plan.encoder);
  model_options.own_kernels = o.own_kernels;
  model_options.seed = o.seed;
  model_options.layers = o.layers;
  Model model(plan.spec, plan.encoder, rows, model_options);
  estimate.features = model.features();
  estimate.parameters = model.trainable() / model.members() * o.members;

  const auto n = static_cast<double>(estimate.training_rows);
  const FitBytes bytes = bytes_of(plan);
  estimate.bytes = bytes_of(table) + bytes.rows + static_cast<double>(o.members) * bytes.member;
  const Engine::Seconds once = engine.seconds(model, o, rows, n);
  double runs = o.refit == Refit::yes && estimate.validation_rows > 0 && !engine.kernels_only ? 2.0 : 1.0;
  if (plan_to_try_ranks(table, plan)) runs += 1.0;
  estimate.seconds_per_epoch = once.epoch;
  if (may_cross_fit(plan, estimate.training_rows)) {  // one member each, with all rows but the fold's
    model_options.members = 1;
    Model member(plan.spec, plan.encoder, rows, model_options);
    const double epoch = engine.seconds(member, o, rows, n * (1.0 - 1.0 / kBesideFolds)).epoch;
    estimate.fold_seconds = runs * kBesideFolds * epoch * static_cast<double>(o.epochs);
  }
  if (may_retrain(plan, estimate.training_rows + estimate.validation_rows)) {  // with all rows but a fifth
    constexpr double kTrainings = 5.0;
    const double epoch = engine.seconds(model, o, rows, n * (1.0 - 1.0 / kTrainings)).epoch;
    estimate.left_out_seconds = kTrainings * epoch * static_cast<double>(o.epochs);
  }
  estimate.seconds = runs * once.all + estimate.fold_seconds + estimate.left_out_seconds;
  return estimate;
}

}  // namespace ick
