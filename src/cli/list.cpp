#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/words.h"
#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/baseline/baseline.h"
#include "ick/formula/derived.h"
#include "ick/inference/engine.h"
#include "ick/likelihood/likelihood.h"
#include "ick/net/network.h"
#include "ick/trees/term.h"

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

constexpr FeatureWords kTermOptions[] = {
    {"features", "nystrom, fourier or hilbert"},
    {"points", "features of each product of kernels; chosen from the data by default"},
    {"placement", "where inducing points are put: automatic, grid, one_period, kmeans or pivoted_cholesky"},
    {"train_points", "yes or no: inducing points move while training"},
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

nlohmann::json network_json(const NetworkRow& row) {
  nlohmann::json arguments = nlohmann::json::array();
  for (const NetworkArgument& each : row.arguments) {
    arguments.push_back({{"name", each.name}, {"what", each.text}, {"default", each.default_text}});
  }
  return {{"name", row.name},
          {"what", row.text},
          {"reads", row.reads == Reads::image ? "an image, then columns" : "columns"},
          {"arguments", arguments}};
}

void print_kernels() {
  for (const KernelRow& row : kernel_table()) {
    fmt::print("{:<22} {}\n", row.title(), row.formula);
    fmt::print("{:<22} of {}; features {}\n", "", inputs_text(row.inputs), fmt::join(features_of(row), ", "));
    for (const ParameterDeclaration& each : row.parameters) {
      const std::string unit = unit_text(each.unit);
      fmt::print("{:<24}{:<12} {}{}{}; starts at {}\n", "", each.name, shape_text(each.shape), unit.empty() ? "" : ", ",
                 unit, each.start_text);
    }
  }
  fmt::print("\n{}\n", kLetters);
}

void print_networks() {
  for (const NetworkRow& row : network_table()) {
    fmt::print("{:<22} {}\n", row.name, row.text);
    for (const NetworkArgument& each : row.arguments) {
      const std::string otherwise = each.default_text.empty() ? "" : fmt::format("; default {}", each.default_text);
      fmt::print("{:<24}{:<12} {}{}\n", "", each.name, each.text, otherwise);
    }
  }
}

void print_trees() {
  for (const TreeKind& kind : tree_kinds()) {
    fmt::print("{:<22} {}\n", kind.name, kind.text);
    for (const TreeArgument& each : kind.arguments) {
      fmt::print("{:<24}{:<12} {}; default {}\n", "", each.name, each.text, each.default_text);
    }
  }
}

nlohmann::json tree_json(const TreeKind& kind) {
  nlohmann::json arguments = nlohmann::json::array();
  for (const TreeArgument& each : kind.arguments) {
    arguments.push_back({{"name", each.name}, {"what", each.text}, {"default", each.default_text}});
  }
  return {{"name", kind.name}, {"what", kind.text}, {"arguments", arguments}};
}

void print_likelihoods() {
  for (const Likelihood* row : likelihoods()) {
    fmt::print("{:<22} {}\n",
               row->alias.empty() ? std::string(row->name) : fmt::format("{} ({})", row->name, row->alias), row->text);
  }
}

void print_posteriors() {
  for (const Engine* row : engines()) fmt::print("{:<22} {}\n", row->name, row->text);
}

void print_baselines() {
  for (const Baseline* row : baselines()) fmt::print("{:<22} {}\n", row->name, row->text);
}

void print_images() {
  fmt::print("Where images come from, in cnn, resnet, vit, deepvit and torchscript:\n");
  for (const ImageArgument& each : image_arguments()) {
    fmt::print("{:<24}{:<12} {}; default {}\n", "", each.name, each.text, each.default_text);
  }
  fmt::print("\nTransformations of columns, for networks:\n");
  fmt::print("{:<22} normal scores of the ranks of a number\n", "rank(x)");
  fmt::print("{:<22} sine and cosine of each period; also within trees(...)\n", "cycle(t, period=1y)");
  fmt::print("{:<22} leaves of n totally random trees of this depth, 2^depth each\n", "trees(x, n=10, depth=2)");
}

void print_features() {
  for (const FeatureWords& each : kFeatures) fmt::print("{:<22} {}\n", each.name, each.what);
  fmt::print("\nOptions of a term, in any of its calls:\n");
  for (const FeatureWords& each : kTermOptions) fmt::print("{:<22} {}\n", each.name, each.what);
}

// As a formula writes it: hour(t), x - y.
std::string function_text(const DerivedFunction& function) {
  if (function.takes == DerivedFunction::Takes::pair) return "x - y";
  const std::string name(function.name), of = function.takes == DerivedFunction::Takes::time ? "t" : "x";
  return name + "(" + of + (name == "holiday" ? ", days.csv)" : ")");
}

void print_functions() {
  for (const DerivedFunction& each : derived_functions()) fmt::print("{:<22} {}\n", function_text(each), each.text);
}

int run_list(const std::string& what, bool json) {
  const std::vector<std::string> choices = {"all",    "kernels",  "networks",    "trees",      "functions",
                                            "images", "features", "likelihoods", "posteriors", "baselines"};
  if (std::find(choices.begin(), choices.end(), what) == choices.end()) {
    const std::string guess = did_you_mean(what, choices);
    throw UsageError("no list named \"" + what + "\"" + (guess.empty() ? "; there are " + join_words(choices) : guess));
  }
  const auto wanted = [&](const char* part) { return what == "all" || what == part; };
  if (json) {
    nlohmann::json out = {{"schema", 1}};
    if (wanted("kernels")) {
      for (const KernelRow& row : kernel_table()) out["kernels"].push_back(kernel_json(row));
    }
    if (wanted("networks")) {
      for (const NetworkRow& row : network_table()) out["networks"].push_back(network_json(row));
    }
    if (wanted("trees")) {
      for (const TreeKind& kind : tree_kinds()) out["trees"].push_back(tree_json(kind));
    }
    if (wanted("functions")) {
      for (const DerivedFunction& each : derived_functions()) {
        out["functions"].push_back({{"name", each.name}, {"written", function_text(each)}, {"what", each.text}});
      }
    }
    if (wanted("likelihoods")) {
      for (const Likelihood* row : likelihoods())
        out["likelihoods"].push_back({{"name", row->name}, {"what", row->text}});
    }
    if (wanted("posteriors")) {
      for (const Engine* row : engines()) out["posteriors"].push_back({{"name", row->name}, {"what", row->text}});
    }
    if (wanted("baselines")) {
      for (const Baseline* row : baselines()) out["baselines"].push_back({{"name", row->name}, {"what", row->text}});
    }
    if (wanted("images")) {
      for (const ImageArgument& each : image_arguments()) {
        out["images"].push_back({{"name", each.name}, {"what", each.text}, {"default", each.default_text}});
      }
    }
    if (wanted("features")) {
      for (const FeatureWords& each : kFeatures) out["features"].push_back({{"name", each.name}, {"what", each.what}});
    }
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  const auto section = [&](const char* part, void (*print)()) {
    if (!wanted(part)) return;
    if (what == "all") fmt::print("{}{}\n\n", std::string_view(part) == "kernels" ? "" : "\n", part);
    print();
  };
  section("kernels", print_kernels);
  section("networks", print_networks);
  section("trees", print_trees);
  section("functions", print_functions);
  section("images", print_images);
  section("features", print_features);
  section("likelihoods", print_likelihoods);
  section("posteriors", print_posteriors);
  section("baselines", print_baselines);
  return 0;
}

}  // namespace

Command add_list(CLI::App& program) {
  struct Request {
    std::string what = "all";
    bool json = false;
  };
  auto request = std::make_shared<Request>();
  CLI::App* app = program.add_subcommand("list", "Show what formulas can be made of");
  app->add_option("what", request->what,
                  "kernels, networks, trees, functions (of columns), images, features, likelihoods, posteriors, "
                  "baselines or all")
      ->capture_default_str();
  app->add_flag("--json", request->json, "Print JSON");
  return {app, [request] { return run_list(request->what, request->json); }};
}

}  // namespace ick
