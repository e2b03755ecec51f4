#include <algorithm>
#include <numeric>

#include "examine/examined.h"
#include "ick/table/time.h"

// Observed and predicted over time, with bands.
namespace ick {

namespace {

constexpr std::int64_t kMostSteps = 1'500, kNearSteps = 200, kMostQuiet = 1'000;

struct OneSeries {
  std::int64_t number = 0;
  std::vector<std::int64_t> rows;  // in the order of time
  double error = 0.0;              // rmse
};

std::vector<OneSeries> series_of(const Examined& all) {
  const Numbers& time = all.table->column(all.where.time).values;
  std::vector<OneSeries> found(all.where.names.size());
  for (std::size_t s = 0; s < found.size(); ++s) found[s].number = static_cast<std::int64_t>(s);
  for (std::size_t i = 0; i < time.size(); ++i) {
    if (!std::isfinite(time[i]) || !std::isfinite(all.prediction().mean[i])) continue;
    found[static_cast<std::size_t>(all.where.series[i])].rows.push_back(static_cast<std::int64_t>(i));
  }
  for (OneSeries& each : found) {
    std::stable_sort(each.rows.begin(), each.rows.end(), [&](std::int64_t a, std::int64_t b) {
      return time[static_cast<std::size_t>(a)] < time[static_cast<std::size_t>(b)];
    });
    double square = 0.0, n = 0.0;
    for (const std::int64_t i : each.rows) {
      const double residual = all.residual.empty() ? std::nan("") : all.residual[static_cast<std::size_t>(i)];
      if (std::isfinite(residual)) square += residual * residual, n += 1.0;
    }
    each.error = n > 0.0 ? std::sqrt(square / n) : std::nan("");
  }
  std::erase_if(found, [](const OneSeries& each) { return each.rows.size() < 2; });
  return found;
}

// Of several, the ones with the smallest, middle and largest error; of those without one, the longest.
std::vector<std::pair<OneSeries, std::string>> chosen_series(std::vector<OneSeries> found) {
  if (found.size() == 1) return {{found[0], ""}};
  std::stable_sort(found.begin(), found.end(),
                   [](const OneSeries& a, const OneSeries& b) { return a.rows.size() > b.rows.size(); });
  if (!std::isfinite(found[0].error)) return {{found[0], "the longest series"}};
  std::vector<OneSeries> scored;
  const std::size_t enough = found[0].rows.size() / 4;
  std::copy_if(found.begin(), found.end(), std::back_inserter(scored),
               [&](const OneSeries& each) { return std::isfinite(each.error) && each.rows.size() >= enough; });
  std::stable_sort(scored.begin(), scored.end(),
                   [](const OneSeries& a, const OneSeries& b) { return a.error < b.error; });
  if (scored.size() == 2)
    return {{scored[0], "the better predicted series"}, {scored[1], "the worse predicted series"}};
  if (scored.size() < 2) return {{found[0], "the longest series"}};
  return {{scored.front(), "the best predicted series"},
          {scored[scored.size() / 2], "a series in the middle"},
          {scored.back(), "the worst predicted series"}};
}

void add_rows(const Examined& all, const std::vector<std::int64_t>& rows, bool zoomed_in, Figure& figure) {
  const Numbers& time = all.table->column(all.where.time).values;
  PlotLayer band, mean, points;
  band.mark = Mark::band, band.tone = Tone::model;
  band.name = fmt::format("{:.0f}% interval", 100.0 * all.options.level);
  mean.mark = Mark::line, mean.tone = Tone::model, mean.name = "predicted";
  points.mark = Mark::points, points.tone = Tone::data, points.name = "observed";
  const double gap = all.where.step * (zoomed_in ? 1.5 : 20.0);
  double before = 0.0;
  for (const std::int64_t row : rows) {
    const auto i = static_cast<std::size_t>(row);
    const double t = time[i];
    if (!mean.x.empty() && all.where.step > 0.0 && t - before > gap && std::ssize(rows) <= kMostSteps) {
      for (PlotLayer* each : {&band, &mean}) each->x.push_back(0.5 * (t + before)), each->y.push_back(std::nan(""));
      band.y2.push_back(std::nan(""));
    }
    before = t;
    band.x.push_back(t), band.y.push_back(all.prediction().lower[i]), band.y2.push_back(all.prediction().upper[i]);
    mean.x.push_back(t), mean.y.push_back(all.prediction().mean[i]);
    if (!all.observed.empty() && std::isfinite(all.observed[i])) {
      points.x.push_back(t), points.y.push_back(all.observed[i]);
    }
  }
  figure.layers.push_back(std::move(band)), figure.layers.push_back(std::move(mean));
  if (!points.x.empty()) figure.layers.push_back(std::move(points));
}

// What the model learned from before and after, quietly.
void add_training(const Examined& all, Figure& figure) {
  if (all.training == nullptr || all.where.names.size() != 1) return;
  const Numbers& time = all.training->column(all.where.time).values;
  const Numbers& target = all.training->column(all.target()).values;
  std::vector<double> values(target.begin(), target.end());
  PlotLayer layer;
  layer.mark = Mark::points, layer.tone = Tone::quiet, layer.name = "learned from";
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < time.size(); ++i) {
    if (std::isfinite(time[i]) && std::isfinite(target[i])) rows.push_back(static_cast<std::int64_t>(i));
  }
  std::stable_sort(rows.begin(), rows.end(), [&](std::int64_t a, std::int64_t b) {
    return time[static_cast<std::size_t>(a)] < time[static_cast<std::size_t>(b)];
  });
  std::vector<double> in_order;
  for (const std::int64_t i : rows) in_order.push_back(target[static_cast<std::size_t>(i)]);
  for (const std::int64_t k : outline_of(in_order, kMostQuiet)) {
    layer.x.push_back(time[static_cast<std::size_t>(rows[static_cast<std::size_t>(k)])]);
    layer.y.push_back(in_order[static_cast<std::size_t>(k)]);
  }
  figure.layers.insert(figure.layers.begin(), std::move(layer));
}

Figure base_figure(const Examined& all, const std::string& id, const std::string& title) {
  Figure figure;
  figure.id = id, figure.title = title;
  figure.x.scale = AxisScale::time, figure.x.title = short_text(all.where.time);
  figure.y.title = all.axis_title();
  figure.aspect = 2.6, figure.zoom = true;
  return figure;
}

std::string outside_text(const Examined& all, const std::vector<std::int64_t>& rows) {
  std::int64_t known = 0, outside = 0;
  double most = 0.0, when = std::nan("");
  const Numbers& time = all.table->column(all.where.time).values;
  for (const std::int64_t row : rows) {
    const auto i = static_cast<std::size_t>(row);
    if (all.observed.empty() || !std::isfinite(all.residual[i])) continue;
    ++known, outside += !all.evaluation.inside[i];
    const double size = std::abs(all.residual[i]) / all.prediction().sd[i];
    if (size > most) most = size, when = time[i];
  }
  if (known == 0) return "There are no observations to compare with.";
  return fmt::format(
      "Here {} of {} observations lie outside the band, {:.1f}% ({:.1f}% are meant to); the one farthest out, {:.1f} "
      "sd "
      "from its prediction, is of {}.",
      outside, known, 100.0 * static_cast<double>(outside) / static_cast<double>(known),
      100.0 * (1.0 - all.options.level), most, time_text(when));
}

}  // namespace

