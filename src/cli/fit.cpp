#include <ATen/ATen.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/accept.h"
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/fit_text.h"
#include "cli/progress.h"
#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/base/text.h"
#include "ick/base/unit.h"
#include "ick/store/checkpoint_file.h"
#include "ick/store/model_directory.h"
#include "ick/train/estimate.h"
#include "ick/train/ranks.h"

namespace ick {

namespace {

volatile std::sig_atomic_t stop_asked = 0;

// The first interrupt asks for a checkpoint; the second is the system's own.
void ask_to_stop(int signal) {
  stop_asked = signal;
  std::signal(signal, SIG_DFL);
}

struct FitRequest {
  std::string data, formula, out, resume, progress = "auto";
  std::string holdout = "none", validation, loss = "mse", optimiser = "automatic", schedule = "onecycle",
              kernels = "automatic", gaps = "refuse", posterior = "ensemble", perturbation = "none", noise = "learned",
              family = "automatic", link = "logit", class_kernels = "shared";
  std::vector<std::string> units;
  bool no_warm_start = false, no_polish = false, no_refit = false, dry_run = false, json = false;
  FitOptions options;
  DataOptions reading;
  LoadOptions loading;  // of a checkpoint
};

template <class Choice>
CLI::Option* add_choice(CLI::App& app, const std::string& name, std::string& value, const std::string& text) {
  std::vector<std::string> names(Choices<Choice>::names.begin(), Choices<Choice>::names.end());
  return app.add_option(name, value, text)->check(accept_word(names))->capture_default_str();
}

double parse_noise(const std::string& text) {
  if (text == "learned") return 0.0;
  double noise = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), noise);
  if (error != std::errc() || end != text.data() + text.size() || !(noise >= 0.0) || !std::isfinite(noise)) {
    throw UsageError("--noise " + text + ": expected a positive number, or learned");
  }
  if (noise > 0.0) return noise;
  throw UsageError(
      "--noise 0: without noise the targets are the function itself, and no posterior can be solved for; give a small "
      "positive number, or leave it out to have it learned");
}

FitOptions options_of(const FitRequest& request) {
  FitOptions options = request.options;
  options.holdout = parse_split(request.holdout);
  if (!request.validation.empty()) options.validation = parse_split(request.validation);
  options.loss = *find_choice<Loss>(request.loss);
  options.optimiser = *find_choice<Optimiser>(request.optimiser);
  options.schedule = *find_choice<Schedule>(request.schedule);
  options.kernels = *find_choice<KernelTraining>(request.kernels);
  options.gaps = *find_choice<Gaps>(request.gaps);
  options.posterior = *find_choice<Posterior>(request.posterior);
  options.perturbation = *find_choice<Perturbation>(request.perturbation);
  options.noise = parse_noise(request.noise);
  options.family = find_choice<Family>(request.family);
  options.link = *find_choice<Link>(request.link);
  options.own_kernels = request.class_kernels == "own";
  options.warm_start = !request.no_warm_start;
  options.polish = !request.no_polish;
  options.refit = !request.no_refit;
  for (const std::string& each : request.units) {
    const std::size_t equals = each.rfind('=');
    if (equals == std::string::npos) throw UsageError("--unit " + each + ": expected column=unit, as in depth=m");
    const std::string unit = each.substr(equals + 1);
    if (!convert(1.0, unit, unit)) {
      throw UsageError("--unit " + each + ": no unit named \"" + unit +
                       "\"; there are s, min, h, d, w, y, mm, cm, m, km, deg and rad");
    }
    options.units[each.substr(0, equals)] = unit;
  }
  return options;
}

std::string request_text(const FitRequest& r) {
  return nlohmann::json{{"out", r.out},
                        {"types", r.reading.types},
                        {"missing", r.reading.missing},
                        {"separator", r.reading.separator},
                        {"images", r.reading.images},
                        {"threads", r.reading.threads}}
      .dump();
}

