#include "ick/base/message.h"

namespace ick {
namespace {

// Control characters, which neither names of columns nor formulas have.
constexpr char kStart = '\x02', kValue = '\x1f', kEnd = '\x03';

std::string as_field(std::string_view name, std::string_view value) {
  if (value.empty()) return std::string(name);
  const bool quoted = value.find_first_of("= ") != std::string_view::npos;
  return std::string(name) + "=" + (quoted ? "\"" : "") + std::string(value) + (quoted ? "\"" : "");
}

}  // namespace

std::string setting(std::string_view name, std::string_view value) {
  return kStart + std::string(name) + kValue + std::string(value) + kEnd;
}

std::string Message::text() const { return spelled(as_field); }

std::string Message::spelled(const Spelling& spelling) const {
  std::string out;
  const std::string_view all = marked_;
  std::size_t at = 0;
  while (at < all.size()) {
    const std::size_t start = all.find(kStart, at), value = all.find(kValue, start), end = all.find(kEnd, value);
    if (end == std::string_view::npos) return out + std::string(all.substr(at));
    out += all.substr(at, start - at);
    out += spelling(all.substr(start + 1, value - start - 1), all.substr(value + 1, end - value - 1));
    at = end + 1;
  }
  return out;
}

}  // namespace ick
