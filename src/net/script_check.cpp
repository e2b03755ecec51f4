#include "net/script_check.h"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <tuple>

namespace ick {

namespace {

// Operators of libtorch 1.13 named aten:: and prim:: that reach files, Python or other processes.
constexpr std::array<std::string_view, 7> kRefused = {
    "aten::save",      "aten::from_file", "prim::PythonOp",  "prim::IgnoredPythonOp",
    "prim::rpc_async", "prim::rpc_sync",  "prim::rpc_remote"};

bool is_refused(std::string_view name) {
  const bool is_known =
      name.starts_with("aten::") || name.starts_with("prim::");  // quantized::, c10d::, a library's own
  return !is_known || std::find(kRefused.begin(), kRefused.end(), name) != kRefused.end();
}

std::string find_refused(const torch::jit::Block& block) {
  for (const torch::jit::Node* node : block.nodes()) {
    std::string found = node->kind().toQualString();
    if (is_refused(found)) return found;
    for (const torch::jit::Block* inner : node->blocks()) {
      if (found = find_refused(*inner); !found.empty()) return found;
    }
    for (const c10::Symbol name : node->attributeNames()) {
      std::vector<std::shared_ptr<torch::jit::Graph>> graphs;
      if (node->kindOf(name) == torch::jit::AttributeKind::g) graphs = {node->g(name)};
      if (node->kindOf(name) == torch::jit::AttributeKind::gs) graphs = node->gs(name);
      for (const auto& graph : graphs) {
        if (found = find_refused(*graph->block()); !found.empty()) return found;
      }
    }
  }
  return "";
}

}  // namespace

std::string code_run_by_loading(const std::string& archive) {
  constexpr std::string_view kRuns = "__setstate__";
  std::istringstream in(archive);
  caffe2::serialize::PyTorchStreamReader reader(&in);
  for (const std::string& name : reader.getAllRecords()) {
    if (name.ends_with(".debug_pkl")) continue;  // places in the original source; never code
    const auto [bytes, size] = reader.getRecord(name);
    const std::string_view record(static_cast<const char*>(bytes.get()), size);
    if (record.find(kRuns) != std::string_view::npos) return std::string(kRuns);
  }
  return "";
}

std::string operation_beyond_tensors(const torch::jit::Module& script) {
  const auto functions = [unit = script._ivalue()->compilation_unit()] { return unit->get_functions(); };
  // Those that were not needed yet are compiled here, which may bring in others.
  for (std::size_t done = 0; done < functions().size();) {
    for (const auto all = functions(); done < all.size(); ++done) all[done]->ensure_defined();
  }
  for (torch::jit::Function* function : functions()) {
    if (!function->isGraphFunction()) continue;
    const std::string found = find_refused(*torch::jit::toGraphFunction(*function).graph()->block());
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace ick
