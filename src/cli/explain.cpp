#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/command.h"
#include "cli/words.h"
#include "ick/base/text.h"
#include "ick/kernel/kernel.h"

namespace ick {

namespace {

constexpr int kLevelsAssumed = 3;

// Without data every column is taken to range from 0 to 1, and one that categorical() reads to have three levels.
std::vector<InputSummary> assumed_inputs(const SumOfProducts& sum) {
  std::vector<InputSummary> inputs;
  for (const ick::Product& product : sum) {
    for (const Call& call : product) {
      for (const std::string& column : call.columns) {
        const bool known =
            std::any_of(inputs.begin(), inputs.end(), [&](const InputSummary& each) { return each.name == column; });
        if (known) continue;
        InputSummary input;
        input.name = column;
        input.levels = call.name == "categorical" ? kLevelsAssumed : 0;
        inputs.push_back(std::move(input));
      }
    }
  }
  return inputs;
}

struct ParameterText {
  std::string path, start, state;
};

std::vector<ParameterText> parameters_of(const Kernel& kernel, std::size_t t) {
  std::vector<ParameterText> rows;
  const std::string prefix = "term" + std::to_string(t + 1) + ".";
  for (const Parameter& each : kernel.parameters().parameters()) {
    if (!each.path.starts_with(prefix)) continue;
    const at::Tensor values = kernel.parameters().natural(each.path).detach()[0];
    std::string start;
    for (std::int64_t i = 0; i < values.size(0); ++i) {
      start += (i == 0 ? "" : ", ") + fmt::format("{:.4g}", values[i].item<double>());
    }
    rows.push_back(
        {each.path, each.count == 1 ? start : "[" + start + "]", each.fixed ? "fixed" : describe(each.constraint)});
  }
  return rows;
}

// The first term that has this kernel.
std::int64_t owner_of(const Kernel& kernel, const Factor& factor) {
  const auto has = [&](const std::vector<Factor>& factors) {
    return std::any_of(factors.begin(), factors.end(),
                       [&](const Factor& f) { return f.first_parameter == factor.first_parameter; });
  };
  return std::find_if(kernel.terms().begin(), kernel.terms().end(), has) - kernel.terms().begin();
}

}  // namespace

void explain(const ExplainOptions& options) {
  const SumOfProducts sum = canonical(parse_expression(options.formula));
  const Kernel kernel(sum, assumed_inputs(sum));
  if (options.json) {
    nlohmann::json out = {{"schema", "ick.explain/1"},
                          {"canonical", print(sum)},
                          {"parameters", kernel.parameters().size()},
                          {"features", options.features * static_cast<long>(sum.size())}};
    for (std::size_t t = 0; t < sum.size(); ++t) {
      nlohmann::json parameters = nlohmann::json::array();
      for (const ParameterText& each : parameters_of(kernel, t)) {
        parameters.push_back({{"path", each.path}, {"start", each.start}, {"state", each.state}});
      }
      out["terms"].push_back({{"product", print(SumOfProducts{sum[t]})}, {"parameters", parameters}});
    }
    fmt::print("{}\n", out.dump(2));
    return;
  }
  fmt::print("{}\n", print(sum));
  fmt::print("  {} term{}, {} number{} to learn or hold, up to {} features\n", sum.size(), sum.size() == 1 ? "" : "s",
             kernel.parameters().size(), kernel.parameters().size() == 1 ? "" : "s",
             options.features * static_cast<long>(sum.size()));
  fmt::print(
      "  * is a product of covariances on the joined inputs, mapped to features once; + a sum, features side by "
      "side\n");
  fmt::print("  {}\n", kLetters);
  for (std::size_t t = 0; t < sum.size(); ++t) {
    fmt::print("\nterm {}: {}\n", t + 1, print(SumOfProducts{sum[t]}));
    for (const Factor& f : kernel.terms()[t]) {
      const std::int64_t owner = owner_of(kernel, f);
      fmt::print("  {:<20} {}{}\n", f.row->title(), f.row->formula,
                 owner < static_cast<std::int64_t>(t) ? fmt::format(" (shared with term {})", owner + 1) : "");
    }
    for (const ParameterText& each : parameters_of(kernel, t)) {
      fmt::print("    {:<34} starts at {:<22} {}\n", each.path, each.start, each.state);
    }
  }
  fmt::print(stderr, "\nStarts assume columns from 0 to 1; with data they follow its ranges.\n");
}

}  // namespace ick
