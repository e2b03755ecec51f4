#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/stopwatch.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "ick/inference/direct.h"
#include "inference/engines.h"
#include "inference/parts.h"
#include "inference/stage.h"
#include "model/lower_factor.h"
#include "train/evidence.h"

// Kernels only: the posterior of the weights, f = phi . w, w ~ N(m, (L L')^-1). Kernel parameters maximise the marginal
// likelihood.
namespace ick {

namespace {

constexpr std::int64_t kMostRows = 8192;  // that the marginal likelihood is of

// Rows in the order of time, one block after the other, features and targets (P + 2 columns) whitened. `state` goes on.
template <class Take>
void whiten_blocks(const Model& model, const Dataset& rows, const LastingNoise& lasting, LastingState& state,
                   const Take& take) {
  constexpr std::int64_t kBlock = 4096;
  for (std::int64_t first = 0; first < rows.size(); first += kBlock) {
    const Batch batch = batch_of(rows, first, std::min(kBlock, rows.size() - first));
    const at::Tensor both = at::cat({model.linear_features(batch.x)[0], batch.y.unsqueeze(1)}, 1);
    const at::Tensor white = whitened(lasting, batch.x.select(1, lasting.column), both, state);
    take(first, white.narrow(1, 0, both.size(1) - 1), white.select(1, both.size(1) - 1));
  }
}

LinearSums zero_sums(const Model& model) {
  const std::int64_t width = model.features() + 1;
  return {at::zeros({width, width}, at::kDouble), at::zeros({width}, at::kDouble)};
}

void add(LinearSums& to, const at::Tensor& psi, const at::Tensor& y, double noise_variance) {
  to.precision.addmm_(psi.t(), psi, 1.0, 1.0 / noise_variance);
  to.right.addmv_(psi.t(), y, 1.0, 1.0 / noise_variance);
}

// Numbers of the rows in the order of time: (n)
at::Tensor order_in_time(const Dataset& rows, const LastingNoise& lasting) {
  return std::get<1>(rows.x_of(0, rows.size()).select(1, lasting.column).sort(/*stable=*/true, 0, false));
}

// Weights given rows whose errors last, after those that `before` knows, if any: its precision and right-hand side are
// sums over rows given those before them. Rows earlier than its last one start anew.
struct LastingPosterior {
  LinearPosterior weights;
  LastingState state;
};
LastingPosterior lasting_posterior(const Model& model, const Dataset& rows, double noise_variance,
                                   const LastingNoise& lasting, const LastingPosterior& before = {}) {
  const at::NoGradGuard no_grad;
  const Dataset ordered = rows.subset(order_in_time(rows, lasting));
  LinearSums sums = zero_sums(model);
  const bool follows =
      before.state.mean.defined() && ordered.x_of(0, 1)[0][lasting.column].item<double>() >= before.state.last;
  LastingPosterior after{{}, follows ? before.state : LastingState{}};
  whiten_blocks(model, ordered, lasting, after.state,
                [&](std::int64_t, const at::Tensor& psi, const at::Tensor& y) { add(sums, psi, y, noise_variance); });
  if (before.state.mean.defined() && before.state.last > after.state.last) after.state = before.state;
  at::Tensor known = at::eye(sums.right.size(0), at::kDouble);
  if (before.weights.mean.defined()) {
    known = before.weights.factor.matmul(before.weights.factor.t());
    sums.right += known.mv(before.weights.mean);
  }
  after.weights.factor = lower_factor(known + sums.precision);
  after.weights.mean = at::cholesky_solve(sums.right.unsqueeze(1), after.weights.factor).squeeze(1);
  return after;
}

class ExactPosterior : public FunctionPosterior {
 public:
  ExactPosterior(std::shared_ptr<const Model> model, LinearPosterior weights, const LastingNoise& lasting = {},
                 LastingState state = {})
      : FunctionPosterior(std::move(model)),
        mean_(std::move(weights.mean)),
        factor_(std::move(weights.factor)),
        lasting_(lasting),
        state_(std::move(state)) {}

  const Engine& engine() const override { return engine_named("exact"); }

