#pragma once

#include <exception>
#include <string>

#include "ick/base/error.h"

namespace ick {

// What `work` throws, with "f" in place of `path`; "" when it throws nothing, "other: ..." when that is not an E.
template <class E = Error, class Work>
std::string message_of(const Work& work, const std::string& path = "") {
  try {
    work();
  } catch (const E& error) {
    std::string text = error.what();
    for (std::size_t at; !path.empty() && (at = text.find(path)) != std::string::npos;)
      text.replace(at, path.size(), "f");
    return text;
  } catch (const std::exception& error) {
    return std::string("other: ") + error.what();
  }
  return "";
}

}  // namespace ick
