// The machine that was measured: without it a sample means nothing.
#pragma once

#include <string>

#include "calibration/base/names.hpp"
#include "models/base/units.hpp"

namespace accocal {

struct Machine {
  std::string cpu;  ///< its model's name
  int cores = 0;    ///< online, as the system counts them
  std::string kernel;
};

Machine this_machine();

/// Share of all cores' time that was idle over the next `time`, by /proc/stat; others on the machine make it small.
double idle_share(Seconds time);

/// "2026-11-21T07:18:45Z".
std::string date_now();

/// "g++ 12.2.0".
std::string compiler_name();

/// Commit of the sources when the build was configured; "unknown" without git.
std::string source_commit();

/// Seconds that the threads of this process have been ready to run and did not, all together; 0 where the kernel does
/// not count them.
double all_threads_waited();

}  // namespace accocal
