// Training runs and speedups, and what all published measurements have in common; see published.hpp. Tables are in
// published_tables.cpp.
#include "models/fit/published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "models/base/system_words.hpp"
#include "models/base/text.hpp"
#include "models/fit/document.hpp"
#include "models/fit/published_file.hpp"
#include "models/read/load.hpp"
#include "models/read/overrides.hpp"
#include "models/read/references.hpp"
#include "models/read/scenario_tree.hpp"
#include "models/spec/model_families.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {

std::vector<JsonValue*> list_of(ObjectReader& reader, const char* key) {
  return reader.list(key, 0, static_cast<std::size_t>(kMaxJsonValues));
}

void read_each(ObjectReader& top, const char* key, const std::function<void(ObjectReader&)>& read) {
  std::size_t index = 0;
  for (JsonValue* const value : list_of(top, key)) {
    ObjectReader reader(*value, top.pointer(key) + pointer_part(index++), top.diagnostics());
    read(reader);
  }
}

std::vector<std::string> read_texts(ObjectReader& reader, const char* key) {
  std::vector<std::string> texts;
  std::size_t index = 0;
  for (const JsonValue* element : list_of(reader, key)) {
    const std::string at = reader.pointer(key) + pointer_part(index++);
    const std::string& text = element->text;
    if (element->refused) continue;
    if (element->kind != JsonKind::kText || text.empty() || text.size() > kLongText ||
        printable(text, text.size()) != text)
      reader.diagnostics().add(element->origin, at,
                               fmt::format("is no line of text; write one of at most {} bytes", kLongText));
    texts.push_back(text);
  }
  return texts;
}

PublishedCase read_case(ObjectReader& reader, PublishedFile& file, const char* group) {
  PublishedCase one{.id = file.source.key + "/" + reader.text("id", {}, 200)};
  const bool simulated = !file.source.simulated.empty();
  one.group = simulated ? kSimulatorGroup : group;
  one.source = file.source.key;
  one.url = reader.text("url", file.source.url, kLongText);
  one.trust = reader.one_of("trust", {"A", "B"}, "A")[0];
  one.inferred = file.inferred;
  for (std::string& text : read_texts(reader, "inferred")) one.inferred.push_back(std::move(text));
  one.explanation = reader.text("explanation", std::string(), kLongText);
  one.memory_explanation = reader.text("memory_explanation", file.memory_explanation, kLongText);
  one.left_out = reader.text("left_out", std::string(), kLongText);
  one.not_expressible = reader.text("not_expressible", std::string(), kLongText);
  if (simulated && !one.left_out.empty())
    reader.fail("left_out", "nothing of a simulator's output is scored anyway; leave it out");
  if (simulated) one.left_out = "a simulator's output, not a measurement";
  if (!one.not_expressible.empty()) {
    one.configuration = reader.text("configuration", {}, kLongText);
    one.published = reader.text("published", {}, kLongText);
  }
  return one;
}

void add_case(PublishedFile& file, PublishedCase one, const JsonOrigin& origin, const std::string& pointer) {
  if (!file.ids.insert(one.id).second) {
    file.diagnostics.add(origin, pointer,
                         fmt::format("two cases are named {}; give each its own id", in_quotes(one.id, 200)));
    return;
  }
  file.cases.push_back(std::move(one));
}

void add_case(PublishedFile& file, PublishedCase one, ObjectReader& reader) {
  add_case(file, std::move(one), reader.value().origin, reader.pointer());
}

