#include "sim/knobs/knob_table.hpp"

#include <fmt/format.h>

#include <optional>

#include "models/base/errors.hpp"
#include "models/base/nearest.hpp"
#include "models/read/scenario_tree.hpp"
#include "models/spec/frameworks.hpp"
#include "models/spec/model_families.hpp"
#include "sim/evaluation/crews.hpp"
#include "sim/knobs/settings.hpp"

namespace accosim {
namespace {

/// Nothing is chosen of a step that runs accocal's own kernels, or of a model whose micro-batches were measured.
bool is_fixed(const Scenario& scenario) {
  return scenario.training.implementation == Implementation::kAccocal || family_of(scenario.model).measured;
}

std::vector<Alternative> recomputations(const LoadedScenario& loaded) {
  const Training& training = loaded.scenario.training;
  const auto text = [](Recompute what) { return std::string("activation_recompute ") + name_of(what); };
  std::string now = training.activation_recompute == Recompute::kNone ? "" : text(training.activation_recompute);
  now += in_words(training.recomputed_blocks);
  std::vector<Alternative> all{{now, {}, {}}};
  if (is_fixed(loaded.scenario)) return all;
  const Recompute whole = whole_blocks(training.framework);
  const RecomputedBlocks all_blocks, half = some_blocks(training, loaded.scenario.model.num_hidden_layers, 2);
  std::vector<std::pair<Recompute, RecomputedBlocks>> ways = {{Recompute::kNone, all_blocks},
                                                              {Recompute::kSelective, all_blocks}};
  if (half != all_blocks) ways.push_back({whole, half});
  ways.push_back({whole, all_blocks});
  for (const auto& [what, blocks] : ways) {
    if (what == training.activation_recompute && training.recomputed_blocks == blocks) continue;
    all.push_back({text(what) + in_words(blocks), {}, recompute_settings(training, what, blocks)});
  }
  return all;
}

/// As it is written, or this value of the training where that is a choice.
std::vector<Alternative> or_this(const LoadedScenario& loaded, bool is_choice, const char* key, const char* value) {
  std::vector<Alternative> all{{}};
  if (is_choice && !is_fixed(loaded.scenario)) all.push_back(of_training(key, value));
  return all;
}

/// Compiled, or by hand where the framework brings such kernels.
std::vector<Alternative> implementations(const LoadedScenario& loaded) {
  const Training& training = loaded.scenario.training;
  const Implementation merged =
      training.framework == Framework::kMegatron ? Implementation::kFused : Implementation::kCompiled;
  return or_this(loaded, training.implementation == Implementation::kEager, "implementation", name_of(merged));
}

std::vector<Alternative> optimizer_implementations(const LoadedScenario& loaded) {
  const OptimizerImplementation fused = OptimizerImplementation::kFused;
  return or_this(loaded, loaded.scenario.training.optimizer_implementation != fused, "optimizer_implementation",
                 name_of(fused));
}

/// Fused attention where it is naive and the GPUs run it: in the training where that decides for all, else by group.
std::vector<Alternative> attentions(const LoadedScenario& loaded) {
  const Cluster& cluster = loaded.scenario.cluster;
  std::vector<Alternative> all{{}};
  if (is_fixed(loaded.scenario)) return all;
  const std::vector<std::optional<Attention>> fused = fused_where_naive(cluster);
  Alternative by_group = of_groups(cluster, fused);
  if (by_group.set.empty()) return all;
  bool by_training = true;
  for (std::size_t g = 0; g < fused.size(); ++g)
    by_training =
        by_training && fused[g] && fused[g] == fused[0] && !writes(*loaded.tree, of_group(cluster, g, "attention"));
  all.push_back(by_training ? of_training("attention", name_of(*fused[0])) : std::move(by_group));
  return all;
}

std::string quoted(const char* text) { return quoted_json(text); }

std::vector<Alternative> of_keys(const std::vector<std::vector<ScheduleKey>>& all) {
  std::vector<Alternative> alternatives;
  for (const std::vector<ScheduleKey>& keys : all) alternatives.push_back({in_words(keys), keys, {}});
  return alternatives;
}

/// How gradients are reduced: after the backward pass, or beside it in buckets of several sizes, and then parameters
/// after the step or beside the forward pass.
std::vector<Alternative> overlaps(const ScheduleGround& ground) {
  const auto& [traits, cluster, training] = ground;
  if (traits.delayed) return {};  // buckets there are another algorithm, with other keys
  std::vector<std::vector<ScheduleKey>> all{{{"overlap", quoted(name_of(Overlap::kNone))}}};
  const ScheduleKey beside{"overlap", quoted(name_of(Overlap::kBackward))};
  if (traits.sharding != Sharding::kNothing) all.push_back({beside, {"buckets", quoted(name_of(Buckets::kUnits))}});
  for (const char* const mib : {"25", "100", "400", "1600"}) all.push_back({beside, {"bucket_cap_mb", mib}});
  const std::size_t reduced = all.size();
  const bool own = training.implementation == Implementation::kAccocal;
  if (!own && traits.takes("overlap_param_gather") && lacking_param_gather(training.framework).empty())
    for (std::size_t i = 1; i < reduced; ++i) {
      all.push_back(all[i]);
      all.back().emplace_back("overlap_param_gather", "true");
    }
  return of_keys(all);
}

/// Who shares a copy of what is sharded, and when nodes add up their shards.
std::vector<Alternative> shard_groups(const ScheduleGround& ground) {
  if (node_count(ground.cluster) < 2 || ground.traits.sharding == Sharding::kNothing) return {};
  const ScheduleKey node{"shard_group", quoted(name_of(Island::kNode))};
  std::vector<std::vector<ScheduleKey>> all{{{"shard_group", quoted(name_of(Island::kWorld))}}, {node}};
  if (ground.traits.takes("all_reduce")) all.push_back({node, {"all_reduce", quoted(name_of(Sync::kLastMicroBatch))}});
  return of_keys(all);
}

/// A knob of one key of a schedule, wherever that takes it.
KnobRow of_one_key(const char* key, const char* meaning, const std::vector<std::string>& values) {
  std::vector<std::vector<ScheduleKey>> all;
  for (const std::string& value : values) all.push_back(std::vector<ScheduleKey>{{key, value}});
  return {.name = key, .meaning = meaning, .keys = {key}, .of_schedule = [all](const ScheduleGround&) {
            return of_keys(all);
          }};
}

std::vector<KnobRow> scenario_rows() {
  return {
      {.name = kNodesKnob,
       .meaning = "the nodes that are used, with as many more micro-batches as keep the samples of an update",
       .of_scenario = [](const LoadedScenario& loaded) { return ways_to_work(loaded, {.nodes = true}); },
       .coarse = true},
      {.name = kDegreesKnob,
       .meaning = "tensor, sequence and pipeline parallelism: the degrees that divide the model and the cluster, each "
                  "with the micro-batches that keep the samples of an update",
       .of_scenario =
           [](const LoadedScenario& loaded) { return ways_to_work(loaded, {.degrees = true, .sizes = true}); },
       .coarse = true},
      {.name = kMicroBatchKnob,
       .meaning = "the micro-batch, with the accumulation that keeps the samples of an update; on unlike GPUs also the "
                  "work divided by their speed, with a micro-batch for each kind",
       .of_scenario = [](const LoadedScenario& loaded) { return ways_to_work(loaded, {.sizes = true}); },
       .coarse = true},
      {.name = "activation_recompute",
       .meaning = "what the backward pass recomputes, and of how many blocks",
       .of_scenario = recomputations,
       .coarse = true},
      {.name = "implementation",
       .meaning = "elementwise kernels as they are written (eager) or compiled; Megatron-LM's are fused by hand",
       .of_scenario = implementations},
      {.name = "optimizer_implementation",
       .meaning = "AdamW in one pass over the memory (fused), or in many",
       .of_scenario = optimizer_implementations},
      {.name = "attention", .meaning = "naive, or fused where the GPUs run that", .of_scenario = attentions},
  };
}

std::vector<KnobRow> schedule_rows() {
  return {
      of_one_key("meeting", "how replicas of a local schedule meet: in a ring, or node by node",
                 {quoted(name_of(Meeting::kRing)), quoted(name_of(Meeting::kHierarchical))}),
      {.name = "overlap",
       .meaning = "gradients sent after the backward pass or beside it and in which buckets, parameters after the step "
                  "or beside the forward pass",
       .keys = {"overlap", "buckets", "bucket_cap_mb", "first_bucket_mb", "overlap_param_gather", "align_param_gather"},
       .of_schedule = overlaps},
      of_one_key("sync", "gradients reduced once an update, or after every micro-batch",
                 {quoted(name_of(Sync::kLastMicroBatch)), quoted(name_of(Sync::kEveryMicroBatch))}),
      of_one_key("gradient_as_bucket_view", "gradients as views of DDP's buckets, or copied into them",
                 {"true", "false"}),
      of_one_key("optimizer_sharding", "DDP's optimizer states on every rank, or a share on each",
                 {quoted(name_of(OptimizerSharding::kNone)), quoted(name_of(OptimizerSharding::kZeroRedundancy))}),
      {.name = "shard_group",
       .meaning = "shards over all ranks, or over those of a node, and when nodes add up their gradients",
       .keys = {"shard_group", "all_reduce"},
       .of_schedule = shard_groups},
      of_one_key("reshard_after_forward", "gathered parameters freed after the forward pass, or kept",
                 {"true", "false"}),
      of_one_key("reshard_after_backward", "gathered parameters freed after the backward pass, or kept",
                 {"true", "false"}),
      of_one_key("prefetch", "units whose parameters are gathered ahead", {"1", "2"}),
      of_one_key("late_communication", "what a rank does while communication is late: accumulate, or wait",
                 {quoted(name_of(LateCommunication::kAccumulate)), quoted(name_of(LateCommunication::kWait))}),
  };
}

}  // namespace

bool KnobRow::is_for(const ScheduleGround& ground) const {
  if (of_schedule == nullptr || !ground.traits.takes(keys.front())) return false;
  // Other choices of a local schedule change what its replicas learn, which no time shows.
  return ground.traits.local == (keys.front() == "meeting") && !of_schedule(ground).empty();
}

const std::vector<KnobRow>& knob_rows() {
  static const std::vector<KnobRow> kRows = [] {
    std::vector<KnobRow> rows = scenario_rows();
    for (KnobRow& row : schedule_rows()) rows.push_back(std::move(row));
    return rows;
  }();
  return kRows;
}

const KnobRow& knob_named(const std::string& name) {
  std::vector<std::string> names;
  for (const KnobRow& row : knob_rows()) {
    if (row.name == name) return row;
    names.emplace_back(row.name);
  }
  throw BadInput(
      fmt::format("--over {}: is no knob{}; write /json/pointer=values, or a name that accosim list knobs shows",
                  in_quotes(name, 200), hint(name, names)));
}

}  // namespace accosim
