// The keys of each schedule. A key that belongs to another schedule is a mistake that would otherwise change nothing
// in silence, so the error says whose key it is.
#include "models/read/read_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <type_traits>

#include "models/base/text.hpp"
#include "models/read/other_words.hpp"
#include "models/read/piped_schedules.hpp"
#include "models/read/read_parallel.hpp"
#include "models/read/read_training.hpp"
#include "models/spec/frameworks.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr Range kBucketMiB{0, 1e6, true};
constexpr int kMostPrefetch = 1024;
constexpr int kMostDelay = 1024;
constexpr int kUsualAveraging = 3;  ///< fairscale's localsgd_frequency

using Reading = ScheduleReading;
using Of = const Reading&;

bool is_own_step(Of of) { return of.training.implementation == Implementation::kAccocal; }

bool is_overlapped(Of of) { return of.spec.overlap == Overlap::kBackward; }
bool is_broadcast(Of of) { return of.spec.parameter_sync == ParameterSync::kBroadcast; }
bool has_no_tensors(Of of) { return of.spec.buckets != Buckets::kTensors; }

/// What the framework does where the schedule says nothing; `overlap` as it was chosen, where it was. accocal's own
/// step hides nothing, nor do the hooks of fairscale's replicas.
CommunicationDefaults defaults_of(Of of, std::optional<Overlap> overlap = {}) {
  if (CommunicationDefaults own; is_own_step(of) || of.spec.form == MethodForm::kCode) {
    own.source = "default";
    return own;
  }
  return communication_defaults(of.training.framework, of.traits, overlap, bytes_of(of.spec.gradient_dtype));
}

/// How many ranks sum a gradient: all that have the same part of the model, or those of a replica, which may be of
/// unlike sizes.
struct UpdateRanks {
  double fewest = 0, most = 0;
};

UpdateRanks update_ranks(Of of) {
  if (!of.cluster || of.cluster->nodes.empty()) return {};
  UpdateRanks ranks{std::numeric_limits<double>::infinity(), 0};
  const int model = model_ranks_of(of.training.parallel);
  for (const NodeGroup& group : of.cluster->nodes) {
    const double own = group.gpus * (island_of(of.spec) == Island::kGroup ? group.count : 1.0) / model;
    ranks = {std::min(ranks.fewest, own), std::max(ranks.most, own)};
  }
  const double all = gpu_count(*of.cluster) / model;
  const bool islands = traits_of(of.spec).local && island_of(of.spec) != Island::kGpu;
  return islands ? ranks : UpdateRanks{all, all};
}

// The default of a member: another member of the schedule, of its traits or of what the framework does.
template <class T>
const T& usual(Of of, T ScheduleSpec::*member) {
  return of.spec.*member;
}
template <class T>
const T& usual(Of of, T ScheduleTraits::*member) {
  return of.traits.*member;
}
template <class T>
T usual(Of of, T CommunicationDefaults::*member) {
  return defaults_of(of).*member;
}

/// Reads a key into its member, whose default is kUsual.
template <auto kMember, auto kUsual = kMember>
void into(Of of, const char* key) {
  auto& member = of.spec.*kMember;
  using Value = std::remove_reference_t<decltype(member)>;
  const Value fallback = usual(of, kUsual);
  if constexpr (std::is_same_v<Value, bool>)
    member = of.reader.boolean(key, fallback);
  else if constexpr (std::is_same_v<Value, Bytes>)
    member = Bytes{of.reader.number(key, kBucketMiB, fallback.value / kMiB) * kMiB};
  else if constexpr (std::is_same_v<Value, Dtype>)
    member = of.reader.choice(key, stored_dtypes(), fallback);
  else
    member = of.reader.choice(key, fallback);
}

template <auto kMember, int kLeast, int kMost, auto kUsual = kMember>
void count(Of of, const char* key) {
  of.spec.*kMember = of.reader.integer(key, kLeast, kMost, usual(of, kUsual));
}

/// A delayed update whose optimizer is on the host copies to it under the backward pass.
void read_overlap(Of of, const char* key) {
  const bool host = of.traits.delayed && of.spec.offload_optimizer;
  of.spec.overlap = of.reader.choice(key, host ? Overlap::kBackward : defaults_of(of).overlap);
}

void read_buckets(Of of, const char* key) {
  const bool sized = of.reader.has("bucket_cap_mb") || of.reader.has("first_bucket_mb");
  const CommunicationDefaults defaults = defaults_of(of, of.spec.overlap);
  of.spec.buckets = sized ? Buckets::kTensors : defaults.buckets;
  const bool written = of.reader.has(key);
  into<&ScheduleSpec::buckets>(of, key);
  if (!written) of.reader.find(key)->origin = origin_named(sized ? "default, where a size is given" : defaults.source);
}

