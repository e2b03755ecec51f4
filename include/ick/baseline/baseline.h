#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ick/dataset/encoder.h"
#include "ick/inference/function_posterior.h"
#include "ick/net/network.h"
#include "ick/train/plan.h"

// Simple models to compare with: what a composite model should beat.
namespace ick {

// What a baseline is asked to serve: a formula whose rows have been chosen.
struct BaselineTask {
  const Table& table;
  const FitPlan& plan;  // without an encoder
  double horizon =
      0.0;  // how far beyond its rows it will predict, in the unit of the time column; 0: not known, or not
};

// What a baseline has learned. Immutable, and safe to use from several threads.
class BaselineRule {
 public:
  virtual ~BaselineRule() = default;

  // The mean of the target, standardised: (n); of classes their probabilities, (n, C). In float64.
  virtual at::Tensor at(const Dataset& rows) const = 0;
  // The same with what is not known of the function, where the baseline has an answer: (n) each.
  virtual FunctionMoments moments(const Dataset& rows) const;
  virtual TensorState tensors() const = 0;     // what a folder keeps of it
  virtual std::string text() const = 0;        // what was chosen: "hour of the day, day of the week"
  virtual double period() const { return 0; }  // the longest season in it: who forecasts should have seen it once
};

struct BaselineTraining {
  const BaselineTask& task;
  const Encoder& encoder;
  const Dataset& rows;                   // held
  const Dataset* validation = nullptr;   // not seen otherwise, to stop by; may be null
  const BaselineRule* chosen = nullptr;  // of an earlier training: what it chose stays; may be null
  // To be called now and then with what is being done: ends a fit that is to stop, by Interrupted.
  std::function<void(const std::string& phase)> tick = {};
};

// One kind of baseline: a row of the table, and a file of its own. Either it learns, or it is a formula.
struct Baseline {
  std::string_view name, text;
  std::string_view phrase;      // in a sentence: "the mean"; {time} stands for the column of times
  bool classes = false;         // serves targets of classes, too
  std::int64_t trainings = 24;  // again, at most, without parts of the rows, to calibrate intervals

  bool side_by_side = false;  // these may run at once: what they compute does not depend on threads

  // Why it cannot serve, a half sentence; empty where it can. Null: it always can.
  std::string (*why_not)(const BaselineTask& task) = nullptr;

  // Whether a formula that it can serve is worth comparing with it unasked. Null: not.
  bool (*usual)(const BaselineTask& task) = nullptr;

  // The columns it reads, as an encoder is to make numbers of them.
  void (*read)(const BaselineTask& task, EncoderPlan& plan) = nullptr;
  std::shared_ptr<const BaselineRule> (*learn)(const BaselineTraining& training) = nullptr;
  // What tensors() kept; DataError when it is not whole.
  std::shared_ptr<const BaselineRule> (*restore)(const TensorState& tensors, const Encoder& encoder) = nullptr;

  // Instead of these: the formula that it is.
  Formula (*rewrite)(const BaselineTask& task) = nullptr;
};

std::vector<const Baseline*> baselines();
const Baseline& baseline_named(std::string_view name);  // UsageError with the nearest name when there is none
// The same with what holds for all of them: kinds of targets, terms of the formula, settings.
std::string why_not(const Baseline& baseline, const BaselineTask& task);

}  // namespace ick
