#include "kernel/fused.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <type_traits>
#include <utility>

#include "kernel/fused_view.h"
#include "kernel/list.h"

namespace ick {

namespace {

// One factor's share of the job.
struct Work {
  const Structure& structure;
  const double* theta;  // of this factor
  const FusedPoints& points;
  int first_input;
  const double* x;  // (inputs of this factor, width)
  int width;
  int follows;  // parameter of this factor that the points move with, or below 0

  double z(int i, int d) const { return points.z[i * points.inputs + first_input + d]; }
};

// A formula's view of one point against four rows.
//   Input: Lanes, or Dual when the point varies
template <class K, class Input, class Parameter>
class View : public ParameterView<K, Parameter> {
 public:
  View(const Work& work, const std::vector<Known<Parameter>>& parameters)
      : ParameterView<K, Parameter>(work.structure, parameters), work_(work) {
    if constexpr (requires { K::waves; }) start_waves();
  }

  void move_to_point(const Input* point) {
    point_ = point;
    if constexpr (requires { K::waves; }) {
      for (int d = 0; d < work_.structure.inputs; ++d) point_waves_[d] = wave(d, value_of(point[d]));
    }
  }
  void move_to_rows(int j) { j_ = j; }

  const Input& x(int d) const { return point_[d]; }
  Lanes y(int d) const { return Lanes::load(work_.x + d * work_.width + j_); }
  auto sin_between(int d) const {
    return ick::sin_between(point_waves_[d], row_waves_[(d * work_.width + j_) / kLaneWidth],
                            frequency_[d] * (x(d) - y(d)));
  }

 private:
  // Phases count from the first point: what is taken off is exact and the numbers stay small.
  Wave wave(int d, Lanes input) const { return wave_of(value_of(frequency_[d]) * (input - Lanes(work_.z(0, d)))); }
  void start_waves() {
    const int inputs = work_.structure.inputs, width = work_.width;
    point_waves_.resize(inputs);
    row_waves_.reserve(inputs * width / kLaneWidth);
    for (int d = 0; d < inputs; ++d) frequency_.push_back(K::frequency(*this, d));
    for (int d = 0; d < inputs; ++d) {
      for (int j = 0; j < width; j += kLaneWidth) row_waves_.push_back(wave(d, Lanes::load(work_.x + d * width + j)));
    }
  }

