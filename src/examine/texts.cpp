#include <algorithm>
#include <cctype>

#include "examine/examined.h"

namespace ick {

std::string Examined::axis_title() const {
  const auto unit = fit.options.units.find(target());
  return short_text(target()) + (unit == fit.options.units.end() ? "" : " (" + unit->second + ")");
}

std::string Examined::rows_text() const {
  const std::string count = rows_count(table == nullptr ? 0 : table->rows);
  switch (seen) {
    case RowsSeen::holdout:
      return count + " held out of the fit";
    case RowsSeen::validation:
      return count + " set apart for validation, which weights were not trained on";
    case RowsSeen::training:
      return count + " that the model was trained on";
    case RowsSeen::unknown:
      break;
  }
  return count + " of a table that is not that of the fit";
}

std::string duration_words(double days) {
  struct Step {
    double days;
    const char* text;
  };
  constexpr Step kSteps[] = {{365.2425, "y"}, {1.0, "d"}, {1.0 / 24.0, "h"}, {1.0 / 1440.0, "min"}};
  for (const Step& step : kSteps) {
    if (days >= 0.9995 * step.days) return fmt::format("{:.3g} {}", days / step.days, step.text);
  }
  return fmt::format("{:.3g} s", 86400.0 * days);
}

std::string short_text(const std::string& text, std::size_t most) {
  std::string some;
  std::size_t letters = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    letters += (byte & 0xC0u) != 0x80u;  // a byte of UTF-8 that goes on is no letter
    if (letters > most) return some + "...";
    some += byte < 0x20u || byte == 0x7f ? ' ' : c;
  }
  return some;
}

std::string id_text(const std::string& text) {
  constexpr std::size_t kMost = 30;
  std::string id;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      id += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!id.empty() && id.back() != '-') {
      id += '-';
    }
    if (id.size() >= kMost) break;
  }
  while (!id.empty() && id.back() == '-') id.pop_back();
  return id;
}

double sd_of(std::span<const double> values) {
  double n = 0.0, mean = 0.0, square = 0.0;
  for (const double each : values) {
    if (!std::isfinite(each)) continue;
    n += 1.0;
    const double before = each - mean;
    mean += before / n;
    square += before * (each - mean);
  }
  return n > 0.0 ? std::sqrt(square / n) : std::nan("");
}

std::vector<std::int64_t> scored_rows(const Examined& all) {
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < all.residual.size(); ++i) {
    if (std::isfinite(all.residual[i])) rows.push_back(static_cast<std::int64_t>(i));
  }
  return rows;
}

PlotLayer error_bars(const std::vector<double>& at, const std::vector<double>& low, const std::vector<double>& high,
                     Tone tone, bool across) {
  PlotLayer layer;
  layer.mark = Mark::line, layer.tone = tone;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (!std::isfinite(low[i]) || !std::isfinite(high[i])) continue;
    std::vector<double>& along = across ? layer.x : layer.y;
    std::vector<double>& place = across ? layer.y : layer.x;
    along.insert(along.end(), {low[i], high[i], std::nan("")});
    place.insert(place.end(), {at[i], at[i], std::nan("")});
  }
  return layer;
}

}  // namespace ick
