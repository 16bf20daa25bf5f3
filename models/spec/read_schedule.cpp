// The keys of each schedule. A key that belongs to another schedule is a mistake that would otherwise change nothing
// in silence, so the error says whose key it is.
#include <fmt/format.h>

#include "models/base/text.hpp"
#include "models/spec/frameworks.hpp"
#include "models/spec/scenario_parts.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

/// Each is played; a million take seconds.
constexpr int kMostInnerUpdates = 1'000'000;

constexpr double kMiB = 1024.0 * 1024.0;
constexpr Range kBucketMiB{0, 1e6, true};
constexpr int kMostPrefetch = 1024;

/// What the value of a key is read from, and into.
struct Reading {
  ObjectReader& reader;
  ScheduleSpec& spec;
  const ScheduleTraits& traits;
  const Training& training;
  const std::optional<Cluster>& cluster;  ///< given when it is valid
};

/// What an element may be stored in.
std::vector<Dtype> stored_dtypes() { return {Dtype::kFp32, Dtype::kFp16, Dtype::kBf16}; }

bool is_own_step(const Training& training) { return training.implementation == Implementation::kAccocal; }

void read_sync(const Reading& of) {
  of.spec.sync = of.reader.choice("sync", {Sync::kLastMicroBatch, Sync::kEveryMicroBatch},
                                  std::optional<Sync>(of.traits.usual_sync));
}

double ranks_of(const std::optional<Cluster>& cluster) {
  double ranks = 0;
  if (cluster)
    for (const NodeGroup& group : cluster->nodes) ranks += 1.0 * group.count * group.gpus;
  return ranks;
}

/// What the framework does where the schedule says nothing; `overlap` as it was chosen, where it was.
CommunicationDefaults defaults_of(const Reading& of, std::optional<Overlap> overlap = {}) {
  return communication_defaults(of.training.framework, of.traits, overlap, bytes_of(of.spec.gradient_dtype),
                                ranks_of(of.cluster));
}

/// Reads a key, and where it was absent says whose default it has.
template <class Read>
auto with_source(const Reading& of, const char* key, const std::string& source, Read read) {
  const bool written = of.reader.has(key);
  auto value = read();
  if (JsonValue* const now = of.reader.find(key); !written && now != nullptr) now->origin = origin_named(source);
  return value;
}

/// accocal reduces the gradients in one piece after the last micro-batch.
void read_overlap(const Reading& of) {
  const bool own = is_own_step(of.training);
  const CommunicationDefaults defaults = defaults_of(of);
  of.spec.overlap = with_source(of, "overlap", own ? "default" : defaults.source, [&] {
    return of.reader.choice("overlap", {Overlap::kNone, Overlap::kBackward},
                            std::optional<Overlap>(own ? Overlap::kNone : defaults.overlap));
  });
  if (own && of.spec.overlap == Overlap::kBackward)
    of.reader.fail("overlap", "is \"backward\", and accocal reduces gradients after it; write \"none\"");
}

/// Whether the key has no meaning here, which is an error where it was written.
bool refused(const Reading& of, const char* key, bool wrong, const char* what) {
  if (wrong && of.reader.has(key)) of.reader.fail(key, what);
  return wrong;
}

constexpr const char* kOnePiece = "accocal reduces gradients in one piece; leave it out";

void read_buckets(const Reading& of) {
  if (refused(of, "buckets", is_own_step(of.training), kOnePiece)) return;
  const CommunicationDefaults defaults = defaults_of(of, of.spec.overlap);
  const bool sized = of.reader.has("bucket_cap_mb") || of.reader.has("first_bucket_mb");
  of.spec.buckets = with_source(of, "buckets", sized ? "default, where a size is given" : defaults.source, [&] {
    return of.reader.choice("buckets", {Buckets::kTensors, Buckets::kUnits, Buckets::kWhole},
                            std::optional<Buckets>(sized ? Buckets::kTensors : defaults.buckets));
  });
}

