#include <algorithm>

#include "examine/examined.h"
#include "ick/table/time.h"

// Learned kernels, in the data's units.
namespace ick {

namespace {

constexpr std::size_t kMostCurves = 8, kMostMatrices = 4;
constexpr std::int64_t kMatrixRows = 60;

std::string distance_words(const KernelCurve& curve, double distance) {
  if (curve.unit == "d") return duration_words(distance);
  return fmt::format("{:.3g}{}{}", distance, curve.unit.empty() ? "" : " ", curve.unit);
}

std::string curve_words(const KernelCurve& curve) {
  // The first distance at which half of the correlation is gone, and the last rise again to nearly one.
  std::size_t half = 0;
  while (half < curve.correlation.size() && curve.correlation[half] > 0.5) ++half;
  std::size_t again = curve.correlation.size();
  bool fell = false;
  for (std::size_t k = 1; k + 1 < curve.correlation.size() && again == curve.correlation.size(); ++k) {
    fell = fell || curve.correlation[k] < 0.95;
    const bool peak =
        curve.correlation[k] >= curve.correlation[k - 1] && curve.correlation[k] > curve.correlation[k + 1];
    if (fell && peak && curve.correlation[k] > 0.3) again = k;
  }
  std::string text;
  if (half == curve.correlation.size()) {
    text =
        fmt::format("correlation stays above 0.5 as far as is drawn, {}", distance_words(curve, curve.distance.back()));
  } else {
    text = fmt::format("half of the correlation is gone {} apart", distance_words(curve, curve.distance[half]));
  }
  if (again < curve.correlation.size()) {
    text += fmt::format(", and it comes back to {:.2f} {} apart", curve.correlation[again],
                        distance_words(curve, curve.distance[again]));
  }
  if (half < curve.correlation.size() && curve.distance[half] > 0.5 * curve.reach) {
    text += "; that is far, compared with the data: the kernel knows little more than a trend";
  } else if (half < curve.correlation.size() && curve.distance[half] < 0.002 * curve.reach) {
    text += "; that is short, compared with the data: the kernel says little of rows that are not close by";
  }
  return text;
}

Figure curve_figure(const KernelCurve& curve, std::size_t number) {
  Figure figure;
  figure.id = fmt::format("kernel-{}-{}", curve.term, number);
  figure.title = fmt::format("{}, in {}: {}", curve.term, short_text(curve.column), short_text(curve.text, 60));
  figure.x.title = "apart in " + short_text(curve.column) + (curve.unit.empty() ? "" : " (" + curve.unit + ")");
  figure.y.title = "correlation", figure.y.high = 1.0;
  figure.aspect = 2.2;
  PlotLayer line, zero;
  line.mark = Mark::line, line.tone = Tone::model, line.name = "k(x, x + d) / k(x, x)";
  line.x = curve.distance, line.y = curve.correlation;
  zero.mark = Mark::rule, zero.tone = Tone::quiet, zero.y = {0.0};
  figure.layers = {zero, line};
  figure.caption = fmt::format(
      "How much two rows have in common that differ in {} alone, by the kernels of the term. Here {}. Training rows "
      "are "
      "up to {} apart.",
      short_text(curve.column), curve_words(curve), distance_words(curve, curve.reach));
  return figure;
}

Figure matrix_figure(const KernelMatrix& matrix) {
  Figure figure;
  figure.id = "kernel-matrix-" + matrix.term;
  figure.title = fmt::format("{}: kernel matrix", matrix.term);
  figure.x.title = figure.y.title = "row, in order";
  figure.aspect = 1.1, figure.square = true;
  figure.colour.title = "correlation", figure.colour.high = 1.0;
  PlotLayer cells;
  cells.mark = Mark::cells, cells.tone = Tone::model;
  double least = 1.0;
  for (std::size_t i = 0; i < matrix.correlation.size(); ++i) {
    for (std::size_t j = 0; j < matrix.correlation.size(); ++j) {
      const auto x = static_cast<double>(j), y = static_cast<double>(i);
      cells.x.push_back(x), cells.x2.push_back(x + 1.0), cells.y.push_back(y), cells.y2.push_back(y + 1.0);
      cells.value.push_back(matrix.correlation[i][j]);
      least = std::min(least, matrix.correlation[i][j]);
    }
  }
  figure.colour.low = least < 0.0 ? -1.0 : 0.0;
  if (least < 0.0) figure.colour.middle = 0.0;
  figure.layers.push_back(std::move(cells));
  double near = 0.0, all = 0.0;
  const std::size_t n = matrix.correlation.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) all += i == j ? 0.0 : matrix.correlation[i][j];
    if (i + 1 < n) near += matrix.correlation[i][i + 1] / static_cast<double>(n - 1);
  }
  figure.caption = fmt::format(
      "Correlations of {} rows, spread over the table and in the order of the first column that the term reads. "
      "Stripes "
      "beside the diagonal are seasons, blocks are levels or regions, a mere diagonal rows that have nothing in "
      "common. "
      "Here rows beside each other have {:.2f} on average, any two {:.2f}.",
      n, near, all / static_cast<double>(n * (n - 1)));
  return figure;
}

