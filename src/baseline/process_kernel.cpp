#include "baseline/process_kernel.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ick/base/error.h"
#include "ick/base/parallel.h"
#include "kernel/fused_groups.h"
#include "neighbour/search.h"

namespace ick {

namespace {

// Rows of a task: with 512 points half a megabyte of values, within a second-level cache.
constexpr std::int64_t kTaskRows = 128;

struct TaskRows {
  std::int64_t first, count;
};

TaskRows rows_of_task(std::int64_t task, std::int64_t rows) {
  const std::int64_t first = task * kTaskRows;
  return {first, std::min(kTaskRows, rows - first)};
}

int tasks_of(std::int64_t rows) { return static_cast<int>((rows + kTaskRows - 1) / kTaskRows); }

// Some rows as lines, (inputs, width); the padding repeats the last one.
std::vector<double> lines_of(const at::Tensor& rows, const TaskRows& at, int width) {
  const std::int64_t inputs = rows.size(1);
  const double* const from = rows.data_ptr<double>() + at.first * inputs;
  std::vector<double> lines(static_cast<std::size_t>(inputs * width));
  for (std::int64_t d = 0; d < inputs; ++d) {
    for (int j = 0; j < width; ++j) lines[d * width + j] = from[std::min<std::int64_t>(j, at.count - 1) * inputs + d];
  }
  return lines;
}

FusedPoints points_of(const at::Tensor& points) {
  FusedPoints fused;
  fused.z = points.data_ptr<double>();
  fused.points = static_cast<int>(points.size(0));
  fused.inputs = static_cast<int>(points.size(1));
  return fused;
}

void add_to(std::vector<double>& to, const std::vector<double>& from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

nlohmann::json factor_json(const Factor& f) {
  const Structure& s = f.structure;
  return {{"kernel", f.row->name},
          {"sphere", f.row->inputs == Inputs::place},
          {"columns", f.columns},
          {"centre", f.centre},
          {"components", s.components},
          {"degree", s.degree},
          {"inputs", s.inputs},
          {"levels", s.levels},
          {"rank", s.rank},
          {"first_parameter", f.first_parameter},
          {"parameters", f.parameter_count}};
}

Factor factor_from(const nlohmann::json& json, std::size_t parameters) {
  Factor f;
  f.row = &find_kernel(json.at("kernel").get<std::string>(), json.at("sphere").get<bool>(), 0);
  f.columns = json.at("columns").get<std::vector<std::int64_t>>();
  f.centre = json.at("centre").get<std::vector<double>>();
  f.structure.components = json.at("components"), f.structure.degree = json.at("degree");
  f.structure.inputs = json.at("inputs"), f.structure.levels = json.at("levels"), f.structure.rank = json.at("rank");
  f.first_parameter = json.at("first_parameter"), f.parameter_count = json.at("parameters");
  const auto columns = std::ssize(f.columns);
  const bool columns_fit =
      f.row->inputs == Inputs::place ? columns == 2 && f.structure.inputs == 3 : columns == f.structure.inputs;
  const bool numbers_fit = f.row->fuses() && f.parameter_count == f.row->parameter_count(f.structure) &&
                           f.first_parameter >= 0 &&
                           f.first_parameter + f.parameter_count <= static_cast<std::int64_t>(parameters) &&
                           (f.centre.empty() || std::ssize(f.centre) == columns) &&
                           std::all_of(f.columns.begin(), f.columns.end(), [](std::int64_t c) { return c >= 0; });
  if (!columns_fit || !numbers_fit) throw DataError("the process's kernel does not fit its parameters");
  return f;
}

}  // namespace

ProcessKernel::ProcessKernel(const Kernel& kernel, double share) : terms_(kernel.terms()), share_(share) {
  theta_ = NeighbourKernel(kernel, share).theta();
  prepare();
}

ProcessKernel::ProcessKernel(const std::string& text, std::vector<double> theta) : theta_(std::move(theta)) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    share_ = json.at("share");
    for (const nlohmann::json& product : json.at("products")) {
      std::vector<Factor>& factors = terms_.emplace_back();
      for (const nlohmann::json& each : product) factors.push_back(factor_from(each, theta_.size()));
      if (factors.empty()) throw DataError("the process has a product of no kernels");
    }
  } catch (const nlohmann::json::exception&) {
    throw DataError("the process's kernel cannot be read");
  } catch (const UsageError&) {
    throw DataError("the process has a kernel that this version does not know");
  }
  if (terms_.empty()) throw DataError("the process has no kernel");
  prepare();
}

void ProcessKernel::prepare() {
  for (const std::vector<Factor>& factors : terms_) {
    for (const Factor& f : factors) {
      inputs_ += f.structure.inputs;
      for (const std::int64_t column : f.columns) columns_ = std::max(columns_, column + 1);
    }
  }
}

std::string ProcessKernel::text() const {
  nlohmann::json products = nlohmann::json::array();
  for (const std::vector<Factor>& factors : terms_) {
    nlohmann::json& product = products.emplace_back(nlohmann::json::array());
    for (const Factor& f : factors) product.push_back(factor_json(f));
  }
  return nlohmann::json{{"share", share_}, {"products", products}}.dump();
}

