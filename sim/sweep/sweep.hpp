// A sweep: a scenario, what is varied in it, and what each point comes to.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/read/load.hpp"
#include "sim/network/network.hpp"
#include "sim/sweep/fair.hpp"
#include "sim/sweep/rows.hpp"
#include "sim/sweep/space.hpp"

namespace accosim {

struct Sweep {
  std::string scenario;  ///< its name or path
  std::vector<std::string>
      set{};  ///< "/pointer=value", set before the axes; inside of a part that an axis replaces, after it
  std::vector<std::string> schedules;  ///< labels or names; empty: all
  Space space;
  bool fair = false;  ///< every point is compared with its parts alone and with the balanced baseline too
  bool tuned = true;  ///< and delayed or local schedules with the best synchronous one
};

inline constexpr const char* kSweepSchema = "accosim.sweep/1";

/// Whether a text is a document of that schema, by its first bytes.
bool is_sweep(const std::string& text);

/// Reads one. `path` is the file's: a scenario that is named by a path is looked for from its folder. In "over" a text
/// is an axis as --over takes it (a knob by its name), and an object one of {"axis", "label"}, {"pointer", "values"},
/// {"product": [...]}, {"zip": [...]} and
/// {"latin_hypercube": [...], "points", "seed"}. Throws ScenarioError.
Sweep read_sweep(const std::string& text, const std::string& path);

/// The axes of knobs for its scenario, with its settings and schedules; `sweep` outlives the function. That throws
/// ScenarioError, and BadInput as knob_axis().
KnobAxis knob_axes(const Sweep& sweep);

/// The scenario at the first point. Where it loads as it is written, what is wrong in an entry is the point's. Throws
/// ScenarioError.
LoadedScenario first_point(const Sweep& sweep);

/// The sweep's heading: the scenario is loaded at the first point. Throws ScenarioError and BadInput.
Heading heading_of(const Sweep& sweep, NetworkKind network);

/// Plays one point in this process. A scenario that is refused there is a row that failed. `cache` is of this sweep.
Row play_point(const Sweep& sweep, const Heading& heading, std::size_t index, NetworkKind network, PartCache& cache);

/// A share of the points: those whose index divided by `of` leaves `part`.
struct Shard {
  std::size_t part = 0, of = 1;
};
/// "3/8" is part 3 of 8, counted from 0; "auto" what the job's environment says: an array of Slurm's, or a process of
/// Open MPI, MPICH or srun. Throws BadInput.
Shard parse_shard(const std::string& text);

/// "rows.jsonl" of part 3 of 8 is "rows.3-of-8.jsonl"; the same where there is one part.
std::string path_of(const std::string& path, const Shard& shard);

}  // namespace accosim
