#pragma once

// What each page carries inside.
namespace ick::detail {

extern const char* const kPageStyle;   // style.cpp; colours are those of palette.cpp
extern const char* const kPageScript;  // script.cpp

}  // namespace ick::detail
