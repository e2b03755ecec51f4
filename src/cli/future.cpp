#include "ick/rows/future.h"

#include <fmt/format.h>

#include <limits>
#include <memory>

#include "cli/command.h"
#include "cli/fit_text.h"
#include "cli/made_rows.h"
#include "ick/base/text.h"

namespace ick {

namespace {

struct FutureRequest {
  std::string model, data, with, out;
  std::vector<std::string> set;
  FutureOptions wanted;
  LoadOptions loading;
  bool yes = false;
  DataOptions reading;
};

void say_rows(const FutureRequest& request, const DataSummary& summary, const FutureRows& made) {
  const std::string of_series =
      summary.keys.empty() ? "" : fmt::format(" of {} series ({})", made.series, join_words(summary.keys));
  fmt::print(stderr, "{}{}, every {}\n", count_text(made.rows.rows, "row"), of_series, step_text(made.step));
  if (made.ended > 0)
    fmt::print(stderr, "{} series reach {} already: no rows of these\n", made.ended, request.wanted.until);
  if (summary.series_count > std::ssize(summary.series)) {
    fmt::print(stderr, "the model remembers {} of {} series, those that end last\n", summary.series.size(),
               summary.series_count);
  }
  if (!made.joined.empty()) fmt::print(stderr, "from {}: {}\n", request.with, join_words(made.joined));
  if (made.without > 0) {
    fmt::print(stderr, "{} of {} rows are not in {}: cells are empty\n", made.without, made.rows.rows, request.with);
  }
  say_held(made.held);
}

int run_future(FutureRequest request) {
  const StoredModel stored = load_model(request.model, request.loading);
  const DataSummary summary = summary_of_model(stored, request.data, request.reading);
  Table with;
  if (!request.with.empty()) {
    with = read_for(summary, request.with, request.reading);
    request.wanted.with = &with;
  }
  request.wanted.set = set_values(request.set);
  if (request.yes) request.wanted.most = std::numeric_limits<std::int64_t>::max();
  const FutureRows made = future_rows(summary, request.wanted);
  RowsWriter writer(request.out);
  writer.write(made.rows);
  writer.commit();
  say_rows(request, summary, made);
  return 0;
}

}  // namespace

Command add_future(CLI::App& program) {
  auto request = std::make_shared<FutureRequest>();
  CLI::App* app = program.add_subcommand("future", "The next rows of each series, for predict");
  FutureRequest& r = *request;
  app->add_option("model", r.model, "Folder of a model")->required();
  app->add_option("--until", r.wanted.until, "Last time there may be, YYYY-MM-DD[ HH:MM], or as the table has them");
  app->add_option("--rows", r.wanted.rows, "Rows of each series, instead");
  app->add_option("--every", r.wanted.every,
                  "From a row to the next: a number with s, min, h, d, w, month or y; the usual step by default. Times "
                  "have no zone: a day has 24 hours");
  app->add_option("--with", r.with,
                  "Table with further columns, joined on the time and those of the series' columns that it has; cells "
                  "of rows that it does not have stay empty");
  add_set(*app, r.set, false);
  app->add_option("--data", r.data, "Table that rows come after, instead of those that the model has seen");
  app->add_option("--out", r.out, "File to write; stdout by default");
  app->add_flag("--yes", r.yes, "More than 10,000,000 rows, too");
  add_trust(*app, r.loading);
  r.reading.add_to(*app);
  return {app, [request] { return run_future(*request); }};
}

}  // namespace ick
