// What a replica computes where it meets the others: the buffer that is sent, and what is done with that which came
// back. An outer optimizer keeps its states in fp32. A replica steps from the widest copy of its parameters, fp32 where
// there is a master copy of narrower ones, which is set too where parameters are taken: the next step would undo it.
#pragma once

#include "sim/schedules/schedule.hpp"

namespace accosim {

struct OuterStep {
  bool reads_own = false;  ///< the replica's own parameters
  int own_sent = 0;        ///< buffers that it sent itself
};

/// What the schedule sends (ScheduleTraits::sends: parameters, theta - theta_replica, or an outer state) is written
/// into a buffer in the type in which it is sent, once the compute lane has come so far: on the GPU or, with
/// offload_outer, on the host, to which the replica's own parameters are copied before. What is sent then waits for
/// this.
OpRef add_buffer(ProgramBuilder& program, const RuleInput& input, const std::string& what, double elements);
/// Once `sent` has arrived the outer optimizer's states are read and written, what came is read, the parameters are
/// written; on the host, from which they are then copied, to be mixed with the replica's own on the GPU.
void add_outer_step(ProgramBuilder& program, const RuleInput& input, double elements, OpRef sent,
                    const OuterStep& step = {});

/// All take the mean of their parameters, which they have copied to a buffer, and copied from it; nobody goes on
/// before.
void add_average(ProgramBuilder& program, const RuleInput& input);
/// The copy from the buffer alone, after `sent`.
void add_taken_average(ProgramBuilder& program, const RuleInput& input, OpRef sent);
/// The buffer of all that the rank answers for, and what is sent of it on `lane`.
OpRef add_sent(ProgramBuilder& program, const RuleInput& input, const std::string& what, int lane);
/// The outer step of all of it.
void add_outer_step(ProgramBuilder& program, const RuleInput& input, OpRef sent, const OuterStep& step = {});
/// The outer step of fairscale's SlowMo: its states are sharded over at most 32 ranks. Each shard of the parameters is
/// reduced to its owner in fp32, stepped, and broadcast.
void add_owners_step(ProgramBuilder& program, const RuleInput& input);

}  // namespace accosim
