#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "ick/evaluate/cross_validation.h"

namespace ick {

// The folder of a run that may be interrupted, folds.csv.partial: what was asked for, and a file for each fold that is
// done, each of which appears whole or not at all.
class KeptFolds {
 public:
  static void check_place(const std::string& folder);  // UsageError when there is something already
  // `request` is what a run that is resumed goes by.
  static KeptFolds begin(const std::string& folder, const nlohmann::json& request);
  static KeptFolds resume(std::string folder);  // DataError when there is none, or it is damaged

  const std::string& folder() const { return folder_; }
  const nlohmann::json& request() const { return request_; }
  const std::map<std::int64_t, FoldResult>& done() const { return done_; }  // by task

  void keep(std::int64_t task, const std::string& result, FoldResult parsed);
  void remove() const;  // its own files, and the folder when that is then empty

 private:
  std::string folder_;
  nlohmann::json request_;
  std::map<std::int64_t, FoldResult> done_;
};

}  // namespace ick
