#include "fit/choices.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "ick/base/error.h"
#include "ick/fit/estimate.h"
#include "support/train_case.h"
#include "table/scratch.h"

namespace ick {
namespace {

FitOptions with(const std::string& posterior, std::int64_t members = 0) {
  FitOptions options;
  options.posterior = posterior;
  options.members = members;
  return options;
}

FitPlan planned(const std::string& formula, const FitOptions& options) {
  return plan_fit(generic_table(60), parse_formula(formula), options);
}

std::string refusal(const std::string& formula, const FitOptions& options) {
  return message_of<UsageError>([&] { planned(formula, options); });
}

// A column that says which rows are held out: whether they lie among the others is seen, not said.
TEST(Plan, ValidationIsLikeAHoldoutByCondition) {
  Table table;
  table.rows = 200;
  Column t, y, part;
  t.info.name = "t", y.info.name = "y", part.info.name = "part";
  t.info.type = ColumnType::time;
  part.info.type = ColumnType::integer;
  std::vector<double> times, values, every_fourth, last;
  for (int i = 0; i < 200; ++i) {
    times.push_back(15'000.0 + i), values.push_back(std::sin(0.1 * i) + 0.01 * ((i * 37) % 11));
    every_fourth.push_back(i % 4 == 1), last.push_back(i >= 160);
  }
  t.values = times, y.values = values;
  FitOptions options;
  options.holdout = parse_split("part == 1");
  const auto kind = [&](const std::vector<double>& parts) {
    part.values = parts;
    table.columns = {t, y, part};
    return plan_fit(table, parse_formula("y ~ rbf(t)"), options).options.validation->kind;
  };
  EXPECT_EQ(kind(every_fourth), Split::Kind::random);
  EXPECT_EQ(kind(last), Split::Kind::last);
  std::vector<double> next(200, 0.0);
  next.back() = 1.0;  // near the others, and after them
  EXPECT_EQ(kind(next), Split::Kind::last);
}

// Two formulas for one table stop by the same rows, also where one of them has no kernel.
TEST(Plan, ValidationFollowsTheTable) {
  const auto numbers = [](double first, double step) {
    std::vector<double> all;
    for (int i = 0; i < 200; ++i) all.push_back(first + step * i + 0.1 * ((i * 37) % 11));
    return all;
  };
  Table table;
  table.rows = 200;
  const auto column = [](const std::string& name, const std::vector<double>& values, ColumnType type) {
    Column made;
    made.info.name = name, made.info.type = type, made.values = values;
    return made;
  };
  const Column y = column("y", numbers(0.0, 0.1), ColumnType::number),
               a = column("a", numbers(2, 0.3), ColumnType::number),
               t = column("t", numbers(15'000.0, 1.0), ColumnType::time),
               lat = column("lat", numbers(10.0, 0.1), ColumnType::number),
               lon = column("Longitude", numbers(50.0, -0.1), ColumnType::number);
  const auto plan = [&](const std::string& formula, const FitOptions& options = {}) {
    return plan_fit(table, parse_formula(formula), options);
  };
  table.columns = {y, a, t, lat, lon};
  const std::vector<bool> last = plan("y ~ mlp(a) * rbf(t)").validation;
  for (const std::string formula :
       {"y ~ mlp(a)", "y ~ mlp(.)", "y ~ mlp(a) + matern32(lat, Longitude) * rbf(t)", "y ~ rbf(a)"}) {
    EXPECT_EQ(plan(formula).validation, last) << formula;
  }
  EXPECT_EQ(print(*plan("y ~ mlp(a)").options.validation), "last(t)=20%");
  EXPECT_EQ(plan("y ~ mlp(a)").validation_reason, "blocked in time, because the table has times, \"t\"");
  // the formula chooses between times and places
  const FitPlan placed = plan("y ~ mlp(a) + matern32(lat, Longitude)");
  EXPECT_EQ(print(*placed.options.validation), "block(lat, Longitude)=20%");
  // what decays reaches into no future: on its own, with places, it is for other places
  const auto split_of = [&](const std::string& formula, const FitOptions& options = {}) {
    return print(*plan(formula, options).options.validation);
  };
  EXPECT_EQ(split_of("y ~ matern32(lat, Longitude) * rbf(t)"), "block(lat, Longitude)=20%");
  EXPECT_EQ(split_of("y ~ matern32(lat, Longitude) * rbf(t) + periodic(t, period=7d)"), "last(t)=20%");
  EXPECT_EQ(split_of("y ~ rbf(t)"), "last(t)=20%");
  FitOptions ahead;
  ahead.holdout = parse_split("t >= 2011-08-01");
  EXPECT_EQ(split_of("y ~ matern32(lat, Longitude) * rbf(t)", ahead), "last(t)=20%");
  // a holdout has the first word
  FitOptions held;
  held.holdout = parse_split("random=20%");
  EXPECT_EQ(plan("y ~ mlp(a) * rbf(t)", held).options.validation->kind, Split::Kind::random);
  EXPECT_EQ(plan("y ~ mlp(a) * rbf(t)", held).validation, plan("y ~ mlp(a)", held).validation);
  // without times, places; times that rows lack, or few of them, order nothing
  table.columns = {y, a, lat, lon};
  EXPECT_EQ(plan("y ~ mlp(a)").validation, placed.validation);
  table.columns = {y, a, t};
  std::vector<double> gaps = numbers(15'000.0, 1.0);
  gaps[7] = std::nan("");
  table.columns[2].values = gaps;
  EXPECT_EQ(plan("y ~ mlp(a)").options.validation->kind, Split::Kind::random);
  table.columns[2].values = std::vector<double>(200, 15'000.0);
  EXPECT_EQ(plan("y ~ mlp(a)").options.validation->kind, Split::Kind::random);
  // a number whose unit is declared
  table.columns = {y, a, column("t", numbers(0.0, 1.0), ColumnType::number)};
  EXPECT_EQ(plan("y ~ mlp(a)").options.validation->kind, Split::Kind::random);
  FitOptions units;
  units.units["t"] = "h";
  EXPECT_EQ(print(*plan("y ~ mlp(a)", units).options.validation), "last(t)=20%");
}

TEST(Plan, DrawsNeedMembers) {
  EXPECT_EQ(refusal("y ~ mlp(a)", with("nngp", 1)),
            "posterior=nngp with one member has no spread; ask for members=30 or more (at least 2)");
  EXPECT_EQ(refusal("y ~ mlp(a)", with("ntk", 1)),
            "posterior=ntk with one member has no spread; ask for members=30 or more (at least 2)");
  EXPECT_EQ(planned("y ~ mlp(a)", with("nngp")).options.members, 30);
  EXPECT_EQ(planned("y ~ mlp(a)", with("ntk", 2)).options.members, 2);
}

TEST(Plan, PosteriorsOfNetworksNeedOne) {
  for (const std::string posterior : {"nngp", "ntk", "laplace"}) {
    EXPECT_EQ(
        refusal("y ~ rbf(t)", with(posterior)),
        "posterior=" + posterior + " is for formulas with a network; the posterior of kernels alone is known exactly");
  }
  for (const std::string posterior : {"exact", "neighbours"}) {
    EXPECT_EQ(refusal("y ~ mlp(a)", with(posterior)),
              "posterior=" + posterior + " is for formulas of kernels only, of numbers with Gaussian noise");
    EXPECT_TRUE(planned("y ~ rbf(t)", with(posterior)).engine_asked);
  }
  EXPECT_EQ(planned("y ~ rbf(t)", with("ensemble")).options.posterior, "neighbours");
  EXPECT_FALSE(planned("y ~ rbf(t)", with("ensemble")).engine_asked);
  EXPECT_EQ(planned("y ~ rbf(t)", with("exact")).options.posterior, "exact");
}

TEST(Plan, DrawsTakeOneNetworkInATerm) {
  for (const std::string posterior : {"nngp", "ntk"}) {
    EXPECT_EQ(refusal("y ~ mlp(a) * mlp(b) * rbf(t)", with(posterior)),
              "formula column 14: posterior=" + posterior +
                  " takes one network in a product, whose posterior is linear; use posterior=ensemble");
    EXPECT_EQ(
        refusal("y ~ mlp(a) * rbf(t, train_points=yes)", with(posterior)),
        "posterior=" + posterior + " trains nothing by gradient descent; leave train_points=yes out of the formula");
    EXPECT_EQ(planned("y ~ mlp(a) * rbf(t) + mlp(b)", with(posterior)).options.posterior, posterior);
  }
  EXPECT_EQ(refusal("y ~ mlp(a, norm=layer)", with("ntk")),
            "formula column 12: a network with a layer norm has no tangent kernel in closed form; leave norm out");
}

TEST(Plan, LaplaceIsOneModel) {
  EXPECT_EQ(refusal("y ~ mlp(a)", with("laplace", 5)),
            "posterior=laplace is one model; leave members out, or use posterior=ensemble");
  FitOptions options = with("laplace");
  options.likelihood = "mae";
  EXPECT_EQ(refusal("y ~ mlp(a)", options), "posterior=laplace is for likelihood=gaussian; use posterior=ensemble");
  EXPECT_EQ(planned("y ~ mlp(a)", with("laplace")).options.members, 1);
  EXPECT_EQ(refusal("y ~ mlp(a) * mlp(b)", with("laplace")),
            "formula column 14: posterior=laplace takes one network in a product, whose posterior is linear; use "
            "posterior=ensemble");
}

TEST(Plan, PerturbationsAreOfEnsembles) {
  FitOptions options = with("nngp");
  options.perturbation = Perturbation::bootstrap;
  EXPECT_EQ(refusal("y ~ mlp(a)", options),
            "perturbation is for posterior=ensemble; nngp perturbs the targets by itself");
  options.posterior = "laplace";
  EXPECT_EQ(refusal("y ~ mlp(a)", options), "perturbation is for posterior=ensemble; laplace is one model");
  options = with("ensemble", 1);
  options.perturbation = Perturbation::bootstrap;
  EXPECT_EQ(refusal("y ~ mlp(a)", options),
            "perturbation makes members differ, and there is one; ask for more members");
  options = with("ensemble", 4);
  options.perturbation = Perturbation::noise;
  EXPECT_EQ(refusal("y ~ mlp(a)", options),
            "perturbation=noise adds noise to the targets and has to know how much: give noise");
  options.noise = 0.5;
  EXPECT_EQ(planned("y ~ mlp(a)", options).options.members, 4);
}

TEST(Plan, NoiseIsAPositiveNumber) {
  for (const double noise : {-0.1, std::nan(""), std::numeric_limits<double>::infinity()}) {
    FitOptions options;
    options.noise = noise;
    EXPECT_EQ(refusal("y ~ mlp(a)", options), "the noise must be a positive number") << noise;
  }
}

// A column by which rows are set apart has, at rows left out, what no training row has.
TEST(Plan, DotLeavesOutTheColumnsOfSplits) {
  using Names = std::vector<std::string>;
  const Table whole = make_table({{"y", normal_numbers(60, 1)},
                                  {"a", normal_numbers(60, 2)},
                                  {"part", normal_numbers(60, 3)},
                                  {"lat", normal_numbers(60, 4)},
                                  {"lon", normal_numbers(60, 5)}});
  const auto read = [&](const std::string& formula, const std::string& holdout, const std::string& validation = "") {
    FitOptions options;
    if (!holdout.empty()) options.holdout = parse_split(holdout);
    if (!validation.empty()) options.validation = parse_split(validation);
    const FitPlan plan = plan_fit(whole, parse_formula(formula), options);
    std::string said;
    for (const Message& remark : plan.remarks) {
      if (remark.marked().starts_with("\".\"")) said += remark.marked();
    }
    return std::pair(plan.spec.network_columns, said);
  };
  const auto said = [](const std::string& names) {
    return "\".\" leaves out " + names +
           ", by which rows are set apart; a column that the formula names is read all the same";
  };
  EXPECT_EQ(read("y ~ mlp(.)", "part > 0.5"), std::pair(Names({"a", "lat", "lon"}), said("part")));
  EXPECT_EQ(read("y ~ mlp(.)", "", "part > 0.5"), std::pair(Names({"a", "lat", "lon"}), said("part")));
  EXPECT_EQ(read("y ~ mlp(.)", "block(lat, lon)=20%", "last(part)=20%"),
            std::pair(Names({"a"}), said("lat, lon and part")));
  EXPECT_EQ(read("y ~ mlp(., part)", "part > 0.5"), std::pair(Names({"part", "a", "lat", "lon"}), std::string()));
  EXPECT_EQ(read("y ~ mlp(a)", "part > 0.5"), std::pair(Names({"a"}), std::string()));
  EXPECT_EQ(read("y ~ mlp(.)", "random=20%"), std::pair(Names({"a", "part", "lat", "lon"}), std::string()));
}

// Before anything is trained.
TEST(Plan, FormulasOfTheNoise) {
  const Table table = generic_table(600);  // 120 validation rows
  const auto refused = [](const Table& data, const std::string& text, double noise = 0.0) {
    FitOptions options;
    options.noise_formula = text;
    options.noise = noise;
    const auto plan = [&] { plan_fit(data, parse_formula("y ~ mlp(a)"), options); };
    const std::string usage = message_of<UsageError>(plan);
    return usage.starts_with("other: ") ? message_of<DataError>(plan) : usage;
  };
  EXPECT_EQ(refused(table, "sigma ~ rbf(t) + mlp(a)"), "");
  EXPECT_EQ(refused(table, "sigma ~ mlp(.)"), "");
  EXPECT_EQ(refused(table, "s ~ rbf(t)"), "noise_formula: found a formula of s; expected sigma ~ ...");
  EXPECT_EQ(refused(table, "log(sigma) ~ rbf(t)"),
            "noise_formula: found a formula of log(sigma); expected sigma ~ ...");
  EXPECT_NE(refused(table, "sigma ~ rbf(nowhere)").find("\"nowhere\""), std::string::npos);
  EXPECT_NE(refused(table, "sigma ~ rbf(y)").find("\"y\""), std::string::npos);  // what it is the noise of
  EXPECT_EQ(refused(table, "sigma ~ rbf(t)", 0.3), "noise and noise_formula both say what the noise is; leave one out");
  EXPECT_EQ(
      refused(generic_table(300), "sigma ~ rbf(t)"),
      "noise_formula: a formula of the noise needs at least 100 validation rows, half of them to learn from, and there "
      "are 60; "
      "set more apart with validation");
  Table taken = table;
  taken.columns[2].info.name = "sigma";
  EXPECT_EQ(refused(taken, "sigma ~ rbf(t)"),
            "noise_formula: the table has a column named sigma, which here means the noise; rename the column");
}

// Both formulas compute sqrt(a), and "." of the noise stands for columns of the table alone.
TEST(Plan, TheNoiseReadsWhatTheFormulaComputes) {
  FitOptions options;
  for (const char* noise : {"sigma ~ mlp(sqrt(a))", "sigma ~ mlp(.)"}) {
    options.noise_formula = noise;
    EXPECT_NO_THROW(plan_fit(generic_table(600), parse_formula("y ~ mlp(sqrt(a))"), options)) << noise;
  }
}

TEST(Plan, SaysWhatHasNoEffect) {
  using Remarks = std::vector<std::string>;
  const auto remarks = [](const std::string& formula, const FitOptions& asked) {
    Remarks said;
    for (const Message& remark : planned(formula, asked).remarks) said.push_back(remark.text());
    return said;
  };
  EXPECT_EQ(remarks("y ~ mlp(a)", {}), Remarks{});
  EXPECT_EQ(remarks("y ~ mlp(a)", with("ensemble", 1)),
            Remarks{"one member has no spread: intervals come from the noise alone"});
  EXPECT_EQ(remarks("y ~ rbf(t)", with("ensemble", 5)),
            Remarks{"kernels only: the posterior is exact, members has no effect"});
  FitOptions options = with("nngp");
  options.epochs = 10;
  EXPECT_EQ(remarks("y ~ mlp(a)", options),
            Remarks{"posterior=nngp is solved, not trained: epochs, batch, learning_rate, optimiser, "
                    "kernels and polish=false have no effect"});
}

// The number it names fits, one more does not.
TEST(Plan, MoreMembersThanMemoryAreRefused) {
  for (const std::string posterior : {"ensemble", "nngp", "ntk"}) {
    FitPlan plan = planned("y ~ mlp(a, b, layers=[256, 256]) * rbf(t, points=64)", with(posterior, 3000));
    const double free = 2.0e9;
    check_memory(plan, 1e15);
    const std::string message = message_of<UsageError>([&] { check_memory(plan, free); });
    const std::string before = " members would take about ", after = "and 2 GB are free; ask for at most ";
    ASSERT_TRUE(message.starts_with("this fit with 3000" + before)) << message;
    const std::size_t place = message.find(after);
    ASSERT_NE(place, std::string::npos) << message;
    const std::int64_t most = std::stoll(message.substr(place + after.size()));
    EXPECT_TRUE(message.ends_with(" GB of memory, " + after + std::to_string(most) + " members")) << message;
    plan.options.members = most;
    check_memory(plan, free);
    plan.options.members = most + 1;
    EXPECT_THROW(check_memory(plan, free), UsageError);
  }
  const FitPlan plan = planned("y ~ mlp(a, b, layers=[256, 256]) * rbf(t, points=64)", with("ensemble", 3000));
  const std::string message = message_of<UsageError>([&] { check_memory(plan, 1e4); });
  EXPECT_TRUE(message.ends_with("and 0 GB are free; use fewer rows, smaller layers, or points=... in the formula"))
      << message;
}

// Rows and their neighbours have to be in memory; features are read in blocks.
TEST(Plan, NeighboursGiveWayToFeaturesWhereMemoryIsShort) {
  FitPlan plan = planned("y ~ matern32(t, s)", {});
  ASSERT_EQ(plan.options.posterior, "neighbours");
  plan.training.assign(50'000'000, true);
  choose_for_memory(plan, 1e12);
  EXPECT_EQ(plan.options.posterior, "neighbours");
  FitPlan short_of = plan;
  choose_for_memory(short_of, 4e9);
  EXPECT_EQ(short_of.options.posterior, "exact");
  EXPECT_NE(short_of.remarks.back().text().find("GB are free: features carry the kernels alone (posterior=exact)"),
            std::string::npos);
  check_memory(short_of, 4e9);
  FitPlan asked = planned("y ~ matern32(t, s)", with("neighbours"));
  asked.training.assign(50'000'000, true);
  choose_for_memory(asked, 4e9);
  EXPECT_EQ(asked.options.posterior, "neighbours");
  const std::string message = message_of<UsageError>([&] { check_memory(asked, 4e9); });
  EXPECT_NE(message.find("use posterior=exact, which reads rows in blocks, or fewer rows"), std::string::npos)
      << message;
}

// Five networks of one member, each without a fifth of the rows, in either training: counted where it may come to that.
TEST(Plan, EstimatesCountNetworksThatAreCrossFitted) {
  const Table table = generic_table(600);
  const auto estimate = [&](const std::string& formula, Neighbours neighbours) {
    FitOptions options;
    options.neighbours = neighbours;
    options.validation = parse_split("random=20%");
    return estimate_fit(table, parse_formula(formula), options);
  };
  const FitEstimate tried = estimate("y ~ mlp(a, b) + matern32(t, s)", Neighbours::automatic);
  EXPECT_GT(tried.fold_seconds, 0.0);
  EXPECT_GT(tried.seconds, tried.fold_seconds);
  EXPECT_GT(estimate("y ~ mlp(a, b) + matern32(t, s)", Neighbours::yes).fold_seconds, 0.0);
  EXPECT_EQ(estimate("y ~ mlp(a, b) + matern32(t, s)", Neighbours::no).fold_seconds, 0.0);
  EXPECT_EQ(estimate("y ~ mlp(a, b) * matern32(t, s)", Neighbours::automatic).fold_seconds, 0.0);
  EXPECT_EQ(estimate("y ~ matern32(t, s)", Neighbours::automatic).fold_seconds, 0.0);
  const Table few = generic_table(100);
  FitOptions options;
  EXPECT_EQ(estimate_fit(few, parse_formula("y ~ mlp(a) + rbf(t)"), options).fold_seconds, 0.0);
  options.neighbours = Neighbours::yes;
  EXPECT_GT(estimate_fit(few, parse_formula("y ~ mlp(a) + rbf(t)"), options).fold_seconds, 0.0);
}

// Five trainings more, where there is a second one.
TEST(Plan, EstimatesCountNetworksThatAreTrainedToCalibrate) {
  const auto seconds = [&](const std::string& formula, Refit refit) {
    FitOptions options;
    options.refit = refit;
    const FitEstimate found = estimate_fit(generic_table(600), parse_formula(formula), options);
    EXPECT_GE(found.seconds, found.left_out_seconds);
    return found.left_out_seconds;
  };
  EXPECT_GT(seconds("y ~ mlp(a, b)", Refit::yes), 0.0);
  EXPECT_EQ(seconds("y ~ mlp(a, b)", Refit::no), 0.0);
  EXPECT_EQ(seconds("y ~ matern32(t, s)", Refit::yes), 0.0);
}

// Each member holds five times its parameters at least: values, gradients, two moments, the best so far.
TEST(Plan, BytesGrowWithRowsAndMembers) {
  const FitBytes bytes = bytes_of(planned("y ~ mlp(a, b, layers=[100]) * rbf(t, points=10)", {}));
  const double parameters = 2 * 100 + 100 + 100 * 10 + 10;
  EXPECT_GE(bytes.member, 20.0 * parameters);
  EXPECT_LE(bytes.member, 20.0 * parameters + 64.0 * 60.0 * 500.0);  // a batch of all rows, a few numbers for each unit
  const FitPlan large = plan_fit(generic_table(600), parse_formula("y ~ mlp(a, b) * rbf(t, points=10)"), {});
  EXPECT_GT(bytes_of(large).rows, 8.0 * bytes.rows);
}

}  // namespace
}  // namespace ick
