#include "ick/train/ranks.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <thread>

#include "ick/base/error.h"

namespace ick {
namespace {

using std::chrono::milliseconds;

// A port nobody listens on now.
int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ::bind(socket, reinterpret_cast<sockaddr*>(&address), length);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length);
  ::close(socket);
  return ntohs(address.sin_port);
}

void set_environment(int rank, int size, int port) {
  ::setenv("MASTER_ADDR", "127.0.0.1", 1);
  ::setenv("MASTER_PORT", std::to_string(port).c_str(), 1);
  ::setenv("RANK", std::to_string(rank).c_str(), 1);
  ::setenv("WORLD_SIZE", std::to_string(size).c_str(), 1);
}

std::string message_of(const std::exception& error, const char* kind) {
  return std::string(kind) + ": " + error.what();
}

struct Process {
  pid_t id = 0;
  int output = -1;
};

// Runs `action` in a process of its own; what it returns, or the error it ends with, is its output.
Process start(const std::function<std::string()>& action) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const pid_t id = ::fork();
  if (id == 0) {
    ::alarm(60);             // nothing is left hanging
    at::set_num_threads(1);  // the parent's pool of threads is not here
    std::string output;
    try {
      output = action();
    } catch (const RankLost& error) {
      output = message_of(error, "RankLost");
    } catch (const UsageError& error) {
      output = message_of(error, "UsageError");
    } catch (const std::exception& error) {
      output = message_of(error, "exception");
    }
    const bool whole = ::write(ends[1], output.data(), output.size()) == static_cast<ssize_t>(output.size());
    ::_exit(whole ? 0 : 1);
  }
  ::close(ends[1]);
  return {id, ends[0]};
}

// The output, and how the process ended when that was not in order.
std::string finish(const Process& process) {
  std::string output;
  char part[4096];
  for (ssize_t count; (count = ::read(process.output, part, sizeof part)) > 0;) {
    output.append(part, static_cast<std::size_t>(count));
  }
  ::close(process.output);
  int status = 0;
  ::waitpid(process.id, &status, 0);
  if (WIFSIGNALED(status)) return output + "killed by signal " + std::to_string(WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) return output + "ended with code " + std::to_string(WEXITSTATUS(status));
  return output;
}

// What each of `size` processes returned.
std::vector<std::string> run(int size, const std::function<std::string(Ranks&)>& action) {
  const int port = free_port();
  std::vector<Process> processes;
  for (int rank = 0; rank < size; ++rank) {
    processes.push_back(start([&, rank] {
      set_environment(rank, size, port);
      return action(*Ranks::from_environment());
    }));
  }
  std::vector<std::string> outputs;
  for (const Process& process : processes) outputs.push_back(finish(process));
  return outputs;
}

// Bits, so that ranks can be compared exactly.
std::string text(const at::Tensor& values) {
  const at::Tensor all = values.to(at::kDouble);
  std::ostringstream stream;
  stream << std::hexfloat;
  for (std::int64_t i = 0; i < all.numel(); ++i) stream << all.data_ptr<double>()[i] << ' ';
  return stream.str();
}

// Element i of what a rank brings along; multiples of 1/8, so that every order of a sum gives the same float.
double entry(int rank, int i) { return (rank + 1) * (i % 11 - 4) / 8.0 + i; }

at::Tensor entries(int rank, int count, at::ScalarType type) {
  const at::Tensor values = at::empty({count}, at::kDouble);
  for (int i = 0; i < count; ++i) values.data_ptr<double>()[i] = entry(rank, i);
  return values.to(type);
}

class RanksTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Loopback, RanksTest, testing::Values(2, 4));

