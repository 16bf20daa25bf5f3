// What a user describes: a model, a cluster, how it is trained, and the schedules to compare. Plain values; whatever
// the loader returns is valid, so nothing later checks it again.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/spec/kernel_table.hpp"
#include "models/spec/unsteady.hpp"

namespace accosim {

enum class Dtype : std::uint8_t { kFp32, kTf32, kFp16, kBf16, kFp8 };
inline constexpr int kDtypeCount = 5;

/// Storage of one element (tf32 is stored as fp32).
constexpr Bytes bytes_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFp32:
    case Dtype::kTf32: return Bytes{4};
    case Dtype::kFp16:
    case Dtype::kBf16: return Bytes{2};
    case Dtype::kFp8: return Bytes{1};
  }
  return Bytes{0};
}

/// Products and a softmax, or one fused kernel: FlashAttention 2, FlashAttention 1 such as Triton's, or PyTorch's
/// memory-efficient attention (xFormers'), which runs where FlashAttention does not.
enum class Attention : std::uint8_t { kNaive, kFlash, kFlash1, kMemoryEfficient };
/// Whether there is such a kernel for the architecture ("volta", "ampere"...; "": unknown, and taken to have all).
/// FlashAttention 2 needs ampere or newer, FlashAttention 1 turing (github.com/Dao-AILab/flash-attention, README).
bool runs_on(const std::string& architecture, Attention attention);
/// What the backward pass recomputes: nothing; the attention between its projections; everything but attention and
/// every other matrix product (torchtitan's selective_op); everything but a block's input; the same, but ending where
/// the last tensor is there that the backward pass needs.
enum class Recompute : std::uint8_t { kNone, kSelective, kSelectiveOp, kFull, kFullEarlyStop };
/// Which blocks are recomputed, where whole blocks are: every k-th, or a share of them, spread evenly.
struct RecomputedBlocks {
  int every = 1;
  double fraction = 1;

  bool operator==(const RecomputedBlocks&) const = default;
};
/// How elementwise operators are run: a kernel each (PyTorch eager), chains merged by a compiler (torch.compile), or
/// hand-written merged kernels (Megatron, Apex), or accocal's own CUDA step, kernel by kernel (accocal_step.hpp).
enum class Implementation : std::uint8_t { kEager, kCompiled, kFused, kAccocal };
enum class Activation : std::uint8_t { kGelu, kGeluNew, kRelu, kSilu };
/// torch.autocast: the matrix products run in 16 bits while parameters stay as they are stored.
enum class Autocast : std::uint8_t { kNone, kFp16, kBf16 };
constexpr Dtype dtype_of(Autocast autocast) {  ///< not of kNone
  return autocast == Autocast::kFp16 ? Dtype::kFp16 : Dtype::kBf16;
}
/// Who runs the step: the choices that nobody made are its own (models/spec/frameworks.hpp).
enum class Framework : std::uint8_t { kPytorch, kDeepspeed, kMegatron };
/// AdamW in one pass over the memory, or PyTorch's multi-tensor functions, a pass each.
enum class OptimizerImplementation : std::uint8_t { kFused, kForeach };
enum class Optimizer : std::uint8_t { kAdamW };
/// Whether each node group's micro-batch and accumulation are as written, or chosen so that no GPU waits.
enum class Balance : std::uint8_t { kNone, kSpeed };

/// A decoder-only transformer, in the terms of a Hugging Face config.json.
struct Model {
  std::string name;
  std::string family;  ///< a row of model_families.hpp; a measured model has only the last two members
  int num_hidden_layers = 0;
  int hidden_size = 0;
  int num_attention_heads = 0;
  int num_key_value_heads = 0;
  int head_dim = 0;
  int intermediate_size = 0;
  int vocab_size = 0;
  int max_position_embeddings = 0;
  bool learned_positions = false;  ///< a table of position embeddings, or rotary
  bool gated_mlp = false;          ///< three matrices in the MLP, or two
  bool rms_norm = false;           ///< one vector a norm, or two (weight and bias)
  bool qkv_bias = false;
  bool attention_output_bias = false;
  bool mlp_bias = false;
  bool tie_word_embeddings = false;
  Activation activation = Activation::kGelu;
  bool causal = true;                 ///< a decoder; an encoder such as BERT attends to all tokens
  std::vector<int> attention_window;  ///< one a layer: the window of local attention in tokens, 0 for full causal
  std::int64_t measured_parameters = 0;
  Seconds micro_batch_time{};                         ///< forward and backward, as somebody measured them
  std::map<double, Seconds> shorter_micro_batches{};  ///< the same by tokens of the micro-batch, fewer than its usual

