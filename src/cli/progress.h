#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <map>
#include <string>

#include "ick/fit/fit.h"

namespace ick {

// --progress, a word for ProgressWriter
void add_progress(CLI::App& app, std::string& style);

// Where many fits stand.
struct WholeProgress {
  std::string parts;  // "folds"
  std::int64_t done = 0, all = 0;
  std::map<std::string, Progress> running;  // by name
  double seconds_left = 0.0;                // not a number until one is done
};

// Tells people (or programs) on stderr how far a fit is, and keeps every line for the model's log.
class ProgressWriter {
 public:
  enum class Style { bar, plain, json, none };

  explicit ProgressWriter(const std::string& style);  // auto: a bar on a terminal, else plain lines
  ~ProgressWriter();

  void show(const Progress& progress);
  void show(const WholeProgress& progress);
  void say(const std::string& sentence);
  void clear();                                    // takes the bar away
  const std::string& log() const { return log_; }  // JSON lines

 private:
  using Clock = std::chrono::steady_clock;

  void draw(std::int64_t done, std::int64_t all, const std::string& text);
  bool is_time(double pause);  // since something was shown

  Style style_ = Style::plain;
  bool bar_is_shown_ = false;
  Clock::time_point last_ = {};
  std::string last_phase_;
  std::string log_;
};

}  // namespace ick
