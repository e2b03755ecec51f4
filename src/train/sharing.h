#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "train/optimiser.h"

namespace ick {

class Ranks;

// How the processes of a training share its work: members as far as their number allows, and the rows of each step for
// the rest. Every process has the whole model; what belongs to another's members is out of date until it is collected.
class Sharing {
 public:
  // `ranks` null: alone. `apart`: members can be trained one without the other.
  Sharing(Ranks* ranks, std::int64_t members, bool apart);
  ~Sharing();

  bool alone() const { return ranks_ == nullptr; }
  bool first() const;  // the one that speaks and writes
  // Own members.
  std::int64_t first_member() const { return first_member_; }
  std::int64_t end_member() const { return end_member_; }
  bool all_members() const { return end_member_ - first_member_ == members_; }
  // Own share of the rows of a step.
  int part() const { return part_; }
  int parts() const { return parts_; }
  bool takes(std::int64_t block, std::int64_t blocks) const;  // of rows that are not trained on

  void start_alike(const std::vector<ParameterGroup>& groups, const std::vector<at::Tensor>& buffers) const;
  void add_up(const std::vector<ParameterGroup>& groups);         // gradients, over all shares of the rows
  void collect(const std::vector<ParameterGroup>& groups) const;  // values and what the optimiser keeps, of all members
  double total(double value) const;                               // over processes
  std::vector<bool> any(const std::vector<bool>& said) const;     // what any process says

 private:
  void collect(const ParameterGroup& group, const at::Tensor& flat) const;

  Ranks* ranks_;
  std::unique_ptr<Ranks> same_members_;  // null when no other process has them
  std::int64_t members_, first_member_ = 0, end_member_;
  int part_ = 0, parts_ = 1;
  at::Tensor numbers_;  // float32 gradients of a step, end to end
};

}  // namespace ick