Figure spectrum_figure(const KernelMatrix& matrix, bool by_neighbours) {
  Figure figure;
  figure.id = "kernel-eigenvalues-" + matrix.term;
  figure.title = fmt::format("{}: eigenvalues", matrix.term);
  figure.x.title = "number", figure.y.title = "eigenvalue, share of the variance";
  figure.y.scale = AxisScale::logarithmic;
  double all = 0.0, sum = 0.0;
  for (const double each : matrix.eigenvalues) all += each;
  const auto layer = [&](const std::vector<double>& values, Tone tone, const char* name) {
    PlotLayer line;
    line.mark = Mark::line, line.tone = tone, line.name = name;
    for (std::size_t k = 0; k < values.size() && values[k] > 1e-9 * all; ++k) {
      line.x.push_back(static_cast<double>(k + 1)), line.y.push_back(values[k] / all);
    }
    return line;
  };
  figure.layers.push_back(layer(matrix.eigenvalues, Tone::model, "kernel"));
  if (!matrix.feature_eigenvalues.empty()) {
    figure.layers.push_back(layer(matrix.feature_eigenvalues, Tone::second, "features of the model"));
  }
  std::size_t enough = 0;
  while (enough < matrix.eigenvalues.size() && sum < 0.99 * all) sum += matrix.eigenvalues[enough++];
  figure.caption = fmt::format(
      "The faster they fall, the simpler the functions that the kernel allows, and the fewer features carry it. Here "
      "{} "
      "of {} directions have 99% of the variance at these rows.",
      enough, matrix.eigenvalues.size());
  if (!matrix.feature_eigenvalues.empty()) {
    const char* const rest = matrix.carried > 0.99 ? "they are enough"
                             : by_neighbours       ? "neighbouring rows carry the rest"
                                                   : "what is beyond their curve is lost, and more would help";
    figure.caption += fmt::format(" The model's features carry {:.1f}% of it: {}.", 100.0 * matrix.carried, rest);
  }
  return figure;
}

TextTable parameters_table(const Examined& all) {
  const std::vector<ParameterValue> parameters = all.model.parameters();
  const bool ends = std::ranges::any_of(parameters, [](const ParameterValue& each) { return !each.lower.empty(); });
  TextTable table;
  table.id = "parameters", table.header = {"parameter", "value"};
  if (ends) table.header.insert(table.header.end(), {"5%", "95%"});
  table.header.insert(table.header.end(), {"unit", "known or learned"});
  table.caption = fmt::format("Parameters of the kernels, in the units of the data: means over members. {}",
                              ends ? "90% intervals are by the curvature of the posterior where the search ended "
                                     "(Laplace), empty where they are "
                                     "not known; a wide one says that the data do not tell."
                                   : "Their intervals are not known here.");
  for (const ParameterValue& each : parameters) {
    for (std::size_t i = 0; i < each.values.size() && i < 12; ++i) {
      const std::string index = each.values.size() > 1 ? fmt::format("[{}]", i + 1) : "";
      std::vector<Entry>& row = table.rows.emplace_back();
      row = {words_entry(each.path + index), number_entry(each.values[i])};
      for (const std::vector<double>* const end : {&each.lower, &each.upper}) {
        if (ends) row.push_back(end->empty() ? words_entry("") : number_entry((*end)[i]));
      }
      row.push_back(words_entry(each.unit));
      row.push_back(words_entry(each.fixed ? "known" : each.at_edge ? "learned, at the edge of its prior" : "learned"));
    }
  }
  return table;
}

}  // namespace

std::optional<Section> kernels_section(const Examined& all) {
  TextTable parameters = parameters_table(all);
  if (parameters.rows.empty()) return std::nullopt;
  Section section{"kernels", "What the kernels learned", {}};
  section.parts.emplace_back(std::move(parameters));
  const std::vector<KernelCurve> curves = all.model.kernel_curves();
  for (std::size_t k = 0; k < std::min(curves.size(), kMostCurves); ++k) {
    section.parts.emplace_back(curve_figure(curves[k], k + 1));
  }
  if (curves.size() > kMostCurves) {
    section.parts.emplace_back(Paragraph{fmt::format("{} further curves are left out.", curves.size() - kMostCurves)});
  }
  if (!all.has_rows()) return section;
  const Table& rows = all.training != nullptr ? *all.training : *all.table;
  const std::vector<KernelMatrix> matrices = all.model.kernel_matrices(rows, kMatrixRows);
  for (std::size_t k = 0; k < std::min(matrices.size(), kMostMatrices); ++k) {
    section.parts.emplace_back(matrix_figure(matrices[k]));
    section.parts.emplace_back(spectrum_figure(matrices[k], all.fit.options.posterior == "neighbours"));
  }
  return section;
}

}  // namespace ick
