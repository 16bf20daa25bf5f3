// What a scenario could change to need less memory: each as the scenario that it makes, by its name and by the settings
// that anybody can repeat with --set.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "models/spec/training.hpp"

namespace accosim {

/// A scenario and one of its schedules, to be changed.
struct Trial {
  Scenario scenario;
  ScheduleSpec spec;
};

struct Changed {
  std::string name;              ///< as a scenario writes it: "activation_recompute full"
  std::vector<std::string> set;  ///< as --set takes them
  Trial trial;
};

/// Nothing: it is so already, or cannot be.
using Change = std::function<std::optional<Changed>(const Trial&)>;
using Fits = std::function<bool(const Trial&)>;

std::optional<Changed> fuse_attention(const Trial& trial);
/// Compiled code, or code that was fused by hand, from what merges less.
Change implement(Implementation implementation);
/// Recomputes more than before, in every block.
Change recompute(Recompute what);
/// The fewest blocks, every k-th, whose recomputation makes it fit.
Change recompute_some(Fits fits);
/// The largest micro-batch that fits, of those that keep the samples of an update by accumulating more often; the
/// smallest where none fits.
Change divide_micro_batch(Fits fits);
/// Another schedule in its usual form, with the same dtypes.
Change schedule(const ScheduleTraits& traits);
/// Keys of the same schedule: what it shards, and what it keeps.
std::vector<Change> schedule_keys();

/// The largest micro-batch that fits, whatever becomes of the samples of an update; 0: not even one sequence does, or
/// the node groups' micro-batches differ. Memory grows with the micro-batch, so that halving finds it.
int largest_micro_batch(const Trial& trial, const Fits& fits);

}  // namespace accosim
