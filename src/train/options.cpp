#include "ick/train/options.h"

#include <charconv>
#include <cmath>

#include "ick/base/error.h"
#include "ick/base/unit.h"

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
