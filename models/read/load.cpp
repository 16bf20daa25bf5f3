// Ties the loader together: read, fill in the files, apply what the command line sets, read the tree, tell where
// everything came from.
#include "models/read/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "models/base/standard_input.hpp"
#include "models/base/text.hpp"
#include "models/read/hf_config.hpp"
#include "models/read/read_cluster.hpp"
#include "models/read/read_device.hpp"
#include "models/read/references.hpp"
#include "models/read/scenario_tree.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

using Origins = std::map<std::string, std::string>;

void throw_if_wrong(const Diagnostics& diagnostics) {
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
}

/// Takes "origins" out of a scenario that was resolved before.
Origins take_origins(JsonValue& root, Diagnostics& diagnostics) {
  Origins origins;
  JsonValue* listed = root.find("origins");
  if (listed == nullptr) return origins;
  if (listed->kind != JsonKind::kObject) {
    diagnostics.add(listed->origin, "/origins", "is no object; remove it, accosim resolve writes it");
  }
  for (const JsonMember& member : listed->members) {
    if (member.value.kind == JsonKind::kText) {
      origins[member.key] = member.value.text;
    } else {
      diagnostics.add(member.value.origin, "/origins" + pointer_part(member.key),
                      "is no text; remove it, accosim resolve writes it");
    }
  }
  root.erase("origins");
  return origins;
}

/// Adds every scalar's origin; citations are their own.
void collect_origins(const JsonValue& value, const std::string& pointer, const ScenarioTree& tree, JsonValue& out) {
  for (const JsonMember& member : value.members) {
    if (member.key == "sources") continue;
    collect_origins(member.value, pointer + pointer_part(member.key), tree, out);
  }
  for (std::size_t i = 0; i < value.elements.size(); ++i) {
    collect_origins(value.elements[i], pointer + pointer_part(i), tree, out);
  }
  if (value.kind == JsonKind::kObject || value.kind == JsonKind::kArray) return;
  // Appended, not set(): that would look for each key among all before it.
  out.members.push_back(JsonMember{pointer, {}, json_text(origin_of(tree, pointer, value), {})});
}

/// A file of another kind is one mistake, not one for each key that it lacks.
void refuse_other_kinds(const JsonValue& tree, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.errors.size();
  const JsonValue* schema = tree.find("schema");
  const std::string found = schema != nullptr && schema->kind == JsonKind::kText ? schema->text : "";
  if (tree.kind != JsonKind::kObject) {
    diagnostics.add(tree.origin, "", fmt::format("is {}; a scenario is an object: {{...}}", noun_of(tree.kind)));
  } else if (found == "accosim.run/1") {
    diagnostics.add(schema->origin, "/schema",
                    "is a run of accocal; name the machine too: accosim compare RUN --machine MACHINE");
  } else if (found.rfind("accosim.", 0) == 0 && found.rfind("accosim.scenario/", 0) != 0) {
    diagnostics.add(schema->origin, "/schema",
                    fmt::format("{} is no scenario; name a file of \"accosim.scenario/1\"", in_quotes(found)));
  } else if (schema == nullptr && tree.find("model_type") != nullptr) {
    diagnostics.add(tree.origin, "", "is a Hugging Face config; name it as \"model\" in a scenario");
  }
  if (diagnostics.errors.size() > before) throw ScenarioError(diagnostics.errors);
}

/// The same into `diagnostics`.
std::string file_of(FileKind kind, const std::string& name_or_path, References& references, Diagnostics& diagnostics) {
  const std::optional<std::string> path = references.find(name_or_path, kind);
  throw_if_wrong(diagnostics);
  return *path;
}

/// Opens the file of a single part.
JsonValue open_part(References& references, const std::string& path, Diagnostics& diagnostics) {
  std::optional<JsonValue> root = references.open(path);
  if (!root) throw ScenarioError(diagnostics.errors);
  return std::move(*root);
}

}  // namespace

std::string file_of(FileKind kind, const std::string& name_or_path) {
  Diagnostics diagnostics;
  References references(diagnostics);
  return file_of(kind, name_or_path, references, diagnostics);
}