/// Where replicas of unlike sizes have unlike buckets no one number stands for them all.
void read_bucket_cap(Of of, const char* key) {
  const CommunicationDefaults defaults = defaults_of(of, of.spec.overlap);
  const Bytes element = bytes_of(of.spec.gradient_dtype), cap = defaults.bucket_elements * element,
              a_rank = defaults.bucket_elements_a_rank * element;
  const UpdateRanks ranks = update_ranks(of);
  const Bytes most = std::max(cap, ranks.most * a_rank);
  const bool unlike = std::max(cap, ranks.fewest * a_rank) < most && !of.reader.has(key);
  of.spec.bucket_cap = unlike ? cap : most;
  if (unlike)
    of.spec.bucket_cap_a_rank = a_rank;
  else
    into<&ScheduleSpec::bucket_cap>(of, key);
}

/// A framework without a first bucket of its own has them all of one size, which may be the user's.
void read_first_bucket(Of of, const char* key) {
  const CommunicationDefaults defaults = defaults_of(of, of.spec.overlap);
  const bool own = defaults.first_bucket_elements != defaults.bucket_elements,
             unlike = of.spec.bucket_cap_a_rank > Bytes{0};
  const Bytes first = defaults.first_bucket_elements * bytes_of(of.spec.gradient_dtype);
  of.spec.first_bucket = own && !unlike ? first : of.spec.bucket_cap;
  if (!unlike || of.reader.has(key)) into<&ScheduleSpec::first_bucket>(of, key);
}

/// Absent: the parameters are gathered in one piece.
void read_gather_bucket(Of of, const char* key) {
  of.spec.gather_cap = defaults_of(of).gather_elements * bytes_of(of.spec.parameter_dtype);
  if (of.spec.gather_cap > Bytes{0} || of.reader.has(key)) into<&ScheduleSpec::gather_cap>(of, key);
}

void read_all_reduce(Of of, const char* key) {
  of.spec.all_reduce = of.reader.choice(key, {Sync::kEveryMicroBatch, Sync::kLastMicroBatch}, of.spec.all_reduce);
}

/// Three bits of exponent hold a change of the parameters, and not the parameters; and a site that sums them first
/// would send what no longer fits into them. Empty where they hold what is sent.
std::string too_much_for_e3m0(Of of) {
  if (of.traits.sends != Sends::kChanges) {
    std::vector<std::string> senders;
    for (const ScheduleTraits& row : schedules())
      if (row.sends == Sends::kChanges) senders.emplace_back(row.name);
    return fmt::format(
        "holds changes of the parameters, and {} sends the parameters themselves; write another type, "
        "or a schedule that sends changes ({})",
        of.traits.name, in_words(senders, " or "));
  }
  if (of.spec.meeting == Meeting::kHierarchical)
    return "holds the change of one replica, and in a hierarchical meeting a site sends the sum of several; write "
           "another type, or \"meeting\": \"ring\"";
  return "";
}

void read_outer_dtype(Of of, const char* key) {
  const std::optional<OuterDtype> same = value_named<OuterDtype>(name_of(of.spec.parameter_dtype));
  std::vector<OuterDtype> dtypes = values_of<OuterDtype>();
  if (const std::string why = too_much_for_e3m0(of); !why.empty()) {
    const std::string e3m0 = name_of(OuterDtype::kE3m0);
    if (const JsonValue* const written = of.reader.find(key); written != nullptr && written->text == e3m0) {
      of.reader.fail(key, fmt::format("{} {}", in_quotes(e3m0), why));
      return;
    }
    std::erase(dtypes, OuterDtype::kE3m0);
  }
  of.spec.outer_dtype = of.reader.choice(key, dtypes, same);
}

/// The code that was released with CO2 averages often and takes an outer step more rarely, as SlowMo's does.
bool has_rare_outer_steps(Of of) {
  return of.traits.usual_outer_every > 0 && (!of.traits.meets_beside || of.spec.form == MethodForm::kCode);
}

void read_inner_updates(Of of, const char* key) {
  const bool rare = of.traits.meets_beside && has_rare_outer_steps(of);
  of.spec.inner_updates =
      of.reader.integer(key, 1, kMostInnerUpdates, rare ? kUsualAveraging : of.traits.usual_inner_updates);
}

void read_outer_every(Of of, const char* key) {
  const int least = of.spec.inner_updates, usual = of.traits.usual_outer_every;
  of.spec.outer_every = of.reader.integer(key, 1, kMostInnerUpdates, std::max(1, usual / least) * least);
}

std::string wrong_outer_every(Of of) {
  const int every = of.spec.outer_every, inner = of.spec.inner_updates;
  if (every % inner == 0) return "";
  return fmt::format("is {}, and replicas meet every {} inner_updates; write a multiple of that, such as {}", every,
                     inner, std::max(1, every / inner) * inner);
}

