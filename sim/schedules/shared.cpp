// The parts that schedules are made of.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "models/spec/device.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "models/spec/training.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

std::vector<std::string> lane_names() { return {"compute", "communication"}; }

std::vector<Bucket> buckets_of(const std::vector<LayerTime>& layers, Bytes gradient_element, const ScheduleSpec& spec,
                               int ranks) {
  const Bytes cap = bucket_cap_of(spec, ranks), first = spec.first_bucket == spec.bucket_cap ? cap : spec.first_bucket;
  std::vector<Seconds> forward{Seconds{0}};  // where each layer begins
  for (const LayerTime& layer : layers) forward.push_back(forward.back() + layer.forward);
  std::vector<Bucket> buckets;
  Bucket filling;
  Seconds begin, needed = forward.back();
  const auto close = [&] {
    if (filling.tensors.empty()) return;
    buckets.push_back(std::move(filling));
    filling = {};
  };
  for (std::size_t i = layers.size(); i-- > 0;) {
    const LayerTime& layer = layers[i];
    for (const GradientTensor& tensor : *layer.gradients) {
      filling.bytes += tensor.elements * gradient_element;
      filling.ready = begin + tensor.ready * layer.backward;
      filling.needed = needed = std::min(needed, forward[i] + tensor.needed * layer.forward);
      filling.tensors.push_back(tensor.elements);
      const Bytes limit = buckets.empty() ? first : cap;
      if (spec.buckets == Buckets::kTensors && filling.bytes >= limit) close();
    }
    begin += layer.backward;
    if (spec.buckets == Buckets::kUnits) close();
  }
  close();
  if (!buckets.empty()) buckets.back().ready = begin;  // against rounding: the last one is complete when the pass is
  return buckets;
}

Seconds shard_optimizer_time(const ScheduleInput& input) {
  const Costs& costs = input.costs;
  return optimizer_time(costs, shard_of(costs.parameters, input.kind.shards), input.kind.device);
}

Seconds full_optimizer_time(const ScheduleInput& input) {
  const Costs& costs = input.costs;
  return optimizer_time(costs, costs.parameters, input.kind.device);
}

void end_update(ProgramBuilder& program, const ScheduleInput& input) {
  program.mark(kComputeLane, Mark::kUpdate);
  if (!input.costs.pace.pauses.empty()) program.pause(kComputeLane);
}

std::vector<Bucket> gradient_buckets(const ScheduleInput& input) {
  return buckets_of(input.kind.times, bytes_of(input.costs.gradient_dtype), input.spec, input.kind.shards);
}

void add_backward(ProgramBuilder& program, const ScheduleInput& input) {
  program.compute(kComputeLane, "backward", OpClass::kBackward, input.kind.backward, {}, 1, input.kind.work.backward);
}

void add_micro_batch(ProgramBuilder& program, const ScheduleInput& input) {
  program.compute(kComputeLane, "forward", OpClass::kForward, input.kind.forward, {}, 0, input.kind.work.forward);
  add_backward(program, input);
}

void add_micro_batches(ProgramBuilder& program, const ScheduleInput& input, int count) {
  if (count == 0) return;
  program.begin_loop(kComputeLane, count);
  add_micro_batch(program, input);
  program.end_loop(kComputeLane);
}

namespace {

int least_looks(const ScheduleInput& input, int least) {
  return (least + input.spec.poll_every - 1) / input.spec.poll_every;
}

/// Where the released ACCO waits on the host for the GPU (after each group of micro-batches, after each swap, after
/// each round of the communication lane) the GPU then waits for the host's next launch: one launch interval.
Seconds drain_time(const ScheduleInput& input) { return input.kind.device.launch_interval; }

}  // namespace

void add_micro_batches_until(ProgramBuilder& program, const ScheduleInput& input, int least, OpRef until) {
  program.begin_loop(kComputeLane, least_looks(input, least), until, input.spec.poll_every);
  add_micro_batch(program, input);
  // Once in poll_every micro-batches; each has its part of it, so that a loop of millions stays one body.
  program.host(kComputeLane, "drained host", 1.0 / input.spec.poll_every * drain_time(input));
  program.end_loop(kComputeLane);
}

