#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/words.h"
#include "ick/base/error.h"
#include "ick/base/text.h"

namespace ick {

namespace {

struct FeatureWords {
  const char* name;
  const char* what;
};

constexpr FeatureWords kFeatures[] = {
    {"nystrom", "L^-1 k(Z, x) at inducing points Z; every kernel; the default"},
    {"fourier", "cosines and sines at frequencies of the kernel's spectrum; stationary kernels"},
    {"hilbert",
     "sines on a box with spectral weights; stationary kernels, up to three inputs (a spectral mixture: one)"},
};

nlohmann::json kernel_json(const KernelRow& row) {
  nlohmann::json parameters = nlohmann::json::array();
  for (const ParameterDeclaration& each : row.parameters) {
    parameters.push_back({{"name", each.name},
                          {"count", shape_text(each.shape)},
                          {"constraint", describe(each.constraint)},
                          {"unit", unit_text(each.unit)},
                          {"start", each.start_text}});
  }
  return {{"name", row.name},       {"sphere", row.inputs == Inputs::place}, {"inputs", inputs_text(row.inputs)},
          {"formula", row.formula}, {"features", features_of(row)},          {"parameters", parameters}};
}

}  // namespace

void list(const ListOptions& options) {
  const std::vector<std::string> choices = {"kernels", "features"};
  if (std::find(choices.begin(), choices.end(), options.what) == choices.end()) {
    const std::string guess = did_you_mean(options.what, choices);
    throw UsageError("no list named \"" + options.what + "\"" +
                     (guess.empty() ? "; there are " + join_words(choices) : guess));
  }
  const bool kernels = options.what == "kernels";
  if (options.json) {
    nlohmann::json out = {{"schema", "ick.list/1"}};
    if (kernels) {
      for (const KernelRow& row : kernel_table()) out["kernels"].push_back(kernel_json(row));
    } else {
      for (const FeatureWords& each : kFeatures) out["features"].push_back({{"name", each.name}, {"what", each.what}});
    }
    fmt::print("{}\n", out.dump(2));
  } else if (kernels) {
    for (const KernelRow& row : kernel_table()) {
      fmt::print("{:<22} {}\n", row.title(), row.formula);
      fmt::print("{:<22} of {}; features {}\n", "", inputs_text(row.inputs), fmt::join(features_of(row), ", "));
      for (const ParameterDeclaration& each : row.parameters) {
        const std::string unit = unit_text(each.unit);
        fmt::print("{:<24}{:<12} {}{}{}; starts at {}\n", "", each.name, shape_text(each.shape),
                   unit.empty() ? "" : ", ", unit, each.start_text);
      }
    }
    fmt::print("\n{}\n", kLetters);
  } else {
    for (const FeatureWords& each : kFeatures) fmt::print("{:<10} {}\n", each.name, each.what);
  }
}

}  // namespace ick