  const Work& work_;
  const Input* point_ = nullptr;
  int j_ = 0;
  std::vector<Parameter> frequency_;           // (inputs)
  std::vector<Wave> point_waves_, row_waves_;  // (inputs), (inputs, width / 4)
};

// Calls visit(i, j, k(z_i, x_j .. x_j+3)) for all points i and rows j; vary(i, point) may give the point derivatives.
template <class K, class Input, class Parameter, class Vary, class Visit>
[[gnu::flatten]] void for_all_pairs(const Work& work, const std::vector<Known<Parameter>>& parameters, Vary vary,
                                    Visit visit) {
  View<K, Input, Parameter> view(work, parameters);
  std::vector<Input> point(work.structure.inputs);
  for (int i = 0; i < work.points.points; ++i) {
    for (int d = 0; d < work.structure.inputs; ++d) point[d] = Lanes(work.z(i, d));
    vary(i, point);
    view.move_to_point(point.data());
    for (int j = 0; j < work.width; j += kLaneWidth) {
      view.move_to_rows(j);
      visit(i, j, K::value(view));
    }
  }
}

constexpr auto kNothing = [](int, const auto&) {};

template <class K>
void values_of(const Work& work, double* k) {
  const std::vector<Known<Lanes>> parameters(work.theta, work.theta + parameter_count<K>(work.structure));
  for_all_pairs<K, Lanes>(work, parameters, kNothing,
                          [&](int i, int j, const Lanes& value) { value.store(k + i * work.width + j); });
}

// d_theta[first + i] += sum_ij g dk/dtheta for n parameters from `first` on.
// Input: Lanes, or Dual when the points follow one of these parameters.
template <class K, int n, class Input>
void parameter_gradient(const Work& work, int first, const double* g, double* d_theta) {
  const auto parameters = varied_parameters<n>(work.theta, parameter_count<K>(work.structure), first);
  std::array<Lanes, n> total;
  total.fill(0.0);
  const auto follow = [&](int i, std::vector<Input>& point) {
    if constexpr (!std::is_same_v<Input, Lanes>) point[0].d[work.follows - first] = work.points.velocity[i];
  };
  for_all_pairs<K, Input>(work, parameters, follow, [&](int i, int j, const auto& value) {
    const Lanes weight = Lanes::load(g + i * work.width + j);
    for (int q = 0; q < n; ++q) total[q] = total[q] + weight * derivative(value, q);
  });
  for (int q = 0; q < n; ++q) d_theta[first + q] += total[q].total();
}

template <class K, int n>
void parameter_gradient(const Work& work, int first, const double* g, double* d_theta) {
  if constexpr (K::spectrum == Spectrum::series || K::spectrum == Spectrum::line) {
    if (work.follows >= first && work.follows < first + n) {
      return parameter_gradient<K, n, Dual<n>>(work, first, g, d_theta);
    }
  }
  parameter_gradient<K, n, Lanes>(work, first, g, d_theta);
}

// d_z[i, d] += sum_j g_ij dk(z_i, x_j)/dz_id, one input at a time
template <class K>
void point_gradient(const Work& work, const double* g, double* d_z) {
  const std::vector<Known<Lanes>> parameters(work.theta, work.theta + parameter_count<K>(work.structure));
  std::vector<Lanes> total(work.points.points);
  for (int varied = 0; varied < work.structure.inputs; ++varied) {
    std::fill(total.begin(), total.end(), 0.0);
    const auto vary = [&](int, std::vector<Dual<1>>& point) { point[varied].d[0] = 1.0; };
    for_all_pairs<K, Dual<1>>(work, parameters, vary, [&](int i, int j, const auto& value) {
      total[i] = total[i] + Lanes::load(g + i * work.width + j) * derivative(value, 0);
    });
    for (int i = 0; i < work.points.points; ++i) {
      d_z[i * work.points.inputs + work.first_input + varied] += total[i].total();
    }
  }
}

// One point against four rows for a kernel of a distance, s = sum_d ((x_d - y_d) / l_d)^2: s is a variable, in the place
// of the lengthscales among n parameters, the others of which are one number each.
template <class K, int n>
class DistanceView : public ParameterView<K, Dual<n>> {
 public:
  DistanceView(const Work& work, const std::vector<Known<Dual<n>>>& parameters)
      : ParameterView<K, Dual<n>>(work.structure, parameters), apart_(work.structure.inputs) {}

  void move_to(const Work& work, int i, int j) {
    Lanes total = 0.0;
    for (int d = 0; d < work.structure.inputs; ++d) {
      const Lanes y = Lanes::load(work.x + d * work.width + j);
      apart_[d] = (Lanes(work.z(i, d)) - y) * this->p(K::distance, d).reciprocal.v;
      total = total + square(apart_[d]);
    }
    distance_ = total;
    distance_.d[K::distance] = 1.0;
  }
  Lanes apart(int d) const { return apart_[d]; }  // (x_d - y_d) / l_d
  const Dual<n>& squared_distance(int) const { return distance_; }

