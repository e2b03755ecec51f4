#pragma once

#include <string>
#include <string_view>

namespace ick::detail {

// SHA-256 (FIPS 180-4) in base64: by it a page's Content-Security-Policy names the script that may run.
std::string sha256_base64(std::string_view bytes);

}  // namespace ick::detail
