#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "ick/base/option.h"

namespace ick {

// The setting `budget`: a length of time such as 90s, 2min or 1h; a number alone is in seconds.
void check_budget(const OptionValue& budget);      // UsageError for what is none; "" is no end
double budget_seconds(const std::string& budget);  // 0: no end

// Time for a comparison, the same for each candidate. With `at_once` fits side by side, C candidates have
//   total x at_once / C
// seconds of fits each, and nothing goes on beyond `total`. A fit that would end later, as far as finished ones tell, is
// not begun; one that does is ended. What a candidate leaves over is nobody else's. Times are seconds since the start.
class TimeBudget {
 public:
  // `total` 0: no end. Of the candidates, which have numbers from 0, `sharing` take a share.
  TimeBudget(double total, std::int64_t at_once, std::int64_t candidates, std::int64_t sharing);

  double share() const { return share_; }
  bool may_begin(std::int64_t candidate, double now) const;
  bool may_go_on(std::int64_t task, double now) const;  // one that has begun

  void begin(std::int64_t task, std::int64_t candidate, double now) { running_[task] = {candidate, now}; }
  void end(std::int64_t task, double now, bool finished);  // or broken off
  void add(std::int64_t candidate, double seconds);        // a fit that was finished by an earlier run
  bool has_begun(std::int64_t task) const { return running_.contains(task); }

 private:
  struct Running {
    std::int64_t candidate = 0;
    double start = 0.0;
  };
  struct Used {
    double finished = 0.0, broken = 0.0;  // seconds of fits
    std::int64_t fits = 0;                // finished
  };

  double total_, share_;
  std::vector<Used> used_;  // by candidate
  std::map<std::int64_t, Running> running_;
};

}  // namespace ick
