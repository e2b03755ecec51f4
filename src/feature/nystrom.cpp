#include "feature/nystrom.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "feature/fused_nystrom.h"
#include "feature/support.h"
#include "ick/base/error.h"
#include "ick/base/parallel.h"

namespace ick {

struct NystromMap::Fused {
  std::vector<Factor> factors;
  std::vector<FusedFactor> fused;
  std::vector<ParameterSet::Column> columns;  // of the raw parameters; copies, because a graph may outlive its map
  int inputs = 0;                             // of all factors, as they see them
  int points = 0;                             // p
  bool train_points = false;
  at::Tensor turns;  // one period: z = origin + period * turns
  double origin = 0.0;
  std::int64_t period = -1;  // column of the parameter matrix, or -1
};

namespace {

using Layout = NystromMap::Fused;

Layout layout_of(const Kernel& kernel, const InducingPoints& points, bool train_points) {
  Layout layout;
  layout.factors = kernel.terms()[0];
  layout.columns = kernel.parameters().columns();
  for (const Factor& f : layout.factors) {
    layout.fused.push_back({f.row->index, f.structure, static_cast<int>(f.first_parameter), layout.inputs});
    layout.inputs += f.structure.inputs;
  }
  layout.points = static_cast<int>(points.z.size(-2));
  layout.train_points = train_points;
  if (points.placement == Placement::one_period && !train_points) {
    layout.turns = points.turns;
    layout.origin = points.origin;
    layout.period = layout.factors[0].first_parameter + 1;
  }
  return layout;
}

// Row x as all factors see it, side by side; element d goes to to[d * step].
void embed_row(const Layout& layout, const double* x, double* to, std::int64_t step) {
  for (const Factor& f : layout.factors) {
    if (f.row->inputs == Inputs::place) {
      double point[3];
      place_to_point(x[f.columns[0]], x[f.columns[1]], point);
      for (const double coordinate : point) *to = coordinate, to += step;
    } else if (!f.centre.empty()) {
      for (std::size_t d = 0; d < f.columns.size(); ++d) *to = x[f.columns[d]] - f.centre[d], to += step;
    } else {
      for (const std::int64_t column : f.columns) *to = x[column], to += step;
    }
  }
}

// Rows first .. first + count - 1 of x as a block (inputs, width), padded with the last of them.
FusedRows embed_block(const Layout& layout, const at::Tensor& x, std::int64_t first, int count,
                      std::vector<double>& buffer) {
  const int width = whole_lanes(count);
  buffer.resize(static_cast<std::size_t>(layout.inputs) * width);
  const double* rows = x.data_ptr<double>() + first * x.size(1);
  for (int j = 0; j < width; ++j)
    embed_row(layout, rows + std::min(j, count - 1) * x.size(1), buffer.data() + j, width);
  return {buffer.data(), width};
}

// Carries the gradient of one embedded point back to the columns of z.
void embed_backward(const Layout& layout, const double* z, const double* d_embedded, double* d_z) {
  for (const Factor& f : layout.factors) {
    if (f.row->inputs == Inputs::place) {
      constexpr double kRadians = std::numbers::pi / 180.0;
      const double latitude = z[f.columns[0]] * kRadians, longitude = z[f.columns[1]] * kRadians;
      const double along = std::cos(longitude) * d_embedded[0] + std::sin(longitude) * d_embedded[1];
      const double across = std::cos(longitude) * d_embedded[1] - std::sin(longitude) * d_embedded[0];
      d_z[f.columns[0]] += kEarthRadius * kRadians * (std::cos(latitude) * d_embedded[2] - std::sin(latitude) * along);
      d_z[f.columns[1]] += kEarthRadius * kRadians * std::cos(latitude) * across;
    } else {
      for (int d = 0; d < f.structure.inputs; ++d) d_z[f.columns[d]] += d_embedded[d];
    }
    d_embedded += f.structure.inputs;
  }
}

// One member of the map, ready to compute: natural parameters and embedded points.
struct Member {
  std::vector<double> theta;
  std::vector<double> z;         // (p, D)
  std::vector<double> embedded;  // (p, inputs)
  FusedProduct product;
  FusedNystrom nystrom;

