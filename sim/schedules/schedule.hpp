// What every schedule is: a function from the costs of a kind of rank to that rank's program, and a closed form of its
// steady update time for identical ranks, the oracle of its tests. One file each.
#pragma once

#include <string>
#include <vector>

#include "models/price/costs.hpp"
#include "models/spec/spec.hpp"
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

Program build_ddp(const ScheduleInput& input, Tables& tables);
Program build_zero1(const ScheduleInput& input, Tables& tables);
Program build_zero2(const ScheduleInput& input, Tables& tables);
Program build_zero3(const ScheduleInput& input, Tables& tables);
Program build_dpu(const ScheduleInput& input, Tables& tables);
Program build_acco(const ScheduleInput& input, Tables& tables);
Program build_diloco(const ScheduleInput& input, Tables& tables);
Program build_local_sgd(const ScheduleInput& input, Tables& tables);

/// Steady update time of identical ranks, without interference. `A` micro-batches per update and rank.
Seconds ddp_closed_form(const ScheduleInput& input);
Seconds zero1_closed_form(const ScheduleInput& input);
Seconds zero2_closed_form(const ScheduleInput& input);
Seconds zero3_closed_form(const ScheduleInput& input);
Seconds dpu_closed_form(const ScheduleInput& input);
Seconds acco_closed_form(const ScheduleInput& input);
Seconds diloco_closed_form(const ScheduleInput& input);
Seconds local_sgd_closed_form(const ScheduleInput& input);
Seconds closed_form(const ScheduleInput& input);  ///< of the schedule that the spec names
/// Micro-batches of a rank in the update that closed_form() is of: those asked for, or more where a schedule
/// accumulates while its communication is late.
double closed_form_micro_batches(const ScheduleInput& input);
double dpu_micro_batches(const ScheduleInput& input);
double acco_micro_batches(const ScheduleInput& input);

/// The graph of a schedule on the whole cluster: a program a kind of rank, its groups, and the links they use. A kind
/// without steps of its own does `accumulation_steps` micro-batches per update.
EventGraph build(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps, int updates);
/// The different collectives that such programs ask for.
std::vector<PlanRequest> requests_of(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps);

// ---- shared by the schedules ----

/// A bucket of gradients, of whole tensors.
struct Bucket {
  Bytes bytes;
  Seconds ready;                ///< when its last tensor is, counted from the begin of the backward pass
  std::vector<double> tensors;  ///< their elements
};

/// Gradients in the order in which they become ready, in the buckets that the spec asks for. Buckets of tensors close
/// when they reach their size, the first at first_bucket, so they exceed it by up to a tensor, as those of PyTorch's
/// DDP after its first step (torch/csrc/distributed/c10d/reducer.cpp, compute_bucket_assignment_by_size).
std::vector<Bucket> buckets_of(const std::vector<LayerTime>& layers, Bytes gradient_element, const ScheduleSpec& spec);

/// The optimizer on one rank's shard, and on all parameters.
Seconds shard_optimizer_time(const ScheduleInput& input);
Seconds full_optimizer_time(const ScheduleInput& input);

/// Lanes that all schedules have.
inline constexpr int kComputeLane = 0;
inline constexpr int kCommunicationLane = 1;
std::vector<std::string> lane_names();

/// The mark of an update on the compute lane and, where the play has pauses, the place for one.
void end_update(ProgramBuilder& program, const ScheduleInput& input);
/// One micro-batch whose gradients stay; and `count` of them, one after the other.
void add_micro_batch(ProgramBuilder& program, const ScheduleInput& input);
void add_micro_batches(ProgramBuilder& program, const ScheduleInput& input, int count);
/// One update of DDP, on lane_names(), and of ZeRO-3, on zero3_lane_names(): without its mark.
void add_ddp_update(ProgramBuilder& program, const ScheduleInput& input);
void add_zero3_update(ProgramBuilder& program, const ScheduleInput& input);
std::vector<std::string> zero3_lane_names(const ScheduleInput& input);
/// A forward pass by itself, with the gathers that it waits for.
Seconds zero3_forward_time(const ScheduleInput& input);
/// Whole groups of `poll_every` micro-batches, at least `least` micro-batches, until `until` has ended.
void add_micro_batches_until(ProgramBuilder& program, const ScheduleInput& input, int least, OpRef until);
/// What those are beside communication that takes `communication`: n looks, n = max(ceil(least / k),
/// ceil(communication / p)), with k = poll_every micro-batches and p = k t + drain_time() each.
struct Accumulated {
  double micro_batches = 0;
  Seconds time;
};
Accumulated accumulated_until(const ScheduleInput& input, int least, Seconds communication);
/// Where the released ACCO waits on the host for the GPU (after each group of micro-batches, after each swap, after
/// each round of the communication lane) the GPU then waits for the host's next launch: one launch interval.
Seconds drain_time(const ScheduleInput& input);
/// One micro-batch and the reduction of its gradients, in buckets while the backward pass runs or after it; returns the
/// op after which they are there. DDP first broadcasts rank 0's buffers; it multiplies each gradient by 1/n into its
/// bucket, in the backward pass, and copies all of them back when the last bucket is there, unless gradients are views
/// of the buckets. A sharded optimizer's gradients are copied into buckets too, and not back.
OpRef add_synchronized_micro_batch(ProgramBuilder& program, const ScheduleInput& input, OpRef wait);
/// Its time alone: buffers, forward, and c_last + copies back; bucket b has been sent at c_b = max(c_{b-1}, ready_b) +
/// T_b, ready_b counting the copies into the buckets up to b. Without overlap all are sent after the backward pass.
Seconds synchronized_micro_batch_time(const ScheduleInput& input);
/// What ends an update of a sharded optimizer on the compute lane once all parameters are there: nothing, or on a rank
/// whose 16-bit type is not the one that they came in, a cast of them all.
void add_parameters_taken(ProgramBuilder& program, const ScheduleInput& input, OpRef gathered);
Seconds parameters_taken_time(const ScheduleInput& input);
/// The all-gather of all parameters by a sharded optimizer, in the pieces that the spec asks for.
PlanRequest parameter_gather(const ScheduleInput& input);

/// What the communication lane does in one round: an update of the shard; an estimate, with the states saved before and
/// restored after it; or an update and then a prediction from it, saved and restored likewise.
enum class Round : std::uint8_t { kUpdate, kEstimate, kPredict };

/// All-reduces the counts of micro-batches, reduce-scatters, scales, steps the shard, all-gathers. Waits for `swap`.
OpRef add_sharded_update(ProgramBuilder& program, const ScheduleInput& input, OpRef swap, Round round);
/// Its time alone, with the all-reduce of the counts, and the copies of the states where there are any.
Seconds sharded_update_time(const ScheduleInput& input, Round round);
/// All-reduces the ranks' numbers of micro-batches after the last op of the compute lane, where the spec asks for that
/// (count_micro_batches); and its time, 0 otherwise.
void add_count(ProgramBuilder& program, const ScheduleInput& input);
Seconds count_time(const ScheduleInput& input);

/// The buffer swap that ends a round on the compute lane, after `communication`: parameters from the communication
/// buffer, gradients into it, the gradients cleared where the next round starts a sum anew, and a drained host.
OpRef add_swap(ProgramBuilder& program, const ScheduleInput& input, OpRef communication, bool clear);
Seconds swap_time(const ScheduleInput& input, bool clear);

}  // namespace accosim
