#pragma once

#include <string>

// One function for each subcommand. Data goes to stdout, talk to stderr; errors are thrown and main turns them into
// exit codes.
namespace ick {

struct ListOptions {
  std::string what = "kernels";  // or "features"
  bool json = false;
};
void list(const ListOptions& options);

struct ExplainOptions {
  std::string formula;
  long features = 64;
  bool json = false;
};
void explain(const ExplainOptions& options);

}  // namespace ick
