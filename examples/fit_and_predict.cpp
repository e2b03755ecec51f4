// From a table and a formula to a model one can keep, and predictions from it.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "ick/ick.h"

namespace {

// A target that follows the week and a load: y = 3 sin(2 pi day / 7) + load^2, and a little that nobody can know.
ick::Table make_table() {
  std::vector<double> days, loads, targets;
  for (int day = 0; day < 200; ++day) {
    const double load = std::fmod(0.37 * day, 1.0), noise = std::fmod(0.618034 * day, 1.0) - 0.5;
    days.push_back(day);
    loads.push_back(load);
    targets.push_back(3.0 * std::sin(0.8975979 * day) + load * load + 0.2 * noise);
  }
  return ick::Table::from(
      {ick::Column::numbers("day", days), ick::Column::numbers("load", loads), ick::Column::numbers("y", targets)});
}

}  // namespace

int main() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("ick_fit_and_predict." + std::to_string(getpid()));
  std::filesystem::create_directories(folder);

  const ick::Table table = make_table();
  ick::FitOptions options;
  options.holdout = ick::parse_split("last(day)=20%");
  ick::FitControl control;
  control.progress = [](const ick::Progress& p) {
    std::printf("%s %lld\n", p.phase.c_str(), static_cast<long long>(p.epoch));
  };
  const ick::Fitted fitted = ick::fit(table, "y ~ periodic(day, period=7) + linear(load)", options, control);
  fitted.save(folder / "weeks.model");
  const double rmse = fitted.report().holdout->rmse;
  std::printf("rmse %.3f on %lld rows that the model has not seen; noise %.3f\n", rmse,
              static_cast<long long>(fitted.report().holdout_rows), fitted->noise_sd());

  const std::shared_ptr<const ick::Predictor> model = ick::load(folder / "weeks.model");
  const ick::Prediction p = model->predict(table, {.level = 0.9});
  std::printf("day 199: %.2f, with 90%% probability between %.2f and %.2f\n", p.mean[199], p.lower[199], p.upper[199]);

  std::filesystem::remove_all(folder);
  return rmse < 0.2 ? 0 : 1;
}
