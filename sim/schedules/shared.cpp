// The parts that schedules are made of.
#include <algorithm>

#include "sim/schedules/schedule.hpp"

namespace accosim {

std::vector<std::string> lane_names() { return {"compute", "communication"}; }

std::vector<Bucket> buckets_of(const std::vector<LayerTime>& layers, Bytes gradient_element, Bytes first, Bytes cap) {
  std::vector<Bucket> buckets;
  Bytes filled, limit = first;
  Seconds now;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    const Bytes bytes = layer->parameters * gradient_element;
    Bytes left = bytes;
    while (left > Bytes{0} && filled + left >= limit) {
      left -= limit - filled;
      buckets.push_back({limit, now + (1 - left / bytes) * layer->backward});
      filled = Bytes{0};
      limit = cap;
    }
    filled += left;
    now += layer->backward;
  }
  if (filled > Bytes{0}) buckets.push_back({filled, now});
  buckets.back().ready = now;  // against rounding: the last one is complete when the pass is
  return buckets;
}

Seconds shard_optimizer_time(const ScheduleInput& input) {
  const Costs& costs = input.costs;
  return optimizer_time(costs, costs.parameters / costs.ranks(), input.kind.device);
}

Seconds full_optimizer_time(const ScheduleInput& input) {
  const Costs& costs = input.costs;
  return optimizer_time(costs, costs.parameters, input.kind.device);
}

void add_micro_batches(ProgramBuilder& program, const ScheduleInput& input, int count) {
  if (count == 0) return;
  program.begin_loop(kComputeLane, count);
  program.compute(kComputeLane, "forward", OpClass::kForward, input.kind.forward, {}, 0, input.kind.work.forward);
  program.compute(kComputeLane, "backward", OpClass::kBackward, input.kind.backward, {}, 1, input.kind.work.backward);
  program.end_loop(kComputeLane);
}

void add_local_updates(ProgramBuilder& program, const ScheduleInput& input) {
  program.begin_loop(kComputeLane, input.spec.inner_updates);
  add_micro_batches(program, input, input.accumulation_steps);
  program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, full_optimizer_time(input));
  program.end_loop(kComputeLane);
}

Seconds local_update_time(const ScheduleInput& input) {
  return input.accumulation_steps * (input.kind.forward + input.kind.backward) + full_optimizer_time(input);
}

void add_micro_batches_until(ProgramBuilder& program, const ScheduleInput& input, int min_looks, OpRef until) {
  program.begin_loop(kComputeLane, min_looks, until, input.spec.poll_every);
  program.compute(kComputeLane, "forward", OpClass::kForward, input.kind.forward, {}, 0, input.kind.work.forward);
  program.compute(kComputeLane, "backward", OpClass::kBackward, input.kind.backward, {}, 1, input.kind.work.backward);
  program.end_loop(kComputeLane);
}

OpRef add_overlapped_micro_batch(ProgramBuilder& program, const ScheduleInput& input, CollectiveKind kind,
                                 const std::vector<OpRef>& waits) {
  program.compute(kComputeLane, "forward", OpClass::kForward, input.kind.forward, waits, 0, input.kind.work.forward);
  const std::vector<Bucket> buckets = buckets_of(input.kind.times, bytes_of(input.costs.gradient_dtype),
                                                 input.spec.first_bucket, input.spec.bucket_cap);
  const char* name = kind == CollectiveKind::kAllReduce ? "all-reduce of a bucket" : "reduce-scatter of a bucket";
  Seconds done;
  OpRef sent{kCommunicationLane, -1};
  for (const Bucket& bucket : buckets) {
    const bool last = &bucket == &buckets.back();
    const OpRef filled = program.compute(kComputeLane, "backward", OpClass::kBackward, bucket.ready - done, {},
                                         last ? 1 : 0, input.kind.work.backward);
    sent = program.collective(kCommunicationLane, name, {kind, bucket.bytes}, {filled});
    done = bucket.ready;
  }
  return sent;
}

