#include "baseline/rewrite.h"

#include <map>

#include "ick/base/text.h"

namespace ick {

SumOfProducts spelled_out(const ModelSpec& spec) {
  std::map<std::size_t, std::vector<std::string>> columns;  // of networks, by the call's id
  for (const TermSpec& term : spec.terms) {
    for (const NetworkSpec& network : term.networks) columns[network.id] = network.inputs.columns;
  }
  SumOfProducts sum = canonical(spec.formula.right);
  for (Product& product : sum) {
    for (Call& call : product) {
      if (!call.rest) continue;
      add_new(call.columns, columns.at(call.id));
      call.rest = false, call.column_positions.clear();
    }
  }
  return sum;
}

Formula with_right(const Formula& formula, const SumOfProducts& right) {
  Formula made = formula;
  made.right = parse_expression(print(right));
  return made;
}

}  // namespace ick
