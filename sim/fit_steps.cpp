// See fit_steps.hpp.
#include "sim/fit_steps.hpp"

#include <cmath>
#include <cstring>

#include "models/kernel.hpp"
#include "models/minimise.hpp"
#include "models/price.hpp"
#include "sim/parallel.hpp"
#include "sim/run.hpp"

namespace accosim {

Scenario without_overheads(Scenario scenario) {
  scenario.training.overheads = {1, 1, 1};
  for (NodeGroup& group : scenario.cluster.nodes)
    for (Device& device : group.devices) device.product_overhead = 1;
  return scenario;
}

namespace {

/// The parts of one update, in the order of StepSample.
struct Parts {
  double products = 0, memory = 0, attention = 0, others = 0, rest = 0;
};

Parts parts_of(const PublishedCase& one, NetworkKind network) {
  const Scenario scenario = without_overheads(*one.scenario);
  const ScheduleSpec& spec = scenario.schedules[static_cast<std::size_t>(one.schedule)];
  const RankKind kind = price(scenario, spec).kinds.front();
  const bool micro_batch = one.asked == Asked::kMicroBatchTime;
  const double times = micro_batch ? 1 : scenario.training.gradient_accumulation_steps;
  Parts parts;
  const auto add = [&](const Kernel& kernel) {
    const double time = times * kernel_time(kernel, kind.device, kind.workload.compute).value;
    if (kernel.kind == KernelKind::kMemory)
      parts.memory += time;
    else if (kernel.kind != KernelKind::kGemm)
      parts.attention += time;
    else
      (kernel.dtype.value_or(kind.workload.compute) == Dtype::kFp32 ? parts.others : parts.products) += time;
  };
  for (const Layer& layer : kind.layers)
    for (const Operator& op : layer.operators) {
      for (const Kernel& kernel : op.forward) add(kernel);
      for (const Kernel& kernel : op.backward) add(kernel);
    }
  const double computed = times * (kind.forward + kind.backward).value;
  parts.others += computed - (parts.products + parts.memory + parts.attention + parts.others);
  if (!micro_batch) parts.rest = run_schedule(scenario, spec, network).update_time.value - computed;
  return parts;
}

enum : std::size_t { kPytorch, kFused, kFlash1, kAmpere, kHopper, kParameters };

std::size_t parameter_of(Implementation implementation) {
  return implementation == Implementation::kFused ? kFused : kPytorch;
}

double predicted(const StepSample& sample, const Parameters& p) {
  double products = sample.products;
  if (sample.architecture == "ampere") products *= p[kAmpere];
  if (sample.architecture == "hopper") products *= p[kHopper];
  return products + p[parameter_of(sample.implementation)] * sample.memory +
         (sample.flash_1 ? p[kFlash1] : 1) * sample.attention + sample.others + sample.rest;
}

}  // namespace

std::vector<StepSample> step_samples(const Published& published, int jobs, NetworkKind network) {
  std::map<std::string, std::string> publishers;
  for (const PublishedSource& source : published.sources) publishers[source.key] = source.publisher;
  std::vector<const PublishedCase*> cases;
  for (const PublishedCase& one : published.cases)
    if (one.scored() && !one.by_us && (one.asked == Asked::kStepTime || one.asked == Asked::kMicroBatchTime))
      cases.push_back(&one);
  const std::vector<std::string> texts = in_children(jobs, cases.size(), [&](std::size_t i) {
    const Parts parts = parts_of(*cases[i], network);
    return std::string(reinterpret_cast<const char*>(&parts), sizeof parts);
  });
  std::vector<StepSample> samples;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Parts parts;
    std::memcpy(&parts, texts[i].data(), sizeof parts);
    const PublishedCase& one = *cases[i];
    const NodeGroup& group = one.scenario->cluster.nodes.front();
    samples.push_back({publishers[one.source], one.device, group.devices.front().architecture,
                       one.scenario->training.implementation, group.attention == Attention::kFlash1, parts.products,
                       parts.memory, parts.attention, parts.others, parts.rest, one.measured});
  }
  return samples;
}

StepFit fit_steps(const std::vector<StepSample>& samples) {
  static const std::vector<Parameter> kAll(kParameters, Parameter{1, 0.5, 0.3, 3});
  StepFit fit;
  if (samples.empty()) return fit;
  const auto residuals = [&](const Parameters& p) {
    std::vector<double> out;
    for (const StepSample& sample : samples) out.push_back(std::log(predicted(sample, p) / sample.measured));
    return out;
  };
  const Parameters p = minimise(residuals, kAll);
  fit.overheads = {p[kPytorch], p[kFused], p[kFlash1]};
  fit.products = {{"ampere", p[kAmpere]}, {"hopper", p[kHopper]}};
  fit.errors = errors_of(residuals(p));
  fit.without = errors_of(residuals(Parameters(kParameters, 1)));
  return fit;
}

}  // namespace accosim
