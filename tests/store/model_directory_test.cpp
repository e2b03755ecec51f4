#include "ick/store/model_directory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ick/base/error.h"
#include "ick/base/file.h"
#include "ick/net/safetensors.h"
#include "ick/store/checkpoint_file.h"
#include "ick/table/csv.h"
#include "support/model_case.h"
#include "support/network_case.h"
#include "support/option_case.h"
#include "support/store_case.h"
#include "table/scratch.h"

namespace ick {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// A model with random weights and, for kernels only, a random posterior: as good as a trained one to keep.
Fit made_fit(const ModelCase& made, std::uint64_t seed = 3) {
  ModelOptions options;
  options.members = made.plan.spec.kernels_only() ? 1 : 2;
  options.layers = {4};
  options.seed = seed;
  Fit fit{made.fitted(options, 0.37), {}};
  fit.report.options = made.plan.options;
  fit.report.rows = made.table.rows;
  if (made.plan.spec.kernels_only()) {
    const std::int64_t size = fit.model.model().features() + 1;
    const at::Tensor factor = (0.1 * normals({size, size}, 5)).tril(-1) + 2.0 * at::eye(size, at::kDouble);
    fit.model.posterior =
        engine_named("exact").restore(fit.model.posterior->shared_model(), {{"factor", factor}}, 1.0, true);
  }
  return fit;
}

Table renamed(Table table, const std::vector<std::pair<std::string, std::string>>& names) {
  for (const auto& [from, to] : names) {
    for (Column& column : table.columns) {
      if (column.info.name == from) column.info.name = to;
    }
  }
  return table;
}

void expect_round_trip(const ModelCase& made) {
  const ScratchFolder folder;
  const std::string path = folder / "model";
  const Fit fit = made_fit(made);
  save_model(fit, path, made.table, {"table.csv", made.table.names(), 77}, "{\"epoch\": 1}\n");
  const StoredModel stored = load_model(path);
  expect_same(stored.model->predict(made.table, {0.8}), fit.model.predict(made.table, {0.8}));
  EXPECT_EQ(stored.origin.path, "table.csv");
  EXPECT_EQ(stored.origin.columns, made.table.names());
  EXPECT_EQ(stored.origin.fingerprint, 77u);
  EXPECT_EQ(stored.format, 5);
  EXPECT_EQ(print(stored.composite("a test").spec().formula), print(made.plan.spec.formula));
  EXPECT_EQ(stored.composite("a test").noise, 0.37);
  EXPECT_EQ(read_file(path + "/train.log.jsonl"), "{\"epoch\": 1}\n");
  const Verification verification = verify_model(path);
  EXPECT_TRUE(verification.passed);
  EXPECT_EQ(verification.rows, std::min<std::int64_t>(20, made.rows.size()));
  EXPECT_LT(verification.largest_difference, 1e-5);  // blocks of other rows: float32
  EXPECT_EQ(folder.names(), std::vector<std::string>{"model"});
}

TEST(ModelDirectory, RoundTripOfNetworksAndKernels) {
  expect_round_trip(
      {"y ~ mlp(a, b) * (periodic(day, points=5) + rbf(day)) + linear(b, points=4) + mlp(.)", mixed_table(35, 1)});
  expect_round_trip({"y ~ mlp(a) * rbf(day, a, train_points=yes, points=4) + rbf(b, features=fourier, points=6)",
                     mixed_table(41, 2)});
}

TEST(ModelDirectory, RoundTripOfNetworksAlone) { expect_round_trip({"y ~ mlp(a, b) * mlp(site)", mixed_table(12, 3)}); }

TEST(ModelDirectory, RoundTripOfAPosterior) {
  expect_round_trip({"y ~ rbf(day, points=6) + matern32(a, b, points=5) + constant()", mixed_table(30, 4)});
}

TEST(ModelDirectory, RoundTripOfALogTarget) {
  expect_round_trip({"log(y) ~ mlp(a, b) + linear(a)", mixed_table(30, 5)});
}

TEST(ModelDirectory, RoundTripOfCategories) {
  expect_round_trip(
      {"y ~ mlp(a, site) + categorical(floor) * rbf(day, points=5) + categorical(site)", mixed_table(30, 6)});
}

TEST(ModelDirectory, RoundTripOfGaps) {
  for (const Gaps gaps : {Gaps::drop, Gaps::fill}) {
    Table table = mixed_table(30, 7);
    for (const std::size_t i : {0, 4, 9}) {
      set_value(table.columns[0], i, kGap);
      set_value(table.columns[1], i + 1, kGap);
    }
    set_value(table.columns[3], 2, kGap);
    set_value(table.columns[5], 7, kGap);
    FitOptions options;
    options.gaps = gaps;
    expect_round_trip({"y ~ mlp(a, site) * rbf(day, points=5)", table, options});
  }
}

// A row that teaches nothing may lack anything.
TEST(ModelDirectory, RowsWithoutTargetAreNoExamples) {
  Table table = mixed_table(30, 7);
  for (const std::size_t i : {0, 3}) {
    set_value(table.columns[0], i, kGap);
    set_value(table.columns[5], i, kGap);
  }
  const ModelCase made("y ~ mlp(a) * rbf(day, points=5)", table);
  const ScratchFolder folder;
  save_model(made_fit(made), folder / "m", table, {});
  EXPECT_TRUE(verify_model(folder / "m").passed);
}

TEST(ModelDirectory, RoundTripOfNames) {
  const Table table = renamed(mixed_table(30, 8), {{"a", "wind speed, \"max\""},
                                                   {"b", "mean"},
                                                   {"site", "gr\u00f6\u00dfe"},
                                                   {"floor", "predicted_mean"},
                                                   {"y", "PM 2.5"}});
  Formula formula;
  formula.target = "PM 2.5";
  Call network{
      "mlp", {"wind speed, \"max\"", "mean", "gr\u00f6\u00dfe", "predicted_mean"}, {}, {}, false, {}, {}, 12, {}, {}};
  Call kernel{"rbf", {"day"}, {}, {}, false, {}, {}, 60, {}, {}};
  Expression product;
  product.kind = Expression::Kind::product;
  product.operands = {{Expression::Kind::call, network, {}}, {Expression::Kind::call, kernel, {}}};
  formula.right = product;
  expect_round_trip({print(formula), table});
}

// The caller need not say which columns there were, and what JSON cannot hold is kept legibly.
TEST(ModelDirectory, OriginsOfAnyKind) {
  const ModelCase made("y ~ mlp(.)", mixed_table(12, 3));
  const ScratchFolder folder;
  save_model(made_fit(made), folder / "m", made.table, {"caf\xE9.csv", {}, 0});
  const StoredModel stored = load_model(folder / "m");
  EXPECT_EQ(stored.origin.columns, made.table.names());
  EXPECT_EQ(stored.origin.path, "caf\uFFFD.csv");
  EXPECT_TRUE(verify_model(folder / "m").passed);
}

TEST(ModelDirectory, ModelsThatHaveComeToNothingAreNotKept) {
  const ModelCase made("y ~ mlp(a)", mixed_table(12, 3));
  const Fit fit = made_fit(made);
  fit.model.model().network_parameters().back().value.detach().fill_(std::nan(""));
  const ScratchFolder folder;
  EXPECT_EQ(
      message_of<NumericError>([&] { save_model(fit, folder / "m", made.table, {}); }),
      "the trained model predicts no finite number for row 1 of the table; lower the learning rate or clip gradients");
  EXPECT_TRUE(folder.names().empty());
}

// Two small models on disk, to be damaged.
class Damage : public testing::TestWithParam<const char*> {
 protected:
  Damage() : made_(GetParam(), mixed_table(25, 9)), path_(folder_ / "model") {
    const Fit fit = made_fit(made_);
    save_model(fit, path_, made_.table, {"table.csv", made_.table.names(), 5}, "{\"epoch\": 1}\n");
    before_ = fit.model.predict(made_.table);
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path_)) names.push_back(entry.path().filename().string());
    return names;
  }

  // True when the damage is seen; else the model must be what it was.
  bool noticed(const std::string& what) {
    try {
      const Verification verification = verify_model(path_);
      EXPECT_TRUE(verification.passed) << what;
      expect_same(load_model(path_).model->predict(made_.table), before_);
      return false;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(path_), std::string::npos) << what << ": " << error.what();
      return true;
    } catch (const std::exception& error) {
      ADD_FAILURE() << what << ": " << error.what();
      return true;
    }
  }

  ScratchFolder folder_;
  ModelCase made_;
  std::string path_;
  Prediction before_;
};

