// SlowMo (Wang et al., arXiv 1910.00643): local SGD whose replicas take, every so many updates and in place of the
// mean, a step with momentum from the slow parameters to that mean. As the paper has it the mean is all-reduced and
// every rank takes the whole step. The released code (fairscale, experimental/nn/data_parallel/gossip) has the slow
// parameters and the momentum sharded over at most 32 ranks, in fp32: each shard is reduced to its owner, stepped and
// broadcast, one after the other; a replica is a node.
#include "sim/schedules/meetings.hpp"
#include "sim/schedules/replicas.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

void add_slowmo_update(ProgramBuilder& program, const RuleInput& input) {
  const int inner = inner_updates_of(input), averages = input.spec.outer_every / input.spec.inner_updates - 1;
  if (averages > 0) {
    program.begin_loop_on_all(averages, "inner updates like those before");
    add_local_updates(program, input, inner);
    add_average(program, input);
    program.end_loop_on_all();
  }
  add_local_updates(program, input, inner);
  if (input.spec.form == MethodForm::kCode) return add_owners_step(program, input);
  add_outer_step(program, input, add_sent(program, input, "parameters", kCommunicationLane));
}

}  // namespace accosim
