// Wall-clock for the comparison of losses: the same algorithms with ranks as processes over a network of a set rate.
// The losses come from runs whose ranks are threads, and do not depend on it.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "calibration/converge/convergence.hpp"

namespace accocal {
namespace {

constexpr std::size_t kBlocks = 20;

/// Updates, ten or more: whole rounds of what ranks do alone.
std::size_t block_of(const TrainingOptions& options) {
  constexpr std::size_t kLeast = 10;
  if (!traits_of(options.algorithm).takes("--inner-updates")) return kLeast;
  const auto round = static_cast<std::size_t>(options.inner_updates);
  return (kLeast + round - 1) / round * round;
}

/// Median over blocks of updates, without the first.
double typical_update(const std::vector<UpdateRecord>& updates, std::size_t block) {
  std::vector<double> blocks;
  for (std::size_t i = block; i + block <= updates.size(); i += block) {
    double sum = 0;
    for (std::size_t k = i; k < i + block; ++k) sum += updates[k].duration.value;
    blocks.push_back(sum / static_cast<double>(block));
  }
  const auto middle = blocks.begin() + static_cast<std::ptrdiff_t>(blocks.size() / 2);
  std::nth_element(blocks.begin(), middle, blocks.end());
  return *middle;
}

}  // namespace

RankResults add_wall_clock(ConvergenceReport& report, const LaunchOptions& launch, const std::string& network,
                           const std::function<void(const std::string&)>& say) {
  RankResults results;
  for (AlgorithmConvergence& algorithm : report.algorithms) {
    say(fmt::format("{} over {}", algorithm.name, network));
    TrainingOptions options = algorithm.options;
    const std::size_t block = block_of(options);
    options.updates = static_cast<std::int64_t>(block * (kBlocks + 1));
    options.warmup_updates = 0;
    options.gpt.seed = 1;
    options.data = report.options.data;
    results = run_ranks(launch, [&](Transport& transport) -> std::string {
      const TrainingResult result = train(options, transport);
      return transport.rank() == 0 ? fmt::format("{}", typical_update(result.updates, block)) : "";
    });
    if (results.code != ExitCode::kDone) return results;
    algorithm.update_time = Seconds{std::stod(results.ranks.front().report)};
  }
  report.network = network;
  return results;
}

}  // namespace accocal