void overwrite(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

TEST_P(Damage, FlippedBits) {
  for (const std::string& name : files()) {
    const std::string file = path_ + "/" + name, whole = read_file(file);
    const std::size_t stride = std::max<std::size_t>(1, whole.size() / 400);
    for (std::size_t i = 0; i < whole.size(); i += stride) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << (i / stride % 8)));
      overwrite(file, bytes);
      if (noticed(name + " at " + std::to_string(i))) continue;
      // Blanks of the JSON and the log of the training do not matter; all else does.
      const bool same_json = name == "model.json" && Json::parse(bytes) == Json::parse(whole);
      EXPECT_TRUE(same_json || name == "train.log.jsonl") << name << " at " << i;
    }
    overwrite(file, whole);
  }
  EXPECT_FALSE(noticed("nothing"));
}

TEST_P(Damage, FilesCutShort) {
  for (const std::string& name : files()) {
    const std::string file = path_ + "/" + name, whole = read_file(file);
    for (const std::size_t size : {std::size_t{0}, whole.size() / 3, whole.size() - 2}) {
      overwrite(file, whole.substr(0, size));
      EXPECT_EQ(noticed(name), name != "train.log.jsonl") << name << " of " << size;
    }
    overwrite(file, whole);
  }
}

TEST_P(Damage, MissingFiles) {
  for (const std::string& name : files()) {
    const std::string file = path_ + "/" + name, whole = read_file(file);
    fs::remove(file);
    if (name == "model.json") {
      EXPECT_EQ(message_of<DataError>([&] { load_model(path_); }, path_),
                "\"f\" is not a model: there is no model.json in it; give a folder that fit has written");
    } else if (name == "golden.csv") {
      EXPECT_EQ(message_of<DataError>([&] { verify_model(path_); }, path_),
                "cannot read \"f/golden.csv\": No such file or directory");
    } else if (name != "train.log.jsonl") {
      EXPECT_EQ(message_of<DataError>([&] { load_model(path_); }, path_),
                "cannot read \"f/" + name + "\": No such file or directory");
    }
    overwrite(file, whole);
  }
}

