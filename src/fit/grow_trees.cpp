#include "fit/grow_trees.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "ick/train/ranks.h"
#include "inference/left_out.h"

namespace ick {

namespace {

constexpr int kFolds = 5;

// Rows that trees are grown on, and rows that they have not seen.
class TreeFold {
 public:
  TreeFold(const TreeSettings& settings, const at::Tensor& values, const Dataset& rows, const std::vector<bool>& left)
      : places_(places_of(left)),
        stay_(part(values, rows, left)),
        left_(values.index_select(0, places_)),
        y_(rows.y.index_select(0, places_)),
        weights_(weights_or_one(rows).index_select(0, places_)),
        trees_(settings, stay_) {}

  // Weighted squares of the errors of rows not seen, after each round.
  void grow(int rounds) {
    while (trees_.rounds() < rounds) {
      trees_.add_round(stay_);
      squares_.push_back((weights_ * (trees_.predict(left_) - y_).square()).sum().item<double>());
    }
  }
  double squares(int rounds) const { return squares_[static_cast<std::size_t>(rounds - 1)]; }
  const at::Tensor& places() const { return places_; }
  at::Tensor predict(int rounds) const { return trees_.first(rounds).predict(left_); }

 private:
  static at::Tensor places_of(const std::vector<bool>& left) {
    std::vector<std::int64_t> places;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (left[i]) places.push_back(static_cast<std::int64_t>(i));
    }
    return at::tensor(places, at::kLong);
  }
  static TreeRows part(const at::Tensor& values, const Dataset& rows, const std::vector<bool>& left) {
    std::vector<bool> stay = left;
    stay.flip();
    const at::Tensor places = places_of(stay);
    return {values.index_select(0, places), rows.y.index_select(0, places),
            weights_or_one(rows).index_select(0, places)};
  }

  at::Tensor places_;  // of the rows left out
  TreeRows stay_, left_;
  at::Tensor y_, weights_;
  Trees trees_;
  std::vector<double> squares_;
};

void stop_or_go_on(const FitHooks& hooks, const std::string& phase) {
  if (hooks.ranks == nullptr && hooks.interrupted && hooks.interrupted()) throw Interrupted("the fit was interrupted");
  if (!hooks.progress) return;
  Progress progress;
  progress.phase = phase;
  progress.validation = progress.best = std::nan("");
  hooks.progress(progress);
}

// All folds go on together until, over all of them, rows not seen are predicted no better.
int grow_folds(std::vector<TreeFold>& folds, const TreeTerm& term, const FitHooks& hooks) {
  constexpr int kTogether = 25;  // rounds
  const auto grow = [&](int rounds) {
    stop_or_go_on(hooks, "trees, round " + std::to_string(rounds));
    parallel(static_cast<int>(folds.size()), [&](int k, int) { folds[static_cast<std::size_t>(k)].grow(rounds); });
  };
  if (term.rounds() > 0) {
    grow(term.rounds());
    return term.rounds();
  }
  double least = HUGE_VAL;
  int best = 1;
  for (int round = 1; round <= std::min(kMostTreeRounds, best + kTreePatience); ++round) {
    if (round % kTogether == 1) grow(round + kTogether - 1);
    double squares = 0.0;
    for (const TreeFold& fold : folds) squares += fold.squares(round);
    if (squares < least) least = squares, best = round;
  }
  return best;
}

// Rows whose targets are less what other terms predict.
Dataset open_without(const Table& table, const Encoder& encoder, const std::vector<bool>& use,
                     const std::vector<double>& others) {
  Dataset rows = open_rows(table, encoder, use, nullptr, HUGE_VAL);
  if (others.empty()) return rows;
  rows.y = rows.y.clone();
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<std::size_t>(rows.rows[static_cast<std::size_t>(i)]);
    rows.y.data_ptr<double>()[i] -= others[row] / encoder.target_scaling.sd;
  }
  return rows;
}

EncoderPlan encoder_plan_of_trees(const Table& table, const FitPlan& plan) {
  EncoderPlan own;
  own.target = plan.spec.formula.target;
  own.transform = find_transform(plan.spec.formula.transform);
  own.weights = plan.spec.formula.weights;
  own.offset = plan.spec.formula.offset;
  own.gaps = Gaps::fill;
  own.derived = plan.spec.derived;
  std::optional<Table> made;
  read_tree_columns(with_derived(table, own.derived, made), plan.spec.trees->columns, own);
  return own;
}

}  // namespace

std::vector<int> folds_of_trees(const Table& table, const FitPlan& plan) {
  const bool validated = count_of(plan.validation) > 0 && plan.options.refit == Refit::yes;
  Split at_random;
  at_random.kind = Split::Kind::random;
  const Split& asked = *plan.options.validation;
  const bool resembles = asked.kind != Split::Kind::none && asked.kind != Split::Kind::condition;
  const int count = kFolds - (validated ? 1 : 0);
  std::vector<std::vector<bool>> folds =
      folds_like(table, resembles ? asked : at_random, plan.training, count, plan.options.seed);
  if (folds.size() < 2) folds = folds_like(table, at_random, plan.training, count, plan.options.seed);  // one group
  if (validated) folds.push_back(plan.validation);
  std::vector<int> fold_of(static_cast<std::size_t>(table.rows), -1);
  for (std::size_t k = 0; k < folds.size(); ++k) {
    for (std::size_t i = 0; i < fold_of.size(); ++i) {
      if (folds[k][i]) fold_of[i] = static_cast<int>(k);
    }
  }
  return fold_of;
}