// A resumed fit is the request that was interrupted; only what is said again is taken from the command line.
StoredCheckpoint take_up(FitRequest& request) {
  StoredCheckpoint stored = load_checkpoint(request.resume, request.loading);
  const nlohmann::json kept = nlohmann::json::parse(stored.request);
  if (request.data.empty()) request.data = stored.data;
  if (request.out.empty()) request.out = kept.at("out");
  request.reading.types = kept.at("types").get<std::vector<std::string>>();
  request.reading.missing = kept.at("missing").get<std::vector<std::string>>();
  request.reading.separator = kept.at("separator");
  request.reading.images = kept.value("images", "");
  if (request.reading.threads == 0) request.reading.threads = kept.at("threads");
  if (request.data == "-")
    throw UsageError("the fit was reading stdin; give the table again: ick fit TABLE --resume ...");
  return stored;
}

// Columns that options speak of have to be there; the formula's are its own affair.
void check_columns(const FitRequest& request, const FitOptions& options, const Table& table) {
  const std::vector<std::string> names = table.names();
  request.reading.check_types(names);
  for (const auto& [column, unit] : options.units) {
    if (table.find(column) != nullptr) continue;
    const std::string guess = did_you_mean(column, names);
    throw UsageError(fmt::format("--unit {}={}: no column named \"{}\"{}", column, unit, column,
                                 guess.empty() ? "; there are " + join_words(names) : guess));
  }
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// The result is to be that of the fit that was interrupted.
void refuse_changes(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const bool changes = option->get_group() == "Training" || option->get_group() == "Reading";
    if (option->count() == 0 || !changes) continue;
    throw UsageError(option->get_name() + " cannot be changed when a fit is taken up again; leave it out");
  }
}

// How many processes with a lower rank are on this machine.
int place_on_machine(Ranks& ranks) {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  const at::Tensor machines = at::zeros({ranks.size()}, at::kLong);
  auto* const machine = machines.data_ptr<std::int64_t>();
  const int own = ranks.rank();
  machine[own] = static_cast<std::int64_t>(seed_for(0, name) >> 1);
  ranks.sum(machines);
  return static_cast<int>(std::count(machine, machine + own, machine[own]));
}

// The first process parses a large table, and what it keeps beside the table serves the others; where machines do not
// see the same files, the first of each machine parses it.
Table read_in_turn(const std::string& path, const ReadOptions& options, Ranks* ranks) {
  if (ranks == nullptr) return read_table(path, options);
  if (path == "-") throw UsageError("several processes cannot share stdin; give the table as a file that all can read");
  const int place = place_on_machine(*ranks);
  const int turn = !options.cache || ranks->rank() == 0 ? 0 : place == 0 ? 1 : 2;
  std::optional<Table> table;
  for (int now = 0; now < 3; ++now) {
    if (now == turn) table = read_table(path, options);
    ranks->barrier();
  }
  return std::move(*table);
}

// What a fit is, apart from the table: the formula and every option that changes the result.
std::string settings_of(const std::string& formula, const CLI::App& app) {
  std::string text = formula;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group() != "Training" && option->get_group() != "Reading") continue;
    for (const std::string& value : option->results()) text += "\n" + option->get_name() + "=" + value;
  }
  return text;
}

// DataError or UsageError, of all processes, unless all read the same table and got the same command.
void check_alike(const std::string& path, std::uint32_t table, const std::string& settings, Ranks& ranks) {
  const auto own =
      at::tensor({static_cast<std::int64_t>(table), static_cast<std::int64_t>(seed_for(0, settings) >> 1)});
  const at::Tensor first = own.clone();
  ranks.broadcast(first, 0);
  const at::Tensor others = (own != first).to(at::kLong);
  ranks.sum(others);
  const std::string rank = fmt::format("rank {} of {}: ", ranks.rank(), ranks.size());
  if (others[0].item<std::int64_t>() > 0) {
    throw DataError(rank + "not all processes read the same " + path + "; give them the same table");
  }
  if (others[1].item<std::int64_t>() > 0) {
    throw UsageError(rank + "not all processes got the same formula and options; give them the same command");
  }
}

