// A pool of processes that take one piece of work after the other. One that crashes, hangs or runs out of memory costs
// its piece and nothing else: another takes its place.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "models/base/units.hpp"

namespace accosim {

struct WorkerOptions {
  int jobs = 1;
  Seconds timeout{};  ///< of one piece; 0: none
  Bytes memory{};     ///< that one process may map; 0: no limit
};

/// How the failure of what took longer than the timeout begins.
inline constexpr const char* kTookLonger = "took longer than ";

struct Outcome {
  std::string text;     ///< what the work gave
  std::string failure;  ///< why it gave nothing; empty: it did
};

/// Takes indices from `next` until there are none, has `work` done for each in a forked process, and hands what comes
/// of it to `done`, here, in the order in which they end. An exception of `work` is a failure with its text. `tick` is
/// called a few times a second, and may be empty. Throws std::system_error where no process can be started; what
/// `done` and `tick` throw ends the pool, and so does look_for_stop().
void in_workers(const WorkerOptions& options, const std::function<std::optional<std::size_t>()>& next,
                const std::function<std::string(std::size_t)>& work,
                const std::function<void(std::size_t, Outcome)>& done, const std::function<void()>& tick);

}  // namespace accosim