TEST_P(RanksTest, SumIsThatOfALoop) {
  const int size = GetParam();
  constexpr int kCount = 37;  // no multiple of the number of ranks
  const std::vector<std::string> outputs = run(size, [](Ranks& ranks) {
    const at::Tensor single = entries(ranks.rank(), kCount, at::kFloat),
                     twice = entries(ranks.rank(), kCount, at::kDouble);
    const at::Tensor whole = at::full({2, 3}, std::int64_t{1} << (40 + ranks.rank()), at::kLong);
    ranks.sum(single);
    ranks.sum(twice);
    ranks.sum(whole);
    ranks.sum(at::empty({0}));
    return text(single) + text(twice) + text(whole);
  });
  at::Tensor expected = at::zeros({kCount}, at::kDouble);
  std::int64_t bits = 0;
  for (int rank = 0; rank < size; ++rank) {
    for (int i = 0; i < kCount; ++i) expected.data_ptr<double>()[i] += entry(rank, i);
    bits += std::int64_t{1} << (40 + rank);
  }
  for (const std::string& output : outputs) {
    EXPECT_EQ(output, text(expected) + text(expected) + text(at::full({6}, bits, at::kLong)));
  }
}

TEST_P(RanksTest, SumHasTheSameBitsEverywhere) {
  const std::vector<std::string> outputs = run(GetParam(), [](Ranks& ranks) {
    const at::Tensor values = (at::arange(1001, at::kDouble) * (0.37 + ranks.rank())).sin().to(at::kFloat);
    ranks.sum(values);
    return text(values);
  });
  for (const std::string& output : outputs) EXPECT_EQ(output, outputs[0]);
  EXPECT_GT(outputs[0].size(), 5000u);
}

TEST_P(RanksTest, BroadcastIsFromTheOneNamed) {
  const int size = GetParam();
  const std::vector<std::string> outputs = run(size, [](Ranks& ranks) {
    std::string all;
    for (int from = 0; from < ranks.size(); ++from) {
      const at::Tensor values = entries(ranks.rank(), 9, at::kFloat);
      ranks.broadcast(values, from);
      all += text(values);
    }
    return all;
  });
  std::string expected;
  for (int from = 0; from < size; ++from) expected += text(entries(from, 9, at::kFloat));
  for (const std::string& output : outputs) EXPECT_EQ(output, expected);
}

TEST(RanksPartTest, SumsItsOwnRanksOnly) {
  const std::vector<std::string> outputs = run(4, [](Ranks& ranks) {
    const auto odd = ranks.part({3, 1}, "odd"), even = ranks.part({0, 2}, "even"), one = ranks.part({2}, "one");
    Ranks& own = ranks.rank() % 2 == 1 ? *odd : *even;
    if ((odd != nullptr) == (even != nullptr) || (one != nullptr) != (ranks.rank() == 2)) return std::string("groups");
    const at::Tensor values = entries(ranks.rank(), 5, at::kDouble), first = entries(ranks.rank(), 5, at::kDouble);
    own.sum(values);
    own.broadcast(first, 0);
    if (one) one->sum(first);
    const at::Tensor all = at::ones({1}, at::kLong);
    ranks.sum(all);
    return std::to_string(own.rank()) + " of " + std::to_string(own.size()) + " " + text(values) + text(first) +
           text(all);
  });
  const auto expected = [](const char* name, int a, int b, int first) {
    return std::string(name) + text(entries(a, 5, at::kDouble) + entries(b, 5, at::kDouble)) +
           text(entries(first, 5, at::kDouble)) + text(at::full({1}, 4));
  };
  EXPECT_EQ(outputs[0], expected("0 of 2 ", 0, 2, 0));
  EXPECT_EQ(outputs[1], expected("1 of 2 ", 1, 3, 3));
  EXPECT_EQ(outputs[2], expected("1 of 2 ", 0, 2, 0));
  EXPECT_EQ(outputs[3], expected("0 of 2 ", 1, 3, 3));
}

