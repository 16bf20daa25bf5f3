// How much GPU memory a schedule needs: by the formula that papers compare with, and what is really resident. Only the
// second decides whether it fits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/units.hpp"
#include "models/price/layers.hpp"
#include "models/spec/device.hpp"
#include "models/spec/schedule.hpp"

namespace accosim {

/// Model states in bytes for `parameters` elements on `ranks` ranks, K = 12 bytes of optimizer state an element, 2-byte
/// parameters, gradients and buffers: ACCO's Table 1 (arXiv 2406.02613). `method` is a schedule;
/// throws std::invalid_argument for another. In hybrid sharding `ranks` are those of a node.
Bytes memory_formula(const std::string& method, double parameters, int ranks);

/// Of a schedule with its keys, as their papers and codes have it: `ranks` share one copy of what it shards, of
/// `world`.
Bytes memory_formula(const ScheduleSpec& spec, double parameters, int ranks, int world);

/// What memory is used for.
enum class MemoryUse : std::uint8_t {
  kParameters,          ///< whole
  kFrozenParameters,    ///< those that are not trained: whole, or in zero3 the shard
  kParameterShard,      ///< of zero3
  kGatheredParameters,  ///< of zero3: the units that are gathered at the moment
  kGradients,
  kGradientShard,
  kNarrowGradients,       ///< of a micro-batch, in the parameters' type, beside the sum in a wider one
  kPartialGradientShard,  ///< of hybrid sharding: summed in the node, and not yet between nodes
  kGradientBuckets,
  kReductionBuffers,
  kFp32GradientShard,
  kOptimizerStates,
  kStateClones,
  kOuterStates,
  kEstimate,
  kPredictedParameters,
  kOlderParameters,  ///< of micro-batches whose backward passes are still to come, where a pipeline is not drained
  kCommunicationBuffer,
  kActivations,
  kLogitsAndLoss,
  kStageBuffers,    ///< what stages of a pipeline send each other
  kAllocatorSlack,  ///< what the allocator holds beyond the tensors
  kReserved,        ///< the CUDA context and the libraries
};
template <>
inline constexpr const char* kNames<MemoryUse>[] = {"parameters",
                                                    "frozen parameters",
                                                    "parameter shard",
                                                    "gathered parameters",
                                                    "gradients",
                                                    "gradient shard",
                                                    "gradients of a micro-batch",
                                                    "partial gradient shard",
                                                    "gradient buckets",
                                                    "reduction buffers",
                                                    "fp32 gradient of the shard",
                                                    "optimizer states",
                                                    "clones of optimizer states",
                                                    "outer parameters and momentum",
                                                    "estimate of the shard",
                                                    "predicted parameters",
                                                    "parameters of the round before",
                                                    "communication buffer",
                                                    "activations",
                                                    "logits and loss",
                                                    "messages between stages",
                                                    "allocator slack",
                                                    "reserved"};

struct MemoryPart {
  MemoryUse use = MemoryUse::kParameters;
  Bytes bytes;
  /// Allocated once and never freed, or in blocks that nothing else may take. The rest comes and goes in every step.
  bool lasting = false;
};

/// What is resident at the peak, in the order of a report.
struct MemoryParts {
  std::vector<MemoryPart> parts;
  Bytes total() const;
  Bytes part(MemoryUse use) const;  ///< 0 where there is none
  /// The tensors that last, and those that come and go: together allocated().
  Bytes lasting() const;
  Bytes transient() const;
  /// What PyTorch's max_memory_allocated counts: all but what is reserved and the allocator's slack.
  Bytes allocated() const;
  /// What max_memory_reserved counts: allocated, and the slack.
  Bytes with_slack() const;
};

struct MemoryInput {
  const ScheduleSpec& schedule;
  const Layers& layers;
  const Device& device;
  int shards = 1;              ///< ranks that share one copy of what is sharded
  int accumulation_steps = 1;  ///< micro-batches an update; between them gradients stay
  bool tied_embeddings = false;
  bool accocal = false;             ///< its own buffers, and no caching allocator
  int replicas = 1;                 ///< that make updates by themselves
  std::optional<int> ranks{};       ///< that make an update together; absent: those that share one copy
  std::vector<int> chunk_layers{};  ///< how many of the layers each chunk has; empty: all are one
  int in_flight = 1;                ///< passes over a chunk, forward and not yet backward, at most
  Bytes stage_buffers{};            ///< for messages between stages
  int communicators = 1;            ///< of NCCL, that the rank is in
  int experts = 1;                  ///< of the shards, ranks that have the experts between them
  bool narrow_gradients = false;    ///< RankKind::narrow_gradients
  bool older_parameters = false;    ///< a stage with others behind it, whose pipeline is not drained between rounds
};

/// Memory at the worst moment of the backward pass, which is walked layer by layer: the activations of the layers that
/// it has not reached, the workspace of the layer that it is in, and
/// - parameters: whole, or in zero3 the shard (as wide as the optimizer states, so that it is the master copy) and the
///   gathered units (the one that computes and those prefetched; where they are not freed, those that have computed or
///   will, in the last micro-batch or one before it, whichever holds more);
/// - frozen parameters as they are stored: whole, or in zero3 a shard, and gathered with their units;
/// - gradients: whole where they are flat buffers (in what is delayed, and where the optimizer alone is sharded), but
///   for acco with zero_stage 2 or 3, which is as zero2 or zero3; otherwise as they appear, unless an earlier
///   micro-batch left all of them there (ddp and replicas with it inside; also zero2 and zero3 when synchronized once).
///   In zero2 those of the layer, two buckets and the shard, without buckets those that have appeared and the shard; in
///   zero3 those of the unit, two buffers that are being reduced and the shard, and the partial shard where only the
///   last of several micro-batches all-reduces it between nodes;
/// - under DeepSpeed those of a micro-batch too, where they are summed in a wider type than the parameters';
/// - optimizer states m and v and, where these are fp32 and the parameters narrower, a master copy: whole or a shard;
/// - buckets beside the gradients, which PyTorch keeps unless gradient_as_bucket_view is set (ddp, zero1);
/// - what a delayed schedule has on its way. Of a sharded optimizer: the flat communication buffer, a second one where
///   gradients leave in buckets, an fp32 gradient of the shard, and clones of the states for those that look ahead (wp,
///   acco) or, for a local estimate, the parameters of the update before; of acco with zero_stage 3 the estimate of the
///   shard and the clones alone. Of a whole optimizer: gradients of each update under way (pipesgd, sapipe), and
///   predicted parameters (sapipe);
/// - what replicas meet with: the outer optimizer's fp32 states, and buffers in the type that is sent, so many as the
///   schedule's row says; all of the shard where replicas are sharded inside, which then have zero3's states. Of
///   fragments the buffers hold those that are on their way; in four bits there is what every replica sent, too. The
///   codes released with slowmo and co2 shard the states over their owners;
/// - no states where offload_optimizer has them on the host, and in zero3 a shard as wide as the parameters; dpu then
///   is as zero2. Nothing to meet with where offload_outer has it on the host;
/// - of the other passes in flight in a pipeline the activations, each of a mean chunk (without the head, whose
///   follows at once);
/// - `logits and loss`: what the head keeps and needs, absent when the worst moment comes after the head's backward;
/// - `reserved`, of the device with one communicator and kCommunicatorMemory for each further one, and `allocator
/// slack`: kAllocatorSlack of what comes and goes, and in zero3 the part of
///   the gradients' shard that is not there at that moment. FSDP2 allocates it on the stream that reduces, and
///   PyTorch's caching allocator (c10/cuda/CUDACachingAllocator.cpp) gives a stream's blocks to no other stream.
///
/// What lasts: flat parameters, gradients and communication buffers, optimizer states, DDP's buckets, shards. Its
/// blocks are allocated once, rounded up to 2 MiB each and never split, so there is no slack in them. What comes and
/// goes is activations, logits, gathered units, buffers of one step, gradients that zero_grad() frees, and ACCO's
/// clones, which the released code makes anew for each estimate: their blocks are split, and kept for another size.
///
/// Shards are ceil(P / shards), in hybrid sharding of the ranks of a node, and with ZeroRedundancyOptimizer the
/// largest_share() of whole tensors. accocal holds its flat buffers, the master copy and the logits all the time,
/// whatever the schedule: parameters, gradients and a communication buffer in the storage type, padded to equal shards.
MemoryParts resident_memory(const MemoryInput& input);

/// NCCL's buffers of a communicator: what it took on four A100 (github.com/NVIDIA/nccl issue 964). They grow with the
/// channels and the peers, which is left out.
inline constexpr Bytes kCommunicatorMemory{688e6};

/// What PyTorch's caching allocator holds beyond the tensors that come and go (blocks rounded up, split, kept for
/// another size), as a fraction of these: the median by which torchtitan's published peaks of reserved memory exceed
/// what is counted here: Llama 3.1 8B under FSDP on 8 GPUs, eager 1.136 and compiled 1.126, and on 128 GPUs, 1.113
/// (github.com/pytorch/torchtitan at b5bcd76, benchmarks/llama3_h100_202412_torchtitan.md).
inline constexpr double kAllocatorSlack = 0.13;

}  // namespace accosim
