#include "sim/evidence/validate.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <optional>

#include "models/base/reader.hpp"
#include "models/fit/fit_kernels.hpp"
#include "models/fit/kernel_samples.hpp"
#include "models/fit/pooled_kernels.hpp"
#include "models/price/interval.hpp"
#include "models/price/price.hpp"
#include "models/price/spread.hpp"
#include "models/spec/references.hpp"
#include "models/spec/scenario.hpp"
#include "sim/result/parallel.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

struct Predicted {
  double value = 0, low = 0, high = 0;
};

Predicted with_interval(double value, double spread) {
  const Interval interval = interval_80(value, spread);
  return {value, interval.low, interval.high};
}

bool is_memory(Asked asked) {
  switch (asked) {
    case Asked::kMemoryAllocated:
    case Asked::kMemoryReserved:
    case Asked::kMemoryInUse:
    case Asked::kMemoryMicroBatch:
    case Asked::kMemoryOptimizer: return true;
    default: return false;
  }
}

Bytes asked_part(const MemoryParts& parts, Asked asked) {
  if (asked == Asked::kMemoryAllocated) return parts.allocated();
  Bytes bytes = parts.with_slack();
  if (asked == Asked::kMemoryMicroBatch || asked == Asked::kMemoryOptimizer)
    bytes -= parts.part(MemoryUse::kCommunicationBuffer);
  if (asked == Asked::kMemoryOptimizer)
    bytes -= parts.part(MemoryUse::kActivations) + parts.part(MemoryUse::kLogitsAndLoss);
  return bytes;
}

Predicted predict_memory(const Scenario& scenario, const ScheduleSpec& spec, Asked asked) {
  const Costs costs = price(scenario, spec);
  double most = 0;
  for (const RankKind& kind : costs.kinds) {
    const MemoryParts parts = resident_memory({spec, kind.layers, kind.device, shard_ranks(costs, spec),
                                               scenario.training.gradient_accumulation_steps, kind.tied_embeddings,
                                               scenario.training.implementation == Implementation::kAccocal});
    most = std::max(most, asked_part(parts, asked).value);
  }
  return with_interval(most, kMemorySpread);
}

Predicted predict_training(const PublishedCase& one, const Scenario& scenario, NetworkKind network) {
  const ScheduleSpec& spec = scenario.schedules[static_cast<std::size_t>(one.schedule)];
  if (is_memory(one.asked)) return predict_memory(scenario, spec, one.asked);
  if (one.asked == Asked::kOptimizerTime) {
    const Costs costs = price(scenario, spec);
    return with_interval(optimizer_time(costs, costs.parameters, costs.kinds.front().device).value,
                         optimizer_spread(costs));
  }
  if (one.asked == Asked::kMicroBatchTime) {
    const RankKind kind = price(scenario, spec).kinds.front();
    return with_interval((kind.forward + kind.backward).value, compute_spread(kind));
  }
  if (one.asked == Asked::kBlockForward || one.asked == Asked::kBlockBackward) {
    // Timed alone, not under the load of training.
    const RankKind kind = price(without_overheads(scenario), spec).kinds.front();
    const auto first = std::find_if(kind.layers.begin(), kind.layers.end(),
                                    [](const Layer& layer) { return layer.kind == LayerKind::kBlock; });
    const LayerTime& block = kind.times.at(static_cast<std::size_t>(first - kind.layers.begin()));
    return with_interval((one.asked == Asked::kBlockForward ? block.forward : block.backward).value,
                         std::hypot(compute_spread(kind), kLayerAlone));
  }
  if (one.asked == Asked::kSpeedup) {
    const RunResult result = run_schedule(scenario, spec, network);
    const auto base = std::find_if(scenario.schedules.begin(), scenario.schedules.end(),
                                   [&](const ScheduleSpec& each) { return each.label == scenario.baseline; });
    const RunResult baseline = run_schedule(scenario, *base, network);
    return with_interval(result.tokens_per_second / baseline.tokens_per_second,
                         ratio_spread(result.spread, baseline.spread));
  }
  const RunResult result = run_schedule(scenario, spec, network);
  double time = result.update_time.value;
  if (one.asked == Asked::kForwardBackward) {
    const ScheduleInput input{spec, *result.costs, result.costs->kinds.front(), 1, 1};
    time -= full_optimizer_time(input).value;
  }
  return with_interval(time, result.spread.total());
}