  FunctionMoments at(const Batch& batch, const Likelihood&) const override {
    const at::Tensor phi = model().linear_features(batch.x)[0];  // (B, P + 1)
    const at::Tensor learned = at::linalg_solve_triangular(factor_, phi.t(), false).square().sum(0);
    return {phi.mv(mean_), learned + model().missed_variance(batch)[0]};
  }

  // Of term t with its own features phi_t, zero elsewhere: phi_t'm, |L^-1 phi_t|^2 and what they miss.
  FunctionParts parts(const Batch& batch) const override {
    const at::Tensor phi = model().linear_features(batch.x)[0];
    std::vector<at::Tensor> means, variances;
    for (const auto& [first, count] : feature_ranges(model())) {
      at::Tensor own = at::zeros_like(phi);
      own.narrow(1, first, count).copy_(phi.narrow(1, first, count));
      const at::Tensor learned = at::linalg_solve_triangular(factor_, own.t(), false).square().sum(0);
      means.push_back(own.mv(mean_));
      variances.push_back(learned + model().missed_variance_of(means.size() - 1, batch)[0]);
    }
    return {at::stack(means), at::stack(variances), mean_[-1].expand({phi.size(0)})};
  }

  at::Tensor draws(const Batch& batch, const Likelihood&, std::int64_t count, std::uint64_t seed) const override {
    const at::Tensor phi = model().linear_features(batch.x)[0];
    const at::Tensor whitened = at::linalg_solve_triangular(factor_, phi.t(), false);  // (P + 1, B)
    return phi.mv(mean_) + function_normals(count, whitened.size(0), seed).matmul(whitened) +
           model().missed_variance(batch)[0].sqrt() * independent_normals(batch, count, seed);
  }

  // A less what the rows left out had added to it, b likewise.
  std::vector<FunctionMoments> left_out(const Dataset& training, const std::vector<std::int64_t>& cell_of,
                                        const std::vector<LeftOut>& folds, double noise_variance) const override {
    const at::NoGradGuard no_grad;
    const std::vector<LinearSums> cells = sums_of_cells(training, cell_of, noise_variance);
    const at::Tensor all = factor_.matmul(factor_.t()), right = all.mv(mean_);
    std::vector<FunctionMoments> found;
    for (const LeftOut& fold : folds) {
      at::Tensor a = all.clone(), b = right.clone();
      for (const std::int64_t cell : fold.cells) {
        a -= cells.at(static_cast<std::size_t>(cell)).precision, b -= cells[static_cast<std::size_t>(cell)].right;
      }
      const at::Tensor factor = lower_factor(a), mean = at::cholesky_solve(b.unsqueeze(1), factor).squeeze(1);
      const Dataset rows = training.select(at::tensor(fold.rows, at::kLong));
      const Batch batch = batch_of(rows, 0, rows.size());
      const at::Tensor phi = model().linear_features(batch.x)[0];
      const at::Tensor learned = at::linalg_solve_triangular(factor, phi.t(), false).square().sum(0);
      found.push_back({phi.mv(mean), learned + model().missed_variance(batch)[0]});
    }
    return found;
  }

  TensorState tensors() const override {
    TensorState state = {{"mean", mean_}, {"factor", factor_}};
    if (!lasting_.lasts()) return state;
    state.emplace_back("lasting.noise",
                       at::tensor({static_cast<double>(lasting_.column), lasting_.time, lasting_.white}, at::kDouble));
    if (const NoiseSeasons& seasons = lasting_.seasons; !seasons.periods.empty()) {
      state.emplace_back("lasting.periods", at::tensor(seasons.periods, at::kDouble));
      state.emplace_back("lasting.seasons", at::cat({at::tensor({seasons.centre}, at::kDouble),
                                                     at::tensor(seasons.weights, at::kDouble)}));
    }
    state.emplace_back("lasting.state",
                       at::cat({at::tensor({state_.last, state_.variance}, at::kDouble), state_.mean}));
    return state;
  }
  LastingNoise lasting() const override { return lasting_; }
  LastingPosterior weights() const { return {{mean_, factor_}, state_}; }