  Member(const Layout& layout, const at::Tensor& raw, const at::Tensor& points, std::int64_t e)
      : theta(natural(layout, raw.data_ptr<double>() + e * raw.size(1))),
        z(placed(layout, theta, points, e)),
        embedded(embed_points(layout, z, points.size(-1))),
        product(layout.fused),
        nystrom(product, theta.data(), fused_points(layout, embedded)) {}

 private:
  static std::vector<double> natural(const Layout& layout, const double* raw) {
    std::vector<double> theta(layout.columns.size());
    for (std::size_t i = 0; i < theta.size(); ++i) theta[i] = constrain(layout.columns[i].constraint, raw[i]);
    return theta;
  }
  static std::vector<double> placed(const Layout& layout, const std::vector<double>& theta, const at::Tensor& points,
                                    std::int64_t e) {
    const std::int64_t size = points.size(-2) * points.size(-1);
    const double* from = points.data_ptr<double>() + (points.dim() == 3 ? e * size : 0);
    std::vector<double> z(from, from + size);
    if (layout.period >= 0) {
      const double* turns = layout.turns.data_ptr<double>();
      for (std::int64_t i = 0; i < points.size(-2); ++i) {
        z[i * points.size(-1) + layout.factors[0].columns[0]] = layout.origin + theta[layout.period] * turns[i];
      }
    }
    return z;
  }
  static std::vector<double> embed_points(const Layout& layout, const std::vector<double>& z, std::int64_t width) {
    const std::int64_t p = std::ssize(z) / width;
    std::vector<double> embedded(p * layout.inputs);
    for (std::int64_t i = 0; i < p; ++i)
      embed_row(layout, z.data() + i * width, embedded.data() + i * layout.inputs, 1);
    return embedded;
  }
  static FusedPoints fused_points(const Layout& layout, const std::vector<double>& embedded) {
    FusedPoints points;
    points.z = embedded.data();
    points.inputs = layout.inputs;
    points.points = layout.points;
    if (layout.period >= 0) {
      points.follows = static_cast<int>(layout.period);
      points.velocity = layout.turns.data_ptr<double>();
    }
    return points;
  }
};

struct Result {
  at::Tensor z;            // (E, n, p) in the map's dtype
  at::Tensor exact;        // (E, p n in whole lanes): z in float64, block by block, for the way back
  std::vector<int> steps;  // of the jitter ladder, -1 where no step was enough
  std::vector<std::unique_ptr<Member>> members;  // with their factors, for the way back
};

// Where features of a row, `row` numbers from row to row, and rows of a feature, `feature` numbers apart, are.
template <class Number>
struct Place {
  Number* at;
  std::int64_t row, feature;

  Place(const at::Tensor& z, std::int64_t member, std::int64_t first)
      : at(z.data_ptr<std::remove_const_t<Number>>() + member * z.stride(0) + first * z.stride(1)),
        row(z.stride(1)),
        feature(z.stride(2)) {}
};

// from (p, width), `count` of them -> to
template <class Number>
void put_rows(const double* from, int width, int count, int p, Place<Number> to) {
  if (to.row == 1) {
    for (int i = 0; i < p; ++i) std::copy_n(from + i * width, count, to.at + i * to.feature);
    return;
  }
  for (int j = 0; j < count; ++j) {
    for (int i = 0; i < p; ++i) to.at[j * to.row + i * to.feature] = static_cast<Number>(from[i * width + j]);
  }
}

// from -> to (p, width), zero in the padding
template <class Number>
void take_rows(Place<const Number> from, int width, int count, int p, double* to) {
  for (int i = 0; i < p; ++i, to += width) {
    const Number* const feature = from.at + i * from.feature;
    if (from.row == 1) {
      std::copy_n(feature, count, to);
    } else {
      for (int j = 0; j < count; ++j) to[j] = feature[j * from.row];
    }
    std::fill(to + count, to + width, 0.0);
  }
}

// A block of rows of a member; workers share them out.
struct RowBlock {
  std::int64_t member, number, first;
  int count;

