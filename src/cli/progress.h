#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <string>

#include "ick/fit/fit.h"

namespace ick {

// --progress, a word for ProgressWriter
void add_progress(CLI::App& app, std::string& style);

// Tells people (or programs) on stderr how far a fit is, and keeps every line for the model's log.
class ProgressWriter {
 public:
  enum class Style { bar, plain, json, none };

  explicit ProgressWriter(const std::string& style);  // auto: a bar on a terminal, else plain lines
  ~ProgressWriter();

  void show(const Progress& progress);
  void say(const std::string& sentence);
  void clear();                                    // takes the bar away
  const std::string& log() const { return log_; }  // JSON lines

 private:
  using Clock = std::chrono::steady_clock;

  void draw(const Progress& progress);

  Style style_ = Style::plain;
  bool bar_is_shown_ = false;
  Clock::time_point last_ = {};
  std::string last_phase_;
  std::string log_;
};

}  // namespace ick
