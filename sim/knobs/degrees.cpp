#include "sim/knobs/degrees.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "models/read/read_parallel.hpp"
#include "models/read/scenario_tree.hpp"
#include "models/spec/frameworks.hpp"
#include "models/spec/model_families.hpp"

namespace accosim {
namespace {

constexpr const char* kPlace = "/training/parallel";
constexpr const char* kSequence = "sequence_parallel";
/// What degrees say themselves.
constexpr std::string_view kDegrees[] = {"tensor_parallel_size",   kSequence,
                                         "pipeline_parallel_size", "virtual_pipeline_stages",
                                         "expert_parallel_size",   "expert_tensor_parallel_size"};

/// Stages of so many chunks, in the order that the scenario has for stages of one.
Parallel of_stages(const Scenario& scenario, int stages, int chunks) {
  Training training = scenario.training;
  Parallel& parallel = training.parallel;
  parallel.pipeline = stages;
  parallel.chunks = chunks;
  group_micro_batches(training);
  const bool gpipe = parallel.schedule == PipelineSchedule::kGpipe && stages > 1;
  parallel.schedule = chunks > 1 ? PipelineSchedule::kInterleaved
                      : gpipe    ? PipelineSchedule::kGpipe
                                 : PipelineSchedule::kOneForwardOneBackward;
  if (parallel.blocks.size() != static_cast<std::size_t>(stages) * static_cast<std::size_t>(chunks))
    parallel.blocks.clear();
  return parallel;
}

std::vector<Parallel> pipelines_of(const Scenario& scenario, int groups) {
  const Framework framework = scenario.training.framework;
  const int blocks = scenario.model.num_hidden_layers;
  const bool several = lacking_chunks(framework).empty();
  std::vector<Parallel> all;
  for (int stages = 1; stages <= std::min(blocks, groups); ++stages) {
    if (groups % stages != 0 || !can_split_blocks(blocks, framework, stages)) continue;
    all.push_back(of_stages(scenario, stages, 1));
    for (int chunks = 2; stages > 1 && several && stages * chunks <= blocks + 2; ++chunks)
      if (are_even_runs(framework, blocks, 1LL * stages * chunks)) all.push_back(of_stages(scenario, stages, chunks));
  }
  return all;
}

/// Ranks that may have the experts of a layer between them, 1 first: with split tensors whole experts, or as the
/// scenario has them.
std::vector<Parallel> shares_of_experts(const Scenario& scenario, const Parallel& split, int replicas) {
  std::vector<Parallel> all{split};
  all.back().experts = 1;
  all.back().whole_experts = all.back().overlap_experts = false;
  all.back().dispatcher = Dispatcher::kAllToAll;
  const Parallel& written = scenario.training.parallel;
  const int experts = identical_ranks(scenario.cluster) ? scenario.model.experts.count : 0;
  for (int ranks = 2; ranks <= std::min(experts, replicas * split.tensor); ++ranks) {
    if (experts % ranks != 0) continue;
    for (const bool whole : {true, false}) {
      const bool other = split.tensor == 1 || (written.experts > 1 && !written.whole_experts && written.tensor > 1);
      Parallel each = split;
      each.experts = ranks;
      each.whole_experts = whole && split.tensor > 1;
      if (whole ? split.tensor == 1 || ranks % split.tensor != 0 : !other) continue;
      if (replicas % expert_data_ranks(each) == 0) all.push_back(std::move(each));
    }
  }
  return all;
}

/// Whether a key that is written beside the degrees means anything with these.
bool goes_with(const std::string& key, const JsonValue& value, const Parallel& parallel, Framework framework) {
  if (key == "tensor_overlap") return parallel.sequence;
  const bool whole = parallel.tensor == 1 || parallel.whole_experts;
  if (key == "expert_dispatcher")
    return parallel.experts > 1 &&
           (whole || !sends_by_kernel(value_named<Dispatcher>(value.text).value_or(Dispatcher::kAllToAll)));
  if (key == "expert_overlap") return parallel.experts > 1 && (parallel.pipeline == 1 || parallel.chunks > 1);
  if (key == "stage_layers") return !parallel.blocks.empty();
  if (key == "pipeline_schedule") return parallel.pipeline > 1 && value.text == name_of(parallel.schedule);
  if (key == "scatter_gather_p2p") return lacking_slices(framework, parallel).empty();
  if (key != "overlap_p2p") return true;
  Parallel with = parallel;
  with.overlap_messages = value.kind == JsonKind::kBool && value.boolean;
  return parallel.pipeline > 1 && lacking_messages(framework, with).empty();
}

}  // namespace

std::vector<Parallel> degrees_of(const Scenario& scenario) {
  const Training& training = scenario.training;
  if (family_of(scenario.model).measured) return {training.parallel};
  const int gpus = static_cast<int>(gpu_count(scenario.cluster));
  std::vector<Parallel> all;
  for (int tensor = 1; tensor <= scenario.cluster.nodes.front().gpus; ++tensor) {
    if (gpus % tensor != 0 || !can_split_tensors(scenario.model, scenario.cluster, tensor)) continue;
    const bool usual = training.parallel.tensor > 1 ? training.parallel.sequence
                                                    : split_defaults(training.framework, training.parallel).sequence;
    const bool divides = training.sequence_length % tensor == 0;
    for (Parallel& stages : pipelines_of(scenario, gpus / tensor)) {
      stages.tensor = tensor;
      for (Parallel& each : shares_of_experts(scenario, stages, gpus / tensor / stages.pipeline)) {
        const bool shared = each.experts > 1;  // which sequences go with where tensors are split
        each.sequence = tensor > 1 && (usual || shared) && divides;
        if (shared && tensor > 1 && !divides) continue;
        each.overlap_tensor = each.overlap_tensor && each.sequence;
        const bool slices = training.parallel.scatter_gather || split_defaults(training.framework, each).scatter_gather;
        each.scatter_gather = slices && lacking_slices(training.framework, each).empty();
        all.push_back(each);
        if (tensor == 1 || each.sequence || !divides) continue;
        each.sequence = true;
        each.scatter_gather = false;
        all.push_back(std::move(each));
      }
    }
  }
  return all;
}

bool same_degrees(const Parallel& a, const Parallel& b) {
  return a.tensor == b.tensor && a.sequence == b.sequence && a.pipeline == b.pipeline && a.chunks == b.chunks &&
         a.experts == b.experts && a.whole_experts == b.whole_experts;
}

std::string degrees_in_words(const Parallel& parallel) {
  if (model_ranks_of(parallel) == 1 && parallel.experts == 1) return "the whole model on each GPU";
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (parallel.tensor > 1) add(fmt::format("{} {}", kDegrees[0], parallel.tensor));
  if (parallel.sequence) add(kSequence);
  if (parallel.pipeline > 1) add(fmt::format("{} {}", kDegrees[2], parallel.pipeline));
  if (parallel.chunks > 1) add(fmt::format("{} {}", kDegrees[3], parallel.chunks));
  if (parallel.experts > 1) add(fmt::format("{} {}", kDegrees[4], parallel.experts));
  if (parallel.whole_experts) add(fmt::format("{} 1", kDegrees[5]));
  return text;
}

std::string degrees_setting(const LoadedScenario& written, const Parallel& parallel) {
  std::vector<std::string> parts;
  const auto add = [&](std::string_view key, const std::string& value) {
    parts.push_back(fmt::format("\"{}\": {}", key, value));
  };
  if (parallel.tensor > 1) {
    add(kDegrees[0], std::to_string(parallel.tensor));
    add(kSequence, parallel.sequence ? "true" : "false");
  }
  if (parallel.pipeline > 1) add(kDegrees[2], std::to_string(parallel.pipeline));
  if (parallel.chunks > 1) add(kDegrees[3], std::to_string(parallel.chunks));
  if (parallel.experts > 1) add(kDegrees[4], std::to_string(parallel.experts));
  if (parallel.whole_experts) add(kDegrees[5], "1");
  const JsonValue* const object = at_pointer(written.tree->root, kPlace);
  const Framework framework = written.scenario.training.framework;
  if (object != nullptr)
    for (const JsonMember& member : object->members) {
      const bool degree = std::ranges::find(kDegrees, member.key) != std::end(kDegrees);
      if (!degree && writes(*written.tree, kPlace + pointer_part(member.key)) &&
          goes_with(member.key, member.value, parallel, framework))
        add(member.key, dump_json(member.value));
    }
  return fmt::format("{}={{{}}}", kPlace, fmt::join(parts, ", "));
}

}  // namespace accosim
