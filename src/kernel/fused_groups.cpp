#include "kernel/fused_groups.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "kernel/fused_view.h"
#include "kernel/list.h"

namespace ick {

namespace {

static_assert(kLaneWidth == Lanes::kWidth);

// One factor's share of the job.
struct Work {
  const Structure& structure;
  const double* theta;  // of this factor
  const double* x;      // (inputs of this factor, rows, kLaneWidth)
  int rows;

  Lanes at(int d, int i) const { return Lanes::load(x + (d * rows + i) * kLaneWidth); }
};

// A formula's view of row i against row j in each of the groups.
template <class K, class Parameter>
class GroupView : public ParameterView<K, Parameter> {
 public:
  GroupView(const Work& work, const std::vector<Known<Parameter>>& parameters)
      : ParameterView<K, Parameter>(work.structure, parameters), work_(work) {
    if constexpr (requires { K::waves; }) start_waves();
    if constexpr (requires { K::distance; }) start_distances();
  }

  void move_to(int i, int j) { i_ = i, j_ = j; }

  Lanes x(int d) const { return work_.at(d, i_); }
  Lanes y(int d) const { return work_.at(d, j_); }
  // (x_d - y_d) / l_d
  Lanes apart(int d) const {
    return scaled_[i_ * work_.structure.inputs + d] - scaled_[j_ * work_.structure.inputs + d];
  }
  // The sum of their squares, a variable of its own where parameters vary: in the place of the k-th of them.
  Parameter squared_distance(int k) const {
    Lanes total = square(apart(0));
    for (int d = 1; d < work_.structure.inputs; ++d) total = total + square(apart(d));
    return variable(total, k, Parameter());
  }
  auto sin_between(int d) const {
    return ick::sin_between(waves_[d * work_.rows + i_], waves_[d * work_.rows + j_], frequency_[d] * (x(d) - y(d)));
  }

 private:
  // Phases count from the first row: what is taken off is exact and the numbers stay small.
  void start_waves() {
    for (int d = 0; d < work_.structure.inputs; ++d) frequency_.push_back(K::frequency(*this, d));
    waves_.reserve(static_cast<std::size_t>(work_.structure.inputs) * work_.rows);
    for (int d = 0; d < work_.structure.inputs; ++d) {
      for (int i = 0; i < work_.rows; ++i) {
        waves_.push_back(wave_of(value_of(frequency_[d]) * (work_.at(d, i) - work_.at(d, 0))));
      }
    }
  }

  // Inputs count from the first row, too: rows of a group are near each other, and far from zero.
  void start_distances() {
    const int inputs = work_.structure.inputs;
    scaled_.reserve(static_cast<std::size_t>(inputs) * work_.rows);
    for (int i = 0; i < work_.rows; ++i) {
      for (int d = 0; d < inputs; ++d) {
        scaled_.push_back((work_.at(d, i) - work_.at(d, 0)) * value_of(this->p(K::distance, d).reciprocal));
      }
    }
  }
  static Lanes variable(Lanes value, int, const Lanes&) { return value; }
  template <int n>
  static Dual<n> variable(Lanes value, int k, const Dual<n>&) {
    Dual<n> result = value;
    result.d[k] = 1.0;
    return result;
  }

