// What schedules have in common whose replicas make updates by themselves and then meet: the updates inside a replica,
// and the group and the bytes of a meeting.
#pragma once

#include <string>
#include <vector>

#include "sim/bodies/write.hpp"
#include "sim/graph/builder.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

/// So many updates between two meetings: of a rank by itself, its micro-batches and the optimizer on all parameters; of
/// a larger replica, those of the schedule inside it. Equal ones are counted, once no meeting goes on beside them.
void add_local_updates(ProgramBuilder& program, const RuleInput& input, int updates);
/// One of a rank by itself, with what is hooked into its micro-batches.
void add_local_update(ProgramBuilder& program, const RuleInput& input, const Hooks& hooks);
/// Between two meetings of the rank's replica.
int inner_updates_of(const ScheduleInput& input);
/// The lane of meetings that go on beside the updates: of its own where the ranks of a replica communicate, too.
int meeting_lane(ProgramBuilder& program, const ScheduleInput& input);
/// Of outer states on the host: where updates go on beside a meeting they go on beside the host, too.
struct HostLanes {
  int to, on, from;
};
HostLanes host_lanes(ProgramBuilder& program, const ScheduleInput& input);

/// Parameters that a rank answers for when replicas meet: all, or its shard.
double exchanged_elements(const ScheduleInput& input);
/// Bytes of one as the replica keeps them: the parameters' dtype, or of a shard the wider of that and the optimizer's.
Bytes kept_bytes(const ScheduleInput& input);
/// The same in the widest type that the replica has of it: the master copy's where there is one.
Bytes own_bytes(const ScheduleInput& input);
/// What replicas send when they meet about so many elements, one after the other: an all-reduce over all ranks, or of a
/// shard over those that hold it; where the type is too narrow for sums, a gather of what each replica has; or by sites
/// a reduce-scatter inside each, an all-reduce of each part between them, and an all-gather inside.
std::vector<PlanRequest> exchanges(const ScheduleInput& input, double elements);
/// About all that the rank answers for.
std::vector<PlanRequest> exchanges(const ScheduleInput& input);
/// These, of what is called `what`, once `ready` has ended.
OpRef add_exchanges(ProgramBuilder& program, int lane, const std::string& what,
                    const std::vector<PlanRequest>& requests, OpRef ready);

}  // namespace accosim
