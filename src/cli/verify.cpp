#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "ick/store/model_directory.h"

namespace ick {

namespace {

struct VerifyRequest {
  std::string model;
  LoadOptions loading;
  bool json = false;
};

int run_verify(const VerifyRequest& request) {
  const Verification result = verify_model(request.model, request.loading);
  if (request.json) {
    fmt::print("{}\n", nlohmann::json{{"schema", 1},
                                      {"rows", result.rows},
                                      {"largest_difference", result.largest_difference},
                                      {"tolerance", kVerifyTolerance},
                                      {"passed", result.passed}}
                           .dump(2));
  } else {
    fmt::print("{}: {} rows predicted again, largest difference {:.2g} sd: {}\n", request.model, result.rows,
               result.largest_difference,
               result.passed ? "the model is whole" : "NOT the predictions it was saved with");
  }
  return result.passed ? 0 : 5;
}

}  // namespace

CLI::Option* add_trust(CLI::App& app, LoadOptions& options) {
  return app.add_flag(
      "--trust", options.trust,
      "Run a TorchScript that the model carries; it could do anything you can, so trust where it is from");
}

Command add_verify(CLI::App& program) {
  auto request = std::make_shared<VerifyRequest>();
  CLI::App* app = program.add_subcommand("verify", "Check that a model still predicts what it did when it was saved");
  app->add_option("model", request->model, "Folder of a model")->required();
  add_trust(*app, request->loading);
  app->add_flag("--json", request->json, "Print JSON");
  return {app, [request] { return run_verify(*request); }};
}

}  // namespace ick