std::optional<Section> time_section(const Examined& all) {
  if (!all.has_numbers() || all.where.time.empty()) return std::nullopt;
  const std::vector<OneSeries> found = series_of(all);
  if (found.empty()) return std::nullopt;
  Section section{"time", "Over time", {}};
  if (found.size() > 1) {
    section.parts.emplace_back(Paragraph{
        fmt::format("There are {} series; drawn are the best, a middle and the worst predicted one, by their rmse.",
                    found.size())});
  }
  for (const auto& [series, what] : chosen_series(found)) {
    const std::string name = all.where.names[static_cast<std::size_t>(series.number)];
    const std::string number = std::to_string(section.parts.size() + 1);
    std::vector<double> wanted;
    for (const std::int64_t row : series.rows) {
      const auto i = static_cast<std::size_t>(row);
      const bool known = !all.observed.empty() && std::isfinite(all.observed[i]);
      wanted.push_back(known ? all.residual[i] : all.prediction().mean[i]);
    }
    std::vector<std::int64_t> drawn;
    for (const std::int64_t k : outline_of(wanted, kMostSteps))
      drawn.push_back(series.rows[static_cast<std::size_t>(k)]);
    Figure figure =
        base_figure(all, "time-" + number, name.empty() ? "Observed and predicted" : short_text(name) + ", " + what);
    add_rows(all, drawn, false, figure);
    add_training(all, figure);
    figure.caption = "Observations should scatter in the band without a pattern. " + outside_text(all, series.rows);
    if (std::isfinite(series.error)) figure.caption += fmt::format(" The rmse is {:.4g}.", series.error);
    if (drawn.size() < series.rows.size()) {
      figure.caption += fmt::format(
          " Of {}, {} are drawn: those with the largest and smallest residual of each run, so that no outlier is "
          "missed.",
          rows_count(std::ssize(series.rows)), drawn.size());
    }
    section.parts.emplace_back(std::move(figure));
    if (std::ssize(series.rows) <= 2 * kNearSteps) continue;
    const std::vector<std::int64_t> last(series.rows.end() - kNearSteps, series.rows.end());
    Figure near =
        base_figure(all, "time-near-" + number,
                    fmt::format("{}the last {} rows", name.empty() ? "" : short_text(name) + ", ", kNearSteps));
    if (near.title[0] == 't') near.title[0] = 'T';
    add_rows(all, last, true, near);
    near.caption = "The same, near by: does the prediction follow, or lag behind? " + outside_text(all, last);
    section.parts.emplace_back(std::move(near));
  }
  return section;
}

}  // namespace ick
