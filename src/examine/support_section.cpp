#include <algorithm>
#include <array>

#include "examine/examined.h"

// Where there were no data to learn from.
namespace ick {

std::optional<Section> support_section(const Examined& all) {
  if (!all.has_rows() || all.prediction().support.empty()) return std::nullopt;
  const std::vector<std::string> names = all.model.support_names();
  TextTable table;
  table.id = "support";
  table.header = {"kernels of", "inside", "at the edge", "extrapolating", "not known"};
  if (all.has_residuals()) table.header.insert(table.header.end(), {"rmse inside", "rmse extrapolating"});
  double worst = 0.0;
  std::string worst_name;
  for (std::size_t s = 0; s < names.size(); ++s) {
    const std::vector<Support>& of = all.prediction().support[s];
    std::array<double, 4> rows{};
    std::array<double, 4> square{}, scored{};
    for (std::size_t i = 0; i < of.size(); ++i) {
      const auto kind = static_cast<std::size_t>(of[i]);
      rows[kind] += 1.0;
      if (!all.has_residuals() || !std::isfinite(all.residual[i])) continue;
      square[kind] += all.residual[i] * all.residual[i], scored[kind] += 1.0;
    }
    const auto n = static_cast<double>(of.size());
    std::vector<Entry>& row = table.rows.emplace_back();
    row = {words_entry(short_text(names[s])), share_entry(rows[0] / n), share_entry(rows[1] / n),
           share_entry(rows[2] / n), share_entry(rows[3] / n)};
    if (all.has_residuals()) {
      row.push_back(number_entry(std::sqrt(square[0] / scored[0])));
      row.push_back(number_entry(std::sqrt(square[2] / scored[2])));
    }
    if (rows[2] / n > worst) worst = rows[2] / n, worst_name = names[s];
  }
  if (table.rows.empty()) return std::nullopt;
  table.caption =
      "Rows by where they lie among the training rows, as the kernels of these columns see it: predictions of "
      "extrapolating rows fall back to what the other terms say. ";
  table.caption += worst > 0.0 ? fmt::format("Most extrapolate in {}: {:.1f}%.", short_text(worst_name), 100.0 * worst)
                               : "Here no row extrapolates.";
  Section section{"support", "Where there were no data", {}};
  section.parts.emplace_back(std::move(table));
  return section;
}

}  // namespace ick
