// Ties the loader together: read, fill in the files, apply what the command line sets, read the tree, tell where
// everything came from.
#include "models/spec/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>

#include "models/base/nearest.hpp"
#include "models/base/standard_input.hpp"
#include "models/base/text.hpp"
#include "models/spec/accocal_step.hpp"
#include "models/spec/balanced_groups.hpp"
#include "models/spec/check_schedules.hpp"
#include "models/spec/constants.hpp"
#include "models/spec/frameworks.hpp"
#include "models/spec/hf_config.hpp"
#include "models/spec/overrides.hpp"
#include "models/spec/references.hpp"
#include "models/spec/scenario_parts.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

constexpr std::size_t kMostErrors = 100;
constexpr int kMostSchedules = 1000;

using Origins = std::map<std::string, std::string>;

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : "\n") + line;
  return out;
}

std::vector<std::string> at_most(std::vector<std::string> errors) {
  if (errors.size() <= kMostErrors) return errors;
  const std::size_t more = errors.size() - kMostErrors;
  errors.resize(kMostErrors);
  errors.push_back(fmt::format("... and {} more errors", more));
  return errors;
}

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
void collect_origins(const JsonValue& value, const std::string& pointer, const std::string& main_file,
                     const Origins& earlier, JsonValue& out) {
  for (const JsonMember& member : value.members) {
    if (member.key == "sources") continue;
    collect_origins(member.value, pointer + pointer_part(member.key), main_file, earlier, out);
  }
  for (std::size_t i = 0; i < value.elements.size(); ++i) {
    collect_origins(value.elements[i], pointer + pointer_part(i), main_file, earlier, out);
  }
  if (value.kind == JsonKind::kObject || value.kind == JsonKind::kArray) return;
  const bool from_main = value.origin.line > 0 && value.origin.source && *value.origin.source == main_file;
  const auto known = earlier.find(pointer);
  // Appended, not set(): that would look for each key among all before it.
  out.members.push_back(JsonMember{
      pointer, {}, json_text(from_main && known != earlier.end() ? known->second : text_of(value.origin), {})});
}

