// One schedule to play, with every choice that it leaves to its user. What follows from its name is in its row
// (schedule_traits.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/units.hpp"
#include "models/spec/balance.hpp"
#include "models/spec/device.hpp"
#include "models/spec/parallel.hpp"

namespace accosim {

enum class Sync : std::uint8_t { kLastMicroBatch, kEveryMicroBatch };
template <>
inline constexpr const char* kNames<Sync>[] = {"last_micro_batch", "every_micro_batch"};
enum class Overlap : std::uint8_t { kNone, kBackward };
template <>
inline constexpr const char* kNames<Overlap>[] = {"none", "backward"};
/// What gradients are reduced in: buckets of whole tensors that close when they reach their size, a bucket for each
/// unit (the embedding, a block, the head), or all in one piece.
enum class Buckets : std::uint8_t { kTensors, kUnits, kWhole };
template <>
inline constexpr const char* kNames<Buckets>[] = {"tensors", "units", "whole"};
/// How the gradients of a sharded optimizer are reduced: to their owners, or to every rank.
enum class Reduction : std::uint8_t { kReduceScatter, kAllReduce };
template <>
inline constexpr const char* kNames<Reduction>[] = {"reduce_scatter", "all_reduce"};
/// How the stepped parameters of a sharded optimizer reach all who share it: gathered, or in a broadcast by each owner.
enum class ParameterSync : std::uint8_t { kAllGather, kBroadcast };
template <>
inline constexpr const char* kNames<ParameterSync>[] = {"all_gather", "broadcast"};
enum class OptimizerSharding : std::uint8_t { kNone, kZeroRedundancy };
template <>
inline constexpr const char* kNames<OptimizerSharding>[] = {"none", "zero_redundancy"};
enum class LateCommunication : std::uint8_t { kWait, kAccumulate };
template <>
inline constexpr const char* kNames<LateCommunication>[] = {"wait", "accumulate"};
/// Whose gradients an estimate of the next parameters is made from: those of all ranks, which are reduced and whose
/// step is gathered; or a rank's own.
enum class EstimateOf : std::uint8_t { kGathered, kLocal };
template <>
inline constexpr const char* kNames<EstimateOf>[] = {"gathered", "local"};
/// How replicas exchange whole parameters: one ring of all ranks; or inside each site first, then between the ranks of
/// the same place at all sites, then inside again. A site is a node group that is apart from the others, or a node.
enum class Meeting : std::uint8_t { kRing, kHierarchical };
template <>
inline constexpr const char* kNames<Meeting>[] = {"ring", "hierarchical"};
/// What replicas exchange is sent in: a dtype; whole numbers with scales, requantised in each step of the ring; or a
/// sign and three bits of exponent, of each replica's own change, which all others gather and sum.
enum class OuterDtype : std::uint8_t { kFp32, kFp16, kBf16, kInt8, kE3m0 };
template <>
inline constexpr const char* kNames<OuterDtype>[] = {"fp32", "fp16", "bf16", "int8", "e3m0"};
/// Where a method's paper and the code that was released with it differ.
enum class MethodForm : std::uint8_t { kPaper, kCode };
template <>
inline constexpr const char* kNames<MethodForm>[] = {"paper", "code"};

/// Between two meetings of replicas, where each micro-batch that is drawn is played.
inline constexpr int kMostInnerUpdates = 1'000'000;

/// One schedule to play. A field that a schedule does not read keeps its default and cannot be set in a file.
struct ScheduleSpec {
  std::string name{};     ///< a row of schedule_traits.hpp, which says which of the keys below it takes
  std::string runs_as{};  ///< the schedule whose program it runs under its framework; empty: its own
  std::string label{};    ///< unique in the scenario
  Balance balance = Balance::kNone;
  int micro_batch_size = 0;  ///< its own, in as many micro-batches as make the same samples; 0: the training's
  Dtype parameter_dtype = Dtype::kBf16;
  Dtype gradient_dtype = Dtype::kBf16;
  Dtype optimizer_dtype = Dtype::kFp32;  ///< of the states; fp32 adds a master copy of narrower parameters
  Overlap overlap = Overlap::kNone;      ///< kBackward: gradients are communicated in buckets during the backward pass
  Buckets buckets = Buckets::kWhole;
  Bytes bucket_cap{};    ///< of Buckets::kTensors: a bucket closes when it reaches this
  Bytes first_bucket{};  ///< the same of the first bucket to fill, so that communication starts early
  /// A bucket is at least so large for each rank of a replica; where equal to the cap, the first as well.
  Bytes bucket_cap_a_rank{};
  Reduction reduction = Reduction::kReduceScatter;
  ParameterSync parameter_sync = ParameterSync::kAllGather;
  Bytes gather_cap{};                    ///< parameters are gathered in pieces of this size; 0: in one
  bool overlap_param_gather = false;     ///< a bucket at a time beside the next update's first forward pass
  bool align_param_gather = false;       ///< those gathers are all sent for when that pass begins
  bool gradient_as_bucket_view = false;  ///< gradients are views of what is reduced, and are not copied there
  bool broadcast_buffers = false;        ///< rank 0's, before a forward pass that follows a synchronised one
  Sync sync = Sync::kLastMicroBatch;
  bool count_micro_batches = false;  ///< the ranks first all-reduce their counts, as delayed schedules always do
  OptimizerSharding optimizer_sharding = OptimizerSharding::kNone;
  /// The ranks that share one copy of what is sharded, or that are one replica where replicas make updates by
  /// themselves. Absent: all, or there one GPU (island_of()).
  std::optional<Island> island{};
  Dtype reduce_dtype = Dtype::kBf16;         ///< dtype in which gradients are reduced
  int prefetch = 1;                          ///< units gathered ahead of the one that computes
  bool reshard_after_forward = true;         ///< gathered parameters are freed and gathered again for the backward
  bool reshard_after_backward = true;        ///< the same for the next forward; an update's last backward always frees
  Sync all_reduce = Sync::kEveryMicroBatch;  ///< when hybrid sharding all-reduces the shards between nodes
  int communicators = 1;  ///< 2: reductions have a communicator of their own, and do not queue behind all-gathers
  LateCommunication late_communication = LateCommunication::kAccumulate;
  int poll_every = 1;               ///< micro-batches between two looks at "has the communication finished?"
  int chunks = 0;                   ///< of the model on each stage, under this schedule; 0: those of the training
  bool pipeline_flush = true;       ///< a pipeline is drained after every round; or stages keep the parameters before
  int micro_batches_per_round = 0;  ///< least number a round
  bool rollback_estimate = true;    ///< m and v go back to what they were before the estimate; the parameters always do
  bool offload_optimizer = false;   ///< its states are on the host, which steps the shard
  bool offload_outer = false;       ///< the same of the outer optimizer, and what replicas exchange leaves from there
  int zero_stage = 1;               ///< what a delayed schedule shards: with 2 its gradients too, with 3 its parameters
  EstimateOf estimate = EstimateOf::kGathered;
  int inner_updates = 1;        ///< that every replica makes by itself before the replicas meet
  int synchronous_updates = 0;  ///< of a training, before its replicas make updates by themselves
  int outer_every = 0;          ///< updates between two outer steps, where there are meetings without one; 0: none
  MethodForm form = MethodForm::kPaper;
  int fragment_layers = 3;  ///< blocks of a fragment of the parameters; fragments meet one after the other
  int delay = 1;            ///< updates between when something is sent and when it is applied
  double mixing = 0;        ///< share of its own parameters that a replica keeps where it takes those of the outer step
  bool by_layer = false;    ///< a layer's change leaves when the backward pass before the meeting has reached it
  std::string inner{};      ///< the schedule inside a replica of several ranks
  Meeting meeting = Meeting::kRing;
  std::optional<OuterDtype> outer_dtype{};  ///< absent: parameter_dtype

  bool operator==(const ScheduleSpec&) const = default;
};

/// What an element of parameters, gradients and states may be stored in.
std::vector<Dtype> stored_dtypes();
/// Whether the owners of a sharded optimizer have whole tensors, not equal parts of a flat buffer.
bool has_whole_tensors(const ScheduleSpec& spec);
/// Whether gradients are copied into buckets beside them. Those that are reduced in one piece after the backward pass
/// lie in one buffer.
bool has_bucket_copies(const ScheduleSpec& spec);

/// When a bucket closes, where so many ranks make the update together.
Bytes bucket_cap_of(const ScheduleSpec& spec, int ranks);
/// Fragments of a model of so many layers, its embedding and its head among them; and that of a layer: block b is in
/// fragment b mod F, the embedding in the first, the head in the last.
int fragments_of(const ScheduleSpec& spec, int layers);
int fragment_of(const ScheduleSpec& spec, int layer, int layers);
/// Among how many ranks the outer optimizer's states are sharded.
int outer_owners(const ScheduleSpec& spec, int ranks);
/// An element of what replicas exchange.
Bytes outer_bytes(const ScheduleSpec& spec);

}  // namespace accosim