  bool operator==(const Model&) const = default;
};

/// Number of parameters, exact.
std::int64_t parameter_count(const Model& model);

/// How good a fit is, and where it holds.
struct FitQuality {
  double spread = 0;           ///< standard deviation of the log of predicted over measured time
  int samples = 0;             ///< number of measured kernels; 0: unknown
  double least = 0, most = 0;  ///< range of the FLOPs of the kernels; a kernel outside is extrapolated
  bool inherited = false;      ///< measured on a relative of the device, not on it

  bool operator==(const FitQuality&) const = default;
};

/// Which operands of a product are transposed, with matrices stored column by column as in BLAS. kAny: not said.
enum class GemmLayout : std::uint8_t { kAny, kNN, kTN, kNT, kTT };
GemmLayout layout_of(bool transpose_a, bool transpose_b);

/// One GEMM that was measured on the device, and how far its fit is off for it.
struct MeasuredProduct {
  GemmLayout layout = GemmLayout::kAny;
  bool accumulate = false;
  double m = 0, n = 0, k = 0, batch = 1;
  double ratio = 1;  ///< measured over fitted time

  bool operator==(const MeasuredProduct&) const = default;
};

/// Fitted constants of GEMMs in one dtype; `gemm_time` has the formula.
struct GemmFit {
  double peak_fraction = 0;    ///< share of the peak in the inner loop of a 256 x 128 tile, at `reference_power`
  double reference_power = 0;  ///< W; 0: the fraction does not depend on the power
  double streaming = 1;        ///< share of the achieved bandwidth, where reading and writing bounds the kernel
  double square_tile = 1;      ///< efficiency of a 128 x 128 tile relative to one of 256 x 128
  double narrow_tile = 1;      ///< the same of a tile with an edge of 64
  double quantisation = 1;     ///< share of a last, partly filled wave that costs as much as a full one
  double exposed_result = 0;   ///< share of the result's memory traffic that nothing hides
  double k_fill = 0;           ///< elements of k that filling and draining a tile's pipeline costs
  Seconds fixed;               ///< of a kernel, however small
  FitQuality quality;
  std::vector<MeasuredProduct> products;  ///< what corrects the fit for GEMMs like these: measured_ratio()

  bool operator==(const GemmFit&) const = default;
};

/// Fitted constants of fused attention in 16 bits; `attention_time` has the formula.
struct AttentionFit {
  double forward_fraction = 0;   ///< fraction of the peak for heads of at most 128, at `reference_power`
  double backward_fraction = 0;  ///< the same backward, counting five products where the forward has two
  double reference_power = 0;    ///< W; 0: the fractions do not depend on the power
  double wide_head = 0;          ///< exponent: a head wider than 128 runs at (128 / width)^wide_head of the rate
  double tail = 0;  ///< share of the longest block's time during which the other blocks leave multiprocessors idle
  Seconds fixed;
  FitQuality quality;

  bool operator==(const AttentionFit&) const = default;
};

