// What schedules have in common whose replicas make updates by themselves and then meet: the updates inside a replica,
// and the group and the bytes of a meeting.
#pragma once

#include <string>
#include <vector>

#include "models/spec/schedule.hpp"
#include "sim/graph/builder.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

/// The updates between two meetings, inner_updates of them: of a rank by itself, its micro-batches and the optimizer on
/// all parameters; of a larger replica, those of the schedule inside it.
void add_local_updates(ProgramBuilder& program, const RuleInput& input);

/// Parameters that a rank answers for when replicas meet: all, or its shard.
double exchanged_elements(const ScheduleInput& input);
/// Bytes of one as the replica keeps them: the parameters' dtype, or of a shard the wider of that and the optimizer's.
Bytes kept_bytes(const ScheduleInput& input);
/// What replicas send when they meet, one after the other: an all-reduce of everything over all ranks, or of each shard
/// over those that hold it; or, of everything by sites, a reduce-scatter inside each, an all-reduce of each part
/// between them, and an all-gather inside.
std::vector<PlanRequest> exchanges(const ScheduleInput& input);
/// These, of what is called `what`, once `ready` has ended.
OpRef add_exchanges(ProgramBuilder& program, const ScheduleInput& input, const std::string& what, OpRef ready);

}  // namespace accosim
