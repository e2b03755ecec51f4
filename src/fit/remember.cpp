#include "fit/remember.h"

namespace ick {

DataSummary summary_of_fit(const Table& table, const Predictor& model, const FitPlan& plan) {
  std::vector<bool> seen = plan.training;
  for (std::size_t i = 0; i < plan.validation.size(); ++i) seen[i] = seen[i] || plan.validation[i];
  std::vector<std::string> others;
  for (const ColumnInfo& info : model.scoring_columns()) others.push_back(info.name);
  return summarise(table, model.columns(), others, seen);
}

}  // namespace ick
