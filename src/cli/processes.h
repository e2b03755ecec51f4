#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <string>

#include "ick/fit/control.h"

namespace ick {

// Tasks, each in a process of its own, several at a time. A process is a copy of this one at the moment it starts and
// shares its memory until one of the two writes: tables need not be read again. That takes a program that has no other
// thread then. What a process has is lost when it is ended; tasks that are done stay done.
struct Processes {
  int at_once = 1, threads = 1;  // processes; threads of each
  // There: the result on one line of text. UsageError, DataError and others arrive at failed() as what they are.
  std::function<std::string(std::int64_t task, const FitControl& control)> work;
  // Here, while others work.
  std::function<bool(std::int64_t task)> wanted = [](std::int64_t) { return true; };  // else not begun, or ended
  std::function<void(std::int64_t task, const std::string& result)> done;
  std::function<void(std::int64_t task, std::exception_ptr error)> failed;
  std::function<void(const std::map<std::int64_t, Progress>& running)> progress;
  std::function<bool()> stop;  // true: all are ended

  // The tasks from 0 in their order. Returns when all are done, failed or not wanted, or when it is to stop. What a
  // callback throws ends all processes first.
  void run(std::int64_t tasks) const;
};

}  // namespace ick
