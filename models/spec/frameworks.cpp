// Read in PyTorch 2.5, and in the masters of DeepSpeed and Megatron-LM of August 2026.
#include "models/spec/frameworks.hpp"

#include <algorithm>
#include <numeric>

namespace accosim {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kTorchBucket = 25 * kMiB;      // bytes: bucket_cap_mb
constexpr double kTorchFirstBucket = kMiB;      // bytes: kDefaultFirstBucketBytes
constexpr double kDeepspeedElements = 5e8;      // reduce_bucket_size and allgather_bucket_size
constexpr double kMegatronElements = 40e6;      // or, with more ranks than 40,
constexpr double kMegatronElementsARank = 1e6;  // so that a rank's part stays large
// Of a bare operator's.
constexpr double kMegatronLaunch = 16, kDeepspeedLaunch = 6.25;

bool is_megatrons(const ScheduleTraits& schedule) {
  return schedule.name == plain_schedule().name || schedule.name == plain_sharded_schedule().name;
}

}  // namespace

CommunicationDefaults communication_defaults(Framework framework, const ScheduleTraits& schedule,
                                             std::optional<Overlap> overlap, Bytes gradient) {
  CommunicationDefaults usual;
  const bool whole_gradients = schedule.sharding == Sharding::kNothing;
  switch (framework) {
    case Framework::kPytorch:
      usual.overlap = overlap.value_or(schedule.usual_overlap);
      if (usual.overlap == Overlap::kBackward) usual.buckets = whole_gradients ? Buckets::kTensors : Buckets::kUnits;
      usual.bucket_elements = kTorchBucket / gradient.value;
      usual.first_bucket_elements = kTorchFirstBucket / gradient.value;
      usual.bucket_source = "default of PyTorch's DistributedDataParallel (torch/nn/parallel/distributed.py)";
      usual.reduction_source = "default";
      if (whole_gradients) usual.source = usual.bucket_source;
      if (!whole_gradients)
        usual.source = usual.overlap == Overlap::kBackward
                           ? "default of PyTorch, whose fully_shard reduces a unit at a time"
                           : "default: PyTorch has no such schedule, and the plain one hides nothing";
      break;
    case Framework::kDeepspeed:
      usual.overlap = overlap.value_or(Overlap::kNone);
      usual.buckets = Buckets::kTensors;
      usual.bucket_elements = usual.first_bucket_elements = usual.gather_elements = kDeepspeedElements;
      usual.reduction = Reduction::kAllReduce;
      usual.source = usual.bucket_source = "default of DeepSpeed (runtime/zero/config.py)";
      usual.reduction_source = "default of DeepSpeed (runtime/zero/stage_1_and_2.py)";
      break;
    case Framework::kMegatron:
      usual.overlap = overlap.value_or(Overlap::kNone);
      if (usual.overlap == Overlap::kBackward) usual.buckets = Buckets::kTensors;
      usual.bucket_elements = usual.first_bucket_elements = kMegatronElements;
      usual.bucket_elements_a_rank = kMegatronElementsARank;
      usual.bucket_view = true;
      usual.source = usual.reduction_source = "default of Megatron-LM (megatron/training/arguments.py)";
      usual.bucket_source = "default of Megatron-LM (megatron/core/distributed/distributed_data_parallel.py)";
      break;
  }
  return usual;
}

Dtype default_gradient_dtype(Framework framework, const ScheduleTraits& schedule, Dtype parameters) {
  const bool widened = framework == Framework::kMegatron && is_megatrons(schedule) && parameters == Dtype::kBf16;
  return widened ? Dtype::kFp32 : parameters;
}

