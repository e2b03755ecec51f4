#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "ick/trees/term.h"

// Trees that XGBoost grows and adds up.
namespace ick {

// Rows as XGBoost holds them.
class TreeRows {
 public:
  explicit TreeRows(const at::Tensor& values);                                               // (n, F), to predict
  TreeRows(const at::Tensor& values, const at::Tensor& targets, const at::Tensor& weights);  // (n) each, to learn
  void* handle() const { return handle_.get(); }
  std::int64_t size() const { return rows_; }

 private:
  std::shared_ptr<void> handle_;
  std::int64_t rows_ = 0;
};

// One thread grows them: sums of several would be added up in another order, to other bits.
class Trees {
 public:
  Trees(const TreeSettings& settings, const TreeRows& rows);

  void add_round(const TreeRows& rows);
  Trees first(int rounds) const;  // without the later ones
  int rounds() const;
  at::Tensor predict(const TreeRows& rows) const;  // (n), or of several classes (n, C), in float64

  at::Tensor bytes() const;                          // as uint8, which from_bytes() takes
  static Trees from_bytes(const at::Tensor& bytes);  // DataError when they are damaged

 private:
  explicit Trees(void* handle);
  std::shared_ptr<void> handle_;
};

}  // namespace ick