Bytes read_bucket(const Reading& of, const char* key, double usual_elements) {
  if (refused(of, key, is_own_step(of.training), kOnePiece)) return Bytes{0};
  if (refused(of, key, of.spec.buckets != Buckets::kTensors,
              "is the size of buckets of tensors, and here they have none; write \"buckets\": \"tensors\", or leave "
              "it out"))
    return Bytes{0};
  const double usual_mib = usual_elements * bytes_of(of.spec.gradient_dtype).value / kMiB;
  const std::string source = defaults_of(of).bucket_source;
  return Bytes{with_source(of, key, source, [&] { return of.reader.number(key, kBucketMiB, usual_mib); }) * kMiB};
}

void read_bucket_cap(const Reading& of) {
  of.spec.bucket_cap = read_bucket(of, "bucket_cap_mb", defaults_of(of, of.spec.overlap).bucket_elements);
}

/// A framework without a first bucket of its own has them all of one size, which may be the user's.
void read_first_bucket(const Reading& of) {
  const CommunicationDefaults defaults = defaults_of(of, of.spec.overlap);
  const bool own = defaults.first_bucket_elements != defaults.bucket_elements;
  const double cap_elements = of.spec.bucket_cap / bytes_of(of.spec.gradient_dtype);
  of.spec.first_bucket = read_bucket(of, "first_bucket_mb", own ? defaults.first_bucket_elements : cap_elements);
}

void read_reduction(const Reading& of) {
  if (refused(of, "reduction", is_own_step(of.training), "accocal reduce-scatters; leave it out")) return;
  const CommunicationDefaults defaults = defaults_of(of);
  of.spec.reduction = with_source(of, "reduction", defaults.reduction_source, [&] {
    return of.reader.choice("reduction", {Reduction::kReduceScatter, Reduction::kAllReduce},
                            std::optional<Reduction>(defaults.reduction));
  });
}

/// Absent: the parameters are gathered in one piece.
void read_gather_bucket(const Reading& of) {
  const char* const key = "gather_bucket_mb";
  if (refused(of, key, is_own_step(of.training), "accocal gathers in one piece; leave it out")) return;
  const CommunicationDefaults defaults = defaults_of(of);
  if (defaults.gather_elements == 0 && !of.reader.has(key)) return;
  const double usual_mib = defaults.gather_elements * bytes_of(of.spec.parameter_dtype).value / kMiB;
  const std::optional<double> fallback = usual_mib > 0 ? std::optional<double>(usual_mib) : std::nullopt;
  of.spec.gather_cap =
      Bytes{with_source(of, key, defaults.source, [&] { return of.reader.number(key, kBucketMiB, fallback); }) * kMiB};
}

void read_bucket_view(const Reading& of) {
  const char* const key = "gradient_as_bucket_view";
  if (refused(of, key, is_own_step(of.training), kOnePiece)) return;
  of.spec.gradient_as_bucket_view = with_source(of, key, defaults_of(of).source, [&] {
    return of.reader.boolean(key, default_bucket_view(of.training.framework));
  });
}

/// Only PyTorch's DDP does it.
void read_broadcast_buffers(const Reading& of) {
  const char* const key = "broadcast_buffers";
  const bool other = of.training.framework != Framework::kPytorch || is_own_step(of.training);
  if (refused(of, key, other, "is a choice of PyTorch's DistributedDataParallel; leave it out")) return;
  of.spec.broadcast_buffers =
      with_source(of, key, defaults_of(of).source, [&] { return of.reader.boolean(key, true); });
}

void read_optimizer_sharding(const Reading& of) {
  of.spec.optimizer_sharding =
      of.reader.choice("optimizer_sharding", {OptimizerSharding::kNone, OptimizerSharding::kZeroRedundancy},
                       std::optional<OptimizerSharding>(OptimizerSharding::kNone));
  if (of.spec.optimizer_sharding == OptimizerSharding::kZeroRedundancy && of.training.framework != Framework::kPytorch)
    of.reader.fail("optimizer_sharding",
                   fmt::format("zero_redundancy is PyTorch's, and {} runs the step; write \"none\", or the schedule {}",
                               title_of(of.training.framework), plain_sharded_schedule().name));
}

