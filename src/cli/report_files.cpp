#include "cli/report_files.h"

#include <fmt/core.h>

#include <filesystem>

#include "cli/with_flags.h"
#include "ick/base/error.h"
#include "ick/base/file.h"

namespace ick {

namespace {

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

}  // namespace

std::string shell_word(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789_-./=,:@%+") == std::string::npos;
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string ReportFiles::json_place() const {
  if (!json.empty() || out.empty()) return json;
  for (const std::string end : {".html", ".htm"}) {
    if (out.ends_with(end)) return out.substr(0, out.size() - end.size()) + ".json";
  }
  return out + ".json";
}

void add_report(CLI::App& app, ReportFiles& files) {
  app.add_option("--report", files.out,
                 "Page to write, as in report.html: what was found, with pictures; the same numbers beside it in "
                 "report.json");
  app.add_option("--plots", files.plots, "Folder to write the pictures of the page to, as SVG, PNG and Vega-Lite");
}

void check_report_place(const ReportFiles& files, const std::string& data, const std::string& model) {
  namespace fs = std::filesystem;
  if (!files.out.empty() && fs::is_directory(files.out)) {
    throw UsageError("the report needs a name for a file, and " + files.out + " is a folder");
  }
  const auto whole = [](const std::string& path) {
    const fs::path canonical = fs::weakly_canonical(fs::absolute(path)).lexically_normal();
    return canonical.filename().empty() ? canonical.parent_path() : canonical;
  };
  for (const std::string& each : {files.out, files.json_place(), files.plots}) {
    if (each.empty()) continue;
    if (!data.empty() && data != "-" && whole(each) == whole(data)) {
      throw UsageError(each + " is the table itself; write the report elsewhere");
    }
    if (!model.empty() && (whole(each) == whole(model) || whole(each).parent_path() == whole(model))) {
      throw UsageError(each + " is in the folder of the model, which holds nothing but the model; write it elsewhere");
    }
  }
}

void write_report(const Page& page, const ReportFiles& files) {
  const std::string json = files.json_place();
  if (!files.out.empty()) write_file(files.out, html_of(page));
  if (!json.empty()) write_file(json, json_of(page));
  if (!files.out.empty()) fmt::print(stderr, "report written to {}, its numbers to {}\n", files.out, json);
  if (!files.plots.empty()) write_plots(page, files.plots);
}

ReportOptions report_options(const std::string& data, std::uint64_t seed) {
  ReportOptions options;
  options.data = data, options.seed = seed;
  options.say = [](const Message& message) { return with_flags(message); };
  return options;
}

std::string fit_command(const std::string& data, const std::string& formula, const std::string& model,
                        const DataOptions& reading, const FitOptions& options) {
  return "ick fit " + shell_word(data) + " " + shell_word(formula) + " --out " + shell_word(model) +
         flags_text(reading) + flags_text(options);
}

}  // namespace ick
