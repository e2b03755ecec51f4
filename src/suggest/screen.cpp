#include "screen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "ick/base/seed.h"

namespace ick::detail {
namespace {

constexpr double kPenalties[] = {0.1, 1.0, 10.0};  // variance of the noise to that of a term
constexpr double kIntercept = 10.0;                // a column of these: its penalty is a hundredth

// A symmetric positive definite matrix, (p, p), row by row; L with A = L L' in its lower half.
bool factorise(std::vector<double>& a, std::size_t p) {
  for (std::size_t j = 0; j < p; ++j) {
    double* const row = a.data() + j * p;
    for (std::size_t k = 0; k < j; ++k) {
      const double* const other = a.data() + k * p;
      double sum = row[k];
      for (std::size_t i = 0; i < k; ++i) sum -= row[i] * other[i];
      row[k] = sum / other[k];
    }
    double sum = row[j];
    for (std::size_t i = 0; i < j; ++i) sum -= row[i] * row[i];
    if (!(sum > 0.0)) return false;
    row[j] = std::sqrt(sum);
  }
  return true;
}

std::vector<double> solve(const std::vector<double>& l, std::size_t p, std::vector<double> b) {
  for (std::size_t j = 0; j < p; ++j) {
    for (std::size_t i = 0; i < j; ++i) b[j] -= l[j * p + i] * b[i];
    b[j] /= l[j * p + j];
  }
  for (std::size_t j = p; j-- > 0;) {
    b[j] /= l[j * p + j];
    for (std::size_t i = 0; i < j; ++i) b[i] -= l[j * p + i] * b[j];
  }
  return b;
}

// X'X and X'y of some rows.
struct Products {
  std::vector<double> xx;               // (p, p), lower half
  std::vector<std::vector<double>> xy;  // [output][p]

  Products& operator+=(const Products& other) {
    for (std::size_t i = 0; i < xx.size(); ++i) xx[i] += other.xx[i];
    for (std::size_t o = 0; o < xy.size(); ++o) {
      for (std::size_t i = 0; i < xy[o].size(); ++i) xy[o][i] += other.xy[o][i];
    }
    return *this;
  }
};

using RowsOfFunctions = std::vector<std::vector<double>>;  // [row][function]

Products products_of(const RowsOfFunctions& x, const std::vector<std::vector<double>>& y,
                     const std::vector<std::int64_t>& rows) {
  const std::size_t p = x.front().size();
  Products made{std::vector<double>(p * p, 0.0), {y.size(), std::vector<double>(p, 0.0)}};
  for (const std::int64_t each : rows) {
    const auto row = static_cast<std::size_t>(each);
    const double* const v = x[row].data();
    for (std::size_t j = 0; j < p; ++j) {
      double* const to = made.xx.data() + j * p;
      const double vj = v[j];
      for (std::size_t i = 0; i <= j; ++i) to[i] += vj * v[i];
      for (std::size_t o = 0; o < y.size(); ++o) made.xy[o][j] += vj * y[o][row];
    }
  }
  return made;
}

void standardise(std::vector<double>& y) {
  const auto n = static_cast<double>(y.size());
  const double mean = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double squares = 0.0;
  for (double& value : y) value -= mean, squares += value * value;
  for (double& value : y) value /= squares > 0.0 ? std::sqrt(squares / n) : 1.0;
}

}  // namespace

Screen::Screen(const Ingredients& from, const Table& table, std::vector<std::vector<double>> target,
               std::vector<Fold> folds, std::uint64_t seed)
    : from_(from),
      target_(std::move(target)),
      folds_(std::move(folds)),
      seed_(seed),
      rows_(static_cast<std::size_t>(table.rows)) {
  for (std::vector<double>& y : target_) standardise(y);
  divides_ = std::all_of(folds_.begin(), folds_.end(),
                         [&](const Fold& fold) { return fold.training.size() + fold.test.size() == rows_; });
  for (const Ingredient& each : from_.all) functions_.push_back(basis_of(each, table, seed));
}

bool Screen::can(const Structure& structure) const {
  return std::none_of(structure.begin(), structure.end(), [&](const Term& term) {
    return std::any_of(term.begin(), term.end(), [&](std::size_t i) { return functions_[i].empty(); });
  });
}

std::vector<double> Screen::losses(const Structure& structure) const {
  RowsOfFunctions x(rows_, {kIntercept});
  for (const Term& term : structure) {
    std::vector<const Columns*> factors;
    for (const std::size_t i : term) factors.push_back(&functions_[i]);
    for (const std::vector<double>& column : basis_of(factors, seed_for(seed_, "pairs"))) {
      for (std::size_t row = 0; row < rows_; ++row) x[row].push_back(column[row]);
    }
  }
  const std::size_t p = x.front().size();
  // Where each row is tested once, a training part is all that other folds test.
  std::vector<Products> of_fold;
  for (const Fold& fold : folds_) of_fold.push_back(products_of(x, target_, divides_ ? fold.test : fold.training));
  std::vector<double> best;
  double least = std::numeric_limits<double>::infinity();
  for (const double penalty : kPenalties) {
    std::vector<double> losses;
    for (std::size_t k = 0; k < folds_.size(); ++k) {
      Products others{std::vector<double>(p * p, 0.0), {target_.size(), std::vector<double>(p, 0.0)}};
      for (std::size_t other = 0; other < folds_.size(); ++other) {
        if ((other == k) != divides_) others += of_fold[other];
      }
      for (std::size_t j = 0; j < p; ++j) others.xx[j * p + j] += penalty;
      if (!factorise(others.xx, p)) break;
      double squares = 0.0;
      for (std::size_t o = 0; o < target_.size(); ++o) {
        const std::vector<double> w = solve(others.xx, p, others.xy[o]);
        for (const std::int64_t row : folds_[k].test) {
          const std::vector<double>& v = x[static_cast<std::size_t>(row)];
          const double miss =
              target_[o][static_cast<std::size_t>(row)] - std::inner_product(v.begin(), v.end(), w.begin(), 0.0);
          squares += miss * miss;
        }
      }
      losses.push_back(std::sqrt(squares / static_cast<double>(folds_[k].test.size() * target_.size())));
    }
    const double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
    if (losses.size() == folds_.size() && sum < least) least = sum, best = std::move(losses);
  }
  return best;
}

}  // namespace ick::detail
