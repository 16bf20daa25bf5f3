// The rows.
#include "calibration/train/algorithm_traits.hpp"

#include <algorithm>
#include <stdexcept>

namespace accocal {

const std::vector<AlgorithmTraits>& algorithms() {
  static const std::vector<AlgorithmTraits> kRows = {
      {.algorithm = Algorithm::kDdp, .name = "ddp", .title = "DDP", .synchronous = true},
      {.algorithm = Algorithm::kZero1, .name = "zero1", .title = "ZeRO-1", .synchronous = true, .sharded = true},
      {.algorithm = Algorithm::kDpu,
       .name = "dpu",
       .title = "DPU",
       .sharded = true,
       .options = {"--warmup", "--poll-every"}},
      {.algorithm = Algorithm::kWp,
       .name = "wp",
       .title = "weight prediction",
       .sharded = true,
       .looks_ahead = true,
       .predicts = true,
       .options = {"--warmup", "--poll-every", "--estimate-state"}},
      {.algorithm = Algorithm::kAcco,
       .name = "acco",
       .title = "ACCO",
       .sharded = true,
       .looks_ahead = true,
       .rounds = 2,
       .options = {"--warmup", "--poll-every", "--estimate-state", "--initial-gradient"}},
      {.algorithm = Algorithm::kDiloco,
       .name = "diloco",
       .title = "DiLoCo",
       .outer_step = true,
       .on_devices = false,
       .options = {"--inner-updates", "--outer-learning-rate", "--outer-momentum"}},
  };
  return kRows;
}

bool AlgorithmTraits::takes(std::string_view option) const {
  return std::find(options.begin(), options.end(), option) != options.end();
}

const AlgorithmTraits& traits_of(Algorithm algorithm) {
  for (const AlgorithmTraits& row : algorithms())
    if (row.algorithm == algorithm) return row;
  throw std::logic_error("an algorithm without a row");
}

const AlgorithmTraits* find_algorithm(std::string_view name) {
  const auto row = std::find_if(algorithms().begin(), algorithms().end(),
                                [&](const AlgorithmTraits& each) { return each.name == name; });
  return row == algorithms().end() ? nullptr : &*row;
}

std::string name_of(Algorithm algorithm) { return traits_of(algorithm).name; }

}  // namespace accocal