/// A GPU as the prices see it. Fractions are of the peak or of the bandwidth, 0 to 1.
struct Device {
  std::string name;
  std::array<std::optional<FlopsPerSecond>, kDtypeCount> peak;  ///< dense matmul peak by dtype; absent: cannot do it
  double gemm_efficiency = 0;             ///< achieved fraction of the peak in large matrix products
  double flash_attention_efficiency = 0;  ///< achieved fraction of the peak in fused attention
  BytesPerSecond memory_bandwidth;
  double memory_efficiency = 0;  ///< achieved fraction of the memory bandwidth in streaming kernels
  Bytes memory;
  Bytes reserved_memory;     ///< CUDA context and library buffers, never available to tensors; the allocator's slack is
                             ///< not in it
  Seconds launch_interval;   ///< least time between two kernel launches by the host
  std::string architecture;  ///< volta, ampere, hopper...; empty: unknown
  int sm_count = 0;          ///< multiprocessors; 0: unknown, GEMMs are not cut into waves
  double power = 0;          ///< limit of the board in W; 0: unknown
  std::array<std::optional<GemmFit>, kDtypeCount> gemm;  ///< by dtype; absent: gemm_efficiency alone
  std::optional<AttentionFit> attention;                 ///< absent: flash_attention_efficiency alone
  std::vector<KernelTable> kernels;                      ///< tables of measured kernels that are no GEMMs
  int collective_sms = 0;          ///< multiprocessors that the channels of a collective hold; 0: it takes none
  double collective_slowdown = 1;  ///< how many times as long a collective inside a node takes while the GPU computes
  double product_overhead = 1;     ///< how many times as long GEMMs on tensor cores take in a training step as alone:
                                   ///< power limit under lasting load, cold caches
  double memory_overhead = 1;      ///< the same for memory-bound kernels: what Training::overheads says
  double attention_overhead = 1;   ///< the same for fused attention
  Seconds adamw_time_per_parameter{};  ///< as measured, one pass; 0: priced by the bytes that it moves
  double slowdown = 1;  ///< every forward and backward takes this many times as long (an emulated straggler)

  bool operator==(const Device&) const = default;
};

/// NCCL's LL protocol over a link: every 8 bytes carry 4 of data and a flag, so it starts at once and moves little.
struct LowLatency {
  Seconds launch{};       ///< of a collective that uses it, whatever its size; of links inside a node
  Seconds hop;            ///< of one step between neighbours
  double efficiency = 0;  ///< achieved bus bandwidth over the link's bandwidth; 0: the protocol is not used
};

/// What a fit of measured collectives leaves over.
struct LinkQuality {
  double spread = 0.25;        ///< standard deviation of log(measured / predicted), from 1 MiB
  double spread_small = 0.35;  ///< below 1 MiB
  int machines = 0;            ///< sources that the constants were fitted to; 0: nobody measured the kind
  int nodes = 0;               ///< the most that were measured together; 0: unknown, so nothing grows beyond them
  double growth = 0;           ///< what both spreads grow by, in squares, with each doubling of the nodes beyond those
};

/// Links between the GPUs of one node. Bandwidth is one GPU's, one direction, all its links together.
struct IntraLink {
  std::string kind;  ///< nvswitch, nvlink (GPUs joined to each other), cube_mesh (of 8 V100) or pcie
  BytesPerSecond bandwidth;
  double efficiency = 1;  ///< achieved bus bandwidth over the bandwidth, in the largest collectives
  Seconds latency;        ///< of one step of a ring between neighbours in the node, Simple protocol
  Seconds launch{};       ///< of a collective, whatever its size
  Seconds chunk{};        ///< pipelining costs 2 sqrt(chunk x time of the bytes)
  double turnaround = 0;  ///< time that a ring's last receive adds, in steps of the ring
  double exchange = 0;    ///< what every GPU achieves in an all-to-all over the bandwidth; 0: the same as `efficiency`
  double multicast = 0;   ///< NVLS: bus bandwidth of an all-reduce over the bandwidth; 0: the switch cannot reduce
  LowLatency ll{};
  /// NVLinks between GPU i and GPU j, symmetric; empty: a switch, or all joined alike.
  std::vector<std::vector<int>> links{};
  LinkQuality quality{};
};