/// Of pipelined gradients so many wait at a time.
void read_delay(Of of, const char* key) {
  if (of.traits.in_fragments)
    of.spec.delay = of.reader.integer(key, 0, kMostInnerUpdates, std::min(of.spec.inner_updates - 1, 1));
  else
    of.spec.delay = of.reader.integer(key, 1, kMostDelay, 1);
}

/// A fragment is applied before it is sent again.
std::string wrong_delay(Of of) {
  const int delay = of.spec.delay, inner = of.spec.inner_updates;
  if (!of.traits.in_fragments || delay < inner || !of.reader.good("inner_updates")) return "";
  const std::string again = inner == 1 ? "in every update" : fmt::format("after {} updates", inner);
  return fmt::format(
      "is {}, and a fragment is applied before it is sent again, which is {} (inner_updates); write {}, "
      "or more inner_updates",
      delay, again, inner == 1 ? "0" : fmt::format("{} or less", inner - 1));
}

void read_mixing(Of of, const char* key) {
  constexpr double kUsual = 0.5;
  of.spec.mixing = of.reader.number(key, Range{0, 0.999}, of.spec.delay == 0 ? 0 : kUsual);
}

/// The last update before a meeting is then one of the replica's own layers.
std::string wrong_by_layer(Of of) {
  if (!of.spec.by_layer || island_of(of.spec) == Island::kGpu) return "";
  return "is of replicas of one GPU; write \"replica\": \"gpu\", or leave it out";
}

/// What is done in the node in the code that both were released with.
std::string wrong_form(Of of) {
  if (of.spec.form != MethodForm::kCode || !of.cluster || node_count(*of.cluster) > 1) return "";
  return "is \"code\", whose replicas are nodes, and the cluster has one, which would meet nobody; write \"paper\"";
}

std::string wrong_optimizer_sharding(Of of) {
  const Framework framework = of.training.framework;
  if (of.spec.optimizer_sharding == OptimizerSharding::kNone || framework == Framework::kPytorch) return "";
  return fmt::format("zero_redundancy is PyTorch's, and {} runs the step; write \"none\", or the schedule {}",
                     title_of(framework), plain_sharded_schedule().name);
}

/// All ranks are what an absent island stands for, so that a schedule is the same wherever its defaults come from.
void read_shard_group(Of of, const char* key) {
  const Island island = of.reader.choice(key, {Island::kWorld, Island::kNode}, Island::kWorld);
  if (island != Island::kWorld) of.spec.island = island;
}

void read_replica(Of of, const char* key) {
  const bool code = of.spec.form == MethodForm::kCode;
  of.spec.island = of.reader.choice(
      key, code ? std::vector{Island::kNode} : std::vector{Island::kGpu, Island::kNode, Island::kGroup},
      code ? Island::kNode : Island::kGpu);
}

std::string wrong_shard_group(Of of) {
  if (!is_hybrid(of.spec) || !of.cluster) return "";
  const std::string unequal = unequal_in_words(of.cluster->nodes, false);
  return unequal.empty() ? "" : fmt::format("\"node\" needs {}; write \"world\"", unequal);
}

constexpr const char* kNoneInside = "none";

/// A replica of one rank has no schedule inside.
void read_inner(Of of, const char* key) {
  const bool alone = island_of(of.spec) == Island::kGpu;
  const bool code = of.spec.form == MethodForm::kCode;  // has whole parameters on every rank
  const std::vector<std::string> inside = alone  ? std::vector<std::string>{kNoneInside}
                                          : code ? std::vector<std::string>{plain_schedule().name}
                                                 : inner_names();
  of.spec.inner = of.reader.one_of(key, inside, inside.front(), [&](const std::string& written) {
    return alone ? std::string("what runs inside replicas of several GPUs; write \"replica\": \"node\", or ")
           : find_schedule(written) != nullptr ? std::string("what runs inside here; ")
                                               : advice_for_schedule(written);
  });
  if (alone) of.spec.inner.clear();
}

/// Shards meet those of the same place in the other replicas.
std::string wrong_inner(Of of) {
  if (!is_sharded_inside(of.spec) || !of.cluster) return "";
  const std::string unequal = unequal_in_words(of.cluster->nodes, island_of(of.spec) == Island::kGroup);
  return unequal.empty() ? ""
                         : fmt::format("{} in replicas whose shards meet needs {}; write \"{}\"", of.spec.inner,
                                       unequal, inner_names().front());
}

