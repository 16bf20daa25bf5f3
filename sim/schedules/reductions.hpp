// The reduction of an update's gradients, hooked into the backward pass that gives them last: a bucket at a time beside
// it, or all after it.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/bodies/write.hpp"
#include "sim/schedules/buckets.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

/// DDP multiplies each gradient by 1/n into its bucket, in the backward pass, and copies all of them back when the last
/// bucket is there, unless gradients are views of the buckets. A sharded optimizer's gradients are copied into buckets
/// too, and not back. In hybrid sharding they are reduce-scattered in each island and the shards all-reduced between
/// islands, on a queue of their own; or, with an all-reduce, reduced over all ranks at once.
class Reductions {
 public:
  /// `input` outlives it.
  explicit Reductions(const RuleInput& input);

  /// Outlived by this. `copies`: each bucket's shard goes to the host when it is reduced, where the optimizer is there.
  After hook(bool copies = true);
  /// After the pass, whose gradients are then reduced: copies them back, and begins anew. The op after which they are
  /// there.
  OpRef finish(ProgramBuilder& program);
  /// The last copy to the host.
  OpRef copied() const { return copied_; }

 private:
  bool overlaps() const { return input_.spec.overlap == Overlap::kBackward; }
  void send(ProgramBuilder& program, const Bucket& bucket, OpRef filled, bool copies);
  OpRef reduce(ProgramBuilder& program, const Bucket& bucket, OpRef filled) const;
  OpRef fill(ProgramBuilder& program, OpRef computed) const;

  const RuleInput& input_;
  std::vector<Bucket> buckets_;
  std::size_t next_ = 0;  // bucket to be filled
  OpRef sent_{kCommunicationLane, -1}, copied_{kComputeLane, -1};
};

/// The micro-batches of an update of which each, or the last one, is reduced before the next begins, as ZeRO-2 does it.
/// To the host go the sums of all of them, the last one's; what follows waits for that.
void write_reduced(ProgramBuilder& program, const RuleInput& input, Reductions& reductions);

}  // namespace accosim
