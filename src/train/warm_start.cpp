#include "train/warm_start.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <set>
#include <vector>

#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "ick/kernel/periodogram.h"
#include "train/evidence.h"
#include "train/lbfgs.h"
#include "train/neighbour_evidence.h"
#include "train/stand_in.h"

namespace ick {

namespace {

constexpr std::int64_t kRows = 400;             // of the exact process: a step costs some ten milliseconds
constexpr std::int64_t kSpectrumRows = 4096;    // read for the spectrum
constexpr int kPeaks = 4;                       // of the spectrum tried
constexpr double kNatsBehind = 20.0;            // of the few rows: a stand-in that is further behind is left
constexpr int kScreening = 6, kPolishing = 40;  // steps of L-BFGS for each candidate, and for the best

// Kernels that start from the spectrum.
bool repeats(const KernelSpec& kernel) {
  if (kernel.name == "spectral_mixture") return kernel.find("mean") == nullptr;
  return (kernel.name == "periodic" || kernel.name == "cosine") && kernel.find("period") == nullptr;
}

// Rows with the least values of the first kernel column from `from` on, in their order: one pass, without sorting all.
std::vector<std::int64_t> neighbours(const Dataset& rows, double from, std::int64_t count) {
  std::vector<std::pair<double, std::int64_t>> nearest;  // a heap, the furthest on top
  for (std::int64_t first = 0; first < rows.size(); first += kManyRows) {
    const at::Tensor values = rows.x_of(first, std::min(kManyRows, rows.size() - first)).select(1, 0).contiguous();
    for (std::int64_t i = 0; i < values.size(0); ++i) {
      const std::pair each(values.data_ptr<double>()[i], first + i);
      const bool full = std::ssize(nearest) == count;
      if (each.first < from || (full && each >= nearest.front())) continue;
      if (full) std::pop_heap(nearest.begin(), nearest.end()), nearest.pop_back();
      nearest.push_back(each), std::push_heap(nearest.begin(), nearest.end());
    }
  }
  std::sort_heap(nearest.begin(), nearest.end());
  std::vector<std::int64_t> order;
  for (const auto& [value, row] : nearest) order.push_back(row);
  return order;
}

// What few_rows() gives, of more rows than are sorted: neighbours start at a row drawn.
at::Tensor few_of_many(const Dataset& rows, std::int64_t count, std::uint64_t seed) {
  std::vector<std::int64_t> picked;
  Random random(seed_for(seed, "warm start rows"));
  if (rows.x_of(0, 1).size(1) > 0) {
    const std::int64_t start = random.below(rows.size());
    picked = neighbours(rows, rows.x_of(start, 1)[0][0].item<double>(), count / 2);
  }
  std::set<std::int64_t> known(picked.begin(), picked.end());
  while (std::ssize(picked) < count) {
    const std::int64_t row = random.below(rows.size());
    if (known.insert(row).second) picked.push_back(row);
  }
  return at::tensor(picked, at::kLong);
}

// Half of the rows drawn evenly, half neighbours of each other along the first kernel column: the first show the large
// scales, the others the small ones.
at::Tensor few_rows(const Dataset& rows, std::int64_t count, std::uint64_t seed) {
  if (rows.size() > kManyRows) return few_of_many(rows, count, seed);
  std::vector<std::int64_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  if (rows.size() <= count) return at::tensor(order, at::kLong);
  const at::Tensor x = rows.x_of(0, rows.size());
  if (x.size(1) > 0) {
    const at::Tensor first = x.select(1, 0).contiguous();
    const double* value = first.data_ptr<double>();
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return value[a] < value[b]; });
  }
  Random random(seed_for(seed, "warm start rows"));
  const std::int64_t run = x.size(1) > 0 ? count / 2 : 0;
  const std::int64_t from = random.below(rows.size() - run);
  std::rotate(order.begin(), order.begin() + from, order.begin() + from + run);  // the run comes first
  for (std::int64_t i = run; i < count; ++i) std::swap(order[i], order[i + random.below(rows.size() - i)]);
  order.resize(count);
  return at::tensor(order, at::kLong);
}

