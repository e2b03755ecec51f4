#pragma once

#include <map>
#include <string>
#include <string_view>

#include "ick/net/network.h"

namespace ick {

// The public format: 8 bytes length, a JSON header {"__metadata__": {text: text}, name: {dtype, shape, data_offsets}},
// then the numbers, little-endian, row by row, without gaps. The header is padded with spaces so that data start at a
// multiple of 8; it names the tensors in their order here, and the numbers of wider types come first, so that all are
// aligned. Types: F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL.

// UsageError when a name comes twice or is "__metadata__", a text is not UTF-8, or a tensor has another type.
std::string safetensors_bytes(const TensorState& tensors, const std::map<std::string, std::string>& metadata = {});

// The tensors in the header's order, each with memory of its own. DataError that names `path` and what is wrong: too
// short, a header that is not JSON or over 100 MB, offsets outside the file, overlapping or with gaps, a dtype that is
// not known.
TensorState parse_safetensors(std::string_view bytes, const std::string& path,
                              std::map<std::string, std::string>* metadata = nullptr);

}  // namespace ick