/// What keeps a hierarchical meeting from being one, and what to write.
std::string wrong_meeting(Of of) {
  if (of.spec.meeting != Meeting::kHierarchical || !of.cluster) return "";
  const Cluster& cluster = *of.cluster;
  const bool apart = cluster.fabric.between_groups.has_value();
  const NodeGroup& first = cluster.nodes.front();
  if (const std::string unequal = unequal_in_words(cluster.nodes, apart); !unequal.empty())
    return fmt::format("\"hierarchical\" needs {}; write \"ring\"", unequal);
  if (!apart && node_count(cluster) < 2)
    return "is \"hierarchical\", and the cluster is one node, so there is one site; write \"ring\"";
  if (const int models = first.gpus * (apart ? first.count : 1) / of.training.parallel.tensor; models < 2)
    return fmt::format("is \"hierarchical\", and a site has one {}, which a ring joins as well; write \"ring\"",
                       of.training.parallel.tensor > 1 ? "model" : "GPU");
  return "";
}

void read_micro_batches_per_round(Of of, const char* key) {
  const int steps = of.training.gradient_accumulation_steps, rounds = of.traits.rounds;
  const bool written = of.reader.has(key);
  if (steps == 0) return;  // wrong, and said
  check_own_steps_of_rounds(of);
  const bool chosen = of.spec.balance != Balance::kNone;
  if (chosen || (of.cluster && all_have_own_steps(*of.cluster))) {
    if (written)
      of.reader.fail(key, chosen ? "is half of what \"balance\" chooses; leave it out"
                                 : "is half of each node group's own gradient_accumulation_steps; leave it out");
    return;
  }
  if (steps % rounds != 0 && !written) {
    const std::string why = fmt::format(
        "missing: it is half of gradient_accumulation_steps, and {} is odd; write \"{}\": "
        "{}, or make the steps even",
        steps, key, steps / rounds + 1);
    of.reader.fail(key, why);
    of.reader.diagnostics().not_here.emplace_back(of.reader.pointer(), fmt::format("{} is {}", key, why));
    return;
  }
  of.spec.micro_batches_per_round =
      of.reader.integer(key, 1, kMaxInteger, steps % rounds == 0 ? std::optional<int>(steps / rounds) : std::nullopt);
}

/// A delayed update whose states are on the host reduces in every micro-batch, and then waits for what is late.
void read_offload(Of of, const char* key) {
  into<&ScheduleSpec::offload_optimizer>(of, key);
  if (!of.spec.offload_optimizer || !of.traits.delayed) return;
  of.spec.sync = Sync::kEveryMicroBatch;
  of.spec.late_communication = LateCommunication::kWait;
}

bool is_delayed_on_the_host(Of of) { return of.traits.delayed && of.spec.offload_optimizer; }
/// A delayed update reduces in one piece and hides it, unless its optimizer is on the host.
bool is_hidden_on_the_gpu(Of of) {
  return of.traits.delayed && of.traits.takes("offload_optimizer") && !of.spec.offload_optimizer;
}
bool is_reduced_by_micro_batch(Of of) { return of.spec.zero_stage > 1; }
bool is_round_in_one_piece(Of of) { return of.traits.rounds > 1 && !is_overlapped(of); }

/// With gradients sharded all ranks reduce every micro-batch together.
void read_zero_stage(Of of, const char* key) {
  of.spec.zero_stage = of.reader.integer(key, 1, 3, 1);
  if (of.spec.zero_stage == 1) return;
  of.spec.sync = Sync::kEveryMicroBatch;
  of.spec.late_communication = LateCommunication::kWait;
  of.spec.reduce_dtype = of.spec.gradient_dtype;
}

/// Buckets that are reduced as they fill need a round whose last micro-batch is known.
void read_late_communication(Of of, const char* key) {
  const bool known = of.traits.rounds > 1 && is_overlapped(of), closed = is_closed_flight(of);
  const bool written = of.reader.has(key);
  of.spec.late_communication =
      of.reader.choice(key, known || closed ? LateCommunication::kWait : LateCommunication::kAccumulate);
  if (!written && !known && closed) of.reader.find(key)->origin = origin_named("default of such a pipeline");
}

/// What is wrong where something holds.
struct Rule {
  bool (*when)(Of of) = nullptr;
  const char* what = "";
};

constexpr int kMostRules = 4;

/// A key that only some schedules take.
struct Key {
  const char* name;
  void (*read)(Of of, const char* key);
  std::string CommunicationDefaults::*source = nullptr;  ///< whose the default is; absent: ours
  Rule meaningless[kMostRules] = {};                     ///< which is an error where it was written
  Rule wrong[kMostRules] = {};                           ///< with this value
  std::string (*check)(Of of) = nullptr;                 ///< the same, in words made for it; empty where it is right
};

