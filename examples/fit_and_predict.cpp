// From a table and a formula to a model one can keep, and predictions from it.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "ick/store/model_directory.h"
#include "ick/table/csv.h"
#include "ick/fit/fit.h"

namespace {

// A target that follows the week and a load: y = 3 sin(2 pi day / 7) + load^2, and a little that nobody can know.
void write_table(const std::string& path) {
  std::ofstream file(path);
  file << "day,load,y\n";
  for (int day = 0; day < 200; ++day) {
    const double load = std::fmod(0.37 * day, 1.0), noise = std::fmod(0.618034 * day, 1.0) - 0.5;
    file << day << ',' << load << ',' << 3.0 * std::sin(0.8975979 * day) + load * load + 0.2 * noise << '\n';
  }
}

}  // namespace

int main() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("ick_fit_and_predict." + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string data = folder / "weeks.csv", model = folder / "weeks.model";
  write_table(data);

  const ick::Table table = ick::read_table(data);
  ick::FitOptions options;
  options.holdout = ick::parse_split("last(day)=20%");
  const ick::Fit fit = ick::fit(table, "y ~ periodic(day, period=7) + linear(load)", options);
  ick::save_model(fit, model, table, {data, table.names(), ick::fingerprint(table)});
  std::printf("rmse %.3f on %lld rows that the model has not seen\n", fit.report.holdout->rmse,
              static_cast<long long>(fit.report.holdout_rows));

  const ick::StoredModel stored = ick::load_model(model);
  const ick::Prediction p = stored.model.predict(table, {.level = 0.9});
  std::printf("day 199: %.2f, with 90%% probability between %.2f and %.2f\n", p.mean[199], p.lower[199], p.upper[199]);

  std::filesystem::remove_all(folder);
  return fit.report.holdout->rmse < 0.2 ? 0 : 1;
}
