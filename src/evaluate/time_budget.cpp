#include "ick/evaluate/time_budget.h"

#include <algorithm>
#include <optional>

#include "ick/base/error.h"
#include "ick/base/message.h"
#include "ick/base/unit.h"
#include "ick/formula/expression.h"

namespace ick {

namespace {

std::optional<double> length_of_time(const std::string& budget) {
  const std::optional<Quantity> length = read_quantity(budget);
  if (!length || !(length->number > 0.0)) return std::nullopt;
  return length->unit.empty() ? length->number : convert(length->number, length->unit, "s");
}

}  // namespace

void check_budget(const OptionValue& budget) {
  const std::string& text = std::get<std::string>(budget);
  if (text.empty() || length_of_time(text)) return;
  throw UsageError(setting("budget", text) + ": expected a length of time such as 90s, 2min or 1h");
}

double budget_seconds(const std::string& budget) { return length_of_time(budget).value_or(0.0); }

TimeBudget::TimeBudget(double total, std::int64_t at_once, std::int64_t candidates, std::int64_t sharing)
    : total_(total > 0.0 ? total : std::numeric_limits<double>::infinity()),
      share_(total_ * static_cast<double>(at_once) / static_cast<double>(std::max<std::int64_t>(sharing, 1))),
      used_(static_cast<std::size_t>(candidates)) {}

bool TimeBudget::may_begin(std::int64_t candidate, double now) const {
  const Used& used = used_.at(static_cast<std::size_t>(candidate));
  const double usual = used.fits > 0 ? used.finished / static_cast<double>(used.fits) : 0.0;
  double expected = used.finished + used.broken + usual;
  for (const auto& [task, running] : running_) {
    if (running.candidate == candidate) expected += std::max(usual, now - running.start);
  }
  return now + usual <= total_ && expected <= share_ && now < total_;
}

bool TimeBudget::may_go_on(std::int64_t task, double now) const {
  const std::int64_t candidate = running_.at(task).candidate;
  const Used& used = used_.at(static_cast<std::size_t>(candidate));
  double spent = used.finished + used.broken;
  for (const auto& [other, running] : running_) {
    if (running.candidate == candidate) spent += now - running.start;
  }
  return now < total_ && spent < share_;
}

void TimeBudget::end(std::int64_t task, double now, bool finished) {
  const auto found = running_.find(task);
  if (found == running_.end()) return;
  const Running running = found->second;
  running_.erase(found);
  if (finished) return add(running.candidate, now - running.start);
  used_.at(static_cast<std::size_t>(running.candidate)).broken += now - running.start;
}

void TimeBudget::add(std::int64_t candidate, double seconds) {
  Used& used = used_.at(static_cast<std::size_t>(candidate));
  used.finished += seconds, ++used.fits;
}

}  // namespace ick