using Spec = ScheduleSpec;
using Usual = CommunicationDefaults;
constexpr const char* kOnePiece = "accocal reduces gradients in one piece; leave it out";
constexpr const char* kHidden =
    "is about gradients that are reduced in the backward pass, and here they are reduced beside the next "
    "micro-batches; "
    "write \"offload_optimizer\": true too, or leave it out";
constexpr const char* kRoundInOnePiece =
    "is about gradients that are reduced as they become ready, and here a round's are reduced in one piece; write "
    "\"overlap\": \"backward\" too, or leave it out";
constexpr const char* kReducedTogether =
    "is about ranks that accumulate by themselves, and here all are reduced together in every micro-batch, so that "
    "late "
    "communication is waited for; leave it out";
constexpr const char* kNoTensors =
    "is the size of buckets of tensors, and here they have none; write \"buckets\": \"tensors\", or leave it out";

/// In the order in which they are read and resolved.
constexpr Key kKeys[] = {
    {.name = "sync", .read = into<&Spec::sync, &ScheduleTraits::usual_sync>},
    {.name = "offload_optimizer",
     .read = read_offload,
     .meaningless = {{is_own_step, "accocal keeps the optimizer's states on the GPU; leave it out"}}},
    {.name = "zero_stage",
     .read = read_zero_stage,
     .meaningless = {{is_own_step, "accocal shards the optimizer's states; leave it out"}}},
    {.name = "estimate",
     .read = into<&Spec::estimate>,
     .meaningless = {{is_own_step, "accocal gathers its estimates; leave it out"}},
     .wrong = {{[](Of of) { return of.spec.estimate == EstimateOf::kLocal && of.spec.zero_stage > 1; },
                "is \"local\", and steps along a rank's own gradients, of which its zero_stage keeps a shard; write "
                "\"zero_stage\": 1, or \"gathered\""}}},
    {.name = "overlap",
     .read = read_overlap,
     .source = &Usual::source,
     .meaningless = {{is_hidden_on_the_gpu, kHidden},
                     {is_reduced_by_micro_batch,
                      "is about the last micro-batch of a round, and with its zero_stage every micro-batch is reduced "
                      "by itself; leave it out"}},
     .wrong = {{[](Of of) { return is_own_step(of) && is_overlapped(of); },
                "is \"backward\", and accocal reduces gradients after it; write \"none\""}}},
    {.name = "buckets",
     .read = read_buckets,
     .meaningless = {{is_own_step, kOnePiece},
                     {is_hidden_on_the_gpu, kHidden},
                     {is_round_in_one_piece, kRoundInOnePiece}}},
    {.name = "bucket_cap_mb",
     .read = read_bucket_cap,
     .source = &Usual::bucket_source,
     .meaningless = {{is_own_step, kOnePiece},
                     {is_hidden_on_the_gpu, kHidden},
                     {is_round_in_one_piece, kRoundInOnePiece},
                     {has_no_tensors, kNoTensors}}},
    {.name = "first_bucket_mb",
     .read = read_first_bucket,
     .source = &Usual::bucket_source,
     .meaningless = {{is_own_step, kOnePiece},
                     {is_hidden_on_the_gpu, kHidden},
                     {is_round_in_one_piece, kRoundInOnePiece},
                     {has_no_tensors, kNoTensors}}},
    {.name = "overlap_param_gather",
     .read = into<&Spec::overlap_param_gather>,
     .meaningless = {{is_own_step, "accocal gathers the parameters after the step; leave it out"},
                     {[](Of of) { return !lacking_param_gather(of.training.framework).empty(); }, kNoParamGather}},
     .wrong = {{[](Of of) { return of.spec.overlap_param_gather && !is_overlapped(of); },
                "gathers the buckets in which gradients are reduced beside the backward pass, and they are reduced "
                "after it; write \"overlap\": \"backward\" too, or leave it out"}}},
    {.name = "align_param_gather",
     .read = read_alignment,
     .meaningless = {{[](Of of) { return !of.spec.overlap_param_gather; },
                      "is about gathers beside the forward pass; write \"overlap_param_gather\": true too, or leave it "
                      "out"}}},
    {.name = "reduction",
     .read = into<&Spec::reduction, &Usual::reduction>,
     .source = &Usual::reduction_source,
     .meaningless = {{is_own_step, "accocal reduce-scatters; leave it out"}}},
    {.name = "parameter_sync",
     .read = into<&Spec::parameter_sync>,
     .meaningless = {{is_own_step, "accocal gathers the parameters; leave it out"}},
     .wrong = {{[](Of of) { return is_broadcast(of) && of.training.framework == Framework::kMegatron; },
                "is \"broadcast\", and Megatron-LM gathers the parameters; write \"all_gather\""},
               {[](Of of) { return is_broadcast(of) && of.spec.overlap_param_gather; },
                "is \"broadcast\", which sends the parameters after the step, and \"overlap_param_gather\" gathers "
                "them beside the forward pass; write \"all_gather\", or leave \"overlap_param_gather\" out"}}},
    {.name = "gather_bucket_mb",
     .read = read_gather_bucket,
     .source = &Usual::source,
     .meaningless = {{is_own_step, "accocal gathers in one piece; leave it out"},
                     {[](Of of) { return of.spec.overlap_param_gather; },
                      "is the size of pieces that are gathered after the step, and beside the forward pass the buckets "
                      "of the gradients are gathered; leave it out"},
                     {is_broadcast,
                      "is the size of pieces that are gathered, and with \"parameter_sync\": "
                      "\"broadcast\" each rank sends its part in one; leave it out"}}},
    {.name = "gradient_as_bucket_view",
     .read = into<&Spec::gradient_as_bucket_view, &Usual::bucket_view>,
     .source = &Usual::source,
     .meaningless = {{is_own_step, kOnePiece}}},
    {.name = "broadcast_buffers",
     .read = into<&Spec::broadcast_buffers, &Usual::broadcast_buffers>,
     .source = &Usual::source,
     .meaningless = {{[](Of of) { return of.training.framework != Framework::kPytorch || is_own_step(of); },
                      "is a choice of PyTorch's DistributedDataParallel; leave it out"}}},
    {.name = "optimizer_sharding", .read = into<&Spec::optimizer_sharding>, .check = wrong_optimizer_sharding},
    {.name = "count_micro_batches",
     .read = into<&Spec::count_micro_batches>,
     .wrong = {{[](Of of) { return of.spec.count_micro_batches && is_overlapped(of); },
                "belongs to gradients reduced in one piece; write \"overlap\": \"none\""},
               {[](Of of) { return of.spec.count_micro_batches && of.spec.buckets != Buckets::kWhole; },
                "belongs to gradients reduced in one piece; write \"buckets\": \"whole\""}}},
    {.name = "reduce_dtype", .read = into<&Spec::reduce_dtype, &Spec::gradient_dtype>},
    {.name = "prefetch", .read = count<&Spec::prefetch, 0, kMostPrefetch>},
    {.name = "reshard_after_forward", .read = into<&Spec::reshard_after_forward>},
    {.name = "reshard_after_backward", .read = into<&Spec::reshard_after_backward>},
    {.name = "communicators", .read = count<&Spec::communicators, 1, 2>},
    {.name = "shard_group",
     .read = read_shard_group,
     .meaningless = {{is_own_step, "accocal shards over all ranks; leave it out"}},
     .check = wrong_shard_group},
    {.name = "all_reduce",
     .read = read_all_reduce,
     .meaningless = {{[](Of of) { return !is_hybrid(of.spec); },
                      "is about the shards of hybrid sharding, which nodes all-reduce between them; write "
                      "\"shard_group\": \"node\" too, or leave it out"},
                     {[](Of of) { return of.spec.sync == Sync::kLastMicroBatch; },
                      "changes nothing where \"sync\" is \"last_micro_batch\", since gradients are reduced once an "
                      "update; leave it out"}}},
    {.name = "late_communication",
     .read = read_late_communication,
     .meaningless = {{is_delayed_on_the_host, kReducedTogether}, {is_reduced_by_micro_batch, kReducedTogether}},
     .wrong = {{[](Of of) {
                  return is_overlapped(of) && of.traits.rounds > 1 &&
                         of.spec.late_communication == LateCommunication::kAccumulate;
                },
                "is \"accumulate\", and buckets that are reduced as they fill need a round whose last micro-batch is "
                "known before it begins; write \"wait\", or \"overlap\": \"none\""}}},
    {.name = "rollback_estimate",
     .read = into<&Spec::rollback_estimate>,
     .meaningless = {{[](Of of) { return of.spec.estimate == EstimateOf::kLocal; },
                      "is about states that an estimate changes, and a local one steps without them; leave it out"}}},
    {.name = "poll_every",
     .read = read_poll_every,
     .meaningless = {{is_delayed_on_the_host, kReducedTogether}, {is_reduced_by_micro_batch, kReducedTogether}}},
    {.name = "micro_batches_per_round", .read = read_micro_batches_per_round},
    {.name = "pipeline_flush",
     .read = into<&Spec::pipeline_flush>,
     .meaningless = {{[](Of of) { return of.training.parallel.pipeline == 1; },
                      "is about the stages of a pipeline, and here a model has one; leave it out"}}},
    {.name = "form", .read = into<&Spec::form>, .check = wrong_form},
    {.name = "inner_updates", .read = read_inner_updates},
    {.name = "outer_every",
     .read = read_outer_every,
     .meaningless = {{[](Of of) { return !has_rare_outer_steps(of); },
                      "is of \"form\": \"code\", and in the paper every meeting has an outer step; leave it out"}},
     .check = wrong_outer_every},
    {.name = "fragment_layers", .read = count<&Spec::fragment_layers, 1, kMaxInteger>},
    {.name = "delay", .read = read_delay, .check = wrong_delay},
    {.name = "synchronous_updates", .read = count<&Spec::synchronous_updates, 0, kMaxInteger>},
    {.name = "mixing", .read = read_mixing},
    {.name = "replica",
     .read = read_replica,
     .wrong = {{[](Of of) {
                  return of.spec.form == MethodForm::kPaper && of.spec.island == Island::kNode && of.cluster &&
                         node_count(*of.cluster) < 2;
                },
                "is a node, and the cluster has one, which would meet nobody; write \"gpu\""},
               {[](Of of) { return of.spec.island == Island::kGroup && of.cluster && of.cluster->nodes.size() < 2; },
                "is a node group, and the cluster has one, which would meet nobody; write \"node\", or a group of "
                "\"nodes\" for each site"}}},
    {.name = "inner", .read = read_inner, .check = wrong_inner},
    {.name = "meeting",
     .read = into<&Spec::meeting>,
     .meaningless = {{[](Of of) { return is_sharded_inside(of.spec); },
                      "is how whole parameters are exchanged, and here each shard meets those of the same place at the "
                      "other replicas; leave it out"}},
     .check = wrong_meeting},
    {.name = "offload_outer",
     .read = into<&Spec::offload_outer>,
     .wrong = {{[](Of of) { return of.spec.offload_outer && of.spec.form == MethodForm::kCode; },
                "is true, and the released code keeps the outer states on the GPUs; write \"form\": \"paper\", or "
                "false"}}},
    {.name = "by_layer", .read = into<&Spec::by_layer>, .check = wrong_by_layer},
    {.name = "outer_dtype", .read = read_outer_dtype},
};

