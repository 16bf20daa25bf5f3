// The keys of each schedule. A key that belongs to another schedule is a mistake that would otherwise change nothing
// in silence, so the error says whose key it is.
#include <fmt/format.h>

#include "models/base/text.hpp"
#include "models/spec/scenario_parts.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr Range kBucketMiB{0, 1e6, true};
// PyTorch's DistributedDataParallel: bucket_cap_mb and kDefaultFirstBucketBytes.
constexpr double kBucketCapMiB = 25;
constexpr double kFirstBucketMiB = 1;
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

/// accocal reduces the gradients in one piece after the last micro-batch.
void read_overlap(const Reading& of) {
  const bool own = is_own_step(of.training);
  of.spec.overlap = of.reader.choice("overlap", {Overlap::kNone, Overlap::kBackward},
                                     std::optional<Overlap>(own ? Overlap::kNone : of.traits.usual_overlap));
  if (own && of.spec.overlap == Overlap::kBackward)
    of.reader.fail("overlap", "is \"backward\", and accocal reduces gradients after it; write \"none\"");
}

Bytes read_bucket(const Reading& of, const char* key, double usual_mib) {
  if (!is_own_step(of.training)) return Bytes{of.reader.number(key, kBucketMiB, usual_mib) * kMiB};
  if (of.reader.has(key)) of.reader.fail(key, "accocal reduces gradients in one piece; leave it out");
  return Bytes{0};
}

void read_bucket_cap(const Reading& of) { of.spec.bucket_cap = read_bucket(of, "bucket_cap_mb", kBucketCapMiB); }

void read_first_bucket(const Reading& of) {
  of.spec.first_bucket = read_bucket(of, "first_bucket_mb", kFirstBucketMiB);
}

void read_optimizer_sharding(const Reading& of) {
  of.spec.optimizer_sharding =
      of.reader.choice("optimizer_sharding", {OptimizerSharding::kNone, OptimizerSharding::kZeroRedundancy},
                       std::optional<OptimizerSharding>(OptimizerSharding::kNone));
}

void read_autocast(const Reading& of) {
  if (!of.reader.has("autocast")) return;
  of.spec.autocast = of.reader.choice<Dtype>("autocast", {Dtype::kFp16, Dtype::kBf16});
  if (!of.cluster || !of.reader.good("autocast")) return;
  for (const NodeGroup& group : of.cluster->nodes) {
    for (const Device& device : group.devices) {
      if (device.peak[static_cast<std::size_t>(*of.spec.autocast)]) continue;
      of.reader.fail("autocast", fmt::format("{} in node group {} cannot compute in {} (it has a peak for {}); write a "
                                             "dtype that all devices have",
                                             printable(device.name), in_quotes(group.name), name_of(*of.spec.autocast),
                                             dtypes_of(device)));
      return;
    }
  }
}

void read_count(const Reading& of) {
  of.spec.count_micro_batches = of.reader.boolean("count_micro_batches", false);
  if (of.spec.count_micro_batches && of.spec.overlap == Overlap::kBackward)
    of.reader.fail("count_micro_batches", "belongs to gradients reduced in one piece; write \"overlap\": \"none\"");
}

void read_reduce_dtype(const Reading& of) {
  of.spec.reduce_dtype =
      of.reader.choice("reduce_dtype", stored_dtypes(), std::optional<Dtype>(of.spec.gradient_dtype));
}

void read_shard_group(const Reading& of) {
  of.spec.shard_group = of.reader.choice("shard_group", {ShardGroup::kWorld, ShardGroup::kNode},
                                         std::optional<ShardGroup>(ShardGroup::kWorld));
  if (of.spec.shard_group != ShardGroup::kNode || !of.cluster) return;
  const NodeGroup& first = of.cluster->nodes.front();
  for (const NodeGroup& group : of.cluster->nodes) {
    if (group.gpus == first.gpus) continue;
    of.reader.fail("shard_group",
                   fmt::format("\"node\" needs as many GPUs in every node, and {} has {} where {} has {}; "
                               "write \"world\"",
                               in_quotes(group.name), group.gpus, in_quotes(first.name), first.gpus));
    return;
  }
}

void read_late(const Reading& of) {
  of.spec.late_communication =
      of.reader.choice("late_communication", {LateCommunication::kWait, LateCommunication::kAccumulate},
                       std::optional<LateCommunication>(LateCommunication::kAccumulate));
}

void read_micro_batches_per_round(const Reading& of) {
  const char* const key = "micro_batches_per_round";
  const int steps = of.training.gradient_accumulation_steps, rounds = of.traits.rounds;
  if (steps == 0) {  // wrong, and said
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
    {"bucket_cap_mb", read_bucket_cap},
    {"first_bucket_mb", read_first_bucket},
    {"optimizer_sharding", read_optimizer_sharding},
    {"autocast", read_autocast},
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
       of.spec.inner_updates = of.reader.integer("inner_updates", 1, kMaxInteger, of.traits.usual_inner_updates);
     }},
};

/// For each key that `schedule` does not take, the schedules to which it belongs.
std::map<std::string, std::string> notes_for(const ScheduleTraits& schedule) {
  std::map<std::string, std::string> notes;
  for (const Key& key : kKeys) {
    if (schedule.takes(key.name)) continue;
    std::vector<std::string> owners;
    for (const ScheduleTraits& row : schedules())
      if (row.takes(key.name)) owners.emplace_back(row.name);
    notes[key.name] =
        fmt::format("it belongs to {}, and {} has no such choice; remove it", in_words(owners), schedule.name);
  }
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
  if (of.spec.autocast) reader.fail("autocast", "is not what accocal's implementation does; leave it out");
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
  spec.gradient_dtype = reader.choice("gradient_dtype", stored_dtypes(), std::optional<Dtype>(spec.parameter_dtype));
  spec.optimizer_dtype = reader.choice("optimizer_dtype", stored_dtypes(), std::optional<Dtype>(Dtype::kFp32));
  if (!known) return spec;  // nobody can tell whose the other keys are
  const Reading of{reader, spec, traits_of(spec), training, cluster};
  for (const Key& key : kKeys)
    if (of.traits.takes(key.name)) key.read(of);
  if (is_own_step(training)) check_own_step(of);
  reader.finish(notes_for(of.traits));
  return spec;
}

}  // namespace accosim
