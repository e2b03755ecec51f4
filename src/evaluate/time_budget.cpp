#include "ick/evaluate/time_budget.h"

#include <algorithm>

namespace ick {

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
