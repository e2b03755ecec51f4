#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "ick/base/seed.h"
#include "ick/evaluate/effects.h"
#include "ick/fit/fit.h"
#include "ick/store/model_directory.h"
#include "store/derived_json.h"
#include "support/store_case.h"
#include "support/table_case.h"
#include "table/scratch.h"

// Columns that a formula computes are the same in a fit, in predictions, and in a model that was loaded.
namespace ick {
namespace {

// Two weeks of hours: a day, a week, a day off, growth with log(x) and a difference.
Table hours(std::int64_t rows = 336, std::uint64_t seed = 3) {
  Random random(seed_for(seed, "hours"));
  std::vector<double> t, x, a, b, site, y;
  for (std::int64_t i = 0; i < rows; ++i) {
    const double hour = static_cast<double>(i % 24), day = std::floor(static_cast<double>(i) / 24.0);
    t.push_back(17897.0 + static_cast<double>(i) / 24.0);
    x.push_back(std::exp(random.normal()));
    a.push_back(random.normal()), b.push_back(2.0 * random.normal());
    site.push_back(static_cast<double>(random.below(3)));
    const bool off = day == 3.0 || day == 10.0;
    y.push_back(std::cos(2.0 * M_PI * (hour - 15.0) / 24.0) + 0.4 * std::log(x.back()) + 0.2 * (a.back() - b.back()) -
                (off ? 1.5 : 0.0) + 0.1 * random.normal());
  }
  return table_of({column_of("t", t, ColumnType::time), column_of("x", x), column_of("a", a), column_of("b", b),
                   column_of("site", site, ColumnType::category, {"A", "B", "C"}), column_of("y", y)});
}

FitOptions quick() {
  FitOptions options;
  options.epochs = 3, options.members = 2, options.layers = {8};
  return options;
}

PredictorFit fitted(const Table& table, const std::string& formula, const FitOptions& options = {}) {
  return fit_predictor(table, parse_formula(formula), options, {});
}

std::vector<std::string> names_of(const std::vector<ColumnInfo>& infos) {
  std::vector<std::string> names;
  for (const ColumnInfo& each : infos) names.push_back(each.name);
  return names;
}

using Names = std::vector<std::string>;

// Hour, weekday and day of the year of each row by counting from the first, a Tuesday.
Table with_columns_by_hand(Table table) {
  const Numbers t = table.column("t").values, x = table.column("x").values, a = table.column("a").values,
                b = table.column("b").values;
  std::vector<double> hour, weekday, of_year, log_x, difference, elapsed;
  for (std::size_t i = 0; i < t.size(); ++i) {
    hour.push_back(static_cast<double>(i % 24));
    const double day = std::floor(static_cast<double>(i) / 24.0);
    weekday.push_back(std::fmod(1.0 + day, 7.0));
    of_year.push_back(1.0 + day);
    log_x.push_back(std::log(x[i])), difference.push_back(a[i] - b[i]);
    elapsed.push_back(static_cast<double>(i) / 24.0);
  }
  for (const auto& [name, values] : {std::pair("h", hour), std::pair("w", weekday), std::pair("d", of_year),
                                     std::pair("l", log_x), std::pair("m", difference), std::pair("e", elapsed)}) {
    table.columns.push_back(column_of(name, values));
  }
  return table;
}

// What kernels and networks read of the rows, (n, D).
std::vector<at::Tensor> inputs_of(const Table& table, const std::string& formula) {
  const FitPlan plan = plan_fit(table, parse_formula(formula), quick());
  const Dataset rows = open_rows(table, plan.encoder, std::vector<bool>(static_cast<std::size_t>(table.rows), true));
  std::vector<at::Tensor> inputs = {rows.x};
  inputs.insert(inputs.end(), rows.networks.begin(), rows.networks.end());
  return inputs;
}

TEST(DerivedModel, ReadsWhatColumnsInTheTableWouldHold) {
  const Table table = with_columns_by_hand(hours());
  for (const auto& [computed, by_hand] : std::vector<std::pair<std::string, std::string>>{
           {"y ~ periodic(hour(t), period=24) + categorical(weekday(t)) + linear(log(x), a - b)",
            "y ~ periodic(h, period=24) + categorical(w) + linear(l, m)"},
           {"y ~ mlp(dayofyear(t), elapsed(t), rank(log(x)), cycle(hour(t), period=1d), trees(weekday(t)))",
            "y ~ mlp(d, e, rank(l), cycle(h, period=24), trees(w))"},
           {"y ~ boost(hour(t), -t, -h, -w, -d, -e, ., log(x)) + rbf(elapsed(t))",
            "y ~ boost(h, -t, -x, -w, -d, ., l) + rbf(e)"}}) {
    const auto one = inputs_of(table, computed), other = inputs_of(table, by_hand);
    ASSERT_EQ(one.size(), other.size());
    for (std::size_t k = 0; k < one.size(); ++k) EXPECT_TRUE(at::allclose(one[k], other[k], 0.0, 1e-6)) << computed;
  }
  const auto own = fitted(table, "y ~ periodic(hour(t), period=24) + linear(log(x), a - b)");
  const auto other = fitted(table, "y ~ periodic(h, period=24) + linear(l, m)");
  const Prediction p = own.model->predict(table), q = other.model->predict(table);
  for (std::size_t i = 0; i < p.mean.size(); ++i) {
    EXPECT_NEAR(p.mean[i], q.mean[i], 0.01) << "parameters start at draws that know their names";
  }
  EXPECT_EQ(names_of(own.model->columns()), (Names{"t", "x", "a", "b"}));
}

TEST(DerivedModel, IsTheSameAfterLoadingAndInBlocks) {
  const Table table = hours();
  auto days = std::make_unique<ScratchFile>("day\n2019-01-04\n2019-01-11\n");
  const std::string holiday = "holiday(t, \"" + days->path() + "\")";
  const ScratchFolder folder;
  int number = 0;
  std::vector<std::pair<PredictorFit, std::string>> models;
  for (const std::string& formula : std::vector<std::string>{
           "y ~ periodic(hour(t), period=24) + linear(log(x), sqrt(x), a - b) + linear(" + holiday + ")",
           "y ~ mlp(., -a, hour(t), elapsed(t)) * rbf(dayofyear(t))",
           "y ~ boost(weekday(t), hour(t), log(x), rounds=20) + matern32(.)",
           "y ~ mlp(elapsed(t), " + holiday + ", trees(log(x), cycle(hour(t), period=24)))"}) {
    models.emplace_back(fitted(table, formula, quick()), formula);
    save_model(*models.back().first.model, models.back().first.report, folder / std::to_string(number++), table, {});
  }
  days.reset();  // a model never opens the file again
  const Table later = some_rows(table, {335, 200, 201, 100, 23, 24});
  for (std::size_t i = 0; i < models.size(); ++i) {
    SCOPED_TRACE(models[i].second);
    const Predictor& model = *models[i].first.model;
    const StoredModel loaded = load_model(folder / std::to_string(i));
    expect_same(model.predict(table), loaded.model->predict(table));
    expect_same(model.predict(later), loaded.model->predict(later));
    EXPECT_EQ(loaded.model->formula(), print(parse_formula(models[i].second)));
    const Prediction whole = model.predict(table), block = model.predict(later);
    EXPECT_NEAR(block.mean[0], whole.mean[335], 1e-6);
    EXPECT_NEAR(block.mean[3], whole.mean[100], 1e-6);
    EXPECT_TRUE(verify_model(folder / std::to_string(i)).passed);
    for (const std::string& name : names_of(model.columns())) EXPECT_NE(table.find(name), nullptr) << name;
  }
  EXPECT_EQ(names_of(models[0].first.model->columns()), (Names{"t", "x", "a", "b"}));
  EXPECT_EQ(models[0].first.model->parameter("term1.hour(t).periodic.period").unit, "h");
  Names read = names_of(models[1].first.model->columns());
  std::sort(read.begin(), read.end());
  EXPECT_EQ(read, (Names{"b", "site", "t", "x"})) << "-a";
}

TEST(DerivedModel, ElapsedBeginsAtTheFirstRowThatIsLearnedFrom) {
  const Table table = hours();
  FitOptions options;
  options.holdout = parse_split("t < 2019-01-08");
  const FitPlan plan = plan_fit(table, parse_formula("y ~ rbf(elapsed(t))"), options);
  EXPECT_EQ(plan.encoder.derived[0].origin, 17904.0);  // 2019-01-08
  EXPECT_EQ(plan.encoder.kernel_columns[0].unit, "d");
}

TEST(DerivedModel, CellsOutsideOfAFunctionsDomain) {
  Table table = hours();
  set_value(table.columns[1], 6, -2.5);
  FitOptions options;
  EXPECT_EQ(message_of<DataError>([&] { plan_fit(table, parse_formula("y ~ rbf(log(x))"), options); }),
            "log(x): column \"x\" has the value -2.5 in row 7, and log() takes positive numbers; to a kernel that is a "
            "gap: use gaps=drop or gaps=fill");
  set_value(table.columns[1], 6, kGap);
  EXPECT_EQ(message_of<DataError>([&] { plan_fit(table, parse_formula("y ~ rbf(log(x))"), options); }),
            "column \"log(x)\": 1 row has no value (the first is row 7), and a kernel needs every value; use gaps=drop "
            "or gaps=fill");
  options.gaps = Gaps::drop;
  EXPECT_EQ(plan_fit(table, parse_formula("y ~ rbf(log(x))"), options).notes.with_gaps, 1);
  const auto network = fitted(table, "y ~ mlp(log(x), a)", quick());
  EXPECT_TRUE(std::isfinite(network.model->predict(table).mean[6])) << "networks fill gaps";
}

TEST(DerivedModel, ADotInAKernelStandsForNumbers) {
  const Table table = hours();
  const FitPlan plan = plan_fit(table, parse_formula("y ~ matern32(., -b) + periodic(hour(t), period=24)"), {});
  EXPECT_EQ(plan.spec.kernel_columns, (Names{"x", "a", "hour(t)"}));
  EXPECT_EQ(print(plan.spec.terms[0]), "matern32(x, a)");
  EXPECT_EQ(plan.remarks[0].text(), "\".\" of a kernel stands for numbers and leaves out site");
  EXPECT_EQ(message_of<UsageError>([&] { plan_fit(table, parse_formula("y ~ rbf(.) + mlp(x, a, b)"), {}); }),
            "formula column 5: \".\" stands for no column; of a kernel it stands for numbers, and t and site are none; "
            "name the columns of rbf");
}

TEST(DerivedModel, DefinitionsThatAreNotWholeAreRefused) {
  const auto refused = [](const std::string& text) {
    return message_of<DataError>([&] { derived_from_json(nlohmann::json::parse(text)); });
  };
  EXPECT_EQ(refused(R"([{"name": "a", "function": "exp", "inputs": ["b"], "unit": ""}])"),
            "no function of columns named \"exp\"");
  EXPECT_EQ(refused(R"([{"name": "a", "function": "-", "inputs": ["b"], "unit": ""}])"),
            "-() takes two columns and has 1");
  EXPECT_EQ(refused(R"([{"name": "a", "function": "log", "inputs": ["a"], "unit": ""}])"),
            "the column a is computed of a, which does not stand before it");
  EXPECT_EQ(refused(R"([{"name": "a", "function": "log", "inputs": ["b"], "unit": ""},
                        {"name": "b", "function": "log", "inputs": ["a"], "unit": ""}])"),
            "the column a is computed of b, which does not stand before it");
}

// Curves are those of the table's column, which moves what is computed of it: here a logarithm.
TEST(DerivedModel, CurvesAreOfTheColumnThatThingsAreComputedOf) {
  const Table table = hours();
  const auto model = fitted(table, "y ~ linear(log(x)) + periodic(hour(t), period=24)");
  EffectOptions options;
  options.points = 6, options.rows = 60, options.draws = 5;
  const Effect effect = effect_of(*model.model, table, "x", options);
  ASSERT_GE(effect.at.size(), 4u);
  const auto slope = [&](std::size_t k) {
    return (effect.mean[k] - effect.mean[0]) / (std::log(effect.at[k]) - std::log(effect.at[0]));
  };
  EXPECT_NEAR(slope(1), 0.4, 0.1);
  for (std::size_t k = 2; k < effect.at.size(); ++k) EXPECT_NEAR(slope(k), slope(1), 1e-6);
}

// A kernel on hour(t) is a season of t: rows are set apart by time, and baselines know its period.
TEST(DerivedModel, BaselinesReadWhatTheFormulaReads) {
  const Table table = hours();
  const std::string formula = "y ~ mlp(log(x), a - b) * periodic(hour(t), period=24)";
  const FitPlan plan = plan_fit(table, parse_formula(formula), quick());
  EXPECT_EQ(plan.options.validation->kind, Split::Kind::last);
  EXPECT_EQ(plan.options.validation->columns, Names{"t"});
  for (const std::string& name :
       std::vector<std::string>{"ridge", "forest", "seasonal", "mlp", "network", "kernels", "cyclic", "joint"}) {
    SCOPED_TRACE(name);
    FitOptions options = quick();
    options.model = name;
    const auto baseline = fitted(table, formula, options);
    EXPECT_TRUE(std::isfinite(baseline.model->predict(table).mean[5]));
    for (const std::string& read : names_of(baseline.model->columns())) EXPECT_NE(table.find(read), nullptr) << read;
    if (name == "cyclic") {
      EXPECT_EQ(baseline.model->formula(), "y ~ mlp(log(x), a - b, cycle(t, period=24h))");
    }
    if (name == "joint") {
      EXPECT_EQ(baseline.model->formula(), "y ~ mlp(log(x), a - b, trees(hour(t)))");
    }
  }
}

}  // namespace
}  // namespace ick