SplitDefaults split_defaults(Framework framework, const Parallel& parallel) {
  SplitDefaults usual;
  const bool piped = parallel.pipeline > 1;
  if (piped && parallel.chunks > 1) usual.schedule = PipelineSchedule::kInterleaved;
  switch (framework) {
    case Framework::kPytorch:
      usual.sequence = parallel.tensor > 1;
      usual.overlap_messages = piped;
      usual.source = "default of PyTorch, as torchtitan has it";
      break;
    case Framework::kDeepspeed:
      usual.scatter_gather = lacking_slices(framework, parallel).empty();
      usual.source = "default of DeepSpeed (runtime/pipe/schedule.py)";
      break;
    case Framework::kMegatron:
      usual.overlap_messages = piped && parallel.schedule == PipelineSchedule::kInterleaved;
      usual.source = "default of Megatron-LM (megatron/training/arguments.py)";
      break;
  }
  return usual;
}

UsualBlocks usual_blocks(Framework framework, int blocks, long long runs) {
  const auto counting = [&](int embedding, int head) {
    std::vector<int> shares = equal_blocks(blocks + embedding + head, static_cast<int>(runs));
    shares.front() -= embedding;
    shares.back() -= head;
    return shares;
  };
  if (blocks % runs == 0) return {counting(0, 0), ""};
  switch (framework) {
    case Framework::kPytorch:
      if (runs > blocks + 2) return {};
      return {counting(1, 1), "default of torchtitan: embedding and head count as a block each"};
    case Framework::kDeepspeed:
      if (runs > blocks) return {};
      return {counting(0, 0), "default: the first ones have a block more"};
    case Framework::kMegatron: break;
  }
  if ((blocks + 1) % runs == 0) return {counting(0, 1), "as Megatron-LM's account_for_loss_in_pipeline_split has it"};
  if ((blocks + 2) % runs == 0)
    return {counting(1, 1),
            "as Megatron-LM's account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split have it"};
  return {};
}

bool are_even_runs(Framework framework, int blocks, long long runs) {
  const bool even = blocks % runs == 0 || (blocks + 1) % runs == 0 || (blocks + 2) % runs == 0;
  return even && !usual_blocks(framework, blocks, runs).blocks.empty();
}

int micro_batch_group(Framework framework, int stages, int micro_batches) {
  const int groups = std::max(1, micro_batches / stages);
  if (framework == Framework::kPytorch) return micro_batches % groups == 0 ? micro_batches / groups : 0;
  return micro_batches % stages == 0 ? stages : 0;
}

Training with_micro_batch(Training training, int samples) {
  const std::int64_t all = std::int64_t{training.micro_batch_size} * training.gradient_accumulation_steps;
  training.micro_batch_size = samples;
  training.gradient_accumulation_steps = static_cast<int>(all / samples);
  group_micro_batches(training);
  return training;
}

void group_micro_batches(Training& training) {
  Parallel& parallel = training.parallel;
  // Where a pair of passes exchanges its messages at once, other groups would wait for each other for ever.
  const int group = parallel.overlap_messages
                        ? micro_batch_group(training.framework, parallel.pipeline, training.gradient_accumulation_steps)
                        : 0;
  parallel.group = group == parallel.pipeline ? 0 : group;
}

Recompute whole_blocks(Framework framework) {
  return framework == Framework::kPytorch ? Recompute::kFullEarlyStop : Recompute::kFull;
}

RecomputedBlocks some_blocks(const Training& training, int blocks, int part) {
  if (training.framework != Framework::kMegatron) return {part, 1};
  const std::vector<int>& shares = training.parallel.blocks;
  const int most = shares.empty() ? blocks : *std::ranges::max_element(shares);
  const int first = (most + part - 1) / part;
  return first < most ? RecomputedBlocks{1, 1, first} : RecomputedBlocks{};
}

Parallel with_chunks(const Parallel& parallel, Framework framework, int chunks) {
  if (parallel.pipeline == 1 || chunks == parallel.chunks) return parallel;
  Parallel changed = parallel;
  changed.chunks = chunks;
  changed.schedule = chunks > 1 ? PipelineSchedule::kInterleaved : PipelineSchedule::kOneForwardOneBackward;
  changed.overlap_messages = split_defaults(framework, changed).overlap_messages;
  const int blocks = std::accumulate(parallel.blocks.begin(), parallel.blocks.end(), 0);
  changed.blocks = usual_blocks(framework, blocks, parallel.pipeline * chunks).blocks;
  return changed;
}

