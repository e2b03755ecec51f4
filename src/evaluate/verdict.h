#pragma once

#include <string>

#include "ick/evaluate/comparison.h"

namespace ick {

double loss(const std::string& score, double value);  // smaller is better: the score, or less the score
std::string verdict_of(const Leaderboard& all);       // which candidate predicts best, and whether that is certain

}  // namespace ick
