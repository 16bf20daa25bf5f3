// Overlap-Local-SGD (Wang, Liang, Joshi, arXiv 2002.09539; JYWa/Overlap_Local_SGD, distoptim/OverlapLocalSGD.py): after
// H updates a replica waits for the all-reduce that it began H updates ago, pulls its parameters back towards the
// anchor that this brought, moves the anchor with momentum towards its own parameters, and begins the all-reduce of
// that beside the next H updates. Replicas are never equal.
#include "sim/schedules/meetings.hpp"
#include "sim/schedules/replicas.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

void add_overlap_local_sgd_update(ProgramBuilder& program, const RuleInput& input) {
  const int lane = meeting_lane(program, input);
  const OpRef sent = program.last(lane);
  add_local_updates(program, input, inner_updates_of(input));
  add_outer_step(program, input, sent, {.reads_own = true});
  add_sent(program, input, "anchors", lane);
}

}  // namespace accosim