Seconds overlapped_backward_time(const ScheduleInput& input, CollectiveKind kind) {
  Seconds sent;
  for (const Bucket& bucket : buckets_of(input.kind.times, bytes_of(input.costs.gradient_dtype),
                                         input.spec.first_bucket, input.spec.bucket_cap))
    sent = std::max(sent, bucket.ready) + request_time(input.costs, {kind, bucket.bytes});
  return sent;
}

namespace {

// One 32-bit counter of micro-batches a rank.
const PlanRequest kCounts{CollectiveKind::kAllReduce, Bytes{4}};

Seconds clone_time(const ScheduleInput& input) {
  // fp32 master, m and v of the shard; the master alone where the moments stay.
  const Bytes each{input.spec.rollback_estimate ? 12.0 : 4.0};
  const Bytes states = input.costs.parameters / input.costs.ranks() * each;
  return memory_time(states, states, input.kind.device);
}

}  // namespace

void add_count(ProgramBuilder& program, const ScheduleInput& input) {
  if (input.spec.count_micro_batches)
    program.collective(kCommunicationLane, "all-reduce of counts", kCounts, {program.last(kComputeLane)});
}

Seconds count_time(const ScheduleInput& input) {
  return input.spec.count_micro_batches ? request_time(input.costs, kCounts) : Seconds{0};
}

OpRef add_sharded_update(ProgramBuilder& program, const ScheduleInput& input, OpRef swap, Round round) {
  const Costs& costs = input.costs;
  const bool clone = round == Round::kEstimate;
  if (clone) program.compute(kCommunicationLane, "clone optimizer states", OpClass::kCopy, clone_time(input), {swap});
  program.collective(kCommunicationLane, "all-reduce of counts", kCounts, {swap});
  program.collective(kCommunicationLane, "reduce-scatter", {CollectiveKind::kReduceScatter, costs.gradient_bytes()});
  program.compute(kCommunicationLane, "optimizer", OpClass::kOptimizer, shard_optimizer_time(input));
  if (round == Round::kPredict) {
    program.compute(kCommunicationLane, "clone optimizer states", OpClass::kCopy, clone_time(input));
    program.compute(kCommunicationLane, "prediction", OpClass::kOptimizer, shard_optimizer_time(input));
    program.compute(kCommunicationLane, "restore optimizer states", OpClass::kCopy, clone_time(input));
  }
  OpRef end =
      program.collective(kCommunicationLane, "all-gather", {CollectiveKind::kAllGather, costs.parameter_bytes()});
  if (clone) end = program.compute(kCommunicationLane, "restore optimizer states", OpClass::kCopy, clone_time(input));
  return end;
}

Seconds sharded_update_time(const ScheduleInput& input, Round round) {
  const Costs& costs = input.costs;
  Seconds clones = round == Round::kUpdate ? Seconds{0} : 2 * clone_time(input);
  if (round == Round::kPredict) clones += shard_optimizer_time(input);
  return clones + request_time(costs, kCounts) +
         request_time(costs, {CollectiveKind::kReduceScatter, costs.gradient_bytes()}) + shard_optimizer_time(input) +
         request_time(costs, {CollectiveKind::kAllGather, costs.parameter_bytes()});
}

OpRef add_swap(ProgramBuilder& program, const ScheduleInput& input, OpRef communication, bool clear) {
  return program.compute(kComputeLane, clear ? "swap and clear buffers" : "swap buffers", OpClass::kCopy,
                         swap_time(input, clear), {communication});
}

Seconds swap_time(const ScheduleInput& input, bool clear) {
  const Bytes parameters = input.costs.parameter_bytes(), gradients = input.costs.gradient_bytes();
  Seconds time =
      memory_time(parameters, parameters, input.kind.device) + memory_time(gradients, gradients, input.kind.device);
  if (clear) time += memory_time(Bytes{0}, gradients, input.kind.device);
  return time;
}

}  // namespace accosim