  const Work& work_;
  int i_ = 0, j_ = 0;
  std::vector<Parameter> frequency_;  // (inputs)
  std::vector<Wave> waves_;           // (inputs, rows)
  std::vector<Lanes> scaled_;         // (rows, inputs), over lengthscales
};

template <class K, class Parameter, class Visit>
[[gnu::flatten]] void for_all_pairs(const Work& work, const std::vector<Known<Parameter>>& parameters, Visit visit) {
  GroupView<K, Parameter> view(work, parameters);
  int pair = 0;
  for (int i = 0; i < work.rows; ++i) {
    for (int j = 0; j <= i; ++j, ++pair) {
      view.move_to(i, j);
      visit(view, pair, K::value(view));
    }
  }
}

template <class K>
void values_of(const Work& work, double* k) {
  const std::vector<Known<Lanes>> parameters(work.theta, work.theta + parameter_count<K>(work.structure));
  for_all_pairs<K>(work, parameters,
                   [&](const auto&, int pair, const Lanes& value) { value.store(k + pair * kLaneWidth); });
}

// Derivatives in the parameters first .. first + n - 1, as many of them as there are.
template <class K, int n>
void parameter_gradient(const Work& work, int first, const double* g, double* d_theta) {
  const int count = parameter_count<K>(work.structure);
  const auto parameters = varied_parameters<n>(work.theta, count, first);
  std::array<Lanes, n> total;
  total.fill(0.0);
  for_all_pairs<K>(work, parameters, [&](const auto&, int pair, const auto& value) {
    const Lanes weight = Lanes::load(g + pair * kLaneWidth);
    for (int q = 0; q < n; ++q) total[q] = total[q] + weight * derivative(value, q);
  });
  for (int q = 0; q < std::min(n, count - first); ++q) d_theta[first + q] += total[q].total();
}

// Of kernels of a distance, s = sum_d ((x_d - y_d) / l_d)^2, in one pass, however many lengthscales there are:
//   dk/dl_d = dk/ds ds/dl_d,   ds/dl_d = -2 / l_d ((x_d - y_d) / l_d)^2
// s is a variable, in the place of the lengthscales among the parameters, the others of which are one number each.
template <class K>
void distance_gradient(const Work& work, const double* g, double* d_theta) {
  constexpr int n = std::size(K::parameters), s = K::distance;
  const int inputs = work.structure.inputs;
  const std::array<int, kMostParameters> places = first_places<K>(work.structure);
  const std::vector<Known<Dual<n>>> parameters = parameters_beside_distance<K>(work.structure, work.theta);
  std::array<Lanes, n> total;
  total.fill(0.0);
  std::vector<Lanes> along(static_cast<std::size_t>(inputs), Lanes(0.0));
  for_all_pairs<K>(work, parameters, [&](const auto& view, int pair, const auto& value) {
    const Lanes weight = Lanes::load(g + pair * kLaneWidth), of_distance = weight * derivative(value, s);
    for (int q = 0; q < n; ++q) {
      if (q != s) total[q] = total[q] + weight * derivative(value, q);
    }
    for (int d = 0; d < inputs; ++d) along[d] = along[d] + of_distance * square(view.apart(d));
  });
  for (int q = 0; q < n; ++q) {
    if (q != s) d_theta[places[q]] += total[q].total();
  }
  for (int d = 0; d < inputs; ++d) {
    const int place = places[s] + place_of(K::parameters[s].shape, work.structure, d, 0);
    d_theta[place] += -2.0 / work.theta[place] * along[d].total();
  }
}

// A pass computes the kernel again: as many parameters as can be go into one.
template <class K>
void gradient_of(const Work& work, const double* g, double* d_theta) {
  if constexpr (requires { K::distance; }) {
    distance_gradient<K>(work, g, d_theta);
  } else {
    constexpr int kFew = 3, kSome = 5, kMany = 9;  // derivatives carried at once
    const int count = parameter_count<K>(work.structure);
    for (int first = 0; first < count;) {
      const int left = count - first;
      if (left <= kFew) {
        parameter_gradient<K, kFew>(work, first, g, d_theta), first += kFew;
      } else if (left <= kSome) {
        parameter_gradient<K, kSome>(work, first, g, d_theta), first += kSome;
      } else {
        parameter_gradient<K, kMany>(work, first, g, d_theta), first += kMany;
      }
    }
  }
}

struct Functions {
  void (*values)(const Work&, double*);
  void (*gradient)(const Work&, const double*, double*);
};

template <std::size_t... i>
constexpr std::array<Functions, sizeof...(i)> functions_of(std::index_sequence<i...>) {
  return {
      Functions{values_of<std::tuple_element_t<i, KernelList>>, gradient_of<std::tuple_element_t<i, KernelList>>}...};
}

constexpr auto kFunctions = functions_of(std::make_index_sequence<kKernelCount>());

Work work_of(const FusedFactor& factor, const double* theta, const FusedGroups& groups) {
  return {factor.structure, theta + factor.first_parameter,
          groups.x + static_cast<std::size_t>(factor.first_input) * groups.rows * kLaneWidth, groups.rows};
}

}  // namespace

void group_values(const FusedProduct& product, const double* theta, const FusedGroups& groups, double* k) {
  const std::vector<FusedFactor>& factors = product.factors();
  product_of_factors(
      factors.size(), static_cast<std::size_t>(groups.pairs()) * kLaneWidth, k,
      [&](std::size_t f, double* to) { kFunctions[factors[f].kernel].values(work_of(factors[f], theta, groups), to); });
}

void group_gradient(const FusedProduct& product, const double* theta, const FusedGroups& groups, const double* g,
                    double* d_theta) {
  const std::vector<FusedFactor>& factors = product.factors();
  const auto values = [&](std::size_t f, double* to) {
    kFunctions[factors[f].kernel].values(work_of(factors[f], theta, groups), to);
  };
  const auto gradient = [&](std::size_t f, const double* weight) {
    kFunctions[factors[f].kernel].gradient(work_of(factors[f], theta, groups), weight,
                                           d_theta + factors[f].first_parameter);
  };
  gradients_of_factors(factors.size(), static_cast<std::size_t>(groups.pairs()) * kLaneWidth, g, values, gradient);
}

}  // namespace ick
