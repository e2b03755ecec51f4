#include "cli/compare_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cli/fit_text.h"
#include "cli/fold_json.h"
#include "cli/fold_text.h"
#include "cli/with_flags.h"
#include "ick/base/text.h"
#include "ick/table/csv.h"

namespace ick {

namespace {

using Status = Standing::Status;
using Cells = std::vector<std::string>;

bool of_classes(const Leaderboard& all) { return score_kind(all.score).of_classes; }

// Beside the score that is compared by: one of the mean, one of the distribution, and coverage.
std::vector<std::string> other_scores(const Leaderboard& all) {
  std::vector<std::string> names;
  for (const char* name : {"rmse", "nlpd", "accuracy", "log_loss"}) {
    if (name != all.score && score_kind(name).of_classes == of_classes(all)) names.emplace_back(name);
  }
  names.emplace_back("coverage");
  return names;
}

std::string status_text(const Standing& standing, std::size_t folds) {
  if (standing.status == Status::failed) return with_flags(standing.failure);
  return standing.folds.empty() ? "out of time before it finished a fold"
                                : fmt::format("out of time after {} of {} folds", standing.folds.size(), folds);
}

Cells header_of(const Leaderboard& all) {
  Cells cells = {"candidate", std::string(score_kind(all.score).label), "difference"};
  for (const std::string& name : other_scores(all)) cells.push_back(score_label(score_kind(name), all.plan.level));
  for (const char* last : {"seconds", "parameters"}) cells.emplace_back(last);
  return cells;
}

// Without numbers where there are none.
Cells cells_of(const Leaderboard& all, const Standing& standing) {
  Cells cells = {standing.candidate.label};
  if (standing.folds.empty()) return cells;
  cells.push_back(with_error(all.score, standing.scores.at(all.score)));
  const bool best = &standing == &all.standings.front();
  cells.push_back(best ? "best" : with_error(all.score, standing.difference, /*sign=*/true));
  for (const std::string& name : other_scores(all)) {
    cells.push_back(score_text(name, standing.scores.at(name).mean));
  }
  cells.push_back(fmt::format("{:.1f}", standing.seconds));
  cells.push_back(standing.parameters > 0 ? std::to_string(standing.parameters) : "-");
  return cells;
}

std::vector<std::string> notes(const Leaderboard& all) {
  std::vector<std::string> lines;
  const std::size_t folds = all.plan.folds.size(), counted = all.standings.front().folds.size();
  if (counted < folds) {
    lines.push_back(fmt::format("scores of {} of {} folds: the time was up", counted, folds));
  }
  if (all.not_predicted > 0) {
    lines.push_back(count_text(all.not_predicted, "row") +
                    " that a candidate could not predict left out for all: a gap, or "
                    "a level or class that no training row of the fold has");
  }
  return lines;
}

}  // namespace

std::string comparison_text(const Leaderboard& all) {
  std::vector<Cells> lines = {header_of(all)};
  for (const Standing& each : all.standings) lines.push_back(cells_of(all, each));
  std::vector<std::size_t> widths(lines.front().size(), 0);
  for (const Cells& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  }
  std::string text = plan_text(all.plan) + "\n\n";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string line = fmt::format("  {:<{}}", lines[i][0], widths[0]);
    for (std::size_t c = 1; c < lines[i].size(); ++c) line += fmt::format("  {:>{}}", lines[i][c], widths[c]);
    const Standing* const standing = i == 0 ? nullptr : &all.standings[i - 1];
    if (standing != nullptr && standing->status != Status::complete) {
      line += "  " + status_text(*standing, all.plan.folds.size());
    }
    text += line + "\n";
  }
  text += "\n";
  for (const std::string& note : notes(all)) text += note + "\n";
  return text + error_text() + "\n" + all.verdict + "\n";
}

std::string comparison_markdown(const Leaderboard& all) {
  const auto cell = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
    return text;
  };
  const Cells header = header_of(all);
  std::string text;
  const auto add = [&](const Cells& cells) {
    text += "|";
    for (std::size_t c = 0; c < header.size(); ++c) text += (c < cells.size() ? " " + cell(cells[c]) : "") + " |";
    text += "\n";
  };
  add(header);
  text += "|---|";
  for (std::size_t c = 1; c < header.size(); ++c) text += "---:|";
  text += "\n";
  for (const Standing& each : all.standings) {
    Cells cells = cells_of(all, each);
    cells[0] = "`" + cells[0] + "`";
    if (each.status != Status::complete) cells[0] += " " + status_text(each, all.plan.folds.size());
    add(cells);
  }
  for (const std::string& note : notes(all)) text += "\n" + note + "\n";
  return text + "\n" + plan_text(all.plan) + "; " + error_text() + "\n\n" + all.verdict + "\n";
}

std::string comparison_csv(const Leaderboard& all) {
  Cells names;
  for (const auto& [name, estimate] : all.standings.front().scores) names.push_back(name);
  std::string text = "candidate,formula,fold";
  for (const std::string& name : names) text += "," + name;
  text += "\n";
  for (const Standing& each : all.standings) {
    for (const auto& [fold, scores] : each.folds) {
      text += csv_cell(each.candidate.baseline.empty() ? "formula" : each.candidate.baseline, ',') + "," +
              csv_cell(each.candidate.fit.formula, ',') + "," + std::to_string(fold + 1);
      for (const std::string& name : names) {
        const double value = scores.at(name);
        text += "," + (std::isfinite(value) ? number_text(value) : std::string());
      }
      text += "\n";
    }
  }
  return text;
}

nlohmann::ordered_json to_json(const Leaderboard& all) {
  constexpr const char* kStatus[] = {"complete", "out of time", "failed"};
  nlohmann::ordered_json json = {{"score", all.score},
                                 {"by", print(all.plan.rule)},
                                 {"reason", all.plan.reason},
                                 {"level", all.plan.level},
                                 {"folds", nlohmann::ordered_json::array()},
                                 {"candidates", nlohmann::ordered_json::array()},
                                 {"rows_not_predicted", all.not_predicted},
                                 {"verdict", all.verdict}};
  for (const Fold& fold : all.plan.folds) {
    json["folds"].push_back(
        {{"name", fold.name}, {"training_rows", fold.training.size()}, {"test_rows", fold.test.size()}});
  }
  for (const Standing& each : all.standings) {
    nlohmann::ordered_json& to = json["candidates"].emplace_back();
    to = {{"formula", each.candidate.fit.formula},
          {"baseline", each.candidate.is_asked() ? nlohmann::json() : nlohmann::json(each.candidate.baseline)},
          {"status", kStatus[static_cast<int>(each.status)]}};
    if (each.status == Status::failed) to["reason"] = with_flags(each.failure);
    if (!each.folds.empty()) to["difference"] = to_json(each.difference);
    for (const auto& [name, estimate] : each.scores) to["scores"][name] = to_json(estimate);
    to["folds"] = nlohmann::ordered_json::array();
    for (const auto& [fold, scores] : each.folds) {
      nlohmann::ordered_json& of_fold = to["folds"].emplace_back();
      of_fold["fold"] = fold + 1;
      for (const auto& [name, value] : scores) of_fold[name] = finite_json(value);
    }
    to["seconds"] = each.seconds;
    to["parameters"] = each.parameters > 0 ? nlohmann::json(each.parameters) : nlohmann::json();
  }
  return json;
}

}  // namespace ick
