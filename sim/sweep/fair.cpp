#include "sim/sweep/fair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/result/run.hpp"
#include "sim/study/tuned.hpp"
#include "sim/sweep/hash.hpp"
#include "sim/what_if/parts.hpp"
#include "sim/what_if/winner.hpp"

namespace accosim {
namespace {

/// The kept ones of a list that has one element a GPU.
void keep(JsonValue& list, const std::vector<bool>& kept) {
  std::vector<JsonValue> left;
  for (std::size_t i = 0; i < list.elements.size() && i < kept.size(); ++i)
    if (kept[i]) left.push_back(std::move(list.elements[i]));
  list.elements = std::move(left);
}

/// The node groups of a resolved scenario, but for the GPUs that are no part.
void keep_part(JsonValue& nodes, const Cluster& cluster, const Part& part) {
  std::vector<JsonValue> left;
  for (std::size_t g = 0; g < cluster.nodes.size(); ++g) {
    const auto listed = static_cast<std::size_t>(listed_index(cluster, static_cast<int>(g)));
    const std::vector<bool>& kept = part.kept[g];
    if (listed >= nodes.elements.size() || std::ranges::none_of(kept, [](bool one) { return one; })) continue;
    JsonValue group = nodes.elements[listed];
    if (JsonValue* const device = group.find("device"); device != nullptr && device->kind == JsonKind::kArray)
      keep(*device, kept);
    left.push_back(std::move(group));
  }
  nodes.elements = std::move(left);
}

/// Of the resolved scenario as far as it is the part's.
std::uint64_t key_of(JsonValue resolved, const Cluster& whole, const Part& part, const Scenario& alone,
                     double samples) {
  if (JsonValue* const cluster = resolved.find("cluster")) {
    if (JsonValue* const nodes = cluster->find("nodes")) keep_part(*nodes, whole, part);
    JsonValue* const fabric = cluster->find("fabric");
    if (fabric != nullptr && alone.cluster.nodes.size() == 1) fabric->erase("between_groups");
  }
  std::string text = fmt::format("{} {} {}", dump_json(resolved), part.name, samples);
  // Ranks are numbered from the first group on, whatever its size.
  for (const Pause& pause : alone.training.unsteady.pauses)
    for (const int rank : pause.ranks) text += fmt::format(" {}", rank);
  return hash_of(text);
}

/// The winner by tokens per second, or where all have a caveat the nearest to it; nothing where none fits.
std::optional<PartResult> fastest_of(const std::vector<RunResult>& results) {
  std::vector<Contender> contenders;
  for (const RunResult& result : results)
    contenders.push_back(contender_of(result, result.fits() ? std::optional(result.tokens_per_second) : std::nullopt));
  const Standing standing = standing_of(contenders, {});
  if (!standing.best()) return std::nullopt;
  const RunResult& best = results[*standing.best()];
  return PartResult{{"", "", *standing.best(), best.samples_per_update, best.tokens_per_second},
                    best.spread,
                    standing.winner.has_value()};
}

/// Of the schedules that can train it; where the best synchronous one is among them, the part's own stands for it.
std::optional<PartResult> fastest_of(Scenario part, std::vector<int> indices, double samples, const Tuned& tuned,
                                     const Evaluations& evaluations) {
  if (tuned.synchronous) {
    const bool columns = tuned.delayed.has_value(), added = columns && !tuned.delayed->repeats();
    part.schedules.resize(tuned.synchronous->index - (added ? 1 : 0));
    indices.resize(indices.size() - (columns ? 2 : 1));
    add_tuned(part, indices, evaluations, columns);
  }
  std::vector<RunResult> results;
  std::vector<std::size_t> played;
  for (std::size_t s = 0; s < indices.size(); ++s) {
    const ScheduleSpec spec = with_some_balance(part.schedules[indices[s]]);
    if (!lacking_alone(part, spec).empty()) continue;
    const Division own = evaluations.divided(part, spec, samples_of(part, spec, samples));
    results.push_back(run_schedule(own.scenario, own.spec, evaluations));
    played.push_back(s);
  }
  std::optional<PartResult> fastest = fastest_of(results);
  if (fastest) fastest->alone.schedule = played[fastest->alone.schedule];
  return fastest;
}

/// Nothing where no part has room for the training.
std::optional<PartResult> fastest_part(const LoadedScenario& loaded, const std::vector<Part>& parts,
                                       const std::vector<int>& indices, const Tuned& tuned,
                                       const Evaluations& evaluations, PartCache& cache) {
  const Scenario& scenario = loaded.scenario;
  JsonValue resolved = parse_json(loaded.resolved(), "").root;
  resolved.erase("origins");  // where its values come from
  resolved.erase("description");
  const double samples = samples_asked(scenario);
  std::optional<PartResult> fastest;
  for (const Part& part : parts) {
    const Scenario alone = part_of(scenario, part.kept);
    const auto [known, anew] = cache.try_emplace(key_of(resolved, scenario.cluster, part, alone, samples));
    if (anew) known->second = fastest_of(alone, indices, samples, tuned, evaluations);
    const std::optional<PartResult>& best = known->second;
    const auto merit = [](const PartResult& of) { return std::pair(of.clean, of.alone.tokens_per_second); };
    if (!best || (fastest && merit(*best) <= merit(*fastest))) continue;
    fastest = best;
    fastest->alone.part = part.name;
    fastest->alone.others = part.others;
  }
  return fastest;
}

}  // namespace

void add_fair(Row& row, const LoadedScenario& loaded, const std::vector<int>& indices,
              const std::vector<RunResult>& results, const Tuned& tuned, const Evaluations& evaluations,
              PartCache& cache) {
  const std::vector<Part> parts = uniform_parts(loaded.scenario.cluster);
  // Where all GPUs are alike and in one group, the whole cluster is its fastest part.
  const std::optional<PartResult> fastest =
      parts.empty() ? fastest_of(results) : fastest_part(loaded, parts, indices, tuned, evaluations, cache);
  if (!fastest) return;
  row.alone = fastest->alone;
  for (std::size_t s = 0; s < results.size(); ++s) {
    Metrics& figures = row.schedules[s];
    const double over = results[s].tokens_per_second / fastest->alone.tokens_per_second;
    figures.over_alone = over;
    figures.over_alone_interval = interval_80(over, ratio_spread(results[s].spread, fastest->spread));
  }
}

}  // namespace accosim