// What a Gaussian process may take for the target: (n, M), each column standardised. Classes have one
// column each, counts and positive numbers the logarithm, proportions the logit, less the offset.
at::Tensor stand_in_targets(const Dataset& rows, const Likelihood& likelihood, std::int64_t outputs) {
  at::Tensor columns = rows.y.unsqueeze(1);
  switch (likelihood.target) {
    case TargetKind::number:
      return columns;
    case TargetKind::classes:
      if (outputs > 1) columns = at::one_hot(rows.y.to(at::kLong), outputs).to(at::kDouble);
      break;
    case TargetKind::count:
      columns = (columns + 0.5).log();
      break;
    case TargetKind::positive:
      columns = columns.log();
      break;
    case TargetKind::proportion:
      columns = at::logit(columns);
      break;
  }
  if (rows.offset.defined() && !likelihood.has_classes()) columns = columns - rows.offset.unsqueeze(1);
  return (columns - columns.mean(0)) / columns.std(0, false).clamp_min(1e-6);
}

// Raw columns of parameters of that name that are to be found, those of one kernel together.
std::vector<std::vector<std::int64_t>> free_columns(const Kernel& kernel, const std::string& name) {
  std::vector<std::vector<std::int64_t>> found;
  for (const Parameter& each : kernel.parameters().parameters()) {
    if (each.fixed || each.stated || !each.path.ends_with("." + name)) continue;
    if (each.constraint.kind != Constraint::Kind::positive) continue;
    auto& columns = found.emplace_back();
    for (std::int64_t i = 0; i < each.count; ++i) columns.push_back(each.first + i);
  }
  return found;
}

// What measures each raw number and log s^2 in the search: one, but for a period that the formula states to be near the
// truth: a radian at the ends of the range. A percent of a day is little over a week and everything over a year.
std::vector<double> units_of(const Kernel& kernel, const at::Tensor& x) {
  std::vector<double> units(static_cast<std::size_t>(kernel.parameters().size()) + 1, 1.0);
  const at::Tensor range = std::get<0>(x.max(0)) - std::get<0>(x.min(0));  // (D)
  for (const std::vector<Factor>& factors : kernel.terms()) {
    for (const Factor& factor : factors) {
      for (const Parameter& each : kernel.parameters().parameters()) {
        const std::int64_t place = each.first - factor.first_parameter;
        if (place < 0 || place >= factor.parameter_count || !each.path.ends_with(".period") || !each.stated) continue;
        if (each.fixed || each.constraint.kind != Constraint::Kind::positive) continue;
        const at::Tensor period = kernel.parameters().natural(each.path).detach();  // (1, count)
        for (std::int64_t i = 0; i < each.count; ++i) {
          const double cycles = (range[factor.columns[i]] / period[0][i]).item<double>();
          units[each.first + i] = 1.0 / std::max(1.0, 2.0 * std::numbers::pi * cycles);
        }
      }
    }
  }
  return units;
}

// Networks start as draws of the prior, with a variance of one each: kernels get `variance`, what they and the stand-ins
// have together. A variance above one would only make networks start far out.
void set_variance(Model& model, const at::Tensor& x, double variance) {
  ParameterSet& parameters = model.kernel().parameters();
  const double total = model.prior_variance(x).detach().mean().item<double>() / std::min(1.0, variance);
  if (total == 1.0) return;
  for (const Parameter& each : parameters.parameters()) {
    const bool scales = each.unit == Unit::target_squared || each.path.ends_with(".variance");
    if (each.fixed || !scales || each.constraint.kind != Constraint::Kind::positive) continue;
    parameters.set(each.path, parameters.natural(each.path).detach() / total);
  }
}

// From the start, with the lengthscales of each kernel as they are and at a tenth: which kernel is the rough one decides
// which rows are neighbours, and neighbours found the wrong way never tell.
std::vector<std::vector<double>> scaled_starts(const std::vector<double>& start,
                                               const std::vector<std::vector<std::int64_t>>& lengthscales) {
  constexpr std::size_t kMostKernels = 3;  // whose combinations are tried
  const std::size_t kernels = std::min(lengthscales.size(), kMostKernels);
  std::vector<std::vector<double>> starts;
  for (std::size_t choice = 0; choice < (std::size_t{1} << kernels); ++choice) {
    std::vector<double>& from = starts.emplace_back(start);
    for (std::size_t k = 0; k < lengthscales.size(); ++k) {
      const bool shorter = k < kernels ? (choice >> k & 1) != 0 : false;
      for (const std::int64_t column : lengthscales[k]) from[column] += shorter ? std::log(0.1) : 0.0;
    }
  }
  return starts;
}