// One rank is killed; the others go on until they notice and say how long that took.
void expect_all_notice(int size, int lost, const std::function<void(Ranks&)>& step) {
  SCOPED_TRACE("rank " + std::to_string(lost) + " of " + std::to_string(size));
  const std::vector<std::string> outputs = run(size, [&](Ranks& ranks) -> std::string {
    for (int i = 0; i < 3; ++i) step(ranks);
    ranks.barrier();
    const auto begin = std::chrono::steady_clock::now();
    if (ranks.rank() == lost) {
      std::thread([] {
        std::this_thread::sleep_for(milliseconds(100));
        ::kill(::getpid(), SIGKILL);
      }).detach();
    }
    try {
      while (true) step(ranks);
    } catch (const RankLost& error) {
      if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(20))
        return "late: " + std::string(error.what());
    }
    ranks.barrier();  // throws again
    return "nothing";
  });
  for (int rank = 0; rank < size; ++rank) {
    const std::string& output = outputs[static_cast<std::size_t>(rank)];
    const std::string start =
        "RankLost: rank " + std::to_string(rank) + " of " + std::to_string(size) + ": another process is gone (";
    if (rank == lost) {
      EXPECT_EQ(output, "killed by signal 9");
    } else {
      EXPECT_TRUE(output.starts_with(start)) << output;
      EXPECT_EQ(output.find("Timed out"), std::string::npos) << output;
      EXPECT_EQ(output.find(".cc"), std::string::npos) << output;
    }
  }
}

TEST(RanksLostTest, IsNoticedInASum) {
  const auto step = [](Ranks& ranks) { ranks.sum(at::ones({1000000})); };
  expect_all_notice(2, 1, step);
  expect_all_notice(4, 2, step);
  expect_all_notice(4, 0, step);
}

// The last one ends when the others have begun to connect.
TEST(RanksLostTest, IsNoticedWhileAPartIsMade) {
  constexpr int kSize = 3;
  const int port = free_port();
  std::vector<Process> processes;
  for (int rank = 0; rank < kSize; ++rank) {
    processes.push_back(start([=] {
      set_environment(rank, kSize, port);
      RanksOptions options;
      options.connect_timeout = std::chrono::seconds(2);
      const auto ranks = Ranks::from_environment(options);
      if (rank == kSize - 1) {
        ranks->barrier();  // that of part()
        std::this_thread::sleep_for(milliseconds(200));
        ::kill(::getpid(), SIGKILL);
      }
      return std::string(ranks->part({0, 1, 2}, "all again") ? "made" : "not in it");
    }));
  }
  for (int rank = 0; rank < kSize - 1; ++rank) {
    const std::string output = finish(processes[static_cast<std::size_t>(rank)]);
    EXPECT_TRUE(output.starts_with("RankLost: rank " + std::to_string(rank) + " of 3: another process ")) << output;
  }
  EXPECT_EQ(finish(processes[kSize - 1]), "killed by signal 9");
}

// Those that have connected in time may take longer than that for a call.
TEST(RanksLostTest, ConnectingHasATimeOfItsOwn) {
  const int port = free_port();
  std::vector<Process> processes;
  for (int rank = 0; rank < 2; ++rank) {
    processes.push_back(start([=] {
      set_environment(rank, 2, port);
      RanksOptions options;
      options.connect_timeout = std::chrono::seconds(1);
      const auto ranks = Ranks::from_environment(options);
      const auto both = ranks->part({1, 0}, "both");
      const at::Tensor value = at::ones({1});
      for (Ranks* group : {ranks.get(), both.get()}) {
        if (rank == 1) std::this_thread::sleep_for(milliseconds(2500));
        group->sum(value);
      }
      return text(value);
    }));
  }
  for (const Process& process : processes) EXPECT_EQ(finish(process), text(at::full({1}, 4.0)));
}

TEST(RanksLostTest, IsNoticedBetweenSums) {
  expect_all_notice(4, 3, [](Ranks& ranks) {
    std::this_thread::sleep_for(milliseconds(150));
    ranks.sum(at::ones({3}));
  });
}