const char* broken(const Rule (&rules)[kMostRules], Of of) {
  for (const Rule& rule : rules)
    if (rule.when != nullptr && rule.when(of)) return rule.what;
  return nullptr;
}

void read_key(const Key& key, Of of) {
  const bool written = of.reader.has(key.name);
  if (const char* const why = broken(key.meaningless, of)) {
    if (written) of.reader.fail(key.name, why);
    return;
  }
  key.read(of, key.name);
  if (JsonValue* const now = of.reader.find(key.name); key.source != nullptr && !written && now != nullptr)
    now->origin = origin_named(defaults_of(of).*key.source);
  if (const char* const wrong = broken(key.wrong, of)) of.reader.fail(key.name, wrong);
  if (const std::string wrong = key.check != nullptr ? key.check(of) : ""; !wrong.empty())
    of.reader.fail(key.name, wrong);
  if (const std::string wrong = wrong_in_pipeline(of, key.name); !wrong.empty() && of.reader.good(key.name))
    of.reader.fail(key.name, wrong);
}

/// Whether the schedule inside the replicas reads the key: its own, less what the replicas settle.
bool takes_inside(const ScheduleTraits& inner, std::string_view key) {
  // All ranks of a replica meet, and those of a round do as many micro-batches.
  if (inner.delayed) return inner.takes(key) && (key == "rollback_estimate" || key == "micro_batches_per_round");
  return inner.takes(key) && key != "shard_group" && key != "all_reduce" && key != "optimizer_sharding" &&
         key != "count_micro_batches";
}

