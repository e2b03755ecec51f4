#include "ick/store/model_directory.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/file.h"
#include "ick/base/text.h"
#include "ick/store/safetensors.h"
#include "ick/table/csv.h"
#include "store/json.h"

namespace ick {

namespace {

using Json = nlohmann::json;

constexpr std::int64_t kGoldenRows = 20;
constexpr double kGoldenLevel = 0.9;

std::uint32_t crc(std::uint32_t seed, const void* bytes, std::size_t count) {
  return static_cast<std::uint32_t>(crc32_z(seed, static_cast<const Bytef*>(bytes), count));
}
std::uint32_t crc(const std::string& bytes) { return crc(0, bytes.data(), bytes.size()); }

// One cell of a table as text that reads back as the same value.
std::string cell_text(const Column& column, std::int64_t row) {
  if (column.info.type == ColumnType::text) return column.text[row];
  const double value = column.values[row];
  if (std::isnan(value)) return "";
  if (column.info.type == ColumnType::category) {
    return value < 0.0 ? "" : column.info.levels[static_cast<std::size_t>(value)];
  }
  return number_text(value);
}

// Rows spread over the table, as the model reads them, with their predictions. Times are written as days since 1970, so
// that no digit is lost.
std::string golden_text(const FittedModel& model, const Table& table) {
  Table golden;
  std::vector<std::int64_t> picked;
  const std::int64_t step = std::max<std::int64_t>(1, table.rows / kGoldenRows);
  for (std::int64_t i = 0; i < table.rows && std::ssize(picked) < kGoldenRows; i += step) picked.push_back(i);
  for (const ColumnInfo& info : model.encoder.columns()) {
    const Column& from = table.column(info.name);
    Column& to = golden.columns.emplace_back();
    to.info = from.info;
    for (const std::int64_t i : picked) {
      if (from.info.type == ColumnType::text) {
        to.text.push_back(from.text[i]);
      } else {
        to.values.push_back(from.values[i]);
      }
    }
  }
  golden.rows = std::ssize(picked);
  const Prediction p = model.predict(golden, kGoldenLevel);
  std::string text;
  for (const Column& column : golden.columns) text += csv_cell(column.info.name, ',') + ",";
  text += "mean,sd,lower,upper\n";
  for (std::int64_t i = 0; i < golden.rows; ++i) {
    for (const Column& column : golden.columns) text += csv_cell(cell_text(column, i), ',') + ",";
    text += number_text(p.mean[i]) + "," + number_text(p.sd[i]) + "," + number_text(p.lower[i]) + "," +
            number_text(p.upper[i]) + "\n";
  }
  return text;
}

Json model_json(const Fit& fit, const DataOrigin& origin) {
  const FittedModel& model = fit.model;
  Json json;
  json["format"] = "ick.model";
  json["format_version"] = kModelFormat;
  json["ick_version"] = ICK_VERSION;
  json["formula"] = print(model.spec().formula);
  Json features = Json::array();
  for (const TermSpec& term : model.spec().terms) features.push_back(term.features);
  json["features"] = features;
  json["members"] = model.options.members;
  json["seed"] = model.options.seed;
  json["layers"] = model.options.layers;
  json["noise"] = model.noise;
  json["noise_sd"] = model.noise * model.encoder.target_scaling.sd;
  json["encoder"] = to_json(model.encoder);
  json["kernels"] = to_json(model.kernel_values());
  json["parameters"] = model.model->trainable();
  json["fit"] = to_json(fit.report);
  json["data"] = {{"path", origin.path}, {"columns", origin.columns}, {"fingerprint", origin.fingerprint}};
  return json;
}

std::string with_checksum(Json json) {
  json["checksum"] = crc(json.dump());
  return json.dump(2) + "\n";
}

[[noreturn]] void damaged(const std::string& path, const std::string& reason) {
  throw DataError(path + ": " + reason + "; the model is damaged, take a fresh copy of its folder");
}

// Parses and checks: the sum is over everything but itself.
Json checked_json(const std::string& path, const std::string& text, const std::string& format, int newest) {
  Json json;
  try {
    json = Json::parse(text);
    if (json.at("format") != format) damaged(path, "its format is not " + format);
    const int version = json.at("format_version");
    if (version > newest) {
      throw DataError(path + ": written in format " + std::to_string(version) + ", but this ick reads formats up to " +
                      std::to_string(newest) + "; use a newer ick");
    }
    const std::uint32_t sum = json.at("checksum");
    json.erase("checksum");
    if (crc(json.dump()) != sum) damaged(path, "its checksum does not fit");
  } catch (const Json::exception&) {
    damaged(path, "it is not the JSON it should be");
  }
  return json;
}

std::string checked_file(const std::string& directory, const std::string& name, const Json& sums) {
  const std::string path = directory + "/" + name;
  std::string bytes = read_file(path);
  if (!sums.contains(name) || crc(bytes) != sums.at(name).get<std::uint32_t>()) damaged(path, "its checksum does not fit");
  return bytes;
}

}  // namespace

std::uint32_t fingerprint(const Table& table) {
  std::uint32_t sum = 0;
  for (const Column& column : table.columns) {
    sum = crc(sum, column.info.name.data(), column.info.name.size());
    sum = crc(sum, column.values.data(), column.values.size() * sizeof(double));
    for (const std::string& text : column.text) sum = crc(sum, text.data(), text.size());
    for (const std::string& level : column.info.levels) sum = crc(sum, level.data(), level.size());
  }
  return sum;
}

void check_model_place(const std::string& directory) { StagedFolder(directory, "model.json"); }

void save_model(const Fit& fit, const std::string& directory, const Table& table, const DataOrigin& origin,
                const std::string& log) {
  StagedFolder folder(directory, "model.json");
  Json json = model_json(fit, origin);
  const auto add = [&](const std::string& name, const std::string& bytes) {
    folder.write(name, bytes);
    json["files"][name] = crc(bytes);
  };
  add("weights.safetensors", safetensors_bytes(fit.model.model->state(), {{"format", "ick.model"}}));
  if (fit.model.posterior.defined()) add("posterior.safetensors", safetensors_bytes({{"factor", fit.model.posterior}}));
  add("golden.csv", golden_text(fit.model, table));
  folder.write("train.log.jsonl", log);
  folder.write("model.json", with_checksum(std::move(json)));
  folder.commit();
}

StoredModel load_model(const std::string& directory) {
  const std::string path = directory + "/model.json";
  StoredModel stored;
  stored.json = read_file(path);
  const Json json = checked_json(path, stored.json, "ick.model", kModelFormat);
  try {
    stored.format = json.at("format_version");
    stored.version = json.at("ick_version");
    stored.report = report_from_json(json.at("fit"));
    const Json& data = json.at("data");
    stored.origin = {data.at("path"), data.at("columns").get<std::vector<std::string>>(), data.at("fingerprint")};
    FittedModel& model = stored.model;
    model.encoder = encoder_from_json(json.at("encoder"));
    model.noise = json.at("noise");
    model.options.members = json.at("members");
    model.options.seed = json.at("seed");
    model.options.layers = json.at("layers").get<std::vector<std::int64_t>>();
    ModelSpec spec = make_spec(parse_formula(json.at("formula").get<std::string>()), stored.origin.columns);
    for (std::size_t t = 0; t < spec.terms.size(); ++t) spec.terms[t].features = json.at("features").at(t);
    const std::string weights = checked_file(directory, "weights.safetensors", json.at("files"));
    model.model = std::make_shared<Model>(spec, model.encoder,
                                          parse_safetensors(weights, directory + "/weights.safetensors"), model.options);
    if (json.at("files").contains("posterior.safetensors")) {
      const std::string bytes = checked_file(directory, "posterior.safetensors", json.at("files"));
      model.posterior = parse_safetensors(bytes, directory + "/posterior.safetensors").at(0).second;
    }
  } catch (const Json::exception& error) {
    damaged(path, std::string("a part is missing or of the wrong kind (") + error.what() + ")");
  }
  return stored;
}

Verification verify_model(const std::string& directory) {
  const StoredModel stored = load_model(directory);
  const Json json = Json::parse(stored.json);
  checked_file(directory, "golden.csv", json.at("files"));
  ReadOptions options;
  options.known = stored.model.encoder.columns();
  for (ColumnInfo& info : options.known) {
    if (info.type == ColumnType::time) info = {info.name, ColumnType::number, "", {}};
  }
  for (const char* name : {"mean", "sd", "lower", "upper"}) options.known.push_back({name, ColumnType::number, "", {}});
  Table golden = read_table(directory + "/golden.csv", options);
  for (const ColumnInfo& info : stored.model.encoder.columns()) {
    for (Column& column : golden.columns) {
      if (column.info.name == info.name) column.info.type = info.type;
    }
  }
  const Prediction p = stored.model.predict(golden, kGoldenLevel);
  Verification result;
  result.rows = golden.rows;
  for (const auto& [name, values] : {std::pair{"mean", &p.mean}, {"sd", &p.sd}, {"lower", &p.lower}, {"upper", &p.upper}}) {
    const std::vector<double>& expected = golden.column(name).values;
    const std::vector<double>& scale = golden.column("sd").values;
    for (std::int64_t i = 0; i < golden.rows; ++i) {
      if (std::isnan(expected[i]) && std::isnan((*values)[i])) continue;
      const double difference = std::abs((*values)[i] - expected[i]) / scale[i];
      result.largest_difference = std::max(result.largest_difference, std::isnan(difference) ? HUGE_VAL : difference);
    }
  }
  result.passed = result.largest_difference <= kVerifyTolerance;
  return result;
}

void save_checkpoint(const StoredCheckpoint& stored, const std::string& path) {
  Json json = {{"format", "ick.checkpoint"},
               {"format_version", kModelFormat},
               {"formula", print(stored.formula)},
               {"options", to_json(stored.options)},
               {"data", stored.data},
               {"request", stored.request},
               {"fingerprint", stored.fingerprint},
               {"phase", stored.checkpoint.phase}};
  json["numbers"] = Json::object();
  for (const auto& [name, value] : stored.checkpoint.numbers) {
    json["numbers"][name] = std::isfinite(value) ? Json(value) : Json(nullptr);
  }
  std::string bytes = safetensors_bytes(stored.checkpoint.tensors, {{"checkpoint", json.dump()}});
  const std::uint32_t sum = crc(bytes);
  for (int byte = 0; byte < 4; ++byte) bytes += static_cast<char>(sum >> (8 * byte) & 0xff);
  write_file(path, bytes);
}

StoredCheckpoint load_checkpoint(const std::string& path) {
  std::string bytes = read_file(path);
  std::uint32_t sum = 0;
  for (std::size_t byte = 0; byte < 4 && bytes.size() >= 4; ++byte) {
    sum |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[bytes.size() - 4 + byte])) << (8 * byte);
  }
  bytes.resize(bytes.size() - std::min<std::size_t>(4, bytes.size()));
  if (crc(bytes) != sum) throw DataError(path + ": not a checkpoint, or a damaged one; start the fit again");
  std::map<std::string, std::string> metadata;
  StoredCheckpoint stored;
  stored.checkpoint.tensors = parse_safetensors(bytes, path, &metadata);
  try {
    const Json json = Json::parse(metadata.at("checkpoint"));
    stored.formula = parse_formula(json.at("formula").get<std::string>());
    stored.options = options_from_json(json.at("options"));
    stored.data = json.at("data");
    stored.request = json.at("request");
    stored.fingerprint = json.at("fingerprint");
    stored.checkpoint.phase = json.at("phase");
    for (const auto& [name, value] : json.at("numbers").items()) {
      stored.checkpoint.numbers[name] = value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
    }
  } catch (const std::exception& error) {
    throw DataError(path + ": not a checkpoint of this version (" + error.what() + "); start the fit again");
  }
  return stored;
}

}  // namespace ick