TEST(RanksLostTest, IsNoticedInPartsByAll) {
  expect_all_notice(4, 1, [parts = std::vector<std::shared_ptr<Ranks>>()](Ranks& ranks) mutable {
    if (parts.empty()) {
      parts.push_back(ranks.part({0, 1}, "low"));
      parts.push_back(ranks.part({2, 3}, "high"));
    }
    parts[ranks.rank() < 2 ? 0 : 1]->sum(at::ones({10}));
    ranks.broadcast(at::ones({10}), 0);
  });
}

TEST(RanksLostTest, IsOneThatEndsWithAnError) {
  const std::vector<std::string> outputs = run(2, [](Ranks& ranks) -> std::string {
    if (ranks.rank() == 1) throw DataError("a cell is not a number");
    ranks.sum(at::ones({2}));
    return "nothing";
  });
  EXPECT_TRUE(outputs[0].starts_with("RankLost: rank 0 of 2: another process is gone (")) << outputs[0];
  EXPECT_EQ(outputs[1], "exception: a cell is not a number");
}

TEST(RanksLostTest, IsOneThatHangs) {
  const int port = free_port();
  const auto process = [&](int rank) {
    return start([=]() -> std::string {
      set_environment(rank, 2, port);
      RanksOptions options;
      options.timeout = milliseconds(500);
      const auto ranks = Ranks::from_environment(options);
      if (rank == 1) std::this_thread::sleep_for(std::chrono::seconds(2));
      ranks->sum(at::ones({2}));
      return "nothing";
    });
  };
  const Process first = process(0), second = process(1);
  const std::string waited = finish(first), hung = finish(second);
  EXPECT_TRUE(waited.starts_with("RankLost: rank 0 of 2: another process does not answer (Timed out")) << waited;
  EXPECT_TRUE(hung.starts_with("RankLost: rank 1 of 2: another process is gone (")) << hung;
}

TEST(RanksEndTest, RankZeroWaitsForTheOthers) {
  const int port = free_port();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  const Process first = start([&] {
    set_environment(0, 2, port);
    Ranks::from_environment().reset();
    char word[4];
    return std::string(::read(ends[0], word, sizeof word) == 4 ? "after" : "before");
  });
  const Process second = start([&] {
    set_environment(1, 2, port);
    const auto ranks = Ranks::from_environment();
    std::this_thread::sleep_for(milliseconds(300));
    return std::string(::write(ends[1], "done", 4) == 4 ? "done" : "");
  });
  EXPECT_EQ(finish(first), "after");
  EXPECT_EQ(finish(second), "done");
  ::close(ends[0]);
  ::close(ends[1]);
}

// One process alone with these variables; "-" leaves one out.
std::string alone(const std::string& size, const std::string& rank, const std::string& host, const std::string& port) {
  return finish(start([&] {
    const auto set = [](const char* name, const std::string& value) {
      value == "-" ? ::unsetenv(name) : ::setenv(name, value.c_str(), 1);
    };
    set("WORLD_SIZE", size);
    set("RANK", rank);
    set("MASTER_ADDR", host);
    set("MASTER_PORT", port);
    RanksOptions options;
    options.join_timeout = milliseconds(300);
    return std::string(Ranks::from_environment(options) ? "several" : "alone");
  }));
}

TEST(RanksEnvironmentTest, OneProcessNeedsNothing) {
  EXPECT_EQ(alone("-", "3", "nowhere", "x"), "alone");
  EXPECT_EQ(alone("1", "0", "-", "-"), "alone");
}