Predicted predict_collective(CollectiveQuery query, Cluster cluster) {
  query.cluster = std::make_shared<const Cluster>(std::move(cluster));
  return with_interval(collective_time(query).value,
                       communication_spread(*query.cluster, query.nodes > 1, query.bytes));
}

double kernel_spread(const KernelQuery& query) {
  const Device& device = *query.device;
  const bool gemm = query.kernel.kind == KernelKind::kGemm;
  const auto& product = device.gemm[static_cast<std::size_t>(query.dtype)];
  const FitQuality* quality =
      gemm ? (product ? &product->quality : nullptr) : (device.attention ? &device.attention->quality : nullptr);
  if (quality == nullptr) return kConstantSpread;
  return quality->inherited ? std::hypot(quality->spread, kInheritedSpread) : quality->spread;
}

Predicted predict_kernel(KernelQuery query, const Device& device) {
  query.device = std::make_shared<const Device>(device);
  return with_interval(kernel_time(query.kernel, device, query.dtype).value, kernel_spread(query));
}

Cluster refitted(Cluster cluster, const Refit& refit) {
  for (NodeGroup& group : cluster.nodes) {
    if (refit.links) group = refit.links(group);
    for (Device& device : group.devices) {
      if (refit.device) device = refit.device(device);
      if (!refit.steps) continue;
      const auto product = refit.steps->products.find(device.architecture);
      device.product_overhead = product == refit.steps->products.end() ? 1 : product->second;
    }
  }
  return cluster;
}

Predicted predict(const PublishedCase& one, const Refit& refit, NetworkKind network) {
  if (one.asked == Asked::kCollectiveTime)
    return predict_collective(one.collective, refitted(*one.collective.cluster, refit));
  if (one.asked == Asked::kKernelTime)
    return predict_kernel(one.kernel, refit.device ? refit.device(*one.kernel.device) : *one.kernel.device);
  Scenario scenario = *one.scenario;
  scenario.cluster = refitted(scenario.cluster, refit);
  if (refit.steps) scenario.training.overheads = refit.steps->overheads;
  return predict_training(one, scenario, network);
}

bool plays(const PublishedCase& one) { return one.scenario != nullptr; }

/// Of the cases at `indices`. Those that play go to children, one each at a time; the others cost microseconds.
std::vector<Predicted> predict_all(const std::vector<const PublishedCase*>& cases, const Refit& refit,
                                   const ValidateOptions& options) {
  std::vector<Predicted> predicted(cases.size());
  std::vector<std::size_t> played;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (plays(*cases[i]))
      played.push_back(i);
    else
      predicted[i] = predict(*cases[i], refit, options.network);
  }
  const std::vector<std::string> texts = in_children(options.jobs, played.size(), [&](std::size_t i) {
    const Predicted one = predict(*cases[played[i]], refit, options.network);
    return std::string(reinterpret_cast<const char*>(&one), sizeof one);
  });
  for (std::size_t i = 0; i < played.size(); ++i)
    std::memcpy(&predicted[played[i]], texts[i].data(), sizeof(Predicted));
  return predicted;
}

ValidationUnit unit_of(Asked asked) {
  if (asked == Asked::kSpeedup) return ValidationUnit::kRatio;
  return is_memory(asked) ? ValidationUnit::kBytes : ValidationUnit::kSeconds;
}

