#include "table/read_ahead.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

namespace ick {
namespace {

// Advice changes nothing but when pages are read: the numbers stay what they are, whatever part is asked for.
TEST(ReadAhead, LeavesNumbersAsTheyAre) {
  constexpr std::size_t kCount = 20'000;
  std::vector<double> values(kCount);
  std::iota(values.begin(), values.end(), 0.5);
  std::string path = testing::TempDir() + "read_ahead_XXXXXX";
  const int file = ::mkstemp(path.data());
  ASSERT_GE(file, 0);
  ::unlink(path.c_str());
  ASSERT_EQ(::write(file, values.data(), kCount * sizeof(double)), static_cast<ssize_t>(kCount * sizeof(double)));
  const Numbers mapped = Numbers::mapped(file, kCount), held(values);
  ::close(file);
  for (const Numbers& numbers : {mapped, held, Numbers()}) {
    for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{0, 1},
                                       {513, 5000},
                                       {kCount - 1, 1},
                                       {kCount - 3, 100},
                                       {kCount, 1},
                                       {0, 2 * kCount},
                                       {7, 0}}) {
      read_ahead(numbers, first, count);
    }
    read_in_order(numbers);
  }
  EXPECT_EQ(mapped, held);
}

}  // namespace
}  // namespace ick