namespace {

namespace fs = std::filesystem;
constexpr Range kPositive{0, 1e18, true};

struct Metric {
  const char* key;
  Asked asked;
};
constexpr Metric kTimes[] = {{"step_time", Asked::kStepTime},
                             {"micro_batch_time", Asked::kMicroBatchTime},
                             {"forward_backward_time", Asked::kForwardBackward}};
constexpr Metric kLayers[] = {{"block_forward_time", Asked::kBlockForward},
                              {"block_backward_time", Asked::kBlockBackward}};
constexpr Metric kMemories[] = {{"memory_allocated", Asked::kMemoryAllocated},
                                {"memory_reserved", Asked::kMemoryReserved},
                                {"memory_used", Asked::kMemoryUsed}};

double gpus_of(const Scenario& scenario) {
  double gpus = 0;
  for (const NodeGroup& group : scenario.cluster.nodes) gpus += 1.0 * group.count * group.gpus;
  return gpus;
}

/// "A100-SXM4-80GB"; of several kinds all: "RTX-3090 and Titan-RTX".
std::string devices_of(const Cluster& cluster) {
  const std::string& first = cluster.nodes.front().devices.front().name;
  if (!mixes_gpus(cluster)) return first;
  std::vector<std::string> names;
  for (const NodeGroup& group : cluster.nodes)
    for (const Device& device : group.devices)
      if (std::ranges::find(names, device.name) == names.end()) names.push_back(device.name);
  return in_words(names);
}

std::string recomputation_of(const Training& training) {
  const std::string what = name_of(training.activation_recompute);
  const RecomputedBlocks& blocks = training.recomputed_blocks;
  if (blocks.every > 1) return fmt::format("{} (1 block of {})", what, blocks.every);
  if (blocks.first > 0) return fmt::format("{} (the first {} of each chunk)", what, blocks.first);
  return blocks.fraction < 1 ? fmt::format("{} ({:.3g} of the blocks)", what, blocks.fraction) : what;
}

std::string configuration_of(const Scenario& scenario, const ScheduleSpec& spec) {
  const Training& training = scenario.training;
  const std::string gpus = fmt::format("{:.0f}x {}", gpus_of(scenario), devices_of(scenario.cluster));
  std::string text = fmt::format("{}, {}, {}, {} x {} tokens", scenario.model.name, gpus, spec.label,
                                 training.micro_batch_size, training.sequence_length);
  if (training.gradient_accumulation_steps > 1) text += fmt::format(" x {}", training.gradient_accumulation_steps);
  const Parallel& parallel = training.parallel;
  if (parallel.tensor > 1) text += fmt::format(", tp {}", parallel.tensor);
  if (parallel.pipeline > 1) text += fmt::format(", pp {}", parallel.pipeline);
  if (parallel.chunks > 1) text += fmt::format(" by {}", parallel.chunks);
  if (parallel.experts > 1)
    text += fmt::format(", ep {} ({}{})", parallel.experts, name_of(parallel.dispatcher),
                        parallel.overlap_experts ? ", overlapped" : "");
  text += fmt::format(", {}", name_of(scenario.cluster.nodes.front().precision));
  if (training.activation_recompute != Recompute::kNone)
    text += fmt::format(", {} recomputation", recomputation_of(training));
  return text;
}

/// One case a metric that was measured.
void add_measured(PublishedFile& file, const PublishedCase& shared, ObjectReader& measured) {
  const Scenario& scenario = *shared.scenario;
  const bool split = model_ranks_of(scenario.training.parallel) > 1;
  const char* const times = file.measured_machine              ? kMeasuredMachineGroup
                            : scenario.training.lora.on()      ? kAdapterGroup
                            : mixes_gpus(scenario.cluster)     ? kMixedGroup
                            : scenario.model.experts.count > 0 ? kExpertGroup
                            : split                            ? kSplitGroup
                                                               : kTrainingGroup;
  const char* const memories = split ? kSplitMemoryGroup : kMemoryGroup;
  bool any = false;
  const auto add = [&](const char* key, Asked asked, double value, const char* group) {
    any = true;
    PublishedCase one = shared;
    one.asked = asked;
    one.measured = value;
    if (file.source.simulated.empty()) one.group = group;
    const JsonValue& written = *measured.value().find(key);
    if (!(value > 0))
      return file.diagnostics.add(written.origin, measured.pointer(key), "is not above 0; write what was measured");
    one.published = fmt::format("{} {}", key, written.text);
    if (std::string(group) == memories) one.id += " memory";
    if (std::string(group) == kLayerGroup) one.id += asked == Asked::kBlockForward ? " forward" : " backward";
    add_case(file, one, written.origin, measured.pointer(key));
  };
  for (const Metric& metric : kTimes)
    if (measured.has(metric.key)) add(metric.key, metric.asked, measured.seconds(metric.key).value, times);
  for (const Metric& metric : kLayers) {
    if (!measured.has(metric.key)) continue;
    if (family_of(scenario.model).measured)
      measured.fail(metric.key, "is of a block, and a measured model has none; write a step_time");
    else
      add(metric.key, metric.asked, measured.seconds(metric.key).value, kLayerGroup);
  }
  // Rates become the time of a step: work of a step over the rate.
  const double tokens = samples_asked(scenario) * scenario.training.sequence_length;
  const auto rate = [&](const char* key, double work) {
    if (measured.has(key)) add(key, Asked::kStepTime, work / measured.number(key, kPositive), times);
  };
  rate("tokens_per_s", tokens);
  rate("tokens_per_s_per_gpu", tokens / gpus_of(scenario));
  rate("sequences_per_s", samples_asked(scenario));
  for (const Metric& metric : kMemories)
    if (measured.has(metric.key)) add(metric.key, metric.asked, measured.bytes(metric.key).value, memories);
  measured.finish();
  if (!any)
    file.diagnostics.add(measured.value().origin, measured.pointer(), "holds no measurement; write a step_time");
}

/// Reads the scenario that the case names, with its settings. None when wrong.
void read_scenario_of(PublishedCase& one, ObjectReader& reader, ObjectReader& top, PublishedFile& file) {
  JsonValue* all = top.find("scenarios");
  if (all == nullptr || all->kind != JsonKind::kObject || all->members.empty()) {
    top.fail("scenarios", "missing; write an object of scenarios by name");
    return;
  }
  const std::vector<std::string> names = keys_of(*all);
  const std::string name = reader.one_of("scenario", names, names.size() == 1 ? names.front() : "");
  if (!reader.good("scenario")) return;
  JsonValue tree = *all->find(name);
  if (tree.kind != JsonKind::kObject) {
    file.diagnostics.add(tree.origin, top.pointer("scenarios"), "is no object; write a scenario");
    return;
  }
  tree.set("schema", json_text("accosim.scenario/1", default_origin()));
  if (JsonValue* training = tree.find("training"); training != nullptr && training->kind == JsonKind::kObject)
    if (training->find("train_tokens") == nullptr) training->set("train_tokens", json_number(1e9, default_origin()));
  const std::size_t errors = file.diagnostics.errors.size();
  file.references.expand_scenario(tree);
  if (JsonValue* settings = reader.find("set")) {
    if (settings->kind != JsonKind::kObject) reader.fail("set", "is no object; write {\"/json/pointer\": value, ...}");
    for (const JsonMember& member : settings->members) {
      set_at(tree, member.key, member.value, member.origin, file.diagnostics);
      file.references.expand_scenario(tree);
    }
  }
  ScenarioTree kept{std::move(tree), name, {}, {}};
  JsonValue whole;
  Scenario scenario = read_tree(kept, whole, file.diagnostics);
  // A file or a model that cannot be read is told once, by the first case that names it.
  const auto hollow = [](const NodeGroup& group) { return group.devices.empty(); };
  if (file.diagnostics.errors.size() != errors || holds_refused(whole) || scenario.model.family.empty() ||
      scenario.schedules.empty() || scenario.cluster.nodes.empty() ||
      std::ranges::any_of(scenario.cluster.nodes, hollow))
    return;
  one.scenario = std::make_shared<const Scenario>(std::move(scenario));
  one.tree = std::make_shared<const ScenarioTree>(std::move(kept));
}

int schedule_of(ObjectReader& reader, const Scenario& scenario, const char* fallback) {
  std::vector<std::string> labels = mapped<std::string>(scenario.schedules, &ScheduleSpec::label);
  const std::string label = reader.one_of("schedule", labels, fallback != nullptr ? fallback : labels.front());
  const auto found = std::ranges::find(labels, label);
  return found == labels.end() ? 0 : static_cast<int>(found - labels.begin());
}

/// Whether a simulator made the figures of the file, and how that shows.
std::string read_simulated(ObjectReader& top) {
  constexpr std::size_t kLeast = 20;
  const bool said = top.has("how_it_shows");
  if (!top.has("made_by")) {
    if (said) top.fail("how_it_shows", "is of a simulator's output; write \"made_by\": \"simulator\" too");
    return "";
  }
  std::string how = top.text("how_it_shows", std::string(), kLongText);
  const std::string made_by = top.one_of("made_by", {"measurement", "simulator"}, "");
  if (made_by == "measurement" && said)
    top.fail("how_it_shows", "is of a simulator's output, and these are measurements; leave it out");
  if (made_by != "simulator") return "";
  if (how.size() < kLeast)
    top.fail("how_it_shows",
             "missing or too short; say in 20 characters or more how these figures show that a "
             "simulator made them");
  return how;
}

void read_training_cases(ObjectReader& top, PublishedFile& file) {
  top.find("scenarios");
  file.measured_machine = top.boolean("measured_machine", false);
  const bool in_fits = top.boolean("in_fits", true), in_spreads = top.boolean("in_spreads", in_fits);
  read_each(top, "cases", [&](ObjectReader& reader) {
    PublishedCase one = read_case(reader, file, kTrainingGroup);
    one.in_fits = in_fits;
    one.own_machine = file.measured_machine;
    one.in_spreads = in_spreads;
    if (!one.not_expressible.empty()) {
      reader.finish();
      return add_case(file, std::move(one), reader);
    }
    read_scenario_of(one, reader, top, file);
    JsonValue* measured = reader.find("measured");
    if (measured == nullptr) reader.fail("measured", "missing; write {\"step_time\": \"1.2 s\"}");
    reader.find("set");
    if (one.scenario == nullptr || measured == nullptr) return;
    one.schedule = schedule_of(reader, *one.scenario, nullptr);
    const ScheduleSpec& spec = one.scenario->schedules[static_cast<std::size_t>(one.schedule)];
    one.device = devices_of(one.scenario->cluster);
    one.configuration = configuration_of(*one.scenario, spec);
    reader.finish();
    ObjectReader values(*reader.find("measured"), reader.pointer("measured"), file.diagnostics);
    add_measured(file, one, values);
  });
}

void read_speedup_cases(ObjectReader& top, PublishedFile& file) {
  read_each(top, "cases", [&](ObjectReader& reader) {
    PublishedCase one = read_case(reader, file, kPaperGroup);
    const std::string name = reader.text("scenario_file");
    const bool time = reader.has("run_time");
    if (time && reader.has("speedup")) reader.fail("run_time", "a case is either a speedup or a time; write two cases");
    if (time) {
      one.asked = Asked::kRunTime;
      one.measured = reader.seconds("run_time").value;
      if (reader.good("run_time") && !(one.measured > 0))
        reader.fail("run_time", "is not above 0; write what was published");
      one.published = one.measured > 0 ? reader.find("run_time")->text : "";
    } else {
      one.asked = Asked::kSpeedup;
      one.measured = reader.number("speedup", kPositive);
      one.published = fmt::format("{}x", shortest(one.measured));
    }
    if (!reader.good("scenario_file")) return;
    try {
      LoadedScenario loaded = load_scenario((fs::path(file.directory) / name).string(), {});
      one.scenario = std::make_shared<const Scenario>(std::move(loaded.scenario));
      one.tree = std::move(loaded.tree);
    } catch (const ScenarioError& error) {
      for (const std::string& line : error.errors) file.diagnostics.errors.push_back(line);
      return;
    }
    one.schedule = schedule_of(reader, *one.scenario, nullptr);
    reader.finish();
    one.device = one.scenario->cluster.nodes.front().devices.front().name;
    one.configuration =
        configuration_of(*one.scenario, one.scenario->schedules[static_cast<std::size_t>(one.schedule)]);
    if (!time) one.configuration += ", over " + one.scenario->baseline;
    add_case(file, std::move(one), reader);
  });
}

std::vector<std::string> kinds() { return {"training", "speedups", "collectives", "kernels"}; }

void read_file(const std::string& path, const std::string& shown, std::set<std::string>& ids, Published& published,
               Diagnostics& diagnostics) {
  References references(diagnostics);
  std::optional<JsonValue> tree = references.open(path);
  if (!tree) return;
  ObjectReader top(*tree, "", diagnostics);
  const JsonValue* schema = tree->find("schema");
  if (schema != nullptr && schema->text != "accosim.validation/1") return;  // another kind of file
  top.schema("accosim.validation/1");
  if (!top.has("schema")) top.fail("schema", "missing; write \"schema\": \"accosim.validation/1\"");
  PublishedFile file{{},
                     fs::path(path).parent_path().string(),
                     fs::path(shown).parent_path().string(),
                     {},
                     {},
                     diagnostics,
                     references,
                     ids,
                     published.cases};
  file.source.key = fs::path(path).stem().string();
  file.source.publisher = top.text("publisher", file.source.key);
  file.source.title = top.text("title", {}, kLongText);
  file.source.url = top.text("url", {}, kLongText);
  file.source.commit = top.text("commit", std::string());
  file.source.licence = top.text("licence", std::string());
  file.source.description = top.text("description", std::string(), kLongText);
  file.inferred = read_texts(top, "inferred");
  file.memory_explanation = top.text("memory_explanation", std::string(), kLongText);
  const std::string kind = top.one_of("kind", kinds(), "");
  file.source.simulated = read_simulated(top);
  if (!file.source.simulated.empty() && kind != "training")
    top.fail("made_by", "only files of training runs may be a simulator's; leave out the others");
  if (kind == "training") read_training_cases(top, file);
  if (kind == "speedups") read_speedup_cases(top, file);
  if (kind == "collectives") read_collective_tables(top, file);
  if (kind == "kernels") read_kernel_tables(top, file);
  top.finish();
  published.sources.push_back(file.source);
}

}  // namespace

