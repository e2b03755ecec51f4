#include "ick/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ick {

namespace {

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Steps of training follow each other within microseconds: a thread looks for work for a while before it sleeps.
constexpr int kLooks = 4000;

class Pool {
 public:
  explicit Pool(int count) {
    try {
      for (int worker = 1; worker < count; ++worker) threads_.emplace_back([this, worker] { serve(worker); });
    } catch (...) {  // no more threads can be had
      end();
      throw;
    }
  }
  ~Pool() { end(); }

  void share_out(int tasks, void (*run)(const void*, int, int), const void* context) {
    run_ = run, context_ = context, tasks_ = tasks, error_ = nullptr;
    next_ = 0;
    open_ = true;
    ++round_;
    round_.notify_all();
    work(0);
    // Threads that are still asleep find the round closed and leave it alone.
    open_ = false;
    while (busy_ != 0) relax();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void end() {
    ending_ = true;
    ++round_;
    round_.notify_all();
    threads_.clear();
  }

  void work(int worker) {
    for (int task; (task = next_++) < tasks_;) {
      try {
        run_(context_, task, worker);
      } catch (...) {
        const std::lock_guard lock(error_mutex_);
        if (!error_) error_ = std::current_exception();
        next_ = tasks_;
      }
    }
  }

  void serve(int worker) {
    std::uint32_t seen = 0;
    for (;;) {
      for (int look = 0; look < kLooks && round_ == seen; ++look) relax();
      round_.wait(seen);
      seen = round_;
      if (ending_) return;
      ++busy_;
      if (open_) work(worker);
      --busy_;
    }
  }

  std::vector<std::jthread> threads_;
  std::atomic<std::uint32_t> round_ = 0;
  std::atomic<bool> open_ = false, ending_ = false;
  std::atomic<int> next_ = 0, busy_ = 0;
  int tasks_ = 0;
  void (*run_)(const void*, int, int) = nullptr;
  const void* context_ = nullptr;
  std::mutex error_mutex_;
  std::exception_ptr error_;
};

std::mutex pool_mutex;  // held while the pool works or changes
std::unique_ptr<Pool> pool;
std::atomic<int> pool_size = 1;
thread_local bool within_task = false;

void run_here(int tasks, void (*run)(const void*, int, int), const void* context) {
  for (int task = 0; task < tasks; ++task) run(context, task, 0);
}

}  // namespace

void set_workers(int count) {
  const std::lock_guard lock(pool_mutex);
  count = std::max(count, 1);
  if (count == pool_size) return;
  pool.reset();
  pool_size = 1;
  if (count > 1) pool = std::make_unique<Pool>(count);
  pool_size = count;
}

int workers() { return pool_size; }

void detail::run_tasks(int tasks, void (*run)(const void*, int, int), const void* context) {
  if (tasks <= 1 || pool_size == 1 || within_task) return run_here(tasks, run, context);
  const std::unique_lock lock(pool_mutex, std::try_to_lock);
  if (!lock || pool == nullptr) return run_here(tasks, run, context);
  struct Call {
    void (*run)(const void*, int, int);
    const void* context;
  } call{run, context};
  pool->share_out(
      tasks,
      [](const void* with, int task, int worker) {
        const Call& of = *static_cast<const Call*>(with);
        within_task = true;
        struct Leave {
          ~Leave() { within_task = false; }
        } leave;
        of.run(of.context, task, worker);
      },
      &call);
}

}  // namespace ick