ValidationRow row_of(const PublishedCase& one) {
  ValidationRow row;
  row.id = one.id;
  row.group = one.group;
  row.source = one.source;
  row.url = one.url;
  row.device = one.device;
  row.series = one.series;
  row.configuration = one.configuration;
  row.metric = name_of(one.asked);
  row.published = one.published;
  row.trust = one.trust;
  row.inferred = one.inferred;
  row.explanation = one.explanation;
  row.left_out = one.left_out;
  row.not_expressible = one.not_expressible;
  row.unit = unit_of(one.asked);
  row.measured = one.measured;
  return row;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<const PublishedCase*> chosen(const Published& published, const ValidateOptions& options) {
  std::vector<const PublishedCase*> cases;
  for (const PublishedCase& one : published.cases)
    if (contains(one.group, options.group) && contains(one.id, options.id)) cases.push_back(&one);
  return cases;
}

double mean_error(const std::vector<const PublishedCase*>& cases, const std::vector<Predicted>& predicted,
                  const std::string& group) {
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i]->group != group) continue;
    sum += std::abs(predicted[i].value / cases[i]->measured - 1);
    ++count;
  }
  return sum / std::max(1, count);
}

std::vector<KernelSample> samples_but(const Published& published, const LeftOut& left_out) {
  std::vector<KernelSample> samples;
  std::map<std::string, std::string> publishers;
  for (const PublishedSource& source : published.sources) publishers[source.key] = source.publisher;
  for (const PublishedCase& one : published.cases) {
    if (one.asked != Asked::kKernelTime || !one.scored()) continue;
    const std::string& publisher = publishers[one.source];
    if (publisher != left_out.publisher && one.device != left_out.device)
      samples.push_back({publisher, one.device, one.kernel.dtype, one.kernel.kernel, Seconds{one.measured}});
  }
  return samples;
}

}  // namespace

std::vector<MeasuredCollective> measured_collectives(const Published& published, const LeftOut& left_out) {
  std::vector<MeasuredCollective> samples;
  std::map<std::string, std::string> publishers;
  for (const PublishedSource& source : published.sources) publishers[source.key] = source.publisher;
  for (const PublishedCase& one : published.cases) {
    if (one.asked != Asked::kCollectiveTime || !one.scored()) continue;
    const std::string& publisher = publishers[one.source];
    if (publisher != left_out.publisher && one.device != left_out.device)
      samples.push_back({publisher, one.collective, Seconds{one.measured}});
  }
  return samples;
}

/// `known`: the fits of links with nothing left out.
Refit refit(const Published& published, const std::vector<StepSample>& steps, const LeftOut& left_out,
            const std::vector<LinkFit>& known) {
  const std::vector<KernelSample> samples = samples_but(published, left_out);
  std::map<std::string, Device> devices;
  for (const PublishedCase& one : published.cases)
    if (one.asked == Asked::kKernelTime) devices.emplace(one.device, *one.kernel.device);
  const std::vector<KernelFit> fits = fit_kernels(samples, devices);
  // A kind that only this source measured must not keep its constants, which came from it.
  const std::vector<LinkFit> link_fits =
      with_relatives(fit_collectives(measured_collectives(published, left_out)), known);
  std::vector<StepSample> seen;
  for (const StepSample& sample : steps)
    if (sample.publisher != left_out.publisher && sample.device != left_out.device) seen.push_back(sample);
  Refit refit;
  refit.steps = fit_steps(seen);
  refit.links = [link_fits](NodeGroup group) { return with_links(std::move(group), link_fits); };
  refit.device = [fits](Device device) {
    device.gemm = {};
    device.attention.reset();
    return with_pooled(with_fits(std::move(device), fits), fits);
  };
  return refit;
}