// model.json with a change of somebody who knows how its sum is made.
std::string rewritten(const std::string& text, const std::function<void(Json&)>& change) {
  Json json = Json::parse(text);
  json.erase("checksum");
  change(json);
  const std::string dump = json.dump();
  json["checksum"] = crc32_z(0, reinterpret_cast<const Bytef*>(dump.data()), dump.size());
  return json.dump();
}

TEST_P(Damage, NewerFormats) {
  const std::string file = path_ + "/model.json", whole = read_file(file);
  overwrite(file, rewritten(whole, [](Json& json) { json["format_version"] = 6; }));
  EXPECT_EQ(message_of<DataError>([&] { load_model(path_); }, path_),
            "f/model.json: written in format 6, but this ick reads formats up to 5; use a newer ick");
  overwrite(file, rewritten(whole, [](Json& json) { json["formula"] = "y ~ wavelet(a)"; }));
  const std::string version = Json::parse(whole).at("ick_version");
  EXPECT_EQ(
      message_of<DataError>([&] { load_model(path_); }, path_),
      "f/model.json: written by ick " + version +
          ", which knew what this ick does not (formula column 5: no network "
          "or kernel named \"wavelet\"; `ick list` shows them all); use that version or a newer one, or a program that "
          "adds it");
  overwrite(file, rewritten(whole, [](Json& json) { json["likelihood"] = "absent"; }));
  EXPECT_NE(message_of<DataError>([&] { load_model(path_); }, path_).find("no likelihood named \"absent\""),
            std::string::npos);
  overwrite(file, rewritten(whole, [](Json& json) { json["format"] = "ick.bundle"; }));
  EXPECT_EQ(message_of<DataError>([&] { load_model(path_); }, path_),
            "f/model.json: its format is not ick.model; the model is damaged, take a fresh copy of its folder");
  overwrite(file, rewritten(whole, [](Json&) {}));
  EXPECT_FALSE(noticed("the same"));
}

// Sums that fit do not make a model: every part is still looked at.
TEST_P(Damage, PartsOfTheWrongKind) {
  const std::string file = path_ + "/model.json", whole = read_file(file);
  const Json original = Json::parse(whole);
  for (const auto& [key, value] : original.items()) {
    for (const Json& other : {Json(nullptr), Json("text"), Json::array(), Json(-1)}) {
      overwrite(file, rewritten(whole, [&](Json& json) { json[key] = other; }));
      try {
        load_model(path_).model->predict(made_.table);
      } catch (const Error&) {
      } catch (const std::exception& error) {
        ADD_FAILURE() << key << " = " << other << ": " << error.what();
      }
    }
  }
  overwrite(file, rewritten(whole, [](Json& json) { json["features"] = {3, 3, 3}; }));
  noticed("other features");  // the maps know how many they have: seen, or the same predictions
  overwrite(file, rewritten(whole, [](Json& json) { json["members"] = 7; }));
  EXPECT_TRUE(noticed("other members"));
}