Parallel parallel_of(const Training& training, const ScheduleSpec& spec) {
  return spec.chunks == 0 ? training.parallel : with_chunks(training.parallel, training.framework, spec.chunks);
}

std::string lacking_schedule(Framework framework, PipelineSchedule schedule) {
  if (schedule == PipelineSchedule::kGpipe && framework != Framework::kPytorch)
    return std::string("is \"gpipe\", which ") + title_of(framework) +
           " does not have; write \"1f1b\", or \"framework\": \"pytorch\"";
  return "";
}

std::string lacking_chunks(Framework framework) {
  return framework == Framework::kDeepspeed
             ? "gives a stage several chunks, and DeepSpeed's has one; write 1, or another framework"
             : "";
}

std::string lacking_messages(Framework framework, const Parallel& parallel) {
  const bool overlapped = parallel.overlap_messages, interleaved = parallel.schedule == PipelineSchedule::kInterleaved;
  if (framework == Framework::kDeepspeed && overlapped)
    return "is true, and a stage of DeepSpeed waits for each message; write false";
  if (framework != Framework::kMegatron) return "";
  if (overlapped && !interleaved)
    return "is true, and Megatron-LM sends beside the computation only under the interleaved schedule; write false, or "
           "\"virtual_pipeline_stages\": 2";
  if (!overlapped && interleaved && parallel.pipeline == 2)
    return "is false, and Megatron-LM then needs three stages or more for several chunks; write true";
  return "";
}

std::string lacking_tensor_overlap(Framework framework) {
  return framework == Framework::kDeepspeed
             ? "cuts collectives up beside their GEMMs (Transformer Engine's user buffers, PyTorch's async tensor "
               "parallelism), and DeepSpeed waits for them; write false"
             : "";
}

std::string lacking_slices(Framework framework, const Parallel& parallel) {
  if (parallel.tensor == 1 || parallel.pipeline == 1)
    return "is about what ranks that split tensors send from stage to stage; write a tensor_parallel_size and a "
           "pipeline_parallel_size above 1, or leave it out";
  if (parallel.sequence)
    return "is true, and with sequence_parallel a rank has no more than its slice; leave one of both out";
  return framework == Framework::kPytorch ? "is true, and PyTorch's stages send whole tensors; write false" : "";
}

double launch_slowdown(Framework framework, Implementation implementation) {
  if (implementation != Implementation::kFused || framework == Framework::kPytorch) return 1;
  return framework == Framework::kMegatron ? kMegatronLaunch : kDeepspeedLaunch;
}

OptimizerImplementation default_optimizer(Framework framework) {
  return framework == Framework::kPytorch ? OptimizerImplementation::kForeach : OptimizerImplementation::kFused;
}

const char* title_of(Framework framework) {
  static constexpr const char* kTitles[] = {"PyTorch", "DeepSpeed", "Megatron-LM"};
  return kTitles[static_cast<std::size_t>(framework)];
}

std::string lacking_param_gather(Framework framework) {
  return framework == Framework::kDeepspeed ? kNoParamGather : "";
}

std::string aligned_gathers(Framework framework, const Parallel& parallel) {
  const bool aligned = framework == Framework::kMegatron && parallel.schedule == PipelineSchedule::kInterleaved;
  return aligned ? "default of Megatron-LM (megatron/training/arguments.py)" : "";
}

std::string lacking(Framework framework, const ScheduleTraits& schedule) {
  if (framework == Framework::kMegatron && schedule.sharding == Sharding::kGradients)
    return "Megatron-LM has no ZeRO-2; write \"" + std::string(plain_sharded_schedule().name) +
           "\", its distributed optimizer, or another framework";
  return "";
}

}  // namespace accosim