void read_count(const Reading& of) {
  of.spec.count_micro_batches = of.reader.boolean("count_micro_batches", false);
  if (of.spec.count_micro_batches && of.spec.overlap == Overlap::kBackward)
    of.reader.fail("count_micro_batches", "belongs to gradients reduced in one piece; write \"overlap\": \"none\"");
  else if (of.spec.count_micro_batches && of.spec.buckets != Buckets::kWhole)
    of.reader.fail("count_micro_batches", "belongs to gradients reduced in one piece; write \"buckets\": \"whole\"");
}

void read_reduce_dtype(const Reading& of) {
  of.spec.reduce_dtype =
      of.reader.choice("reduce_dtype", stored_dtypes(), std::optional<Dtype>(of.spec.gradient_dtype));
}

/// What makes two node groups unequal, in words: the GPUs of a node or, where groups stand against each other, also the
/// nodes; empty where they are equal.
std::string difference(const std::vector<NodeGroup>& groups, bool whole_groups) {
  const NodeGroup& first = groups.front();
  for (const NodeGroup& group : groups) {
    if (group.gpus != first.gpus)
      return fmt::format("as many GPUs in every node, and {} has {} where {} has {}", in_quotes(group.name), group.gpus,
                         in_quotes(first.name), first.gpus);
    if (whole_groups && group.count != first.count)
      return fmt::format("as many nodes in every node group, and {} has {} where {} has {}", in_quotes(group.name),
                         group.count, in_quotes(first.name), first.count);
  }
  return {};
}

void read_shard_group(const Reading& of) {
  of.spec.shard_group = of.reader.choice("shard_group", {ShardGroup::kWorld, ShardGroup::kNode},
                                         std::optional<ShardGroup>(ShardGroup::kWorld));
  if (of.spec.shard_group != ShardGroup::kNode || !of.cluster) return;
  if (const std::string unequal = difference(of.cluster->nodes, false); !unequal.empty())
    of.reader.fail("shard_group", fmt::format("\"node\" needs {}; write \"world\"", unequal));
}

void read_replica(const Reading& of) {
  of.spec.replica = of.reader.choice("replica", {Replica::kGpu, Replica::kNode, Replica::kGroup},
                                     std::optional<Replica>(Replica::kGpu));
  if (of.spec.replica == Replica::kGpu || !of.cluster) return;
  int nodes = 0;
  for (const NodeGroup& group : of.cluster->nodes) nodes += group.count;
  if (of.spec.replica == Replica::kNode && nodes < 2)
    of.reader.fail("replica", "is a node, and the cluster has one, which would meet nobody; write \"gpu\"");
  if (of.spec.replica == Replica::kGroup && of.cluster->nodes.size() < 2)
    of.reader.fail("replica",
                   "is a node group, and the cluster has one, which would meet nobody; write \"node\", or a group of "
                   "\"nodes\" for each site");
}

/// A replica of one rank has no schedule inside. Shards meet those of the same place in the other replicas.
void read_inner(const Reading& of) {
  const bool alone = of.spec.replica == Replica::kGpu;
  const std::vector<std::string> names = alone ? std::vector<std::string>{name_of(Inner::kNone)}
                                               : std::vector<std::string>{name_of(Inner::kDdp), name_of(Inner::kZero3)};
  const std::string name = of.reader.one_of("inner", names, names.front(), [&](const std::string& written) {
    return alone ? std::string("what runs inside replicas of several GPUs; write \"replica\": \"node\", or ")
                 : advice_for_schedule(written);
  });
  for (const Inner inner : {Inner::kNone, Inner::kDdp, Inner::kZero3})
    if (name == name_of(inner)) of.spec.inner = inner;
  if (!is_sharded_inside(of.spec) || !of.cluster) return;
  if (const std::string unequal = difference(of.cluster->nodes, of.spec.replica == Replica::kGroup); !unequal.empty())
    of.reader.fail("inner", fmt::format("{} in replicas whose shards meet needs {}; write \"{}\"", name, unequal,
                                        name_of(Inner::kDdp)));
}

