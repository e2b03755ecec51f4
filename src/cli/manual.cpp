#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/accept.h"
#include "cli/command.h"
#include "cli/option_page.h"

// Bash completion and the page of the manual, both read off the declared options.
namespace ick {

namespace {

std::vector<const CLI::App*> shown_commands(const CLI::App& program) {
  std::vector<const CLI::App*> commands = program.get_subcommands({});
  std::erase_if(commands, [](const CLI::App* each) { return each->get_group().empty(); });
  return commands;
}

std::string option_words(const CLI::App& app) {
  std::string words;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) words += (words.empty() ? "--" : " --") + name;
  }
  return words;
}

int print_completion(const CLI::App& program) {
  std::string names;
  for (const CLI::App* command : shown_commands(program)) names += (names.empty() ? "" : " ") + command->get_name();
  fmt::print("# bash completion of ick: source this file, or put it into /etc/bash_completion.d\n");
  fmt::print("_ick() {{\n  local word=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}}\n");
  fmt::print("  if [ \"$COMP_CWORD\" -eq 1 ]; then COMPREPLY=($(compgen -W '{} {}' -- \"$word\")); return; fi\n", names,
             option_words(program));
  fmt::print("  case $word in -*) ;; *) COMPREPLY=($(compgen -f -- \"$word\")); return ;; esac\n  case $command in\n");
  for (const CLI::App* command : shown_commands(program)) {
    fmt::print("    {}) COMPREPLY=($(compgen -W '{} {}' -- \"$word\")) ;;\n", command->get_name(),
               option_words(*command), option_words(program));
  }
  fmt::print("  esac\n}}\ncomplete -o filenames -F _ick ick\n");
  return 0;
}

// A dot or an apostrophe at the start of a line, and every backslash, mean something to troff.
std::string troff(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\\' ? std::string("\\e") : c == '-' ? std::string("\\-") : std::string(1, c);
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

void print_options(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    // A long list of words, "TEXT:a|b", stands in the text, where lines can be broken.
    constexpr std::size_t kLongest = 40;
    std::string kind = option->get_items_expected_max() == 0 ? "" : option->get_type_name(), choices;
    if (const std::size_t colon = kind.find(':'); kind.size() > kLongest && colon != std::string::npos) {
      choices = "; one of " + kind.substr(colon + 1);
      kind.resize(colon);
      for (std::size_t bar; (bar = choices.find('|')) != std::string::npos;) choices.replace(bar, 1, ", ");
    }
    const std::string type = kind.empty() ? "" : " \\fI" + troff(kind) + "\\fR";
    std::string names = troff(option->get_name(false, true));
    for (std::size_t comma; (comma = names.find(",\\-")) != std::string::npos;) names.replace(comma, 1, "\\fR, \\fB");
    fmt::print(".TP\n\\fB{}\\fR{}\n{}", names, type, troff(option->get_description() + choices));
    if (!option->get_default_str().empty()) fmt::print(" (default {})", troff(option->get_default_str()));
    fmt::print("\n");
  }
}

int print_manual(const CLI::App& program) {
  fmt::print(".TH ICK 1 \"\" \"ick " ICK_VERSION "\"\n.SH NAME\nick \\- {}\n",
             troff("networks and Gaussian-process kernels in one formula"));
  fmt::print(".SH SYNOPSIS\n.B ick\n.I command\n[options]\n.SH OPTIONS\n");
  print_options(program);
  fmt::print(".SH COMMANDS\n");
  for (const CLI::App* command : shown_commands(program)) {
    fmt::print(".SS {}\n{}.\n", command->get_name(), troff(command->get_description()));
    print_options(*command);
  }
  fmt::print(".SH EXIT STATUS\n{}\n", troff(program.get_footer()));
  return 0;
}

}  // namespace

Command add_completion(CLI::App& program) {
  CLI::App* app = program.add_subcommand("completion", "Print what bash needs to complete commands and options");
  return {app, [&program] { return print_completion(program); }};
}

Command add_manual(CLI::App& program) {
  auto options = std::make_shared<std::string>();
  CLI::App* app = program.add_subcommand("manual", "Print the page of the manual, for man -l -");
  app->add_option("--options", *options, "Print the reference page of a command's options instead, in Markdown")
      ->check(accept_word({"fit", "pretrain"}));
  return {app, [&program, options] {
            if (options->empty()) return print_manual(program);
            fmt::print("{}", option_page(*options));
            return 0;
          }};
}

}  // namespace ick
