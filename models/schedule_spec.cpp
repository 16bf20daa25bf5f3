// The options of each schedule. A key that belongs to another schedule is a mistake that would otherwise change nothing
// in silence, so the error says whose key it is.
#include <fmt/format.h>

#include <algorithm>

#include "models/nearest.hpp"
#include "models/parts.hpp"
#include "models/text.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr Range kBucketMiB{0, 1e6, true};
// PyTorch's DistributedDataParallel: bucket_cap_mb and kDefaultFirstBucketBytes.
constexpr double kBucketCapMiB = 25;
constexpr double kFirstBucketMiB = 1;
constexpr int kMostPrefetch = 1024;

struct Option {
  const char* key;
  std::vector<std::string> schedules;
};
const std::vector<Option>& options() {
  static const std::vector<Option> kOptions = {
      {"sync", {"ddp", "zero2", "zero3"}},
      {"autocast", {"ddp"}},
      {"optimizer_sharding", {"ddp"}},
      {"overlap", {"ddp", "zero1", "zero2"}},
      {"bucket_cap_mb", {"ddp", "zero1", "zero2"}},
      {"first_bucket_mb", {"ddp", "zero1", "zero2"}},
      {"shard_group", {"zero3"}},
      {"reduce_dtype", {"zero3"}},
      {"prefetch", {"zero3"}},
      {"reshard_after_forward", {"zero3"}},
      {"communicators", {"zero3"}},
      {"count_micro_batches", {"ddp", "zero1"}},
      {"late_communication", {"dpu", "wp", "acco"}},
      {"poll_every", {"dpu", "wp", "acco"}},
      {"inner_updates", {"diloco"}},
      {"micro_batches_per_round", {"acco"}},
      {"rollback_estimate", {"wp", "acco"}},
  };
  return kOptions;
}

/// What others call a schedule, without case and what is not letter or digit, and how to write it here.
struct OtherName {
  const char* name;
  const char* advice;
};
constexpr OtherName kOtherNames[] = {
    {"fsdp", R"(PyTorch's FSDP is "zero3"; )"},
    {"fsdp1", R"(PyTorch's FSDP is "zero3"; )"},
    {"fsdp2", R"(PyTorch's FSDP is "zero3"; )"},
    {"fullyshard", R"(PyTorch's fully_shard is "zero3"; )"},
    {"fullysharded", R"(fully sharded training is "zero3"; )"},
    {"fullyshardeddataparallel", R"(PyTorch's FullyShardedDataParallel is "zero3"; )"},
    {"fullshard", R"(FULL_SHARD is "zero3"; )"},
    {"shardgradop", R"(SHARD_GRAD_OP is "zero3" with "reshard_after_forward": false; )"},
    {"hsdp", R"(hybrid sharding is "zero3" with "shard_group": "node"; )"},
    {"hybridshard", R"(hybrid sharding is "zero3" with "shard_group": "node"; )"},
    {"hybrid", R"(hybrid sharding is "zero3" with "shard_group": "node"; )"},
    {"deepspeed", R"(DeepSpeed's ZeRO is "zero1", "zero2" or "zero3", by its stage; )"},
    {"zero", R"(ZeRO is "zero1", "zero2" or "zero3", by its stage; )"},
    {"zero++", R"(ZeRO++ is not modelled yet; without its quantised messages and second copy it is "zero3"; )"},
    {"zeropp", R"(ZeRO++ is not modelled yet; without its quantised messages and second copy it is "zero3"; )"},
    {"stage1", R"(ZeRO stage 1 is "zero1"; )"},
    {"stage2", R"(ZeRO stage 2 is "zero2"; )"},
    {"stage3", R"(ZeRO stage 3 is "zero3"; )"},
    {"zerostage1", R"(ZeRO stage 1 is "zero1"; )"},
    {"zerostage2", R"(ZeRO stage 2 is "zero2"; )"},
    {"zerostage3", R"(ZeRO stage 3 is "zero3"; )"},
    {"zeroredundancyoptimizer", R"(it is "ddp" with "optimizer_sharding": "zero_redundancy"; )"},
    {"dp", R"(data parallelism is "ddp"; )"},
    {"dataparallel", R"(data parallelism is "ddp"; )"},
    {"distributeddataparallel", R"(PyTorch's DistributedDataParallel is "ddp"; )"},
    {"localsgd", R"("diloco" averages after "inner_updates" updates too, and makes an outer step of it; )"},
};

std::string advice_for_name(const std::string& written, const std::vector<std::string>& names) {
  std::string bare;
  for (const char c : written) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+')
      bare += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  for (const OtherName& other : kOtherNames)
    if (bare == other.name) return other.advice;
  return did_you_mean(bare, names);
}

