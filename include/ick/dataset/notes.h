#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace ick {

enum class Gaps { refuse, drop, fill };  // what to do with rows where a kernel's column is missing

constexpr double kHeldBytes = 64e6;  // rows that take more as tensors are encoded again for each batch

// What was left out or made up when rows became numbers.
struct EncodingNotes {
  std::int64_t without_target = 0;             // rows dropped
  std::int64_t with_gaps = 0;                  // rows dropped because a kernel's column is missing
  std::map<std::string, std::int64_t> filled;  // gaps filled, by column
  std::map<std::string, std::int64_t> unseen;  // cells with a level that training rows do not have, by column
};

}  // namespace ick
