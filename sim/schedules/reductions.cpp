#include "sim/schedules/reductions.hpp"

#include <string>

#include "models/spec/schedule_traits.hpp"
#include "sim/schedules/host.hpp"

namespace accosim {
namespace {

bool is_whole(const ScheduleSpec& spec) { return traits_of(spec).sharding == Sharding::kNothing; }

CollectiveKind reduction_of(const ScheduleSpec& spec) {
  const bool all = is_whole(spec) || spec.reduction == Reduction::kAllReduce;
  return all ? CollectiveKind::kAllReduce : CollectiveKind::kReduceScatter;
}

/// "all-reduce of a bucket".
std::string name_of_reduction(const ScheduleSpec& spec) {
  const std::string name = reduction_of(spec) == CollectiveKind::kAllReduce ? "all-reduce" : "reduce-scatter";
  return spec.buckets == Buckets::kWhole ? name : name + " of a bucket";
}

/// PyTorch's DDP scales by 1/n what it is given, also in views; others fold that into what they read or write anyway.
bool is_ddp_bucket(const ScheduleSpec& spec) { return is_whole(spec) && spec.buckets == Buckets::kTensors; }

Seconds cast_time(const ScheduleInput& input, Bytes bytes) { return memory_time(bytes, bytes, input.kind.device); }

/// With its scaling; what is a view is scaled where it is. One rank is not wrapped in DDP. A copy casts as it copies;
/// where there is none a cast is a kernel of its own.
Seconds copies_into(const ScheduleInput& input, const Bucket& bucket) {
  if (input.kind.ranks == 1) return Seconds{0};
  if (has_bucket_copies(input.spec) || is_ddp_bucket(input.spec)) return copies_time(input, bucket);
  return input.kind.casts_gradients ? cast_time(input, bucket.bytes) : Seconds{0};
}

Seconds copies_back(const ScheduleInput& input, const std::vector<Bucket>& buckets) {
  Seconds time;
  // A sharded optimizer reads its part where it was reduced.
  const bool copied = has_bucket_copies(input.spec);
  if (!is_whole(input.spec) || !(copied || input.kind.casts_gradients) || input.kind.ranks == 1) return time;
  for (const Bucket& bucket : buckets) time += copied ? copies_time(input, bucket) : cast_time(input, bucket.bytes);
  return time;
}

/// The name of an op that copies gradients, or casts them as it does so.
std::string cast_or(const ScheduleInput& input, const char* copy, Dtype to) {
  return input.kind.casts_gradients ? std::string("cast gradients to ") + name_of(to) : copy;
}

}  // namespace

Reductions::Reductions(const RuleInput& input) : input_(input), buckets_(gradient_buckets(input)) {}

After Reductions::hook(bool copies_to_host) {
  const auto stands = [this](int set, int tensor) {
    return overlaps() ? next_ < buckets_.size() && buckets_[next_].ends_with(set, tensor)
                      : !buckets_.empty() && buckets_.back().ends_with(set, tensor);
  };
  const auto write = [this, copies_to_host](ProgramBuilder& program, int, int, OpRef computed) {
    if (overlaps()) {
      const Bucket& bucket = buckets_[next_++];
      if (const Seconds copies = copies_into(input_, bucket); copies > Seconds{0})
        computed =
            program.compute(kComputeLane, cast_or(input_, "copy gradients into bucket", input_.costs.gradient_dtype),
                            OpClass::kCopy, copies);
      send(program, bucket, computed, copies_to_host);
      return;
    }
    const OpRef filled = fill(program, computed);
    for (const Bucket& bucket : buckets_) send(program, bucket, filled, copies_to_host);
  };
  return {stands, write};
}

void Reductions::send(ProgramBuilder& program, const Bucket& bucket, OpRef filled, bool copies) {
  sent_ = reduce(program, bucket, filled);
  if (copies && input_.spec.offload_optimizer)
    copied_ =
        add_copy_to_host(program, input_, "gradients to host", shard_of(bucket.bytes, input_.kind.shards), {sent_});
}

OpRef Reductions::reduce(ProgramBuilder& program, const Bucket& bucket, OpRef filled) const {
  PlanRequest request{reduction_of(input_.spec), bucket.bytes, 1, bucket.copies};
  const bool in_islands = is_hybrid(input_.spec) && request.kind == CollectiveKind::kReduceScatter;
  if (in_islands) request.ranks = sharing(input_.spec, bucket.copies);
  const OpRef reduced = program.collective(kCommunicationLane, name_of_reduction(input_.spec), request, {filled});
  if (!in_islands) return reduced;
  const PlanRequest shared{CollectiveKind::kAllReduce, shard_of(bucket.bytes, input_.kind.shards), 1,
                           same_part(bucket.copies)};
  return program.collective(program.lane("replicas"), "all-reduce of a shard", shared, {reduced});
}

/// All buckets, after the pass; and the counts.
OpRef Reductions::fill(ProgramBuilder& program, OpRef computed) const {
  const Seconds copies = sum_of<Seconds>(buckets_, [&](const Bucket& bucket) { return copies_into(input_, bucket); });
  if (copies > Seconds{0})
    computed =
        program.compute(kComputeLane, cast_or(input_, "copy gradients into buckets", input_.costs.gradient_dtype),
                        OpClass::kCopy, copies);
  if (input_.spec.count_micro_batches) add_counts(program, input_, computed);
  return computed;
}

OpRef Reductions::finish(ProgramBuilder& program) {
  next_ = 0;
  const Seconds back = copies_back(input_, buckets_);
  if (back == Seconds{0}) return sent_;
  const std::string taken = cast_or(input_, "copy gradients back", input_.kind.workload.compute);
  return program.compute(kComputeLane, taken, OpClass::kCopy, back, {sent_});
}

void write_reduced(ProgramBuilder& program, const RuleInput& input, Reductions& reductions) {
  const bool every = input.spec.sync == Sync::kEveryMicroBatch, host = input.spec.offload_optimizer;
  const auto hooks_of = [&](bool copies) {
    Hooks hooks{.after = reductions.hook(copies)};
    hooks.end = [&, copies](ProgramBuilder& each) {
      const OpRef reduced = reductions.finish(each), copied = copies ? reductions.copied() : OpRef{kComputeLane, -1};
      each.compute(kComputeLane, "wait for gradients", OpClass::kCopy, Seconds{0}, {reduced, copied});
    };
    return hooks;
  };
  const int A = input.accumulation_steps;
  // A loop is on all lanes, and would wait for a host that works beside it.
  const auto often = [&](int count) {
    Often some{count};
    some.written = traits_of(input.spec).delayed;
    return some;
  };
  if (!every) write(program, input.body, {A - 1});
  if (every && host) write(program, input.body, often(A - 1), hooks_of(false));
  write(program, input.body, often(every && !host ? A : 1), hooks_of(true));
}

}  // namespace accosim
