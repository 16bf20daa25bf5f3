// What an update of each schedule takes on identical ranks, without interference, derived by hand: what tests hold the
// player to.
#pragma once

#include <vector>

#include "models/price/layer_time.hpp"
#include "sim/schedules/buckets.hpp"
#include "sim/schedules/delayed.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {

/// A bucket and when it is full and wanted.
struct TimedBucket : Bucket {
  Seconds ready;   ///< when its last tensor is, counted from the begin of the backward pass; the last bucket with it
  Seconds needed;  ///< when its parameters are, or those of a bucket that is gathered after it, are first read, counted
                   ///< from the begin of the forward pass
};
std::vector<TimedBucket> timed_buckets(const std::vector<LayerTime>& layers, Bytes gradient_element,
                                       const ScheduleSpec& spec, int ranks = 1);
/// Of a rank.
std::vector<TimedBucket> timed_buckets(const ScheduleInput& input);

/// Of the schedule that the spec names: the steady time of an update with input.accumulation_steps micro-batches a
/// rank.
Seconds closed_form(const ScheduleInput& input);
/// Micro-batches of a rank in that update: those asked for, or more where a schedule accumulates while its
/// communication is late.
double closed_form_micro_batches(const ScheduleInput& input);

/// Of one schedule; also of the updates inside a replica.
Seconds ddp_closed_form(const ScheduleInput& input);
Seconds zero1_closed_form(const ScheduleInput& input);
Seconds zero3_closed_form(const ScheduleInput& input);
Seconds acco_closed_form(const ScheduleInput& input);
/// Of those whose replicas make updates by themselves.
Seconds local_closed_form(const ScheduleInput& input);

/// S, a micro-batch and the reduction of its gradients: forward, and c_last + copies back; bucket b has been sent at
/// c_b = max(c_(b-1), ready_b) + T_b, ready_b counting the copies into the buckets up to b. Without overlap all are
/// sent after the backward pass, and after the counts where those are asked for. In hybrid sharding that is the
/// reduce-scatter in a node, and a_b = max(a_(b-1), c_b) + A_b, with A_b the all-reduce of the bucket's shard between
/// nodes; a_last then stands for c_last.
Seconds synchronized_micro_batch_time(const ScheduleInput& input);
/// T_r, a round of a communication lane: the all-reduce of the counts, reduce-scatter, the shard's optimizer,
/// all-gather, and the copies of the states where there are any.
Seconds sharded_update_time(const ScheduleInput& input, Round round);
/// s, the swap of buffers that ends a round.
Seconds swap_time(const ScheduleInput& input, bool clear);
/// A meeting of replicas.
Seconds exchange_time(const ScheduleInput& input);

}  // namespace accosim
