#include "sim/what_if/network_advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "models/collectives/nccl_node.hpp"
#include "models/spec/fabrics.hpp"
#include "sim/evaluation/crews.hpp"
#include "sim/evaluation/per_sample.hpp"
#include "sim/explain/explained_collectives.hpp"
#include "sim/what_if/changes.hpp"
#include "sim/what_if/winner.hpp"

namespace accosim {
namespace {

constexpr double kClearly = 0.97, kNoticeable = 0.99;

double ratio_of(const Trial& with, const Trial& without, const Evaluations& evaluations) {
  return estimated_time_per_sample(with.scenario, with.spec(), evaluations) /
         estimated_time_per_sample(without.scenario, without.spec(), evaluations);
}

/// Of the time per sample with more settings, over what it is without; nothing where they are refused. Played on the
/// network that was asked for: groups that share adapters are what a faster one helps.
std::optional<double> ratio_with(const WhatIf& what_if, std::size_t schedule, const std::vector<std::string>& set) {
  const std::optional<Trial> then = what_if.with(schedule, set);
  if (!then) return std::nullopt;
  return ratio_of(*then, what_if.now(schedule), what_if.evaluations());
}

std::string in_words(const std::string& change, double ratio) {
  return fmt::format("{} ({:.2f} x the time)", change, ratio);
}

/// The kind of adapters that read the GPUs' memory where hosts copy for this one.
std::string_view with_gpudirect(std::string_view kind) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kKinds{
      {{"infiniband_host", "infiniband"}, {"omnipath", "infiniband"}, {"efa", "efa_rdma"}, {"tcp", "roce"}}};
  for (const auto& [copies, direct] : kKinds)
    if (kind == copies) return direct;
  return {};
}

/// Of each node group that has adapters.
template <typename Setting>
std::vector<std::string> of_adapters(const Cluster& cluster, const char* key, const Setting& setting) {
  std::vector<std::string> set;
  for (std::size_t g = 0; g < cluster.nodes.size(); ++g)
    if (!cluster.nodes[g].nics.kind.empty())
      set.push_back(fmt::format("{}={}", of_group(cluster, g, key), setting(cluster.nodes[g].nics)));
  return set;
}

/// So many times as many micro-batches, each so much smaller; or more of them in a larger global batch.
Change accumulate(int times, bool larger_batch) {
  return [=](const Trial& trial) -> std::optional<Alternative> {
    const Training& training = trial.scenario.training;
    const int steps = training.gradient_accumulation_steps, size = training.micro_batch_size;
    if (trial.spec().micro_batches_per_round > 0 || trial.spec().micro_batch_size > 0 ||
        !has_one_micro_batch(trial.scenario.cluster, training) || steps > kMaxInteger / times)
      return std::nullopt;
    const std::string more = fmt::format("/training/gradient_accumulation_steps={}", steps * times);
    if (larger_batch)
      return Alternative{
          fmt::format("gradient_accumulation_steps {}, {} times the global batch", steps * times, times), {}, {more}};
    if (steps % times != 0 || size > kMaxInteger / times) return std::nullopt;
    return Alternative{
        fmt::format("micro_batch_size {} with gradient_accumulation_steps {}", size * times, steps / times),
        {},
        {fmt::format("/training/micro_batch_size={}", size * times),
         fmt::format("/training/gradient_accumulation_steps={}", steps / times)}};
  };
}

std::vector<Change> changes_that_hide() {
  std::vector<Change> changes = keys_that_hide();
  changes.insert(changes.end(),
                 {schedule(plain_sharded_schedule()), accumulate(2, false), accumulate(4, false), accumulate(2, true)});
  return changes;
}

}  // namespace