// Rows and neighbours of one round, and steps of L-BFGS.
struct Round {
  std::int64_t rows;
  int neighbours, steps;
};
constexpr Round kTrial = {600, 15, 8};
constexpr Round kRounds[] = {{2000, 30, 15}, {2000, 30, 15}, {2000, 30, 15}, {2000, 30, 15}};
constexpr double kManyNumbers = 40.0;  // parameters: with more, rounds have fewer rows
constexpr std::int64_t kMostRows = 1 << 20, kMostNetworkRows = 20'000, kMostImageRows = 2'000;

// The rows of the whole table as `kernel` sees them, with this stand-in for networks.
NeighbourEvidence evidence_of_many(const Model& model, const Encoder& encoder, const Dataset& rows,
                                   const Likelihood& likelihood, std::uint64_t seed, StandIn stand_in,
                                   const Kernel& kernel, const std::vector<std::int64_t>& apart = {}) {
  const std::int64_t most = model.spec().kernels_only() ? kMostRows
                            : rows.images.empty()       ? kMostNetworkRows
                                                        : kMostImageRows;
  const Dataset many = rows.select(draw_rows(rows.size(), most, seed_for(seed, "rows with neighbours")));
  const at::Tensor y = stand_in_targets(many, likelihood, model.outputs());
  const at::Tensor x = make_surrogate(model.spec(), encoder, many, stand_in).x;
  const bool conjugate = likelihood.conjugate;
  return {kernel,
          model.spec().share(),
          x,
          y,
          conjugate ? many.weights : at::Tensor(),
          conjugate ? many.error : at::Tensor(),
          seed,
          apart};
}

std::int64_t rows_of(const Round& round, const Kernel& kernel) {
  const double fewer = std::min(1.0, kManyNumbers / static_cast<double>(kernel.parameters().size()));
  return static_cast<std::int64_t>(fewer * static_cast<double>(round.rows));
}

std::uint64_t seed_of_round(std::uint64_t seed, std::size_t round) { return seed_for(seed, std::to_string(round)); }

// From the whole table, by conditionals of some rows given their neighbours: from the best of `starts` on, in rounds,
// because neighbours move with the parameters. Leaves the best values in `kernel`.
LbfgsResult search_by_neighbours(NeighbourEvidence evidence, std::int64_t rows, std::uint64_t seed, Kernel& kernel,
                                 const std::vector<std::vector<double>>& starts, const LbfgsProgress& go_on,
                                 std::optional<double> log_noise) {
  EvidenceSearch objective(
      kernel, rows, [&](const at::Tensor& at) { return evidence(at); }, log_noise);
  const auto run = [&](const Round& round, const std::vector<double>& from, std::uint64_t drawn) {
    objective.place(from);
    evidence.draw(rows_of(round, kernel), round.neighbours, drawn);
    return objective.search(from, round.steps, go_on);
  };
  LbfgsResult best;
  for (const std::vector<double>& start : starts) {
    LbfgsResult found = run(kTrial, start, seed);
    if (best.x.empty() || found.value < best.value) best = std::move(found);
  }
  for (std::size_t r = 0; r < std::size(kRounds); ++r) best = run(kRounds[r], best.x, seed_of_round(seed, r));
  objective.place(best.x);
  return best;
}

// What a search with one kind of stand-in has come to. `kernel` has the best parameters.
struct Search {
  StandIn stand_in;
  Kernel kernel;
  at::Tensor x;  // of the few rows
  std::vector<double> start;
  std::vector<std::vector<std::int64_t>> lengthscales;  // raw columns of those that are to be found
  LbfgsResult best;
  bool by_neighbours = false;  // in the end
};

