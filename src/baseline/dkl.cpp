#include <ATen/ATen.h>

#include "baseline/deep_training.h"
#include "baseline/inducing_rows.h"
#include "baseline/kinds.h"
#include "baseline/rewrite.h"
#include "baseline/roles.h"

// Deep kernel learning: the sparse variational process of the formula in which the kernel that stands for a network
// reads that network's outputs (DeepNetworks). Networks know the rows that they have seen: of parts that are left out to
// calibrate they are learned anew, from the same start and for as many steps as validation rows had asked for.
namespace ick {

namespace {

// The formula, or y ~ mlp(all its columns) where it has no networks.
ModelSpec deep_spec(const BaselineTask& task) {
  if (!task.plan.spec.kernels_only()) return task.plan.spec;
  Call call;
  call.name = "mlp";
  add_columns(call, roles_of(task).columns, task.plan.spec.derived);
  ModelSpec spec = make_spec(with_right(task.plan.spec.formula, {{call}}), {});
  spec.derived = task.plan.spec.derived;
  return spec;
}

// Where training starts and how long it is.
struct DeepCourse {
  std::vector<double> start;  // raw kernel parameters, log s^2
  std::int64_t steps = DeepTraining::kUnwatched;
};

class DeepRule : public BaselineRule {
 public:
  DeepRule(DeepNetworks networks, SparsePrediction prediction, DeepCourse course)
      : networks_(std::move(networks)), prediction_(std::move(prediction)), course_(std::move(course)) {}

  at::Tensor at(const Dataset& rows) const override { return moments(rows).mean; }
  FunctionMoments moments(const Dataset& rows) const override {
    const at::NoGradGuard no_gradient;
    return prediction_.at(prediction_.kernel.inputs(process_x(networks_.through(rows))));
  }
  TensorState tensors() const override {
    TensorState state = {{"start", at::tensor(course_.start, at::kDouble)},
                         {"steps", at::tensor({static_cast<double>(course_.steps)}, at::kDouble)}};
    networks_.keep(state);
    keep_kernel(prediction_.kernel, state);
    keep_prediction(prediction_, state);
    return state;
  }
  std::string text() const override {
    return std::to_string(prediction_.points.size(0)) + " inducing points, " + std::to_string(course_.steps) + " steps";
  }
  const DeepCourse& course() const { return course_; }

 private:
  DeepNetworks networks_;
  SparsePrediction prediction_;
  DeepCourse course_;
};

// What an earlier training started from, where it had as many parameters; or what few rows, as networks that are not
// trained yet see them, are likeliest with.
std::vector<double> start_of(ProcessTask& task, const BaselineTraining& training, const DeepRule* chosen) {
  const at::Tensor raw = task.model->kernel().parameters().raw().detach();  // (1, P)
  if (chosen != nullptr && std::ssize(chosen->course().start) == raw.numel() + 1) {
    raw.copy_(at::tensor(chosen->course().start, at::kDouble).narrow(0, 0, raw.numel()).unsqueeze(0));
    return chosen->course().start;
  }
  const double log_noise = task.find_parameters(training);
  std::vector<double> start = numbers_of(task.model->kernel().parameters().raw().detach());
  start.push_back(log_noise);
  return start;
}

std::shared_ptr<const BaselineRule> learn_dkl(const BaselineTraining& training) {
  const auto tick = [&](const char* phase) {
    return [&training, phase] {
      if (training.tick) training.tick(phase);
    };
  };
  const auto* const chosen = dynamic_cast<const DeepRule*>(training.chosen);
  FitPlan plan = training.task.plan;
  plan.spec = deep_spec(training.task);
  const FitOptions& options = plan.options;
  const BaselineTask deep{training.task.table, plan, training.task.horizon};
  DeepNetworks networks(plan.spec, training.encoder, options.seed);
  const Dataset seen = networks.through(training.rows);
  const BaselineTraining of_process{deep, training.encoder, seen, nullptr, nullptr, training.tick};
  ProcessTask task(of_process, StandIn::smooth);
  DeepCourse course;
  course.start = start_of(task, of_process, chosen);
  if (chosen != nullptr) course.steps = chosen->course().steps;

  const ProcessKernel kernel = task.kernel();
  const at::Tensor inputs = kernel.inputs(task.rows.x);
  const at::Tensor points =
      inputs.index_select(0, inducing_rows(kernel, inputs, DeepTraining::kPoints, options.seed)).contiguous();
  SparseTraining::Settings settings;
  settings.steps = DeepTraining::kSteps;
  settings.held_noise = options.noise > 0.0;
  DeepTraining learned(networks,
                       {task.model->kernel().parameters(),
                        kernel,
                        points,
                        course.start.back(),
                        {inputs, seen.targets(), noise_of_rows(seen)},
                        settings},
                       training.rows, options.seed);
  if (chosen == nullptr && training.validation != nullptr) {
    learned.run(*training.validation, tick("train"));
  } else {
    learned.run(course.steps, tick("train"));
  }
  course.steps = learned.steps();
  return std::make_shared<DeepRule>(networks, learned.solve(tick("solve")), std::move(course));
}

std::shared_ptr<const BaselineRule> restore_dkl(const TensorState& tensors, const Encoder& encoder) {
  DeepCourse course{kept_numbers(tensors, "start"), 0};
  course.steps = static_cast<std::int64_t>(kept_numbers(tensors, "steps", 1)[0]);
  const ProcessKernel kernel = kept_kernel(tensors, DeepNetworks::columns(encoder));
  return std::make_shared<DeepRule>(DeepNetworks(tensors, encoder), kept_prediction(tensors, kernel),
                                    std::move(course));
}

void read_deep_columns(const BaselineTask& task, EncoderPlan& plan) {
  FitPlan own = task.plan;
  own.spec = deep_spec(task);
  read_process_columns({task.table, own, task.horizon}, plan);
}

std::string why_not_dkl(const BaselineTask& task) {
  if (task.plan.spec.kernels_only()) return why_not_columns(task);
  for (const TermSpec& term : task.plan.spec.terms) {
    for (const NetworkSpec& network : term.networks) {
      if (network.name != "mlp") return "its networks are mlp(...), and the formula has " + network.name + "(...)";
    }
  }
  return why_not_process(task);
}

}  // namespace

Baseline dkl_baseline() {
  Baseline row;
  row.name = "dkl";
  row.text = "deep kernel learning: the sparse process with RBF kernels on the outputs of networks, trained together";
  row.phrase = "deep kernel learning";
  row.trainings = 5;
  row.why_not = why_not_dkl;
  row.read = read_deep_columns;
  row.learn = learn_dkl;
  row.restore = restore_dkl;
  return row;
}

}  // namespace ick
