#pragma once

namespace ick {

// Memory that this process could still get without pushing others out, in bytes; infinite where nothing tells.
double free_bytes();

// For programs that train on images or large batches, to call once at their start. These allocate and free buffers of
// megabytes at every step; by default each would be mapped and unmapped, and every page of it zeroed by the system.
void keep_large_buffers();

}  // namespace ick
