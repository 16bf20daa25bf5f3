#include "sim/result/pause_results.hpp"

#include <algorithm>
#include <numeric>

namespace accosim {

std::vector<PauseResult> pause_results(const SteadyPlay& play) {
  std::vector<PauseResult> results;
  for (const PauseCost& cost : play.pauses) {
    // Where no rank gains by it, what remains is that the pausing ones do fewer.
    const double more = std::max(0.0, std::accumulate(cost.micro_batches.begin(), cost.micro_batches.end(), 0.0));
    results.push_back({cost.name, cost.lasts, cost.time, more, cost.every_updates, cost.crowded});
  }
  return results;
}

}  // namespace accosim
