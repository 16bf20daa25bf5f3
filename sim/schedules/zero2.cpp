// ZeRO-2 (arXiv 1910.02054): as ZeRO-1, but a rank keeps the gradients of its shard only, so they are reduce-scattered
// after every micro-batch, in buckets during its backward or in one piece after it; each rank then steps its shard and
// the parameters are all-gathered. Synchronized on the last micro-batch alone it sends as little as ZeRO-1 and holds
// whole gradients until then.
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

const std::vector<int>& lanes() {
  static const std::vector<int> kBoth{kComputeLane, kCommunicationLane};
  return kBoth;
}

/// One micro-batch whose gradients are reduced before the next one begins, as DeepSpeed's backward() does.
void add_reduced_micro_batch(ProgramBuilder& program, const ScheduleInput& input) {
  const OpRef reduced = add_synchronized_micro_batch(program, input, {kCommunicationLane, -1});
  program.compute(kComputeLane, "wait for gradients", OpClass::kCopy, Seconds{0}, {reduced});
}

}  // namespace

Program build_zero2(const ScheduleInput& input, Tables& tables) {
  ProgramBuilder program(tables, lane_names());
  const bool every = input.spec.sync == Sync::kEveryMicroBatch;
  for (int update = 0; update < input.updates; ++update) {
    if (!every) add_micro_batches(program, input, input.accumulation_steps - 1);
    program.begin_loop(lanes(), every ? input.accumulation_steps : 1, {program.last(kComputeLane)});
    add_reduced_micro_batch(program, input);
    program.end_loop(lanes());
    const OpRef stepped = program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, shard_optimizer_time(input));
    const OpRef gathered = program.collective(kCommunicationLane, "all-gather", parameter_gather(input), {stepped});
    add_parameters_taken(program, input, gathered);
    end_update(program, input);
  }
  return program.take(input.kind.workload.micro_batch_size);
}

/// A S + O / N + T_ag, or (A - 1) t + S + O / N + T_ag when synchronized once; S is synchronized_micro_batch_time().
Seconds zero2_closed_form(const ScheduleInput& input) {
  const Seconds t = input.kind.forward + input.kind.backward, S = synchronized_micro_batch_time(input);
  const int A = input.accumulation_steps;
  const Seconds gradients = input.spec.sync == Sync::kEveryMicroBatch ? A * S : (A - 1) * t + S;
  return gradients + shard_optimizer_time(input) + request_time(input.costs, parameter_gather(input)) +
         parameters_taken_time(input);
}

}  // namespace accosim
