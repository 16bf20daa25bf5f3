#include "sim/advise/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/errors.hpp"
#include "models/base/quantity.hpp"
#include "models/price/costs.hpp"
#include "models/spec/check_schedules.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/result/balance.hpp"
#include "sim/result/resident.hpp"
#include "sim/result/run.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

Scenario loaded(const Asked& asked, const std::vector<std::string>& settings) {
  std::vector<std::string> all = asked.set;
  all.insert(all.end(), settings.begin(), settings.end());
  return load_balanced(asked.scenario, all).scenario;
}

const ScheduleSpec& labelled(const Scenario& scenario, const std::string& label) {
  const auto spec = std::find_if(scenario.schedules.begin(), scenario.schedules.end(),
                                 [&](const ScheduleSpec& each) { return each.label == label; });
  if (spec == scenario.schedules.end()) throw BadInput(fmt::format("there is no schedule \"{}\" here", label));
  return *spec;
}

bool is_batch(const Asked& asked, double samples) { return std::abs(samples / asked.samples - 1) <= asked.tolerance; }

/// Of the closed form, seconds a sample of all ranks; the slowest kind of rank decides.
double least_time_per_sample(const Scenario& scenario, const ScheduleSpec& spec, const Costs& costs) {
  Seconds time;
  for (const RankKind& kind : costs.kinds) {
    const int steps = kind.steps(scenario.training.gradient_accumulation_steps);
    const ScheduleInput input{spec, costs, kind, steps, 1};
    time = std::max(time, steps / closed_form_micro_batches(input) * closed_form(input));
  }
  return time.value / samples_asked(scenario);
}

/// Most micro-batches of a GPU in an update.
double most_steps(const Scenario& scenario) {
  int most = 1;
  for (const NodeGroup& group : scenario.cluster.nodes)
    for (int gpu = 0; gpu < group.gpus; ++gpu)
      most = std::max(most, accumulation_steps_of(group, gpu, scenario.training));
  return most;
}

int nodes_of(const Cluster& cluster) {
  int nodes = 0;
  for (const NodeGroup& group : cluster.nodes) nodes += group.count;
  return nodes;
}

}  // namespace

Evaluation evaluate(const Asked& asked, const std::vector<std::string>& settings, const std::string& label,
                    const Worth& worth) {
  const Scenario scenario = loaded(asked, settings);
  const ScheduleSpec& spec = labelled(scenario, label);
  Evaluation result;
  // A rank that goes on while it waits does at least what is asked of it.
  result.samples = samples_asked(scenario);
  const bool grows = accumulates_while_waiting(spec);
  if (grows ? result.samples > asked.samples * (1 + asked.tolerance) : !is_batch(asked, result.samples)) {
    result.state = PointState::kOtherBatch;
    return result;
  }
  const Costs costs = price(scenario, spec);
  const std::vector<KindMemory> kinds = memory_by_kind(costs, spec, scenario.training.gradient_accumulation_steps);
  const KindMemory& least = least_likely(kinds);
  result.verdict = least.fit.verdict;
  result.fit_probability = least.fit.probability;
  result.memory = least.parts.total().value;
  result.capacity = least.capacity.value;
  if (result.verdict == FitVerdict::kDoesNotFit) {
    result.state = PointState::kDoesNotFit;
    return result;
  }
  // Of micro-batches that are drawn the closed form knows too little to be held against anything.
  const bool many = !scenario.training.unsteady.varies() &&
                    collectives_of(spec, most_steps(scenario), scenario.model) > kManyCollectives;
  if (many && (worth.postponed || worth.best)) {
    const double hopeful = least_time_per_sample(scenario, spec, costs);
    result.update_time = hopeful * result.samples;
    if (worth.postponed || hopeful > kHopeful * *worth.best) {
      result.state = worth.postponed ? PointState::kPostponed : PointState::kCannotWin;
      return result;
    }
  }
  const RunResult run = run_schedule(scenario, spec, asked.network, Advice::kNone);
  result.has_time = true;
  result.samples = run.samples_per_update;
  result.update_time = run.update_time.value;
  result.low = run.update_time_low.value;
  result.high = run.update_time_high.value;
  result.spread = run.spread;
  result.sent = run.bytes_sent_per_rank_per_update.value;
  result.exposed = run.exposed_communication.value;
  result.mfu = run.mfu;
  result.idle = run.gpu_idle_fraction;
  result.state = is_batch(asked, result.samples) ? PointState::kPlayed : PointState::kOtherBatch;
  return result;
}

UpdateBreakdown breakdown_at(const Asked& asked, const std::vector<std::string>& settings, const std::string& label) {
  const Scenario scenario = loaded(asked, settings);
  const ScheduleSpec& spec = labelled(scenario, label);
  const int index = static_cast<int>(&spec - scenario.schedules.data());
  const RunResult run = run_schedule(scenario, spec, asked.network, Advice::kNone);
  return breakdowns_of(scenario, {index}, {run}, asked.network).front();
}

NetworkRate network_rate_of(const Cluster& cluster) {
  const NodeGroup& first = cluster.nodes.front();
  if (cluster.fabric.between_groups) {
    const BytesPerSecond rate = cluster.fabric.between_groups->bandwidth;
    return {"link between the sites", rate.value};
  }
  const bool alone = nodes_of(cluster) == 1;
  const BytesPerSecond rate = alone ? first.intra.bandwidth : first.nics.bandwidth;
  return {alone ? "links of a GPU" : "network adapters", rate.value};
}

std::vector<std::string> at_network_rate(const Cluster& cluster, double factor) {
  const auto scaled = [&](BytesPerSecond rate) { return to_text(BytesPerSecond{rate.value * factor}); };
  if (cluster.fabric.between_groups)
    return {"/cluster/fabric/between_groups/bandwidth=" + scaled(cluster.fabric.between_groups->bandwidth)};
  const bool alone = nodes_of(cluster) == 1;
  std::vector<std::string> settings;
  for (std::size_t g = 0; g < cluster.nodes.size(); ++g) {
    const NodeGroup& group = cluster.nodes[g];
    if (alone && group.gpus == 1) continue;
    settings.push_back(fmt::format("/cluster/nodes/{}/{}/bandwidth={}", listed_index(cluster, static_cast<int>(g)),
                                   alone ? "intra" : "nics",
                                   scaled(alone ? group.intra.bandwidth : group.nics.bandwidth)));
  }
  return settings;
}

}  // namespace accosim
