#include "base/registry.h"
#include "ick/inference/engine.h"

namespace ick {

// Each in a file of its own.
Engine ensemble_engine();
Engine nngp_engine();
Engine ntk_engine();
Engine laplace_engine();
Engine exact_engine();
Engine neighbours_engine();

namespace {

// The table. A new engine is a file like its neighbours and a line above and here.
Registry<Engine>& table() {
  static Registry<Engine> rows("posterior", {ensemble_engine(), nngp_engine(), ntk_engine(), laplace_engine(),
                                             exact_engine(), neighbours_engine()});
  return rows;
}

}  // namespace

std::vector<const Engine*> engines() { return table().all(); }
const Engine* find_engine(std::string_view name) { return table().find(name); }
const Engine& engine_named(std::string_view name) { return table().named(name); }
void add_engine(const Engine& engine) { table().add(engine); }

namespace detail {

std::vector<std::string> posterior_names() {
  std::vector<std::string> names;
  for (const Engine* row : engines()) names.emplace_back(row->name);
  return names;
}

}  // namespace detail

}  // namespace ick