 private:
  std::vector<Lanes> apart_;
  Dual<n> distance_;
};

// In one pass, however many lengthscales there are:
//   ds/dl_d = -2 / l_d ((x_d - y_d) / l_d)^2,   ds/dx_d = 2 / l_d (x_d - y_d) / l_d
template <class K>
[[gnu::flatten]] void distance_gradient(const Work& work, const double* g, double* d_theta, double* d_z) {
  constexpr int n = std::size(K::parameters), s = K::distance;
  const int inputs = work.structure.inputs;
  const std::array<int, kMostParameters> places = first_places<K>(work.structure);
  const std::vector<Known<Dual<n>>> parameters = parameters_beside_distance<K>(work.structure, work.theta);
  DistanceView<K, n> view(work, parameters);
  std::array<Lanes, n> total;
  total.fill(0.0);
  std::vector<Lanes> squares(inputs, Lanes(0.0)), sums(inputs);
  for (int i = 0; i < work.points.points; ++i) {
    std::fill(sums.begin(), sums.end(), Lanes(0.0));
    for (int j = 0; j < work.width; j += kLaneWidth) {
      view.move_to(work, i, j);
      const Dual<n> value = K::value(view);
      const Lanes weight = Lanes::load(g + i * work.width + j), of_distance = weight * value.d[s];
      for (int q = 0; q < n; ++q) {
        if (q != s) total[q] = total[q] + weight * value.d[q];
      }
      for (int d = 0; d < inputs; ++d) {
        const Lanes along = of_distance * view.apart(d);
        squares[d] = squares[d] + along * view.apart(d), sums[d] = sums[d] + along;
      }
    }
    if (d_z == nullptr) continue;
    for (int d = 0; d < inputs; ++d) {
      const double lengthscale = work.theta[view.place(s, d)];
      d_z[i * work.points.inputs + work.first_input + d] += 2.0 / lengthscale * sums[d].total();
    }
  }
  for (int q = 0; q < n; ++q) {
    if (q != s) d_theta[places[q]] += total[q].total();
  }
  for (int d = 0; d < inputs; ++d)
    d_theta[view.place(s, d)] += -2.0 / work.theta[view.place(s, d)] * squares[d].total();
}

template <class K>
void gradient_of(const Work& work, const double* g, double* d_theta, double* d_z) {
  if constexpr (requires { K::distance; }) {
    if (parameter_count<K>(work.structure) > kMostDerivatives) return distance_gradient<K>(work, g, d_theta, d_z);
  }
  for_varied_parameters(parameter_count<K>(work.structure),
                        [&]<int n>(int first) { parameter_gradient<K, n>(work, first, g, d_theta); });
  if constexpr (K::inputs != Inputs::level) {
    if (d_z != nullptr) point_gradient<K>(work, g, d_z);
  }
}

struct Functions {
  void (*values)(const Work&, double*);
  void (*gradient)(const Work&, const double*, double*, double*);
};

template <std::size_t... i>
constexpr std::array<Functions, sizeof...(i)> functions_of(std::index_sequence<i...>) {
  return {
      Functions{values_of<std::tuple_element_t<i, KernelList>>, gradient_of<std::tuple_element_t<i, KernelList>>}...};
}

constexpr auto kFunctions = functions_of(std::make_index_sequence<kKernelCount>());

}  // namespace

FusedProduct::FusedProduct(std::vector<FusedFactor> factors) : factors_(std::move(factors)) {}

namespace {

Work work_of(const FusedFactor& factor, const double* theta, const FusedPoints& points, const FusedRows& rows) {
  return {factor.structure,
          theta + factor.first_parameter,
          points,
          factor.first_input,
          rows.x + factor.first_input * rows.width,
          rows.width,
          points.follows - factor.first_parameter};
}

}  // namespace

void FusedProduct::values(const double* theta, const FusedPoints& points, const FusedRows& rows, double* k) const {
  product_of_factors(factors_.size(), static_cast<std::size_t>(points.points) * rows.width, k,
                     [&](std::size_t f, double* to) {
                       kFunctions[factors_[f].kernel].values(work_of(factors_[f], theta, points, rows), to);
                     });
}

void FusedProduct::gradient(const double* theta, const FusedPoints& points, const FusedRows& rows, const double* g,
                            double* d_theta, double* d_z) const {
  const auto values = [&](std::size_t f, double* to) {
    kFunctions[factors_[f].kernel].values(work_of(factors_[f], theta, points, rows), to);
  };
  const auto gradient = [&](std::size_t f, const double* weight) {
    kFunctions[factors_[f].kernel].gradient(work_of(factors_[f], theta, points, rows), weight,
                                            d_theta + factors_[f].first_parameter, d_z);
  };
  gradients_of_factors(factors_.size(), static_cast<std::size_t>(points.points) * rows.width, g, values, gradient);
}

}  // namespace ick