namespace {

std::string text_at(const JsonValue& value, const char* key) {
  const JsonValue* const found = value.find(key);
  return found != nullptr && found->kind == JsonKind::kText ? found->text : "";
}

std::string label_of(const JsonValue& entry) {
  const std::string label = text_at(entry, "label");
  return label.empty() ? text_at(entry, "name") : label;
}

bool is_one_of(const std::vector<std::string>& only, const JsonValue& entry) {
  const auto has = [&](const std::string& word) { return std::ranges::find(only, word) != only.end(); };
  return has(label_of(entry)) || has(text_at(entry, "name"));
}

/// Takes entries out of the list of schedules, with what else names them; `list` is no more to be used then.
void take_out(JsonValue& tree, JsonValue& list, const std::function<bool(const JsonValue&)>& is_out) {
  std::vector<std::string> labels;
  for (const JsonValue& entry : list.elements)
    if (is_out(entry)) labels.push_back(label_of(entry));
  std::erase_if(list.elements, is_out);
  for (const std::string& label : labels) {  // which moves what stands behind it in the tree
    JsonValue* const published = tree.find("published");
    if (published != nullptr && published->kind == JsonKind::kObject) published->erase(label);
    if (label == text_at(tree, "baseline")) tree.erase("baseline");
  }
}

/// Leaves those that are asked for, and what they are compared with.
void keep_only(JsonValue& tree, const std::vector<std::string>& only) {
  JsonValue* const list = tree.find("schedules");
  if (only.empty() || list == nullptr || list->kind != JsonKind::kArray || list->elements.empty()) return;
  const std::string written = text_at(tree, "baseline"),
                    baseline = written.empty() ? label_of(list->elements.front()) : written;
  const auto asked = [&](const JsonValue& entry) { return is_one_of(only, entry); };
  if (std::ranges::none_of(list->elements, asked)) return;  // which is told when they are chosen
  take_out(tree, *list, [&](const JsonValue& entry) { return !asked(entry) && label_of(entry) != baseline; });
}

/// Entries of "schedules" that are wrong, by their pointers, and why; empty where something else is wrong too.
using WrongEntries = std::vector<std::pair<std::string, std::string>>;
WrongEntries cannot_be_had(const Diagnostics& diagnostics) {
  return diagnostics.errors.size() == diagnostics.not_here.size() ? diagnostics.not_here : WrongEntries();
}
/// With whatever is wrong in them but a key that nobody knows, which is wrong everywhere.
WrongEntries wrong_inside(const Diagnostics& diagnostics) {
  WrongEntries entries;
  if (diagnostics.errors.size() != diagnostics.places.size()) return entries;
  constexpr std::string_view kList = "/schedules/";
  for (const auto& [pointer, what] : diagnostics.places) {
    if (pointer.rfind(kList, 0) != 0 || what.rfind("unknown key", 0) == 0) return {};
    const std::size_t end = std::min(pointer.find('/', kList.size()), pointer.size());
    const std::string key = end == pointer.size() ? "" : pointer.substr(end + 1) + " ";
    entries.emplace_back(pointer.substr(0, end), key == "name " ? what : key + what);
  }
  return entries;
}

/// Takes out what cannot be had, where that is all that is wrong, and others are left; whether there was any.
bool leave_out(JsonValue& tree, const std::vector<std::string>& only, const WrongEntries& wrong,
               std::vector<LeftOutSchedule>& left_out) {
  JsonValue* const list = tree.find("schedules");
  if (list == nullptr || wrong.empty()) return false;
  std::vector<std::string> labels;
  for (const auto& [pointer, why] : wrong)
    for (std::size_t i = 0; i < list->elements.size(); ++i)
      if (const JsonValue& entry = list->elements[i]; pointer == "/schedules" + pointer_part(i)) {
        if (is_one_of(only, entry)) return false;
        if (std::ranges::find(labels, label_of(entry)) != labels.end()) continue;
        labels.push_back(label_of(entry));
        left_out.push_back({labels.back(), why, text_at(entry, "name")});
      }
  if (labels.size() == list->elements.size()) return false;
  take_out(tree, *list,
           [&](const JsonValue& entry) { return std::ranges::find(labels, label_of(entry)) != labels.end(); });
  return true;
}

/// Short names of degrees, as people type them, become ours.
void spell_out(JsonValue& tree, Diagnostics& diagnostics) {
  JsonValue* const training = tree.find("training");
  JsonValue* const parallel = training == nullptr ? nullptr : training->find("parallel");
  if (parallel == nullptr || parallel->kind != JsonKind::kObject) return;
  constexpr std::pair<const char*, const char*> kShort[] = {
      {"tp", "tensor_parallel_size"}, {"pp", "pipeline_parallel_size"}, {"vpp", "virtual_pipeline_stages"}};
  for (const auto& [shorter, ours] : kShort) {
    const JsonValue* const found = parallel->find(shorter);
    if (found == nullptr) continue;
    JsonValue moved = *found;
    if (parallel->find(ours) != nullptr)
      diagnostics.add(moved.origin, "/training/parallel" + pointer_part(shorter),
                      fmt::format("says the same as {}; write one of them", ours));
    else
      parallel->set(ours, moved);
    parallel->erase(shorter);
  }
}

using Apply = std::function<void(JsonValue& tree, References&, Diagnostics&)>;

/// A tree that was read from `path`, shown as `main_file`. `apply` sets what is to be set in it, and fills in the files
/// that it names after each.
LoadedScenario load_tree(JsonValue tree, const std::string& path, const std::string& main_file,
                         const std::vector<std::string>& only, WrongEntries (*wrong_entries)(const Diagnostics&),
                         References& references, Diagnostics& diagnostics, const Apply& apply) {
  refuse_other_kinds(tree, diagnostics);
  Origins earlier = take_origins(tree, diagnostics);
  references.expand_scenario(tree);
  apply(tree, references, diagnostics);
  spell_out(tree, diagnostics);
  keep_only(tree, only);
  const auto written =
      std::make_shared<ScenarioTree>(ScenarioTree{std::move(tree), path, main_file, std::move(earlier)});
  LoadedScenario loaded;
  JsonValue whole;
  loaded.scenario = read_tree(*written, whole, diagnostics);
  if (leave_out(written->root, only, wrong_entries(diagnostics), loaded.left_out)) {
    diagnostics = {};
    loaded.scenario = read_tree(*written, whole, diagnostics);
  }
  throw_if_wrong(diagnostics);
  const std::shared_ptr<const ScenarioTree> kept = written;
  loaded.resolved = [kept] {
    Diagnostics none;
    JsonValue origins = json_object(default_origin()), filled;
    read_tree(*kept, filled, none);
    collect_origins(filled, "", *kept, origins);
    filled.set("origins", std::move(origins));
    return write_json(filled) + "\n";
  };
  loaded.tree = kept;
  loaded.files = references.files();
  return loaded;
}

LoadedScenario load(const std::string& name_or_path, const std::vector<std::string>& only,
                    WrongEntries (*wrong_entries)(const Diagnostics&), const Apply& apply) {
  Diagnostics diagnostics;
  References references(diagnostics);
  const bool piped = name_or_path == kStandardInput;
  const std::string path = piped ? name_or_path : file_of(FileKind::kScenario, name_or_path, references, diagnostics);
  JsonValue tree = open_part(references, path, diagnostics);
  const std::string main_file = tree.origin.source ? *tree.origin.source : path;
  LoadedScenario loaded = load_tree(std::move(tree), piped ? kStandardInputName : path, main_file, only, wrong_entries,
                                    references, diagnostics, apply);
  if (!piped) loaded.files.push_back(path);
  return loaded;
}

}  // namespace

