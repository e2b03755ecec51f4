#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ick/formula/derived.h"

namespace ick {

// A number with its unit as the user wrote it: 1y, 30km, 0.5. What a unit means depends on the column it is applied to,
// so the formula only carries it.
struct Quantity {
  double number = 0.0;
  std::string unit;  // "" when none was written
  bool operator==(const Quantity&) const = default;
};

// "14d", "0.5", "1e3 km" as a quantity; none for any other text. The unit is not looked at.
std::optional<Quantity> read_quantity(std::string_view text);

// "formula column 17: ", which a message about a place in the formula begins with.
std::string where(std::size_t position);

// What a formula says about one parameter or option of a call.
//   period=1y                      known: held at 1y; fixed(1y) says the same
//   lengthscale=[0.1, 3]           known, one value per input
//   period=start(1y)               learned, from 1y on
//   lengthscale=bounded(2, 0.5, 8) learned, from 2 on, between 0.5 and 8
//   lengthscale=prior(2d, 30d)     learned; believed to lie between 2 and 30 days with 90% probability
//   features=nystrom               a word: an option, not a parameter
//   raster="dem.tif"               text in quotes: a file
//   at=(lat, lon)                  columns, which become those of the call
//   sphere                         a flag: the bare word (inputs are latitude and longitude in degrees); "sphere" in
//                                  quotes is a column
struct Argument {
  enum class Kind { value, fixed, start, bounded, prior, word, text, columns, flag };
  std::string name;
  Kind kind = Kind::value;
  std::vector<Quantity> values;       // one, or one per input or component; none for prior, words, text, flags
  std::optional<Quantity> low, high;  // for bounded and prior
  std::string word;                   // for word and text
  std::size_t position = 0;           // column of the formula, from 1
  bool operator==(const Argument& other) const;  // position does not count

  bool is_of_learning() const {  // says how a parameter is learned or that it is not
    return kind == Kind::fixed || kind == Kind::start || kind == Kind::bounded || kind == Kind::prior;
  }
};

const Argument* find_argument(const std::vector<Argument>& arguments, std::string_view name);  // null when absent

// name(column, column, argument=value): a kernel or a network on its columns, which may be computed, as hour(t) is, or
// on transformations of columns, which are calls themselves: mlp(a, trees(b, n=10)).
struct Call {
  std::string name;
  std::vector<std::string> columns;    // of the table, or derived
  std::vector<DerivedColumn> derived;  // those among them, behind what they are computed of; may hold more
  std::vector<Call> nested;
  bool rest = false;  // `.` among the columns: all that the formula uses nowhere else; "." in quotes is a column
  std::vector<std::string> without;  // -date: what `.` leaves out
  std::vector<Argument> arguments;
  std::size_t position = 0;
  std::vector<std::size_t> column_positions;  // one for each of `columns`; none when the call was made in code
  std::vector<std::size_t> without_positions;
  std::size_t id = 0;                        // which call of an expression it is, from 1: canonical() numbers them
  bool operator==(const Call& other) const;  // positions and id do not count

  const Argument* find(std::string_view argument) const { return find_argument(arguments, argument); }
  std::size_t column_position(std::size_t i) const;  // position of columns[i]; the call's own when unknown
};

// Columns of the table that a call itself reads, and where they stand in the formula.
struct PlacedColumn {
  std::string name;
  std::size_t position = 0;
};
std::vector<PlacedColumn> columns_read(const Call& call);

// "." gives way to the columns that it stands for.
void spell_out(Call& call, const std::vector<std::string>& others);

// Further columns, with what is derived among them.
void add_columns(Call& call, const std::vector<std::string>& names, std::span<const DerivedColumn> derived);

// The syntax tree: a call, a sum or a product.
struct Expression {
  enum class Kind { call, sum, product };
  Kind kind = Kind::call;
  Call call;                         // kind == call
  std::vector<Expression> operands;  // kind == sum, product
  bool operator==(const Expression&) const = default;
};

// One canonical form: a sum of products of calls.
//   a * (b + c) = a * b + a * c
using Product = std::vector<Call>;
using SumOfProducts = std::vector<Product>;

// Reads `rbf(x) * (periodic(t, period=1y) + linear(t))`. Throws UsageError that names the column of the text.
Expression parse_expression(std::string_view text);

// Every call, from left to right; those among the columns of a call are a part of it.
std::vector<const Call*> calls_of(const Expression& expression);
std::vector<const Call*> all_calls_of(const Expression& expression);  // and those, each behind the one it stands in

// Multiplies out. Order is kept: terms as they arise from left to right, factors as written. A call that comes to stand
// in several products has the same id in all of them; calls that were written apart differ in it.
SumOfProducts canonical(const Expression& expression);

// Text that parse_expression reads back to an equal tree: parentheses only where precedence needs them, column names
// quoted only when they are not plain words.
std::string print(const Expression& expression);
std::string print(const SumOfProducts& sum);
std::string print(const Call& call);
std::string print(const Quantity& quantity);

}  // namespace ick
