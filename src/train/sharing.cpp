#include "train/sharing.h"

#include <ATen/ATen.h>

#include <numeric>
#include <string>

#include "ick/train/ranks.h"

namespace ick {

Sharing::Sharing(Ranks* ranks, std::int64_t members, bool apart)
    : ranks_(ranks), members_(members), end_member_(members) {
  if (alone()) return;
  const int groups = apart ? static_cast<int>(std::gcd(members, static_cast<std::int64_t>(ranks->size()))) : 1;
  const int group = ranks->rank() % groups;
  first_member_ = members * group / groups;
  end_member_ = members * (group + 1) / groups;
  part_ = ranks->rank() / groups;
  parts_ = ranks->size() / groups;
  static int made = 0;  // processes make theirs in the same order
  const std::string name = "sharing " + std::to_string(++made) + " members ";
  for (int g = 0; g < groups && parts_ > 1; ++g) {
    std::vector<int> with;
    for (int rank = g; rank < ranks->size(); rank += groups) with.push_back(rank);
    std::unique_ptr<Ranks> those = ranks->part(with, name + std::to_string(g));
    if (those != nullptr) same_members_ = std::move(those);
  }
}

Sharing::~Sharing() = default;

bool Sharing::first() const { return alone() || ranks_->rank() == 0; }

bool Sharing::takes(std::int64_t block, std::int64_t blocks) const {
  return alone() || block * ranks_->size() / blocks == ranks_->rank();
}

// Warm starts of different machines may differ by rounding.
void Sharing::start_alike(const std::vector<ParameterGroup>& groups, const std::vector<at::Tensor>& buffers) const {
  if (alone()) return;
  for (const ParameterGroup& group : groups) ranks_->broadcast(group.value.detach(), 0);
  for (const at::Tensor& each : buffers) ranks_->broadcast(each, 0);
}

void Sharing::add_up(const std::vector<ParameterGroup>& groups) {
  if (same_members_ == nullptr) return;
  std::int64_t count = 0;
  for (const ParameterGroup& group : groups) {
    if (group.value.scalar_type() == at::kFloat) count += group.value.numel();
  }
  if (!numbers_.defined()) numbers_ = at::empty({count}, at::kFloat);
  const auto each_part = [&](auto visit) {
    std::int64_t place = 0;
    for (const ParameterGroup& group : groups) {
      if (group.value.scalar_type() != at::kFloat) continue;
      visit(numbers_.narrow(0, place, group.value.numel()), group.value.grad());
      place += group.value.numel();
    }
  };
  each_part([](const at::Tensor& to, const at::Tensor& gradient) { to.copy_(gradient); });
  same_members_->sum(numbers_);
  each_part([](const at::Tensor& from, const at::Tensor& gradient) { gradient.copy_(from); });
  for (const ParameterGroup& group : groups) {
    if (group.value.scalar_type() != at::kFloat) same_members_->sum(group.value.grad());
  }
}

// Each number comes from the first process that has its member; the others add zero.
void Sharing::collect(const ParameterGroup& group, const at::Tensor& flat) const {
  std::int64_t place = 0;
  for (const at::Tensor& each : group.members) {
    const at::Tensor of_members = flat.narrow(0, place, each.numel()).view({members_, -1});
    for (std::int64_t e = 0; e < members_; ++e) {
      if (part_ > 0 || e < first_member_ || e >= end_member_) of_members[e].zero_();
    }
    place += each.numel();
  }
  ranks_->sum(flat);
}

void Sharing::collect(const std::vector<ParameterGroup>& groups) const {
  if (alone() || all_members()) return;
  for (const ParameterGroup& group : groups) {
    for (const at::Tensor& flat : {group.value.detach(), group.first, group.second}) collect(group, flat);
  }
}

double Sharing::total(double value) const {
  if (alone()) return value;
  const at::Tensor sum = at::full({1}, value, at::kDouble);
  ranks_->sum(sum);
  return sum.item<double>();
}

std::vector<bool> Sharing::any(const std::vector<bool>& said) const {
  if (alone()) return said;
  const at::Tensor count = at::empty({static_cast<std::int64_t>(said.size())}, at::kLong);
  for (std::size_t i = 0; i < said.size(); ++i) count.data_ptr<std::int64_t>()[i] = said[i] ? 1 : 0;
  ranks_->sum(count);
  std::vector<bool> result;
  for (std::size_t i = 0; i < said.size(); ++i) result.push_back(count.data_ptr<std::int64_t>()[i] > 0);
  return result;
}

}  // namespace ick
