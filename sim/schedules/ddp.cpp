// Data parallel with replicated parameters: gradients are all-reduced, in one piece after the last backward or in
// buckets while it runs, after the last micro-batch of an update (PyTorch's no_sync) or after every one. The optimizer
// runs on all parameters everywhere, or (ZeroRedundancyOptimizer) on a rank's share, whose owner then broadcasts it.
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

// ZeroRedundancyOptimizer: every rank broadcasts its share, one after the other.
PlanRequest owners_broadcast(const Costs& costs) {
  return {CollectiveKind::kBroadcast, costs.parameter_bytes(), costs.ranks()};
}

bool is_sharded(const ScheduleInput& input) {
  return input.spec.optimizer_sharding == OptimizerSharding::kZeroRedundancy;
}

/// One micro-batch and the all-reduce of its gradients; returns the op after which they are there.
OpRef add_synchronized_micro_batch(ProgramBuilder& program, const ScheduleInput& input, OpRef wait) {
  if (input.spec.overlap == Overlap::kBackward)
    return add_overlapped_micro_batch(program, input, CollectiveKind::kAllReduce, {wait});
  program.compute(kComputeLane, "forward", OpClass::kForward, input.kind.forward, {wait}, 0, input.kind.work.forward);
  const OpRef gradients = program.compute(kComputeLane, "backward", OpClass::kBackward, input.kind.backward, {}, 1,
                                          input.kind.work.backward);
  add_count(program, input);
  return program.collective(kCommunicationLane, "all-reduce",
                            {CollectiveKind::kAllReduce, input.costs.gradient_bytes()}, {gradients});
}

}  // namespace

Program build_ddp(const ScheduleInput& input, Tables& tables) {
  ProgramBuilder program(tables, lane_names());
  const bool every = input.spec.sync == Sync::kEveryMicroBatch;
  for (int update = 0; update < input.updates; ++update) {
    OpRef ready{kCommunicationLane, -1};
    if (!every) add_micro_batches(program, input, input.accumulation_steps - 1);
    for (int i = 0; i < (every ? input.accumulation_steps : 1); ++i)
      ready = add_synchronized_micro_batch(program, input, ready);
    if (is_sharded(input)) {
      const OpRef stepped =
          program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, shard_optimizer_time(input), {ready});
      ready =
          program.collective(kCommunicationLane, "broadcast of parameters", owners_broadcast(input.costs), {stepped});
      program.compute(kComputeLane, "wait for parameters", OpClass::kCopy, Seconds{0}, {ready});
    } else {
      program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, full_optimizer_time(input), {ready});
    }
    program.mark(kComputeLane, Mark::kUpdate);
  }
  return program.take(input.kind.workload.micro_batch_size);
}

/// A t + T_ar + O without overlap; with it, the backward of a synchronized micro-batch and its buckets take
/// overlapped_backward_time(). Every micro-batch synchronized: A times. Sharded: O / N + the owners' broadcasts.
Seconds ddp_closed_form(const ScheduleInput& input) {
  const Seconds t = input.kind.forward + input.kind.backward;
  const Seconds synchronized =
      input.spec.overlap == Overlap::kBackward
          ? input.kind.forward + overlapped_backward_time(input, CollectiveKind::kAllReduce)
          : t + count_time(input) +
                request_time(input.costs, {CollectiveKind::kAllReduce, input.costs.gradient_bytes()});
  const int A = input.accumulation_steps;
  const Seconds gradients = input.spec.sync == Sync::kEveryMicroBatch ? A * synchronized : (A - 1) * t + synchronized;
  return gradients + (is_sharded(input)
                          ? shard_optimizer_time(input) + request_time(input.costs, owners_broadcast(input.costs))
                          : full_optimizer_time(input));
}

}  // namespace accosim