 private:
  // What the rows of each cell have added to A and to the right-hand side. Where errors last, a row counts given those
  // before it: rows before a future are the same without it, and spans between others nearly so.
  std::vector<LinearSums> sums_of_cells(const Dataset& training, const std::vector<std::int64_t>& cell_of,
                                        double noise_variance) const {
    std::vector<LinearSums> cells;
    if (!lasting_.lasts()) {
      for (const at::Tensor& rows : rows_of_cells(cell_of)) {
        cells.push_back(linear_sums(model(), training.subset(rows), noise_variance));
      }
      return cells;
    }
    const std::int64_t last = *std::max_element(cell_of.begin(), cell_of.end());
    for (std::int64_t i = 0; i <= last; ++i) cells.push_back(zero_sums(model()));
    const at::Tensor order = order_in_time(training, lasting_);
    const auto cell = [&](std::int64_t i) {
      return cell_of[static_cast<std::size_t>(order.data_ptr<std::int64_t>()[i])];
    };
    LastingState state;
    whiten_blocks(model(), training.subset(order), lasting_, state,
                  [&](std::int64_t first, const at::Tensor& psi, const at::Tensor& y) {
                    for (std::int64_t from = 0, to = 0; from < y.size(0); from = to) {  // runs of one cell
                      while (to < y.size(0) && cell(first + to) == cell(first + from)) ++to;
                      if (cell(first + from) < 0) continue;
                      add(cells[static_cast<std::size_t>(cell(first + from))], psi.narrow(0, from, to - from),
                          y.narrow(0, from, to - from), noise_variance);
                    }
                  });
    return cells;
  }

