// How a model is trained, whatever the schedule: batches, number formats, what is recomputed, who runs the step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/units.hpp"
#include "models/spec/balance.hpp"
#include "models/spec/device.hpp"
#include "models/spec/parallel.hpp"
#include "models/spec/unsteady.hpp"

namespace accosim {

struct Cluster;
struct NodeGroup;

/// What the backward pass recomputes: nothing; the attention between its projections; everything but attention and
/// every other matrix product (torchtitan's selective_op); everything but a block's input; the same, but ending where
/// the last tensor is there that the backward pass needs.
enum class Recompute : std::uint8_t { kNone, kSelective, kSelectiveOp, kFull, kFullEarlyStop };
template <>
inline constexpr const char* kNames<Recompute>[] = {"none", "selective", "selective_op", "full", "full_early_stop"};
/// Which blocks are recomputed, where whole blocks are: of a rank's own every k-th, or a share of them, spread evenly;
/// or the first ones of each chunk of the model.
struct RecomputedBlocks {
  int every = 1;
  double fraction = 1;
  int first = 0;  ///< 0: not said

  bool operator==(const RecomputedBlocks&) const = default;
};
/// " of every 2nd block", " of 0.333 of the blocks", " of the first 3 blocks of each chunk"; empty: of all.
std::string in_words(const RecomputedBlocks& blocks);
/// How the head's product and the loss behind it are run: all logits at once; in pieces of tokens whose logits are
/// computed again in the backward pass; in pieces whose gradients are computed at once, in the forward pass (Liger's
/// fused linear cross-entropy); or in tiles that never reach the memory, computed again in the backward pass (Apple's
/// cut cross-entropy, arXiv 2411.09009).
enum class Loss : std::uint8_t { kWhole, kChunked, kFusedLinear, kCut };
template <>
inline constexpr const char* kNames<Loss>[] = {"whole", "chunked", "fused_linear", "cut"};
inline constexpr int kMostLossChunks = 4096;
/// How eager code runs a layer's experts (transformers' experts_implementation): rows sorted by expert and one product
/// over all of them, its usual one since release 5; or a loop over the experts.
enum class ExpertsImplementation : std::uint8_t { kGroupedMm, kEager };
template <>
inline constexpr const char* kNames<ExpertsImplementation>[] = {"grouped_mm", "eager"};
/// Products of a block that low-rank adapters can stand beside.
enum class LoraTarget : std::uint8_t { kQuery, kKey, kValue, kOutput, kGate, kUp, kDown };
template <>
inline constexpr const char* kNames<LoraTarget>[] = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                                     "gate_proj", "up_proj", "down_proj"};
/// What the frozen matrices of the blocks are stored in: the parameters' dtype, or four bits (QLoRA, arXiv 2305.14314).
enum class LoraBase : std::uint8_t { kParameters, kNf4 };
template <>
inline constexpr const char* kNames<LoraBase>[] = {"parameters", "nf4"};

/// Low-rank adapters (arXiv 2106.09685), which alone are trained: beside a product of in x out one of in x rank and one
/// of rank x out. Where a family, or merged code, has several targets in one matrix, that has one adapter.
struct Lora {
  int rank = 0;  ///< 0: there are none, and everything is trained
  std::vector<LoraTarget> targets{};
  LoraBase base = LoraBase::kParameters;

  bool on() const { return rank > 0; }
  bool has(LoraTarget target) const { return std::find(targets.begin(), targets.end(), target) != targets.end(); }
  bool operator==(const Lora&) const = default;
};

/// How elementwise operators are run: a kernel each (PyTorch eager), chains merged by a compiler (torch.compile), or
/// hand-written merged kernels (Megatron, Apex), or accocal's own CUDA step, kernel by kernel (accocal_step.hpp).
enum class Implementation : std::uint8_t { kEager, kCompiled, kFused, kAccocal };
template <>
inline constexpr const char* kNames<Implementation>[] = {"eager", "compiled", "fused", "accocal"};
/// torch.autocast: the matrix products run in 16 bits while parameters stay as they are stored.
enum class Autocast : std::uint8_t { kNone, kFp16, kBf16 };
template <>
inline constexpr const char* kNames<Autocast>[] = {"none", "fp16", "bf16"};
constexpr Dtype dtype_of(Autocast autocast) {  ///< not of kNone
  return autocast == Autocast::kFp16 ? Dtype::kFp16 : Dtype::kBf16;
}
/// Who runs the step: the choices that nobody made are its own (models/spec/frameworks.hpp).
enum class Framework : std::uint8_t { kPytorch, kDeepspeed, kMegatron };
template <>
inline constexpr const char* kNames<Framework>[] = {"pytorch", "deepspeed", "megatron"};
/// AdamW in one pass over the memory, or PyTorch's multi-tensor functions, a pass each.
enum class OptimizerImplementation : std::uint8_t { kFused, kForeach };
template <>
inline constexpr const char* kNames<OptimizerImplementation>[] = {"fused", "foreach"};
enum class Optimizer : std::uint8_t { kAdamW };
template <>
inline constexpr const char* kNames<Optimizer>[] = {"adamw"};

