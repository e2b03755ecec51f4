#pragma once

#include <functional>

#include "ick/base/message.h"
#include "ick/train/progress.h"

namespace ick {

// How a fit speaks and listens, on the thread that called it. All may be empty.
struct FitControl {
  std::function<void(const Progress&)> progress;
  std::function<bool()> cancelled;             // asked at every step; true ends the fit with Interrupted
  std::function<void(const Message&)> remark;  // a sentence about a choice that was made, or has no effect
};

}  // namespace ick
