#include "ick/store/model_directory.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
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

// A number that reads back as the same; none where a log-normal mean is out of range.
std::string number_cell(double value) { return std::isfinite(value) ? number_text(value) : ""; }

// One cell of a table as text that reads back as the same value.
std::string cell_text(const Column& column, std::int64_t row) {
  if (column.info.type == ColumnType::text) return column.text[row];
  const double value = column.values[row];
  if (column.info.type != ColumnType::category) return number_cell(value);
  return value >= 0.0 ? column.info.levels[static_cast<std::size_t>(value)] : "";
}

// mean, sd, lower and upper, or what they are called where a column of the model has that name.
std::vector<std::string> golden_names(const Encoder& encoder) {
  std::vector<std::string> names = {"mean", "sd", "lower", "upper"};
  const std::vector<ColumnInfo> columns = encoder.columns();
  for (std::string& name : names) {
    const auto is_taken = [&](const ColumnInfo& info) { return info.name == name; };
    while (std::any_of(columns.begin(), columns.end(), is_taken)) name = "predicted_" + name;
  }
  return names;
}

// Rows spread over those with a target, as the model reads them, with their predictions. Times are days since
// 1970, so that no digit is lost.
std::string golden_text(const FittedModel& model, const Table& table) {
  Table golden;
  const std::vector<std::int64_t> rows = encode(table, model.encoder, true).rows;
  std::vector<std::int64_t> picked;
  const std::size_t step = std::max<std::size_t>(1, rows.size() / kGoldenRows);
  for (std::size_t i = 0; i < rows.size() && std::ssize(picked) < kGoldenRows; i += step) picked.push_back(rows[i]);
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
  text += fmt::format("{}\n", fmt::join(golden_names(model.encoder), ","));
  for (std::int64_t i = 0; i < golden.rows; ++i) {
    for (const Column& column : golden.columns) text += csv_cell(cell_text(column, i), ',') + ",";
    if (!std::isfinite(p.location[i]) || !std::isfinite(p.scale[i])) {
      throw NumericError("the trained model predicts no finite number for row " + std::to_string(picked[i] + 1) +
                         " of the table; lower the learning rate or clip gradients");
    }
    text += number_cell(p.mean[i]) + "," + number_cell(p.sd[i]) + "," + number_cell(p.lower[i]) + "," +
            number_cell(p.upper[i]) + "\n";
  }
  return text;
}

// For people to read: bytes that JSON cannot hold become U+FFFD.
Json readable(const Json& text) { return Json::parse(text.dump(-1, ' ', false, Json::error_handler_t::replace)); }

Json model_json(const Fit& fit, const Table& table, const DataOrigin& origin) {
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
  json["data"] = {{"path", readable(origin.path)},
                  {"columns", readable(origin.columns.empty() ? table.names() : origin.columns)},
                  {"fingerprint", origin.fingerprint}};
  return json;
}

std::string with_checksum(Json json) {
  json["checksum"] = crc(json.dump());
  return json.dump(2) + "\n";
}

[[noreturn]] void damaged(const std::string& path, const std::string& reason) {
  throw DataError(path + ": " + reason + "; the model is damaged, take a fresh copy of its folder");
}

void check_version(const std::string& path, const Json& json) {
  const int version = json.at("format_version");
  if (version <= kModelFormat) return;
  throw DataError(path + ": written in format " + std::to_string(version) + ", but this ick reads formats up to " +
                  std::to_string(kModelFormat) + "; use a newer ick");
}

// Parses and checks: the sum is over everything but itself.
Json checked_json(const std::string& path, const std::string& text) {
  Json json;
  try {
    json = Json::parse(text);
    if (json.at("format") != "ick.model") damaged(path, "its format is not ick.model");
    check_version(path, json);
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
  if (!sums.contains(name) || crc(bytes) != sums.at(name).get<std::uint32_t>())
    damaged(path, "its checksum does not fit");
  return bytes;
}

std::shared_ptr<const Model> model_from(const std::string& bytes, const std::string& path, const ModelSpec& spec,
                                        const Encoder& encoder, const ModelOptions& options) {
  const TensorList tensors = parse_safetensors(bytes, path);
  try {
    return std::make_shared<Model>(spec, encoder, tensors, options);
  } catch (const DataError& error) {
    damaged(path, error.what());
  }
}

// (P + 1, P + 1)
at::Tensor posterior_from(const std::string& bytes, const std::string& path, std::int64_t size) {
  for (const auto& [name, tensor] : parse_safetensors(bytes, path)) {
    const bool fits = tensor.dim() == 2 && tensor.size(0) == size && tensor.size(1) == size;
    if (name == "factor" && fits && tensor.scalar_type() == at::kDouble) return tensor;
  }
  damaged(path, "it does not hold the factor of " + std::to_string(size) + " weights");
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
  Json json = model_json(fit, table, origin);
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
  std::error_code none;
  if (!std::filesystem::exists(path, none)) {
    throw DataError("\"" + directory +
                    "\" is not a model: there is no model.json in it; give a folder that fit has written");
  }
  StoredModel stored;
  stored.json = read_file(path);
  const Json json = checked_json(path, stored.json);
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
    model.model = model_from(weights, directory + "/weights.safetensors", spec, model.encoder, model.options);
    if (json.at("files").contains("posterior.safetensors")) {
      const std::string bytes = checked_file(directory, "posterior.safetensors", json.at("files"));
      model.posterior = posterior_from(bytes, directory + "/posterior.safetensors", model.model->features() + 1);
    }
  } catch (const Json::exception& error) {
    damaged(path, std::string("a part is missing or of the wrong kind (") + error.what() + ")");
  } catch (const UsageError& error) {
    throw DataError(path + ": written by ick " + stored.version + ", which knew what this ick does not (" +
                    error.what() + "); use that version or a newer one");
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {  // of torch or the standard library, for sizes that make no sense
    damaged(path, "its parts do not fit together");
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
  const std::vector<std::string> names = golden_names(stored.model.encoder);
  for (const std::string& name : names) options.known.push_back({name, ColumnType::number, "", {}});
  Table golden = read_table(directory + "/golden.csv", options);
  for (const ColumnInfo& info : stored.model.encoder.columns()) {
    for (Column& column : golden.columns) {
      if (column.info.name == info.name) column.info.type = info.type;
    }
  }
  const Prediction p = stored.model.predict(golden, kGoldenLevel);
  Verification result;
  result.rows = golden.rows;
  const std::vector<double>* predicted[] = {&p.mean, &p.sd, &p.lower, &p.upper};
  const std::vector<double>& scale = golden.column(names[1]).values;
  for (std::size_t c = 0; c < names.size(); ++c) {
    const std::vector<double>& expected = golden.column(names[c]).values;
    for (std::int64_t i = 0; i < golden.rows; ++i) {
      const double found = (*predicted[c])[i];
      if (std::isnan(expected[i]) && !std::isfinite(found)) continue;
      const double difference = std::abs(found - expected[i]) / scale[i];
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
    check_version(path, json);
    stored.formula = parse_formula(json.at("formula").get<std::string>());
    stored.options = options_from_json(json.at("options"));
    stored.data = json.at("data");
    stored.request = json.at("request");
    stored.fingerprint = json.at("fingerprint");
    stored.checkpoint.phase = json.at("phase");
    for (const auto& [name, value] : json.at("numbers").items()) {
      stored.checkpoint.numbers[name] =
          value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
    }
  } catch (const DataError&) {
    throw;
  } catch (const std::exception& error) {
    throw DataError(path + ": not a checkpoint of this version (" + error.what() + "); start the fit again");
  }
  return stored;
}

}  // namespace ick
