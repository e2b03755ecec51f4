#pragma once

namespace ick {

// Memory that this process could still get without pushing others out, in bytes; infinite where nothing tells.
double free_bytes();

}  // namespace ick
