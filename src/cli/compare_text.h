#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ick/evaluate/comparison.h"

// What `ick compare` says.
namespace ick {

std::string comparison_text(const Leaderboard& all);      // the table, what standard errors are, the verdict
std::string comparison_markdown(const Leaderboard& all);  // the same as a table of Markdown
std::string comparison_csv(const Leaderboard& all);       // a line for each candidate and fold
nlohmann::ordered_json to_json(const Leaderboard& all);

}  // namespace ick