// A table inside the folder of the model would go with the older model, were its name that of a model's file.
void refuse_table_inside(const FitRequest& request) {
  std::error_code table_error, folder_error;
  const std::filesystem::path table = std::filesystem::canonical(request.data, table_error);
  const std::filesystem::path folder = std::filesystem::canonical(request.out, folder_error);
  if (table_error || folder_error) return;  // one of them is not there
  if (std::mismatch(folder.begin(), folder.end(), table.begin(), table.end()).first != folder.end()) return;
  throw UsageError(
      fmt::format("--out: the table \"{}\" is in \"{}\", which the model would replace; give another place",
                  request.data, request.out));
}

// What to type to go on with a fit that was stopped.
std::string resume_command(const std::string& checkpoint, const Formula& formula, const FitOptions& options) {
  const bool code = brings_code(formula.right) ||
                    (!options.noise_formula.empty() && brings_code(parse_formula(options.noise_formula).right));
  return "ick fit --resume " + quoted(checkpoint) + (code ? " --trust" : "");
}

int run_fit(FitRequest request, const CLI::App& app) {
  const bool resumed = !request.resume.empty();
  if (resumed) refuse_changes(app);
  StoredCheckpoint stored;
  Formula formula;
  FitOptions options;
  if (resumed) {
    stored = take_up(request);
    formula = stored.formula;
    options = stored.options;
  } else {
    if (request.data.empty() || request.formula.empty()) {
      throw UsageError("fit needs a table and a formula, as in ick fit air.csv 'pm25 ~ rbf(x)' --out air.model");
    }
    if (request.out.empty() && !request.dry_run) throw UsageError("fit needs a place for the model: --out DIR");
    formula = parse_formula(request.formula);
    options = options_of(request);
  }
  RanksOptions together;
  together.waiting = [&](const std::string& sentence) { ProgressWriter(request.progress).say(sentence); };
  const std::unique_ptr<Ranks> ranks = request.dry_run ? nullptr : Ranks::from_environment(together);
  const bool first = ranks == nullptr || ranks->rank() == 0;  // speaks and writes for all
  while (request.out.size() > 1 && request.out.back() == '/') request.out.pop_back();
  CheckpointFile kept(request.out + ".checkpoint", {{}, formula, options, request.data, request_text(request), 0});
  if (!request.out.empty() && !request.dry_run && first) {
    check_model_place(request.out);
    refuse_table_inside(request);
    kept.check();
  }
  ReadOptions reading = request.reading.read_options(formula);
  std::vector<std::string> remarks;
  reading.remark = [&](const std::string& sentence) { remarks.push_back(sentence); };
  const Table table = read_in_turn(request.data, reading, ranks.get());
  check_columns(request, options, table);
  ProgressWriter progress(first ? request.progress : "none");
  for (const std::string& sentence : remarks) progress.say(sentence);
  if (request.dry_run) {
    print_estimate(estimate_fit(table, formula, options), request.json);
    return 0;
  }
  const std::uint32_t sum = fingerprint(table);
  if (resumed && sum != stored.fingerprint) {
    throw DataError(request.data + ": not the table the fit was reading when it was interrupted; start the fit again");
  }
  if (ranks != nullptr) check_alike(request.data, sum, settings_of(print(formula), app), *ranks);
  kept.set_table(sum);
  if (first) kept.check();
  const std::string resume = resume_command(kept.path(), formula, options);

  std::string phase;  // of the last checkpoint
  FitHooks hooks;
  hooks.planned = [&](const FitPlan& plan) {
    say_plan(table, plan, progress);
    // Tensor operations of a step are too small to share out, torch's threads would only wait for each other; and the
    // model is the same to the last bit for any number of workers. Images and draws are large enough.
    const Posterior posterior = plan.options.posterior;
    const bool draws = posterior == Posterior::nngp || posterior == Posterior::ntk;
    const auto& networks = plan.encoder.networks;
    const bool images = std::any_of(networks.begin(), networks.end(), [](const auto& each) { return each.image; });
    if (!images && !draws) use_torch_threads(1);
  };
  hooks.progress = [&](const Progress& p) { progress.show(p); };
  hooks.interrupted = [] { return stop_asked != 0; };
  hooks.ranks = ranks.get();
  if (ranks != nullptr) progress.say(fmt::format("{} processes", ranks->size()));
  if (first)
    hooks.checkpoint = [&](const Checkpoint& checkpoint) {
      kept.save(checkpoint);
      phase = checkpoint.phase;
    };
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
  try {
    const Fit fitted = fit(table, formula, options, hooks, resumed ? &stored.checkpoint : nullptr);
    if (first) {
      save_model(fitted, request.out, table, {request.data, table.names(), sum}, progress.log());
      kept.remove();
      print_fit(fitted, request.out, request.json, progress);
    }
  } catch (const RankLost& lost) {
    progress.clear();
    const bool is_kept = std::filesystem::exists(kept.path());
    fmt::print(stderr, "ick: {}{}\n", lost.what(), is_kept ? "; to go on with any number of processes: " + resume : "");
    return 1;
  } catch (const Interrupted& stop) {
    progress.clear();
    if (first) fmt::print(stderr, "ick: {}; to go on: {}\n", stop.what(), resume);
    return 130;
  } catch (...) {
    // One that holds no work is of no use; one that does is worth keeping when, say, the disk was full.
    if (phase == "start" && !resumed) kept.remove();
    throw;
  }
  return 0;
}

}  // namespace

