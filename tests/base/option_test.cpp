#include "ick/base/option.h"

#include <gtest/gtest.h>

#include "ick/base/error.h"
#include "support/message.h"

namespace ick {

enum class Shade { light, dark };
template <>
struct Choices<Shade> {
  static constexpr std::array<std::string_view, 2> names = {"light", "dark"};
};

namespace {

struct Sample {
  std::uint64_t seed = 7;
  std::int64_t steps = 10;
  int threads = 2;
  double rate = 0.25, noise = 0.0;
  bool verbose = false, shuffle = true, own = false;
  std::string title;
  Shade shade = Shade::light;
  std::optional<Shade> border;
  std::vector<std::int64_t> layers;
  std::vector<std::string> skip;
  std::map<std::string, std::string> units;

  bool operator==(const Sample&) const = default;

  template <class Table>
  static void declare(Table& table) {
    using Self = Sample;
    table("seed", &Self::seed, {.text = "Seed"});
    table("steps", &Self::steps, {.range = {{1, 1000}}, .text = "Steps"});
    table("threads", &Self::threads, {.group = OptionGroup::running, .range = {{1, 64}}, .text = "Threads"});
    table("learning_rate", &Self::rate, {.range = {{0, 1, true}}, .text = "Learning rate"});
    table("noise", &Self::noise, {.range = {{0, 9}}, .words = {{"learned", 0.0}}, .text = "Noise"});
    table("verbose", &Self::verbose, {.text = "Say more"});
    table("shuffle", &Self::shuffle, {.text = "Order of rows drawn anew"});
    table("own", &Self::own, {.flag = "kernels", .words = {{"shared", false}, {"own", true}}, .text = "Kernels"});
    table("title", &Self::title, {.text = "Title"});
    table("shade", &Self::shade, {.text = "Shade"});
    table("border", &Self::border, {.words = {{"automatic", {}}}, .text = "Border"});
    table("layers", &Self::layers, {.range = {{1, 99}}, .text = "Widths"});
    table("skip", &Self::skip, {.text = "Words to skip"});
    table("units", &Self::units, {.flag = "unit", .form = "COLUMN=UNIT", .example = "depth=m", .text = "Units"});
    table("hidden", &Self::seed, {.group = OptionGroup::library, .text = "The seed again"});
  }
};

const Option<Sample>& row(std::string_view name) { return *option_table<Sample>().find(name); }

Sample after(std::string_view name, std::vector<std::string> words) {
  Sample sample;
  row(name).set(sample, row(name).read_words(words));
  return sample;
}

std::string refusal(std::string_view name, std::vector<std::string> words) {
  return message_of<UsageError>([&] { row(name).read_words(words); });
}

TEST(Option, WordsReachTheirFields) {
  EXPECT_EQ(after("seed", {"18446744073709551615"}).seed, 18446744073709551615u);
  EXPECT_EQ(after("steps", {"1000"}).steps, 1000);
  EXPECT_EQ(after("threads", {"64"}).threads, 64);
  EXPECT_EQ(after("learning_rate", {"1e-3"}).rate, 0.001);
  EXPECT_EQ(after("noise", {"0.5"}).noise, 0.5);
  EXPECT_TRUE(after("verbose", {"true"}).verbose);
  EXPECT_FALSE(after("shuffle", {"false"}).shuffle);
  EXPECT_TRUE(after("own", {"own"}).own);
  EXPECT_EQ(after("title", {"a = b"}).title, "a = b");
  EXPECT_EQ(after("shade", {"dark"}).shade, Shade::dark);
  EXPECT_EQ(after("border", {"light"}).border, Shade::light);
  EXPECT_EQ(after("layers", {"8", "4"}).layers, (std::vector<std::int64_t>{8, 4}));
  EXPECT_EQ(after("skip", {"x", ""}).skip, (std::vector<std::string>{"x", ""}));
  EXPECT_EQ(after("units", {"a=b=km", "c=m"}).units, (std::map<std::string, std::string>{{"a=b", "km"}, {"c", "m"}}));
}

TEST(Option, WordsThatStandForValues) {
  Sample sample;
  sample.noise = 3.0;
  sample.border = Shade::dark;
  row("noise").set(sample, row("noise").read_words(std::vector<std::string>{"learned"}));
  row("border").set(sample, row("border").read_words(std::vector<std::string>{"automatic"}));
  EXPECT_EQ(sample, Sample());
  EXPECT_EQ(row("noise").print(row("noise").get(sample)), "learned");
  EXPECT_EQ(row("border").print(row("border").get(sample)), "automatic");
  EXPECT_EQ(row("own").print(row("own").get(sample)), "shared");
}

TEST(Option, PrintedAsTyped) {
  Sample sample;
  sample.layers = {128, 64};
  sample.units = {{"a", "km"}, {"b", "m"}};
  sample.rate = 0.1;
  EXPECT_EQ(row("layers").print(row("layers").get(sample)), "128,64");
  EXPECT_EQ(row("units").print(row("units").get(sample)), "a=km,b=m");
  EXPECT_EQ(row("learning_rate").print(row("learning_rate").get(sample)), "0.1");
  EXPECT_EQ(row("title").print(row("title").get(sample)), "");
}

TEST(Option, DefaultsAreThoseOfTheStruct) {
  EXPECT_EQ(row("seed").standard, OptionValue(std::uint64_t{7}));
  EXPECT_EQ(row("threads").standard, OptionValue(std::int64_t{2}));
  EXPECT_EQ(row("shade").standard, OptionValue(std::string("light")));
  EXPECT_EQ(row("border").standard, OptionValue());
}

TEST(Option, FlagsFollowFromNamesAndDefaults) {
  EXPECT_EQ(row("learning_rate").as_flag(), "--learning-rate");
  EXPECT_EQ(row("learning_rate").as_flag("0.1"), "--learning-rate 0.1");
  EXPECT_EQ(row("verbose").as_flag(), "--verbose");
  EXPECT_EQ(row("shuffle").as_flag("false"), "--no-shuffle");
  EXPECT_EQ(row("own").as_flag("true"), "--kernels own");
  EXPECT_EQ(row("units").as_flag("a=km"), "--unit a=km");
  EXPECT_EQ(row("hidden").as_flag("3"), "hidden=3");
}

TEST(Option, Refusals) {
  EXPECT_EQ(refusal("seed", {"-1"}), "seed: found \"-1\", expected a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(refusal("steps", {"0"}), "steps: found \"0\", expected a whole number from 1 to 1000");
  EXPECT_EQ(refusal("steps", {"5.5"}), "steps: found \"5.5\", expected a whole number from 1 to 1000");
  EXPECT_EQ(refusal("learning_rate", {"1"}), "learning_rate: found \"1\", expected a number between 0 and 1");
  EXPECT_EQ(refusal("learning_rate", {"nan"}), "learning_rate: found \"nan\", expected a number between 0 and 1");
  EXPECT_EQ(refusal("layers", {"8", "100"}), "layers: found \"100\", expected a whole number from 1 to 99");
  EXPECT_EQ(refusal("shade", {"drak"}), "shade: there is no \"drak\"; did you mean \"dark\"?");
  EXPECT_EQ(refusal("border", {"red"}), "border: there is no \"red\"; expected one of automatic, light and dark");
  EXPECT_EQ(refusal("own", {"true"}), "own: there is no \"true\"; expected one of shared and own");
  EXPECT_EQ(refusal("units", {"km"}), "units=km: expected column=unit, as in depth=m");
  EXPECT_EQ(refusal("verbose", {"perhaps"}), "verbose: found \"perhaps\", expected true or false");
}

// A file written earlier may hold what can no longer be asked for, but never another kind of value.
TEST(Option, ValuesOfAnotherKindAreRefused) {
  Sample sample;
  row("steps").set(sample, std::int64_t{5000});
  EXPECT_EQ(sample.steps, 5000);
  EXPECT_THROW(row("steps").set(sample, 2.5), UsageError);
  EXPECT_THROW(row("steps").set(sample, OptionValue()), UsageError);
  EXPECT_THROW(row("shade").set(sample, std::string("red")), UsageError);
}

TEST(Message, SettingsAreSpelledByWhoeverPrints) {
  const Message message = "use " + setting("posterior", "ensemble") + " or more " + setting("members");
  EXPECT_EQ(message.text(), "use posterior=ensemble or more members");
  const auto shout = [](std::string_view name, std::string_view value) {
    return "<" + std::string(name) + ":" + std::string(value) + ">";
  };
  EXPECT_EQ(message.spelled(shout), "use <posterior:ensemble> or more <members:>");
  EXPECT_EQ(Message("column \"{a}\": 100% of --x").text(), "column \"{a}\": 100% of --x");
  EXPECT_EQ(Message(setting("types", "a=category")).text(), "types=\"a=category\"");
  EXPECT_STREQ(UsageError(message).what(), "use posterior=ensemble or more members");
  EXPECT_STREQ(UsageError("see: " + UsageError(message).message().marked()).what(),
               "see: use posterior=ensemble or more members");
}

}  // namespace
}  // namespace ick
