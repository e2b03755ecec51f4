#pragma once

#include <memory>

namespace ick {

// Threads that share out the work of the fast path, besides those of torch: at most so many, this one included. One
// until asked for more. Results never depend on their number.
void set_workers(int count);
int workers();

namespace detail {
void run_tasks(int tasks, void (*run)(const void* context, int task, int worker), const void* context);
}

// run(task, worker) for all tasks from 0, each once, in any order; `worker` says which of workers() threads it is, the
// calling one being 0. Returns when all are done, and throws what the first task threw. A call from within a task, or
// while another thread is at it, does its tasks itself.
template <class Run>
void parallel(int tasks, const Run& run) {
  detail::run_tasks(
      tasks, [](const void* context, int task, int worker) { (*static_cast<const Run*>(context))(task, worker); },
      std::addressof(run));
}

}  // namespace ick
