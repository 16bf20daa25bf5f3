#include "sim/evidence/fit_steps.hpp"

#include <algorithm>
#include <cmath>

#include "models/price/price.hpp"
#include "sim/evaluation/parallel.hpp"
#include "sim/evaluation/steady.hpp"

namespace accosim {

Scenario without_overheads(Scenario scenario) {
  scenario.training.overheads = {1, 1, 1, 0};
  for (NodeGroup& group : scenario.cluster.nodes)
    for (Device& device : group.devices) {
      device.product_overhead.reset();
      device.step_factor = 1;
    }
  return scenario;
}

namespace {

/// `times` micro-batches by their bill, which without overheads is what the kernels take alone.
StepParts parts_of(const RankKind& kind, double times) {
  StepParts parts;
  for (const std::size_t layer : kind.bill->layer_of)
    for (const BilledOperator& op : kind.bill->layers[layer].operators)
      for (const BillLine& line : op.lines) {
        const PricedKernel& priced = kind.bill->kernels[line.kernel];
        const double time = times * priced.time.value;
        if (priced.kernel.kind == KernelKind::kMemory)
          parts.memory += time;
        else if (priced.kernel.kind != KernelKind::kGemm)
          parts.attention += time;
        else if (priced.kernel.dtype.value_or(kind.workload.compute) == Dtype::kFp32)
          parts.others += time;
        else
          parts.products += time;
      }
  return parts;
}

StepParts parts_of(const PublishedCase& one, NetworkKind network) {
  const Scenario scenario = without_overheads(*one.scenario);
  const ScheduleSpec& spec = scenario.schedules[one.schedule];
  const int steps = scenario.training.gradient_accumulation_steps;
  const bool micro_batch = one.asked == Asked::kMicroBatchTime;
  SteadyPlay play;
  if (micro_batch)
    play.costs = price(scenario, spec);
  else
    play = play_steady(scenario, spec, steps, network, Keep::kNothing);
  const RankKind& kind = play.costs->kinds.front();
  const double times = micro_batch ? 1 : kind.steps(steps);
  StepParts parts = parts_of(kind, times);
  const double computed = times * (kind.forward + kind.backward).value;
  parts.others += computed - (parts.products + parts.memory + parts.attention + parts.others);
  if (!micro_batch) parts.rest = play.measured.update_time.value - computed;
  return parts;
}

enum : std::size_t { kPytorch, kFused, kFlash1, kSlope, kParameters };

std::size_t parameter_of(Implementation implementation) {
  return implementation == Implementation::kFused ? kFused : kPytorch;
}

double predicted(const StepSample& sample, const Parameters& p) {
  return product_overhead(p[kSlope], sample.flops_per_watt) * sample.products +
         p[parameter_of(sample.implementation)] * sample.memory + (sample.flash_1 ? p[kFlash1] : 1) * sample.attention +
         sample.others + sample.rest;
}

}  // namespace

bool is_step_sample(const PublishedCase& one) {
  const bool apart = one.group != kTrainingGroup && std::ranges::count(kStepGroups, one.group) > 0;
  return one.scored() && !one.own_machine && one.in_fits && !apart &&
         (one.asked == Asked::kStepTime || one.asked == Asked::kMicroBatchTime);
}

std::vector<StepSample> step_samples(const Published& published, int jobs, NetworkKind network) {
  const std::map<std::string, std::string> publishers = publishers_of(published);
  std::vector<const PublishedCase*> cases;
  for (const PublishedCase& one : published.cases)
    if (is_step_sample(one)) cases.push_back(&one);
  const std::vector<StepParts> all =
      values_in_children<StepParts>(jobs, cases.size(), [&](std::size_t i) { return parts_of(*cases[i], network); });
  std::vector<StepSample> samples;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const PublishedCase& one = *cases[i];
    const NodeGroup& group = one.scenario->cluster.nodes.front();
    samples.push_back({all[i], publishers.at(one.source), one.device, flops_per_watt(group.devices.front()),
                       one.scenario->training.implementation,
                       group.attention == Attention::kFlash1 || group.attention == Attention::kMemoryEfficient,
                       one.measured});
  }
  return samples;
}

StepFit fit_steps(const std::vector<StepSample>& samples) {
  static const std::vector<Parameter> kAll = {
      {1, 0.5, 0.3, 3}, {1, 0.5, 0.3, 3}, {1, 0.5, 0.3, 3}, {0.2, 0.5, 1e-3, 3}};
  StepFit fit;
  if (samples.empty()) return fit;
  const auto residuals = [&](const Parameters& p) {
    return mapped<double>(samples,
                          [&](const StepSample& sample) { return std::log(predicted(sample, p) / sample.measured); });
  };
  const Parameters p = minimise(residuals, kAll);
  fit.overheads = {p[kPytorch], p[kFused], p[kFlash1], p[kSlope]};
  fit.errors = errors_of(residuals(p));
  fit.without = errors_of(residuals({1, 1, 1, 0}));
  return fit;
}

}  // namespace accosim
