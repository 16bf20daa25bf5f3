// DiLoCo (arXiv 2311.08105): every replica makes H updates by itself, then all reduce how far they moved and take an
// outer step with Nesterov's momentum. A replica is a rank, a node or a node group, and each of its ranks keeps the
// outer momentum and the parameters from before, of all or of its shard. An update, as the figures count it, is an
// inner one.
#include "sim/schedules/meetings.hpp"
#include "sim/schedules/replicas.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

void add_diloco_update(ProgramBuilder& program, const RuleInput& input) {
  add_local_updates(program, input, inner_updates_of(input));
  add_outer_step(program, input, add_sent(program, input, "changes", kCommunicationLane));
}

}  // namespace accosim