Kernel surrogate_kernel(const Model& model, const Encoder& encoder, const Surrogate& surrogate, std::uint64_t seed) {
  return Kernel(
      surrogate.products, surrogate.inputs,
      KernelOptions{1, seed_for(seed, "warm start"), surrogate.names, stated_variance_unit(model.spec(), encoder)});
}

// Gives `kernel` the parameters of the model's kernels. Raw columns that are known by that: all of these but variances.
std::vector<bool> take_kernels(const Model& model, Kernel& kernel) {
  std::vector<bool> known(static_cast<std::size_t>(kernel.parameters().size()), false);
  if (!model.has_kernels()) return known;
  const ParameterSet& from = model.kernel().parameters();
  for (const Parameter& each : from.parameters()) {
    const Parameter& own = kernel.parameters().find(each.path);
    const at::Tensor raw = kernel.parameters().raw().detach().narrow(1, own.first, own.count);
    raw.copy_(from.raw().detach().narrow(0, 0, 1).narrow(1, each.first, each.count));
    const bool scales = each.unit == Unit::target_squared || each.path.ends_with(".variance");
    if (!scales) std::fill_n(known.begin() + own.first, own.count, true);
  }
  return known;
}

// What is known of the parameters that `best` has, as the last search took them: by few rows, or by neighbours.
RawSpread spread_of_search(const Model& model, const Encoder& encoder, const Dataset& rows, const Dataset& few,
                           const Likelihood& likelihood, std::uint64_t seed, Search& best,
                           std::optional<double> log_noise, const std::vector<std::int64_t>& apart) {
  Kernel& kernel = best.kernel;
  if (!best.by_neighbours) {
    const at::Tensor y = stand_in_targets(few, likelihood, model.outputs());
    EvidenceSearch of_few(kernel, few.size(), ExactEvidence(kernel, model.spec().share(), best.x, y), log_noise);
    return of_few.spread(best.best.x, few.size());
  }
  NeighbourEvidence evidence = evidence_of_many(model, encoder, rows, likelihood, seed, best.stand_in, kernel, apart);
  constexpr std::size_t kLast = std::size(kRounds) - 1;
  const std::int64_t told = std::min(rows.size(), rows_of(kRounds[kLast], kernel));
  evidence.draw(told, kRounds[kLast].neighbours, seed_of_round(seed, kLast));
  EvidenceSearch of_many(
      kernel, rows.size(), [&](const at::Tensor& at) { return evidence(at); }, log_noise);
  return of_many.spread(best.best.x, told);
}

// Of the model's own parameters, in their order.
RawSpread spread_of_model(const Model& model, const ParameterSet& searched, const RawSpread& known) {
  RawSpread found;
  for (const Parameter& each : model.kernel().parameters().parameters()) {
    const Parameter& own = searched.find(each.path);
    for (std::int64_t i = 0; i < each.count && !known.mode.empty(); ++i) {
      found.mode.push_back(known.mode[static_cast<std::size_t>(own.first + i)]);
      found.sd.push_back(known.sd[static_cast<std::size_t>(own.first + i)]);
    }
  }
  return found;
}