/// For each key that `schedule`, with `inner` in its replicas, does not take, the schedules to which it belongs.
std::map<std::string, std::string> notes_for(const ScheduleTraits& schedule, const ScheduleTraits* inner) {
  std::map<std::string, std::string> notes;
  for (const Key& key : kKeys) {
    if (schedule.takes(key.name) || (inner != nullptr && takes_inside(*inner, key.name))) continue;
    if (notes[key.name] = note_of_frameworks(schedule, key.name); !notes[key.name].empty()) continue;
    if (inner != nullptr && inner->takes(key.name)) {
      notes[key.name] = fmt::format("{} has no such choice inside replicas; remove it", inner->name);
      continue;
    }
    notes[key.name] = fmt::format("it belongs to {}, and {} has no such choice; remove it",
                                  in_words(schedules_with(key.name)), schedule.name);
  }
  notes.insert(schedule_words().begin(), schedule_words().end());
  notes["autocast"] = "it holds for the whole training; write \"autocast\" in \"training\" and remove it here";
  return notes;
}

/// What accocal's own step cannot be scheduled as.
void check_own_step(Of of) {
  ObjectReader& reader = of.reader;
  if (of.traits.accocal != AccocalRuns::kOnGpu)
    reader.fail("name", fmt::format("{} is not what accocal's implementation runs; write {}", of.spec.name,
                                    in_words(accocal_algorithms(AccocalRuns::kOnGpu), " or ")));
  if (of.spec.parameter_dtype == Dtype::kFp16)
    reader.fail("parameter_dtype", "is fp16, and accocal stores bf16 or fp32; write one of these");
  if (of.spec.gradient_dtype != of.spec.parameter_dtype)
    reader.fail("gradient_dtype", "is not that of the parameters, and accocal's is; leave it out");
}

