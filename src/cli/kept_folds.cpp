#include "cli/kept_folds.h"

#include <fmt/core.h>

#include <filesystem>

#include "cli/fold_json.h"
#include "ick/base/error.h"
#include "ick/base/file.h"

namespace ick {

namespace {

namespace fs = std::filesystem;

constexpr const char* kRequestFile = "request.json";

std::string fold_file(const std::string& folder, std::int64_t task) {
  return fmt::format("{}/fold-{}.json", folder, task + 1);
}

nlohmann::json read_json(const std::string& path) {
  try {
    return nlohmann::json::parse(read_file(path));
  } catch (const nlohmann::json::exception&) {
    throw DataError(path + ": is damaged; remove it, and resume again");
  }
}

}  // namespace

void KeptFolds::check_place(const std::string& folder) {
  const fs::path out = fs::path(folder).replace_extension();  // without .partial
  if (fs::is_directory(out)) {
    throw UsageError(setting("out", out.string()) + ": that is a folder; the name of a file was expected");
  }
  if (fs::exists(fs::symlink_status(folder))) {
    throw UsageError("\"" + folder + "\" is there already, of a run that was interrupted; go on with it by " +
                     setting("resume", folder) + ", or remove it");
  }
}

KeptFolds KeptFolds::begin(const std::string& folder, const nlohmann::json& request) {
  check_place(folder);
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) throw Error("cannot make the folder \"" + folder + "\": " + error.message());
  KeptFolds kept;
  kept.folder_ = folder, kept.request_ = request;
  write_file(folder + "/" + kRequestFile, request.dump(1) + "\n");
  return kept;
}

KeptFolds KeptFolds::resume(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  KeptFolds kept;
  if (!fs::exists(folder + "/" + kRequestFile)) {
    throw DataError("\"" + folder + "\" is no folder of an interrupted run; expected one that ends with .partial");
  }
  kept.request_ = read_json(folder + "/" + kRequestFile);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    std::int64_t number = 0;
    if (std::sscanf(name.c_str(), "fold-%ld.json", &number) != 1 || name != fmt::format("fold-{}.json", number))
      continue;
    const nlohmann::json json = read_json(entry.path());
    try {
      kept.done_[number - 1] = fold_result_from_json(json);
    } catch (const nlohmann::json::exception&) {
      throw DataError(entry.path().string() + ": is damaged; remove it, and resume again");
    }
  }
  kept.folder_ = std::move(folder);
  return kept;
}

void KeptFolds::keep(std::int64_t task, const std::string& result, FoldResult parsed) {
  if (!folder_.empty()) write_file(fold_file(folder_, task), result + "\n");
  done_[task] = std::move(parsed);
}

void KeptFolds::remove() const {
  if (folder_.empty()) return;
  std::error_code ignored;
  for (const auto& [task, result] : done_) fs::remove(fold_file(folder_, task), ignored);
  fs::remove(folder_ + "/" + kRequestFile, ignored);
  fs::remove(folder_, ignored);
}

}  // namespace ick
