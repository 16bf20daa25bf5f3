// The rows.
#include "calibration/train/algorithm_traits.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/base/each.hpp"
#include "models/base/text.hpp"

namespace accocal {
namespace {

const std::vector<AlgorithmTraits> kRows = {
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
     .options = {"--warmup", "--poll-every", "--estimate", "--estimate-state", "--initial-gradient"}},
    {.algorithm = Algorithm::kDiloco,
     .name = "diloco",
     .title = "DiLoCo",
     .outer_step = true,
     .copies = 3,
     .on_devices = false,
     .options = {"--inner-updates", "--outer-learning-rate", "--outer-momentum"}},
    {.algorithm = Algorithm::kPipeSgd,
     .name = "pipesgd",
     .title = "PipeSGD",
     .on_devices = false,
     .options = {"--delay"}},
    {.algorithm = Algorithm::kSlowMo,
     .name = "slowmo",
     .title = "SlowMo",
     .outer_step = true,
     .copies = 2,
     .on_devices = false,
     .options = {"--inner-updates", "--outer-every", "--outer-learning-rate", "--outer-momentum"},
     .usual = {.inner_updates = 3, .outer_learning_rate = 1, .outer_momentum = 0.5}},
    {.algorithm = Algorithm::kOverlapLocalSgd,
     .name = "overlap_local_sgd",
     .title = "Overlap-Local-SGD",
     .copies = 2,
     .on_devices = false,
     .options = {"--inner-updates", "--mixing", "--outer-momentum"},
     .usual = {.inner_updates = 2, .outer_momentum = 0.7, .mixing = 0.6}},
    {.algorithm = Algorithm::kCo2,
     .name = "co2",
     .title = "CO2",
     .outer_step = true,
     .copies = 3,
     .on_devices = false,
     .options = {"--inner-updates", "--outer-learning-rate", "--outer-momentum", "--outer-clip"},
     .usual = {.inner_updates = 12, .outer_learning_rate = 1, .outer_momentum = 0.2}},
    {.algorithm = Algorithm::kStreamingDiloco,
     .name = "streaming_diloco",
     .title = "Streaming DiLoCo",
     .outer_step = true,
     .copies = 2,
     .on_devices = false,
     .options = {"--inner-updates", "--outer-learning-rate", "--outer-momentum", "--fragments", "--delay", "--mixing",
                 "--payload"},
     .usual = {.outer_learning_rate = 0.4}},
    {.algorithm = Algorithm::kEagerDiloco,
     .name = "eager_diloco",
     .title = "Eager DiLoCo",
     .outer_step = true,
     .copies = 3,
     .on_devices = false,
     .options = {"--inner-updates", "--outer-learning-rate", "--outer-momentum"},
     .usual = {.outer_momentum = 0.5}},  // at DiLoCo's 0.9 it diverges on small models
};

}  // namespace

const std::vector<AlgorithmTraits>& algorithms() { return kRows; }

bool AlgorithmTraits::takes(std::string_view option) const {
  return std::ranges::find(options, option) != options.end();
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

std::string algorithm_names() {
  return accosim::in_words(accosim::mapped<std::string>(algorithms(), &AlgorithmTraits::name), " or ");
}

}  // namespace accocal