  at::Tensor mean_;    // (P + 1): the model's weights, which are in float32, to all digits
  at::Tensor factor_;  // lower factor of I + Phi'Phi / s^2, or of what stands for it where errors last: (P + 1, P + 1)
  LastingNoise lasting_;
  LastingState state_;  // after the last row: (P + 2)
};

}  // namespace

std::shared_ptr<const FunctionPosterior> solve_features(std::shared_ptr<Model> model, const Dataset& rows,
                                                        double noise_variance, const LastingNoise& lasting) {
  const LastingPosterior posterior = lasting.lasts()
                                         ? lasting_posterior(*model, rows, noise_variance, lasting)
                                         : LastingPosterior{linear_posterior(*model, rows, noise_variance), {}};
  model->set_linear_weights(posterior.weights.mean.unsqueeze(0));
  return std::make_shared<ExactPosterior>(std::move(model), posterior.weights, lasting, posterior.state);
}

void choose_kernels_only(const ModelSpec&, FitOptions& options, std::vector<Message>& remarks) {
  if (options.members > 1) {
    remarks.push_back("kernels only: the posterior is exact, " + setting("members") + " has no effect");
  }
  if (options.perturbation != Perturbation::none) {
    remarks.push_back("kernels only: there are no members to differ, " + setting("perturbation") + " has no effect");
  }
  if (options.batch > 0 || options.learning_rate > 0.0) {
    remarks.push_back("kernels only: the marginal likelihood is maximised, " + setting("batch") + " and " +
                      setting("learning_rate") + " have no effect");
  }
  options.members = 1;
}

namespace {

FitBytes bytes(const FitSizes& sizes, const FitOptions&) {
  FitBytes all;
  all.rows = 8.0 * (6.0 * std::min(sizes.rows, static_cast<double>(kMostRows)) * sizes.features +
                    3.0 * sizes.features * sizes.features);
  return all;
}

Engine::Seconds seconds(Model& model, const FitOptions& options, const Dataset& some, double rows) {
  constexpr double kEvaluationsPerStep = 1.3;  // of L-BFGS, about
  const at::Tensor noise = at::zeros({}, at::kDouble).requires_grad_(true);
  const Stopwatch watch;
  linear_evidence(model, some, noise).backward();
  const double epoch =
      watch.seconds() * std::min(rows, static_cast<double>(kMostRows)) / static_cast<double>(some.size());
  return {kWarmStartSeconds + kEvaluationsPerStep * epoch * static_cast<double>(options.epochs), epoch};
}

}  // namespace

namespace {

// Residuals of the rows and, column by column, what is not known of the function, in the order of time: with weights
// w ~ N(m, A^-1), E (y - Phi w)(y - Phi w)' = r r' + (Phi A^-1/2)(Phi A^-1/2)'. (n, P + 2)
at::Tensor expected_residuals(const Model& model, const Dataset& rows, const at::Tensor& order, double noise_variance,
                              const LastingNoise& lasting) {
  const LinearPosterior known = lasting.lasts() ? lasting_posterior(model, rows, noise_variance, lasting).weights
                                                : linear_posterior(model, rows, noise_variance);
  const at::Tensor phi = model.linear_features(rows.x)[0].index_select(0, order);
  const at::Tensor unknown = at::linalg_solve_triangular(known.factor, phi.t(), false).t();
  return at::cat({(rows.y.index_select(0, order) - phi.mv(known.mean)).unsqueeze(1), unknown}, 1).contiguous();
}

// How errors last, the kernels held, by expectation and maximisation (Dempster, Laird and Rubin 1977): residuals alone
// would be too small, by what the function has taken from the errors. `log_noise` follows unless it is `held`.
LastingNoise likely_lasting(const Model& model, const Dataset& rows, std::int64_t column, LastingNoise lasting,
                            double& log_noise, bool held) {
  constexpr int kRounds = 3;
  const at::NoGradGuard no_grad;
  const auto [times, order] = rows.x.select(1, column).sort(0);
  for (int round = 0; round < kRounds; ++round) {
    const at::Tensor residuals = expected_residuals(model, rows, order, std::exp(log_noise), lasting);
    lasting = likely_noise(column, times, residuals, lasting);
    if (held || !lasting.lasts()) continue;
    LastingState state;
    const double squares = whitened(lasting, times, residuals, state).square().sum().item<double>();
    log_noise = std::log(squares / static_cast<double>(rows.size()));
  }
  return lasting;
}

}  // namespace

std::optional<std::int64_t> lasting_column(const Stage& stage) {
  const Dataset& rows = stage.training();
  const Split& split = *stage.options().validation;
  if (split.kind != Split::Kind::last || stage.encoder().weights || stage.encoder().error) return std::nullopt;
  const std::string name = time_column_of(stage.table(), split);
  std::optional<std::int64_t> column;
  for (const std::vector<Factor>& factors : stage.model().kernel().terms()) {
    for (const Factor& f : factors) {
      const bool returns = f.row->spectrum == Spectrum::series || f.row->spectrum == Spectrum::line;
      const bool own = f.columns.size() == 1 && f.row->inputs == Inputs::numbers &&
                       stage.encoder().kernel_columns[static_cast<std::size_t>(f.columns[0])].info.name == name;
      if (!own || !(returns || f.row->rank != nullptr)) return std::nullopt;
      column = f.columns[0];
    }
  }
  if (rows.size() < 3) return std::nullopt;
  return column;
}

double maximise_evidence(Stage& stage) {
  constexpr int kTurns = 3;  // of noise and parameters: the third changes little
  const Dataset rows = stage.training().select(
      draw_rows(stage.training().size(), kMostRows, seed_for(stage.options().seed, "evidence rows")));
  Model& model = stage.model();
  LastingNoise lasting;
  EvidenceSearch search(
      model.kernel(), rows.size(),
      [&](const at::Tensor& log_noise) { return linear_evidence(model, rows, log_noise, lasting); },
      stage.stated_log_noise());
  const at::Tensor& raw = model.kernel().parameters().raw();
  LbfgsResult best;
  best.x.assign(raw.data_ptr<double>(), raw.data_ptr<double>() + raw.numel());
  best.x.push_back(stage.stated_log_noise().value_or(stage.log_noise()));
  const std::optional<std::int64_t> column = lasting_column(stage);
  const auto most = static_cast<int>(stage.options().epochs);
  int steps = 0;
  for (int turn = 0; turn < (column ? kTurns : 1); ++turn) {
    if (column) {
      lasting = likely_lasting(model, rows, *column, lasting, best.x.back(), stage.stated_log_noise().has_value());
    }
    best = search.search(best.x, most, [&](int step, double value) {
      return stage.say_step(std::min(most, steps + step), value, rows.size());
    });
    steps = std::min(most, steps + best.iterations);
    search(best.x);
  }
  stage.set_epochs(steps);
  stage.set_spread(search.spread(best.x, rows.size()));
  stage.set_noise(std::max(kLeastNoise, std::exp(0.5 * best.x.back())));
  stage.set_lasting(lasting);
  model.place_maps(stage.training());
  return best.value;
}

namespace {

// How the noise goes by the seasons of the formula, by the squares of errors that are expected given the rows; unless
// the user says what it is. The function was found as if errors had one size: two summers cannot tell a larger noise from
// a season that is missed, and one that counts for less is missed the more.
NoiseSeasons seasons_of(const Stage& stage) {
  const LastingNoise& lasting = stage.lasting();
  if (!lasting.lasts() || stage.stated_log_noise() || !stage.options().noise_formula.empty()) return {};
  const at::NoGradGuard no_grad;
  const Dataset rows = stage.training().select(
      draw_rows(stage.training().size(), kMostRows, seed_for(stage.options().seed, "evidence rows")));
  const auto [times, order] = rows.x.select(1, lasting.column).sort(0);
  const double noise = stage.standard_noise();
  const at::Tensor errors = expected_residuals(stage.model(), rows, order, noise * noise, lasting);
  const std::string& column = stage.encoder().kernel_columns[static_cast<std::size_t>(lasting.column)].info.name;
  return likely_seasons(lasting, times, errors.square().sum(1), stage.periods(column));
}

// "errors last for 1.6 d: ...", and by how much they go by the season.
void say_lasting(Stage& stage) {
  constexpr double kToSay = 0.1;        // correlation of rows at the usual distance
  constexpr double kSeasonToSay = 1.1;  // largest sd of a season over the smallest
  const LastingNoise& found = stage.lasting();
  if (!found.lasts()) return;
  const std::string& unit = stage.encoder().kernel_columns[static_cast<std::size_t>(found.column)].unit;
  const auto length = [&](double number, double digits) {
    const double scale = std::pow(10.0, digits - 1.0 - std::floor(std::log10(number)));
    return number_text(std::round(number * scale) / scale) + (unit.empty() ? "" : " " + unit);
  };
  const at::Tensor times = stage.training().x_of(0, stage.training().size()).select(1, found.column);
  const double spacing = (times.max() - times.min()).item<double>() / static_cast<double>(times.size(0));
  if ((1.0 - found.white) * std::exp(-spacing / found.time) >= kToSay) {
    stage.remark("errors last for " + length(found.time, 2) +
                 ": rows near in time err alike, and count for less than as many independent ones");
  }
  const auto factor = [](double number) { return number_text(std::round(number * 100.0) / 100.0); };
  std::string seasons;
  for (const SeasonalRange& each : seasonal_ranges(found.seasons)) {
    if (each.high < kSeasonToSay * each.low) continue;
    seasons += (seasons.empty() ? "" : ", ") + factor(each.low) + " to " + factor(each.high) + " times over " +
               length(each.period, 4);
  }
  if (!seasons.empty()) stage.remark("the noise goes by the season, its sd is " + seasons);
}

}  // namespace

void maximise_evidence_of_lasting(Stage& stage, const at::Tensor& start) {
  double least = maximise_evidence(stage);
  std::shared_ptr<Model> model = stage.shared_model();
  double noise = stage.standard_noise();
  LastingNoise lasting = stage.lasting();
  const RawSpread spread = stage.spread();
  stage.remake(model->spec(), start);
  if (maximise_evidence(stage) > least) {
    stage.set_model(model);
    stage.set_noise(noise);
    stage.set_lasting(lasting);
    stage.set_spread(spread);
  }
  lasting = stage.lasting();
  lasting.seasons = seasons_of(stage);
  stage.set_lasting(lasting);
  say_lasting(stage);
}

namespace {

std::shared_ptr<const FunctionPosterior> fit(Stage& stage, const StageRun& run) {
  stage.make_model();
  if (run.from != nullptr) {
    stage.take_kernels(*run.from);
    stage.take_noise(run.from->noise());
    stage.set_lasting(run.from->lasting());
  } else {
    const at::Tensor start = stage.model().kernel().parameters().raw().detach().clone();
    stage.warm_up();
    if (lasting_column(stage)) {
      maximise_evidence_of_lasting(stage, start);
    } else {
      maximise_evidence(stage);
    }
  }
  if (!stage.lasting().lasts()) lengthen(stage);
  return solve_features(stage.shared_model(), stage.training(), stage.standard_noise() * stage.standard_noise(),
                        stage.lasting());
}

// As the model has them, in float32: all that older folders keep. (P + 1)
at::Tensor weights_of(const Model& model) {
  std::vector<at::Tensor> parts;
  for (const NamedTensor& each : model.network_parameters()) parts.push_back(each.value.detach()[0].to(at::kDouble));
  return at::cat(parts);
}

std::shared_ptr<const FunctionPosterior> restore(std::shared_ptr<const Model> model, const TensorState& tensors, double,
                                                 bool) {
  const std::int64_t weights = model->features() + 1;
  const at::Tensor factor = find_tensor(tensors, "factor"), mean = find_tensor(tensors, "mean");
  const bool fits = factor.defined() && factor.dim() == 2 && factor.size(0) == weights && factor.size(1) == weights &&
                    factor.scalar_type() == at::kDouble;
  if (!fits) throw DataError("it does not hold the factor of " + std::to_string(weights) + " weights");
  if (!mean.defined()) return std::make_shared<ExactPosterior>(model, LinearPosterior{weights_of(*model), factor});
  if (mean.dim() != 1 || mean.size(0) != weights || mean.scalar_type() != at::kDouble) {
    throw DataError("it does not hold the mean of " + std::to_string(weights) + " weights");
  }
  const at::Tensor noise = find_tensor(tensors, "lasting.noise"), state = find_tensor(tensors, "lasting.state");
  if (!noise.defined()) return std::make_shared<ExactPosterior>(std::move(model), LinearPosterior{mean, factor});
  const auto holds = [](const at::Tensor& each, std::int64_t numbers) {
    return each.defined() && each.dim() == 1 && each.size(0) == numbers && each.scalar_type() == at::kDouble;
  };
  if (!holds(noise, 3) || !holds(state, weights + 3)) {
    throw DataError("it does not hold how the errors of its rows go together");
  }
  const auto number = [](const at::Tensor& each, std::int64_t i) { return each[i].item<double>(); };
  LastingNoise lasting{static_cast<std::int64_t>(number(noise, 0)), number(noise, 1), number(noise, 2)};
  if (const at::Tensor periods = find_tensor(tensors, "lasting.periods"); periods.defined()) {
    const at::Tensor seasons = find_tensor(tensors, "lasting.seasons");
    if (!holds(periods, periods.numel()) || !holds(seasons, 1 + 2 * NoiseSeasons::kWaves * periods.numel())) {
      throw DataError("it does not hold how the noise of its rows goes by the season");
    }
    const std::vector<double> numbers = numbers_of(seasons);  // centre, weights
    lasting.seasons = {numbers_of(periods), {numbers.begin() + 1, numbers.end()}, numbers.front()};
  }
  return std::make_shared<ExactPosterior>(
      std::move(model), LinearPosterior{mean, factor}, lasting,
      LastingState{number(state, 0), number(state, 1), state.narrow(0, 2, weights + 1).clone()});
}

std::shared_ptr<const FunctionPosterior> take_in(const FunctionPosterior& before, std::shared_ptr<Model> model,
                                                 const Dataset& rows, double noise_variance, std::uint64_t) {
  const LastingPosterior known = dynamic_cast<const ExactPosterior&>(before).weights();
  const LastingNoise lasting = before.lasting();
  const LastingPosterior all =
      lasting.lasts() ? lasting_posterior(*model, rows, noise_variance, lasting, known)
                      : LastingPosterior{linear_posterior(*model, rows, noise_variance, known.weights), {}};
  model->set_linear_weights(all.weights.mean.unsqueeze(0));
  return std::make_shared<ExactPosterior>(std::move(model), all.weights, lasting, all.state);
}

}  // namespace

Engine exact_engine() {
  Engine engine{"exact", "kernels only: features of the kernels, their weights in closed form"};
  engine.kernels_only = true;
  engine.row_terms = true;
  engine.choose = choose_kernels_only;
  engine.bytes = bytes;
  engine.seconds = seconds;
  engine.fit = fit;
  engine.restore = restore;
  engine.solve_again = [](std::shared_ptr<Model> model, const Dataset& rows, double, double noise_variance,
                          std::uint64_t) { return solve_features(std::move(model), rows, noise_variance); };
  engine.take_in = take_in;
  return engine;
}

}  // namespace ick