  RowBlock(int task, std::int64_t n)
      : member(task / blocks(n)),
        number(task % blocks(n)),
        first(number * kNystromRows),
        count(static_cast<int>(std::min<std::int64_t>(kNystromRows, n - first))) {}
  static std::int64_t blocks(std::int64_t n) {
    return std::max<std::int64_t>(1, (n + kNystromRows - 1) / kNystromRows);
  }
};

Result compute(const Layout& layout, const at::Tensor& raw, const at::Tensor& points, const at::Tensor& x,
               at::ScalarType dtype, bool keep) {
  const std::int64_t members = raw.size(0), n = x.size(0), size = layout.points * ((n + 3) / 4 * 4);
  const int p = layout.points;
  Result result;
  // Features lie as they are computed, by columns, but for those in float32 of rows to be drawn from.
  const bool by_rows = !keep && dtype == at::kFloat;
  result.z = by_rows ? at::empty({members, n, p}, dtype) : at::empty({members, p, n}, dtype).transpose(1, 2);
  result.steps.assign(members, 0);
  result.members.resize(members);
  if (keep) result.exact = at::empty({members, size}, at::kDouble);
  parallel(static_cast<int>(members), [&](int e, int) {
    result.members[e] = std::make_unique<Member>(layout, raw, points, e);
    result.steps[e] = result.members[e]->nystrom.factorise();
  });
  parallel(static_cast<int>(members * RowBlock::blocks(n)), [&](int task, int) {
    const RowBlock block(task, n);
    if (result.steps[block.member] < 0) return;
    static thread_local std::vector<double> inputs, scratch;
    const FusedRows rows = embed_block(layout, x, block.first, block.count, inputs);
    if (!keep) scratch.resize(static_cast<std::size_t>(p) * rows.width);
    double* exact = keep ? result.exact.data_ptr<double>() + block.member * size + block.first * p : scratch.data();
    result.members[block.member]->nystrom.features(rows, exact);
    if (dtype == at::kFloat) {
      put_rows(exact, rows.width, block.count, p, Place<float>(result.z, block.member, block.first));
    } else {
      put_rows(exact, rows.width, block.count, p, Place<double>(result.z, block.member, block.first));
    }
  });
  return result;
}

// The fast path as one node of the graph.
struct FusedNode : torch::autograd::Function<FusedNode> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& raw, const at::Tensor& points,
                            const at::Tensor& x, const std::shared_ptr<const Layout>& layout, at::ScalarType dtype,
                            std::vector<int>* steps) {
    Result result = compute(*layout, raw, points, x, dtype, true);
    *steps = result.steps;
    context->save_for_backward({raw, points, x, result.exact});
    context->saved_data["holder"] =
        at::IValue::make_capsule(c10::make_intrusive<Holder>(layout, std::move(result.members)));
    return result.z;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &raw = saved[0], &points = saved[1], &x = saved[2], &exact = saved[3];
    const auto capsule = context->saved_data["holder"].toCapsule();
    const auto* holder = static_cast<const Holder*>(capsule.get());
    const Layout& layout = *holder->layout;
    const at::Tensor& d_out = gradients[0];
    const std::int64_t members = raw.size(0), n = x.size(0), count = raw.size(1), width = points.size(-1);
    const int p = layout.points;
    at::Tensor d_raw = at::zeros_like(raw);
    at::Tensor d_points = layout.train_points ? at::zeros_like(points) : at::Tensor();
    std::vector<FusedNystrom::Sums> sums(members * RowBlock::blocks(n));
    parallel(static_cast<int>(sums.size()), [&](int task, int) {
      const RowBlock block(task, n);
      const FusedNystrom& nystrom = holder->members[block.member]->nystrom;
      static thread_local std::vector<double> inputs, slopes;
      const FusedRows rows = embed_block(layout, x, block.first, block.count, inputs);
      slopes.resize(static_cast<std::size_t>(p) * rows.width);
      if (d_out.scalar_type() == at::kFloat) {
        take_rows(Place<const float>(d_out, block.member, block.first), rows.width, block.count, p, slopes.data());
      } else {
        take_rows(Place<const double>(d_out, block.member, block.first), rows.width, block.count, p, slopes.data());
      }
      const double* z = exact.data_ptr<double>() + block.member * exact.size(1) + block.first * p;
      sums[task] = nystrom.nothing(static_cast<std::size_t>(count), layout.train_points);
      nystrom.backward(rows, z, slopes.data(), sums[task]);
    });
    parallel(static_cast<int>(members), [&](int e, int) {
      const Member& member = *holder->members[e];
      FusedNystrom::Sums& all = sums[e * RowBlock::blocks(n)];
      for (std::int64_t b = 1; b < RowBlock::blocks(n); ++b) all += sums[e * RowBlock::blocks(n) + b];
      member.nystrom.backward_factor(all);
      for (std::int64_t i = 0; layout.train_points && i < p; ++i) {
        embed_backward(layout, member.z.data() + i * width, all.points.data() + i * layout.inputs,
                       d_points.data_ptr<double>() + (e * p + i) * width);
      }
      for (std::int64_t i = 0; i < count; ++i) {
        const ParameterSet::Column& parameter = layout.columns[i];
        if (parameter.fixed) continue;
        d_raw.data_ptr<double>()[e * count + i] =
            all.theta[i] * constrain_slope(parameter.constraint, raw.data_ptr<double>()[e * count + i]);
      }
    });
    return {d_raw, d_points, at::Tensor(), at::Tensor(), at::Tensor(), at::Tensor()};
  }