Command add_fit(CLI::App& program) {
  auto request = std::make_shared<FitRequest>();
  CLI::App* app = program.add_subcommand("fit", "Train a model from a table and a formula");
  FitRequest& r = *request;
  FitOptions& o = r.options;
  app->add_option("data", r.data, "CSV or TSV table, may be gzipped; - for stdin");
  app->add_option("formula", r.formula, "for example 'y ~ mlp(a, b) * periodic(date, period=1y) + linear(x)'");
  app->add_option("--out", r.out, "Folder to write the model to");
  app->add_option("--resume", r.resume, "Go on from the checkpoint of an interrupted fit");
  add_trust(*app, r.loading)
      ->description("Resume a fit whose checkpoint carries a TorchScript, which could run any code");
  app->add_flag("--dry-run", r.dry_run, "Say what would be done, and what it would take, without doing it");
  app->add_flag("--json", r.json, "Print the result as JSON");

  const auto number = [&](const std::string& name, auto& value, const std::string& text, auto low, auto high) {
    app->add_option(name, value, text)->check(accept_number(low, high))->capture_default_str()->group("Training");
  };
  number("--seed", o.seed, "Everything random follows from it", std::uint64_t{0}, ~std::uint64_t{0});
  number("--epochs", o.epochs, "Passes over the rows, at most; 0: from the data", 0L, 1'000'000L);
  number("--members", o.members, "Members of the ensemble; 0: from the data", 0L, 100'000L);
  app->add_option("--family", r.family,
                  "Law of the target: gaussian, student (far-off rows pull less), poisson (counts), bernoulli (two "
                  "classes), categorical; automatic: classes for text and for whole numbers of at most ten values")
      ->check(accept_word({"automatic", "gaussian", "student", "poisson", "bernoulli", "categorical"}))
      ->capture_default_str()
      ->group("Training");
  add_choice<Link>(*app, "--link", r.link, "Of two classes")->group("Training");
  app->add_option("--class-kernels", r.class_kernels,
                  "Kernel parameters of several classes: shared, or own ones for each class")
      ->check(accept_word({"shared", "own"}))
      ->capture_default_str()
      ->group("Training");
  app->add_option(
         "--posterior", r.posterior,
         "How a network's function is uncertain: ensemble (members trained from different starts), nngp or ntk "
         "(draws of the exact posterior of wide networks, solved, not trained), laplace (one trained network, "
         "posterior of its last layer)")
      ->check(accept_word({"ensemble", "nngp", "ntk", "laplace"}))
      ->capture_default_str()
      ->group("Training");
  add_choice<Perturbation>(
      *app, "--perturb", r.perturbation,
      "What members of an ensemble see differently: bootstrap (rows drawn with replacement), noise "
      "(targets with --noise added)")
      ->group("Training");
  app->add_option(
         "--noise", r.noise,
         "Deviation of an observation in the target's units (of the logarithm for log targets), where it is known")
      ->capture_default_str()
      ->group("Training");
  app->add_option("--sigma", o.noise_formula,
                  "A formula of its own for the noise, as in 'sigma ~ rbf(date)'; learned from validation rows")
      ->group("Training");
  number("--batch", o.batch, "Rows in a mini-batch; 0: from the data", 0L, 10'000'000L);
  app->add_option("--layers", o.layers, "Hidden widths of networks that do not say, as in 128,64")
      ->delimiter(',')
      ->check(accept_number(1, 65536))
      ->group("Training");
  add_choice<Loss>(*app, "--loss", r.loss, "What is minimised")->group("Training");
  add_choice<Optimiser>(*app, "--optimiser", r.optimiser, "lbfgs is for models of kernels only")->group("Training");
  add_choice<Schedule>(*app, "--schedule", r.schedule, "Of the learning rate")->group("Training");
  number("--learning-rate", o.learning_rate, "0: from the optimiser", 0.0, 1e3);
  add_choice<KernelTraining>(*app, "--kernels", r.kernels,
                             "Kernel parameters in gradient descent: held where the warm start put them, or learned on")
      ->group("Training");
  number("--kernel-rate", o.kernel_rate, "Learning rate of kernel parameters, relative", 0.0, 1e3);
  number("--momentum", o.momentum, "Of sgd", 0.0, 1.0);
  number("--weight-decay", o.weight_decay, "Of network weights; never of kernel parameters", 0.0, 1e3);
  number("--clip", o.clip, "Largest norm of a member's gradient; 0: any", 0.0, 1e9);
  number("--patience", o.patience, "Epochs without a better validation score before stopping; 0: from the data", 0L,
         1'000'000L);
  app->add_flag("--no-warm-start", r.no_warm_start, "Kernel parameters start from generic values")->group("Training");
  app->add_flag("--no-polish", r.no_polish, "Leave the last layers as gradient descent left them")->group("Training");
  app->add_flag("--no-refit", r.no_refit, "Keep the model that has not seen the validation rows")->group("Training");
  app->add_option("--holdout", r.holdout,
                  "Rows for the final scores only: 'date >= 2019-05-16', last=20%, random=20%, group(station)=20%, "
                  "block(lat, lon)=20% or none")
      ->capture_default_str()
      ->group("Training");
  app->add_option(
         "--validation", r.validation,
         "Rows watched to stop in time, said like --holdout; by default 20% of the others, blocked in time or space "
         "when the formula has a kernel on time or place")
      ->group("Training");

  add_choice<Gaps>(*app, "--gaps", r.gaps, "Rows where a kernel's column is missing")->group("Reading");
  app->add_option("--unit", r.units, "Unit of a column: COLUMN=UNIT (s min h d w y, mm cm m km, deg rad); repeatable")
      ->take_all()
      ->group("Reading");
  r.reading.add_to(*app);
  app->add_option("--progress", r.progress, "auto, bar, plain, json or none")
      ->check(accept_word({"auto", "bar", "plain", "json", "none"}))
      ->capture_default_str()
      ->group("Running");
  app->add_option("--loaders", o.loaders, "Threads that decode images ahead of training")
      ->check(accept_number(1, 256))
      ->capture_default_str()
      ->group("Running");
  app->add_option("--checkpoint", o.checkpoint_seconds, "Seconds between checkpoints")
      ->check(accept_number(0.0, 1e9))
      ->capture_default_str()
      ->group("Running");
  return {app, [request, app] { return run_fit(*request, *app); }};
}

}  // namespace ick
