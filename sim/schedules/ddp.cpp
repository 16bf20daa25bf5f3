// Data parallel with replicated parameters: gradients are all-reduced, in one piece after the last backward or in
// buckets while it runs, after the last micro-batch of an update (PyTorch's no_sync) or after every one. Rank 0 sends
// its buffers before the forward pass that follows a synchronised one: the first of an update, or every one. The
// optimizer runs on all parameters everywhere, or (ZeroRedundancyOptimizer) on a rank's tensors, whose owner then
// broadcasts them.
#include <cmath>

#include "sim/bodies/write.hpp"
#include "sim/schedules/reductions.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

bool is_sharded(const ScheduleInput& input) {
  return input.spec.optimizer_sharding == OptimizerSharding::kZeroRedundancy;
}

void add_sharded_optimizer(ProgramBuilder& program, const RuleInput& input, OpRef ready) {
  add_parameters(program, input,
                 program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, shard_optimizer_time(input), {ready}));
}

// PyTorch flattens buffers for their broadcast into pieces of this size (nn/parallel/distributed.py,
// broadcast_bucket_size).
constexpr double kBufferPiece = 250 * 1024.0 * 1024.0;

Bytes broadcast_buffers(const ScheduleInput& input) {
  return input.spec.broadcast_buffers && input.kind.shards > 1 ? input.costs.buffers : Bytes{0};
}

PlanRequest buffers_request(Bytes buffers) {
  return {CollectiveKind::kBroadcast, buffers, static_cast<int>(std::ceil(buffers.value / kBufferPiece))};
}

/// Flattened, sent, and copied out of the flat buffer.
OpRef add_buffers(ProgramBuilder& program, const RuleInput& input, OpRef wait) {
  const Bytes buffers = broadcast_buffers(input);
  if (buffers == Bytes{0}) return wait;
  const Seconds copy = memory_time(buffers, buffers, input.kind.device);
  const OpRef flat = program.compute(kComputeLane, "flatten buffers", OpClass::kCopy, copy, {wait});
  const OpRef sent = add_over_copies(program, input, "broadcast of buffers", buffers_request(buffers), {flat});
  return program.compute(kComputeLane, "copy buffers back", OpClass::kCopy, copy, {sent});
}

/// Once a synchronised micro-batch has ended the next forward pass sends the buffers; one whose gradients stay does not
/// ask for that again (nn/parallel/distributed.py: require_forward_param_sync).
OpRef add_gradients(ProgramBuilder& program, const RuleInput& input) {
  Reductions reductions(input);
  OpRef ready{kCommunicationLane, -1};
  Often often{input.accumulation_steps};
  Hooks hooks;
  if (input.spec.sync == Sync::kEveryMicroBatch) {
    often.written = true;
    hooks.after = reductions.hook();
    hooks.begin = [&](ProgramBuilder& each) { return add_buffers(each, input, ready); };
    hooks.end = [&](ProgramBuilder& each) { ready = reductions.finish(each); };
    write(program, input.body, often, hooks);
    return ready;
  }
  hooks.last = reductions.hook();
  add_buffers(program, input, ready);
  write(program, input.body, often, hooks);
  return reductions.finish(program);
}

}  // namespace

void add_ddp_update(ProgramBuilder& program, const RuleInput& input) {
  const OpRef ready = write_finish(program, input.body, add_gradients(program, input));
  if (is_sharded(input))
    add_sharded_optimizer(program, input, ready);
  else
    program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, full_optimizer_time(input), {ready});
}

}  // namespace accosim
