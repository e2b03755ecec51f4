#include "net/arguments.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/text.h"

namespace ick {

namespace {

[[noreturn]] void fail_at(std::size_t position, const std::string& message) {
  throw UsageError(where(position) + message);
}

std::string range_text(std::int64_t most) { return "whole number from 1 to " + std::to_string(most); }

bool is_whole(const Quantity& quantity, std::int64_t most) {
  const double value = quantity.number;
  return quantity.unit.empty() && value == std::floor(value) && value >= 1.0 && value <= static_cast<double>(most);
}

}  // namespace

Arguments::Arguments(const NetworkSpec& network, std::span<const NetworkArgument> known)
    : network_(network), known_(known) {
  std::vector<std::string> names;
  for (const NetworkArgument& each : known) names.emplace_back(each.name);
  for (const Argument& argument : network.arguments) {
    if (!contains(names, argument.name)) {
      const std::string guess = did_you_mean(argument.name, names);
      fail_at(argument.position, network.name + " has no argument named \"" + argument.name + "\"" +
                                     (guess.empty() ? "; it has " + join_words(names) : guess));
    }
    if (argument.is_of_learning()) {
      fail_at(argument.position,
              argument.name + " is not learned; write its value alone, as in " + argument.name + "=VALUE");
    }
  }
}

void Arguments::fail(std::string_view argument, const std::string& message) const {
  const Argument* found = network_.find(argument);
  fail_at(found ? found->position : network_.position, message);
}

void Arguments::fail(const std::string& message) const { fail_at(network_.position, message); }

double Arguments::share(std::string_view argument, double otherwise) const {
  const Argument* found = network_.find(argument);
  if (!found) return otherwise;
  const std::string expected = "a number from 0 to below 1";
  if (found->kind != Argument::Kind::value || found->values.size() != 1) {
    fail(argument, found->name + " must be " + expected);
  }
  const Quantity& value = found->values[0];
  if (!value.unit.empty() || value.number < 0.0 || value.number >= 1.0) {
    fail(argument, found->name + " = " + print(value) + " is not " + expected);
  }
  return value.number;
}

std::int64_t Arguments::whole_number(std::string_view argument, std::int64_t otherwise, std::int64_t most) const {
  const Argument* found = network_.find(argument);
  if (!found) return otherwise;
  if (found->kind != Argument::Kind::value || found->values.size() != 1) {
    fail(argument, found->name + " must be a " + range_text(most));
  }
  if (!is_whole(found->values[0], most)) {
    fail(argument, found->name + " = " + print(found->values[0]) + " is not a " + range_text(most));
  }
  return static_cast<std::int64_t>(found->values[0].number);
}

std::vector<std::int64_t> Arguments::whole_numbers(std::string_view argument, std::vector<std::int64_t> otherwise,
                                                   std::int64_t most) const {
  const Argument* found = network_.find(argument);
  if (!found) return otherwise;
  if (found->kind != Argument::Kind::value) {
    const auto known =
        std::find_if(known_.begin(), known_.end(), [&](const auto& each) { return each.name == argument; });
    const std::string shown(known->default_text.starts_with("[") ? known->default_text : "[128, 64]");
    fail(argument,
         found->name + " must be a " + range_text(most) + " or a list of them, as in " + found->name + "=" + shown);
  }
  std::vector<std::int64_t> numbers;
  for (const Quantity& each : found->values) {
    if (!is_whole(each, most)) {
      fail(argument, found->name + " has " + print(each) + ", which is not a " + range_text(most));
    }
    numbers.push_back(static_cast<std::int64_t>(each.number));
  }
  return numbers;
}

std::vector<std::int64_t> Arguments::widths_or_none(std::string_view argument,
                                                    std::vector<std::int64_t> otherwise) const {
  const Argument* found = network_.find(argument);
  if (found && found->kind == Argument::Kind::word && found->word == "none") return {};
  return whole_numbers(argument, std::move(otherwise));
}

std::size_t Arguments::choice(std::string_view argument, const std::vector<std::string>& choices,
                              std::size_t otherwise) const {
  const Argument* found = network_.find(argument);
  if (!found) return otherwise;
  if (found->kind != Argument::Kind::word) {
    fail(argument, found->name + " must be a word: " + join_words(choices) + " are known");
  }
  const auto place = std::find(choices.begin(), choices.end(), found->word);
  if (place == choices.end()) {
    const std::string guess = did_you_mean(found->word, choices);
    fail(argument, "no " + found->name + " named \"" + found->word + "\"" +
                       (guess.empty() ? "; " + join_words(choices) + " are known" : guess));
  }
  return static_cast<std::size_t>(place - choices.begin());
}

std::string Arguments::text(std::string_view argument, const std::string& example) const {
  const Argument* found = network_.find(argument);
  if (found && found->kind == Argument::Kind::text && !found->word.empty()) return found->word;
  const std::string shown = std::string(argument) + "=\"" + example + "\"";
  if (!found)
    fail(network_.name + " needs " + std::string(argument) + ", as in " + network_.name + "(image, " + shown + ")");
  fail(argument, found->name + " must be text in quotes, as in " + shown);
}

void Arguments::check_sizes(const NetworkContext& context, Reads reads) const {
  const std::string& name = network_.name;
  if (reads == Reads::columns && context.inputs < 1) {
    fail(name + " has no column; name at least one, as in " + name + "(x)");
  }
  const ImageShape& image = context.image;
  if (reads == Reads::image && (image.channels < 1 || image.height < 1 || image.width < 1)) {
    fail(name + " has no image; name a column of files, as in " + name + "(image)");
  }
  if (context.outputs < 1 || context.members < 1) {
    fail(name + " needs at least one output and one member, but has " + std::to_string(context.outputs) + " and " +
         std::to_string(context.members));
  }
}

}  // namespace ick
