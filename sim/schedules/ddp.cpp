// Data parallel with replicated parameters: gradients are all-reduced, in one piece after the last backward or in
// buckets while it runs, after the last micro-batch of an update (PyTorch's no_sync) or after every one. The optimizer
// runs on all parameters everywhere, or (ZeroRedundancyOptimizer) on a rank's tensors, whose owner then broadcasts
// them.
#include <string>

#include "models/price/partition.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

/// ZeroRedundancyOptimizer: for one rank after the other, a broadcast for each tensor that it owns, all queued at once.
/// In the order of their sizes here, which changes no sum.
std::vector<PlanRequest> owners_broadcasts(const ScheduleInput& input) {
  std::vector<PlanRequest> requests;
  for (const auto& [elements, count] : tensor_sizes(tensors_of(input.kind.layers)))
    requests.push_back({CollectiveKind::kBroadcast, count * elements * bytes_of(input.costs.parameter_dtype), count});
  return requests;
}

bool is_sharded(const ScheduleInput& input) {
  return input.spec.optimizer_sharding == OptimizerSharding::kZeroRedundancy;
}

/// The rank with the most elements is the last to step, and no broadcast ends before every rank has joined it.
Seconds owner_optimizer_time(const ScheduleInput& input) {
  return optimizer_time(input.costs, largest_share(input.kind.layers, input.costs.ranks()), input.kind.device);
}

void add_sharded_optimizer(ProgramBuilder& program, const ScheduleInput& input, OpRef ready) {
  OpRef sent = program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, owner_optimizer_time(input), {ready});
  for (const PlanRequest& request : owners_broadcasts(input))
    sent = program.collective(kCommunicationLane, "broadcast of " + std::to_string(request.count) + " tensors", request,
                              {sent});
  add_parameters_taken(program, input, sent);
}

}  // namespace

void add_ddp_update(ProgramBuilder& program, const ScheduleInput& input) {
  const bool every = input.spec.sync == Sync::kEveryMicroBatch;
  OpRef ready{kCommunicationLane, -1};
  if (!every) add_micro_batches(program, input, input.accumulation_steps - 1);
  for (int i = 0; i < (every ? input.accumulation_steps : 1); ++i)
    ready = add_synchronized_micro_batch(program, input, ready);
  if (is_sharded(input))
    add_sharded_optimizer(program, input, ready);
  else
    program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, full_optimizer_time(input), {ready});
}

Program build_ddp(const ScheduleInput& input, Tables& tables) {
  ProgramBuilder program(tables, lane_names());
  for (int update = 0; update < input.updates; ++update) {
    add_ddp_update(program, input);
    end_update(program, input);
  }
  return program.take(input.kind.workload.micro_batch_size);
}

/// (A - 1) t + S + O, S being synchronized_micro_batch_time(); every micro-batch synchronized: A S + O. Sharded: the
/// optimizer on the largest share + the owners' broadcasts.
Seconds ddp_closed_form(const ScheduleInput& input) {
  const Seconds t = input.kind.forward + input.kind.backward, S = synchronized_micro_batch_time(input);
  const int A = input.accumulation_steps;
  const Seconds gradients = input.spec.sync == Sync::kEveryMicroBatch ? A * S : (A - 1) * t + S;
  if (!is_sharded(input)) return gradients + full_optimizer_time(input);
  Seconds broadcasts;
  for (const PlanRequest& request : owners_broadcasts(input)) broadcasts += request_time(input.costs, request);
  return gradients + owner_optimizer_time(input) + broadcasts + parameters_taken_time(input);
}

}  // namespace accosim