INSTANTIATE_TEST_SUITE_P(Models, Damage,
                         testing::Values("y ~ mlp(a, site, layers=[3]) * periodic(day, points=4) + linear(b)",
                                         "y ~ rbf(day, points=6) + categorical(site) * linear(b)"));

TEST(ModelDirectory, IsWhatFitHasWritten) {
  const ScratchFolder folder;
  EXPECT_EQ(message_of<DataError>([&] { load_model(folder / "none"); }, folder / ""),
            "\"fnone\" is not a model: there is no model.json in it; give a folder that fit has written");
  overwrite(folder / "table.csv", "a,b\n1,2\n");
  EXPECT_EQ(message_of<DataError>([&] { load_model(folder / "table.csv"); }, folder / ""),
            "\"ftable.csv\" is not a model: there is no model.json in it; give a folder that fit has written");
}

TEST(ModelDirectory, ReplacesAnOlderModelAndNothingElse) {
  const ModelCase first("y ~ rbf(day, points=4)", mixed_table(25, 1)), second("y ~ mlp(a)", mixed_table(25, 1));
  const ScratchFolder folder;
  const std::string path = folder / "m";
  save_model(made_fit(first), path, first.table, {});
  EXPECT_TRUE(fs::exists(path + "/posterior.safetensors"));
  const Fit fit = made_fit(second);
  check_model_place(path);
  save_model(fit, path, second.table, {});
  expect_same(load_model(path).model->predict(second.table), fit.model.predict(second.table));
  EXPECT_FALSE(fs::exists(path + "/posterior.safetensors"));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"m"});

  fs::create_directory(folder / "thesis");
  overwrite(folder / "thesis/chapter1.txt", "years of work");
  for (const std::string& taken : {folder / "thesis", folder / "thesis/chapter1.txt"}) {
    EXPECT_THROW(check_model_place(taken), UsageError);
    EXPECT_THROW(save_model(fit, taken, second.table, {}), UsageError);
  }
  EXPECT_EQ(read_file(folder / "thesis/chapter1.txt"), "years of work");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"m", "thesis"}));
}

// A model of ours with one entry more, or with a model.json of somebody else, is no place for a model.
TEST(ModelDirectory, AFolderThatIsNotAllItsOwnIsNotReplaced) {
  const ModelCase made("y ~ mlp(a)", mixed_table(25, 1));
  const Fit fit = made_fit(made);
  const ScratchFolder folder;
  const std::string path = folder / "m", table = "a,y\n1,2\n";
  const auto refusal = [&] {
    const std::string first = message_of<UsageError>([&] { check_model_place(path); }, path);
    EXPECT_EQ(message_of<UsageError>([&] { save_model(fit, path, made.table, {}); }, path), first);
    return first;
  };
  const auto holds = [](const std::string& name) {
    return "the folder \"f\" holds \"" + name +
           "\", which ick did not write, so it is not replaced; give another place or move it";
  };
  save_model(fit, path, made.table, {});
  const std::string json = read_file(path + "/model.json");
  overwrite(path + "/train.csv", table);
  EXPECT_EQ(refusal(), holds("train.csv"));
  EXPECT_EQ(read_file(path + "/train.csv"), table);
  fs::remove(path + "/train.csv");
  fs::create_directory(path + "/.git");
  EXPECT_EQ(refusal(), holds(".git"));
  fs::remove(path + "/.git");
  fs::rename(path + "/golden.csv", folder / "golden.csv");
  fs::create_symlink(folder / "golden.csv", path + "/golden.csv");
  EXPECT_EQ(refusal(), holds("golden.csv"));
  fs::remove(path + "/golden.csv");
  for (const std::string& other : {table, std::string("{}"), std::string("[1]"), std::string("{\"format\": \"keras\"}"),
                                   json.substr(0, json.size() / 2), std::string()}) {
    overwrite(path + "/model.json", other);
    EXPECT_EQ(
        refusal(),
        "the folder \"f\" has no \"model.json\" that ick wrote, so it is not replaced; give another place or move it");
    EXPECT_EQ(read_file(path + "/model.json"), other);
  }
  overwrite(path + "/model.json", json);
  overwrite(path + "/golden.safetensors", "of a model that read images");
  save_model(fit, path, made.table, {});
  EXPECT_TRUE(verify_model(path).passed);
  EXPECT_FALSE(fs::exists(path + "/golden.safetensors"));
}