FirstTrees grow_trees(const Table& table, const FitPlan& plan, const FitHooks& hooks, std::vector<double> others) {
  const at::NoGradGuard no_grad;
  const TreeTerm& term = *plan.spec.trees;
  const std::vector<int> fold_of = folds_of_trees(table, plan);
  std::vector<bool> learned(fold_of.size());
  std::transform(fold_of.begin(), fold_of.end(), learned.begin(), [](int fold) { return fold >= 0; });

  const Encoder encoder = fit_encoder(table, encoder_plan_of_trees(table, plan), learned);
  const Dataset rows = open_without(table, encoder, learned, others);
  const at::Tensor calendar = calendar_of(table, encoder, learned), values = tree_values(rows, calendar);
  const TreeSettings settings = term.settings(plan.options.seed);
  stop_or_go_on(hooks, "trees");
  std::vector<TreeFold> folds;
  for (int k = 0; k <= *std::max_element(fold_of.begin(), fold_of.end()); ++k) {
    std::vector<bool> left;
    for (const std::int64_t row : rows.rows) left.push_back(fold_of[static_cast<std::size_t>(row)] == k);
    folds.emplace_back(settings, values, rows, left);
  }
  const int rounds = grow_folds(folds, term, hooks);
  stop_or_go_on(hooks, "trees, of all rows");
  const TreeRows all(values, rows.y, weights_or_one(rows));
  Trees trees(settings, all);
  for (int round = 0; round < rounds; ++round) trees.add_round(all);

  std::string column = term.text;
  while (table.find(column) != nullptr) column += "'";
  FirstTrees first;
  first.trees = std::make_shared<const GrownTrees>(GrownTrees{column, encoder, TreeSums({std::move(trees)}, calendar)});
  std::vector<double> predicted = first.trees->predict(table);
  at::Tensor unseen = at::empty({rows.size()}, at::kDouble);
  for (const TreeFold& fold : folds) unseen.index_copy_(0, fold.places(), fold.predict(rounds));
  const auto [mean, sd] = encoder.target_scaling;
  const at::Tensor weights = weights_or_one(rows);
  first.rmse =
      sd * std::sqrt(((unseen - rows.y).square() * weights).sum().item<double>() / weights.sum().item<double>());
  if (rows.offset.defined()) unseen = unseen + rows.offset;
  unseen = (unseen * sd + mean).contiguous();
  for (std::int64_t i = 0; i < rows.size(); ++i) {
    predicted[static_cast<std::size_t>(rows.rows[static_cast<std::size_t>(i)])] = unseen.data_ptr<double>()[i];
  }
  first.table = first.trees->added_to(table, std::move(predicted));
  first.others = std::move(others);
  return first;
}

void grow_without(const Table& given, const FitPlan& plan, const FirstTrees& grown, LeftOutRows& left_out) {
  const at::NoGradGuard no_grad;
  const GrownTrees& trees = *grown.trees;
  std::vector<bool> use(static_cast<std::size_t>(given.rows), false);
  for (const std::int64_t row : left_out.rows) use[static_cast<std::size_t>(row)] = true;
  const Dataset rows = open_without(given, trees.encoder, use, grown.others);  // in the order of the table, as these
  const at::Tensor values = tree_values(rows, trees.sums.calendar());
  const std::vector<LeftOut>& parts = left_out.parts.folds;
  const std::size_t count = std::min<std::size_t>(kFolds, parts.size());
  std::vector<at::Tensor> found(parts.size());
  parallel(static_cast<int>(count), [&](int group, int) {
    const auto k = static_cast<std::size_t>(group);
    const std::size_t first = k * parts.size() / count, last = (k + 1) * parts.size() / count;
    std::set<std::int64_t> cells;
    for (std::size_t f = first; f < last; ++f) cells.insert(parts[f].cells.begin(), parts[f].cells.end());
    std::vector<bool> left;
    for (const std::int64_t cell : left_out.parts.cell_of) left.push_back(cells.contains(cell));
    TreeFold fold(plan.spec.trees->settings(plan.options.seed), values, rows, left);
    fold.grow(trees.sums.rounds());
    at::Tensor of_rows = at::full({rows.size()}, std::nan(""), at::kDouble);
    of_rows.index_copy_(0, fold.places(), fold.predict(trees.sums.rounds()));
    for (std::size_t f = first; f < last; ++f) {
      found[f] = of_rows.index_select(0, at::tensor(parts[f].rows, at::kLong));
    }
  });
  Unseen& unseen = left_out.unseen;
  const auto [mean, sd] = trees.encoder.target_scaling;
  at::Tensor known = at::cat(found) * sd + mean;
  if (const at::Tensor offset = rows.row_offset(); offset.defined()) {
    for (std::size_t f = 0; f < parts.size(); ++f) {
      found[f] = offset.index_select(0, at::tensor(parts[f].rows, at::kLong));
    }
    known = known + at::cat(found) * sd;
  }
  const at::Tensor moved = unseen.rows.offset - known / unseen.scaling.sd;
  unseen.rows.offset = known / unseen.scaling.sd;
  unseen.rows.y = unseen.rows.y + moved;
  unseen.y = unseen.y + moved * unseen.scaling.sd;
}

void take_trees(const FirstTrees& first, FitPlan& plan) {
  plan.spec.offset = RowTerm{first.trees->column, "", 0};
  plan.encoder = fit_encoder(first.table, encoder_plan(plan.spec, plan.options), plan.training);
  const std::string what = first.trees->sums.text();
  plan.remarks.push_back(fmt::format(
      "{}: {}{} rows that its trees have not seen with an rmse of {:.4g}", plan.spec.trees->text,
      what.empty() ? "" : what + "; ",
      first.others.empty() ? "before the other terms it predicts" : "with the other terms it predicts", first.rmse));
}

}  // namespace ick
