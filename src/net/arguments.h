#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ick/net/network.h"

namespace ick {

inline constexpr std::int64_t kMostUnits = 65536;  // of a layer

// What a formula says of a network, read by name; what it does not say is `otherwise`. UsageError that names the column
// of the formula.
class Arguments {
 public:
  // Refuses names that are not in `known`, and values that would have to be learned.
  Arguments(const NetworkSpec& network, std::span<const NetworkArgument> known);

  [[noreturn]] void fail(std::string_view argument, const std::string& message) const;
  [[noreturn]] void fail(const std::string& message) const;  // about the network as a whole

  double share(std::string_view argument, double otherwise) const;              // from 0 to below 1
  std::int64_t whole_number(std::string_view argument, std::int64_t otherwise,  // from 1
                            std::int64_t most = kMostUnits) const;
  // One number or a list of them.
  std::vector<std::int64_t> whole_numbers(std::string_view argument, std::vector<std::int64_t> otherwise,
                                          std::int64_t most = kMostUnits) const;
  // The same of hidden widths, where the word none stands for no hidden layer.
  std::vector<std::int64_t> widths_or_none(std::string_view argument, std::vector<std::int64_t> otherwise) const;
  // The place among `choices` of the word.
  std::size_t choice(std::string_view argument, const std::vector<std::string>& choices, std::size_t otherwise) const;
  std::string text(std::string_view argument, const std::string& example) const;  // in quotes; must be there

  // At least one output and one member; a column, or an image with a pixel.
  void check_sizes(const NetworkContext& context, Reads reads) const;

 private:
  const NetworkSpec& network_;
  std::span<const NetworkArgument> known_;
};

}  // namespace ick
