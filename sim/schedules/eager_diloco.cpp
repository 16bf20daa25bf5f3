// Eager DiLoCo (arXiv 2502.12996): at every meeting the outer step is along a replica's own change of now, in its
// share, and those of the others from the meeting before, whose reduction has gone on beside the updates since:
// own_now / M + (mean_before - own_before / M). The changes of now are reduced beside the next updates.
#include "sim/schedules/meetings.hpp"
#include "sim/schedules/replicas.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

void add_eager_diloco_update(ProgramBuilder& program, const RuleInput& input) {
  const int lane = meeting_lane(program, input);
  const OpRef before = program.last(lane);
  add_local_updates(program, input, inner_updates_of(input));
  add_sent(program, input, "changes", lane);
  add_outer_step(program, input, before, {.own_sent = 2});  // of now and of the meeting before
}

}  // namespace accosim
