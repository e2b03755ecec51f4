#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/accept.h"
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/report_files.h"
#include "ick/base/error.h"
#include "ick/store/model_directory.h"

namespace ick {

namespace {

struct ReportRequest {
  std::string model, data;
  ReportFiles files;
  ReportOptions options;
  bool text = false;
  LoadOptions loading;
  DataOptions reading;
};

// "weather.report.html" of the model air/weather.model, in the folder one stands in.
std::string usual_place(const std::string& model) {
  std::filesystem::path name = std::filesystem::path(model).lexically_normal();
  if (name.filename().empty()) name = name.parent_path();
  if (name.extension() == ".model") name = name.stem();
  const std::string text = name.filename().string();
  return (text.empty() || text == "." ? "model" : text) + ".report.html";
}

int terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 100;
  return std::clamp<int>(size.ws_col, 40, 120);
}

// Those that repeat the fit. Where another engine took the place of the one in its settings, the fit chose, and does so
// again: asked for by name it would not.
FitOptions repeating(const StoredModel& stored) {
  FitOptions options = stored.report.options;
  const auto* const model = dynamic_cast<const CompositePredictor*>(stored.model.get());
  if (model != nullptr && model->posterior->engine().name != options.posterior) {
    options.posterior = FitOptions().posterior;
  }
  return options;
}

int run_report(ReportRequest request) {
  if (!request.text && request.files.out.empty()) request.files.out = usual_place(request.model);
  check_report_place(request.files, request.data, request.model);
  const StoredModel stored = load_model(request.model, request.loading);
  std::optional<Table> table;
  if (!request.data.empty()) {
    // All columns: the table must be known again by its fingerprint, and series by their names.
    ReadOptions reading = request.reading.read_options(*stored.model, /*with_target=*/true);
    reading.only.clear();
    table = read_table(request.data, reading);
  }
  ReportOptions options = report_options(request.data, request.options.seed);
  options.level = request.options.level, options.rows = request.options.rows;
  options.commands = {
      fit_command(stored.origin.path, stored.model->formula(), request.model, request.reading, repeating(stored))};
  options.commands.push_back("ick report " + shell_word(request.model) +
                             (request.data.empty() ? "" : " " + shell_word(request.data)) +
                             flags_text(request.reading));
  const Page page = report_of(stored, table ? &*table : nullptr, options);
  if (request.text) fmt::print("{}", text_of(page, terminal_width()));
  write_report(page, request.files);
  if (!request.text) fmt::print(stderr, "{}\n", page.verdict);
  return 0;
}

}  // namespace

Command add_report_command(CLI::App& program) {
  auto request = std::make_shared<ReportRequest>();
  CLI::App* app = program.add_subcommand(
      "report", "Write what a model learned, and how far it can be trusted, as a page with pictures");
  ReportRequest& r = *request;
  app->add_option("model", r.model, "Folder of a model")->required();
  app->add_option("data", r.data,
                  "Table: that of the fit, whose holdout the report is then about, or another one with the target; "
                  "without a table only what the model knows of itself");
  app->add_option("--out", r.files.out, "Page to write; by default MODEL.report.html in the folder one stands in");
  app->add_option("--json", r.files.json, "File for the same numbers; by default beside the page");
  app->add_option("--plots", r.files.plots, "Folder to write the pictures to, as SVG, PNG and Vega-Lite");
  app->add_flag("--text", r.text, "Print the essentials; a page is written where --out says so");
  app->add_option("--level", r.options.level, "Level of the intervals")
      ->check(accept_number(0.0, 1.0, /*open=*/true))
      ->capture_default_str();
  app->add_option("--rows", r.options.rows, "Largest number of rows to look at; of more, some are drawn")
      ->check(accept_number<std::int64_t>(10, 10'000'000))
      ->capture_default_str();
  app->add_option("--seed", r.options.seed, "Seed of rows that are drawn")->capture_default_str();
  add_trust(*app, r.loading);
  r.reading.add_to(*app);
  return {app, [request] { return run_report(*request); }};
}

}  // namespace ick
