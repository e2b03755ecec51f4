#include "report/letters.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ick/base/text.h"

namespace ick::detail {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";     // U+2026

// Bytes of the letter at the start of a text, 1 where there is none.
std::size_t letter_bytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t bytes = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 1;
  return std::min(bytes, text.size());
}

std::uint32_t code_of(std::string_view letter) {
  const auto lead = static_cast<unsigned char>(letter.front());
  if (letter.size() == 1) return lead;
  std::uint32_t code = lead & (0xFFu >> (letter.size() + 1));
  for (const char byte : letter.substr(1)) code = code << 6 | (static_cast<unsigned char>(byte) & 0x3Fu);
  return code;
}

bool between(std::uint32_t code, std::uint32_t low, std::uint32_t high) { return code >= low && code <= high; }

bool is_space(std::uint32_t code) {
  return code == '\t' || code == '\n' || code == '\r' || code == 0x85 || between(code, 0x2028, 0x2029);
}

bool is_unsafe(std::uint32_t code) {
  return code < 0x20 || between(code, 0x7F, 0x9F)                           // control characters
         || between(code, 0x202A, 0x202E) || between(code, 0x2066, 0x2069)  // direction of what follows
         || (code & 0xFFFEu) == 0xFFFEu || between(code, 0xFDD0, 0xFDEF);   // no characters at all
}

std::size_t columns_of(std::uint32_t code) {
  if (between(code, 0x300, 0x36F) || between(code, 0x200B, 0x200F) || between(code, 0xFE00, 0xFE0F)) return 0;
  const bool wide = between(code, 0x1100, 0x115F) || between(code, 0x2E80, 0xA4CF) || between(code, 0xAC00, 0xD7A3) ||
                    between(code, 0xF900, 0xFAFF) || between(code, 0xFE30, 0xFE6F) || between(code, 0xFF00, 0xFF60) ||
                    between(code, 0x1F300, 0x1FAFF) || between(code, 0x20000, 0x3FFFD);
  return wide ? 2 : 1;
}

// Widths of DejaVu Sans, which is wider than most, as a part of the size.
double relative_width(std::uint32_t code) {
  if (code == 0xFFFD) return 1.03;
  if (code >= 0x80) return columns_of(code) == 2 ? 1.0 : 0.64 * static_cast<double>(columns_of(code));
  const char letter = static_cast<char>(code);
  if (std::string_view("ijl.,:;'|!` ").find(letter) != std::string_view::npos) return 0.33;
  if (std::string_view("frt()[]{}-/\\\"I").find(letter) != std::string_view::npos) return 0.42;
  if (std::string_view("mwMW@%").find(letter) != std::string_view::npos) return 0.95;
  if (letter >= 'A' && letter <= 'Z') return 0.70;
  return 0.62;
}

// The longest start of whole letters that an ellipsis fits behind; the whole where it fits.
template <class Width>
std::string cut_by(std::string_view text, double most, Width width_of_letter) {
  double width = 0.0;
  std::size_t kept = 0;  // bytes that leave room for the ellipsis
  const double ellipsis = width_of_letter(0x2026);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = letter_bytes(text.substr(at));
    width += width_of_letter(code_of(text.substr(at, bytes)));
    if (width > most) return std::string(text.substr(0, kept)).append(kEllipsis);
    at += bytes;
    if (width + ellipsis <= most) kept = at;
  }
  return std::string(text);
}

}  // namespace

std::string clean(std::string_view text, bool keep_line_ends) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view letter = text.substr(at, letter_bytes(text.substr(at)));
    if (!is_utf8(letter)) {
      result += kReplacement;
      ++at;
      continue;
    }
    at += letter.size();
    const std::uint32_t code = code_of(letter);
    if (keep_line_ends && code == '\n') {
      result += '\n';
    } else if (is_space(code)) {
      result += ' ';
    } else if (is_unsafe(code)) {
      result += kReplacement;
    } else {
      result += letter;
    }
  }
  return result;
}

std::string escaped(std::string_view text, bool keep_line_ends) {
  std::string result;
  for (const char byte : clean(text, keep_line_ends)) {
    switch (byte) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += byte;
    }
  }
  return result;
}

std::size_t column_count(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = letter_bytes(text.substr(at));
    columns += columns_of(code_of(text.substr(at, bytes)));
    at += bytes;
  }
  return columns;
}

std::string cut_to_columns(std::string_view text, std::size_t columns) {
  return cut_by(text, static_cast<double>(columns),
                [](std::uint32_t code) { return static_cast<double>(columns_of(code)); });
}

double text_width(std::string_view text, double size) {
  double width = 0.0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = letter_bytes(text.substr(at));
    width += relative_width(code_of(text.substr(at, bytes)));
    at += bytes;
  }
  return width * size;
}

std::string cut_to_width(std::string_view text, double size, double width) {
  return cut_by(text, width / size, relative_width);
}

}  // namespace ick::detail
