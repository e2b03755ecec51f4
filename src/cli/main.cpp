#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/command.h"
#include "ick/base/error.h"
#include "ick/base/text.h"

namespace {

// 0 ok, 1 failure, 2 usage, 3 data, 4 numerical; the commands themselves give 5 and 130
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
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == argv[1]) return;
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  const std::string guess = ick::did_you_mean(argv[1], names);
  throw ick::UsageError("no command named \"" + std::string(argv[1]) + "\"" +
                        (guess.empty() ? "; there are " + ick::join_words(names) : guess));
}

int run(CLI::App& app, const std::vector<ick::Command>& commands, const bool& print_config, int argc, char** argv) {
  check_command(app, argc, argv);
  app.parse(argc, argv);
  for (const ick::Command& command : commands) {
    if (!command.app->parsed()) continue;
    if (print_config) {
      // In a form that --config reads.
      std::printf("[%s]\n%s", command.app->get_name().c_str(), command.app->config_to_str(true, true).c_str());
      return 0;
    }
    return command.run();
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("ick: networks and Gaussian-process kernels in one formula", "ick");
  app.set_version_flag("--version", "ick " ICK_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  app.set_config("--config", "", "File with settings, a section for each command; the command line wins");
  bool print_config = false;
  app.add_flag("--print-config", print_config, "Print the settings of the command, to keep as a file for --config");
  app.footer("Exit codes: 0 ok, 1 failure, 2 usage, 3 data, 4 numerical, 5 a check failed, 130 interrupted with a checkpoint.");
  const std::vector<ick::Command> commands = {ick::add_fit(app),     ick::add_predict(app), ick::add_evaluate(app),
                                              ick::add_explain(app), ick::add_verify(app),  ick::add_list(app),
                                              ick::add_completion(app), ick::add_manual(app)};
  try {
    const int code = run(app, commands, print_config, argc, argv);
    if (std::fflush(stdout) == 0) return code;
    std::fprintf(stderr, "ick: cannot write to stdout\n");
    return 1;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    std::fprintf(stderr, "ick: %s; `ick --help` shows how to call it\n", error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "ick: out of memory; `ick fit --dry-run` estimates what a fit needs\n");
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ick: %s\n", error.what());
    return exit_code(error);
  }
}
