#include "curve.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace ick::detail {
namespace {

constexpr std::size_t kMostSpans = 200;
constexpr std::size_t kRowsOfSpan = 4;      // what is nearly a function needs no long means
constexpr std::size_t kSpansOfOneRow = 25;  // up to so many rows each is a span by itself

std::vector<std::size_t> ascending(std::span<const double> values, std::size_t from, std::size_t to) {
  std::vector<std::size_t> order(to - from);
  std::iota(order.begin(), order.end(), from);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  return order;
}

// Calls learn_from(from, to) and then judge(from, to) on the other half, both ways.
template <typename Learn, typename Judge>
void both_ways(std::size_t rows, const Learn& learn_from, const Judge& judge) {
  const std::size_t half = rows / 2;
  learn_from(0, half);
  judge(half, rows);
  learn_from(half, rows);
  judge(0, half);
}

class Curve {
 public:
  Curve(std::span<const double> x, std::span<const double> y, std::size_t from, std::size_t to) {
    const std::vector<std::size_t> order = ascending(x, from, to);
    const std::size_t rows = order.size();
    const std::size_t spans = std::clamp(rows / kRowsOfSpan, std::min(rows, kSpansOfOneRow), kMostSpans);
    for (std::size_t first = 0; first < rows;) {
      std::size_t last = std::max(first + 1, (knots_.size() + 1) * rows / spans);
      last = std::min(last, rows);
      while (last < rows && x[order[last]] == x[order[last - 1]]) ++last;  // equal values stay together
      Knot knot;
      for (std::size_t i = first; i < last; ++i) knot.x += x[order[i]], knot.y += y[order[i]];
      const auto count = static_cast<double>(last - first);
      knots_.push_back({knot.x / count, knot.y / count});
      first = last;
    }
  }

  // A line beyond the ends, too, but never out of 0 .. 1.
  double operator()(double x) const {
    if (knots_.size() == 1) return knots_.front().y;
    const auto after = std::lower_bound(knots_.begin() + 1, knots_.end() - 1, x,
                                        [](const Knot& knot, double value) { return knot.x < value; });
    const Knot &a = after[-1], &b = after[0];
    return std::clamp(a.y + (x - a.x) / (b.x - a.x) * (b.y - a.y), 0.0, 1.0);
  }

 private:
  struct Knot {
    double x = 0.0, y = 0.0;
  };
  std::vector<Knot> knots_;
};

// 1 - sum of squares / sum of squares about the mean of the rows learned from.
struct Explained {
  double left = 0.0, whole = 0.0;
  void add(double y, double predicted, double mean) {
    left += (y - predicted) * (y - predicted);
    whole += (y - mean) * (y - mean);
  }
  double r2() const { return whole > 0.0 ? 1.0 - left / whole : 0.0; }
};

double mean_of(std::span<const double> y, std::size_t from, std::size_t to) {
  return std::accumulate(y.begin() + static_cast<std::ptrdiff_t>(from), y.begin() + static_cast<std::ptrdiff_t>(to),
                         0.0) /
         static_cast<double>(to - from);
}

std::uint32_t count_of_codes(std::span<const std::uint32_t> codes) {
  return codes.empty() ? 0 : *std::max_element(codes.begin(), codes.end()) + 1;
}

std::uint32_t commonest(std::span<const std::uint32_t> y, std::uint32_t classes, std::size_t from, std::size_t to) {
  std::vector<std::size_t> counts(classes, 0);
  for (std::size_t i = from; i < to; ++i) ++counts[y[i]];
  return static_cast<std::uint32_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
}

struct Hits {
  std::size_t hits = 0, by_chance = 0, rows = 0;
  void add(std::uint32_t y, std::uint32_t predicted, std::uint32_t most) {
    hits += y == predicted;
    by_chance += y == most;
    ++rows;
  }
  double gain() const {
    if (by_chance == rows) return 0.0;
    return (static_cast<double>(hits) - static_cast<double>(by_chance)) / static_cast<double>(rows - by_chance);
  }
};

// The commonest class at each distinct x, ascending.
struct Places {
  std::vector<double> x;
  std::vector<std::uint32_t> y;
};

Places commonest_at_each(std::span<const double> x, std::span<const std::uint32_t> y, std::uint32_t classes,
                         std::size_t from, std::size_t to) {
  const std::vector<std::size_t> order = ascending(x, from, to);
  Places places;
  std::vector<std::size_t> counts(classes, 0);
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    std::uint32_t best = y[order[first]];
    for (; last < order.size() && x[order[last]] == x[order[first]]; ++last) {
      const std::uint32_t found = y[order[last]];
      if (++counts[found] > counts[best]) best = found;
    }
    places.x.push_back(x[order[first]]);
    places.y.push_back(best);
    for (std::size_t i = first; i < last; ++i) counts[y[order[i]]] = 0;
    first = last;
  }
  return places;
}

}  // namespace

std::vector<double> ranks_of(std::span<const double> values) {
  const std::vector<std::size_t> order = ascending(values, 0, values.size());
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    const double middle = 0.5 * static_cast<double>(first + last) / static_cast<double>(order.size());
    for (std::size_t i = first; i < last; ++i) ranks[order[i]] = middle;
    first = last;
  }
  return ranks;
}

double curve_r2(std::span<const double> x, std::span<const double> y) {
  if (x.size() < 4) return 0.0;
  Explained explained;
  std::vector<Curve> curve;
  double mean = 0.0;
  both_ways(
      x.size(),
      [&](std::size_t from, std::size_t to) {
        curve.assign(1, Curve(x, y, from, to));
        mean = mean_of(y, from, to);
      },
      [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) explained.add(y[i], curve[0](x[i]), mean);
      });
  return explained.r2();
}

double level_r2(std::span<const std::uint32_t> x, std::span<const double> y) {
  if (x.size() < 4) return 0.0;
  Explained explained;
  const std::uint32_t levels = count_of_codes(x);
  std::vector<double> sums, counts;
  double mean = 0.0;
  both_ways(
      x.size(),
      [&](std::size_t from, std::size_t to) {
        sums.assign(levels, 0.0), counts.assign(levels, 0.0);
        for (std::size_t i = from; i < to; ++i) sums[x[i]] += y[i], counts[x[i]] += 1.0;
        mean = mean_of(y, from, to);
      },
      [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) {
          explained.add(y[i], counts[x[i]] > 0.0 ? sums[x[i]] / counts[x[i]] : mean, mean);
        }
      });
  return explained.r2();
}

double nearest_gain(std::span<const double> x, std::span<const std::uint32_t> y) {
  if (x.size() < 4) return 0.0;
  const std::uint32_t classes = count_of_codes(y);
  Hits hits;
  Places places;
  std::uint32_t most = 0;
  both_ways(
      x.size(),
      [&](std::size_t from, std::size_t to) {
        places = commonest_at_each(x, y, classes, from, to);
        most = commonest(y, classes, from, to);
      },
      [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i < to; ++i) {
          auto at =
              static_cast<std::size_t>(std::lower_bound(places.x.begin(), places.x.end(), x[i]) - places.x.begin());
          if (at == places.x.size() || (at > 0 && x[i] - places.x[at - 1] < places.x[at] - x[i])) --at;
          hits.add(y[i], places.y[at], most);
        }
      });
  return hits.gain();
}

}  // namespace ick::detail
