// What a schedule could change to need less memory: each change as its settings, for a scenario that may have some.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/spec/schedule_traits.hpp"
#include "sim/knobs/knob.hpp"
#include "sim/what_if/what_if.hpp"

namespace accosim {

/// Nothing: it is so already, or cannot be. What is refused is for WhatIf to say.
using Change = std::function<std::optional<Alternative>(const Trial&)>;
/// With these settings more than the scenario's own.
using Fits = std::function<bool(const std::vector<std::string>& set)>;

/// The settings of a trial and more of them.
std::vector<std::string> joined(std::vector<std::string> set, const std::vector<std::string>& more);

std::optional<Alternative> fuse_attention(const Trial& trial);
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
/// Keys of the same schedule by which it communicates less often, in nodes, or beside more of the computation.
std::vector<Change> keys_that_hide();

/// The largest number that fits, from `fitting` on and below `too_many`, found by halving: what is larger fits less.
int largest_that_fits(int fitting, int too_many, const std::function<bool(int)>& fits);

/// The largest micro-batch that fits, whatever becomes of the samples of an update; 0: not even one sequence does, or
/// the node groups' micro-batches differ.
int largest_micro_batch(const Trial& trial, const Fits& fits);

}  // namespace accosim