/// How many times as long kernels take in a training step as the model says. Memory-bound ones, relative to the bytes
/// of the listed operators: frameworks run more than is listed, hand-merged kernels find much in the L2 cache. A loaded
/// scenario takes these from constants(), which fit_steps() fits to published steps.
struct Overheads {
  double pytorch = 1;  ///< memory-bound kernels, eager and compiled
  double fused = 1;
  double flash_1 = 1;  ///< attention by FlashAttention 1, such as Triton's, relative to FlashAttention 2; PyTorch's
                       ///< memory-efficient attention, which nobody measured for us, is taken to be the same
  double product_slope = 0;  ///< of GEMMs on tensor cores over devices: 1 + slope ln(x / kHeldBackFrom), see
                             ///< product_overhead() in models/price/kernel.hpp

  bool operator==(const Overheads&) const = default;
};

/// TFLOP/s a W of a V100, whose steps take no longer than its kernels: 125 TFLOP/s at 300 W (NVIDIA V100 data sheet).
inline constexpr double kHeldBackFrom = 125.0 / 300;

struct Training {
  int sequence_length = 0;
  int micro_batch_size = 1;  ///< sequences; node groups may differ
  int gradient_accumulation_steps = 1;
  Balance balance = Balance::kNone;  ///< of the schedules that say nothing else
  double train_tokens = 0;
  Dtype precision = Dtype::kBf16;
  Autocast autocast = Autocast::kNone;
  Optimizer optimizer = Optimizer::kAdamW;
  Attention attention = Attention::kFlash;
  Recompute activation_recompute = Recompute::kNone;
  RecomputedBlocks recomputed_blocks{};
  Loss loss = Loss::kWhole;
  int loss_chunks = 0;       ///< of `chunked` and `fused_linear`; 0: as many as usual (layers.hpp)
  bool interference = true;  ///< collectives and computation on one GPU slow each other
  Implementation implementation = Implementation::kEager;
  Framework framework = Framework::kPytorch;
  std::optional<int> pytorch{};  ///< minor of the release of PyTorch 2 that the framework runs on, where it is known
  OptimizerImplementation optimizer_implementation = OptimizerImplementation::kFused;
  double dropout = 0;                        ///< probability; of embeddings, attention and both branches of a block
  bool gradient_clipping = false;            ///< the global norm of the gradients is taken and they are scaled
  std::optional<Seconds> launch_interval{};  ///< else launch_slowdown() times the device's
  Overheads overheads{};
  Unsteady unsteady{};  ///< what makes steps unlike each other
  Lora lora{};
  ExpertsImplementation experts_implementation = ExpertsImplementation::kGroupedMm;
  double expert_imbalance = 1;  ///< of the ranks that share experts: rows of the fullest over the mean, in each layer
  Parallel parallel{};          ///< how a step splits its model

  bool operator==(const Training&) const = default;
};
/// GPUs that do equally many micro-batches: those of one device in a node group, and all that a model replica has some
/// of. By node group and GPU of its nodes the number of its team, from 0 on. Precondition: whole replicas.
std::vector<std::vector<int>> teams_of(const Cluster& cluster, const Parallel& parallel, Island island);
/// Whether work can be divided among model replicas by their speed: where GPUs are unlike and not all in one team.
bool can_be_divided(const Cluster& cluster, const Training& training, Island island = Island::kWorld);
/// Whether every GPU has the training's micro-batch and as many of them.
bool has_one_micro_batch(const Cluster& cluster, const Training& training);
/// The same samples an update in micro-batches of so many, which divides them.
Training with_micro_batch(Training training, int samples);
/// Says in how large groups interleaved chunks take the training's micro-batches, as its framework has it.
void group_micro_batches(Training& training);
/// Micro-batches that a GPU of the group does for an update.
int accumulation_steps_of(const NodeGroup& group, int gpu, const Training& training);

}  // namespace accosim