// The system refuses files above a size, as a full disk would.
TEST(ModelDirectory, NothingHalfWrittenRemains) {
  const ModelCase made("y ~ mlp(a, layers=[8])", mixed_table(25, 1));
  const ScratchFolder folder;
  const std::string path = folder / "m";
  const Fit old = made_fit(made, 1), young = made_fit(made, 2);
  save_model(old, path, made.table, {});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t size : {rlim_t{0}, rlim_t{100}, rlim_t{1500}}) {
    const rlimit small{size, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string onto = message_of<Error>([&] { save_model(young, path, made.table, {}); });
    const std::string anew = message_of<Error>([&] { save_model(young, folder / "new", made.table, {}); });
    ::setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_TRUE(onto.starts_with("cannot write \"")) << onto;
    EXPECT_TRUE(anew.starts_with("cannot write \"")) << anew;
    EXPECT_EQ(folder.names(), std::vector<std::string>{"m"});
  }
  std::signal(SIGXFSZ, handler);
  expect_same(load_model(path).model->predict(made.table), old.model.predict(made.table));

  Table other = made.table;
  other.columns.erase(other.columns.begin() + 1);  // the column the model reads
  EXPECT_THROW(save_model(young, folder / "new", other, {}), DataError);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"m"});
}

TEST(ModelDirectory, FingerprintSeesEveryCell) {
  const Table table = mixed_table(10, 1);
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    Table other = table;
    set_value(other.columns[c], 7, other.columns[c].values[7] + 1.0);
    EXPECT_NE(fingerprint(other), fingerprint(table)) << c;
    other = table;
    other.columns[c].info.name += "x";
    EXPECT_NE(fingerprint(other), fingerprint(table)) << c;
  }
  EXPECT_EQ(fingerprint(mixed_table(10, 1)), fingerprint(table));
}

StoredCheckpoint some_checkpoint() {
  StoredCheckpoint stored;
  stored.checkpoint.phase = "refit";
  stored.checkpoint.numbers = {{"epoch", 4.0}, {"loss_sum", 1.0 / 3.0}, {"outcome.r2", std::nan("")}};
  stored.checkpoint.tensors = {{"kernel", normals({2, 3}, 1)},
                               {"term1.mlp1.layer1.weight", normals({2, 3, 4}, 2).to(at::kFloat)}};
  stored.formula = parse_formula("log(y) ~ mlp(a, \"wind speed\") * rbf(t, lengthscale=30d)");
  stored.options = all_changed<FitOptions>();
  stored.options.noise_formula = "sigma ~ rbf(t)";
  stored.data = "folder/table.csv";
  stored.request = "{\"out\": \"m\"}";
  stored.fingerprint = 4000000001u;
  return stored;
}

TEST(Checkpoint, ComesBack) {
  const ScratchFolder folder;
  const StoredCheckpoint before = some_checkpoint();
  save_checkpoint(before, folder / "c");
  const StoredCheckpoint after = load_checkpoint(folder / "c");
  EXPECT_EQ(after.checkpoint.phase, "refit");
  EXPECT_EQ(after.checkpoint.numbers.at("epoch"), 4.0);
  EXPECT_EQ(after.checkpoint.numbers.at("loss_sum"), 1.0 / 3.0);
  EXPECT_TRUE(std::isnan(after.checkpoint.numbers.at("outcome.r2")));
  ASSERT_EQ(after.checkpoint.tensors.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(after.checkpoint.tensors[i].first, before.checkpoint.tensors[i].first);
    EXPECT_TRUE(after.checkpoint.tensors[i].second.equal(before.checkpoint.tensors[i].second));
  }
  EXPECT_EQ(after.formula, before.formula);
  EXPECT_EQ(after.options, before.options);
  EXPECT_EQ(after.data, before.data);
  EXPECT_EQ(after.request, before.request);
  EXPECT_EQ(after.fingerprint, before.fingerprint);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"c"});
}

