#include "trees/grown.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace ick {

std::vector<double> GrownTrees::predict(const Table& table, EncodingNotes* notes) const {
  const at::NoGradGuard no_grad;
  const Dataset rows = encode(table, encoder, false, notes);
  const auto [mean, sd] = encoder.target_scaling;
  at::Tensor f = sums.at(rows)[0];
  if (rows.offset.defined()) f = f + rows.offset;
  f = (f * sd + mean).contiguous();
  return {f.data_ptr<double>(), f.data_ptr<double>() + f.numel()};
}

Table GrownTrees::added_to(const Table& table, std::vector<double> values) const {
  Table with = table;
  std::erase_if(with.columns, [&](const Column& each) { return each.info.name == column; });
  Column& added = with.columns.emplace_back();
  added.info.name = column;
  added.values = std::move(values);
  return with;
}

}  // namespace ick
