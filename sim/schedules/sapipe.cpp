// SAPipe (Chen et al., NeurIPS 2022), as far as its abstract fixes it: partial staleness and weight prediction.
// Gradients are all-reduced in buckets in the backward pass, and a bucket is stepped when it is reduced; the next
// forward pass waits for nothing, so what has been stepped when it comes to a layer is fresh, and the rest is one
// update late. For that rest a rank predicts parameters from the gradients that it has, its own, in one pass over all
// of them. Ours: buckets as DDP has them, one set of them, so that a gradient is never more than an update late: the
// next update's fill when those before have been stepped; and steps on a stream of their own.
#include <cstddef>
#include <vector>

#include "sim/bodies/write.hpp"
#include "sim/schedules/buckets.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

/// What a step reads, of which only the parameters are written.
Seconds prediction_time(const ScheduleInput& input) {
  const Bytes parameter = bytes_of(input.spec.parameter_dtype), state = bytes_of(input.spec.optimizer_dtype);
  const Bytes read = 2 * state + (parameter < state ? state : parameter) + bytes_of(input.costs.gradient_dtype);
  return memory_time(input.kind.parameters * read, input.kind.parameters * parameter, input.kind.device);
}

}  // namespace

void add_sapipe_updates(ProgramBuilder& program, const RuleInput& input) {
  const std::vector<Bucket> buckets = gradient_buckets(input);
  const int steps = program.lane("optimizer");
  for (int update = 0; update < input.updates; ++update) {
    const OpRef stepped = program.last(steps);
    std::size_t next = 0;
    Hooks hooks;
    hooks.last.stands = [&](int set, int tensor) {
      return next < buckets.size() && buckets[next].ends_with(set, tensor);
    };
    hooks.last.write = [&](ProgramBuilder& each, int, int, OpRef) {
      const Bucket& bucket = buckets[next++];
      const OpRef filled = each.compute(kComputeLane, "copy gradients into bucket", OpClass::kCopy,
                                        copies_time(input, bucket), {stepped});
      const OpRef reduced = each.collective(kCommunicationLane, "all-reduce of a bucket",
                                            {CollectiveKind::kAllReduce, bucket.bytes, 1, bucket.copies}, {filled});
      const double elements = bucket.bytes / bytes_of(input.costs.gradient_dtype);
      each.compute(steps, "optimizer of a bucket", OpClass::kOptimizer,
                   optimizer_time(input.costs, elements, input.kind.device), {reduced});
    };
    write(program, input.body, {input.accumulation_steps}, hooks);
    const OpRef ready = write_finish(program, input.body, program.last(kComputeLane));
    program.compute(kComputeLane, "prediction", OpClass::kOptimizer, prediction_time(input), {ready});
    end_update(program, input);
  }
}

}  // namespace accosim
