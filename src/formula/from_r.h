#pragma once

#include <string>

#include "ick/formula/expression.h"
#include "tokenizer.h"

// Half sentences for those who write formulas of R: what to write instead.
namespace ick::detail {

// Behind a column that stands alone, as in y ~ a + b: `next` and `rest` are what follows it.
std::string advice_on_columns(const std::string& column, const Token& next, Tokenizer rest);

// Behind what is no term: y ~ ., y ~ 1 + x, (1 | group). `next` follows it.
std::string advice_on_term(const Token& found, const Token& next);

// Behind a sign between columns, as in rbf(x + y).
std::string advice_on_sign(const Token& found);

}  // namespace ick::detail

namespace ick {

// s(x), te(x, y), poly(x, 2), factor(x), I(x^2), log(x) as a term; "" when the name is none of these.
std::string advice_on_function(const Call& call);

}  // namespace ick
