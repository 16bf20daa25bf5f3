#include "sim/result/waiting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "models/spec/model_families.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

constexpr double kMuchIdle = 0.25;
constexpr double kMuchMore = 0.1;      ///< than the ranks that are waited for
constexpr double kMostTried = 1e6;     ///< samples of a micro-batch
constexpr double kWorthSaying = 1.01;  ///< of tokens per second

/// Ranks of one node group that cost the same.
struct Crew {
  int group = 0, kind = 0;
  double idle = 0;  ///< mean fraction of an update
  int ranks = 0;
};

std::vector<Crew> crews_of(const SteadyPlay& play) {
  std::vector<Crew> crews;
  for (std::size_t rank = 0; rank < play.costs.places.size(); ++rank) {
    const int group = play.costs.places[rank].group, kind = play.costs.kind_of[rank];
    auto crew = std::find_if(crews.begin(), crews.end(),
                             [&](const Crew& each) { return each.group == group && each.kind == kind; });
    if (crew == crews.end()) crew = crews.insert(crews.end(), Crew{group, kind});
    const int played = play.folded.class_of[rank];
    crew->idle += play.measured.ranks[static_cast<std::size_t>(played)].idle_fraction;
    ++crew->ranks;
  }
  for (Crew& crew : crews) crew.idle /= crew.ranks;
  return crews;
}

std::string name_of(const Costs& costs, const Crew& crew) {
  std::string name = device_name(costs.cluster, costs.kinds[static_cast<std::size_t>(crew.kind)].device);
  const std::vector<NodeGroup>& groups = costs.cluster.nodes;
  if (groups.size() > 1) name += fmt::format(" of \"{}\"", groups[static_cast<std::size_t>(crew.group)].name);
  return name;
}

Scenario with_micro_batch(const Scenario& scenario, int group, int micro_batch) {
  Scenario tried = scenario;
  tried.cluster.nodes[static_cast<std::size_t>(group)].micro_batch_size = micro_batch;
  return tried;
}

bool fits(const Scenario& scenario, const ScheduleSpec& spec) {
  const Costs costs = price(scenario, spec);
  return std::all_of(costs.kinds.begin(), costs.kinds.end(), [&](const RankKind& kind) {
    return memory_of(costs, kind, spec, scenario.training.gradient_accumulation_steps).total() <= kind.device.memory;
  });
}

/// The largest micro-batch of the group that fits, above `now` and at most `most`; `now` when there is none.
int largest_that_fits(const Scenario& scenario, const ScheduleSpec& spec, int group, int now, int most) {
  while (now < most) {
    const int middle = now + (most - now + 1) / 2;
    if (fits(with_micro_batch(scenario, group, middle), spec))
      now = middle;
    else
      most = middle - 1;
  }
  return now;
}

/// What to do, as far as micro-batches go; empty where none was found to help.
std::string better_micro_batch(const Scenario& scenario, const ScheduleSpec& spec, const SteadyPlay& play,
                               const Crew& waiting, const Crew& holding, NetworkKind network) {
  // A node group has one micro-batch; a measured model's time does not depend on it.
  if (waiting.group == holding.group || family_of(scenario.model).measured) return {};
  const auto time = [&](const Crew& crew) {
    const RankKind& kind = play.costs.kinds[static_cast<std::size_t>(crew.kind)];
    return kind.forward + kind.backward;
  };
  const auto size = [&](const Crew& crew) {
    return scenario.cluster.nodes[static_cast<std::size_t>(crew.group)].micro_batch_size;
  };
  const double ratio = time(holding) / time(waiting);
  if (ratio <= 1) return {};
  const double now = samples_per_update(play) / play.measured.update_time.value;
  // The best of a few, as it is said; empty where none is worth saying.
  const auto advice = [&](const Crew& crew, const std::vector<int>& sizes) {
    std::string text;
    double best = kWorthSaying;
    for (const int micro_batch : sizes) {
      if (micro_batch == size(crew)) continue;
      const Scenario tried = with_micro_batch(scenario, crew.group, micro_batch);
      const SteadyPlay then = play_steady(tried, spec, play.accumulation_steps, network);
      const double samples = samples_per_update(then);
      const double gain = samples / then.measured.update_time.value / now;
      if (gain < best) continue;
      best = gain;
      text = fmt::format(
          "give {} micro-batches of {} instead of {} (--set /cluster/nodes/{}/micro_batch_size={}): {:.0f} % more "
          "tokens per second, {:.0f} samples an update",
          name_of(play.costs, crew), micro_batch, size(crew), listed_index(scenario.cluster, crew.group), micro_batch,
          100 * (gain - 1), samples);
    }
    return text;
  };
  // What waits has time for more, if it has room; what is waited for can do less.
  constexpr double kRounding = 1 + 1e-9;  // a ratio of 3 may be 2.999...
  const int most = static_cast<int>(std::min(size(waiting) * ratio * kRounding, kMostTried));
  const int fitting = largest_that_fits(scenario, spec, waiting.group, size(waiting), most + 1);
  std::vector<int> sizes = {std::min(fitting, most)};
  if (fitting > most) sizes.push_back(fitting);
  std::string more = advice(waiting, sizes);
  if (!more.empty()) return more;
  const int less = static_cast<int>(size(holding) / ratio);
  return advice(holding, {less + 1, std::max(1, less)});
}

}  // namespace

std::optional<Warning> ranks_wait(const Scenario& scenario, const ScheduleSpec& spec, const SteadyPlay& play,
                                  NetworkKind network) {
  if (play.costs.kinds.size() < 2) return std::nullopt;
  const std::vector<Crew> crews = crews_of(play);
  const auto [holding, waiting] =
      std::minmax_element(crews.begin(), crews.end(), [](const Crew& a, const Crew& b) { return a.idle < b.idle; });
  if (waiting->idle < kMuchIdle || waiting->idle - holding->idle < kMuchMore) return std::nullopt;
  std::string advice = better_micro_batch(scenario, spec, play, *waiting, *holding, network);
  if (!traits_of(spec).delayed)
    advice +=
        fmt::format("{}choose a schedule whose ranks accumulate while they wait (acco)", advice.empty() ? "" : ", or ");
  return Warning{"ranks_wait",
                 fmt::format("{} wait for {}: they are idle for {:.0f} % of an update, the latter for {:.0f} %",
                             name_of(play.costs, *waiting), name_of(play.costs, *holding), 100 * waiting->idle,
                             100 * holding->idle),
                 advice};
}

}  // namespace accosim