/// The network adapters of one node. Bandwidth is one adapter's, one direction.
struct Nics {
  int count = 1;
  BytesPerSecond bandwidth;
  double efficiency = 1;
  Seconds latency;  ///< of a message to a neighbour on another node, from GPU to GPU, fabric excluded
  std::string kind{};
  Seconds message{};         ///< what the host's thread spends on sending, and on receiving, one message
  BytesPerSecond staging{};  ///< what the host copies for one adapter where GPUs do not reach it; 0: they do
  /// Size of a token bucket that shapes outgoing traffic: so many bytes pass at once after a pause. It refills at
  /// `bandwidth`.
  Bytes burst{};
  LinkQuality quality{};
  int channels = 2;       ///< of NCCL, for each adapter; a channel is a multiprocessor and a connection
  int sockets = 1;        ///< TCP connections of a channel to one peer
  Bytes socket_window{};  ///< what one of them has under way at most; 0: no TCP
};

/// `count` equal nodes.
struct NodeGroup {
  std::string name;
  int count = 1;
  int gpus = 1;
  std::vector<Device> devices;  ///< one a GPU of the node
  IntraLink intra;
  Nics nics;
  Dtype precision = Dtype::kBf16;
  Attention attention = Attention::kFlash;
  int micro_batch_size = 1;
  std::vector<int> accumulation_steps{};       ///< one a GPU of the node; empty: the training's
  int absent_before = 0;                       ///< groups of no nodes that the file lists before this one
  std::optional<double> price_per_gpu_hour{};  ///< in one currency for all groups; all have one, or none
};

/// What joins node groups that are apart, such as two sites: each group has one link to all others.
struct BetweenGroups {
  BytesPerSecond bandwidth;  ///< payload of a group's link, one direction; its nodes share it
  Seconds latency;           ///< one way, on top of the fabric's
};

/// What joins the nodes: non-blocking unless oversubscribed.
struct Fabric {
  Seconds latency;              ///< of the wire, one way; added to a step of a ring between two nodes
  double oversubscription = 1;  ///< nodes' bandwidth together over what the core carries; 1 is non-blocking
  std::optional<BetweenGroups> between_groups{};
};

/// Who chooses algorithm and protocol of a collective between nodes: NCCL by its own estimate, the plugin that comes
/// with AWS's adapters, a tuner that knows the fabric and takes the fastest, or the user (ForcedWay).
enum class Tuner : std::uint8_t { kNccl, kAws, kFastest, kForced };

/// NCCL_ALGO and NCCL_PROTO: names in lower case, such as "nvlstree" and "ll128"; empty: not set.
struct ForcedWay {
  std::string algorithm, protocol;
};

struct Cluster {
  std::string name;
  std::vector<NodeGroup> nodes;
  Fabric fabric;
  int nccl = 21;  ///< NCCL's version: 21 is 2.21, the one of PyTorch 2.5 and 2.6
  Tuner tuner = Tuner::kNccl;
  ForcedWay forced{};    ///< with Tuner::kForced
  bool collnet = false;  ///< NCCL_COLLNET_ENABLE, with a plugin and switches that reduce (SHARP)
};

/// Where a rank lives. Ranks are numbered by node group, node, GPU.
struct Place {
  int group = 0;  ///< index in Cluster::nodes
  int node = 0;   ///< index over the whole cluster
  int gpu = 0;    ///< index in the node
};
std::vector<Place> places_of(const Cluster& cluster);
/// The file's index of a group: "/cluster/nodes/<index>".
int listed_index(const Cluster& cluster, int group);

/// How many times as long kernels take in a training step as the model says. Memory-bound ones, relative to the bytes
/// of the listed operators: frameworks run more than is listed, hand-merged kernels find much in the L2 cache. A loaded
/// scenario takes these from constants(), which fit_steps() fits to published steps.
struct Overheads {
  double pytorch = 1;  ///< memory-bound kernels, eager and compiled
  double fused = 1;
  double flash_1 = 1;  ///< attention by FlashAttention 1, such as Triton's, relative to FlashAttention 2; PyTorch's
                       ///< memory-efficient attention, which nobody measured for us, is taken to be the same

  bool operator==(const Overheads&) const = default;
};

