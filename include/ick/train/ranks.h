#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ick {

struct RanksOptions {
  std::chrono::milliseconds join_timeout = std::chrono::minutes(5);  // until all processes are there
  // Until those that are there have connected to each other, in from_environment() and part().
  std::chrono::milliseconds connect_timeout = std::chrono::minutes(1);
  // Longest wait of one call: as long as one rank may be busy with work that the others wait for. A process that ends
  // is noticed at once; only one that hangs, or whose machine vanishes, is waited for so long.
  std::chrono::milliseconds timeout = std::chrono::minutes(30);
  // Told once whom this process waits for, if they are not there after a while; may be empty.
  std::function<void(const std::string& sentence)> waiting;
  std::chrono::milliseconds waiting_after = std::chrono::seconds(10);
};

// Processes that train one model together, over TCP (c10d with Gloo). Calls are collective: all ranks make the same
// calls in the same order, on one thread. RankLost from any of them when another process is gone; this rank then has
// left as well, so that the others notice, and every later call throws the same.
class Ranks {
 public:
  // From MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, as torchrun, Slurm and Kubernetes have them; null when
  // WORLD_SIZE is absent or 1. GLOO_SOCKET_IFNAME names the network interface when the one that reaches MASTER_ADDR is
  // not right. UsageError when they are not complete, contradict those of another rank, or the others do not come.
  static std::unique_ptr<Ranks> from_environment(const RanksOptions& options = {});

  // The last one alive waits for the other ranks to get there too, unless one of them is lost or an exception is on its
  // way: rank 0 serves the addresses of all.
  ~Ranks();

  int rank() const { return rank_; }
  int size() const { return size_; }

  // In place; float32, float64 or int64, contiguous, of one shape on all ranks. The sum has the same bits everywhere.
  void sum(const at::Tensor& values);
  void broadcast(const at::Tensor& values, int from);
  void barrier();

  // Some of these ranks as a group of their own, numbered in the order given. All ranks of this group make the call,
  // with a name that is new; null for those who are not in it.
  std::unique_ptr<Ranks> part(const std::vector<int>& ranks, const std::string& name);

 private:
  class World;

  Ranks(std::shared_ptr<World> world, std::size_t group, int rank, int size);

  std::shared_ptr<World> world_;
  std::size_t group_;  // which of the world's groups
  int rank_, size_;
};

}  // namespace ick