Validation validate(const Published& published, const ValidateOptions& options) {
  Validation validation;
  for (const PublishedSource& source : published.sources)
    validation.sources.push_back(
        {source.key, source.title, source.url, source.commit, source.licence, source.description});
  const std::vector<const PublishedCase*> cases = chosen(published, options);
  std::vector<const PublishedCase*> expressed;
  for (const PublishedCase* one : cases)
    if (one->not_expressible.empty()) expressed.push_back(one);
  const std::vector<Predicted> predicted = predict_all(expressed, Refit{}, options);
  std::size_t next = 0;
  for (const PublishedCase* one : cases) {
    ValidationRow row = row_of(*one);
    if (row.expressed()) {
      row.predicted = predicted[next].value;
      row.low = predicted[next].low;
      row.high = predicted[next].high;
      ++next;
    }
    validation.rows.push_back(std::move(row));
  }
  validation.groups = groups_of(validation.rows, published_groups());
  return validation;
}

void leave_out_each(Validation& validation, const Published& published, const ValidateOptions& options,
                    bool by_device) {
  validation.left_out_by = by_device ? "device" : "source";
  std::map<std::string, std::string> publishers;
  for (const PublishedSource& source : published.sources) publishers[source.key] = source.publisher;
  const auto name_of_case = [&](const PublishedCase& one) { return by_device ? one.device : publishers[one.source]; };
  std::vector<std::string> names;
  std::vector<const PublishedCase*> scored;
  for (const PublishedCase* one : chosen(published, options)) {
    if (!one->scored() || one->by_us) continue;
    scored.push_back(one);
    if (std::find(names.begin(), names.end(), name_of_case(*one)) == names.end()) names.push_back(name_of_case(*one));
  }
  const std::vector<StepSample> steps = step_samples(published, options.jobs, options.network);
  const std::vector<LinkFit> links = fit_collectives(measured_collectives(published, {}));
  const Refit all = refit(published, steps, {}, links);
  for (const std::string& name : names) {
    std::vector<const PublishedCase*> cases;
    for (const PublishedCase* one : scored)
      if (name_of_case(*one) == name) cases.push_back(one);
    const LeftOut left_out = by_device ? LeftOut{"", name} : LeftOut{name, ""};
    const auto is_left_out = [&](const StepSample& sample) {
      return sample.publisher == left_out.publisher || sample.device == left_out.device;
    };
    const bool fitted = std::any_of(steps.begin(), steps.end(), is_left_out) ||
                        samples_but(published, left_out).size() < samples_but(published, {}).size() ||
                        measured_collectives(published, left_out).size() < measured_collectives(published, {}).size();
    const Refit rest = fitted ? refit(published, steps, left_out, links) : all;  // a fit takes seconds
    const std::vector<Predicted> with = predict_all(cases, all, options);
    const std::vector<Predicted> without = predict_all(cases, rest, options);
    for (const std::string& group : published_groups()) {
      const auto count =
          std::count_if(cases.begin(), cases.end(), [&](const PublishedCase* one) { return one->group == group; });
      if (count == 0) continue;
      validation.left_out.push_back(
          {name, group, static_cast<int>(count), mean_error(cases, with, group), mean_error(cases, without, group)});
    }
  }
}

std::vector<ValidationBound> load_bounds(const std::string& path) {
  Diagnostics diagnostics;
  References references(diagnostics);
  std::vector<ValidationBound> bounds;
  if (std::optional<JsonValue> tree = references.open(path)) {
    ObjectReader top(*tree, "", diagnostics);
    top.schema("accosim.bounds/1");
    for (const std::string& name : published_groups()) {
      JsonValue* value = top.find(name);
      if (value == nullptr) continue;
      ObjectReader group(*value, top.pointer(name), diagnostics);
      ValidationBound bound;
      bound.group = name;
      bound.mean = group.number("mean", Range{0, 100, true});
      bound.cases = group.integer("cases", 0, kMaxInteger);
      group.finish();
      bounds.push_back(bound);
    }
    top.finish();
  }
  if (!diagnostics.errors.empty()) throw ScenarioError(diagnostics.errors);
  return bounds;
}

}  // namespace accosim
