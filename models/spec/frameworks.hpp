// What the frameworks that run a training step do unless they are told otherwise, including what they leave off. A
// scenario says who runs the step (training.framework), and every choice that it does not make is the framework's.
#pragma once

#include <string>

#include "models/spec/device.hpp"
#include "models/spec/parallel.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "models/spec/training.hpp"

namespace accosim {

/// How a schedule's gradients are communicated, and its parameters gathered.
struct CommunicationDefaults {
  Overlap overlap = Overlap::kNone;
  Buckets buckets = Buckets::kWhole;
  double bucket_elements = 0;  ///< a bucket closes when it holds as many; of Buckets::kTensors
  double first_bucket_elements = 0;
  double bucket_elements_a_rank = 0;  ///< and at least as many for each rank that makes the update
  Reduction reduction = Reduction::kReduceScatter;
  double gather_elements = 0;  ///< parameters gathered at once; 0: all
  /// Gradients are views of what is reduced: not in PyTorch's DDP, nor in DeepSpeed, which flattens a bucket and copies
  /// it back (runtime/engine.py, allreduce_and_copy); in Megatron-LM they are.
  bool bucket_view = false;
  bool broadcast_buffers = true;  ///< of PyTorch's DDP, which alone has the choice
  // Whose default, and the file that says so.
  std::string source;         ///< of overlap, buckets and gathers
  std::string bucket_source;  ///< of the sizes
  std::string reduction_source;
};

/// `overlap`: as the user chose it, or the framework's own. `gradient`: of an element of the gradients, which turns
/// PyTorch's sizes in MiB into elements.
///
/// PyTorch: DistributedDataParallel's buckets of 25 MiB, the first of 1 MiB (torch/nn/parallel/distributed.py); it has
/// no ZeRO-1 or ZeRO-2 with buckets, and fully_shard reduces a unit at a time.
/// DeepSpeed: 5e8 elements, all-reduced, with overlap_comm off (runtime/zero/config.py, stage_1_and_2.py).
/// Megatron-LM: one bucket, or with --overlap-grad-reduce buckets of max(40e6, 1e6 x ranks) elements
/// (core/distributed/distributed_data_parallel.py).
CommunicationDefaults communication_defaults(Framework framework, const ScheduleTraits& schedule,
                                             std::optional<Overlap> overlap, Bytes gradient);

/// The dtype of stored and reduced gradients where the parameters are in `parameters`: Megatron-LM's DDP and
/// distributed optimizer keep those of bf16 in fp32 (megatron/training/arguments.py:
/// accumulate_allreduce_grads_in_fp32).
Dtype default_gradient_dtype(Framework framework, const ScheduleTraits& schedule, Dtype parameters);

/// How a model is split where nobody says more than into how many parts.
struct SplitDefaults {
  bool sequence = false;
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  bool overlap_messages = false;
  bool scatter_gather = false;
  std::string source;  ///< whose default, and the file that says so
};

/// Preconditions: all of `parallel` that is not a default here has been read.
/// PyTorch: as torchtitan has it, whose tensor parallelism splits the sequence too (torchtitan/models/llama3/infra/
/// parallelize.py).
/// DeepSpeed: PipelineModule has one schedule, whose sends and receives block (runtime/pipe/schedule.py, p2p.py); ranks
/// that split tensors send slices (is_pipe_partitioned, runtime/pipe/engine.py).
/// Megatron-LM: --sequence-parallel is off, and messages are overlapped under the interleaved schedule alone
/// (megatron/training/arguments.py).
SplitDefaults split_defaults(Framework framework, const Parallel& parallel);

/// Blocks of each of so many runs, which are the chunks of all stages, where nobody lists them; none where the
/// framework refuses that. Equal where they divide, and else as `source` has it. Megatron-LM: the head counts as a
/// block, or the embedding too (account_for_loss_in_pipeline_split, account_for_embedding_in_pipeline_split;
/// megatron/core/transformer/transformer_config.py). PyTorch: as torchtitan, where both count and the first runs have
/// one more (torchtitan/distributed/pipeline_parallel.py). DeepSpeed: the first runs have one more.
struct UsualBlocks {
  std::vector<int> blocks;
  std::string source;  ///< whose way that is; empty: they divide
};
UsualBlocks usual_blocks(Framework framework, int blocks, long long runs);
/// Whether no run then has more than the others, embedding and head counted as blocks or not.
bool are_even_runs(Framework framework, int blocks, long long runs);

/// How many micro-batches interleaved chunks take at once where an update has so many; 0: so many cannot be had.
/// Megatron-LM: as many as there are stages (microbatch_group_size_per_vp_stage). PyTorch: equal groups, as many as
/// they hold whole pipelines (ScheduleInterleaved1F1B; torch/distributed/pipelining/schedules.py).
int micro_batch_group(Framework framework, int stages, int micro_batches);

/// What recomputes whole blocks: PyTorch's checkpoints end where the last tensor is there that is needed
/// (torch/utils/checkpoint.py, without reentry).
Recompute whole_blocks(Framework framework);
/// One of `part` blocks, as the framework chooses them where only some are recomputed: every so many-th, or the first
/// ones of a chunk (Megatron-LM); of all where a chunk has too few for less. Precondition: parallel has been read.
RecomputedBlocks some_blocks(const Training& training, int blocks, int part);

/// The same degrees with so many chunks on each stage: interleaved, or with one chunk 1F1B, the blocks shared as usual,
/// messages as the framework then has them. Precondition: parallel.blocks is known where there are stages.
Parallel with_chunks(const Parallel& parallel, Framework framework, int chunks);
/// How a schedule's step splits the model.
Parallel parallel_of(const Training& training, const ScheduleSpec& spec);

/// Why the framework does not run such a pipeline and what to write instead; empty where it does.
std::string lacking_schedule(Framework framework, PipelineSchedule schedule);
std::string lacking_chunks(Framework framework);
/// Precondition: parallel.overlap_messages and all before it have been read.
std::string lacking_messages(Framework framework, const Parallel& parallel);
/// The same of collectives of split tensors beside their GEMMs.
std::string lacking_tensor_overlap(Framework framework);
/// Why ranks that split tensors cannot send slices; empty where they can.
std::string lacking_slices(Framework framework, const Parallel& parallel);

/// The host's time a kernel, of a device's `launch_interval`, which is measured on bare PyTorch operators. More where
/// Megatron's modules run: Python, autograd functions, checks and events stand between two kernels. 6.25 in
/// Megatron-DeepSpeed: Sailor's profiles of blocks on GH200 take some 50 us a kernel, whether two or four GPUs split a
/// block. 16 in Megatron-LM, whose modules are Transformer Engine's: with it the dense models of its functional tests
/// (12 layers of 512, on DGX A100 and DGX H100, whose steps grow with micro-batches and layers alone) take 0.81 of
/// what they do, in the median of 54 on both machines; the rest is what a step does once.
double launch_slowdown(Framework framework, Implementation implementation);

/// AdamW of torch.optim is foreach; DeepSpeed and Megatron-LM take fused ones.
OptimizerImplementation default_optimizer(Framework framework);

/// "PyTorch", "DeepSpeed", "Megatron-LM".
const char* title_of(Framework framework);

/// Why a framework cannot gather a sharded optimizer's parameters beside the next forward pass, and what to write.
inline constexpr const char* kNoParamGather = "DeepSpeed gathers the parameters after the step; leave it out";
/// The same of this framework; empty where it can.
std::string lacking_param_gather(Framework framework);

/// Whose default it is that gathers beside the forward pass are all sent for when that begins (align_param_gather of
/// Megatron-LM from 0.10 on, under the interleaved schedule alone); empty: nobody's.
std::string aligned_gathers(Framework framework, const Parallel& parallel);

/// Why the framework has no such schedule and what to write instead; empty where it has one.
std::string lacking(Framework framework, const ScheduleTraits& schedule);

}  // namespace accosim
