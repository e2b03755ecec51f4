#include "ick/kernel/spec.h"

#include "ick/base/error.h"

namespace ick {

KernelSpec make_kernel_spec(const Call& call) {
  if (call.rest) {
    throw UsageError(where(call.position) + call.name +
                     " has \".\" for the columns of a table, and there is no table here; name the columns");
  }
  KernelSpec spec;
  spec.name = call.name;
  spec.columns = call.columns;
  spec.arguments = call.arguments;
  spec.sphere =
      std::erase_if(spec.arguments, [](const Argument& argument) {
        if (argument.name != "sphere") return false;
        if (argument.kind == Argument::Kind::flag) return true;
        throw UsageError(where(argument.position) + "sphere is a word that stands alone, as in rbf(lat, lon, sphere)");
      }) > 0;
  spec.id = call.id;
  spec.position = call.position;
  for (std::size_t i = 0; i < call.columns.size(); ++i) spec.column_positions.push_back(call.column_position(i));
  spec.text = print(call);
  return spec;
}

KernelSum make_kernel_sum(const Expression& expression) {
  KernelSum sum;
  for (const Product& product : canonical(expression)) {
    KernelProduct& factors = sum.emplace_back();
    for (const Call& call : product) factors.push_back(make_kernel_spec(call));
  }
  return sum;
}

std::string print(const KernelSum& sum) {
  std::string text;
  for (const KernelProduct& product : sum) {
    std::string factors;
    for (const KernelSpec& kernel : product) factors += (factors.empty() ? "" : " * ") + kernel.text;
    text += (text.empty() ? "" : " + ") + factors;
  }
  return text;
}

}  // namespace ick
