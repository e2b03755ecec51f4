#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "ick/dataset/encoder.h"

namespace ick {

// What networks read of batches of rows, images among it, made by threads of its own ahead of the steps that need it.
// Batches come in the order they were asked for; they depend on what was asked, not on threads or their timing.
class Loader {
 public:
  // `augmentations` of each network's images.
  Loader(const Dataset& rows, std::vector<Augmentation> augmentations, std::uint64_t seed, int threads);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Rows (B) in int64 of `epoch`, which draws the augmentations.
  void ask(at::Tensor index, std::int64_t epoch);
  std::size_t asked() const { return jobs_.size(); }  // and not taken
  // The oldest that was asked for: (B, F) for each network. Rethrows what went wrong with it.
  std::vector<at::Tensor> take();
  void forget();  // what was asked for and is not taken

  double waited() const { return waited_; }  // seconds spent in take() for batches that were not ready

  // The same without threads.
  std::vector<at::Tensor> make(const at::Tensor& index, std::int64_t epoch) const;

 private:
  struct Job {
    at::Tensor index;
    std::int64_t epoch = 0;
    enum class State { waiting, running, done } state = State::waiting;
    std::vector<at::Tensor> inputs;
    std::exception_ptr error;
  };

  void work();

  const Dataset& rows_;
  std::vector<Augmentation> augmentations_;
  std::uint64_t seed_;
  std::mutex mutex_;
  std::condition_variable more_, done_;
  std::deque<std::shared_ptr<Job>> jobs_;
  bool stopping_ = false;
  double waited_ = 0.0;
  std::vector<std::thread> threads_;
};

}  // namespace ick
