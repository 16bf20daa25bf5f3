#include "models/launch/typed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/spec/frameworks.hpp"

namespace accosim {
namespace {

Training own_training(const Scenario& scenario, const ScheduleSpec& spec) {
  Training training = scenario.training;
  training.parallel = parallel_of(training, spec);
  return spec.micro_batch_size > 0 ? with_micro_batch(training, spec.micro_batch_size) : training;
}

}  // namespace

Typing::Typing(const Scenario& whole, const ScheduleSpec& schedule)
    : scenario(whole),
      model(whole.model),
      spec(schedule),
      training(own_training(whole, schedule)),
      nodes(node_count(whole.cluster)),
      gpus_per_node(whole.cluster.nodes.front().gpus),
      replicas(static_cast<int>(gpu_count(whole.cluster)) / model_ranks_of(training.parallel)),
      samples(samples_asked(whole)),
      steps(std::max(1.0, std::round(training.train_tokens / samples / training.sequence_length))) {}

std::vector<std::string> module_names(const Lora& lora) {
  if (lora.targets.size() == values_of<LoraTarget>().size()) return {"all-linear"};
  return mapped<std::string>(lora.targets, [](const LoraTarget target) { return name_of(target); });
}

Typed typed(LaunchForm form, const Scenario& scenario, const ScheduleSpec& spec) {
  const Typing of(scenario, spec);
  Typed typed{of.nodes, of.gpus_per_node};
  switch (form) {
    case LaunchForm::kMegatron:
    case LaunchForm::kBridge: type_megatron(of, form, typed); break;
    case LaunchForm::kTorchtitan: type_torchtitan(of, typed); break;
    case LaunchForm::kDeepspeed: type_deepspeed(of, typed); break;
    case LaunchForm::kFsdp2: type_fsdp2(of, typed); break;
  }
  const Unsteady& unsteady = scenario.training.unsteady;
  if (!unsteady.lengths.full())
    typed.remarks.emplace_back("Sequences of unlike lengths are the data's, and no setting says them.");
  else if (!(unsteady == Unsteady{}))
    typed.remarks.emplace_back("Jitter, pauses and slow ranks are no settings.");
  if (!has_one_micro_batch(scenario.cluster, scenario.training))
    typed.remarks.emplace_back("Node groups have work of their own in the scenario; all GPUs do as much here.");
  for (const NodeGroup& group : scenario.cluster.nodes)
    if (group.gpus != of.gpus_per_node)
      typed.remarks.push_back(
          fmt::format("Nodes of {} GPUs start as many processes, not {}.", group.gpus, of.gpus_per_node));
  return typed;
}

}  // namespace accosim
