// What every schedule is: a function from the costs of a kind of rank to that rank's program. One file each.
#pragma once

#include <string>
#include <vector>

#include "models/price/layer_time.hpp"
#include "models/price/price.hpp"
#include "models/spec/schedule.hpp"
#include "sim/graph/builder.hpp"
#include "sim/graph/graph.hpp"
#include "sim/schedules/groups.hpp"

namespace accosim {

/// What a schedule sees. Durations are those of one kind of rank; all kinds make the same collectives in the same
/// order.
struct ScheduleInput {
  const ScheduleSpec& spec;
  const Costs& costs;
  const RankKind& kind;
  int accumulation_steps = 1;  ///< micro-batches per update of such a rank
  int updates = 1;             ///< how many to write down
};

/// One update, without its mark.
void add_ddp_update(ProgramBuilder& program, const ScheduleInput& input);
void add_zero1_update(ProgramBuilder& program, const ScheduleInput& input);
void add_zero2_update(ProgramBuilder& program, const ScheduleInput& input);
void add_zero3_update(ProgramBuilder& program, const ScheduleInput& input);
void add_diloco_update(ProgramBuilder& program, const ScheduleInput& input);
void add_local_sgd_update(ProgramBuilder& program, const ScheduleInput& input);
/// All updates with their marks: each goes on from the swap of the one before.
void add_dpu_updates(ProgramBuilder& program, const ScheduleInput& input);
void add_acco_updates(ProgramBuilder& program, const ScheduleInput& input);

/// The graph of a schedule on the whole cluster: a program a kind of rank, its groups, and the links they use. A kind
/// without steps of its own does `accumulation_steps` micro-batches per update.
EventGraph build(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps, int updates);
/// Its programs alone. Those of fewer updates are what they begin with, op for op.
std::vector<Program> programs_of(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps, int updates);
/// The different collectives that such programs ask for.
std::vector<PlanRequest> requests_of(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps);

// ---- shared by the schedules ----

/// A bucket of gradients, of whole tensors.
struct Bucket {
  Bytes bytes;
  Seconds ready;                ///< when its last tensor is, counted from the begin of the backward pass
  Seconds needed;               ///< when its parameters are, or those of a bucket that is gathered after it, are first
                                ///< read, counted from the begin of the forward pass
  std::vector<double> tensors;  ///< their elements
};

/// Gradients in the order in which they become ready, in the buckets that the spec asks for. Buckets of tensors close
/// when they reach their size, the first at first_bucket, so they exceed it by up to a tensor, as those of PyTorch's
/// DDP after its first step (torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size). Parameters
/// are gathered in the same buckets, the last one first, so that a bucket is needed no later than those before it.
/// `ranks` make the update together.
std::vector<Bucket> buckets_of(const std::vector<LayerTime>& layers, Bytes gradient_element, const ScheduleSpec& spec,
                               int ranks = 1);
/// Of a rank.
std::vector<Bucket> gradient_buckets(const ScheduleInput& input);

/// The optimizer on one rank's shard, and on all parameters.
Seconds shard_optimizer_time(const ScheduleInput& input);
Seconds full_optimizer_time(const ScheduleInput& input);

/// Lanes that all schedules have.
inline constexpr int kComputeLane = 0;
inline constexpr int kCommunicationLane = 1;
std::vector<std::string> lane_names();

/// The mark of an update on the compute lane and, where the play has pauses, the place for one.
void end_update(ProgramBuilder& program, const ScheduleInput& input);
/// One micro-batch whose gradients stay; its backward pass alone; and `count` of them, one after the other.
void add_backward(ProgramBuilder& program, const ScheduleInput& input);
void add_micro_batch(ProgramBuilder& program, const ScheduleInput& input);
void add_micro_batches(ProgramBuilder& program, const ScheduleInput& input, int count);
/// Those of ZeRO-3.
std::vector<std::string> zero3_lane_names(const ScheduleInput& input);
/// A forward pass by itself, with the gathers that it waits for.
Seconds zero3_forward_time(const ScheduleInput& input);
/// Whole groups of `poll_every` micro-batches, at least `least` micro-batches, until `until` has ended.
void add_micro_batches_until(ProgramBuilder& program, const ScheduleInput& input, int least, OpRef until);
/// One micro-batch and the reduction of its gradients, in buckets while the backward pass runs or after it; returns the
/// op after which they are there. DDP multiplies each gradient by 1/n into its bucket, in the backward pass, and copies
/// all of them back when the last bucket is there, unless gradients are views of the buckets. A sharded optimizer's
/// gradients are copied into buckets too, and not back.
OpRef add_synchronized_micro_batch(ProgramBuilder& program, const ScheduleInput& input, OpRef wait);
/// What comes after its forward pass.
OpRef add_synchronized_backward(ProgramBuilder& program, const ScheduleInput& input);
/// What ends an update of a sharded optimizer on the compute lane once all parameters are there: nothing, or on a rank
/// whose 16-bit type is not the one that they came in, a cast of them all.
void add_parameters_taken(ProgramBuilder& program, const ScheduleInput& input, OpRef gathered);
/// The all-gather of all parameters by a sharded optimizer, in the pieces that the spec asks for.
PlanRequest parameter_gather(const ScheduleInput& input);

/// The forward pass of an update's first micro-batch, which begins when the optimizer has stepped, beside the gathers
/// of its parameters: in the buckets of the gradients, the last one first. A module waits for its bucket and then sends
/// for the next one; or all are sent for at the begin (align_param_gather). On a rank whose 16-bit type is another one
/// a bucket is cast when it is there. As Megatron-LM does it (megatron/core/distributed/param_and_grad_buffer.py,
/// finish_param_sync()).
void add_gathered_forward(ProgramBuilder& program, const ScheduleInput& input);

/// What the communication lane does in one round: an update of the shard; an estimate, with the states saved before and
/// restored after it; or an update and then a prediction from it, saved and restored likewise.
enum class Round : std::uint8_t { kUpdate, kEstimate, kPredict };

/// All-reduces the counts of micro-batches, reduce-scatters, scales, steps the shard, all-gathers. Waits for `swap`.
OpRef add_sharded_update(ProgramBuilder& program, const ScheduleInput& input, OpRef swap, Round round);
/// All-reduces the ranks' numbers of micro-batches after the last op of the compute lane, where the spec asks for that
/// (count_micro_batches).
void add_count(ProgramBuilder& program, const ScheduleInput& input);

/// The buffer swap that ends a round on the compute lane, after `communication`: parameters from the communication
/// buffer, gradients into it, the gradients cleared where the next round starts a sum anew, and a drained host.
OpRef add_swap(ProgramBuilder& program, const ScheduleInput& input, OpRef communication, bool clear);

}  // namespace accosim