/// Whose a key is that `schedule` does not have.
std::map<std::string, std::string> notes_for(const std::string& schedule) {
  std::map<std::string, std::string> notes;
  for (const Option& option : options()) {
    if (std::find(option.schedules.begin(), option.schedules.end(), schedule) != option.schedules.end()) continue;
    std::string owners;
    for (const std::string& owner : option.schedules)
      owners += (owners.empty() ? "" : &owner == &option.schedules.back() ? " and " : ", ") + owner;
    notes[option.key] = fmt::format("it belongs to {}, and {} has no such choice; remove it", owners, schedule);
  }
  return notes;
}

/// accocal reduces the gradients in one piece after the last micro-batch.
void read_own_reduction(ObjectReader& reader, ScheduleSpec& spec) {
  spec.overlap = reader.choice("overlap", {Overlap::kNone, Overlap::kBackward}, std::optional<Overlap>(Overlap::kNone));
  if (spec.overlap == Overlap::kBackward)
    reader.fail("overlap", "is \"backward\", and accocal reduces gradients after it; write \"none\"");
  for (const char* key : {"bucket_cap_mb", "first_bucket_mb"})
    if (reader.has(key)) reader.fail(key, "accocal reduces gradients in one piece; leave it out");
}

void read_buckets(ObjectReader& reader, ScheduleSpec& spec, Overlap usual, const Training& training) {
  if (training.implementation == Implementation::kAccocal) {
    read_own_reduction(reader, spec);
    return;
  }
  spec.overlap = reader.choice("overlap", {Overlap::kNone, Overlap::kBackward}, std::optional<Overlap>(usual));
  spec.bucket_cap = Bytes{reader.number("bucket_cap_mb", kBucketMiB, kBucketCapMiB) * kMiB};
  spec.first_bucket = Bytes{reader.number("first_bucket_mb", kBucketMiB, kFirstBucketMiB) * kMiB};
}

void read_sync(ObjectReader& reader, ScheduleSpec& spec, Sync usual) {
  spec.sync = reader.choice("sync", {Sync::kLastMicroBatch, Sync::kEveryMicroBatch}, std::optional<Sync>(usual));
}

void read_count(ObjectReader& reader, ScheduleSpec& spec) {
  spec.count_micro_batches = reader.boolean("count_micro_batches", false);
  if (spec.count_micro_batches && spec.overlap == Overlap::kBackward)
    reader.fail("count_micro_batches", "belongs to gradients reduced in one piece; write \"overlap\": \"none\"");
}

void read_ddp(ObjectReader& reader, ScheduleSpec& spec, const Training& training,
              const std::optional<Cluster>& cluster) {
  read_sync(reader, spec, Sync::kLastMicroBatch);
  read_buckets(reader, spec, Overlap::kBackward, training);
  spec.optimizer_sharding =
      reader.choice("optimizer_sharding", {OptimizerSharding::kNone, OptimizerSharding::kZeroRedundancy},
                    std::optional<OptimizerSharding>(OptimizerSharding::kNone));
  if (!reader.has("autocast")) return;
  spec.autocast = reader.choice<Dtype>("autocast", {Dtype::kFp16, Dtype::kBf16});
  if (!cluster || !reader.good("autocast")) return;
  for (const NodeGroup& group : cluster->nodes) {
    for (const Device& device : group.devices) {
      if (device.peak[static_cast<std::size_t>(*spec.autocast)]) continue;
      reader.fail("autocast", fmt::format("{} in node group {} cannot compute in {} (it has a peak for {}); write a "
                                          "dtype that all devices have",
                                          printable(device.name), in_quotes(group.name), name_of(*spec.autocast),
                                          dtypes_of(device)));
      return;
    }
  }
}

void read_zero3(ObjectReader& reader, ScheduleSpec& spec, const std::optional<Cluster>& cluster,
                const std::vector<Dtype>& stored) {
  read_sync(reader, spec, Sync::kEveryMicroBatch);
  spec.reduce_dtype = reader.choice("reduce_dtype", stored, std::optional<Dtype>(spec.gradient_dtype));
  spec.prefetch = reader.integer("prefetch", 0, kMostPrefetch, 1);
  spec.reshard_after_forward = reader.boolean("reshard_after_forward", true);
  spec.communicators = reader.integer("communicators", 1, 2, 1);
  spec.shard_group = reader.choice("shard_group", {ShardGroup::kWorld, ShardGroup::kNode},
                                   std::optional<ShardGroup>(ShardGroup::kWorld));
  if (spec.shard_group != ShardGroup::kNode || !cluster) return;
  for (const NodeGroup& group : cluster->nodes) {
    if (group.gpus == cluster->nodes.front().gpus) continue;
    reader.fail("shard_group", fmt::format("\"node\" needs as many GPUs in every node, and {} has {} where {} has {}; "
                                           "write \"world\"",
                                           in_quotes(group.name), group.gpus, in_quotes(cluster->nodes.front().name),
                                           cluster->nodes.front().gpus));
    return;
  }
}

