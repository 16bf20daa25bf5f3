// The rows. To add a schedule: a row here, a file in sim/schedules with its builder, and a line in
// sim/schedules/build.cpp.
#include "models/spec/schedule_traits.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "models/base/nearest.hpp"

namespace accosim {
namespace {

/// What others call a schedule, without case and what is not letter or digit, and how to write it here.
struct OtherNames {
  std::vector<std::string_view> names;
  const char* advice;
};
const std::vector<OtherNames>& other_names() {
  static const std::vector<OtherNames> kAll = {
      {{"fsdp", "fsdp1", "fsdp2"}, R"(PyTorch's FSDP is "zero3"; )"},
      {{"fullyshard"}, R"(PyTorch's fully_shard is "zero3"; )"},
      {{"fullysharded"}, R"(fully sharded training is "zero3"; )"},
      {{"fullyshardeddataparallel"}, R"(PyTorch's FullyShardedDataParallel is "zero3"; )"},
      {{"fullshard"}, R"(FULL_SHARD is "zero3"; )"},
      {{"shardgradop"}, R"(SHARD_GRAD_OP is "zero3" with "reshard_after_forward": false; )"},
      {{"hsdp", "hybridshard", "hybrid"}, R"(hybrid sharding is "zero3" with "shard_group": "node"; )"},
      {{"deepspeed"}, R"(DeepSpeed's ZeRO is "zero1", "zero2" or "zero3", by its stage; )"},
      {{"megatron", "distributedoptimizer"},
       R"(Megatron-LM's distributed optimizer is "zero1" with "framework": "megatron" in the training; )"},
      {{"zero"}, R"(ZeRO is "zero1", "zero2" or "zero3", by its stage; )"},
      {{"zero++", "zeropp"},
       R"(ZeRO++ is not modelled yet; without its quantised messages and second copy it is "zero3"; )"},
      {{"stage1", "zerostage1"}, R"(ZeRO stage 1 is "zero1"; )"},
      {{"stage2", "zerostage2"}, R"(ZeRO stage 2 is "zero2"; )"},
      {{"stage3", "zerostage3"}, R"(ZeRO stage 3 is "zero3"; )"},
      {{"internevo"},
       R"(InternEvo's ZeRO-1 is "zero1" with "reduction": "all_reduce", "parameter_sync": "broadcast" )"
       R"(and "shard_group": "node"; )"},
      {{"zero15"}, R"(shards of the optimizer inside a node are "zero1" with "shard_group": "node"; )"},
      {{"oss"}, R"(FairScale's OSS is "zero1" with "reduction": "all_reduce", "parameter_sync": "broadcast"; )"},
      {{"zeroredundancyoptimizer"}, R"(it is "ddp" with "optimizer_sharding": "zero_redundancy"; )"},
      {{"dp", "dataparallel"}, R"(data parallelism is "ddp"; )"},
      {{"distributeddataparallel"}, R"(PyTorch's DistributedDataParallel is "ddp"; )"},
      {{"pipedsgd"}, R"(Pipe-SGD is "pipesgd"; )"},
      {{"zerooffload"},
       R"(ZeRO-Offload is "zero2" with "offload_optimizer": true, or with its delayed update "dpu"; )"},
      {{"localadam"}, R"(local updates, with AdamW here, are "local_sgd"; )"},
      {{"postlocalsgd"}, R"(post-local SGD is "local_sgd" with "synchronous_updates"; )"},
  };
  return kAll;
}

constexpr double kState = kStateBytes, kHalf = kHalfBytes;

// A pipeline reduces a stage's gradients once, when all micro-batches of an update are through.
constexpr const char* kByMicroBatch =
    "reduces gradients after every micro-batch, and the stages of a pipeline reduce theirs when the last one is "
    "through; write \"zero1\"";
constexpr const char* kByUnit =
    "gathers the parameters of every micro-batch anew, which is not modelled yet where the model has several stages; "
    "write \"zero1\"";

/// ZeRO-1 with its gradients in buckets, and as Megatron-LM has it its parameters too.
std::vector<TunedForm> overlapped_zero1() {
  const JsonMember beside("overlap", "backward"), gather("overlap_param_gather", true), nodes("shard_group", "node");
  return {{Framework::kPytorch, "overlap grad reduce", {beside}},
          {Framework::kDeepspeed, "overlap grad reduce", {beside}},
          {Framework::kDeepspeed, "overlap grad reduce, bucket size 25 MiB", {beside, {"bucket_cap_mb", 25}}},
          {Framework::kMegatron, "overlap grad reduce + param gather", {beside, gather}},
          {Framework::kMegatron,
           "overlap grad reduce + param gather, bucket size 25 MiB",
           {beside, {"bucket_cap_mb", 25}, gather}},
          {Framework::kMegatron,
           "overlap grad reduce + param gather, bucket size 400 MiB",
           {beside, {"bucket_cap_mb", 400}, gather}},
          {Framework::kMegatron, "overlap grad reduce + param gather, sharded in nodes", {beside, gather, nodes}}};
}

/// Every update is of the gradients at the parameters that it changes.
std::vector<ScheduleTraits> synchronous_schedules() {
  const JsonMember views("gradient_as_bucket_view", true), no_buffers("broadcast_buffers", false),
      one_sync("sync", "last_micro_batch"), nodes("shard_group", "node"), all_reduce("all_reduce", "last_micro_batch"),
      keep("reshard_after_forward", false), keep_too("reshard_after_backward", false);
  return {
      {.name = "ddp",
       .title = "DDP",
       .inside = true,
       .formula = {.whole = kHalf + kHalf + kState},
       .usual_overlap = Overlap::kBackward,
       .keys = {"sync", "overlap", "buckets", "bucket_cap_mb", "first_bucket_mb", "gradient_as_bucket_view",
                "broadcast_buffers", "optimizer_sharding", "count_micro_batches"},
       .tuned = {{Framework::kPytorch, "one gradient sync", {views, no_buffers}},
                 {Framework::kPytorch,
                  "one gradient sync, bucket size 100 MiB",
                  {{"bucket_cap_mb", 100}, views, no_buffers}}},
       .accocal = AccocalRuns::kOnGpu,
       .trains_as = "ddp"},
      {.name = "zero1",
       .title = "ZeRO-1",
       .sharding = Sharding::kOptimizer,
       .formula = {.whole = kHalf + kHalf, .sharded = kState},
       .keys = {"overlap", "buckets", "bucket_cap_mb", "first_bucket_mb", "overlap_param_gather", "align_param_gather",
                "gradient_as_bucket_view", "reduction", "parameter_sync", "gather_bucket_mb", "count_micro_batches",
                "shard_group", "offload_optimizer"},
       .tuned = overlapped_zero1(),
       .accocal = AccocalRuns::kOnGpu,
       .trains_as = "zero1"},
      {.name = "zero2",
       .title = "ZeRO-2",
       .sharding = Sharding::kGradients,
       .formula = {.whole = kHalf, .sharded = kHalf + kState},
       .usual_sync = Sync::kEveryMicroBatch,
       .not_in_pipelines = kByMicroBatch,
       .keys = {"sync", "overlap", "buckets", "bucket_cap_mb", "first_bucket_mb", "gradient_as_bucket_view",
                "reduction", "parameter_sync", "gather_bucket_mb", "offload_optimizer"},
       .tuned = {{Framework::kDeepspeed,
                  "overlap grad reduce, one gradient sync",
                  {one_sync, {"overlap", "backward"}}}},
       .trains_as = "zero1"},  // sharding changes no update
      {.name = "zero3",
       .title = "ZeRO-3",
       .sharding = Sharding::kParameters,
       .inside = true,
       .formula = {.sharded = kHalf + kHalf + kState},
       .usual_sync = Sync::kEveryMicroBatch,
       .not_in_pipelines = kByUnit,
       .keys = {"sync", "reduce_dtype", "prefetch", "reshard_after_forward", "reshard_after_backward", "communicators",
                "shard_group", "all_reduce", "offload_optimizer"},
       .tuned = {{Framework::kPytorch, "prefetch 2", {{"prefetch", 2}}},
                 {Framework::kPytorch, "HSDP, one all-reduce", {nodes, all_reduce}},
                 {Framework::kPytorch, "HSDP, no reshard, one all-reduce", {nodes, all_reduce, keep, keep_too}},
                 {Framework::kPytorch, "HSDP, no reshard, one gradient sync", {nodes, one_sync, keep, keep_too}},
                 {Framework::kDeepspeed, "", {}},
                 {Framework::kDeepspeed, "MiCS", {nodes, all_reduce}}},
       .trains_as = "zero1"},
  };
}

/// Gradients that are late.
std::vector<ScheduleTraits> other_schedules() {
  return {
      {.name = "dpu",
       .title = "DPU",
       .sharding = Sharding::kOptimizer,
       .delayed = true,
       .statistics = Statistics::kStaleGradients,
       .most_same_batch = 2,
       .formula = {.whole = kHalf + kHalf + kHalf, .sharded = kState},
       .keys = {"late_communication", "poll_every", "offload_optimizer", "overlap", "buckets", "bucket_cap_mb",
                "first_bucket_mb", "pipeline_flush"},
       .accocal = AccocalRuns::kOnGpu,
       .trains_as = "dpu"},
      {.name = "wp",
       .title = "weight prediction",
       .sharding = Sharding::kOptimizer,
       .delayed = true,
       .lookahead = Lookahead::kPrediction,
       .statistics = Statistics::kStaleGradients,
       .formula = {.whole = kHalf + kHalf + kHalf, .sharded = kState},
       .keys = {"late_communication", "rollback_estimate", "poll_every", "pipeline_flush"},
       .accocal = AccocalRuns::kOnGpu,
       .trains_as = "wp"},
      {.name = "acco",
       .title = "ACCO",
       .sharding = Sharding::kOptimizer,
       .delayed = true,
       .lookahead = Lookahead::kHalfBatch,
       .rounds = 2,
       .inside = true,
       .most_same_batch = 1.5,
       .formula = {.whole = kHalf + kHalf + kHalf, .sharded = kState},
       .keys = {"late_communication", "rollback_estimate", "poll_every", "micro_batches_per_round", "zero_stage",
                "estimate", "overlap", "buckets", "bucket_cap_mb", "first_bucket_mb", "pipeline_flush"},
       .accocal = AccocalRuns::kOnGpu,
       .trains_as = "acco",
       .trains_as_keeping = "acco-keep"},
      // An all-reduce may take less than a reduce-scatter and an all-gather (trees, switches that reduce), so these two
      // have no bound over serial ZeRO-1. Over serial DDP it is 2.
      {.name = "pipesgd",
       .title = "PipeSGD",
       .delayed = true,
       .statistics = Statistics::kStaleGradients,
       .formula = {.whole = kHalf + kHalf + kHalf + kState},
       .keys = {"delay"},
       .trains_as = "pipesgd"},
      {.name = "sapipe",
       .title = "SAPipe",
       .delayed = true,
       .lookahead = Lookahead::kPrediction,
       .statistics = Statistics::kPartlyStale,
       .formula = {.whole = kHalf + kHalf + 2 * kHalf + kState},
       .usual_overlap = Overlap::kBackward,
       .not_in_pipelines = "predicts the parameters of each layer in the middle of a pass over the whole model, and "
                           "a stage has some of them; write \"pipesgd\" or \"wp\"",
       .keys = {"buckets", "bucket_cap_mb", "first_bucket_mb"}},
  };
}

/// Replicas make updates by themselves between two meetings. Their speedup over synchronous training has no bound: the
/// slower the network, the more is saved by what is not sent.
std::vector<ScheduleTraits> local_schedules() {
  return {
      {.name = "diloco",
       .title = "DiLoCo",
       .statistics = Statistics::kReplicasDrift,
       .local = true,
       .usual_inner_updates = 100,
       .outer_states = 2,
       .exchange_buffers = 1,
       .sends = Sends::kChanges,
       .formula = {.whole = kHalf + kHalf + 2 * kHalf + kState},
       .keys = {"inner_updates", "replica", "inner", "meeting", "offload_outer", "outer_dtype"},
       .accocal = AccocalRuns::kOnCpu,
       .trains_as = "diloco"},
      {.name = "local_sgd",
       .title = "local SGD",
       .statistics = Statistics::kReplicasDrift,
       .local = true,
       .usual_inner_updates = 8,
       .exchange_buffers = 1,
       .formula = {.whole = kHalf + kHalf + kState},
       .keys = {"inner_updates", "synchronous_updates", "replica", "inner", "meeting", "outer_dtype"}},
      {.name = "slowmo",
       .title = "SlowMo",
       .statistics = Statistics::kReplicasDrift,
       .local = true,
       .usual_inner_updates = 3,
       .usual_outer_every = 48,
       .outer_states = 2,
       .exchange_buffers = 1,
       .formula = {.whole = kHalf + kHalf + 2 * kHalf + kState},
       .keys = {"inner_updates", "outer_every", "form", "replica", "inner", "meeting", "offload_outer", "outer_dtype"},
       .trains_as = "slowmo"},
      {.name = "overlap_local_sgd",
       .title = "Overlap-Local-SGD",
       .statistics = Statistics::kReplicasDrift,
       .local = true,
       .usual_inner_updates = 2,
       .outer_states = 2,
       .exchange_buffers = 1,
       .sends = Sends::kOuterState,
       .meets_beside = true,
       .formula = {.whole = kHalf + kHalf + 2 * kHalf + kState},
       .keys = {"inner_updates", "replica", "inner", "meeting", "outer_dtype"},
       .trains_as = "overlap_local_sgd"},
  };
}

/// The same, where what is sent travels over a whole round, or in fragments.
std::vector<ScheduleTraits> late_local_schedules() {
  return {
      {.name = "co2",
       .title = "CO2",
       .statistics = Statistics::kReplicasDrift,
       .local = true,
       .usual_inner_updates = 48,
       .usual_outer_every = 48,
       .outer_states = 2,
       .exchange_buffers = 2,
       .meets_beside = true,
       .formula = {.whole = kHalf + kHalf + 4 * kHalf + kState},
       .keys = {"form", "inner_updates", "outer_every", "replica", "inner", "meeting", "offload_outer", "outer_dtype"},
       .trains_as = "co2"},
      {.name = "eager_diloco",
       .title = "Eager DiLoCo",
       .statistics = Statistics::kReplicasDrift,
       .local = true,
       .usual_inner_updates = 100,
       .outer_states = 2,
       .exchange_buffers = 3,
       .sends = Sends::kChanges,
       .meets_beside = true,
       .formula = {.whole = kHalf + kHalf + 4 * kHalf + kState},
       .keys = {"inner_updates", "replica", "inner", "meeting", "offload_outer", "outer_dtype"},
       .trains_as = "eager_diloco"},
      {.name = "streaming_diloco",
       .title = "Streaming DiLoCo",
       .statistics = Statistics::kReplicasDrift,
       .local = true,
       .usual_inner_updates = 100,
       .outer_states = 2,
       .exchange_buffers = 1,
       .sends = Sends::kChanges,
       .in_fragments = true,
       .meets_beside = true,
       .formula = {.whole = kHalf + kHalf + 2 * kHalf + kState},
       .not_in_pipelines = "has fragments of blocks from all over the model, and a stage has some of these; write "
                           "\"diloco\" or \"eager_diloco\"",
       .keys = {"inner_updates", "fragment_layers", "delay", "mixing", "by_layer", "replica", "inner", "offload_outer",
                "outer_dtype"},
       .trains_as = "streaming_diloco"},
  };
}

}  // namespace

const std::vector<ScheduleTraits>& schedules() {
  static const std::vector<ScheduleTraits> kRows = [] {
    std::vector<ScheduleTraits> rows;
    for (const auto& some : {synchronous_schedules, other_schedules, local_schedules, late_local_schedules})
      for (ScheduleTraits& row : some()) rows.push_back(std::move(row));
    return rows;
  }();
  return kRows;
}

const std::vector<ScheduleTraits>& schedules_of_frameworks() {
  // fully_shard with reshard_after_forward=False: what PyTorch has of ZeRO-2.
  static const std::vector<ScheduleTraits> kRows = {
      {.name = "zero2",
       .title = "ZeRO-2",
       .sharding = Sharding::kParameters,
       .formula = {.whole = kHalf, .sharded = kHalf + kState},
       .usual_sync = Sync::kEveryMicroBatch,
       .usual_reshard = false,
       .under = Framework::kPytorch,
       .runs_as = "zero3",
       .lacks_keys = "PyTorch's fully_shard reduces a unit at a time beside the backward pass; leave it out, "
                     "or write \"framework\": \"deepspeed\"",
       .not_in_pipelines = kByUnit,
       .keys = {"sync", "reduce_dtype", "prefetch", "reshard_after_backward", "communicators", "shard_group",
                "all_reduce", "offload_optimizer"},
       .tuned = {{Framework::kPytorch, "no reshard", {{"reshard_after_backward", false}}},
                 {Framework::kPytorch,
                  "no reshard, one gradient sync",
                  {{"sync", "last_micro_batch"}, {"reshard_after_backward", false}}}},
       .trains_as = "zero1"},
  };
  return kRows;
}

bool ScheduleTraits::takes(std::string_view key) const { return std::ranges::find(keys, key) != keys.end(); }

const ScheduleTraits* find_schedule(std::string_view name) {
  for (const ScheduleTraits& row : schedules())
    if (row.name == name) return &row;
  return nullptr;
}

const ScheduleTraits* find_schedule(std::string_view name, Framework framework) {
  for (const ScheduleTraits& row : schedules_of_frameworks())
    if (row.name == name && row.under == framework) return &row;
  return find_schedule(name);
}

const ScheduleTraits& traits_of(std::string_view name) {
  if (const ScheduleTraits* const row = find_schedule(name)) return *row;
  throw std::logic_error("no schedule \"" + std::string(name) + "\"");
}

const ScheduleTraits& traits_of(const ScheduleSpec& spec) {
  for (const ScheduleTraits& row : schedules_of_frameworks())
    if (row.name == spec.name && row.runs_as == spec.runs_as) return row;
  return traits_of(spec.name);
}

const std::string& program_of(const ScheduleSpec& spec) { return spec.runs_as.empty() ? spec.name : spec.runs_as; }

const ScheduleTraits& plain_schedule() { return traits_of("ddp"); }

const ScheduleTraits& plain_sharded_schedule() { return traits_of("zero1"); }

const ScheduleTraits& plain_schedule(Sharding sharding) {
  constexpr const char* kStages[] = {"ddp", "zero1", "zero2", "zero3"};
  return traits_of(kStages[static_cast<int>(sharding)]);
}

const ScheduleTraits& schedule_of_two_rounds() { return traits_of("acco"); }

bool is_synchronous(const ScheduleSpec& spec) { return !traits_of(spec).delayed && !traits_of(spec).local; }

int rounds_of(const ScheduleSpec& spec) {
  const ScheduleTraits* const inner = inner_schedule(spec);
  return inner != nullptr ? inner->rounds : traits_of(spec).rounds;
}

std::optional<int> least_a_round(const ScheduleSpec& spec, const Parallel& parallel) {
  if (parallel.pipeline == 1) return 1;
  const int least = spec.pipeline_flush ? 1 : parallel.pipeline;
  if (is_synchronous(spec) || spec.late_communication == LateCommunication::kWait) return least;
  const int open = least_open_flight(parallel);
  return open == 0 ? std::nullopt : std::optional(std::max(least, open));
}

double most_same_batch(const ScheduleSpec& spec) {
  const ScheduleTraits& traits = traits_of(spec);
  // A + T_rs + O / N + T_ag over the larger of the GPU's part, which has max(A, T_rs) + T_ag, and the host's, which is
  // at least O / N while a host is no faster than a GPU.
  if (spec.offload_optimizer && traits.delayed) return traits.most_same_batch + 1;
  // A round takes what its units' messages and its own computation take, and the step beside it.
  if (spec.zero_stage == 3) return traits.most_same_batch + 0.5;
  // Only one of two rounds communicates, and it may grow: ((m + n) t + T) / (m t + max(n t, T)).
  if (spec.estimate == EstimateOf::kLocal && accumulates_while_waiting(spec)) return traits.most_same_batch + 0.5;
  return traits.most_same_batch;
}

bool accumulates_while_waiting(const ScheduleSpec& spec) {
  const ScheduleTraits& traits = traits_of(spec);
  return traits.delayed && traits.takes("late_communication") && !meets_every_micro_batch(spec) &&
         spec.late_communication == LateCommunication::kAccumulate;
}

bool meets_every_micro_batch(const ScheduleSpec& spec) {
  return sharding_of(spec) == Sharding::kParameters || spec.sync == Sync::kEveryMicroBatch;
}

ScheduleSpec accumulating(ScheduleSpec spec) {
  if (sharding_of(spec) < Sharding::kGradients) spec.sync = Sync::kLastMicroBatch;
  return spec;
}

ScheduleSpec with_some_balance(ScheduleSpec spec) {
  if (spec.balance == Balance::kNone) spec.balance = Balance::kCounts;
  return spec;
}

int updates_per_mark(const ScheduleSpec& spec) {
  return updates_per_mark(traits_of(spec), std::max(spec.inner_updates, spec.outer_every));
}

bool meets_beside(const ScheduleSpec& spec) { return traits_of(spec).meets_beside; }

const ScheduleTraits* inner_schedule(const ScheduleSpec& spec) {
  return spec.inner.empty() ? nullptr : find_schedule(spec.inner);
}

Island island_of(const ScheduleSpec& spec) {
  return spec.island.value_or(traits_of(spec).local ? Island::kGpu : Island::kWorld);
}

Ranks update_ranks(const ScheduleSpec& spec) { return {traits_of(spec).local ? kIsland : kAllData}; }

bool is_hybrid(const ScheduleSpec& spec) { return !traits_of(spec).local && island_of(spec) != Island::kWorld; }

Ranks sharing(const ScheduleSpec& spec, Ranks copies) {
  if (is_hybrid(spec)) copies.dims = copies.dims & kIsland;
  return copies;
}

Ranks same_part(Ranks copies) {
  copies.dims = copies.dims & kIslands;
  return copies;
}

bool is_sharded_inside(const ScheduleSpec& spec) {
  const ScheduleTraits* const inner = inner_schedule(spec);
  return inner != nullptr && inner->sharding == Sharding::kParameters;
}

Sharding sharding_of(const ScheduleSpec& spec) {
  const ScheduleTraits* const inner = inner_schedule(spec);
  if (spec.offload_optimizer && traits_of(spec).delayed) return Sharding::kGradients;  // nothing waits to be swapped
  if (inner == nullptr && spec.zero_stage > 1)
    return spec.zero_stage == 2 ? Sharding::kGradients : Sharding::kParameters;
  return inner != nullptr ? inner->sharding : traits_of(spec).sharding;
}

bool is_serial_sharded(const ScheduleSpec& spec) {
  return spec.name == plain_sharded_schedule().name && !spec.offload_optimizer && !is_hybrid(spec) &&
         spec.overlap == Overlap::kNone && spec.buckets == Buckets::kWhole &&
         spec.reduction == Reduction::kReduceScatter && spec.parameter_sync == ParameterSync::kAllGather &&
         spec.gather_cap == Bytes{0};
}

std::vector<std::string> schedule_names() { return mapped<std::string>(schedules(), &ScheduleTraits::name); }

std::vector<std::string> inner_names() {
  std::vector<std::string> names;
  for (const ScheduleTraits& row : schedules())
    if (row.inside) names.emplace_back(row.name);
  return names;
}

std::vector<std::string> accocal_algorithms(AccocalRuns least) {
  std::vector<std::string> names;
  for (const ScheduleTraits& row : schedules())
    if (row.accocal >= least) names.emplace_back(row.name);
  return names;
}

std::string advice_for_schedule(const std::string& written) {
  std::string bare;
  for (const char c : lower(written))
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+') bare += c;
  for (const OtherNames& other : other_names())
    if (std::ranges::find(other.names, bare) != other.names.end()) return other.advice;
  return did_you_mean(bare, schedule_names());
}

}  // namespace accosim