struct Training {
  int sequence_length = 0;
  int micro_batch_size = 1;  ///< sequences; node groups may differ
  int gradient_accumulation_steps = 1;
  Balance balance = Balance::kNone;
  double train_tokens = 0;
  Dtype precision = Dtype::kBf16;
  Autocast autocast = Autocast::kNone;
  Optimizer optimizer = Optimizer::kAdamW;
  Attention attention = Attention::kFlash;
  Recompute activation_recompute = Recompute::kNone;
  RecomputedBlocks recomputed_blocks{};
  bool interference = true;  ///< collectives and computation on one GPU slow each other
  Implementation implementation = Implementation::kEager;
  Framework framework = Framework::kPytorch;
  std::optional<int> pytorch{};  ///< minor of the release of PyTorch 2 that the framework runs on, where it is known
  OptimizerImplementation optimizer_implementation = OptimizerImplementation::kFused;
  double dropout = 0;                      ///< probability; of embeddings, attention and both branches of a block
  bool gradient_clipping = false;          ///< the global norm of the gradients is taken and they are scaled
  std::optional<Seconds> launch_interval;  ///< of the framework's host code; else the device's
  Overheads overheads{};
  Unsteady unsteady{};  ///< what makes steps unlike each other
};

enum class Sync : std::uint8_t { kLastMicroBatch, kEveryMicroBatch };
enum class Overlap : std::uint8_t { kNone, kBackward };
/// What gradients are reduced in: buckets of whole tensors that close when they reach their size, a bucket for each
/// unit (the embedding, a block, the head), or all in one piece.
enum class Buckets : std::uint8_t { kTensors, kUnits, kWhole };
/// How the gradients of a sharded optimizer are reduced: to their owners, or to every rank.
enum class Reduction : std::uint8_t { kReduceScatter, kAllReduce };
enum class OptimizerSharding : std::uint8_t { kNone, kZeroRedundancy };
enum class LateCommunication : std::uint8_t { kWait, kAccumulate };
enum class ShardGroup : std::uint8_t { kWorld, kNode };  ///< the ranks that share one copy of what is sharded
/// The ranks that are one replica where replicas make updates by themselves: one, those of a node or of a node group.
enum class Replica : std::uint8_t { kGpu, kNode, kGroup };
/// The schedule inside a replica of several ranks.
enum class Inner : std::uint8_t { kNone, kDdp, kZero3 };
/// What replicas exchange is sent in: a dtype, or whole numbers with scales, requantised in each step of the ring.
enum class OuterDtype : std::uint8_t { kFp32, kFp16, kBf16, kInt8 };

/// One schedule to play. A field that a schedule does not read keeps its default and cannot be set in a file.
struct ScheduleSpec {
  std::string name;   ///< a row of schedule_traits.hpp, which says which of the keys below it takes
  std::string label;  ///< unique in the scenario
  Dtype parameter_dtype = Dtype::kBf16;
  Dtype gradient_dtype = Dtype::kBf16;
  Dtype optimizer_dtype = Dtype::kFp32;  ///< of the states; fp32 adds a master copy of narrower parameters
  Overlap overlap = Overlap::kNone;      ///< kBackward: gradients are communicated in buckets during the backward pass
  Buckets buckets = Buckets::kWhole;
  Bytes bucket_cap;    ///< of Buckets::kTensors: a bucket closes when it reaches this
  Bytes first_bucket;  ///< the same of the first bucket to fill, so that communication starts early
  Reduction reduction = Reduction::kReduceScatter;
  Bytes gather_cap;                      ///< parameters are gathered in pieces of this size; 0: in one
  bool gradient_as_bucket_view = false;  ///< gradients are views of what is reduced, and are not copied there
  bool broadcast_buffers = false;        ///< rank 0's, before a forward pass whose gradients are reduced
  Sync sync = Sync::kLastMicroBatch;
  bool count_micro_batches = false;  ///< the ranks first all-reduce their counts, as delayed schedules always do
  OptimizerSharding optimizer_sharding = OptimizerSharding::kNone;
  ShardGroup shard_group = ShardGroup::kWorld;  ///< kNode: hybrid sharding, shards in a node, replicas across
  Dtype reduce_dtype = Dtype::kBf16;            ///< dtype in which gradients are reduced
  int prefetch = 1;                             ///< units gathered ahead of the one that computes
  bool reshard_after_forward = true;            ///< gathered parameters are freed and gathered again for the backward
  int communicators = 1;  ///< 2: reductions have a communicator of their own, and do not queue behind all-gathers
  LateCommunication late_communication = LateCommunication::kAccumulate;
  int poll_every = 1;               ///< micro-batches between two looks at "has the communication finished?"
  int micro_batches_per_round = 0;  ///< least number a round
  bool rollback_estimate = true;    ///< m and v go back to what they were before the estimate; the parameters always do
  int inner_updates = 1;            ///< that every replica makes by itself before the replicas meet
  Replica replica = Replica::kGpu;
  Inner inner = Inner::kNone;               ///< of a replica of several ranks
  std::optional<OuterDtype> outer_dtype{};  ///< absent: parameter_dtype

