// CO2 (Sun et al., arXiv 2401.16265): after H updates a replica sends the parameters that it has reached, waits for the
// all-reduce of those that it sent H updates ago, and takes an outer step with momentum along that mean, which is late
// by then. What it has sent travels beside the following H updates. The penalty for staleness and the clip of the
// momentum cost no communication. The released code (OpenNLPLab/CO2, a fork of fairscale) hides less: only its
// averages, every few updates, go on beside computation; the outer step, more rarely, waits for the last of them and is
// SlowMo's.
#include "sim/schedules/meetings.hpp"
#include "sim/schedules/replicas.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

void add_as_released(ProgramBuilder& program, const RuleInput& input) {
  const int rounds = input.spec.outer_every / input.spec.inner_updates;
  const int lane = rounds > 1 ? meeting_lane(program, input) : kCommunicationLane;
  OpRef sent{lane, -1};  // the outer step before has set all replicas equal
  for (int round = 0; round < rounds; ++round) {
    add_local_updates(program, input, inner_updates_of(input));
    if (round + 1 == rounds) break;
    if (round > 0) add_taken_average(program, input, sent);
    sent = add_sent(program, input, "parameters", lane);
  }
  program.compute(kComputeLane, "wait for the average", OpClass::kCopy, Seconds{0}, {sent});
  add_owners_step(program, input);
}

}  // namespace

void add_co2_update(ProgramBuilder& program, const RuleInput& input) {
  if (input.spec.form == MethodForm::kCode) return add_as_released(program, input);
  const int lane = meeting_lane(program, input);
  const OpRef before = program.last(lane);
  add_local_updates(program, input, inner_updates_of(input));
  add_sent(program, input, "parameters", lane);
  add_outer_step(program, input, before);
}

}  // namespace accosim
