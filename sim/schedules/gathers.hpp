// The gathers of a sharded optimizer's parameters beside the forward pass that follows its step.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/bodies/write.hpp"
#include "sim/schedules/buckets.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

/// In the buckets of the gradients, the last one first. A module waits for its bucket and then sends for the next one;
/// or all are sent for at the begin (align_param_gather). On a rank whose 16-bit type is another one a bucket is cast
/// when it is there. As Megatron-LM does it (megatron/core/distributed/param_and_grad_buffer.py, finish_param_sync()).
class Gathers {
 public:
  /// `input` outlives it.
  explicit Gathers(const RuleInput& input);

  /// Sends for the first bucket, after the optimizer has stepped. Before the pass.
  void begin(ProgramBuilder& program);
  /// Outlived by this.
  Before hook();

 private:
  OpRef send_for(ProgramBuilder& program, std::size_t bucket, OpRef after) const;
  OpRef take(ProgramBuilder& program);

  const RuleInput& input_;
  std::vector<Bucket> buckets_;                                         // in the order in which they are gathered
  std::vector<std::vector<int>> place_;                                 // by set and tensor: which bucket
  std::size_t next_ = 0;                                                // to be waited for
  OpRef stepped_{kComputeLane, -1}, gathered_{kCommunicationLane, -1};  // gathered_: bucket next_
};

}  // namespace accosim