void read_outer_dtype(const Reading& of) {
  std::optional<OuterDtype> usual;
  const std::vector<OuterDtype> all = {OuterDtype::kFp32, OuterDtype::kFp16, OuterDtype::kBf16, OuterDtype::kInt8};
  for (const OuterDtype dtype : all)
    if (name_of(dtype) == std::string(name_of(of.spec.parameter_dtype))) usual = dtype;
  of.spec.outer_dtype = of.reader.choice("outer_dtype", all, usual);
}

void read_late(const Reading& of) {
  of.spec.late_communication =
      of.reader.choice("late_communication", {LateCommunication::kWait, LateCommunication::kAccumulate},
                       std::optional<LateCommunication>(LateCommunication::kAccumulate));
}

/// A round does half of what a node group has for itself.
void check_own_steps_of_rounds(const Reading& of) {
  if (!of.cluster || of.training.balance == Balance::kSpeed) return;
  for (const NodeGroup& group : of.cluster->nodes)
    for (const int steps : group.accumulation_steps) {
      if (steps % of.traits.rounds == 0) continue;
      of.reader.fail("name", fmt::format("{} does half of the micro-batches in a round, and node group {} has {} "
                                         "gradient_accumulation_steps; write an even number there",
                                         of.spec.name, in_quotes(group.name), steps));
      return;
    }
}

void read_micro_batches_per_round(const Reading& of) {
  const char* const key = "micro_batches_per_round";
  const int steps = of.training.gradient_accumulation_steps, rounds = of.traits.rounds;
  if (steps == 0) {  // wrong, and said
    of.reader.find(key);
    return;
  }
  check_own_steps_of_rounds(of);
  const bool chosen = of.training.balance == Balance::kSpeed;
  if (chosen || (of.cluster && all_have_own_steps(*of.cluster))) {
    refused(of, key, true,
            chosen ? "is half of what \"balance\": \"speed\" of the training chooses; leave it out"
                   : "is half of each node group's own gradient_accumulation_steps; leave it out");
    of.reader.find(key);
    return;
  }
  if (steps % rounds != 0 && !of.reader.has(key)) {
    of.reader.fail(key, fmt::format("missing: it is half of gradient_accumulation_steps, and {} is odd; write \"{}\": "
                                    "{}, or make the steps even",
                                    steps, key, steps / rounds + 1));
    return;
  }
  of.spec.micro_batches_per_round =
      of.reader.integer(key, 1, kMaxInteger, steps % rounds == 0 ? std::optional<int>(steps / rounds) : std::nullopt);
}

/// Every key that only some schedules take, in the order in which they are read and resolved.
struct Key {
  const char* name;
  void (*read)(const Reading& of);
};
constexpr Key kKeys[] = {
    {"sync", read_sync},
    {"overlap", read_overlap},
    {"buckets", read_buckets},
    {"bucket_cap_mb", read_bucket_cap},
    {"first_bucket_mb", read_first_bucket},
    {"reduction", read_reduction},
    {"gather_bucket_mb", read_gather_bucket},
    {"gradient_as_bucket_view", read_bucket_view},
    {"broadcast_buffers", read_broadcast_buffers},
    {"optimizer_sharding", read_optimizer_sharding},
    {"count_micro_batches", read_count},
    {"reduce_dtype", read_reduce_dtype},
    {"prefetch", [](const Reading& of) { of.spec.prefetch = of.reader.integer("prefetch", 0, kMostPrefetch, 1); }},
    {"reshard_after_forward",
     [](const Reading& of) { of.spec.reshard_after_forward = of.reader.boolean("reshard_after_forward", true); }},
    {"communicators", [](const Reading& of) { of.spec.communicators = of.reader.integer("communicators", 1, 2, 1); }},
    {"shard_group", read_shard_group},
    {"late_communication", read_late},
    {"rollback_estimate",
     [](const Reading& of) { of.spec.rollback_estimate = of.reader.boolean("rollback_estimate", true); }},
    {"poll_every", [](const Reading& of) { of.spec.poll_every = of.reader.integer("poll_every", 1, kMaxInteger, 1); }},
    {"micro_batches_per_round", read_micro_batches_per_round},
    {"inner_updates",
     [](const Reading& of) {
       of.spec.inner_updates = of.reader.integer("inner_updates", 1, kMostInnerUpdates, of.traits.usual_inner_updates);
     }},
    {"replica", read_replica},
    {"inner", read_inner},
    {"outer_dtype", read_outer_dtype},
};