namespace {

CollectiveKind reduction_of(const ScheduleSpec& spec) {
  const bool whole = traits_of(spec).sharding == Sharding::kNothing || spec.reduction == Reduction::kAllReduce;
  return whole ? CollectiveKind::kAllReduce : CollectiveKind::kReduceScatter;
}

/// PyTorch's DDP scales by 1/n what it is given, also in views; others fold that into what they read or write anyway.
bool is_ddp_bucket(const ScheduleSpec& spec) {
  return traits_of(spec).sharding == Sharding::kNothing && spec.buckets == Buckets::kTensors;
}

/// Every gradient of the bucket read and written once, by a kernel each.
Seconds copies_time(const ScheduleInput& input, const Bucket& bucket) {
  Seconds time;
  for (const double elements : bucket.tensors) {
    const Bytes bytes = elements * bytes_of(input.costs.gradient_dtype);
    time += memory_time(bytes, bytes, input.kind.device);
  }
  return time;
}

Seconds cast_time(const ScheduleInput& input, Bytes bytes) { return memory_time(bytes, bytes, input.kind.device); }

/// With its scaling; what is a view is scaled where it is. One rank is not wrapped in DDP. A copy casts as it copies;
/// where there is none a cast is a kernel of its own.
Seconds copies_into(const ScheduleInput& input, const Bucket& bucket) {
  if (input.kind.shards == 1) return Seconds{0};
  if (has_bucket_copies(input.spec) || is_ddp_bucket(input.spec)) return copies_time(input, bucket);
  return input.kind.casts_gradients ? cast_time(input, bucket.bytes) : Seconds{0};
}

Seconds copies_back(const ScheduleInput& input, const std::vector<Bucket>& buckets) {
  Seconds time;
  // A sharded optimizer reads its part where it was reduced.
  const bool whole = traits_of(input.spec).sharding == Sharding::kNothing, copied = has_bucket_copies(input.spec);
  if (!whole || !(copied || input.kind.casts_gradients) || input.kind.shards == 1) return time;
  for (const Bucket& bucket : buckets) time += copied ? copies_time(input, bucket) : cast_time(input, bucket.bytes);
  return time;
}

/// The name of an op that copies gradients, or casts them as it does so.
std::string cast_or(const ScheduleInput& input, const char* copy, Dtype to) {
  return input.kind.casts_gradients ? std::string("cast gradients to ") + name_of(to) : copy;
}

PlanRequest reduction(const ScheduleInput& input, const Bucket& bucket) {
  return {reduction_of(input.spec), bucket.bytes, 1, update_ranks(input.spec)};
}

/// "all-reduce of a bucket".
std::string name_of_reduction(CollectiveKind kind, bool whole) {
  const std::string name = kind == CollectiveKind::kAllReduce ? "all-reduce" : "reduce-scatter";
  return whole ? name : name + " of a bucket";
}

}  // namespace

OpRef add_synchronized_micro_batch(ProgramBuilder& program, const ScheduleInput& input, OpRef wait) {
  program.compute(kComputeLane, "forward", OpClass::kForward, input.kind.forward, {wait}, 0, input.kind.work.forward);
  return add_synchronized_backward(program, input);
}

OpRef add_synchronized_backward(ProgramBuilder& program, const ScheduleInput& input) {
  const std::vector<Bucket> buckets = gradient_buckets(input);
  const std::string name = name_of_reduction(reduction_of(input.spec), input.spec.buckets == Buckets::kWhole);
  const bool overlap = input.spec.overlap == Overlap::kBackward;
  Seconds done;
  OpRef sent{kCommunicationLane, -1};
  for (const Bucket& bucket : buckets) {
    const bool last = &bucket == &buckets.back();
    if (!overlap && !last) continue;
    OpRef filled = program.compute(kComputeLane, "backward", OpClass::kBackward, bucket.ready - done, {}, last ? 1 : 0,
                                   input.kind.work.backward);
    if (const Seconds copies = copies_into(input, bucket); overlap && copies > Seconds{0})
      filled = program.compute(kComputeLane, cast_or(input, "copy gradients into bucket", input.costs.gradient_dtype),
                               OpClass::kCopy, copies);
    if (overlap) sent = program.collective(kCommunicationLane, name, reduction(input, bucket), {filled});
    done = bucket.ready;
  }
  if (!overlap) {
    Seconds copies;
    for (const Bucket& bucket : buckets) copies += copies_into(input, bucket);
    if (copies > Seconds{0})
      program.compute(kComputeLane, cast_or(input, "copy gradients into buckets", input.costs.gradient_dtype),
                      OpClass::kCopy, copies);
    add_count(program, input);
    for (const Bucket& bucket : buckets)
      sent = program.collective(kCommunicationLane, name, reduction(input, bucket), {program.last(kComputeLane)});
  }
  const Seconds back = copies_back(input, buckets);
  if (back == Seconds{0}) return sent;
  const std::string taken = cast_or(input, "copy gradients back", input.kind.workload.compute);
  return program.compute(kComputeLane, taken, OpClass::kCopy, back, {sent});
}

