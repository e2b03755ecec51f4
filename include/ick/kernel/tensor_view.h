#pragma once

#include "ick/kernel/table.h"
#include "ick/kernel/tensor_number.h"

// The reference path of a kernel's formula.
namespace ick::detail {

// A formula's view of all pairs at once: numbers broadcast over (E, n, m).
template <class K>
struct TensorView {
  const Structure& s;
  const at::Tensor& parameters;  // (E, P)
  const at::Tensor& first;       // (E, n, D)
  const at::Tensor& second;      // (E, m, D)
  bool paired;

  const Structure& structure() const { return s; }
  TensorNumber x(int d) const { return {first.select(-1, d).unsqueeze(-1)}; }
  TensorNumber y(int d) const { return {second.select(-1, d).unsqueeze(paired ? -1 : -2)}; }
  TensorNumber p(int k, int i = 0, int j = 0) const {
    return {parameters.select(1, first_of(k) + place_of(K::parameters[k].shape, s, i, j)).view({-1, 1, 1})};
  }
  TensorNumber sin_between(int d) const { return sin_turns(K::frequency(*this, d) * (x(d) - y(d))); }
  // (E, P) at the places of the levels: the same rows for all members, or one set of rows for each
  TensorNumber lookup(int k, const TensorNumber& level, int j) const {
    const at::Tensor place = level.t.to(at::kLong) * (place_of(K::parameters[k].shape, s, 1, 0)) + (first_of(k) + j);
    const std::int64_t members = parameters.size(0);
    const at::Tensor flat = place.expand({members, place.size(1), place.size(2)}).reshape({members, -1});
    return {parameters.gather(1, flat).view({members, place.size(1), place.size(2)})};
  }

 private:
  int first_of(int k) const {
    int offset = 0;
    for (int before = 0; before < k; ++before) offset += size_of(K::parameters[before].shape, s);
    return offset;
  }
};

template <class K>
at::Tensor values_of(const Structure& s, const at::Tensor& parameters, const at::Tensor& x, const at::Tensor& y,
                     bool paired) {
  return K::value(TensorView<K>{s, parameters, x, y, paired}).t;
}

}  // namespace ick::detail