LoadedScenario load_scenario(const std::string& name_or_path, const std::vector<std::string>& sets,
                             const std::vector<std::string>& only) {
  return load(name_or_path, only, cannot_be_had,
              [&](JsonValue& tree, References& references, Diagnostics& diagnostics) {
                apply_sets(tree, sets, references, diagnostics);
              });
}

LoadedScenario load_scenario_tree(JsonValue tree, const std::string& source, const std::vector<std::string>& sets,
                                  const std::vector<std::string>& only) {
  Diagnostics diagnostics;
  References references(diagnostics);
  return load_tree(
      std::move(tree), source, source, only, cannot_be_had, references, diagnostics,
      [&](JsonValue& whole, References&, Diagnostics&) { apply_sets(whole, sets, references, diagnostics); });
}

LoadedScenario load_again(const LoadedScenario& loaded, const std::vector<std::string>& sets) {
  JsonValue root = loaded.tree->root, origins = json_object(JsonOrigin{});
  for (const auto& [pointer, text] : loaded.tree->origins)
    origins.members.emplace_back(pointer, JsonOrigin{}, json_text(text, {}));
  root.set("origins", std::move(origins));
  return load_scenario_tree(std::move(root), loaded.tree->path, sets);
}

LoadedScenario load_varied(const std::string& name_or_path, const std::vector<std::string>& sets) {
  return load(name_or_path, {}, wrong_inside, [&](JsonValue& tree, References& references, Diagnostics& diagnostics) {
    apply_sets(tree, sets, references, diagnostics);
  });
}

LoadedScenario load_scenario_with(const std::string& name_or_path, const std::vector<Setting>& settings) {
  return load(name_or_path, {}, cannot_be_had, [&](JsonValue& tree, References& references, Diagnostics& diagnostics) {
    for (const Setting& set : settings) {
      set_at(tree, set.pointer, set.value, set.value.origin, diagnostics);
      references.expand_scenario(tree);
    }
  });
}

Device load_device(const std::string& name_or_path) {
  Diagnostics diagnostics;
  References references(diagnostics);
  JsonValue value = json_text(name_or_path, origin_named("device"));
  references.expand_device(value, "");
  const std::optional<Device> device = read_device(value, "", diagnostics);
  throw_if_wrong(diagnostics);
  return *device;
}

Model load_model(const std::string& name_or_path) {
  Diagnostics diagnostics;
  References references(diagnostics);
  const std::string path = file_of(FileKind::kModel, name_or_path, references, diagnostics);
  JsonValue value = open_part(references, path, diagnostics);
  if (value.find("name") == nullptr && value.kind == JsonKind::kObject) {
    value.set("name", json_text(printable(std::filesystem::path(path).stem().string(), 100), default_origin()));
  }
  std::optional<Model> model = read_model(value, "", diagnostics);
  throw_if_wrong(diagnostics);
  return *model;
}

Cluster load_cluster(const std::string& name_or_path) {
  Diagnostics diagnostics;
  References references(diagnostics);
  const std::string path = file_of(FileKind::kCluster, name_or_path, references, diagnostics);
  JsonValue value = open_part(references, path, diagnostics);
  references.expand_cluster(value, "");
  const std::optional<Cluster> cluster = read_cluster(value, "", any_training(), diagnostics);
  throw_if_wrong(diagnostics);
  return *cluster;
}

}  // namespace accosim