at::Tensor ProcessKernel::inputs(const at::Tensor& x) const { return fused_inputs(terms_, x); }

at::Tensor ProcessKernel::values(const at::Tensor& points, const at::Tensor& rows, at::ScalarType type) const {
  const std::vector<FusedProduct> products = fused_products(terms_);
  const std::int64_t p = points.size(0), n = rows.size(0);
  const at::Tensor all = at::empty({p, n}, at::TensorOptions(type));
  const auto task_values = [&]<class Number>(int task, Number* to) {
    const TaskRows at = rows_of_task(task, n);
    const int width = whole_lanes(static_cast<int>(at.count));
    const std::vector<double> lines = lines_of(rows, at, width);
    std::vector<double> k(static_cast<std::size_t>(p * width)), sum(products.size() > 1 ? k.size() : 0);
    for (std::size_t t = 0; t < products.size(); ++t) {
      products[t].values(theta_.data(), points_of(points), {lines.data(), width}, k.data());
      if (!sum.empty()) add_to(sum, k);
    }
    const std::vector<double>& from = sum.empty() ? k : sum;
    for (std::int64_t i = 0; i < p; ++i) {
      for (std::int64_t j = 0; j < at.count; ++j) {
        to[i * n + at.first + j] = static_cast<Number>(share_ * from[i * width + j]);
      }
    }
  };
  parallel(tasks_of(n), [&](int task, int) {
    if (type == at::kFloat) {
      task_values(task, all.data_ptr<float>());
    } else {
      task_values(task, all.data_ptr<double>());
    }
  });
  return all;
}

// Four rows at a time, each a group of one (FusedGroups).
at::Tensor ProcessKernel::diagonal(const at::Tensor& rows) const {
  const std::vector<FusedProduct> products = fused_products(terms_);
  const at::Tensor all = at::zeros({rows.size(0)}, at::kDouble);
  double* const to = all.data_ptr<double>();
  for (std::int64_t first = 0; first < rows.size(0); first += kLaneWidth) {
    const TaskRows at{first, std::min<std::int64_t>(kLaneWidth, rows.size(0) - first)};
    const std::vector<double> lines = lines_of(rows, at, kLaneWidth);
    for (const FusedProduct& product : products) {
      double k[kLaneWidth];
      group_values(product, theta_.data(), {lines.data(), 1}, k);
      for (std::int64_t j = 0; j < at.count; ++j) to[first + j] += share_ * k[j];
    }
  }
  return all;
}

ProcessKernel::Slopes ProcessKernel::gradient(const at::Tensor& points, const at::Tensor& rows,
                                              const at::Tensor& g) const {
  const std::vector<FusedProduct> products = fused_products(terms_);
  const std::int64_t p = points.size(0), n = rows.size(0);
  const int tasks = tasks_of(n);
  std::vector<Slopes> found(static_cast<std::size_t>(tasks));
  const auto task_gradient = [&](int task, const auto* from) {
    const TaskRows at = rows_of_task(task, n);
    const int width = whole_lanes(static_cast<int>(at.count));
    const std::vector<double> lines = lines_of(rows, at, width);
    std::vector<double> weights(static_cast<std::size_t>(p * width));
    for (std::int64_t i = 0; i < p; ++i) {
      for (std::int64_t j = 0; j < at.count; ++j) weights[i * width + j] = share_ * from[i * n + at.first + j];
    }
    Slopes& own = found[static_cast<std::size_t>(task)];
    own.theta.assign(theta_.size(), 0.0);
    own.points = at::zeros(points.sizes(), at::kDouble);
    for (const FusedProduct& product : products) {
      product.gradient(theta_.data(), points_of(points), {lines.data(), width}, weights.data(), own.theta.data(),
                       own.points.data_ptr<double>());
    }
  };
  parallel(tasks, [&](int task, int) {
    if (g.scalar_type() == at::kFloat) {
      task_gradient(task, g.data_ptr<float>());
    } else {
      task_gradient(task, g.data_ptr<double>());
    }
  });
  Slopes total{std::vector<double>(theta_.size(), 0.0), at::zeros(points.sizes(), at::kDouble)};
  for (const Slopes& each : found) add_to(total.theta, each.theta), total.points += each.points;
  return total;
}

std::vector<double> ProcessKernel::diagonal_gradient(const at::Tensor& rows, const at::Tensor& g) const {
  const std::vector<FusedProduct> products = fused_products(terms_);
  std::vector<double> total(theta_.size(), 0.0);
  const double* const from = g.data_ptr<double>();
  for (std::int64_t first = 0; first < rows.size(0); first += kLaneWidth) {
    const TaskRows at{first, std::min<std::int64_t>(kLaneWidth, rows.size(0) - first)};
    const std::vector<double> lines = lines_of(rows, at, kLaneWidth);
    double weights[kLaneWidth] = {};
    for (std::int64_t j = 0; j < at.count; ++j) weights[j] = share_ * from[first + j];
    for (const FusedProduct& product : products) {
      group_gradient(product, theta_.data(), {lines.data(), 1}, weights, total.data());
    }
  }
  return total;
}

}  // namespace ick
