// See validate.hpp.
#include "sim/validate.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "models/interval.hpp"
#include "models/price.hpp"
#include "models/reader.hpp"
#include "models/references.hpp"
#include "models/scenario.hpp"
#include "sim/parallel.hpp"
#include "sim/run.hpp"
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

Predicted predict_memory(const Scenario& scenario, const ScheduleSpec& spec, Asked asked) {
  const Costs costs = price(scenario, spec);
  double most = 0;
  for (const RankKind& kind : costs.kinds) {
    const MemoryParts parts = resident_memory({spec, kind.layers, kind.device, shard_ranks(costs, spec),
                                               scenario.training.gradient_accumulation_steps, kind.tied_embeddings});
    // Allocators count neither the context nor the libraries' buffers.
    double bytes = 0;
    for (const auto& [name, size] : parts.parts)
      if (name != "reserved") bytes += size.value;
    (void)asked;
    most = std::max(most, bytes);
  }
  return with_interval(most, kMemorySpread);
}

Predicted predict_training(const PublishedCase& one, const Scenario& scenario, NetworkKind network) {
  const ScheduleSpec& spec = scenario.schedules[static_cast<std::size_t>(one.schedule)];
  if (one.asked == Asked::kMemoryAllocated || one.asked == Asked::kMemoryReserved)
    return predict_memory(scenario, spec, one.asked);
  if (one.asked == Asked::kMicroBatchTime) {
    const RankKind kind = price(scenario, spec).kinds.front();
    return with_interval((kind.forward + kind.backward).value, compute_spread(kind.device));
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
    const Costs costs = price(scenario, spec);
    const ScheduleInput input{spec, costs, costs.kinds.front(), 1, 1};
    time -= full_optimizer_time(input).value;
  }
  return with_interval(time, result.spread.total());
}

Predicted predict_collective(const CollectiveQuery& query, const Cluster& cluster) {
  std::vector<Place> places = places_of(cluster);
  std::vector<int> members;
  const int here = query.ranks / query.nodes;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (places[rank].node < query.nodes && places[rank].gpu < here) members.push_back(static_cast<int>(rank));
  const Seconds time = collective_time(query.kind, query.bytes, cluster, ring_of(places, members));
  return with_interval((time + query.offset).value, communication_spread(cluster, query.nodes > 1));
}

Predicted predict_kernel(const KernelQuery& query, const Device& device) {
  Operator op;
  const double element = bytes_of(query.dtype).value;
  if (query.kind == "gemm") {
    op.cls = OperatorClass::kGemm;
    op.forward_flops = Flops{2 * query.batch * query.m * query.n * query.k};
    const double out = query.m * query.n * bytes_of(query.out).value * (query.accumulate ? 2 : 1);
    op.forward_bytes = Bytes{query.batch * ((query.m * query.k + query.k * query.n) * element + out)};
  } else {
    const bool backward = query.kind == "attention_backward";
    op.cls = OperatorClass::kAttention;
    const double pairs = query.batch * query.heads * attended_pairs(static_cast<int>(query.seq), 0);
    op.forward_flops = Flops{(backward ? 2.5 : 1.0) * 2 * pairs * (query.head_dim + query.value_dim)};
  }
  const Dtype dtype = op.cls == OperatorClass::kAttention && query.dtype == Dtype::kFp8 ? Dtype::kBf16 : query.dtype;
  return with_interval(operator_time(op, device, dtype).forward.value, compute_spread(device));
}

/// The case's scenario, cluster or device with the constants of other fits.
struct Refit {
  const Fits& fits;
  const LeftOut& left_out;

  Device device(const Device& device) const { return fits.device != nullptr ? fits.device(device, left_out) : device; }
  Cluster cluster(Cluster cluster) const {
    for (NodeGroup& group : cluster.nodes) {
      if (fits.links != nullptr) group = fits.links(group, left_out);
      for (Device& each : group.devices) each = device(each);
    }
    return cluster;
  }
};

Predicted predict(const PublishedCase& one, const Refit& refit, NetworkKind network) {
  if (one.asked == Asked::kCollectiveTime)
    return predict_collective(one.collective, refit.cluster(*one.collective.cluster));
  if (one.asked == Asked::kKernelTime) return predict_kernel(one.kernel, refit.device(*one.kernel.device));
  Scenario scenario = *one.scenario;
  scenario.cluster = refit.cluster(scenario.cluster);
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
  const bool memory = asked == Asked::kMemoryAllocated || asked == Asked::kMemoryReserved;
  return memory ? ValidationUnit::kBytes : ValidationUnit::kSeconds;
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

}  // namespace

Fits shipped_fits() { return {}; }

Validation validate(const Published& published, const ValidateOptions& options) {
  Validation validation;
  for (const PublishedSource& source : published.sources)
    validation.sources.push_back(
        {source.key, source.title, source.url, source.commit, source.licence, source.description});
  const std::vector<const PublishedCase*> cases = chosen(published, options);
  std::vector<const PublishedCase*> expressed;
  for (const PublishedCase* one : cases)
    if (one->not_expressible.empty()) expressed.push_back(one);
  const std::vector<Predicted> predicted = predict_all(expressed, Refit{{}, {}}, options);
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
  const Fits fits = shipped_fits();
  std::vector<std::string> names;
  const auto name_of_case = [&](const PublishedCase& one) { return by_device ? one.device : one.source; };
  std::vector<const PublishedCase*> scored;
  for (const PublishedCase* one : chosen(published, options)) {
    if (!one->scored()) continue;
    scored.push_back(one);
    if (std::find(names.begin(), names.end(), name_of_case(*one)) == names.end()) names.push_back(name_of_case(*one));
  }
  for (const std::string& name : names) {
    std::vector<const PublishedCase*> cases;
    for (const PublishedCase* one : scored)
      if (name_of_case(*one) == name) cases.push_back(one);
    const LeftOut left_out = by_device ? LeftOut{"", name} : LeftOut{name, ""};
    const std::vector<Predicted> with = predict_all(cases, Refit{fits, {}}, options);
    const std::vector<Predicted> without = predict_all(cases, Refit{fits, left_out}, options);
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
