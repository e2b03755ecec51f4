#include "ick/store/predictor_kind.h"

#include "base/registry.h"
#include "ick/base/text.h"
#include "ick/net/network.h"
#include "store/kinds.h"

namespace ick {

namespace {

// The table. A new kind of predictor is a file that derives from Predictor, a file that keeps it, and one line here.
Registry<PredictorKind>& table() {
  static Registry<PredictorKind> rows("kind of model", {composite_kind(), baseline_kind()});
  return rows;
}

}  // namespace

const PredictorKind& predictor_kind(std::string_view name) { return table().named(name); }

void add_predictor_kind(const PredictorKind& kind) {
  if (kind.name.empty() || kind.write == nullptr || kind.read == nullptr) {
    throw UsageError("kind of model \"" + std::string(kind.name) + "\": a name, write and read are needed");
  }
  table().add(kind);
}

void damaged(const std::string& path, const std::string& reason) {
  throw DataError(path + ": " + reason + "; the model is damaged, take a fresh copy of its folder");
}

void refuse_code(const Formula& formula, const std::string& path) {
  if (!brings_code(formula.right)) return;
  throw UntrustedCode(path + ": it carries a TorchScript, a program that could run any code as you; give " +
                      setting("trust") + " if you trust the place it comes from");
}

}  // namespace ick
