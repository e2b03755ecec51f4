#pragma once

#include <string>

#include "ick/base/message.h"

namespace ick {

// A message in which settings stand as this program takes them: "use --posterior ensemble".
std::string with_flags(const Message& message);

}  // namespace ick
