#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/processes.h"
#include "cli/progress.h"
#include "ick/evaluate/cross_validation.h"

// Fits of folds side by side, as `ick cv` and `ick compare` do them.
namespace ick {

// How many fits at a time, and threads of each: a process for each core, as far as memory goes. Steps of a fit are too
// small to share out among cores, whole fits are not.
void choose_processes(Processes& processes, int threads, std::int64_t tasks, double bytes_of_fit);

// From here on this program has one thread, as Processes need it.
void be_one_thread();

// SIGINT and SIGTERM are asked for by was_stopped() from then on; the second is the system's own.
void listen_for_stop();
bool was_stopped();

// Shows how far all tasks are, each of which has a name.
class TaskProgress {
 public:
  TaskProgress(ProgressWriter& writer, std::string parts, std::int64_t all, std::int64_t done_before);
  void done() { ++whole_.done, show({}); }
  void show(const std::map<std::int64_t, Progress>& running);
  std::function<std::string(std::int64_t task)> name = [](std::int64_t task) { return std::to_string(task + 1); };

 private:
  ProgressWriter& writer_;
  WholeProgress whole_;
  std::int64_t before_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace ick