std::vector<ScheduleSpec> read_schedules(ObjectReader& top, const Training& training,
                                         const std::optional<Cluster>& cluster) {
  std::vector<ScheduleSpec> specs;
  Diagnostics& diagnostics = top.diagnostics();
  JsonValue* list = top.find("schedules");
  const std::string form = fmt::format(R"(write at least one: [{{"name": "{}"}}, {{"name": "{}"}}])",
                                       plain_schedule().name, plain_sharded_schedule().name);
  if (list == nullptr || list->kind != JsonKind::kArray || list->elements.empty()) {
    const char* what = list == nullptr ? "missing; " : list->kind == JsonKind::kArray ? "is empty; " : "is no list; ";
    top.fail("schedules", what + form);
    return specs;
  }
  if (list->elements.size() > kMostSchedules) {
    top.fail("schedules", fmt::format("lists {}; write at most {}", list->elements.size(), kMostSchedules));
    return specs;
  }
  for (std::size_t i = 0; i < list->elements.size(); ++i) {
    JsonValue& value = list->elements[i];
    const std::string pointer = top.pointer("schedules") + pointer_part(i);
    ScheduleSpec spec = read_schedule(value, pointer, training, cluster, diagnostics);
    for (const ScheduleSpec& other : specs) {
      if (spec.label.empty() || other.label != spec.label) continue;
      const JsonValue* label = value.find("label");
      const bool own = label != nullptr && text_of(label->origin) != "default";
      diagnostics.add(
          own ? label->origin : value.origin, pointer + "/label",
          fmt::format("{} is the label of two schedules; give this one a \"label\" of its own", in_quotes(spec.label)));
      break;
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

/// By label 7.79, a speedup, or {"speedup": 7.79, "time": "29 min"}.
std::map<std::string, PublishedRun> read_published(ObjectReader& top, const std::vector<std::string>& labels) {
  constexpr Range kSpeedups{0, 1e6, true};
  std::map<std::string, PublishedRun> published;
  JsonValue* value = top.find("published");
  if (value == nullptr) return published;
  ObjectReader reader(*value, top.pointer("published"), top.diagnostics());
  for (const std::string& label : labels) {
    JsonValue* of = reader.find(label);
    if (of == nullptr) continue;
    PublishedRun& run = published[label];
    if (of->kind == JsonKind::kText) {
      reader.fail(label, "is neither a speedup nor an object; write {\"time\": \"3 h 46 min\"}");
      continue;
    }
    if (of->kind != JsonKind::kObject) {
      run.speedup = reader.number(label, kSpeedups);
      continue;
    }
    ObjectReader own(*of, reader.pointer(label), top.diagnostics());
    if (own.has("speedup")) run.speedup = own.number("speedup", kSpeedups);
    if (own.has("time")) run.time = own.seconds("time");
    if (run.time && !(*run.time > Seconds{0}) && own.good("time"))
      own.fail("time", "is not above 0; write what was published");
    if (!own.has("speedup") && !own.has("time"))
      reader.fail(label, "says nothing; write a \"speedup\", a \"time\" or both");
    own.finish();
  }
  reader.finish();
  return published;
}

}  // namespace

Scenario read_scenario(JsonValue& tree, const std::string& path, Diagnostics& diagnostics) {
  Scenario scenario;
  ObjectReader top(tree, "", diagnostics);
  top.schema("accosim.scenario/1");
  if (!top.has("schema")) top.fail("schema", "missing; write \"schema\": \"accosim.scenario/1\"");
  std::string stem = printable(std::filesystem::path(path).stem().string(), 100);
  scenario.name = top.text("name", stem.empty() ? "scenario" : stem);
  if (top.has("description")) scenario.description = top.text("description", {}, 8000);
  if (top.has("source")) top.text("source", {}, 2000);

  std::optional<Model> model;
  if (JsonValue* value = top.find("model")) {
    if (value->kind != JsonKind::kText) model = read_model(*value, "/model", diagnostics);
  } else {
    top.fail("model", "missing; write the path of a Hugging Face config.json");
  }
  Training training;
  if (JsonValue* value = top.find("training")) {
    training = read_training(*value, "/training", model, diagnostics);
  } else {
    top.fail("training", "missing; write an object with sequence_length, micro_batch_size and train_tokens");
  }
  std::optional<Cluster> cluster;
  if (JsonValue* value = top.find("cluster")) {
    cluster = read_cluster(*value, "/cluster", training, diagnostics);
  } else {
    top.fail("cluster", "missing; write the path of a cluster file");
  }
  scenario.schedules = read_schedules(top, training, cluster);

  std::vector<std::string> labels;
  for (const ScheduleSpec& spec : scenario.schedules) {
    const bool known = std::find(labels.begin(), labels.end(), spec.label) != labels.end();
    if (!spec.label.empty() && !known) labels.push_back(spec.label);
  }
  scenario.published = read_published(top, labels);
  if (!labels.empty()) {
    scenario.baseline = top.text("baseline", labels.front());
    if (top.good("baseline") && std::find(labels.begin(), labels.end(), scenario.baseline) == labels.end()) {
      top.fail("baseline", fmt::format("{} is the label of no schedule{}", in_quotes(scenario.baseline),
                                       hint(scenario.baseline, labels)));
    }
  }
  top.find("baseline");
  scenario.training = training;
  check_equal_steps(scenario.schedules, cluster, training, top);
  if (model) check_collectives(scenario.schedules, cluster, training, *model, top);
  check_drawn(scenario.schedules, cluster, training, top);
  if (model && cluster) check_unsteady(training, *model, static_cast<int>(places_of(*cluster).size()), top);
  top.finish();
  if (model) scenario.model = std::move(*model);
  if (cluster) scenario.cluster = std::move(*cluster);
  return scenario;
}

namespace {

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

ScenarioError::ScenarioError(std::vector<std::string> all)
    : std::runtime_error(joined(at_most(all))), errors(at_most(std::move(all))) {}

namespace {

/// Which blocks "full" and "full_early_stop" are of.
RecomputedBlocks read_recomputed_blocks(ObjectReader& reader, Recompute recompute, const std::optional<Model>& model) {
  const bool every = reader.has("recompute_every"), fraction = reader.has("recompute_fraction");
  RecomputedBlocks blocks;
  if (every) blocks.every = reader.integer("recompute_every", 1, kMaxInteger);
  if (fraction) blocks.fraction = reader.number("recompute_fraction", Range{0, 1, true});
  const char* const key = every ? "recompute_every" : "recompute_fraction";
  const bool whole = recompute == Recompute::kFull || recompute == Recompute::kFullEarlyStop;
  if ((every || fraction) && !whole && reader.good("activation_recompute"))
    reader.fail(key, "is of whole blocks; write activation_recompute full or full_early_stop, or leave it out");
  if (every && fraction) reader.fail("recompute_fraction", "says the same as recompute_every; write one of them");
  if (every && model && reader.good("recompute_every") && blocks.every > model->num_hidden_layers)
    reader.fail("recompute_every", fmt::format("is {}, and the model has {} blocks; write at most that", blocks.every,
                                               model->num_hidden_layers));
  return blocks;
}

/// What accocal's own step cannot do.
void check_own_step(ObjectReader& reader, const Training& training, const std::optional<Model>& model) {
  const auto refuse = [&](const char* key, bool wrong, const char* what) {
    if (wrong) reader.fail(key, std::string("accocal's step ") + what);
  };
  if (model) {
    const std::string lacking = not_for_accocal(*model);
    if (!lacking.empty()) reader.fail("implementation", fmt::format("accocal trains GPT-2, and the model {}", lacking));
  }
  check_own_kernels(reader, training.precision, training.attention);
  refuse("activation_recompute", training.activation_recompute != Recompute::kNone,
         "keeps all activations; write \"none\"");
  refuse("optimizer_implementation", training.optimizer_implementation != OptimizerImplementation::kFused,
         "has AdamW in one kernel; write \"fused\"");
  refuse("autocast", training.autocast != Autocast::kNone, "casts nothing; write \"none\"");
  refuse("framework", training.framework != Framework::kPytorch, "is run by accocal; leave the framework out");
  refuse("dropout", training.dropout > 0, "has no dropout; write 0");
  refuse("gradient_clipping", training.gradient_clipping, "does not clip gradients; write false");
}

}  // namespace

void check_own_kernels(ObjectReader& reader, Dtype precision, Attention attention) {
  if (precision != Dtype::kBf16 && precision != Dtype::kFp32)
    reader.fail("precision", "accocal's step runs in bf16 or fp32; write one of these");
  if (attention != Attention::kNaive)
    reader.fail("attention", "accocal's step has products and a softmax; write \"naive\"");
}

namespace {

/// accocal has one kernel; otherwise the framework's own.
void read_optimizer_implementation(ObjectReader& reader, Training& training) {
  const char* const key = "optimizer_implementation";
  const bool own = training.implementation == Implementation::kAccocal, written = reader.has(key);
  const OptimizerImplementation usual = own ? OptimizerImplementation::kFused : default_optimizer(training.framework);
  training.optimizer_implementation =
      reader.choice(key, {OptimizerImplementation::kFused, OptimizerImplementation::kForeach},
                    std::optional<OptimizerImplementation>(usual));
  if (written || own || reader.find(key) == nullptr) return;
  reader.find(key)->origin = origin_named(fmt::format("default of {}", title_of(training.framework)));
}

}  // namespace

Training read_training(JsonValue& value, const std::string& pointer, const std::optional<Model>& model,
                       Diagnostics& diagnostics) {
  ObjectReader reader(value, pointer, diagnostics);
  Training training;
  training.overheads = constants().overheads;
  training.sequence_length = reader.integer("sequence_length", 1, kMaxInteger);
  training.micro_batch_size = reader.integer("micro_batch_size", 1, kMaxInteger);
  training.gradient_accumulation_steps = reader.integer("gradient_accumulation_steps", 1, kMaxInteger, 1);
  training.balance =
      reader.choice("balance", {Balance::kNone, Balance::kSpeed}, std::optional<Balance>(Balance::kNone));
  training.train_tokens = reader.number("train_tokens", Range{0, 1e18, true});
  training.precision = reader.choice("precision", {Dtype::kFp32, Dtype::kTf32, Dtype::kFp16, Dtype::kBf16, Dtype::kFp8},
                                     std::optional<Dtype>(Dtype::kBf16));
  training.autocast = reader.choice("autocast", {Autocast::kNone, Autocast::kFp16, Autocast::kBf16},
                                    std::optional<Autocast>(Autocast::kNone));
  if (training.precision == Dtype::kFp8 && training.autocast != Autocast::kNone)
    reader.fail("autocast", "fp8 says itself what is cast; write \"none\"");
  training.optimizer = reader.choice("optimizer", {Optimizer::kAdamW}, std::optional<Optimizer>(Optimizer::kAdamW));
  const JsonValue* const implementation = reader.find("implementation");
  const bool own_step = implementation != nullptr && implementation->text == name_of(Implementation::kAccocal);
  training.attention = reader.choice("attention", all_attentions(),
                                     std::optional<Attention>(own_step ? Attention::kNaive : Attention::kFlash));
  training.activation_recompute = reader.choice(
      "activation_recompute",
      {Recompute::kNone, Recompute::kSelective, Recompute::kSelectiveOp, Recompute::kFull, Recompute::kFullEarlyStop},
      std::optional<Recompute>(Recompute::kNone));
  training.recomputed_blocks = read_recomputed_blocks(reader, training.activation_recompute, model);
  training.implementation = reader.choice(
      "implementation",
      {Implementation::kEager, Implementation::kCompiled, Implementation::kFused, Implementation::kAccocal},
      std::optional<Implementation>(Implementation::kEager));
  training.framework = reader.choice("framework", {Framework::kPytorch, Framework::kDeepspeed, Framework::kMegatron},
                                     std::optional<Framework>(Framework::kPytorch));
  training.pytorch = read_pytorch(reader);
  read_optimizer_implementation(reader, training);
  training.dropout = reader.number("dropout", Range{0, 0.999}, 0);
  training.gradient_clipping = reader.boolean("gradient_clipping", false);
  if (reader.has("launch_interval")) training.launch_interval = reader.seconds("launch_interval");
  training.interference = reader.boolean("interference", true);
  training.unsteady = read_unsteady(reader, training.sequence_length);
  if (training.implementation == Implementation::kAccocal) check_own_step(reader, training, model);
  // After an error no schedule shall complain about a count that nobody wrote.
  if (!reader.good("gradient_accumulation_steps")) training.gradient_accumulation_steps = 0;
  const bool too_long = model && model->learned_positions && reader.good("sequence_length") &&
                        training.sequence_length > model->max_position_embeddings;
  if (too_long) {
    reader.fail("sequence_length", fmt::format("is {}, and the model has learned {} positions; write at most that",
                                               training.sequence_length, model->max_position_embeddings));
  }
  reader.finish();
  return training;
}

std::string file_of(FileKind kind, const std::string& name_or_path) {
  Diagnostics diagnostics;
  References references(diagnostics);
  return file_of(kind, name_or_path, references, diagnostics);
}

namespace {

/// `apply` sets what is to be set in the tree, and fills in the files that it names after each.
LoadedScenario load(const std::string& name_or_path,
                    const std::function<void(JsonValue& tree, References&, Diagnostics&)>& apply,
                    bool may_balance = false) {
  Diagnostics diagnostics;
  References references(diagnostics);
  const bool piped = name_or_path == kStandardInput;
  const std::string path = piped ? name_or_path : file_of(FileKind::kScenario, name_or_path, references, diagnostics);
  JsonValue tree = open_part(references, path, diagnostics);
  const std::string main_file = tree.origin.source ? *tree.origin.source : path;
  refuse_other_kinds(tree, diagnostics);
  const Origins earlier = take_origins(tree, diagnostics);
  references.expand_scenario(tree);
  apply(tree, references, diagnostics);
  forget_choice(tree, [&](const std::string& pointer) {
    const auto known = earlier.find(pointer);
    return known == earlier.end() ? std::string() : known->second;
  });
  LoadedScenario loaded;
  loaded.scenario = read_scenario(tree, piped ? kStandardInputName : path, diagnostics);
  if (loaded.scenario.training.balance == Balance::kSpeed && !may_balance)
    diagnostics.add(tree.origin, "/training/balance",
                    "is speed, which compare, run, explain and resolve choose by; write what accosim resolve shows, "
                    "with \"balance\": \"none\"");
  throw_if_wrong(diagnostics);
  loaded.resolved = [kept = std::make_shared<const JsonValue>(std::move(tree)), main_file, earlier] {
    JsonValue origins = json_object(default_origin()), whole = *kept;
    collect_origins(whole, "", main_file, earlier, origins);
    whole.set("origins", std::move(origins));
    return write_json(whole) + "\n";
  };
  loaded.files = references.files();
  if (!piped) loaded.files.push_back(path);
  return loaded;
}

void apply_sets(JsonValue& tree, const std::vector<std::string>& sets, References& references,
                Diagnostics& diagnostics) {
  for (const std::string& set : sets) {
    apply_set(tree, set, diagnostics);
    references.expand_scenario(tree);
  }
}

}  // namespace

LoadedScenario load_scenario(const std::string& name_or_path, const std::vector<std::string>& sets) {
  return load(name_or_path, [&](JsonValue& tree, References& references, Diagnostics& diagnostics) {
    apply_sets(tree, sets, references, diagnostics);
  });
}

LoadedScenario load_to_balance(const std::string& name_or_path, const std::vector<std::string>& sets,
                               const std::vector<Setting>& chosen) {
  return load(
      name_or_path,
      [&](JsonValue& tree, References& references, Diagnostics& diagnostics) {
        apply_sets(tree, sets, references, diagnostics);
        for (const Setting& set : chosen) set_at(tree, set.pointer, set.value, set.value.origin, diagnostics);
      },
      true);
}

LoadedScenario load_scenario_with(const std::string& name_or_path, const std::vector<Setting>& settings) {
  return load(name_or_path, [&](JsonValue& tree, References& references, Diagnostics& diagnostics) {
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

Training any_training() {
  Training any;
  any.precision = Dtype::kFp32;
  any.attention = Attention::kNaive;
  return any;
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
