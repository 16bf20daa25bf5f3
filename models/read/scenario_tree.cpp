#include "models/read/scenario_tree.hpp"

#include <utility>

#include "models/read/overrides.hpp"
#include "models/read/read_cluster.hpp"
#include "models/read/read_scenario.hpp"
#include "models/read/references.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

constexpr const char* kSchedules = "schedules";

void throw_if_wrong(const Diagnostics& diagnostics) {
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
}

/// Of a tree that was resolved before, where training.balance is to choose: takes out what nobody wrote.
void forget_defaults(const ScenarioTree& tree, JsonValue& root) {
  JsonValue* const cluster = root.find("cluster");
  JsonValue* const nodes = cluster != nullptr ? cluster->find("nodes") : nullptr;
  const JsonValue* const training = root.find("training");
  const JsonValue* const balance = training != nullptr ? training->find("balance") : nullptr;
  if (nodes == nullptr || balance == nullptr) return;
  const std::vector<const char*> chosen = chosen_by(value_named<Balance>(balance->text).value_or(Balance::kNone));
  for (std::size_t i = 0; i < nodes->elements.size(); ++i)
    for (const char* const key : chosen) {
      const JsonValue* const value = nodes->elements[i].find(key);
      const auto known = tree.origins.find("/cluster/nodes" + pointer_part(i) + pointer_part(key));
      const bool of_file = value != nullptr && value->origin.line > 0;
      if (of_file && known != tree.origins.end() && known->second.rfind("default", 0) == 0)
        nodes->elements[i].erase(key);
    }
}

}  // namespace

std::string origin_of(const ScenarioTree& tree, const std::string& pointer, const JsonValue& value) {
  const bool from_main = value.origin.line > 0 && value.origin.source && *value.origin.source == tree.main_file;
  const auto known = tree.origins.find(pointer);
  return from_main && known != tree.origins.end() ? known->second : text_of(value.origin);
}

bool writes(const ScenarioTree& tree, const std::string& pointer) {
  const JsonValue* const value = at_pointer(tree.root, pointer);
  return value != nullptr && origin_of(tree, pointer, *value).rfind("default", 0) != 0;
}

void apply_sets(JsonValue& tree, const std::vector<std::string>& sets, References& references,
                Diagnostics& diagnostics) {
  for (const std::string& set : sets) {
    apply_set(tree, set, diagnostics);
    references.expand_scenario(tree);
  }
}

Scenario read_tree(const ScenarioTree& tree, JsonValue& whole, Diagnostics& diagnostics) {
  whole = tree.root;
  forget_defaults(tree, whole);
  return read_scenario(whole, tree.path, diagnostics);
}

Scenario ground_with(const ScenarioTree& tree, const std::vector<std::string>& sets) {
  JsonValue root = tree.root;
  Diagnostics diagnostics;
  References references(diagnostics);
  references.begin_at(tree.path);
  apply_sets(root, sets, references, diagnostics);
  forget_defaults(tree, root);
  Scenario ground = read_ground(root, diagnostics);
  throw_if_wrong(diagnostics);
  return ground;
}

Scenario alone_on(const Scenario& ground, const ScenarioTree& tree, const std::vector<JsonValue>& added,
                  std::size_t index, const std::vector<std::string>& sets) {
  JsonValue root = json_object({});
  JsonValue& schedules = root.set(kSchedules, *tree.root.find(kSchedules));
  schedules.elements.insert(schedules.elements.end(), added.begin(), added.end());
  Diagnostics diagnostics;
  for (const std::string& set : sets) apply_set(root, set, diagnostics);
  throw_if_wrong(diagnostics);
  JsonValue only = std::move(schedules.elements.at(index));
  schedules.elements = {std::move(only)};
  Scenario alone = read_alone(ground, root, diagnostics);
  throw_if_wrong(diagnostics);
  return alone;
}

}  // namespace accosim
