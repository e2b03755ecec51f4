#include "ick/train/options.h"

#include <charconv>
#include <cmath>

#include "ick/base/error.h"
#include "ick/base/unit.h"
#include "ick/formula/expression.h"

namespace ick::detail {

OptionValue read_noise(const std::string& text) {
  double noise = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), noise);
  if (error != std::errc() || end != text.data() + text.size() || !(noise >= 0.0) || !std::isfinite(noise)) {
    throw UsageError(setting("noise", text) + ": expected a positive number, or learned");
  }
  if (noise > 0.0) return noise;
  throw UsageError(setting("noise", "0") +
                   ": without noise the targets are the function itself, and no posterior can be solved for; give a "
                   "small positive number, or leave it out to have it learned");
}

void check_horizon(const OptionValue& horizon) {
  const std::string& text = std::get<std::string>(horizon);
  if (text.empty()) return;
  const std::optional<Quantity> length = read_quantity(text);
  const bool known = length && (length->unit.empty() || convert(1.0, length->unit, length->unit));
  if (known && length->number > 0.0) return;
  throw UsageError(setting("horizon", text) + ": expected a length of time such as 14d, 24h or 1y");
}

void check_units(const OptionValue& units) {
  for (const auto& [column, unit] : std::get<std::map<std::string, std::string>>(units)) {
    if (convert(1.0, unit, unit)) continue;
    throw UsageError(setting("units", column + "=" + unit) + ": no unit named \"" + unit +
                     "\"; there are s, min, h, d, w, y, mm, cm, m, km, deg and rad");
  }
}

std::vector<std::string> likelihood_names() {
  std::vector<std::string> names;
  for (const Likelihood* row : likelihoods()) {
    names.emplace_back(row->name);
    if (!row->alias.empty()) names.emplace_back(row->alias);
  }
  return names;
}

}  // namespace ick::detail
