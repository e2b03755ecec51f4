#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// Text of others, before it stands in a picture, on a page or in a terminal. What a table holds can be anything.
namespace ick::detail {

// Well-formed UTF-8 that shows what it is: bytes that are none, control characters (escape sequences of a terminal) and
// what turns the direction of the text around it become U+FFFD, tabs and line ends a space.
std::string clean(std::string_view text, bool keep_line_ends = false);

// The same where < > & " ' mean themselves, in XML and HTML, in text and in attributes.
std::string escaped(std::string_view text, bool keep_line_ends = false);

// Columns of a terminal: two for the wide letters of East Asia, none for marks that stand above another letter.
std::size_t column_count(std::string_view text);

// Whole letters of a clean text, at most so many columns, the last an ellipsis where something is missing.
std::string cut_to_columns(std::string_view text, std::size_t columns);

// About the width of a line of sans-serif letters of that size, rather too wide than too narrow.
double text_width(std::string_view text, double size);
std::string cut_to_width(std::string_view text, double size, double width);

}  // namespace ick::detail