/// The schedule that reduces the gradients: the one inside replicas of several ranks, which is read later, or its own.
/// nullptr where it is not known.
const ScheduleTraits* reducing(const ScheduleSpec& spec, const JsonValue& value) {
  const ScheduleTraits* const own = find_schedule(spec.name);
  const JsonValue* const replica = value.find("replica");
  if (own == nullptr || !own->takes("inner") || replica == nullptr || replica->text == name_of(Island::kGpu))
    return own;
  const JsonValue* const inner = value.find("inner");
  return inner != nullptr && inner->kind == JsonKind::kText ? find_schedule(inner->text)
                                                            : find_schedule(inner_names().front());
}

}  // namespace

ScheduleSpec read_schedule(JsonValue& value, const std::string& pointer, const Training& training,
                           const std::optional<Cluster>& cluster, Diagnostics& diagnostics) {
  ObjectReader reader(value, pointer, diagnostics);
  ScheduleSpec spec;
  if (value.kind != JsonKind::kObject) return spec;
  spec.name = reader.one_of("name", schedule_names(), "", advice_for_schedule);
  const bool known = reader.good("name");
  spec.label = reader.text("label", known ? spec.name : std::string());
  const bool half = training.precision == Dtype::kFp16 || training.precision == Dtype::kBf16;
  const bool fp8 = training.precision == Dtype::kFp8;
  const Dtype usual = half ? training.precision : fp8 ? Dtype::kBf16 : Dtype::kFp32;
  spec.parameter_dtype = reader.choice("parameter_dtype", stored_dtypes(), usual);
  const ScheduleTraits* const traits = find_schedule(spec.name, training.framework);
  const ScheduleTraits* const reduces = reducing(spec, value);
  const Dtype gradients = reduces != nullptr
                              ? default_gradient_dtype(training.framework, *reduces, spec.parameter_dtype)
                              : spec.parameter_dtype;
  const bool own_gradients = reader.has("gradient_dtype");
  spec.gradient_dtype = reader.choice("gradient_dtype", stored_dtypes(), gradients);
  spec.optimizer_dtype = reader.choice("optimizer_dtype", stored_dtypes(), Dtype::kFp32);
  // Where it is absent the training's holds, also where that is set anew later.
  spec.balance = reader.has("balance") ? reader.choice("balance", training.balance) : training.balance;
  Training own = training;
  spec.micro_batch_size = read_own_micro_batch(reader, training, cluster, spec.balance);
  if (spec.micro_batch_size > 0) own = with_micro_batch(own, spec.micro_batch_size);
  spec.chunks = read_own_chunks(reader, own, cluster);
  if (!known) return spec;  // nobody can tell whose the other keys are
  spec.runs_as = traits->runs_as;
  spec.reshard_after_forward = traits->usual_reshard;
  if (!traits->takes("overlap")) spec.overlap = traits->usual_overlap;
  if (!traits->takes("late_communication")) spec.late_communication = LateCommunication::kWait;
  own.parallel = parallel_of(own, spec);
  const Reading of{reader, spec, *traits, own, cluster};
  if (!own_gradients && gradients != spec.parameter_dtype)
    reader.find("gradient_dtype")->origin =
        origin_named(communication_defaults(training.framework, *traits, {}, bytes_of(spec.gradient_dtype)).source);
  const bool piped = training.parallel.pipeline > 1 && *of.traits.not_in_pipelines != '\0';
  for (const std::string& why : {lacking(training.framework, of.traits),
                                 piped ? fmt::format("{} {}", spec.name, of.traits.not_in_pipelines) : ""}) {
    if (why.empty()) continue;
    reader.fail("name", why);
    diagnostics.not_here.emplace_back(pointer, why);
  }
  for (const Key& key : kKeys)
    if (of.traits.takes(key.name)) read_key(key, of);
  const ScheduleTraits* const inner = inner_schedule(spec);
  for (const Key& key : kKeys)
    if (inner != nullptr && takes_inside(*inner, key.name)) read_key(key, {reader, spec, *inner, own, cluster});
  is_own_step(of) ? check_own_step(of) : check_shared_experts(of);
  reader.finish(reader.has_unknown() ? notes_for(of.traits, inner) : std::map<std::string, std::string>());
  return spec;
}

}  // namespace accosim
