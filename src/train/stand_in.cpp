#include "train/stand_in.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace ick {

namespace {

constexpr std::int64_t kMostSurrogateColumns = 64;

bool reads_images(const Dataset& rows, std::size_t source) {
  return source < rows.images.size() && rows.images[source];
}

// What a network's rows look like to a kernel: its numbers, and images as the means of a few fields, standardised.
at::Tensor coarse_inputs(const Dataset& rows, std::size_t source) {
  const at::Tensor numbers = rows.networks[source].to(at::kDouble);
  if (!reads_images(rows, source)) return numbers;
  constexpr std::int64_t kFields = 3;  // by as many
  const ImageShape& shape = rows.images[source]->known.shape;
  std::vector<at::Tensor> blocks;
  for (std::int64_t first = 0, block = rows.block(256); first < rows.size(); first += block) {
    const std::int64_t end = std::min(first + block, rows.size());
    const at::Tensor pixels =
        rows.inputs(source, at::arange(first, end, at::kLong)).narrow(1, 0, shape.numbers()).contiguous();
    const at::Tensor images = pixels.view({end - first, shape.channels, shape.height, shape.width});
    blocks.push_back(at::adaptive_avg_pool2d(images, {kFields, kFields}).flatten(1).to(at::kDouble));
  }
  const at::Tensor fields = at::cat(blocks);
  return at::cat({(fields - fields.mean(0)) / fields.std(0, false).clamp_min(1e-6), numbers}, 1);
}

// The first id that no kernel of the model has.
std::size_t free_id(const ModelSpec& spec) {
  std::size_t last = 0;
  for (const TermSpec& term : spec.terms) {
    for (const KernelProduct& product : term.kernels) {
      for (const KernelSpec& kernel : product) last = std::max(last, kernel.id);
    }
  }
  return last + 1;
}

KernelSpec kernel_of(StandIn stand_in) {
  KernelSpec kernel;
  kernel.name = stand_in == StandIn::smooth ? "rbf" : stand_in == StandIn::rough ? "matern32" : "polynomial";
  if (stand_in == StandIn::linear) {
    Argument degree;
    degree.name = "degree";
    degree.values = {Quantity{1.0, ""}};
    kernel.arguments = {degree};
  }
  return kernel;
}

}  // namespace

std::vector<StandIn> stand_ins_of(const ModelSpec& spec, const Dataset& rows) {
  if (spec.kernels_only() || !rows.images.empty()) return {StandIn::smooth};
  return {StandIn::smooth, StandIn::linear};
}

Surrogate make_surrogate(const ModelSpec& spec, const Encoder& encoder, const Dataset& rows, StandIn stand_in) {
  Surrogate s;
  std::vector<at::Tensor> columns = {rows.x};
  for (const KernelColumn& column : encoder.kernel_columns) s.inputs.push_back(column.summary);
  std::size_t source = 0;
  const std::size_t first_id = free_id(spec);
  KernelSum without_kernels;
  for (std::size_t t = 0; t < spec.terms.size(); ++t) {
    const TermSpec& term = spec.terms[t];
    KernelProduct stand_ins;
    for (std::size_t a = 0; a < term.networks.size(); ++a, ++source) {
      const at::Tensor inputs = coarse_inputs(rows, source);
      KernelSpec kernel = kernel_of(stand_in);
      kernel.id = first_id + source;  // its own: shared by the products of this term
      for (std::int64_t d = 0; d < std::min(inputs.size(1), kMostSurrogateColumns); ++d) {
        InputSummary summary;
        summary.name = "network" + std::to_string(source + 1) + "#" + std::to_string(d + 1);
        summary.low = -2.0, summary.high = 2.0;  // of standardised numbers
        kernel.columns.push_back(summary.name);
        s.inputs.push_back(std::move(summary));
      }
      columns.push_back(inputs.narrow(1, 0, std::ssize(kernel.columns)));
      stand_ins.push_back(std::move(kernel));
    }
    for (KernelProduct product : term.kernels) {
      product.insert(product.end(), stand_ins.begin(), stand_ins.end());
      s.products.push_back(std::move(product));
      s.names.push_back("term" + std::to_string(t + 1));
    }
    if (term.kernels.empty()) without_kernels.push_back(std::move(stand_ins));
  }
  s.products.insert(s.products.end(), without_kernels.begin(), without_kernels.end());
  s.names.resize(s.products.size(), "networks");
  s.x = at::cat(columns, 1);
  return s;
}

}  // namespace ick
