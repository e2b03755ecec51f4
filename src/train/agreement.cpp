#include "ick/train/agreement.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "ick/base/error.h"
#include "ick/base/seed.h"

namespace ick {

namespace {

// How many processes with a lower rank are on this machine.
int place_on_machine(Ranks& ranks) {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  const at::Tensor machines = at::zeros({ranks.size()}, at::kLong);
  auto* const machine = machines.data_ptr<std::int64_t>();
  const int own = ranks.rank();
  machine[own] = static_cast<std::int64_t>(seed_for(0, name) >> 1);
  ranks.sum(machines);
  return static_cast<int>(std::count(machine, machine + own, machine[own]));
}

}  // namespace

Table read_in_turn(const std::string& path, const ReadOptions& options, Ranks* ranks) {
  if (ranks == nullptr) return read_table(path, options);
  if (path == "-") throw UsageError("several processes cannot share stdin; give the table as a file that all can read");
  const int place = place_on_machine(*ranks);
  const int turn = !options.cache || ranks->rank() == 0 ? 0 : place == 0 ? 1 : 2;
  std::optional<Table> table;
  for (int now = 0; now < 3; ++now) {
    if (now == turn) table = read_table(path, options);
    ranks->barrier();
  }
  return std::move(*table);
}

void check_alike(const std::string& path, std::uint32_t table, const std::string& settings, Ranks& ranks) {
  const auto own =
      at::tensor({static_cast<std::int64_t>(table), static_cast<std::int64_t>(seed_for(0, settings) >> 1)});
  const at::Tensor first = own.clone();
  ranks.broadcast(first, 0);
  const at::Tensor others = (own != first).to(at::kLong);
  ranks.sum(others);
  const std::string rank = "rank " + std::to_string(ranks.rank()) + " of " + std::to_string(ranks.size()) + ": ";
  if (others[0].item<std::int64_t>() > 0) {
    throw DataError(rank + "not all processes read the same " + path + "; give them the same table");
  }
  if (others[1].item<std::int64_t>() > 0) {
    throw UsageError(rank + "not all processes got the same formula and options; give them the same command");
  }
}

}  // namespace ick
