#include "sim/evidence/predict.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "models/price/spread.hpp"
#include "sim/evaluation/chosen.hpp"
#include "sim/evaluation/parallel.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

ValidationPrediction with_interval(double value, double spread) {
  const Interval interval = interval_80(value, spread);
  return {value, interval.low, interval.high};
}

ValidationPrediction step_of(double time, const Spread& spread) {
  ValidationPrediction prediction = with_interval(time, spread.total());
  prediction.spread = spread;
  return prediction;
}

Bytes asked_part(const MemoryParts& parts, Asked asked) {
  if (asked == Asked::kMemoryAllocated) return parts.allocated();
  if (asked == Asked::kMemoryUsed) return parts.total();
  Bytes bytes = parts.with_slack();
  if (asked == Asked::kMemoryMicroBatch || asked == Asked::kMemoryOptimizer)
    bytes -= parts.part(MemoryUse::kCommunicationBuffer);
  if (asked == Asked::kMemoryOptimizer)
    bytes -= parts.part(MemoryUse::kActivations) + parts.part(MemoryUse::kLogitsAndLoss);
  return bytes;
}

ValidationPrediction predict_memory(const Scenario& scenario, const ScheduleSpec& spec, Asked asked) {
  const Costs costs = price(scenario, spec);
  Bytes most, slack;
  for (const RankKind& kind : costs.kinds) {
    const MemoryParts parts = memory_of(kind, spec, scenario.training.gradient_accumulation_steps);
    const Bytes bytes = asked_part(parts, asked);
    if (bytes <= most) continue;
    most = bytes;
    slack = asked == Asked::kMemoryAllocated ? Bytes{0} : parts.part(MemoryUse::kAllocatorSlack);
  }
  return with_interval(most.value, memory_spread(most, slack));
}

ValidationPrediction predict_training(const PublishedCase& one, const Scenario& scenario, NetworkKind network) {
  const ScheduleSpec& spec = scenario.schedules[one.schedule];
  if (is_memory(one.asked)) return predict_memory(scenario, spec, one.asked);
  if (one.asked == Asked::kOptimizerTime) {
    const Costs costs = price(scenario, spec);
    return with_interval(optimizer_time(costs, costs.kinds.front().parameters, costs.kinds.front().device).value,
                         optimizer_spread(costs));
  }
  if (one.asked == Asked::kMicroBatchTime) {
    const RankKind kind = price(scenario, spec).kinds.front();
    return step_of((kind.forward + kind.backward).value, {compute_spread(kind), 0});
  }
  if (one.asked == Asked::kBlockForward || one.asked == Asked::kBlockBackward) {
    // Timed alone, not under the load of training.
    const RankKind kind = price(without_overheads(scenario), spec).kinds.front();
    const auto first = std::find_if(kind.layers->begin(), kind.layers->end(),
                                    [](const Layer& layer) { return layer.kind == LayerKind::kBlock; });
    const LayerTime& block = kind.times.at(first - kind.layers->begin());
    return with_interval((one.asked == Asked::kBlockForward ? block.forward : block.backward).value,
                         std::hypot(compute_spread(kind), kLayerAlone));
  }
  if (one.asked == Asked::kSpeedup) {
    const Evaluations evaluations(network);
    const RunResult result = run_schedule(scenario, spec, evaluations);
    const RunResult baseline = run_schedule(scenario, baseline_of(scenario), evaluations);
    return with_interval(result.tokens_per_second / baseline.tokens_per_second,
                         ratio_spread(result.spread, baseline.spread));
  }
  const RunResult result = run_schedule(scenario, spec, network);
  double time = one.asked == Asked::kRunTime ? result.total_time.value : result.update_time.value;
  if (one.asked == Asked::kForwardBackward) {
    const ScheduleInput input{spec, *result.costs, result.costs->kinds.front(), 1, 1};
    time -= full_optimizer_time(input).value;
  }
  return step_of(time, result.spread);
}

ValidationPrediction predict_collective(CollectiveQuery query, Cluster cluster) {
  query.cluster = std::make_shared<const Cluster>(std::move(cluster));
  const double spread = communication_spread(*query.cluster, query.nodes, query.bytes);
  ValidationPrediction prediction = with_interval(collective_time(query).value, spread);
  const std::vector<Seconds> times = collective_times(query);  // by release, where the source says none
  const auto [least, most] = std::ranges::minmax_element(times);
  prediction.low = interval_80(least->value, spread).low;
  prediction.high = interval_80(most->value, spread).high;
  return prediction;
}

double kernel_spread(const KernelQuery& query) {
  const Device& device = *query.device;
  const bool gemm = query.kernel.kind == KernelKind::kGemm;
  const auto& product = device.gemm[static_cast<std::size_t>(query.dtype)];
  const AttentionFit* const attention = attention_fit(device, query.kernel.attention.flash_3);
  const FitQuality* quality =
      gemm ? (product ? &product->quality : nullptr) : (attention != nullptr ? &attention->quality : nullptr);
  if (quality == nullptr) return kConstantSpread;
  return std::hypot(quality->spread, quality->inherited ? kInheritedSpread : 0,
                    quality->other_generation ? kGenerationSpread : 0);
}

ValidationPrediction predict_kernel(KernelQuery query, const Device& device) {
  query.device = std::make_shared<const Device>(device);
  return with_interval(kernel_time(query.kernel, device, query.dtype).value, kernel_spread(query));
}

Cluster refitted(Cluster cluster, const Refit& refit) {
  for (NodeGroup& group : cluster.nodes) {
    if (refit.links) group = refit.links(group);
    for (Device& device : group.devices) {
      if (refit.device) device = refit.device(device);
    }
  }
  return cluster;
}

}  // namespace

bool is_memory(Asked asked) {
  constexpr Asked kMemory[] = {Asked::kMemoryAllocated, Asked::kMemoryReserved,   Asked::kMemoryUsed,
                               Asked::kMemoryInUse,     Asked::kMemoryMicroBatch, Asked::kMemoryOptimizer};
  return std::ranges::find(kMemory, asked) != std::end(kMemory);
}

ValidationPrediction predict(const PublishedCase& one, const Refit& refit, NetworkKind network) {
  if (one.asked == Asked::kCollectiveTime)
    return predict_collective(one.collective, refitted(*one.collective.cluster, refit));
  if (one.asked == Asked::kKernelTime)
    return predict_kernel(one.kernel, refit.device ? refit.device(*one.kernel.device) : *one.kernel.device);
  Scenario scenario = *one.scenario;
  scenario.cluster = refitted(scenario.cluster, refit);
  if (refit.steps) scenario.training.overheads = refit.steps->overheads;
  return predict_training(one, scenario, network);
}

std::vector<ValidationPrediction> predict_all(const std::vector<const PublishedCase*>& cases, const Refit& refit,
                                              int jobs, NetworkKind network) {
  std::vector<ValidationPrediction> predicted(cases.size());
  std::vector<std::size_t> played;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!cases[i]->not_expressible.empty()) continue;
    if (cases[i]->scenario != nullptr)
      played.push_back(i);
    else
      predicted[i] = predict(*cases[i], refit, network);
  }
  const std::vector<ValidationPrediction> values = values_in_children<ValidationPrediction>(
      jobs, played.size(), [&](std::size_t i) { return predict(*cases[played[i]], refit, network); });
  for (std::size_t i = 0; i < played.size(); ++i) predicted[played[i]] = values[i];
  return predicted;
}

}  // namespace accosim
