#include "baseline/rewrite.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "fit/baseline.h"
#include "ick/ick.h"
#include "support/message.h"
#include "support/table_case.h"

namespace ick {
namespace {

// Three years of days, a place, two numbers, a site, and pictures that nobody opens.
Table seasonal_table() {
  std::vector<double> date, a, b, lat, lon, site, y;
  std::vector<std::string> photo;
  for (int i = 0; i < 1200; ++i) {
    const double x = std::sin(0.7 * i), z = std::cos(1.3 * i);
    date.push_back(17000.0 + i), a.push_back(x), b.push_back(z);
    lat.push_back(47.0 + 0.1 * x * z), lon.push_back(8.0 + 0.1 * z), site.push_back(i % 3);
    y.push_back(2.0 * x + z + std::sin(date.back() / 58.0)), photo.push_back("p.png");
  }
  return table_of({column_of("date", date, ColumnType::time), column_of("a", a), column_of("b", b),
                   column_of("lat", lat), column_of("lon", lon),
                   column_of("site", site, ColumnType::category, {"n", "s", "w"}), column_of("y", y),
                   text_column("photo", photo)});
}

std::string rewritten(const std::string& right, const std::string& model) {
  static const Table table = seasonal_table();
  FitOptions options;
  options.model = model;
  const std::string text = print(formula_of_model(table, parse_formula("y ~ " + right), options));
  return text.substr(4);
}

std::string why_refused(const std::string& right, const std::string& model) {
  const std::string said = message_of<UsageError>([&] { rewritten(right, model); });
  const std::string opening = "model=" + model + " cannot serve this formula and table: ";
  EXPECT_TRUE(said.starts_with(opening)) << said;
  return said.substr(opening.size());
}

TEST(Rewritten, TheTwoHalvesOfAFormula) {
  const std::string hybrid =
      "mlp(a, layers=[8]) * (periodic(date, period=1y) + rbf(b, points=20)) + matern32(lat, lon)";
  EXPECT_EQ(rewritten(hybrid, "network"), "mlp(a, layers=8)");
  EXPECT_EQ(rewritten(hybrid, "kernels"), "periodic(date, period=1y) + rbf(b, points=20) + matern32(lat, lon)");
  EXPECT_EQ(rewritten("mlp(a) * mlp(b) * rbf(date)", "network"), "mlp(a) * mlp(b)");
  // "." stands for the same columns as in the whole
  EXPECT_EQ(rewritten("mlp(.) * matern32(lat, lon, sphere) * periodic(date, period=1y)", "network"),
            "mlp(a, b, site, photo)");
  EXPECT_EQ(why_refused("mlp(a)", "network"), "the formula has no kernel");
  EXPECT_EQ(why_refused("rbf(a)", "kernels"), "the formula has no network");
}

TEST(Rewritten, TreesAreNeitherNetworkNorKernel) {
  EXPECT_EQ(rewritten("boost(a, b) + matern32(lat, lon)", "kernels"), "matern32(lat, lon)");
  EXPECT_EQ(rewritten("boost(.) + mlp(b) * rbf(date) + cnn(photo)", "network"), "mlp(b) + cnn(photo)");
  EXPECT_EQ(rewritten("forest(a) + mlp(b)", "network"), "mlp(b)");
  EXPECT_EQ(rewritten("boost(a, b) + rbf(date)", "mlp"), "mlp(date, a, b)");
  EXPECT_EQ(rewritten("boost(a) + mlp(b) * periodic(date, period=1y)", "cyclic"), "mlp(b, cycle(date, period=1y))");
  EXPECT_EQ(why_refused("boost(a) + rbf(b)", "network"), "the formula has no network");
}

TEST(Rewritten, OneNetworkOnAllColumns) {
  EXPECT_EQ(rewritten("rbf(a) + categorical(site) * periodic(date, period=1y)", "mlp"), "mlp(a, site, date)");
  EXPECT_EQ(why_refused("mlp(a, b)", "mlp"), "the formula is that already");
  EXPECT_EQ(why_refused("cnn(photo)", "mlp"), "the formula reads no columns besides images");
}

TEST(Rewritten, SineAndCosineInPlaceOfKernels) {
  EXPECT_EQ(rewritten("mlp(a, layers=[8]) * periodic(date, period=1y)", "cyclic"),
            "mlp(a, cycle(date, period=1y), layers=8)");
  EXPECT_EQ(rewritten("cnn(photo, b) * periodic(date, period=1y)", "cyclic"), "cnn(photo, b, cycle(date, period=1y))");
  EXPECT_EQ(rewritten("mlp(a) * periodic(date, period=1w) * periodic(date, period=30d) + matern32(lat, lon)", "cyclic"),
            "mlp(a, lat, lon, cycle(date, period=[1w, 30d]))");
  // a trend keeps its time; what states no period has those of the calendar that the table shows twice
  EXPECT_EQ(rewritten("mlp(a) * rbf(date)", "cyclic"), "mlp(a, date, cycle(date, period=[1w, 1y]))");
  EXPECT_EQ(rewritten("rbf(a) + periodic(date, period=1y)", "cyclic"), "mlp(a, cycle(date, period=1y))");
  EXPECT_EQ(rewritten("mlp(a) + mlp(b) * periodic(date, period=1y)", "cyclic"), "mlp(a, b, cycle(date, period=1y))");
  EXPECT_EQ(why_refused("mlp(a) * rbf(b)", "cyclic"), "the formula reads no time");
  EXPECT_EQ(why_refused("mlp(a, cycle(date, period=1y)) + rbf(date)", "cyclic"),
            "the formula's network reads sine and cosine already");
  EXPECT_EQ(why_refused("cnn(photo) * mlp(a) * periodic(date, period=1y)", "cyclic"),
            "the formula has several networks, and one is to read the time");
}

// The paper's names: MLP-RF, CNN-RF, ViT-RF, DeepViT-RF and their seasonal variants, by the network of the formula.
TEST(Rewritten, JointModelsOfThePaper) {
  const std::string season = " * periodic(date, period=365)";
  for (const std::string network : {"mlp(a", "cnn(photo", "vit(photo, b", "deepvit(photo"}) {
    EXPECT_EQ(rewritten(network + ")" + season, "joint"), network + ", trees(date))");
    EXPECT_EQ(rewritten(network + ")" + season, "seasonal-joint"), network + ", trees(cycle(date, period=365)))");
  }
  EXPECT_EQ(rewritten("mlp(a) * matern32(lat, lon) + rbf(b)", "joint"), "mlp(a, trees(lat, lon, b))");
  EXPECT_EQ(rewritten("mlp(a) * matern32(lat, lon)" + season, "seasonal-joint"),
            "mlp(a, trees(lat, lon, cycle(date, period=365)))");
  EXPECT_EQ(why_refused("rbf(a)", "joint"), "the formula has no network");
  EXPECT_EQ(why_refused("mlp(a)", "joint"), "the formula has no kernel, whose columns the trees would read");
  EXPECT_EQ(why_refused("mlp(a) * rbf(b)", "seasonal-joint"), "the formula reads no time");
}

// Ten trees of four leaves: with one column a, 41 numbers go into the first layer; the model is kept as its formula.
TEST(Rewritten, IsFittedAsTheFormulaItIs) {
  std::vector<std::int64_t> few(200);
  std::iota(few.begin(), few.end(), 0);
  const Table table = select_rows(seasonal_table(), few);
  FitOptions options;
  options.model = "seasonal-joint";
  options.epochs = 2, options.members = 1, options.refit = Refit::no;
  const Fitted made = fit(table, "y ~ mlp(a, layers=[4]) * periodic(date, period=1y)", options);
  EXPECT_EQ(made->formula(), "y ~ mlp(a, trees(cycle(date, period=1y)), layers=4)");
  EXPECT_EQ(made->kind(), "composite");
  options.model = "";
  const Fitted same = fit(table, made->formula(), options);
  EXPECT_EQ(made->predict(table).mean, same->predict(table).mean);
}

}  // namespace
}  // namespace ick
