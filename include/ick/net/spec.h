#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ick/formula/expression.h"
#include "ick/table/image.h"

namespace ick {

// cycle(t, period=[1d, 1w]) among the columns of a network, or of its trees: sine and cosine of each period.
struct CyclePlan {
  std::string column;
  std::vector<Quantity> periods;
  std::size_t position = 0;  // column of the formula, for messages
};

// trees(x, n=10, depth=2) among the columns of a network.
struct TreesPlan {
  std::vector<std::string> columns;
  std::vector<CyclePlan> cycles = {};
  std::int64_t count = 10;
  int depth = 2;
};

// What a network reads of a row.
struct NetworkPlan {
  std::vector<std::string> columns;  // without those that say which image a row shows
  std::vector<TreesPlan> trees = {};
  std::optional<ImageSettings> image = {};
  std::vector<std::string> ranked = {};  // columns of rank(x): read by their ranks, beside `columns`
  std::vector<CyclePlan> cycles = {};    // beside both
};

// One network of a model, as plain data: what a formula says of it.
struct NetworkSpec {
  std::string name;
  NetworkPlan inputs;
  Augmentation augmentation;              // random changes of its images in training
  std::vector<Argument> arguments;        // the network's own; those about images are above
  std::size_t id = 0;                     // those of one id were written once: mlp(a) * (rbf(t) + linear(t))
  std::size_t position = 0;               // column of the formula, for messages
  std::vector<std::string> sources = {};  // what it reads, as the formula writes it: a, trees(b, n=4)
  std::string text = {};                  // all of it, as a formula writes it

  const Argument* find(std::string_view argument) const { return find_argument(arguments, argument); }
};

// `others` are the columns that "." stands for. UsageError that names the column of the formula when there is no
// network of that name, or what it is to read is not said well. Whether its own arguments are good is seen when it is
// made.
NetworkSpec make_network_spec(const Call& call, const std::vector<std::string>& others = {});

}  // namespace ick
