#include "models/read/piped_schedules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/read/read_parallel.hpp"
#include "models/spec/frameworks.hpp"

namespace accosim {
namespace {

using Of = const ScheduleReading&;

/// The fewest micro-batches that a rank does in an update, or in a round of one.
int least_flight(Of of) {
  constexpr const char* kRound = "micro_batches_per_round";
  const JsonValue* const round = of.traits.takes(kRound) ? of.reader.value().find(kRound) : nullptr;
  if (round != nullptr && round->kind == JsonKind::kNumber)
    return static_cast<int>(std::clamp(round->number, 1.0, 1.0 * kMaxInteger));
  int least = of.training.gradient_accumulation_steps;
  if (of.cluster && all_have_own_steps(*of.cluster)) least = kMaxInteger;
  if (of.cluster)
    for (const NodeGroup& group : of.cluster->nodes)
      for (const int steps : group.accumulation_steps) least = std::min(least, steps);
  return least / of.traits.rounds;
}

std::string wrong_sync(Of of) {
  if (of.spec.sync == Sync::kLastMicroBatch) return "";
  return "is \"every_micro_batch\", and the stages of a pipeline reduce gradients when the last micro-batch of an "
         "update "
         "is through; write \"last_micro_batch\"";
}

std::string wrong_offload(Of of) {
  if (!of.spec.offload_optimizer || !of.traits.delayed) return "";
  return "is true, and ZeRO-Offload's delayed update reduces gradients after every micro-batch, which a pipeline does "
         "not; write false";
}

std::string wrong_zero_stage(Of of) {
  if (of.spec.zero_stage == 1) return "";
  return "is above 1, and then gradients are reduced after every micro-batch, which a pipeline does not; write 1";
}

std::string wrong_shard_group(Of of) {
  if (!is_hybrid(of.spec)) return "";
  return "is \"node\", and which ranks of a stage share a node is not modelled yet in pipelines; write \"world\"";
}

std::string wrong_form(Of of) {
  if (of.spec.form == MethodForm::kPaper) return "";
  return "is \"code\", whose replicas are nodes, and here a node has a part of a model; write \"paper\"";
}

/// What a replica is must hold whole models.
std::string wrong_replica(Of of) {
  const Parallel& parallel = of.training.parallel;
  if (!of.cluster || of.spec.form == MethodForm::kCode || holds_replicas(*of.cluster, island_of(of.spec), parallel))
    return "";
  const char* const instead = "write \"gpu\", which then is a model on its GPUs";
  if (of.spec.island == Island::kNode)
    return fmt::format("is a node, and in a pipeline a node has a part of a model; {}, or \"group\"", instead);
  return fmt::format("is a node group, and not all have GPUs for whole models of {} GPUs; {}", model_ranks_of(parallel),
                     instead);
}

std::string wrong_inner(Of of) {
  const ScheduleTraits* const inner = inner_schedule(of.spec);
  if (inner == nullptr || (!inner->delayed && *inner->not_in_pipelines == '\0')) return "";
  return fmt::format("is \"{}\", which is not modelled yet in replicas whose models have several stages; write \"{}\"",
                     inner->name, inner_names().front());
}

std::string wrong_meeting(Of of) {
  if (of.spec.meeting == Meeting::kRing) return "";
  return "is \"hierarchical\", and which ranks of a stage share a site is not modelled yet in pipelines; write "
         "\"ring\"";
}

/// What keeps a pipeline from accumulating while it waits.
std::string wrong_late_communication(Of of) {
  if (!is_closed_flight(of) || of.spec.late_communication == LateCommunication::kWait) return "";
  const int least = least_open_flight(of.training.parallel);
  if (least == 0)
    return "is \"accumulate\", and under \"gpipe\" no forward pass follows the first backward pass; write \"wait\", or "
           "\"pipeline_schedule\": \"1f1b\"";
  return fmt::format(
      "is \"accumulate\", and more micro-batches can follow when {} are in the pipeline, where {} has {}; "
      "write \"wait\", or more gradient_accumulation_steps",
      least, of.traits.rounds > 1 ? "a round" : "an update", least_flight(of));
}

std::string wrong_poll_every(Of of) {
  const int apart = micro_batches_apart(of.training.parallel), every = of.spec.poll_every;
  if (every % apart == 0) return "";
  return fmt::format(
      "is {}, and interleaved chunks take micro-batches in groups of {}; write a multiple of "
      "that, such as {}",
      every, apart, std::max(1, every / apart) * apart);
}

std::string wrong_round(Of of) {
  const int apart = micro_batches_apart(of.training.parallel), round = of.spec.micro_batches_per_round;
  if (round % apart == 0) return "";
  return fmt::format(
      "is {}, and interleaved chunks take micro-batches in groups of {}; write {}, or "
      "gradient_accumulation_steps that are a multiple of {}",
      round, apart, (round / apart + 1) * apart, of.traits.rounds * apart);
}

/// What keeps the stages from going on into the next round while the one before is still on its way back.
std::string wrong_flush(Of of) {
  if (of.spec.pipeline_flush) return "";
  const Parallel& parallel = of.training.parallel;
  const int stages = parallel.pipeline;
  if (parallel.schedule != PipelineSchedule::kOneForwardOneBackward)
    return "is false, and only under 1f1b does every stage change its parameters between two passes; write true, or "
           "\"pipeline_schedule\": \"1f1b\"";
  if (of.spec.overlap == Overlap::kBackward)
    return "is false, and buckets that are reduced as they fill end a flight; write true, or \"overlap\": \"none\"";
  if (of.spec.estimate == EstimateOf::kLocal)
    return "is false, and a local estimate needs a round's gradients before the next round begins; write true, or "
           "\"estimate\": \"gathered\"";
  if (least_flight(of) < stages)
    return fmt::format(
        "is false, and {} must have a micro-batch for each of {} stages, where it has {}; write true, or "
        "more gradient_accumulation_steps",
        of.traits.rounds > 1 ? "a round" : "an update", stages, least_flight(of));
  return "";
}

struct Rule {
  const char* key;
  std::string (*wrong)(Of of);
};
constexpr Rule kRules[] = {
    {"sync", wrong_sync},
    {"offload_optimizer", wrong_offload},
    {"zero_stage", wrong_zero_stage},
    {"shard_group", wrong_shard_group},
    {"form", wrong_form},
    {"replica", wrong_replica},
    {"inner", wrong_inner},
    {"meeting", wrong_meeting},
    {"late_communication", wrong_late_communication},
    {"poll_every", wrong_poll_every},
    {"micro_batches_per_round", wrong_round},
    {"pipeline_flush", wrong_flush},
};

}  // namespace

bool is_closed_flight(const ScheduleReading& of) {
  const int least = least_open_flight(of.training.parallel);
  return of.training.parallel.pipeline > 1 && (least == 0 || least_flight(of) < least);
}

void check_own_steps_of_rounds(const ScheduleReading& of) {
  if (!of.cluster || of.spec.balance != Balance::kNone) return;
  for (const NodeGroup& group : of.cluster->nodes)
    for (const int steps : group.accumulation_steps) {
      const int apart = of.traits.rounds * micro_batches_apart(of.training.parallel);
      if (steps % apart == 0) continue;
      of.reader.fail("name", fmt::format("{} does half of the micro-batches in a round, and node group {} has {} "
                                         "gradient_accumulation_steps; write {} there",
                                         of.spec.name, in_quotes(group.name), steps,
                                         apart == 2 ? "an even number" : fmt::format("a multiple of {}", apart)));
      return;
    }
}

void read_alignment(const ScheduleReading& of, const char* key) {
  const std::string source = aligned_gathers(of.training.framework, of.training.parallel);
  const bool written = of.reader.has(key), usual = of.spec.overlap_param_gather && !source.empty();
  of.spec.align_param_gather = of.reader.boolean(key, usual);
  if (!written && usual) of.reader.find(key)->origin = origin_named(source);
}

void read_poll_every(const ScheduleReading& of, const char* key) {
  of.spec.poll_every = of.reader.integer(key, 1, kMaxInteger, micro_batches_apart(of.training.parallel));
}

void check_shared_experts(const ScheduleReading& of) {
  const ScheduleSpec& spec = of.spec;
  if (of.training.parallel.experts == 1) return;
  const bool by_unit = of.traits.delayed && sharding_of(spec) == Sharding::kParameters;
  for (const auto& [is, what] : {std::pair(of.traits.local, "replicas that make updates by themselves"),
                                 {by_unit, "parameters gathered in every pass beside a delayed step"},
                                 {is_hybrid(spec), "shards inside nodes"},
                                 {spec.offload_optimizer, "an optimizer on the host"},
                                 {has_whole_tensors(spec), "owners of whole tensors"},
                                 {spec.parameter_sync == ParameterSync::kBroadcast, "broadcasts of parameters"}}) {
    if (!is) continue;
    const std::string why = fmt::format(
        "{} has {}, which is not modelled yet where ranks share experts; write an expert_parallel_size of 1", spec.name,
        what);
    of.reader.fail("name", why);
    of.reader.diagnostics().not_here.emplace_back(of.reader.pointer(), why);
    return;
  }
}

std::string wrong_in_pipeline(const ScheduleReading& of, std::string_view key) {
  if (of.training.parallel.pipeline == 1 || *of.traits.not_in_pipelines != '\0') return "";
  for (const Rule& rule : kRules)
    if (rule.key == key) return rule.wrong(of);
  return "";
}

}  // namespace accosim
