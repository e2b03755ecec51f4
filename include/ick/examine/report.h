#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ick/base/message.h"
#include "ick/report/page.h"
#include "ick/table/table.h"

// What there is to say of a model, of a comparison, of a table, as a page: see ick/report/page.h for what becomes of it.
namespace ick {

struct StoredModel;
struct CrossValidation;
struct Leaderboard;
struct TableLook;

struct ReportOptions {
  double level = 0.9;                 // of the intervals
  std::int64_t rows = 20'000;         // that are predicted and drawn at most; of more some are drawn
  std::int64_t points = 2'000;        // of a layer of a picture
  std::uint64_t seed = 0;             // of rows that are drawn
  std::string data;                   // what the table is called
  std::vector<std::string> commands;  // that repeat the fit and the report, as the user would type them
  // How settings in sentences are spelled; as the library does without.
  std::function<std::string(const Message&)> say;

  std::string said(const Message& message) const { return say ? say(message) : message.text(); }
};

// Of a model alone, or with rows of `table` (null: without). A table that the model was fitted on is known by its
// fingerprint: then the report is about the holdout; without one about the validation rows, where the model kept has
// not learned from them; else about rows that it was trained on, which it says. Needs all columns for it. Rows without
// a target get predictions only. DataError for a table without rows, or without the columns that the model reads.
Page report_of(const StoredModel& stored, const Table* table, const ReportOptions& options = {});

Page report_of(const CrossValidation& all, const std::string& formula, const Table& table,
               const ReportOptions& options = {});
Page report_of(const Leaderboard& all, const Table& table, const ReportOptions& options = {});
Page report_of(const TableLook& look, const Table& table, const ReportOptions& options = {});

}  // namespace ick
