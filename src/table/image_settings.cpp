#include <algorithm>
#include <cmath>
#include <optional>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/base/unit.h"
#include "ick/table/image.h"

namespace ick {
namespace {

constexpr double kLargestSize = 16384.0;  // of a side, in pixels
constexpr double kMostBands = 65536.0;

[[noreturn]] void fail(std::size_t position, const std::string& message) {
  throw UsageError(where(position) + message);
}

std::optional<Argument> take(Call& call, std::string_view name) {
  const auto found = std::find_if(call.arguments.begin(), call.arguments.end(),
                                  [&](const Argument& each) { return each.name == name; });
  if (found == call.arguments.end()) return std::nullopt;
  Argument argument = std::move(*found);
  call.arguments.erase(found);
  return argument;
}

std::string file_name(const Argument& argument) {
  if (argument.kind != Argument::Kind::text || argument.word.empty()) {
    fail(argument.position, argument.name + " must be a file's name in quotes, as in " + argument.name + "=\"file\"");
  }
  return argument.word;
}

std::string choice(const Argument& argument, const std::vector<std::string>& choices) {
  const std::string known = "; " + join_words(choices) + " are known";
  if (argument.kind != Argument::Kind::word) fail(argument.position, argument.name + " must be a word" + known);
  if (!contains(choices, argument.word)) {
    const std::string guess = did_you_mean(argument.word, choices);
    fail(argument.position,
         "no " + argument.name + " named \"" + argument.word + "\"" + (guess.empty() ? known : guess));
  }
  return argument.word;
}

std::vector<std::int64_t> whole_numbers(const Argument& argument, double most, const std::string& example) {
  const std::string expected = "whole numbers from 1 to " + number_text(most) + ", as in " + example;
  if (argument.kind != Argument::Kind::value) fail(argument.position, argument.name + " must be " + expected);
  std::vector<std::int64_t> numbers;
  for (const Quantity& each : argument.values) {
    if (!each.unit.empty() || each.number != std::floor(each.number) || each.number < 1.0 || each.number > most) {
      fail(argument.position, argument.name + " has " + print(each) + " where " + expected + " were expected");
    }
    numbers.push_back(static_cast<std::int64_t>(each.number));
  }
  return numbers;
}

double number_up_to(const Argument& argument, std::string_view unit, double most, const std::string& example) {
  const std::string expected = "one number from 0 to " + number_text(most) + std::string(unit) + ", as in " + example;
  if (argument.kind != Argument::Kind::value || argument.values.size() != 1) {
    fail(argument.position, argument.name + " must be " + expected);
  }
  const Quantity& given = argument.values[0];
  const std::optional<double> number = given.unit.empty() ? given.number : convert(given.number, given.unit, unit);
  if (!number || *number < 0.0 || *number > most) {
    fail(argument.position, argument.name + " = " + print(given) + " is not " + expected);
  }
  return *number;
}

// The columns that say which image a row shows go to the settings; those behind them stay the call's.
void take_columns(Call& call, const std::optional<Argument>& at, ImageSettings& settings) {
  const bool raster = !settings.raster.empty();
  if (raster && (!at || call.columns.size() != 2 || call.rest)) {
    fail(call.position, call.name + " cuts patches of a raster around places; say where with at=(latitude, longitude)");
  }
  if (!raster && at) fail(at->position, "at=(...) needs a raster to cut patches of, as in raster=\"dem.tif\"");
  if (call.columns.empty()) {
    fail(call.position, call.name + " reads images, and no column says which; name it, as in " + call.name + "(image)");
  }
  const auto end = call.columns.begin() + (raster ? 2 : 1);
  settings.columns.assign(call.columns.begin(), end);
  call.columns.erase(call.columns.begin(), end);
  call.column_positions.clear();
}

}  // namespace

std::vector<ImageArgument> image_arguments() {
  return {
      {"idx", "idx file, of which the column has the numbers, from 0", "none: the column has file names"},
      {"raster", "file that patches are cut of", "none"},
      {"at", "columns (latitude, longitude) of the patches", "none"},
      {"size", "pixels: one number, or [height, width]", "those of the first image"},
      {"fit", "resize or crop: what happens to images of another size", "resize"},
      {"bands", "channels to use, from 1", "all"},
      {"flip", "horizontal, vertical or both: mirrored in training, every second time", "none"},
      {"rotate", "turned in training, by up to this angle", "0deg"},
      {"shift", "moved in training, by up to so many pixels", "0"},
  };
}

ImageSettings take_image_settings(Call& call) {
  ImageSettings settings;
  const std::optional<Argument> at = take(call, "at");
  if (at && at->kind != Argument::Kind::columns) fail(at->position, "at must be two columns, as in at=(lat, lon)");
  const std::optional<Argument> idx = take(call, "idx"), raster = take(call, "raster"), size = take(call, "size");
  if (idx) settings.idx = file_name(*idx);
  if (raster) settings.raster = file_name(*raster);
  if (idx && raster)
    fail(raster->position, "images come from an idx file or from a raster; give idx= or raster=, not both");
  take_columns(call, at, settings);
  if (size) {
    const std::vector<std::int64_t> sides = whole_numbers(*size, kLargestSize, "size=64 or size=[48, 64]");
    if (sides.size() > 2) fail(size->position, "size has more than two numbers; give one, or [height, width]");
    settings.height = sides.front();
    settings.width = sides.back();
  } else if (raster) {
    fail(raster->position, "patches of a raster need their size in pixels, as in size=32");
  }
  if (const std::optional<Argument> fit = take(call, "fit")) {
    if (raster) fail(fit->position, "patches of a raster have their size already; leave fit= out");
    if (choice(*fit, {"resize", "crop"}) == "crop") settings.fit = ImageSettings::Fit::crop;
  }
  if (const std::optional<Argument> bands = take(call, "bands")) {
    for (const std::int64_t each : whole_numbers(*bands, kMostBands, "bands=[3, 2, 1]")) {
      settings.bands.push_back(static_cast<int>(each));
    }
  }
  return settings;
}

Augmentation take_augmentation(Call& call) {
  Augmentation augmentation;
  if (const std::optional<Argument> flip = take(call, "flip")) {
    const std::string way = choice(*flip, {"horizontal", "vertical", "both"});
    augmentation.flip_horizontal = way != "vertical";
    augmentation.flip_vertical = way != "horizontal";
  }
  if (const std::optional<Argument> rotate = take(call, "rotate")) {
    augmentation.rotate = number_up_to(*rotate, "deg", 180.0, "rotate=15deg");
  }
  if (const std::optional<Argument> shift = take(call, "shift")) {
    augmentation.shift = number_up_to(*shift, "", kLargestSize, "shift=2");
  }
  return augmentation;
}

}  // namespace ick