// By the exact process of few rows.
Search search_few_rows(const Model& model, const Encoder& encoder, const Dataset& few, const Likelihood& likelihood,
                       std::uint64_t seed, StandIn stand_in, const LbfgsProgress& go_on,
                       std::optional<double> log_noise) {
  const at::Tensor y = stand_in_targets(few, likelihood, model.outputs());
  const Surrogate surrogate = make_surrogate(model.spec(), encoder, few, stand_in);
  Search found{stand_in, surrogate_kernel(model, encoder, surrogate, seed), surrogate.x, {}, {}, {}};
  Kernel& kernel = found.kernel;
  EvidenceSearch objective(kernel, few.size(), ExactEvidence(kernel, model.spec().share(), surrogate.x, y), log_noise);
  const std::vector<double> units = units_of(kernel, surrogate.x);
  const auto search = [&](const std::vector<double>& from, int steps) {
    return objective.search(from, steps, go_on, units);
  };

  found.lengthscales = free_columns(kernel, "lengthscale");
  const std::vector<double>& start = found.start = objective.start();
  LbfgsResult& best = found.best = search(start, kScreening);
  for (const double factor : {0.3, 0.1}) {
    if (found.lengthscales.empty()) break;
    std::vector<double> from = start;
    for (const auto& columns : found.lengthscales) {
      for (const std::int64_t column : columns) from[column] += std::log(factor);
    }
    LbfgsResult here = search(from, kScreening);
    if (here.value < best.value) best = std::move(here);
  }
  // Each unknown period in turn, the others where they are. The strongest peak may be a harmonic, so multiples and
  // parts of the best period compete with it. All go to the end of their valleys: only there is a multiple of the
  // truth, which fits as well, less likely for certain.
  for (const auto& columns : free_columns(kernel, "period")) {
    const auto try_from = [&](std::vector<double> from, int steps, const auto& log_period) {
      for (const std::int64_t each : columns) from[each] = log_period(from[each]);
      LbfgsResult here = search(from, steps);
      if (here.value < best.value) best = std::move(here);
    };
    const std::vector<double> from_here = best.x;
    for (const KernelColumn& column : encoder.kernel_columns) {
      for (const double frequency : column.summary.frequencies) {
        try_from(from_here, kScreening, [&](double) { return -std::log(frequency); });
      }
    }
    for (const double factor : {1.0, 2.0, 3.0, 1.0 / 2.0, 1.0 / 3.0}) {
      try_from(best.x, kPolishing, [&](double log_period) { return log_period + std::log(factor); });
    }
  }
  best = search(best.x, kPolishing);
  objective(best.x);  // leaves the best values in `kernel`
  return found;
}

}  // namespace

void find_frequencies(const ModelSpec& spec, const Dataset& rows, const Likelihood& likelihood, std::uint64_t seed,
                      Encoder& encoder) {
  const auto wanted = [&](const KernelColumn& column) {
    const auto reads = [&](const KernelSpec& kernel) {
      return repeats(kernel) && contains(kernel.columns, column.info.name);
    };
    const auto any = [&](const KernelProduct& product) { return std::any_of(product.begin(), product.end(), reads); };
    return column.levels.empty() && std::any_of(spec.terms.begin(), spec.terms.end(), [&](const TermSpec& term) {
             return std::any_of(term.kernels.begin(), term.kernels.end(), any);
           });
  };
  if (std::none_of(encoder.kernel_columns.begin(), encoder.kernel_columns.end(), wanted)) return;
  const Dataset few = rows.select(few_rows(rows, kSpectrumRows, seed));
  at::Tensor targets =
      stand_in_targets(few, likelihood, likelihood.link == Link::softmax ? std::ssize(encoder.classes) : 1);
  // one contrast of several classes: it shows what differs between them
  if (targets.size(1) > 1) targets = targets.slice(1, 0, {}, 2).sum(1, true) - targets.slice(1, 1, {}, 2).sum(1, true);
  for (std::size_t d = 0; d < encoder.kernel_columns.size(); ++d) {
    KernelColumn& column = encoder.kernel_columns[d];
    if (!wanted(column)) continue;
    const at::Tensor x = few.x.select(1, static_cast<std::int64_t>(d)).contiguous();
    const at::Tensor y = targets.select(1, 0).contiguous();
    const auto count = static_cast<std::size_t>(x.size(0));
    column.summary.frequencies =
        strongest_frequencies({x.data_ptr<double>(), count}, {y.data_ptr<double>(), count}, kPeaks);
  }
}