TEST(RanksEnvironmentTest, ErrorsAreSentences) {
  const std::string port = std::to_string(free_port());
  EXPECT_EQ(alone("two", "0", "127.0.0.1", port),
            "UsageError: WORLD_SIZE: \"two\" is not a whole number from 1 to 1048576");
  EXPECT_EQ(
      alone("2", "-", "127.0.0.1", port),
      "UsageError: WORLD_SIZE is 2, but RANK is not set; several processes need MASTER_ADDR, MASTER_PORT, RANK and "
      "WORLD_SIZE each");
  EXPECT_EQ(alone("2", "0", "-", port),
            "UsageError: WORLD_SIZE is 2, but MASTER_ADDR is not set; several processes need MASTER_ADDR, MASTER_PORT, "
            "RANK and WORLD_SIZE each");
  EXPECT_EQ(alone("4", "4", "127.0.0.1", port), "UsageError: RANK: \"4\" is not a whole number from 0 to 3");
  EXPECT_EQ(alone("4", "1", "127.0.0.1", "29500x"),
            "UsageError: MASTER_PORT: \"29500x\" is not a whole number from 1 to 65535");
  EXPECT_EQ(
      alone("4", "1", "127.0.0.1", port),
      "UsageError: rank 1 of 4: nothing answers at MASTER_ADDR=127.0.0.1, MASTER_PORT=" + port +
          " (Connection refused); expected the machine where rank 0 runs and a free port there; check that rank 0 "
          "was started and that no firewall is in between");
  EXPECT_EQ(
      alone("3", "0", "127.0.0.1", port),
      "UsageError: rank 0 of 3: ranks 1 and 2 did not come within 0.3 s; expected 3 processes, with RANK from 0 to 2; "
      "check that all were started with this MASTER_ADDR (127.0.0.1) and MASTER_PORT (" +
          port + ") and that no firewall is in between");
}

// Rank 2 comes first and finds nobody, then rank 0, who misses one; rank 1 comes when both have said so.
TEST(RanksWaitingTest, IsToldOnce) {
  const int port = free_port();
  const auto join = [&](int rank, int wait) {
    return start([=] {
      std::this_thread::sleep_for(milliseconds(wait));
      set_environment(rank, 3, port);
      std::string told;
      RanksOptions options;
      options.join_timeout = std::chrono::minutes(1);
      options.waiting_after = milliseconds(300);
      options.waiting = [&](const std::string& sentence) { told += sentence + "\n"; };
      Ranks::from_environment(options)->barrier();
      return told;
    });
  };
  const Process third = join(2, 0), first = join(0, 1000), second = join(1, 2500);
  const std::string where = " at 127.0.0.1:" + std::to_string(port) + " (gives up after 1 minute)\n";
  EXPECT_EQ(finish(third), "rank 2 of 3: waiting for rank 0" + where);
  EXPECT_EQ(finish(first), "rank 0 of 3: waiting for 1 of 3 processes" + where);
  EXPECT_EQ(finish(second), "");
}

TEST(RanksEnvironmentTest, APortInUseIsSaid) {
  const int socket = ::socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(socket, 1), 0);
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length);
  const std::string port = std::to_string(ntohs(address.sin6_port));
  const std::string output = alone("2", "0", "127.0.0.1", port),
                    expected = "UsageError: rank 0 of 2: cannot listen on MASTER_PORT=" + port;
  EXPECT_EQ(output.substr(0, expected.size()), expected) << output;
  ::close(socket);
}

TEST(RanksEnvironmentTest, NumbersThatContradictAreSaid) {
  const int port = free_port();
  const auto join = [&](int rank, int size) {
    return start([=] {
      set_environment(rank, size, port);
      RanksOptions options;
      options.join_timeout = std::chrono::seconds(10);
      return std::string(Ranks::from_environment(options) ? "several" : "alone");
    });
  };
  const Process first = join(0, 2);
  EXPECT_EQ(finish(join(1, 3)),
            "UsageError: rank 1 of 3: WORLD_SIZE is 2 for another process; expected the same number for all");
  const Process second = join(1, 2);
  EXPECT_EQ(finish(first), "several");
  EXPECT_EQ(finish(second), "several");
}

}  // namespace
}  // namespace ick