 private:
  struct Holder : torch::CustomClassHolder {
    Holder(std::shared_ptr<const Layout> l, std::vector<std::unique_ptr<Member>> m)
        : layout(std::move(l)), members(std::move(m)) {}
    std::shared_ptr<const Layout> layout;
    std::vector<std::unique_ptr<Member>> members;
  };
};

}  // namespace

NystromMap::NystromMap(const Kernel& product, const at::Tensor& x, const MapOptions& options)
    : NystromMap(product,
                 place_points(product, x, options.features, options.placement, options.seed, options.explained),
                 options) {}

NystromMap::NystromMap(const Kernel& product, const StateReader& state, const MapOptions& options)
    : NystromMap(product, restore_points(product, state, options.features, options.placement, options.train_points),
                 options) {}

NystromMap::NystromMap(const Kernel& product, InducingPoints placed, const MapOptions& options)
    : FeatureMap(options.dtype), kernel_(product), options_(options), points_(std::move(placed)) {
  fused_ = std::make_shared<const Fused>(layout_of(kernel_, points_, options.train_points));
  if (options.train_points) {
    const at::Tensor start = points().detach();  // over one period: over each member's own
    points_.z = start.expand({product.members(), features(), start.size(-1)}).clone().requires_grad_(true);
  }
}

std::vector<at::Tensor> NystromMap::own_parameters() const {
  return options_.train_points ? std::vector{points_.z} : std::vector<at::Tensor>{};
}

at::Tensor NystromMap::points() const {
  if (points_.placement != Placement::one_period || points_.z.requires_grad()) return points_.z;
  const Factor& f = kernel_.terms()[0][0];
  const at::Tensor period = kernel_.parameters().natural().narrow(1, f.first_parameter + 1, 1);  // (E, 1)
  const at::Tensor column = points_.origin + period * points_.turns;                             // (E, p)
  at::Tensor rest = points_.z.unsqueeze(0).expand({kernel_.members(), -1, -1});
  const std::int64_t at = f.columns[0], after = rest.size(2) - at - 1;
  return at::cat({rest.narrow(2, 0, at), column.unsqueeze(-1), rest.narrow(2, at + 1, after)}, 2);
}

