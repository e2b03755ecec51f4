#pragma once

#include <string>
#include <vector>

#include "ick/base/option.h"

namespace ick {

// Settings in Markdown: a table for each group that has any.
std::string option_tables(const std::vector<const OptionRow*>& rows);

// The reference page of a command whose settings are declared: fit or pretrain.
std::string option_page(const std::string& command);

}  // namespace ick
