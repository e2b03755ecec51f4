#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/with_flags.h"
#include "ick/base/error.h"
#include "ick/base/memory.h"
#include "ick/base/text.h"

namespace {

// 0 ok, 1 failure, 2 usage, 3 data, 4 numerical; the commands themselves give 5 and 130
int exit_code(const std::exception& error) {
  if (dynamic_cast<const ick::UsageError*>(&error) != nullptr) return 2;
  if (dynamic_cast<const ick::DataError*>(&error) != nullptr) return 3;
  if (dynamic_cast<const ick::NumericError*>(&error) != nullptr) return 4;
  return 1;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// The first word must be a command; CLI11 would only say that one is missing.
void check_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  const auto is_called = [&](const CLI::App* command) { return command->check_name(argv[1]); };
  const std::vector<const CLI::App*> commands = app.get_subcommands({});
  if (std::any_of(commands.begin(), commands.end(), is_called)) return;
  const std::vector<std::string> names = command_names(app);
  const std::string guess = ick::did_you_mean(argv[1], names);
  throw ick::UsageError("no command named \"" + std::string(argv[1]) + "\"" +
                        (guess.empty() ? "; there are " + ick::join_words(names) : guess));
}

// CLI11's own messages, in whole sentences.
std::string sentence(const CLI::App& app, const CLI::ParseError& error, const std::string& command) {
  const std::string text = error.what();
  const CLI::App* called = app.get_subcommands().empty() ? &app : app.get_subcommands().front();
  const std::string advice = "; `ick " + (command.empty() ? "" : command + " ") + "--help` shows how to call it";
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) return text;
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && called == &app) {
    return "a command was expected: " + ick::join_words(command_names(app)) + advice;
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string name = text.substr(0, text.find(':'));
    if (text.find("At Most") != std::string::npos) return name + " is given twice; once is enough";
    return name + ": a value was expected after it" + advice;
  }
  if (dynamic_cast<const CLI::FileError*>(&error) != nullptr) {
    return "--config: cannot read " + text.substr(0, text.find(" was not")) +
           "; expected a file of settings as --print-config prints them";
  }
  if (dynamic_cast<const CLI::ConfigError*>(&error) != nullptr) {
    return "--config: no setting named \"" + text.substr(text.rfind(' ') + 1) + "\"" + advice;
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::vector<std::string> words = app.remaining(true);
    const auto option =
        std::find_if(words.begin(), words.end(), [](const auto& word) { return word.starts_with("-"); });
    if (option == words.end()) return "found \"" + words.front() + "\", one word too many" + advice;
    std::vector<std::string> names;
    for (const CLI::App* each : {called, &app}) {
      for (const CLI::Option* known : each->get_options()) {
        for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
      }
    }
    const std::string guess = ick::did_you_mean(*option, names);
    return "no option named \"" + *option + "\"" + (guess.empty() ? advice : guess);
  }
  return text + advice;
}

// In a form that --config reads. An empty value would come back as a word without letters: its line becomes a comment.
std::string settings_text(const CLI::App& command) {
  std::istringstream lines(command.config_to_str(true, true));
  std::string text = "[" + command.get_name() + "]\n";
  for (std::string line; std::getline(lines, line);) text += (line.ends_with("=\"\"") ? "# " : "") + line + "\n";
  return text;
}

int run(CLI::App& app, const std::vector<ick::Command>& commands, const bool& print_config, int argc, char** argv) {
  check_command(app, argc, argv);
  app.parse(argc, argv);
  for (const ick::Command& command : commands) {
    if (!command.app->parsed()) continue;
    if (print_config) {
      std::printf("%s", settings_text(*command.app).c_str());
      return 0;
    }
    return command.run();
  }
  return 2;
}

// Libraries take some 70 ms to put their tables away, which nobody waits for but the sanitizers.
int end(int code) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  std::fflush(stderr);
  std::_Exit(code);
#endif
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  ick::keep_large_buffers();
  CLI::App app("ick: networks and Gaussian-process kernels in one formula", "ick");
  app.set_version_flag("--version", "ick " ICK_VERSION);
  app.require_subcommand(1);
  app.fallthrough();
  app.set_config("--config", "", "File with settings, a section for each command; the command line wins");
  app.allow_config_extras(CLI::config_extras_mode::error);
  bool print_config = false;
  app.add_flag("--print-config", print_config, "Print the settings of the command, to keep as a file for --config");
  app.footer(
      "Exit codes: 0 ok, 1 failure, 2 usage, 3 data, 4 numerical, 5 a check failed, 130 interrupted with a "
      "checkpoint.");
  const std::vector<ick::Command> commands = {
      ick::add_look(app),     ick::add_suggest(app),        ick::add_fit(app),
      ick::add_pretrain(app), ick::add_predict(app),        ick::add_evaluate(app),
      ick::add_future(app),   ick::add_grid(app),           ick::add_show(app),
      ick::add_effects(app),  ick::add_report_command(app), ick::add_cv(app),
      ick::add_compare(app),  ick::add_update(app),         ick::add_check(app),
      ick::add_explain(app),  ick::add_verify(app),         ick::add_list(app),
      ick::add_simulate(app), ick::add_completion(app),     ick::add_manual(app)};
  try {
    const int code = run(app, commands, print_config, argc, argv);
    if (std::fflush(stdout) == 0) return end(code);
    std::fprintf(stderr, "ick: cannot write to stdout: %s\n", std::strerror(errno));
    return 1;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    const std::string command = argc > 1 && argv[1][0] != '-' ? argv[1] : "";
    std::fprintf(stderr, "ick: %s\n", sentence(app, error, command).c_str());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "ick: out of memory; `ick fit --dry-run` estimates what a fit needs\n");
    return 1;
  } catch (const ick::Error& error) {
    std::fprintf(stderr, "ick: %s\n", ick::with_flags(error.message()).c_str());
    return exit_code(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ick: %s\n", error.what());
    return exit_code(error);
  }
}
