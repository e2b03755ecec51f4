#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ick {

// The candidate nearest to `word` by edit distance (a swap of neighbours counts as one edit, case as none), or "" when
// none is near enough to be what was meant.
std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

// `; did you mean "periodic"?`, or "" when nothing is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

// "a, b and c"
std::string join_words(std::span<const std::string> words);

bool contains(std::span<const std::string> names, std::string_view name);
void add_new(std::vector<std::string>& names, std::span<const std::string> more);  // those not among them yet, behind

// Well-formed UTF-8 (RFC 3629): what JSON can hold.
bool is_utf8(std::string_view text);

// The shortest decimal text that reads back as the same double: 0.1, 365.25, 100000, 1e-08.
std::string number_text(double value);

}  // namespace ick
