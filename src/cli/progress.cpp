#include "cli/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/accept.h"
#include "ick/base/error.h"

namespace ick {

namespace {

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(std::lround(std::max(0.0, seconds)));
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

constexpr double kBarPause = 0.1, kLinePause = 5.0;  // seconds

nlohmann::json number_json(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

nlohmann::json to_json(const Progress& p) {
  return {{"schema", 1},
          {"phase", p.phase},
          {"epoch", p.epoch},
          {"epochs", p.epochs},
          {"loss", number_json(p.loss)},
          {"validation_" + p.measure, number_json(p.validation)},
          {"best_validation_" + p.measure, number_json(p.best)},
          {"learning_rate", number_json(p.learning_rate)},
          {"rows_per_second", number_json(p.rows_per_second)},
          {"seconds", number_json(p.seconds)},
          {"seconds_left", number_json(p.seconds_left)},
          {"waiting", number_json(p.waiting)}};
}

std::string numbers_text(const Progress& p) {
  std::string text = fmt::format("{} {}/{}  loss {:.4g}", p.phase, p.epoch, p.epochs, p.loss);
  const std::string measure = p.measure == "rmse" ? "" : p.measure == "log_loss" ? " log loss" : " " + p.measure;
  if (std::isfinite(p.validation)) {
    text += fmt::format("  validation{} {:.4g} (best {:.4g})", measure, p.validation, p.best);
  }
  if (p.waiting > 0.0) text += fmt::format("  waiting {:.1f}%", 100.0 * p.waiting);
  return text + fmt::format("  {:.3g} rows/s  {} left", p.rows_per_second, clock_text(p.seconds_left));
}

}  // namespace

void add_progress(CLI::App& app, std::string& style) {
  app.add_option("--progress", style, "auto, bar, plain, json or none")
      ->check(accept_word({"auto", "bar", "plain", "json", "none"}))
      ->capture_default_str()
      ->group("Running");
}

ProgressWriter::ProgressWriter(const std::string& style) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  if (style == "auto") {
    style_ = terminal ? Style::bar : Style::plain;
  } else {
    style_ = style == "bar" ? Style::bar : style == "json" ? Style::json : style == "none" ? Style::none : Style::plain;
  }
}

ProgressWriter::~ProgressWriter() { clear(); }

void ProgressWriter::clear() {
  if (bar_is_shown_) fmt::print(stderr, "\r\033[K");
  bar_is_shown_ = false;
}

void ProgressWriter::say(const std::string& sentence) {
  clear();
  if (style_ == Style::json) {
    fmt::print(stderr, "{}\n", nlohmann::json{{"schema", 1}, {"note", sentence}}.dump());
  } else if (style_ != Style::none) {
    fmt::print(stderr, "{}\n", sentence);
  }
}

void ProgressWriter::draw(std::int64_t done, std::int64_t all, const std::string& text) {
  constexpr int kWidth = 24;
  const int full = all > 0 ? static_cast<int>(kWidth * done / all) : 0;
  // A line that wraps could not be drawn over.
  winsize window{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1;
  const std::string line = fmt::format("[{}{}] {}", std::string(full, '#'), std::string(kWidth - full, '.'), text);
  fmt::print(stderr, "\r{}\033[K", line.substr(0, known ? window.ws_col - 1 : 79));
  std::fflush(stderr);
  bar_is_shown_ = true;
}

bool ProgressWriter::is_time(double pause) {
  return std::chrono::duration<double>(Clock::now() - last_).count() >= pause;
}

void ProgressWriter::show(const Progress& p) {
  log_ += to_json(p).dump() + "\n";
  if (style_ == Style::none) return;
  if (style_ == Style::json) {
    fmt::print(stderr, "{}\n", to_json(p).dump());
    return;
  }
  const double pause = style_ == Style::bar ? kBarPause : kLinePause;
  const bool new_phase = p.phase != last_phase_;
  const bool last = p.epoch == p.epochs;
  if (!new_phase && !last && !is_time(pause)) return;
  last_ = Clock::now();
  last_phase_ = p.phase;
  if (p.epochs == 0) {
    say(p.phase);
  } else if (style_ == Style::bar) {
    draw(p.epoch, p.epochs, numbers_text(p));
  } else {
    fmt::print(stderr, "{}\n", numbers_text(p));
  }
}

void ProgressWriter::show(const WholeProgress& p) {
  const std::string phase = fmt::format("{} {}", p.parts, p.done);
  if (style_ == Style::none) return;
  if (phase == last_phase_ && !is_time(style_ == Style::plain ? kLinePause : kBarPause)) return;
  last_ = Clock::now();
  last_phase_ = phase;
  if (style_ == Style::json) {
    nlohmann::json running = nlohmann::json::object();
    for (const auto& [name, of] : p.running) {
      running[name] = {{"phase", of.phase}, {"epoch", of.epoch}, {"epochs", of.epochs}};
    }
    fmt::print(stderr, "{}\n",
               nlohmann::json{{"schema", 1},
                              {"phase", p.parts},
                              {"done", p.done},
                              {"all", p.all},
                              {"running", running},
                              {"seconds_left", number_json(p.seconds_left)}}
                   .dump());
    return;
  }
  std::string text = fmt::format("{} of {} {}", p.done, p.all, p.parts);
  for (const auto& [name, of] : p.running) {
    text += fmt::format("  {}: {}{}", name, of.phase, of.epochs > 0 ? fmt::format(" {}/{}", of.epoch, of.epochs) : "");
  }
  if (std::isfinite(p.seconds_left)) text += "  " + clock_text(p.seconds_left) + " left";
  if (style_ == Style::bar) {
    draw(p.done, p.all, text);
  } else {
    fmt::print(stderr, "{}\n", text);
  }
}

}  // namespace ick