/// Whether the schedule inside the replicas reads the key: its own, less what the replicas settle.
bool takes_inside(const ScheduleTraits& inner, std::string_view key) {
  return inner.takes(key) && key != "shard_group" && key != "optimizer_sharding" && key != "count_micro_batches";
}

/// For each key that `schedule`, with `inner` in its replicas, does not take, the schedules to which it belongs.
std::map<std::string, std::string> notes_for(const ScheduleTraits& schedule, const ScheduleTraits* inner) {
  std::map<std::string, std::string> notes;
  for (const Key& key : kKeys) {
    if (schedule.takes(key.name) || (inner != nullptr && takes_inside(*inner, key.name))) continue;
    std::vector<std::string> owners;
    for (const ScheduleTraits& row : schedules())
      if (row.takes(key.name)) owners.emplace_back(row.name);
    notes[key.name] =
        fmt::format("it belongs to {}, and {} has no such choice; remove it", in_words(owners), schedule.name);
  }
  notes["autocast"] = "it holds for the whole training; write \"autocast\" in \"training\" and remove it here";
  return notes;
}

/// What accocal's own step cannot be scheduled as.
void check_own_step(const Reading& of) {
  ObjectReader& reader = of.reader;
  if (of.traits.accocal != AccocalRuns::kOnGpu)
    reader.fail("name", fmt::format("{} is not what accocal's implementation runs; write {}", of.spec.name,
                                    in_words(accocal_algorithms(AccocalRuns::kOnGpu), " or ")));
  if (of.spec.parameter_dtype == Dtype::kFp16)
    reader.fail("parameter_dtype", "is fp16, and accocal stores bf16 or fp32; write one of these");
  if (of.spec.gradient_dtype != of.spec.parameter_dtype)
    reader.fail("gradient_dtype", "is not that of the parameters, and accocal's is; leave it out");
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
  spec.parameter_dtype = reader.choice("parameter_dtype", stored_dtypes(), std::optional<Dtype>(usual));
  const ScheduleTraits* const traits = find_schedule(spec.name);
  const Dtype gradients = traits != nullptr ? default_gradient_dtype(training.framework, *traits, spec.parameter_dtype)
                                            : spec.parameter_dtype;
  const bool own_gradients = reader.has("gradient_dtype");
  spec.gradient_dtype = reader.choice("gradient_dtype", stored_dtypes(), std::optional<Dtype>(gradients));
  spec.optimizer_dtype = reader.choice("optimizer_dtype", stored_dtypes(), std::optional<Dtype>(Dtype::kFp32));
  if (!known) return spec;  // nobody can tell whose the other keys are
  const Reading of{reader, spec, traits_of(spec), training, cluster};
  if (!own_gradients && gradients != spec.parameter_dtype)
    reader.find("gradient_dtype")->origin = origin_named(defaults_of(of).source);
  const std::string missing = lacking(training.framework, of.traits);
  if (!missing.empty()) reader.fail("name", missing);
  for (const Key& key : kKeys)
    if (of.traits.takes(key.name)) key.read(of);
  const ScheduleTraits* const inner = inner_schedule(spec);
  for (const Key& key : kKeys)
    if (inner != nullptr && takes_inside(*inner, key.name)) key.read({reader, spec, *inner, training, cluster});
  if (is_own_step(training)) check_own_step(of);
  reader.finish(notes_for(of.traits, inner));
  return spec;
}

}  // namespace accosim
