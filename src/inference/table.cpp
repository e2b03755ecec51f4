#include <deque>
#include <mutex>

#include "ick/base/error.h"
#include "ick/base/text.h"
#include "ick/inference/engine.h"

namespace ick {

// Each in a file of its own.
Engine ensemble_engine();
Engine nngp_engine();
Engine ntk_engine();
Engine laplace_engine();
Engine exact_engine();

namespace {

// The table. A new engine is a file like its neighbours and a line above and here.
std::deque<Engine>& table() {
  static std::deque<Engine> rows = {ensemble_engine(), nngp_engine(), ntk_engine(), laplace_engine(), exact_engine()};
  return rows;
}

std::mutex& table_mutex() {
  static std::mutex mutex;
  return mutex;
}

const Engine* find_in_table(std::string_view name) {
  for (const Engine& row : table()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace

std::vector<const Engine*> engines() {
  const std::lock_guard lock(table_mutex());
  std::vector<const Engine*> rows;
  for (const Engine& row : table()) rows.push_back(&row);
  return rows;
}

const Engine* find_engine(std::string_view name) {
  const std::lock_guard lock(table_mutex());
  return find_in_table(name);
}

const Engine& engine_named(std::string_view name) {
  if (const Engine* found = find_engine(name)) return *found;
  std::vector<std::string> names;
  for (const Engine* row : engines()) names.emplace_back(row->name);
  const std::string guess = did_you_mean(name, names);
  throw UsageError("no posterior named \"" + std::string(name) + "\"" +
                   (guess.empty() ? "; there are " + join_words(names) : guess));
}

void add_engine(const Engine& engine) {
  const std::lock_guard lock(table_mutex());
  if (find_in_table(engine.name) != nullptr) {
    throw UsageError("there is a posterior named \"" + std::string(engine.name) + "\" already; give another name");
  }
  table().push_back(engine);
}

namespace detail {

std::vector<std::string> posterior_names() {
  std::vector<std::string> names;
  for (const Engine* row : engines()) {
    if (!row->kernels_only) names.emplace_back(row->name);
  }
  return names;
}

}  // namespace detail

}  // namespace ick
