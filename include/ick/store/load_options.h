#pragma once

namespace ick {

struct LoadOptions {
  // Whether code that came with the file may run: a TorchScript can do whatever the user can. Without it such a model
  // is refused (UsageError). Files that the stored formula names (file=, start=) are not opened in either case.
  bool trust = false;
};

}  // namespace ick