  bool operator==(const ScheduleSpec&) const = default;
};

/// What was published of a schedule's run, printed beside the prediction.
struct PublishedRun {
  std::optional<double> speedup;  ///< over the baseline
  std::optional<Seconds> time;    ///< of the whole run, all train_tokens
};

struct Scenario {
  std::string name;
  std::string description;
  Model model;
  Cluster cluster;
  Training training;
  std::string baseline;  ///< label of the schedule that the others are compared with
  std::vector<ScheduleSpec> schedules;
  std::map<std::string, PublishedRun> published;  ///< by label
  bool published_of_another_run = false;          ///< settings were replaced after the file was read (--set)
  std::vector<std::string> sets;                  ///< those settings, as they were given
};

/// "A100-SXM4-80GB"; a slowed one says so where the cluster has an unslowed one, or one slowed otherwise, of that name.
std::string device_name(const Cluster& cluster, const Device& device);
double gpu_count(const Cluster& cluster);
/// Of all GPUs together for an hour; absent where the node groups have no price.
std::optional<double> price_per_hour(const Cluster& cluster);
/// Micro-batches that a GPU of the group does for an update.
int accumulation_steps_of(const NodeGroup& group, int gpu, const Training& training);
/// Whether every GPU has a number of its own, so that the training's is nobody's.
bool all_have_own_steps(const Cluster& cluster);
/// Whether all GPUs are one device that does the same work, so that all ranks take the same time.
bool identical_ranks(const Cluster& cluster);
/// Samples per update that the scenario asks for.
double samples_asked(const Scenario& scenario);

/// Names as the files spell them.
const char* name_of(Dtype dtype);
const char* name_of(Attention attention);
/// All values, as files may have them.
const std::vector<Attention>& all_attentions();
const char* name_of(Recompute recompute);
const char* name_of(Optimizer optimizer);
const char* name_of(Implementation implementation);
const char* name_of(Activation activation);
const char* name_of(Autocast autocast);
const char* name_of(Balance balance);
const char* name_of(OptimizerImplementation implementation);
const char* name_of(Sync sync);
/// Whether gradients are copied into buckets beside them. Those that are reduced in one piece after the backward pass
/// lie in one buffer.
bool has_bucket_copies(const ScheduleSpec& spec);

const char* name_of(Overlap overlap);
const char* name_of(Buckets buckets);
const char* name_of(Reduction reduction);
const char* name_of(Framework framework);
const char* name_of(OptimizerSharding sharding);
const char* name_of(LateCommunication late);
const char* name_of(ShardGroup group);
const char* name_of(Replica replica);
const char* name_of(Inner inner);
const char* name_of(OuterDtype dtype);
/// An element of what replicas exchange.
Bytes outer_bytes(const ScheduleSpec& spec);
/// Whether a replica's ranks share one copy of everything.
bool is_sharded_inside(const ScheduleSpec& spec);
const char* name_of(GemmLayout layout);

}  // namespace accosim
