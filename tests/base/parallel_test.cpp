#include "ick/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace ick {
namespace {

struct Workers : testing::TestWithParam<int> {
  Workers() { set_workers(GetParam()); }
  ~Workers() override { set_workers(1); }
};

TEST_P(Workers, DoEveryTaskOnce) {
  for (const int tasks : {0, 1, 2, 7, 100}) {
    for (int round = 0; round < 200; ++round) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(tasks));
      parallel(tasks, [&](int task, int worker) {
        ASSERT_GE(worker, 0);
        ASSERT_LT(worker, GetParam());
        ++done[static_cast<std::size_t>(task)];
      });
      for (const auto& each : done) ASSERT_EQ(each, 1);
    }
  }
}

TEST_P(Workers, PassOnWhatATaskThrowsAndGoOn) {
  const auto work = [&](int task, int) {
    if (task == 3) throw std::runtime_error("third");
  };
  for (int round = 0; round < 50; ++round) EXPECT_THROW(parallel(20, work), std::runtime_error);
  std::atomic<int> done = 0;
  parallel(20, [&](int, int) { ++done; });
  EXPECT_EQ(done, 20);
}

TEST_P(Workers, TakeCallsFromTasksAndFromOtherThreads) {
  std::atomic<int> done = 0;
  const auto twice = [&] {
    for (int round = 0; round < 50; ++round) {
      parallel(8, [&](int, int) { parallel(4, [&](int, int) { ++done; }); });
    }
  };
  std::jthread other(twice);
  twice();
  other.join();
  EXPECT_EQ(done, 2 * 50 * 8 * 4);
}

INSTANTIATE_TEST_SUITE_P(Parallel, Workers, testing::Values(1, 2, 5));

TEST(SetWorkers, IsAtLeastOneAndCanChange) {
  set_workers(0);
  EXPECT_EQ(workers(), 1);
  set_workers(3);
  EXPECT_EQ(workers(), 3);
  set_workers(1);
  EXPECT_EQ(workers(), 1);
}

}  // namespace
}  // namespace ick
