#pragma once

#include <CLI/CLI.hpp>
#include <functional>

// One file for each subcommand: add_<name> declares its options, which are also its help, its completion and its page
// of the manual; the function it returns does the work and gives the exit code. Data goes to stdout, talk to stderr;
// errors are thrown and main turns them into exit codes.
namespace ick {

struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

// --trust, of a command that loads what somebody else may have written.
struct LoadOptions;
CLI::Option* add_trust(CLI::App& app, LoadOptions& options);

Command add_look(CLI::App& program);
Command add_fit(CLI::App& program);
Command add_pretrain(CLI::App& program);
Command add_predict(CLI::App& program);
Command add_future(CLI::App& program);
Command add_grid(CLI::App& program);
Command add_evaluate(CLI::App& program);
Command add_show(CLI::App& program);
Command add_effects(CLI::App& program);
Command add_report_command(CLI::App& program);
Command add_cv(CLI::App& program);
Command add_compare(CLI::App& program);
Command add_suggest(CLI::App& program);
Command add_update(CLI::App& program);
Command add_check(CLI::App& program);
Command add_explain(CLI::App& program);
Command add_verify(CLI::App& program);
Command add_list(CLI::App& program);
Command add_simulate(CLI::App& program);
Command add_completion(CLI::App& program);
Command add_manual(CLI::App& program);

}  // namespace ick
