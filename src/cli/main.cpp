#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/command.h"
#include "ick/base/error.h"
#include "ick/base/text.h"

namespace {

// 0 ok, 1 failure, 2 usage, 3 data, 4 numerical
int exit_code(const std::exception& error) {
  if (dynamic_cast<const ick::UsageError*>(&error) != nullptr) return 2;
  if (dynamic_cast<const ick::DataError*>(&error) != nullptr) return 3;
  if (dynamic_cast<const ick::NumericError*>(&error) != nullptr) return 4;
  return 1;
}

// The first word must be a command; CLI11 would only say that one is missing.
void check_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  const std::string guess = ick::did_you_mean(argv[1], names);
  throw ick::UsageError("no command named \"" + std::string(argv[1]) + "\"" +
                        (guess.empty() ? "; there are " + ick::join_words(names) : guess));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("ick: networks and Gaussian-process kernels in one formula", "ick");
  app.set_version_flag("--version", "ick " ICK_VERSION);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 ok, 1 failure, 2 usage, 3 data, 4 numerical.");

  ick::ListOptions list_options;
  CLI::App* list = app.add_subcommand("list", "Show what formulas can be made of");
  list->add_option("what", list_options.what, "kernels or features")->capture_default_str();
  list->add_flag("--json", list_options.json, "Print JSON");

  ick::ExplainOptions explain_options;
  CLI::App* explain = app.add_subcommand("explain", "Show what a kernel expression means, with every default");
  explain->add_option("formula", explain_options.formula, "for example 'rbf(x) * periodic(t, period=7)'")->required();
  explain->add_option("--features", explain_options.features, "features for each term")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  explain->add_flag("--json", explain_options.json, "Print JSON");

  try {
    check_command(app, argc, argv);
    app.parse(argc, argv);
    if (list->parsed()) ick::list(list_options);
    if (explain->parsed()) ick::explain(explain_options);
    return std::fflush(stdout) == 0 ? 0 : 1;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    std::fprintf(stderr, "ick: %s; `ick --help` shows how to call it\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ick: %s\n", error.what());
    return exit_code(error);
  }
}