double warm_start(Model& model, const Encoder& encoder, const Dataset& rows, const Likelihood& likelihood,
                  std::uint64_t seed, const std::function<bool()>& keep_going, std::optional<double> log_noise,
                  const std::vector<std::int64_t>& apart, RawSpread* spread) {
  const Dataset few = rows.select(few_rows(rows, kRows, seed));
  const LbfgsProgress go_on = [&](int, double) { return !keep_going || keep_going(); };
  const auto better = [](const Search& a, const Search& b) { return a.best.value < b.best.value; };
  std::vector<Search> searches;
  for (const StandIn each : stand_ins_of(model.spec(), rows)) {
    searches.push_back(search_few_rows(model, encoder, few, likelihood, seed, each, go_on, log_noise));
  }
  const double least = std::min_element(searches.begin(), searches.end(), better)->best.value;
  const double behind = kNatsBehind / static_cast<double>(few.size());
  std::erase_if(searches, [&](const Search& each) { return each.best.value > least + behind; });
  for (Search& each : searches) {
    if (rows.size() <= kRows || !fuses(each.kernel)) continue;
    std::vector<std::vector<double>> starts = {each.best.x};
    for (std::vector<double>& scaled : scaled_starts(each.start, each.lengthscales))
      starts.push_back(std::move(scaled));
    each.best = search_by_neighbours(
        evidence_of_many(model, encoder, rows, likelihood, seed, each.stand_in, each.kernel, apart), rows.size(), seed,
        each.kernel, starts, go_on, log_noise);
    each.by_neighbours = true;
  }
  Search& best = *std::min_element(searches.begin(), searches.end(), better);
  const Kernel& kernel = best.kernel;
  if (spread != nullptr) {
    const RawSpread known = spread_of_search(model, encoder, rows, few, likelihood, seed, best, log_noise, apart);
    *spread = spread_of_model(model, kernel.parameters(), known);
  }
  for (const Parameter& each : model.kernel().parameters().parameters()) {
    if (each.fixed) continue;
    if (each.constraint.kind == Constraint::Kind::interval) {  // an end of it, found by rounding, has no inverse
      const at::Tensor raw = kernel.parameters().raw().detach();
      const Parameter& found = kernel.parameters().find(each.path);
      model.kernel()
          .parameters()
          .raw()
          .detach()
          .narrow(1, each.first, each.count)
          .copy_(raw.narrow(1, found.first, found.count));
      continue;
    }
    model.kernel().parameters().set(each.path, kernel.parameters().natural(each.path).detach());
  }
  if (!model.spec().kernels_only()) {
    const bool of_one = best.stand_in == StandIn::smooth;  // its variance is one
    const at::Tensor variance = of_one ? model.prior_variance(few.x) : model.spec().share() * kernel.diagonal(best.x);
    set_variance(model, few.x, variance.detach().mean().item<double>());
  }
  return best.best.x.back();
}

double nats_of_lines(const Model& model, const Encoder& encoder, const Dataset& rows, const Likelihood& likelihood,
                     std::uint64_t seed) {
  const std::vector<StandIn> stand_ins = stand_ins_of(model.spec(), rows);
  if (stand_ins.size() < 2) return 0.0;
  const Dataset few = rows.select(few_rows(rows, kRows, seed));
  const at::Tensor y = stand_in_targets(few, likelihood, model.outputs());
  std::vector<double> costs;
  for (const StandIn stand_in : stand_ins) {
    const Surrogate surrogate = make_surrogate(model.spec(), encoder, few, stand_in);
    Kernel kernel = surrogate_kernel(model, encoder, surrogate, seed);
    const std::vector<bool> held = take_kernels(model, kernel);
    const auto search = [&](EvidenceSearch& objective, std::vector<double> from, int steps) {
      LbfgsOptions options;
      options.iterations = steps;
      const auto cost = [&](const std::vector<double>& at) {
        CostAndGradient found = objective(at);
        for (std::size_t i = 0; i < held.size(); ++i) found.gradient[i] = held[i] ? 0.0 : found.gradient[i];
        return found;
      };
      return minimise(cost, std::move(from), options);
    };
    EvidenceSearch of_few(kernel, few.size(), ExactEvidence(kernel, model.spec().share(), surrogate.x, y));
    LbfgsResult best = search(of_few, of_few.start(), kPolishing);
    auto count = static_cast<double>(few.size());
    if (rows.size() > kRows && fuses(kernel)) {
      of_few.place(best.x);
      NeighbourEvidence evidence = evidence_of_many(model, encoder, rows, likelihood, seed, stand_in, kernel);
      const Round& round = kRounds[0];
      evidence.draw(round.rows, round.neighbours, seed);
      EvidenceSearch of_many(kernel, rows.size(), [&](const at::Tensor& at) { return evidence(at); });
      best = search(of_many, best.x, round.steps);
      count = static_cast<double>(std::min(rows.size(), round.rows));
    }
    costs.push_back(count * best.value);
  }
  return costs[0] - costs[1];
}

}  // namespace ick
