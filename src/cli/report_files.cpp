#include "cli/report_files.h"

#include <fmt/core.h>

#include <filesystem>

#include "cli/with_flags.h"
#include "ick/base/error.h"
#include "ick/base/file.h"

namespace ick {

namespace {

// Without its end, "a.html" is "a".
std::string stem_of(const std::string& path) {
  for (const char* const end : {".html", ".htm"}) {
    if (path.ends_with(end)) return path.substr(0, path.size() - std::string(end).size());
  }
  return path;
}

void write_plots(const Page& page, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error("cannot make the folder " + folder + ": " + error.message());
  int count = 0;
  for (const Section& section : page.sections) {
    for (const PagePart& part : section.parts) {
      const Figure* const figure = std::get_if<Figure>(&part);
      if (figure == nullptr) continue;
      const std::string path = (std::filesystem::path(folder) / figure->id).string(), svg = svg_of(*figure);
      write_file(path + ".svg", svg);
      write_file(path + ".png", png_of(svg));
      write_file(path + ".vl.json", vega_lite_of(*figure));
      ++count;
    }
  }
  fmt::print(stderr, "{} picture{} in {}, each as SVG, PNG and Vega-Lite\n", count, count == 1 ? "" : "s", folder);
}

std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_-./=,:@%+") == std::string::npos;
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

void add_report(CLI::App& app, ReportFiles& files) {
  app.add_option("--report", files.out,
                 "Page to write, as in report.html: what was found, with pictures; the same numbers beside it in "
                 "report.json");
  app.add_option("--plots", files.plots, "Folder to write the pictures of the page to, as SVG, PNG and Vega-Lite");
}

void check_report_place(const ReportFiles& files, const std::string& model) {
  namespace fs = std::filesystem;
  if (!files.out.empty() && fs::is_directory(files.out)) {
    throw UsageError("the report needs a name for a file, and " + files.out + " is a folder");
  }
  if (model.empty()) return;
  for (const std::string& each : {files.out, files.json, files.plots}) {
    if (each.empty()) continue;
    const fs::path folder = fs::weakly_canonical(fs::path(each)).parent_path();
    if (folder == fs::weakly_canonical(fs::path(model))) {
      throw UsageError(each + " is in the folder of the model, which holds nothing but the model; write it elsewhere");
    }
  }
}

void write_report(const Page& page, const ReportFiles& files) {
  if (!files.out.empty()) {
    const std::string json = files.json.empty() ? stem_of(files.out) + ".json" : files.json;
    write_file(files.out, html_of(page));
    write_file(json, json_of(page));
    fmt::print(stderr, "report written to {}, its numbers to {}\n", files.out, json);
  } else if (!files.json.empty()) {
    write_file(files.json, json_of(page));
  }
  if (!files.plots.empty()) write_plots(page, files.plots);
}

ReportOptions report_options(const std::string& data, std::uint64_t seed) {
  ReportOptions options;
  options.data = data, options.seed = seed;
  options.say = [](const Message& message) { return with_flags(message); };
  return options;
}

std::string fit_command(const std::string& data, const std::string& formula, const std::string& model,
                        const FitOptions& options) {
  std::string text = "ick fit " + shell_word(data) + " " + shell_word(formula) + " --out " + shell_word(model);
  for (const char* const name : {"seed", "model", "holdout", "validation", "likelihood", "posterior", "noise_formula",
                                 "refit", "horizon", "members", "epochs"}) {
    const Option<FitOptions>* const row = option_table<FitOptions>().find(name);
    const OptionValue value = row->get(options);
    if (value == row->standard) continue;
    const std::string flag = row->as_flag("");
    text += " " + flag.substr(0, flag.find(' ')) + " " + shell_word(row->print(value));
  }
  return text;
}

}  // namespace ick