void add_parameters_taken(ProgramBuilder& program, const ScheduleInput& input, OpRef gathered) {
  if (input.kind.casts_parameters)
    program.compute(kComputeLane, std::string("cast parameters to ") + name_of(input.kind.workload.compute),
                    OpClass::kCopy, cast_time(input, input.costs.parameter_bytes()), {gathered});
  else
    program.compute(kComputeLane, "wait for parameters", OpClass::kCopy, Seconds{0}, {gathered});
}

PlanRequest parameter_gather(const ScheduleInput& input) {
  const Bytes bytes = input.costs.parameter_bytes(), cap = input.spec.gather_cap;
  // As many pieces as fit whole (DeepSpeed's runtime/utils.py, all_gather_dp_groups).
  const double pieces = cap > Bytes{0} ? std::max(1.0, std::floor(bytes / cap)) : 1;
  return {CollectiveKind::kAllGather, bytes, static_cast<int>(pieces)};
}

namespace {

// One 32-bit counter of micro-batches a rank.
const PlanRequest kCounts{CollectiveKind::kAllReduce, Bytes{4}};

Seconds clone_time(const ScheduleInput& input) {
  // fp32 master, m and v of the shard; the master alone where the moments stay.
  const Bytes each{input.spec.rollback_estimate ? 12.0 : 4.0};
  const Bytes states = shard_of(input.costs.parameters, input.kind.shards) * each;
  return memory_time(states, states, input.kind.device);
}

}  // namespace

void add_count(ProgramBuilder& program, const ScheduleInput& input) {
  if (input.spec.count_micro_batches)
    program.collective(kCommunicationLane, "all-reduce of counts", kCounts, {program.last(kComputeLane)});
}

namespace {

/// The shard's reduced gradient copied to fp32, and multiplied by one over the count. accocal's optimizer does both.
Seconds scaling_time(const ScheduleInput& input) {
  if (input.costs.implementation == Implementation::kAccocal) return Seconds{0};
  const double elements = shard_of(input.costs.parameters, input.kind.shards);
  const Bytes reduced = elements * bytes_of(input.costs.gradient_dtype), wide = elements * bytes_of(Dtype::kFp32);
  return memory_time(reduced, wide, input.kind.device) + memory_time(wide, wide, input.kind.device);
}

}  // namespace

OpRef add_sharded_update(ProgramBuilder& program, const ScheduleInput& input, OpRef swap, Round round) {
  const Costs& costs = input.costs;
  const bool clone = round == Round::kEstimate;
  program.host(kCommunicationLane, "drained host", drain_time(input), {swap});
  if (clone) program.compute(kCommunicationLane, "clone optimizer states", OpClass::kCopy, clone_time(input));
  program.collective(kCommunicationLane, "all-reduce of counts", kCounts);
  program.collective(kCommunicationLane, "reduce-scatter", {CollectiveKind::kReduceScatter, costs.gradient_bytes()});
  if (const Seconds scaling = scaling_time(input); scaling > Seconds{0})
    program.compute(kCommunicationLane, "copy and scale gradients", OpClass::kCopy, scaling);
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

OpRef add_swap(ProgramBuilder& program, const ScheduleInput& input, OpRef communication, bool clear) {
  // It copies from buffer to buffer, so it casts as it copies.
  const bool casts = input.kind.casts_gradients || input.kind.casts_parameters;
  const char* const name = casts ? (clear ? "swap, cast and clear buffers" : "swap and cast buffers")
                                 : (clear ? "swap and clear buffers" : "swap buffers");
  const Bytes parameters = input.costs.parameter_bytes(), gradients = input.costs.gradient_bytes();
  Seconds time = memory_time(parameters, parameters, input.kind.device) +
                 memory_time(gradients, gradients, input.kind.device) + drain_time(input);
  if (clear) time += memory_time(Bytes{0}, gradients, input.kind.device);
  return program.compute(kComputeLane, name, OpClass::kCopy, time, {communication});
}

}  // namespace accosim
