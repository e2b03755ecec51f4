#pragma once

#include <cstddef>
#include <string>

#include "ick/report/figure.h"

namespace ick::detail {

struct DrawingOptions {
  int width = 720;
  bool alone = true;  // a file of its own: with its title and its colours; else part of a page, which has these
  bool told = false;  // with the numbers and texts of its marks, for a page's script
  std::size_t most_marks = 4000;  // of a layer: longer ones are thinned
  std::string id = "figure";      // of this picture, different from those of all others on its page
};

std::string draw(const Figure& figure, const DrawingOptions& options);

// At most so many marks in each layer. Of a line first, least, greatest and last of each piece, of points every n-th.
Figure thinned(const Figure& figure, std::size_t most);
// "4,000 of 120,000 marks are drawn.", or empty.
std::string thinning_note(const Figure& figure, std::size_t most);

// What is for a name of a file or an anchor: letters, digits, hyphens.
std::string identifier(const std::string& text);

}  // namespace ick::detail
