#pragma once

#include <nlohmann/json.hpp>

#include "ick/dataset/summary.h"

namespace ick {

nlohmann::json to_json(const ColumnInfo& info);
ColumnInfo column_info_from_json(const nlohmann::json& json);

nlohmann::json to_json(const DataSummary& summary);
DataSummary summary_from_json(const nlohmann::json& json);

}  // namespace ick
