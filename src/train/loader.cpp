#include "train/loader.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>

#include "ick/base/seed.h"

namespace ick {

Loader::Loader(const Dataset& rows, std::vector<Augmentation> augmentations, std::uint64_t seed, int threads)
    : rows_(rows), augmentations_(std::move(augmentations)), seed_(seed) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  more_.notify_all();
  for (std::thread& each : threads_) each.join();
}

std::vector<at::Tensor> Loader::make(const at::Tensor& index, std::int64_t epoch) const {
  std::vector<at::Tensor> inputs;
  for (std::size_t a = 0; a < rows_.networks.size(); ++a) {
    const Augmentation& augmentation = augmentations_[a];
    if (!augmentation.any()) {
      inputs.push_back(rows_.inputs(a, index));
      continue;
    }
    const std::string name = "augmentation " + std::to_string(a) + " " + std::to_string(epoch) + " ";
    inputs.push_back(rows_.inputs(a, index, [&](std::int64_t row, std::int64_t image, float* to) {
      rows_.images[a]->load(image, to, augmentation, seed_for(seed_, name + std::to_string(row)));
    }));
  }
  return inputs;
}

void Loader::work() {
  const at::NoGradGuard no_grad;
  std::unique_lock lock(mutex_);
  const auto next = [this] {
    return std::find_if(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->state == Job::State::waiting; });
  };
  for (;;) {
    more_.wait(lock, [&] { return stopping_ || next() != jobs_.end(); });
    if (stopping_) return;
    const std::shared_ptr<Job> job = *next();
    job->state = Job::State::running;
    lock.unlock();
    try {
      job->inputs = make(job->index, job->epoch);
    } catch (...) {
      job->error = std::current_exception();
    }
    lock.lock();
    job->state = Job::State::done;
    done_.notify_all();
  }
}

void Loader::ask(at::Tensor index, std::int64_t epoch) {
  auto job = std::make_shared<Job>();
  job->index = std::move(index);
  job->epoch = epoch;
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  more_.notify_one();
}

std::vector<at::Tensor> Loader::take() {
  std::unique_lock lock(mutex_);
  const std::shared_ptr<Job> job = jobs_.front();
  if (job->state != Job::State::done) {
    const auto start = std::chrono::steady_clock::now();
    done_.wait(lock, [&] { return job->state == Job::State::done; });
    waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  jobs_.pop_front();
  if (job->error) std::rethrow_exception(job->error);
  return std::move(job->inputs);
}

void Loader::forget() {
  const std::lock_guard lock(mutex_);
  jobs_.clear();
}

}  // namespace ick
