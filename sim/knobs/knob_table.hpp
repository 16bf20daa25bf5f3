// All knobs there are, a row each: what advise varies, and what a sweep can name in place of a pointer and its values.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "models/read/load.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/knobs/knob.hpp"

namespace accosim {

/// Where a schedule is to be run.
struct ScheduleGround {
  const ScheduleTraits& traits;
  const Cluster& cluster;
  const Training& training;
};

/// A knob of the scenario, whose first alternative is what is written; or one of a schedule.
struct KnobRow {
  const char* name;     ///< a schedule's: the first of its keys
  const char* meaning;  ///< a phrase
  std::vector<Alternative> (*of_scenario)(const LoadedScenario&) = nullptr;
  std::vector<std::string> keys{};  ///< of a schedule: those that it sets together
  std::function<std::vector<Alternative>(const ScheduleGround&)> of_schedule{};
  bool coarse = false;  ///< as Knob's

  /// Whether a schedule has this choice there.
  bool is_for(const ScheduleGround& ground) const;
};

inline constexpr const char* kNodesKnob = "nodes";
inline constexpr const char* kDegreesKnob = "parallel";
inline constexpr const char* kMicroBatchKnob = "micro_batch";

/// The scenario's first, then the schedules'.
const std::vector<KnobRow>& knob_rows();

/// Throws BadInput where there is none, with the names of those that are there.
const KnobRow& knob_named(const std::string& name);

/// A knob of the table in settings alone. One of the schedules is of those of `indices`: each that has the alternative
/// takes it, and the others stay as they are. One alternative: there is nothing to choose.
Knob knob_in_settings(const LoadedScenario& loaded, const KnobRow& row, const std::vector<std::size_t>& indices);

/// What may differ from what is written: the nodes that are used, into how many parts the model is split, and the sizes
/// of micro-batches.
struct WorkChoice {
  bool nodes = false, degrees = false, sizes = false;
  bool interleaved = true;  ///< stages of several chunks too
};
/// Micro-batches and accumulation that keep the samples of an update, the first as written. Sizes: all that divide the
/// samples of a GPU and, where GPUs differ, the work divided by their speed, with those sizes or with sizes of each
/// kind of GPU that the division chooses. Nodes: fewer of them. Degrees: all that divide the model and the cluster.
std::vector<Alternative> ways_to_work(const LoadedScenario& loaded, const WorkChoice& choice);
/// Numbers of micro-batches that an update may begin with, below what is written, for schedules whose ranks go on while
/// they wait and so come to more; none where ranks are alike.
std::vector<Alternative> smaller_work(const LoadedScenario& loaded);

}  // namespace accosim