void read_late(ObjectReader& reader, ScheduleSpec& spec) {
  spec.late_communication =
      reader.choice("late_communication", {LateCommunication::kWait, LateCommunication::kAccumulate},
                    std::optional<LateCommunication>(LateCommunication::kAccumulate));
}

void read_acco(ObjectReader& reader, ScheduleSpec& spec, const Training& training) {
  read_late(reader, spec);
  spec.rollback_estimate = reader.boolean("rollback_estimate", true);
  spec.poll_every = reader.integer("poll_every", 1, kMaxInteger, 1);
  const int steps = training.gradient_accumulation_steps;
  if (steps == 0) {  // wrong, and said
    reader.find("micro_batches_per_round");
    return;
  }
  const char* const key = "micro_batches_per_round";
  if (steps % 2 != 0 && !reader.has(key)) {
    reader.fail(key, fmt::format("missing: it is half of gradient_accumulation_steps, and {} is odd; write \"{}\": {}, "
                                 "or make the steps even",
                                 steps, key, steps / 2 + 1));
    return;
  }
  spec.micro_batches_per_round =
      reader.integer(key, 1, kMaxInteger, steps % 2 == 0 ? std::optional<int>(steps / 2) : std::nullopt);
}

}  // namespace

namespace {

/// What accocal's own step cannot be scheduled as.
void check_own_step(ObjectReader& reader, const ScheduleSpec& spec) {
  const std::vector<std::string> own = {"ddp", "zero1", "dpu", "wp", "acco"};
  if (reader.good("name") && std::find(own.begin(), own.end(), spec.name) == own.end())
    reader.fail("name", fmt::format("{} is not what accocal's implementation runs; write ddp, zero1, dpu, wp or acco",
                                    spec.name));
  if (spec.parameter_dtype == Dtype::kFp16)
    reader.fail("parameter_dtype", "is fp16, and accocal stores bf16 or fp32; write one of these");
  if (spec.gradient_dtype != spec.parameter_dtype)
    reader.fail("gradient_dtype", "is not that of the parameters, and accocal's is; leave it out");
  if (spec.autocast) reader.fail("autocast", "is not what accocal's implementation does; leave it out");
}

}  // namespace

ScheduleSpec read_schedule(JsonValue& value, const std::string& pointer, const Training& training,
                           const std::optional<Cluster>& cluster, Diagnostics& diagnostics) {
  ObjectReader reader(value, pointer, diagnostics);
  ScheduleSpec spec;
  if (value.kind != JsonKind::kObject) return spec;
  const std::vector<std::string> names = {"ddp", "zero1", "zero2", "zero3", "dpu", "wp", "acco", "diloco"};
  spec.name =
      reader.one_of("name", names, "", [&](const std::string& written) { return advice_for_name(written, names); });
  const bool known = reader.good("name");
  spec.label = reader.text("label", known ? spec.name : std::string());
  const bool half = training.precision == Dtype::kFp16 || training.precision == Dtype::kBf16;
  const bool fp8 = training.precision == Dtype::kFp8;
  const Dtype usual = half ? training.precision : fp8 ? Dtype::kBf16 : Dtype::kFp32;
  const std::vector<Dtype> stored = {Dtype::kFp32, Dtype::kFp16, Dtype::kBf16};
  spec.parameter_dtype = reader.choice("parameter_dtype", stored, std::optional<Dtype>(usual));
  spec.gradient_dtype = reader.choice("gradient_dtype", stored, std::optional<Dtype>(spec.parameter_dtype));
  spec.optimizer_dtype = reader.choice("optimizer_dtype", stored, std::optional<Dtype>(Dtype::kFp32));
  if (!known) return spec;  // whose options the rest are, nobody can tell
  if (spec.name == "ddp") read_ddp(reader, spec, training, cluster);
  if (spec.name == "zero1") read_buckets(reader, spec, Overlap::kNone, training);
  if (spec.name == "zero2") {
    read_sync(reader, spec, Sync::kEveryMicroBatch);
    read_buckets(reader, spec, Overlap::kBackward, training);
  }
  if (spec.name == "zero3") read_zero3(reader, spec, cluster, stored);
  if (spec.name == "ddp" || spec.name == "zero1") read_count(reader, spec);
  if (spec.name == "diloco") spec.inner_updates = reader.integer("inner_updates", 1, kMaxInteger, 100);
  if (spec.name == "dpu" || spec.name == "wp") {
    read_late(reader, spec);
    if (spec.name == "wp") spec.rollback_estimate = reader.boolean("rollback_estimate", true);
    spec.poll_every = reader.integer("poll_every", 1, kMaxInteger, 1);
  }
  if (spec.name == "acco") read_acco(reader, spec, training);
  if (training.implementation == Implementation::kAccocal) check_own_step(reader, spec);
  reader.finish(notes_for(spec.name));
  return spec;
}

}  // namespace accosim
