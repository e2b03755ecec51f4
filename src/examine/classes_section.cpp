#include <algorithm>
#include <numeric>

#include "examine/examined.h"

// Classes: which are taken for which, and whether probabilities can be trusted.
namespace ick {

namespace {

constexpr std::size_t kMostClasses = 30;  // drawn

Figure confusion_figure(const Examined& all) {
  const std::vector<std::vector<std::int64_t>>& rows = all.evaluation.class_scores.confusion;
  const std::vector<std::string>& names = all.model.classes();
  const std::size_t count = std::min(rows.size(), kMostClasses);
  Figure figure;
  figure.id = "confusion", figure.title = "Classes observed and predicted";
  figure.x.title = "most probable class", figure.y.title = "observed class";
  figure.x.scale = figure.y.scale = AxisScale::levels;
  for (std::size_t c = 0; c < count; ++c) figure.x.levels.push_back(short_text(names[c], 16));
  figure.y.levels = figure.x.levels;
  figure.aspect = 1.1, figure.colour.title = "share of the class", figure.colour.low = 0.0, figure.colour.high = 1.0;
  PlotLayer cells, labels;
  cells.mark = Mark::cells, cells.tone = Tone::data, labels.mark = Mark::labels, labels.tone = Tone::reference;
  std::int64_t most = 0;
  std::size_t seen = 0, taken = 0;
  for (std::size_t r = 0; r < count; ++r) {
    const auto all_of = static_cast<double>(std::accumulate(rows[r].begin(), rows[r].end(), std::int64_t{0}));
    for (std::size_t c = 0; c < count; ++c) {
      if (r != c && rows[r][c] > most) most = rows[r][c], seen = r, taken = c;
      const auto x = static_cast<double>(c), y = static_cast<double>(r);
      cells.x.push_back(x - 0.5), cells.x2.push_back(x + 0.5);
      cells.y.push_back(y - 0.5), cells.y2.push_back(y + 0.5);
      cells.value.push_back(all_of > 0.0 ? static_cast<double>(rows[r][c]) / all_of : 0.0);
      cells.text.push_back(fmt::format("{} of {:.0f}", rows[r][c], all_of));
      if (count <= 12 && rows[r][c] > 0) {
        labels.x.push_back(x), labels.y.push_back(y), labels.text.push_back(std::to_string(rows[r][c]));
      }
    }
  }
  figure.layers.push_back(std::move(cells));
  if (!labels.x.empty()) figure.layers.push_back(std::move(labels));
  figure.caption = "Rows on the diagonal have their own class as the most probable one. ";
  figure.caption += most == 0 ? "Here all rows do."
                              : fmt::format("Here {:.1f}% do; {} is taken for {} most often, in {}.",
                                            100.0 * all.evaluation.class_scores.accuracy, short_text(names[seen]),
                                            short_text(names[taken]), rows_count(most));
  return figure;
}

// Of all classes and rows: probability, and whether the class was seen.
std::pair<std::vector<double>, std::vector<double>> said_and_seen(const Examined& all) {
  const Column& target = all.table->column(all.target());
  std::vector<double> said, seen;
  for (const std::int64_t row : all.evaluation.rows) {
    const auto i = static_cast<std::size_t>(row);
    const bool level = target.info.type == ColumnType::category;
    for (std::size_t c = 0; c < all.model.classes().size(); ++c) {
      const std::string text =
          level ? target.info.levels[static_cast<std::size_t>(target.values[i])] : fmt::format("{}", target.values[i]);
      said.push_back(all.prediction().probability[c][i]);
      seen.push_back(text == all.model.classes()[c] ? 1.0 : 0.0);
    }
  }
  return {said, seen};
}

Figure probability_figure(const Examined& all) {
  const auto [said, seen] = said_and_seen(all);
  const BinnedMeans bins = binned_means(said, seen, std::clamp<std::int64_t>(std::ssize(said) / 30, 2, 12));
  Figure figure;
  figure.id = "reliability", figure.title = "Probabilities and shares";
  figure.x.title = "probability that was predicted", figure.y.title = "share of rows of the class";
  figure.x.low = figure.y.low = 0.0, figure.x.high = figure.y.high = 1.0;
  figure.square = true, figure.aspect = 1.0;
  PlotLayer same, means;
  same.mark = means.mark = Mark::line;
  same.tone = Tone::reference, same.name = "as predicted", same.x = {0.0, 1.0}, same.y = {0.0, 1.0};
  means.tone = Tone::model, means.name = "this model", means.x = bins.x, means.y = bins.y;
  std::vector<double> low, high;
  double most = 0.0;
  for (std::size_t b = 0; b < bins.x.size(); ++b) {
    low.push_back(std::max(0.0, bins.y[b] - 2.0 * bins.error[b]));
    high.push_back(std::min(1.0, bins.y[b] + 2.0 * bins.error[b]));
    if (std::abs(bins.y[b] - bins.x[b]) > std::abs(most)) most = bins.y[b] - bins.x[b];
  }
  figure.layers = {same, means, error_bars(bins.x, low, high, Tone::model)};
  figure.caption = fmt::format(
      "Of rows with a probability of 70% for a class, 70% should be of it; a curve below the line is too sure of high "
      "probabilities. Here share and probability differ by {:.3f} at most, over {} bins of all classes together; the "
      "calibration error of the most probable class is {:.3f}.",
      std::abs(most), bins.x.size(), all.evaluation.class_scores.calibration_error);
  return figure;
}

}  // namespace

std::optional<Section> classes_section(const Examined& all) {
  if (!all.has_rows() || !all.classes()) return std::nullopt;
  Section section{"classes", "Classes", {}};
  if (all.scored) {
    section.parts.emplace_back(confusion_figure(all));
    section.parts.emplace_back(probability_figure(all));
    return section;
  }
  TextTable table;
  table.id = "classes", table.header = {"class", "rows of which it is the most probable"};
  table.caption = "The table has no target: these are predictions, and nothing says how good they are.";
  for (std::size_t c = 0; c < std::min(all.model.classes().size(), kMostClasses); ++c) {
    const std::vector<std::int64_t>& most = all.prediction().most_probable;
    const auto rows = std::count(most.begin(), most.end(), static_cast<std::int64_t>(c));
    table.rows.push_back({words_entry(short_text(all.model.classes()[c])), count_entry(rows)});
  }
  section.parts.emplace_back(std::move(table));
  return section;
}

}  // namespace ick
