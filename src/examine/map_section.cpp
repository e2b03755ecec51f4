#include <algorithm>
#include <map>

#include "examine/examined.h"

// Predictions, their sd and residuals at their places.
namespace ick {

namespace {

struct AtPlaces {
  std::vector<double> north, east, value;
  std::int64_t places = 0;  // before some were drawn
};

// The mean at each place of the rows that have a number.
AtPlaces at_places(const Examined& all, const std::vector<double>& values) {
  const Numbers &north = all.table->column(all.where.north).values, &east = all.table->column(all.where.east).values;
  PlacedRows rows;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i]) || !std::isfinite(north[i]) || !std::isfinite(east[i])) continue;
    rows.north.push_back(north[i]), rows.east.push_back(east[i]), rows.value.push_back(values[i]);
  }
  const PlacedRows means = means_of_places(rows);
  AtPlaces found;
  found.places = std::ssize(means.value);
  for (const std::int64_t k : some_rows_of(found.places, all.options.points, all.options.seed)) {
    const auto i = static_cast<std::size_t>(k);
    found.north.push_back(means.north[i]), found.east.push_back(means.east[i]);
    found.value.push_back(means.value[i]);
  }
  return found;
}

Figure map_figure(const Examined& all, const AtPlaces& at, const std::string& id, const std::string& title,
                  const std::string& what) {
  Figure figure;
  figure.id = id, figure.title = title;
  figure.x.title = short_text(all.where.east), figure.y.title = short_text(all.where.north);
  figure.coastline = all.where.sphere, figure.square = true, figure.aspect = 1.2;
  figure.colour.title = what;
  PlotLayer layer;
  layer.mark = Mark::points, layer.tone = Tone::data;
  layer.x = at.east, layer.y = at.north, layer.value = at.value;
  for (const double each : at.value) layer.text.push_back(fmt::format("{:.4g}", each));
  figure.layers.push_back(std::move(layer));
  return figure;
}

std::string place_text(const Examined& all, const AtPlaces& at, std::size_t i) {
  return fmt::format("{} {:.3f}, {} {:.3f}", short_text(all.where.north), at.north[i], short_text(all.where.east),
                     at.east[i]);
}

std::string thinned_text(const AtPlaces& at) {
  return at.places > std::ssize(at.value)
             ? fmt::format(" {} of {} places are drawn, at random.", at.value.size(), at.places)
             : "";
}

}  // namespace

std::optional<Section> map_section(const Examined& all) {
  if (!all.has_numbers() || all.where.north.empty()) return std::nullopt;
  const AtPlaces mean = at_places(all, all.prediction().mean);
  if (mean.places < 2) return std::nullopt;
  Section section{"map", "On the map", {}};
  const auto [low, high] = std::minmax_element(mean.value.begin(), mean.value.end());
  Figure predicted = map_figure(all, mean, "map-mean", "Predicted", "predicted " + all.axis_title());
  predicted.caption = fmt::format(
      "Does the pattern make sense to somebody who knows the region? Means over the rows of each of {} places go from "
      "{:.4g} at {} to {:.4g} at {}.{}",
      mean.places, *low, place_text(all, mean, static_cast<std::size_t>(low - mean.value.begin())), *high,
      place_text(all, mean, static_cast<std::size_t>(high - mean.value.begin())), thinned_text(mean));
  section.parts.emplace_back(std::move(predicted));

  const AtPlaces sd = at_places(all, all.prediction().sd);
  const auto [surest, least_sure] = std::minmax_element(sd.value.begin(), sd.value.end());
  Figure spread = map_figure(all, sd, "map-sd", "How uncertain", "sd of an observation");
  spread.caption = fmt::format(
      "It should be larger where there are few data, or where observations scatter more. Here it goes from {:.4g} to "
      "{:.4g}{}.",
      *surest, *least_sure,
      *least_sure < 1.05 * *surest
          ? ": nearly the same everywhere"
          : ", the largest at " + place_text(all, sd, static_cast<std::size_t>(least_sure - sd.value.begin())));
  section.parts.emplace_back(std::move(spread));
  if (!all.scored) return section;

  const AtPlaces rest = at_places(all, all.residual);
  if (rest.places < 2) return section;
  Figure residual = map_figure(all, rest, "map-residual", "Observed less predicted", "mean residual");
  double most = 0.0, where = 0.0;
  for (std::size_t i = 0; i < rest.value.size(); ++i) {
    if (std::abs(rest.value[i]) > std::abs(most)) most = rest.value[i], where = static_cast<double>(i);
  }
  const double end = quantile_of(
      [&] {
        std::vector<double> sizes;
        for (const double each : rest.value) sizes.push_back(std::abs(each));
        return sizes;
      }(),
      0.98);
  residual.colour.low = -end, residual.colour.high = end, residual.colour.middle = 0.0;
  residual.caption = fmt::format(
      "Regions of one colour are what the model has not learned about places; a single place that stands out may be a "
      "faulty sensor. The mean residual of a place has an sd of {:.3g}, and the largest, {:+.3g}, is at {}.{}",
      sd_of(rest.value), most, place_text(all, rest, static_cast<std::size_t>(where)), thinned_text(rest));
  section.parts.emplace_back(std::move(residual));
  return section;
}

}  // namespace ick