std::optional<Warning> slow_choice(const WhatIf& what_if, std::size_t schedule, const SteadyPlay& play) {
  const CollectiveRow* worst = nullptr;
  const auto lost = [](const CollectiveRow& row) {
    return static_cast<double>(row.count) * (row.alone - row.faster->alone);
  };
  const std::vector<CollectiveRow> rows = collectives_of_update(play);
  for (const CollectiveRow& row : rows)
    if (row.faster && row.nodes > 1 && (worst == nullptr || lost(row) > lost(*worst))) worst = &row;
  if (worst == nullptr) return std::nullopt;
  std::string algorithm = worst->faster->algorithm, protocol = worst->faster->protocol;
  for (std::string* const name : {&algorithm, &protocol})
    std::transform(name->begin(), name->end(), name->begin(), [](unsigned char c) { return std::tolower(c); });
  std::vector<std::string> set{
      fmt::format(R"(/cluster/tuner={{"algorithm": "{}", "protocol": "{}"}})", algorithm, protocol)};
  if (const int channels = worst->faster->channels; channels > 0)
    set = joined(set, of_adapters(what_if.scenario().cluster, "nics/channels", [&](const Nics&) { return channels; }));
  const std::optional<double> ratio = ratio_with(what_if, schedule, set);
  if (!ratio || *ratio >= kNoticeable) return std::nullopt;
  return Warning{
      "nccl_choice", choice_in_words(*worst),
      fmt::format("set {} ({:.2f} x the time here, by --set '{}'); NCCL's estimate knows the NICs' rate, and "
                  "not what hosts, switches and long wires add",
                  forced_by(*worst->faster), *ratio, fmt::join(set, "' --set '"))};
}

std::string ways_to_hide(const WhatIf& what_if, std::size_t schedule) {
  constexpr std::size_t kMostNamed = 3;
  const Evaluations evaluations = what_if.evaluations().on(NetworkKind::kReference);
  const Trial now = what_if.now(schedule);
  std::vector<std::pair<double, std::string>> ways;  // by their ratios
  for (const Change& change_of : changes_that_hide()) {
    const std::optional<Alternative> change = change_of(now);
    const std::optional<Trial> then = change ? what_if.with(schedule, change->set) : std::nullopt;
    if (!then || least_fit(then->scenario, then->spec(), evaluations).probability < WinnerRule{}.fit_probability)
      continue;
    if (const double ratio = ratio_of(*then, now, evaluations); ratio < kClearly)
      ways.emplace_back(ratio, in_words(change->text, ratio));
  }
  std::ranges::stable_sort(ways, {}, &std::pair<double, std::string>::first);
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostNamed, ways.size()); ++i) text += (i == 0 ? "" : "; ") + ways[i].second;
  return text;
}

std::optional<std::string> network_that_helps(const WhatIf& what_if, std::size_t schedule) {
  const Cluster& cluster = what_if.scenario().cluster;
  std::vector<Alternative> ways;
  std::string direct;
  for (const NodeGroup& group : cluster.nodes)
    if (direct.empty()) direct = with_gpudirect(group.nics.kind);
  if (!direct.empty())
    ways.push_back({fmt::format("GPUDirect ({})", direct), {}, of_adapters(cluster, "nics/kind", [](const Nics& nics) {
                      const std::string_view other = with_gpudirect(nics.kind);
                      return other.empty() ? nics.kind : std::string(other);
                    })});
  ways.push_back(
      {"twice the NICs", {}, of_adapters(cluster, "nics/count", [](const Nics& nics) { return 2 * nics.count; })});
  ways.push_back({"NICs twice as fast", {}, of_adapters(cluster, "nics/bandwidth", [](const Nics& nics) {
                    return to_text(2 * nics.bandwidth);
                  })});
  std::string text;
  bool tried = false;
  for (const Alternative& way : ways) {
    const std::optional<double> ratio = ratio_with(what_if, schedule, way.set);
    tried = tried || ratio;
    if (ratio && *ratio < kClearly) text += (text.empty() ? "" : " or ") + in_words(way.text, *ratio);
  }
  return tried ? std::optional(text) : std::nullopt;
}

std::optional<Warning> idle_nics(const Cluster& cluster) {
  if (node_count(cluster) < 2 || cluster.graphs) return std::nullopt;
  for (std::size_t g = 0; g < cluster.nodes.size(); ++g) {
    const NodeGroup& group = cluster.nodes[g];
    if (group.nics.kind.empty() || group.nics.kind == kOwnRings || group.nics.channels > 0) continue;
    Cluster alone = cluster;  // other groups may have fewer
    alone.nodes = {group};
    alone.nodes.front().count = 2;
    const Ring ring = whole_ring(alone);
    const int devices = devices_of(group, ring.gpus.front()), channels = graphs_between(alone, ring).ring.channels;
    if (channels >= devices) continue;
    return Warning{"idle_nics",
                   fmt::format("{} is {}, and NCCL's search finds {} channels, one a NIC: the other NICs carry no ring",
                               of_group(cluster, g, "nics/count"), group.nics.count, channels),
                   "where a plugin shows NCCL several as one, write their number as NCCL sees it and their sum as "
                   "bandwidth; where NCCL printed its graph, give it as nccl_graph"};
  }
  return std::nullopt;
}

}  // namespace accosim
