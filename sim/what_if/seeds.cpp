#include "sim/what_if/seeds.hpp"

#include <cstddef>
#include <optional>

#include "models/base/statistics.hpp"

namespace accosim {

std::vector<RunResult> with_bands(const std::vector<std::vector<RunResult>>& by_seed) {
  std::vector<RunResult> results = by_seed.front();
  for (std::size_t i = 0; i < results.size(); ++i) {
    // Of one schedule; absent where any seed lacks the figure.
    const auto band = [&](const auto& figure) -> std::optional<SeedBand> {
      std::vector<double> values;
      for (const std::vector<RunResult>& of_seed : by_seed) {
        const std::optional<double> value = figure(of_seed[i]);
        if (!value) return std::nullopt;
        values.push_back(*value);
      }
      return SeedBand{percentile(values, 0.5), percentile(values, 0.1), percentile(values, 0.9)};
    };
    SeedBands bands;
    bands.seeds = static_cast<int>(by_seed.size());
    bands.update_time = *band([](const RunResult& result) { return result.update_time.value; });
    bands.tokens_per_second = *band([](const RunResult& result) { return result.tokens_per_second; });
    bands.speedup = band([](const RunResult& result) { return result.speedup; });
    bands.speedup_same_batch = band([](const RunResult& result) { return result.speedup_same_batch; });
    results[i].seeds = bands;
  }
  return results;
}

Scenario with_seed(const Scenario& scenario, int number) {
  Scenario other = scenario;
  other.training.unsteady.seed += static_cast<std::uint64_t>(number);
  return other;
}

}  // namespace accosim