std::map<std::string, std::string> publishers_of(const Published& published) {
  std::map<std::string, std::string> publishers;
  for (const PublishedSource& source : published.sources) publishers[source.key] = source.publisher;
  return publishers;
}

const std::vector<std::string>& published_groups() {
  static const std::vector<std::string> kGroups = {
      kTrainingGroup,        kMemoryGroup,          kSplitGroup,        kExpertGroup,       kMixedGroup,
      kAdapterGroup,         kMeasuredMachineGroup, kSplitMemoryGroup,  kLargeGroup,        kSmallGroup,
      kLargeBackToBackGroup, kSmallBackToBackGroup, kLargeBetweenGroup, kSmallBetweenGroup, kKernelGroup,
      kApartGroup,           kLayerGroup,           kPaperGroup,        kSimulatorGroup,    kMeasuredGroup,
      kMeasuredMemoryGroup};
  return kGroups;
}

Published load_published(const std::string& directory) {
  Diagnostics diagnostics;
  std::error_code error;
  const std::vector<std::string> paths = json_files_in(directory, error);
  if (error == std::errc::too_many_symbolic_link_levels || error == std::errc::permission_denied)
    throw ScenarioError({printable(directory, 200) + ": " + system_words(error.value())});
  if (error || paths.empty())
    throw ScenarioError(
        {fmt::format("{}: no folder with files of published measurements (*.json)", printable(directory, 200))});
  Published published;
  std::set<std::string> ids;
  for (const std::string& path : paths) {
    Diagnostics own;  // a file that cannot be read does not keep the others from being read
    read_file(path, fs::path(path).lexically_normal().string(), ids, published, own);
    diagnostics.errors.insert(diagnostics.errors.end(), own.errors.begin(), own.errors.end());
  }
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
  if (published.sources.empty())
    throw ScenarioError({fmt::format("{}: holds no file of published measurements (schema accosim.validation/1)",
                                     printable(directory, 200))});
  return published;
}

}  // namespace accosim
