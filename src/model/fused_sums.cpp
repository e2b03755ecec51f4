#include "model/fused_sums.h"

#include "net/float_rows.h"

namespace ick {

namespace {

// Rows computed together: as many as a register has doubles.
constexpr int kTogether = 4;
typedef float FourFloats __attribute__((vector_size(4 * kTogether)));
typedef double FourDoubles __attribute__((vector_size(8 * kTogether)));

FourFloats narrow(FourDoubles a) { return __builtin_convertvector(a, FourFloats); }
FourDoubles widen(FourFloats a) { return __builtin_convertvector(a, FourDoubles); }
float narrow(double a) { return static_cast<float>(a); }
double widen(float a) { return static_cast<double>(a); }

template <class Lanes, class Number>
Lanes load(const Number* from) {
  Lanes lanes;
  __builtin_memcpy(&lanes, from, sizeof lanes);
  return lanes;
}

template <class Lanes, class Number>
void store(Lanes lanes, Number* to) {
  __builtin_memcpy(to, &lanes, sizeof lanes);
}

// Adds row r, or rows from r on.
template <class F, class D>
[[gnu::always_inline]] inline void add_rows(const FusedSums& of, int r, float* sum, double* missed) {
  F product{}, square{};
  D explained{};
  for (int k = 0; k < of.features; ++k) {
    const F latent = load<F>(of.f + k * kRowsApart + r);
    const D feature = load<D>(of.z + k * of.z_column + r);
    product += latent * narrow(feature);
    square += latent * latent;
    explained += feature * feature;
  }
  double variance[kTogether];
  for (int i = 0; i < static_cast<int>(sizeof(D) / sizeof(double)); ++i) {
    variance[i] = of.variance[(r + i) * of.variance_step];
  }
  const D rest = load<D>(variance) - explained, left = rest > 0.0 ? rest : D{};
  const double share = of.share * of.share / of.features;
  store(load<F>(sum + r) + static_cast<float>(of.share) * product, sum + r);
  store(load<D>(missed + r) + share * left * widen(square), missed + r);
}

}  // namespace

void FusedSums::add(int rows, float* sum, double* missed) const {
  int r = 0;
  for (; r + kTogether <= rows; r += kTogether) add_rows<FourFloats, FourDoubles>(*this, r, sum, missed);
  for (; r < rows; ++r) add_rows<float, double>(*this, r, sum, missed);
}

}  // namespace ick
