#pragma once

#include <torch/csrc/jit/api/module.h>

#include <string>

// A TorchScript is a program. Most of what it can call computes with tensors; a few operations read or write files or
// speak to other processes. These functions find them; a script that has one is not run. They are no sandbox: torch
// itself is not written to withstand a hostile script, so that a script is run only when the user names or trusts it.
namespace ick {

// What loading itself would run, "__setstate__" of a class of the script, or "". `archive` is the file's bytes. Throws
// what torch throws when it is not such an archive.
std::string code_run_by_loading(const std::string& archive);

// The first operation that is not one on tensors and plain values, as in "aten::save"; "" when there is none. Looks at
// all functions and methods that came with the script, and the blocks and graphs inside them.
std::string operation_beyond_tensors(const torch::jit::Module& script);

}  // namespace ick
