// The collectives between devices, and as an experiment between processes on one: each combination of NCCL's settings
// in processes of its own, since it reads them once.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "calibration/device/device_verbs.hpp"
#include "calibration/measure/measure_session.hpp"

namespace accocal {

/// What NCCL is told; empty and 0 leave it the choice.
struct NetworkSetting {
  std::string algorithm, protocol;
  int channels = 0;
};
/// Nothing but NCCL's own choice first; then each algorithm with each protocol, then numbers of channels.
std::vector<NetworkSetting> network_settings();

/// Of one collective and size seconds of each run, `second` those of the second pass.
struct CollectiveTimes {
  std::string collective;
  std::int64_t bytes = 0;
  std::vector<double> first, second;

  static constexpr auto kReported = std::tuple(&CollectiveTimes::collective, &CollectiveTimes::bytes,
                                               &CollectiveTimes::first, &CollectiveTimes::second);
};
/// For each run the time of the slowest rank; all ranks have measured the same.
std::vector<CollectiveTimes> slowest(const std::vector<std::vector<CollectiveTimes>>& ranks);

/// Call it before this process has started CUDA, since it forks. Measures real collectives where there are several
/// devices, and the experiment where options.collective_ranks asks for it. What NCCL does not support is left out, not
/// thrown.
EarlierSamples measure_collectives(const DeviceMeasureOptions& options, const Session::Say& say);

}  // namespace accocal
