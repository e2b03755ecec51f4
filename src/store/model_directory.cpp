#include "ick/store/model_directory.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include "ick/base/error.h"
#include "ick/base/file.h"
#include "ick/base/text.h"
#include "ick/net/safetensors.h"
#include "ick/store/json.h"
#include "ick/table/csv.h"
#include "store/golden.h"
#include "store/kinds.h"
#include "store/model_files.h"
#include "store/summary_json.h"

namespace ick {

namespace {

using Json = nlohmann::json;

std::uint32_t crc(std::uint32_t seed, const void* bytes, std::size_t count) {
  return static_cast<std::uint32_t>(crc32_z(seed, static_cast<const Bytef*>(bytes), count));
}
std::uint32_t crc(const std::string& bytes) { return crc(0, bytes.data(), bytes.size()); }

// For people to read: bytes that JSON cannot hold become U+FFFD.
Json readable(const Json& text) { return Json::parse(text.dump(-1, ' ', false, Json::error_handler_t::replace)); }

Json model_json(const Predictor& model, const PredictorParts& parts, const FitReport& report, const Table& table,
                const DataOrigin& origin) {
  Json json = parts.json;
  json["predictor"] = model.kind();
  json["format"] = kModelFormatName;
  json["format_version"] = kModelFormat;
  json["ick_version"] = ICK_VERSION;
  json["fit"] = to_json(report);
  json["data"] = {{"path", readable(origin.path)},
                  {"columns", readable(origin.columns.empty() ? table.names() : origin.columns)},
                  {"fingerprint", origin.fingerprint}};
  if (report.summary) json["data"]["summary"] = readable(to_json(*report.summary));
  for (const DataUpdate& each : origin.updates) {
    json["data"]["updates"].push_back(
        {{"path", readable(each.path)}, {"rows", each.rows}, {"fingerprint", each.fingerprint}});
  }
  return json;
}

std::vector<DataUpdate> updates_from(const Json& data) {
  std::vector<DataUpdate> updates;
  for (const Json& each : data.value("updates", Json::array())) {
    updates.push_back({each.at("path"), each.at("rows"), each.at("fingerprint")});
  }
  return updates;
}

std::string with_checksum(Json json) {
  json["checksum"] = crc(json.dump());
  return json.dump(2) + "\n";
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
    if (json.at("format") != kModelFormatName) damaged(path, "its format is not ick.model");
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

// By content: any other model.json may be a table, or another program's.
bool is_model_json(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const Json json = Json::parse(file, nullptr, /*allow_exceptions=*/false);  // stops at what is not JSON
  return json.is_object() && json.contains("format") && json.at("format") == kModelFormatName;
}

FolderKind model_folder() {
  return {std::string(kModelJson), [](const std::string& name) { return is_model_file(name); }, &is_model_json};
}

}  // namespace

std::int64_t DataOrigin::rows_added() const {
  std::int64_t rows = 0;
  for (const DataUpdate& each : updates) rows += each.rows;
  return rows;
}

void check_model_place(const std::string& directory) { StagedFolder(directory, model_folder()); }

void save_model(const Predictor& model, const FitReport& report, const std::string& directory, const Table& table,
                const DataOrigin& origin, const std::string& log) {
  StagedFolder folder(directory, model_folder());
  const PredictorParts parts = predictor_kind(model.kind()).write(model);
  Json json = model_json(model, parts, report, table, origin);
  const auto add = [&](std::string_view file, const std::string& bytes) {
    const std::string name(file);
    folder.write(name, bytes);
    json["files"][name] = crc(bytes);
  };
  add(kWeights, safetensors_bytes(parts.weights, {{"format", "ick.model"}}));
  if (!parts.posterior.empty()) add(kPosterior, safetensors_bytes(parts.posterior, {{"format", "ick.model"}}));
  const GoldenFile golden = golden_file(model, table);
  add(golden.name, golden.bytes);
  folder.write(std::string(kTrainLog), log);
  folder.write(std::string(kModelJson), with_checksum(std::move(json)));
  folder.commit();
}

StoredModel load_model(const std::string& directory, const LoadOptions& options) {
  const std::string path = directory + "/model.json";
  std::error_code none;
  if (!std::filesystem::exists(path, none)) {
    throw DataError("\"" + directory +
                    "\" is not a model: there is no model.json in it; give a folder that fit has written");
  }
  StoredModel stored;
  stored.directory = directory;
  stored.json = read_file(path);
  const Json json = checked_json(path, stored.json);
  try {
    stored.format = json.at("format_version");
    stored.version = json.at("ick_version");
    stored.report = report_from_json(json.at("fit"));
    const Json& data = json.at("data");
    stored.origin = {data.at("path"), data.at("columns").get<std::vector<std::string>>(), data.at("fingerprint"),
                     updates_from(data)};
    if (data.contains("summary")) stored.report.summary = summary_from_json(data.at("summary"));
    const auto tensors = [&](const std::string& name) {
      if (!json.at("files").contains(name)) return TensorState();
      return TensorState(parse_safetensors(checked_file(directory, name, json.at("files")), directory + "/" + name));
    };
    if (!json.at("files").contains("weights.safetensors")) damaged(path, "it names no weights");
    const PredictorKind& kind = predictor_kind(json.value("predictor", kComposite));
    stored.model = kind.read({json, tensors("weights.safetensors"), tensors("posterior.safetensors")},
                             {stored.origin.columns, directory, options.trust, stored.format});
  } catch (const Json::exception& error) {
    damaged(path, std::string("a part is missing or of the wrong kind (") + error.what() + ")");
  } catch (const UntrustedCode&) {
    throw;
  } catch (const UsageError& error) {
    throw DataError(path + ": written by ick " + stored.version + ", which knew what this ick does not (" +
                    error.what() + "); use that version or a newer one, or a program that adds it");
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {  // of torch or the standard library, for sizes that make no sense
    damaged(path, "its parts do not fit together");
  }
  return stored;
}

const CompositePredictor& StoredModel::composite(const std::string& what) const {
  if (const auto* found = dynamic_cast<const CompositePredictor*>(model.get())) return *found;
  throw UsageError(what + " is for models of networks and kernels; this model is of the kind \"" +
                   std::string(model->kind()) + "\"");
}

Verification verify_model(const std::string& directory, const LoadOptions& options) {
  const StoredModel stored = load_model(directory, options);
  const std::string name = golden_name(*stored.model);
  return verify_golden(*stored.model, directory + "/" + name,
                       checked_file(directory, name, Json::parse(stored.json).at("files")));
}

void save_checkpoint(const StoredCheckpoint& stored, const std::string& path) {
  Json json = {{"format", kCheckpointFormatName},
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

StoredCheckpoint load_checkpoint(const std::string& path, const LoadOptions& options) {
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
    if (json.at("format") != kCheckpointFormatName) throw DataError(path + ": not a checkpoint; start the fit again");
    check_version(path, json);
    stored.formula = parse_formula(json.at("formula").get<std::string>());
    stored.options = options_from_json(json.at("options"));
    if (!options.trust) {
      refuse_code(stored.formula, path);
      if (!stored.options.noise_formula.empty()) refuse_code(parse_formula(stored.options.noise_formula), path);
    }
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
  } catch (const UntrustedCode&) {
    throw;
  } catch (const std::exception& error) {
    throw DataError(path + ": not a checkpoint of this version (" + error.what() + "); start the fit again");
  }
  return stored;
}

}  // namespace ick