MapReport NystromMap::report() const {
  return {"nystrom (" + placement_name(points_.placement) + ", " + std::to_string(features()) +
              (features() == 1 ? " point" : " points") + (options_.train_points ? ", trained)" : ")"),
          jitter_steps_, jitter_of_step(jitter_steps_)};
}

MapState NystromMap::state() const {
  MapState state;
  if (fused_->period >= 0) {
    put(state, "turns", points_.turns);
    put(state, "origin", at::full({1}, points_.origin, at::kDouble));
  } else {
    put(state, "points", points_.z);
  }
  return state;
}

at::Tensor NystromMap::evaluate(const at::Tensor& x, at::ScalarType dtype) const {
  const at::Tensor rows = checked_rows(x, kernel_);
  const auto& factors = kernel_.terms()[0];
  const bool fuses = std::all_of(factors.begin(), factors.end(), [](const Factor& f) { return f.row->fuses(); });
  if (options_.path == Path::reference || x.requires_grad() || !fuses) {
    return checked_features(reference(rows).to(dtype));
  }
  const at::Tensor& raw = kernel_.parameters().raw();
  const bool needs_gradient = at::GradMode::is_enabled() && (raw.requires_grad() || points_.z.requires_grad());
  std::vector<int> steps;
  at::Tensor z;
  if (needs_gradient) {
    z = FusedNode::apply(raw, points_.z, rows, fused_, dtype, &steps);
  } else {
    // Members whose parameters are alike, as those that are held, have the same features.
    const std::int64_t members = raw.size(0);
    const bool alike = points_.z.dim() == 2 && at::equal(raw.detach(), raw.detach().narrow(0, 0, 1).expand_as(raw));
    Result result =
        compute(*fused_, raw.detach().narrow(0, 0, alike ? 1 : members), points_.z.detach(), rows, dtype, false);
    steps = result.steps;
    z = result.z;
  }
  if (*std::min_element(steps.begin(), steps.end()) < 0) throw_not_positive_definite(kernel_);
  jitter_steps_ = *std::max_element(steps.begin(), steps.end());
  checked_features(z);
  return needs_gradient ? z : z.expand({raw.size(0), -1, -1});
}

at::Tensor NystromMap::reference(const at::Tensor& x) const {
  const at::Tensor z = points();
  const at::Tensor covariance = kernel_.matrix(z, z);                                          // (E, p, p)
  const at::Tensor scale = covariance.diagonal(0, 1, 2).mean(1).clamp_min(kSmallestDiagonal);  // (E)
  if (!at::isfinite(covariance).all().item<bool>()) throw_not_positive_definite(kernel_);
  std::vector<double> jitter(kernel_.members(), jitter_of_step(0));
  for (int step = 0; step < kJitterSteps; ++step) {
    const at::Tensor added = at::tensor(jitter, at::kDouble) * scale;
    const auto [factor, info] =
        at::linalg_cholesky_ex(covariance + at::diag_embed(added.unsqueeze(1).expand({-1, features()})));
    const at::Tensor failed = info != 0;
    if (!failed.any().item<bool>()) {
      jitter_steps_ = step;
      const at::Tensor solved = at::linalg_solve_triangular(factor, kernel_.matrix(z, x), /*upper=*/false);
      return solved.transpose(1, 2);
    }
    for (std::int64_t e = 0; e < kernel_.members(); ++e) {
      if (failed[e].item<bool>()) jitter[e] = jitter_of_step(step + 1);
    }
  }
  throw_not_positive_definite(kernel_);
}

}  // namespace ick
