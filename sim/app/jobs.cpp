#include "sim/app/jobs.hpp"

#include <algorithm>
#include <thread>

namespace accosim {

Option jobs_option() {
  constexpr int kMostJobs = 256;
  return {.names = "-j,--jobs",
          .help = "Number of processes; default: as many as this machine runs at a time",
          .value = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostJobs),
          .least = 1,
          .most = kMostJobs};
}

}  // namespace accosim