TEST(Checkpoint, IsWrittenOnlyOverOneOfTheSameFit) {
  const ScratchFolder folder;
  const std::string path = folder / "m.checkpoint";
  const StoredCheckpoint fit = some_checkpoint();
  const auto file_of = [&](const StoredCheckpoint& of) {
    CheckpointFile file(path, of);
    file.set_table(of.fingerprint);
    return file;
  };
  const auto refusal = [&](CheckpointFile file) {
    const std::string before = read_file(path), first = message_of<UsageError>([&] { file.check(); }, path);
    EXPECT_EQ(message_of<UsageError>([&] { file.save(fit.checkpoint); }, path), first);
    file.remove();
    EXPECT_EQ(read_file(path), before);
    return first;
  };
  const std::string place = "\"f\", where this fit would keep its checkpoints, ";
  const std::string another = place + "is the checkpoint of another fit (" + print(fit.formula) +
                              ", of folder/table.csv); resume that one with resume, remove it, or give "
                              "another out";
  CheckpointFile own = file_of(fit);
  own.check();
  own.save(fit.checkpoint);
  own.save(fit.checkpoint);
  StoredCheckpoint other = fit;
  other.options.loaders += 1;
  other.options.checkpoint_seconds += 1.0;
  file_of(other).check();  // how it is run does not count
  other.fingerprint += 1;
  EXPECT_EQ(refusal(file_of(other)), another);
  CheckpointFile(path, other).check();  // the table is not read yet
  other = fit;
  other.options.seed += 1;
  EXPECT_EQ(refusal(file_of(other)), another);
  EXPECT_EQ(refusal(CheckpointFile(path, other)), another);
  other = fit;
  other.formula = parse_formula("y ~ rbf(t)");
  EXPECT_EQ(refusal(file_of(other)), another);
  const std::string good = read_file(path);
  for (const std::string& text : {std::string("a,y\n1,2\n"), std::string(), good.substr(0, good.size() / 2)}) {
    overwrite(path, text);
    EXPECT_EQ(refusal(own),
              place + "is not a checkpoint that ick wrote, or a damaged one; move it, or give another out");
  }
  overwrite(path, good);
  file_of(fit).remove();
  EXPECT_EQ(folder.names(), std::vector<std::string>{});
}

TEST(Checkpoint, ThatCarriesAScriptNeedsTrust) {
  const ScratchFolder folder;
  StoredCheckpoint stored = some_checkpoint();
  const std::string path = folder / "c",
                    sentence =
                        "f: it carries a TorchScript, a program that could run any code as you; give trust "
                        "if you trust the place it comes from";
  stored.formula = parse_formula("y ~ rbf(t) * (mlp(a) + torchscript(image, file=\"b.pt\"))");
  save_checkpoint(stored, path);
  EXPECT_EQ(message_of<UsageError>([&] { load_checkpoint(path); }, path), sentence);
  EXPECT_EQ(load_checkpoint(path, {.trust = true}).formula, stored.formula);
  stored.formula = parse_formula("y ~ rbf(t)");
  stored.options.noise_formula = "sigma ~ torchscript(image, file=\"b.pt\")";
  save_checkpoint(stored, path);
  EXPECT_EQ(message_of<UsageError>([&] { load_checkpoint(path); }, path), sentence);
}

TEST(Checkpoint, DamageIsSeen) {
  const ScratchFolder folder;
  const std::string path = folder / "c";
  save_checkpoint(some_checkpoint(), path);
  const std::string whole = read_file(path), message = "f: not a checkpoint, or a damaged one; start the fit again";
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string bytes = whole;
    bytes[i] = static_cast<char>(bytes[i] ^ (1 << (i % 8)));
    overwrite(path, bytes);
    EXPECT_EQ(message_of<DataError>([&] { load_checkpoint(path); }, path), message) << i;
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{3}, std::size_t{4}, whole.size() / 2, whole.size() - 1}) {
    overwrite(path, whole.substr(0, size));
    const std::string found = message_of<DataError>([&] { load_checkpoint(path); }, path);
    EXPECT_TRUE(found.starts_with("f: ")) << size << ": " << found;
  }
  EXPECT_TRUE(message_of<DataError>([&] { load_checkpoint(folder / "none"); }).starts_with("cannot read \""));
}

TEST(Checkpoint, OfANewerFormat) {
  const ScratchFolder folder;
  const std::string path = folder / "c";
  std::string bytes = safetensors_bytes({}, {{"checkpoint", R"({"format": "ick.checkpoint", "format_version": 6})"}});
  const auto sum = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  for (int byte = 0; byte < 4; ++byte) bytes += static_cast<char>(sum >> (8 * byte) & 0xff);
  overwrite(path, bytes);
  EXPECT_EQ(message_of<DataError>([&] { load_checkpoint(path); }, path),
            "f: written in format 6, but this ick reads formats up to 5; use a newer ick");
}

}  // namespace
}  // namespace ick
