#include "sim/evidence/inspect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "models/read/load.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/result/run.hpp"

namespace accosim {
namespace {

constexpr std::size_t kMostCosts = 32;  ///< faults whose cost is predicted one by one
constexpr const char* kNominal = "overlap_2x4_a100";

std::vector<std::string> asked_schedules() { return {plain_sharded_schedule().name, schedule_of_two_rounds().name}; }

/// What verdicts are put into.
struct SoundMachine {
  Scenario scenario;
  bool of_ranks = true;  ///< each place is a node of one GPU; else it is a GPU of the first node
  double reached = 0;    ///< B/s that collectives reach over the slowest link, as it was measured
};

/// Of the verdicts those of these places and parts; of none what is sound.
using Fault = std::pair<std::size_t, MachinePart>;
using Faults = std::set<Fault>;
Fault fault_of(const Verdict& one) { return {one.place, one.part}; }

/// All links by their own times, since collectives say what the slowest one carries; a slow one that is not asked as it
/// should be.
void put_links(const std::vector<Verdict>& verdicts, const Faults& asked, double reached, Scenario& scenario) {
  double slowest = 0;
  bool slow = false;
  for (const Verdict& one : verdicts) {
    if (one.part != MachinePart::kLink) continue;
    slowest = slowest == 0 ? one.measured : std::min(slowest, one.measured);
    slow |= one.slow();
  }
  for (const Verdict& one : verdicts) {
    if (one.part != MachinePart::kLink || !slow) continue;
    Nics& nics = scenario.cluster.nodes[one.place].nics;
    const double own = one.slow() && !asked.contains(fault_of(one)) ? one.expected : one.measured;
    nics.bandwidth = BytesPerSecond{reached * own / slowest};
    nics.efficiency = 1;
  }
}

/// What of a GPU, or of a rank's processor, a slow part is. Copies over a bus are in no step.
void put_into(const Verdict& one, Device& device) {
  if (one.part == MachinePart::kMemory) device.memory_efficiency /= one.times;
  if (one.sample == "launch") device.launch_interval = one.times * device.launch_interval;
  if (one.sample == "adamw") device.adamw_time_per_parameter = one.times * device.adamw_time_per_parameter;
  if (one.sample == "copy") device.memory_bandwidth = 1 / one.times * device.memory_bandwidth;
  if (one.sample == "micro_batch" || one.sample == "gemm") device.slowdown = std::max(device.slowdown, one.times);
}

struct TimedSamples {
  Seconds time;
  double samples = 1;
};
std::vector<TimedSamples> play(const SoundMachine& sound, const std::vector<Verdict>& verdicts, const Faults& asked) {
  Scenario scenario = sound.scenario;
  if (sound.of_ranks) put_links(verdicts, asked, sound.reached, scenario);
  Seconds hand_off;
  std::set<std::pair<Fault, std::string>> known;  // of several sizes of one kernel the first
  for (const Verdict& one : verdicts) {
    if (!one.slow() || !asked.contains(fault_of(one)) || !known.emplace(fault_of(one), one.sample).second) continue;
    std::vector<Device>& devices = scenario.cluster.nodes[sound.of_ranks ? one.place : 0].devices;
    put_into(one, devices[sound.of_ranks ? 0 : one.place % devices.size()]);
    if (sound.of_ranks && one.sample == "hand_off_start")
      hand_off = std::max(hand_off, Seconds{one.measured - one.expected});
  }
  std::vector<TimedSamples> steps;
  const Evaluations evaluations(NetworkKind::kReference);
  for (const std::string& name : asked_schedules()) {
    const ScheduleSpec& spec = *std::ranges::find(scenario.schedules, name, &ScheduleSpec::name);
    const RunResult result = run_schedule(scenario, spec, evaluations);
    steps.push_back({result.update_time + rounds_of(spec) * hand_off, result.samples_per_update});
  }
  return steps;
}

/// Predicts the step with all that is slow, and what each fault costs by itself. The batch of a delayed schedule grows
/// where it waits, so times are of as many samples as the sound machine's.
void add_costs(InspectedMachine& machine, const SoundMachine& sound) {
  Faults all;
  for (const Verdict& one : machine.verdicts)
    if (one.slow() && one.part != MachinePart::kBus) all.insert(fault_of(one));
  if (all.empty()) return;
  const std::vector<TimedSamples> as_it_should_be = play(sound, machine.verdicts, {});
  const auto with = [&](const Faults& asked) {
    std::vector<InspectedStep> steps;
    const std::vector<TimedSamples> slow = play(sound, machine.verdicts, asked);
    for (std::size_t i = 0; i < slow.size(); ++i)
      steps.push_back(
          {asked_schedules()[i], as_it_should_be[i].time, as_it_should_be[i].samples / slow[i].samples * slow[i].time});
    return steps;
  };
  machine.steps = with(all);
  std::map<Fault, Seconds> costs;
  for (const Fault& fault : all) {
    if (costs.size() >= kMostCosts) break;
    const InspectedStep step = with({fault}).front();
    costs[fault] = std::max(Seconds{0}, step.measured - step.sound);
  }
  for (Verdict& one : machine.verdicts)
    if (one.slow() && costs.contains(fault_of(one))) one.cost = costs.at(fault_of(one));
}

/// Where it can be done; else the reason is among what is not told.
void price(InspectedMachine& machine, const std::function<SoundMachine()>& sound) {
  constexpr double kMost = 1e6;  // times as long: no step can be played with such
  if (!machine.slow()) return;
  if (std::ranges::any_of(machine.verdicts, [](const Verdict& one) { return one.slow() && one.times > kMost; })) {
    machine.untold.emplace_back("what a step costs: something takes more than a million times as long");
    return;
  }
  try {
    add_costs(machine, sound());
  } catch (const ScenarioError& error) {
    machine.untold.push_back("what a step costs: " + error.errors.front());
  }
}

}  // namespace

bool InspectedMachine::slow() const { return std::ranges::any_of(verdicts, &Verdict::slow); }

InspectedMachine inspect_machine(const MachineSamples& samples, const std::string& name) {
  InspectedMachine machine;
  machine.name = name;
  machine.title = fmt::format("{} ranks over {} on {} ({} cores), measured {}", samples.ranks, samples.network,
                              samples.cpu, samples.cores, samples.date);
  for (int rank = 0; rank < samples.ranks; ++rank) machine.places.push_back(fmt::format("rank {}", rank));
  machine.ring = samples.ranks > 1;
  machine.verdicts = verdicts_of(samples);
  machine.untold = untold_by(samples);
  price(machine, [&] {
    const MachineSamples sound = without_slow(samples, machine.verdicts);
    const MachineFit fit = fit_machine(sound);
    JsonDocument document = parse_json(machine_scenario(sound, fit), name);
    return SoundMachine{load_scenario_tree(std::move(document.root), name, {}, asked_schedules()).scenario, true,
                        fit.unlimited.value};
  });
  return machine;
}

InspectedMachine inspect_gpus(const std::vector<InspectedGpu>& gpus) {
  InspectedMachine machine;
  const InspectedGpu& first = gpus.front();
  machine.name = gpus.size() == 1 ? first.name : fmt::format("{} GPUs", gpus.size());
  machine.title = fmt::format("{}, measured {}", first.samples.device, first.samples.date);
  for (const InspectedGpu& gpu : gpus) machine.places.push_back("GPU " + gpu.name);
  machine.untold.emplace_back("whether whole steps and kernels beside each other are slow: kernels alone are judged");
  if (gpus.size() == 1) machine.untold.emplace_back("how the node's other GPUs do; name a document of each");
  if (!first.kind)
    machine.untold.push_back(
        fmt::format("what a {} should do; name the profile of such a GPU with --profile", first.samples.device));
  machine.verdicts = verdicts_of(gpus);
  if (!first.kind || !first.kind->peak[static_cast<std::size_t>(Dtype::kBf16)]) return machine;
  if (machine.slow())
    machine.untold.push_back(fmt::format("what it costs a step of yours: steps are of {} on such GPUs", kNominal));
  price(machine, [&] {
    SoundMachine sound{load_scenario(kNominal, {}, asked_schedules()).scenario, false};
    std::vector<NodeGroup>& nodes = sound.scenario.cluster.nodes;
    for (Device& device : nodes.front().devices) device = *first.kind;
    nodes.push_back(nodes.front());  // the first node by itself, for what is slow
    nodes.back().count = nodes.front().count - 1;
    nodes.front().count = 1;
    return sound;
  });
  return machine;
}

InspectedMachine inspect_links(const std::vector<MeasuredCollective>& samples, const std::string& name) {
  InspectedMachine machine;
  machine.name = name;
  std::set<std::string> clusters;
  for (const MeasuredCollective& sample : samples) clusters.insert(sample.query.cluster->name);
  machine.title = fmt::format("{} collectives on {}", samples.size(), fmt::join(clusters, ", "));
  machine.verdicts = verdicts_of(samples);
  for (const Verdict& one : machine.verdicts) machine.places.push_back(one.where);
  machine.untold = {"which node or NIC it is, as collectives go over all of them; run them on pairs of nodes",
                    "what a step costs; fit these samples, and compare a scenario of yours on the cluster"};
  return machine;
}

std::vector<Verdict> shown_verdicts(const InspectedMachine& machine) {
  std::vector<Verdict> shown;
  std::map<std::string, Verdict> nearest;  // to its limit, of what is sound
  for (const Verdict& one : machine.verdicts) {
    if (one.slow()) shown.push_back(one);
    const auto at = nearest.emplace(one.what.substr(0, one.what.find(kAsShape)), one).first;
    if (one.times / one.limit > at->second.times / at->second.limit) at->second = one;
  }
  for (const auto& [what, one] : nearest)
    if (!one.slow()) shown.push_back(one);
  std::ranges::stable_sort(shown, std::greater(), [](const Verdict& one) {
    return std::tuple(one.cost.value_or(Seconds{0}).value, one.slow(), one.times);
  });
  return shown;
}

std::vector<Verdict> faults_of(const InspectedMachine& machine) {
  std::vector<Verdict> faults;
  Faults known;
  for (const Verdict& one : machine.verdicts)
    if (one.slow() && known.insert(fault_of(one)).second) faults.push_back(one);
  std::ranges::stable_sort(faults, std::greater(), [](const Verdict& one) { return one.cost.value_or(Seconds{0}); });
  return faults;
}

}  // namespace accosim
