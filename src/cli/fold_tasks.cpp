#include "cli/fold_tasks.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <limits>

#include "ick/base/memory.h"
#include "ick/base/parallel.h"
#include "ick/train/threads.h"

namespace ick {

namespace {

volatile std::sig_atomic_t folds_stopped = 0;

void ask_folds_to_stop(int signal) {
  folds_stopped = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void choose_processes(Processes& processes, int threads, std::int64_t tasks, double bytes_of_fit) {
  constexpr double kShareOfMemory = 0.8;
  const int cores = threads > 0 ? threads : default_threads();
  const double fit_in = std::floor(kShareOfMemory * free_bytes() / std::max(bytes_of_fit, 1.0));
  const double most = std::min({static_cast<double>(cores), static_cast<double>(tasks), fit_in});
  processes.at_once = std::max(1, static_cast<int>(most));
  processes.threads = std::max(1, cores / processes.at_once);
}

void be_one_thread() {
  set_workers(1);
  use_torch_threads(1);
}

void listen_for_stop() {
  std::signal(SIGINT, ask_folds_to_stop);
  std::signal(SIGTERM, ask_folds_to_stop);
}

bool was_stopped() { return folds_stopped != 0; }

TaskProgress::TaskProgress(ProgressWriter& writer, std::string parts, std::int64_t all, std::int64_t done_before)
    : writer_(writer), before_(done_before) {
  whole_.parts = std::move(parts), whole_.all = all, whole_.done = done_before;
}

void TaskProgress::show(const std::map<std::int64_t, Progress>& running) {
  whole_.running.clear();
  for (const auto& [task, progress] : running) whole_.running[name(task)] = progress;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
  const auto now_done = static_cast<double>(whole_.done - before_);
  whole_.seconds_left = now_done > 0.0 ? passed.count() / now_done * static_cast<double>(whole_.all - whole_.done)
                                       : std::numeric_limits<double>::quiet_NaN();
  writer_.show(whole_);
}

}  // namespace ick
