// Does a schedule communicate as the framework that runs it would, counted by hand, and does `resolve` say whose choice
// each is?
#include "models/spec/frameworks.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "models/base/json.hpp"
#include "models/read/load.hpp"
#include "models/read/read_schedule.hpp"
#include "tests/models/scenario_files.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/json.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 0x1p20;

ScheduleSpec spec_of(const char* name, Framework framework,
                     const std::vector<std::pair<const char*, const char*>>& keys, int gpus = 8,
                     std::vector<std::string>* errors = nullptr) {
  JsonValue value = json_object({{"name", name}});
  for (const auto& [key, text] : keys) value.set(key, json_text(text, {}));
  Training training{.framework = framework};
  Cluster cluster;
  cluster.nodes.resize(1);
  cluster.nodes[0].gpus = gpus;
  Diagnostics diagnostics;
  ScheduleSpec spec = read_schedule(value, "/schedules/0", training, cluster, diagnostics);
  if (errors != nullptr)
    *errors = diagnostics.errors;
  else
    EXPECT_TRUE(diagnostics.errors.empty()) << diagnostics.errors.front();
  return spec;
}

TEST(Frameworks, PytorchsDdpHasBucketsAndCopies) {
  const ScheduleSpec ddp = spec_of("ddp", Framework::kPytorch, {});
  EXPECT_EQ(ddp.overlap, Overlap::kBackward);
  EXPECT_EQ(ddp.buckets, Buckets::kTensors);
  EXPECT_EQ(ddp.bucket_cap.value, 25 * kMiB);
  EXPECT_EQ(ddp.first_bucket.value, kMiB);
  EXPECT_TRUE(ddp.broadcast_buffers);
  EXPECT_FALSE(ddp.gradient_as_bucket_view);
  // It has no ZeRO-1 that overlaps; asked to, that reduces a unit at a time, as its fully_shard does.
  EXPECT_EQ(spec_of("zero1", Framework::kPytorch, {}).overlap, Overlap::kNone);
  EXPECT_EQ(spec_of("zero1", Framework::kPytorch, {{"overlap", "backward"}}).buckets, Buckets::kUnits);
}

TEST(Frameworks, DeepspeedAllReducesLargeBucketsAndOverlapsNothing) {
  for (const char* name : {"zero1", "zero2"}) {
    const ScheduleSpec spec = spec_of(name, Framework::kDeepspeed, {});
    EXPECT_EQ(spec.overlap, Overlap::kNone);
    EXPECT_EQ(spec.reduction, Reduction::kAllReduce);
    EXPECT_EQ(spec.buckets, Buckets::kTensors);
    EXPECT_DOUBLE_EQ(spec.bucket_cap.value, 1e9);  // 5e8 elements of bf16
    EXPECT_DOUBLE_EQ(spec.first_bucket.value, 1e9);
    EXPECT_DOUBLE_EQ(spec.gather_cap.value, 1e9);
  }
  const ScheduleSpec wide = spec_of("zero1", Framework::kDeepspeed, {{"gradient_dtype", "fp32"}});
  EXPECT_DOUBLE_EQ(wide.bucket_cap.value, 2e9);
  EXPECT_DOUBLE_EQ(wide.gather_cap.value, 1e9);
}

TEST(Frameworks, MegatronReducesInFp32InOnePieceOrInBucketsThatGrowWithTheRanks) {
  const ScheduleSpec one = spec_of("zero1", Framework::kMegatron, {});
  EXPECT_EQ(one.overlap, Overlap::kNone);
  EXPECT_EQ(one.buckets, Buckets::kWhole);
  EXPECT_EQ(one.reduction, Reduction::kReduceScatter);
  EXPECT_EQ(one.gradient_dtype, Dtype::kFp32);
  EXPECT_EQ(one.parameter_dtype, Dtype::kBf16);
  // 8 ranks: 40e6 elements of 4 B; 1,024 ranks: 1,024e6.
  const ScheduleSpec few = spec_of("zero1", Framework::kMegatron, {{"overlap", "backward"}});
  EXPECT_DOUBLE_EQ(few.bucket_cap.value, 160e6);
  const ScheduleSpec many = spec_of("ddp", Framework::kMegatron, {{"overlap", "backward"}}, 1024);
  EXPECT_DOUBLE_EQ(many.bucket_cap.value, 4 * 1024e6);
  EXPECT_TRUE(many.gradient_as_bucket_view);
  EXPECT_FALSE(many.broadcast_buffers);
  // fp16 gradients stay as they are, and so do those of what is not Megatron's.
  EXPECT_EQ(spec_of("zero1", Framework::kMegatron, {{"parameter_dtype", "fp16"}}).gradient_dtype, Dtype::kFp16);
  EXPECT_EQ(spec_of("dpu", Framework::kMegatron, {}).gradient_dtype, Dtype::kBf16);
}

TEST(Frameworks, PytorchsZero2IsFullyShard) {
  const ScheduleSpec pytorchs = spec_of("zero2", Framework::kPytorch, {});
  EXPECT_EQ(pytorchs.runs_as, "zero3");
  EXPECT_FALSE(pytorchs.reshard_after_forward);
  EXPECT_TRUE(pytorchs.reshard_after_backward);
  EXPECT_EQ(pytorchs.sync, Sync::kEveryMicroBatch);
  EXPECT_EQ(sharding_of(pytorchs), Sharding::kParameters);
  const ScheduleSpec deepspeeds = spec_of("zero2", Framework::kDeepspeed, {});
  EXPECT_EQ(deepspeeds.runs_as, "");
  EXPECT_EQ(sharding_of(deepspeeds), Sharding::kGradients);
  EXPECT_EQ(spec_of("zero3", Framework::kPytorch, {}).runs_as, "");
}

TEST(Frameworks, Zero2TakesTheKeysOfTheProgramThatItsFrameworkRuns) {
  const auto error_of = [](Framework framework, const char* key, const char* value) {
    std::vector<std::string> errors;
    spec_of("zero2", framework, {{key, value}}, 8, &errors);
    return errors.empty() ? "" : errors.front();
  };
  for (const char* const key : {"overlap", "buckets", "bucket_cap_mb", "first_bucket_mb", "reduction", "parameter_sync",
                                "gather_bucket_mb", "gradient_as_bucket_view"})
    EXPECT_TRUE(holds(error_of(Framework::kPytorch, key, "none"),
                      "PyTorch's fully_shard reduces a unit at a time beside the backward pass; leave it out, or "
                      "write \"framework\": \"deepspeed\""))
        << key << ": " << error_of(Framework::kPytorch, key, "none");
  EXPECT_EQ(error_of(Framework::kPytorch, "reduce_dtype", "fp32"), "");
  EXPECT_TRUE(holds(error_of(Framework::kPytorch, "reshard_after_forward", "false"), "it belongs to zero3"));
  EXPECT_EQ(error_of(Framework::kDeepspeed, "overlap", "none"), "");
  EXPECT_TRUE(holds(error_of(Framework::kDeepspeed, "reduce_dtype", "fp32"),
                    "zero2 has such a choice only where PyTorch runs it; remove it, or write \"framework\": "
                    "\"pytorch\""))
      << error_of(Framework::kDeepspeed, "reduce_dtype", "fp32");
}

/// The errors of an entry, in JSON.
std::vector<std::string> errors_of(const std::string& text, Framework framework = Framework::kPytorch,
                                   Implementation implementation = Implementation::kEager) {
  JsonValue json = parse_json(text, "").root;
  Training training{.implementation = implementation, .framework = framework};
  Diagnostics diagnostics;
  read_schedule(json, "", training, std::nullopt, diagnostics);
  return diagnostics.errors;
}

void expect_error(const std::vector<std::string>& errors, const std::string& said) {
  ASSERT_EQ(errors.size(), 1U) << said;
  EXPECT_TRUE(holds(errors[0], said)) << errors[0];
}

TEST(Frameworks, ParametersAreGatheredBesideTheForwardPassWhereGradientsAreBesideTheBackwardPass) {
  const std::string both = R"({"name": "zero1", "overlap": "backward", "overlap_param_gather": true)";
  EXPECT_TRUE(errors_of(both + "}").empty());
  EXPECT_TRUE(errors_of(both + R"(, "align_param_gather": true})", Framework::kMegatron).empty());
  expect_error(errors_of(R"({"name": "zero1", "overlap_param_gather": true})"),
               "write \"overlap\": \"backward\" too, or leave it out");
  expect_error(errors_of(R"({"name": "zero1", "align_param_gather": true})"),
               "write \"overlap_param_gather\": true too, or leave it out");
  expect_error(errors_of(both + R"(, "gather_bucket_mb": 100})"), "the buckets of the gradients are gathered");
  expect_error(errors_of(both + "}", Framework::kDeepspeed), "DeepSpeed gathers the parameters after the step");
  expect_error(
      errors_of(R"({"name": "zero1", "overlap_param_gather": false})", Framework::kPytorch, Implementation::kAccocal),
      "accocal gathers the parameters after the step");
  expect_error(errors_of(R"({"name": "ddp", "overlap_param_gather": true})"), "it belongs to zero1");
}

TEST(Frameworks, OwnersBroadcastAfterTheStepWhereTheFrameworkDoesNotGather) {
  const std::string owners = R"({"name": "zero1", "parameter_sync": "broadcast")";
  EXPECT_TRUE(errors_of(owners + "}").empty());
  EXPECT_TRUE(errors_of(owners + "}", Framework::kDeepspeed).empty());
  EXPECT_TRUE(errors_of(R"({"name": "zero2", "parameter_sync": "broadcast"})", Framework::kDeepspeed).empty());
  EXPECT_TRUE(errors_of(R"({"name": "zero1", "parameter_sync": "all_gather"})", Framework::kMegatron).empty());
  EXPECT_EQ(spec_of("zero1", Framework::kPytorch, {}).parameter_sync, ParameterSync::kAllGather);
  EXPECT_EQ(spec_of("zero1", Framework::kDeepspeed, {{"parameter_sync", "broadcast"}}).gather_cap, Bytes{0});
  expect_error(errors_of(owners + R"(, "overlap": "backward", "overlap_param_gather": true})"),
               "/parameter_sync: is \"broadcast\", which sends the parameters after the step, and "
               "\"overlap_param_gather\" gathers them beside the forward pass; write \"all_gather\", or leave "
               "\"overlap_param_gather\" out");
  expect_error(errors_of(owners + R"(, "gather_bucket_mb": 100})"),
               "/gather_bucket_mb: is the size of pieces that are gathered, and with \"parameter_sync\": "
               "\"broadcast\" each rank sends its part in one; leave it out");
  expect_error(errors_of(owners + "}", Framework::kMegatron),
               "/parameter_sync: is \"broadcast\", and Megatron-LM gathers the parameters; write \"all_gather\"");
  expect_error(errors_of(R"({"name": "zero1", "parameter_sync": "scatter"})"), "/parameter_sync: \"scatter\"");
  expect_error(errors_of(R"({"name": "ddp", "parameter_sync": "broadcast"})"), "it belongs to zero1 and zero2");
}

TEST(Frameworks, AnOptimizerIsShardedInANodeWhereNodesAreAlike) {
  EXPECT_EQ(island_of(spec_of("zero1", Framework::kPytorch, {})), Island::kWorld);
  EXPECT_EQ(island_of(spec_of("zero1", Framework::kMegatron, {{"shard_group", "node"}})), Island::kNode);
  EXPECT_TRUE(errors_of(R"({"name": "zero1", "shard_group": "node", "reduction": "all_reduce"})").empty());
  expect_error(errors_of(R"({"name": "zero1", "shard_group": "gpu"})"), "/shard_group: \"gpu\"");
  expect_error(errors_of(R"({"name": "zero1", "shard_group": "node", "all_reduce": "last_micro_batch"})"),
               "/all_reduce: unknown key; it belongs to zero3");
  expect_error(errors_of(R"({"name": "ddp", "shard_group": "node"})"), "it belongs to zero1, zero3 and zero2 under");
}

TEST(Frameworks, ShardsAreAllReducedLaterOnlyWhereThatChangesSomething) {
  const std::string hybrid = R"({"name": "zero3", "shard_group": "node", "all_reduce": "last_micro_batch")";
  EXPECT_TRUE(errors_of(hybrid + "}").empty());
  expect_error(errors_of(R"({"name": "zero3", "all_reduce": "last_micro_batch"})"),
               "write \"shard_group\": \"node\" too, or leave it out");
  expect_error(errors_of(hybrid + R"(, "sync": "last_micro_batch"})"), "changes nothing where \"sync\"");
  // Inside replicas there is no hybrid sharding.
  expect_error(
      errors_of(R"({"name": "diloco", "replica": "node", "inner": "zero3", "all_reduce": "last_micro_batch"})"),
      "zero3 has no such choice inside replicas; remove it");
  EXPECT_TRUE(
      errors_of(R"({"name": "diloco", "replica": "node", "inner": "zero3", "reshard_after_backward": false})").empty());
}

TEST(Frameworks, MegatronsModulesLaunchMoreSlowly) {
  // Where a bare operator takes 8 us, 50 in Megatron-DeepSpeed and 128 in Megatron-LM, whose modules are Transformer
  // Engine's; PyTorch's merged code is llm.c's.
  EXPECT_DOUBLE_EQ(launch_slowdown(Framework::kDeepspeed, Implementation::kFused) * 8, 50);
  EXPECT_DOUBLE_EQ(launch_slowdown(Framework::kMegatron, Implementation::kFused) * 8, 128);
  for (const Framework each : {Framework::kMegatron, Framework::kDeepspeed})
    EXPECT_EQ(launch_slowdown(each, Implementation::kEager), 1);
  EXPECT_EQ(launch_slowdown(Framework::kPytorch, Implementation::kFused), 1);
}

TEST(Frameworks, WhatTheyDoNotHaveIsRefused) {
  std::vector<std::string> errors;
  spec_of("zero2", Framework::kMegatron, {}, 8, &errors);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_TRUE(holds(errors[0], "Megatron-LM has no ZeRO-2; write \"zero1\", its distributed optimizer"));
  spec_of("ddp", Framework::kMegatron, {{"optimizer_sharding", "zero_redundancy"}}, 8, &errors);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_TRUE(holds(errors[0], "zero_redundancy is PyTorch's, and Megatron-LM runs the step"));
  spec_of("ddp", Framework::kDeepspeed, {{"broadcast_buffers", "true"}}, 8, &errors);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_TRUE(holds(errors[0], "is a choice of PyTorch's DistributedDataParallel"));
}

TEST(Frameworks, ASizeOfTheUsersIsThatOfAllBucketsWhereTheFirstHasNoneOfItsOwn) {
  const auto first_of = [](Framework framework) {
    JsonValue value = json_object({{"name", "zero1"}, {"overlap", "backward"}, {"bucket_cap_mb", 25}});
    Training training{.framework = framework};
    Diagnostics diagnostics;
    return read_schedule(value, "", training, std::nullopt, diagnostics).first_bucket.value / kMiB;
  };
  EXPECT_EQ(first_of(Framework::kPytorch), 1);
  EXPECT_EQ(first_of(Framework::kDeepspeed), 25);
  EXPECT_EQ(first_of(Framework::kMegatron), 25);
}

TEST(Frameworks, ASizeWithoutBucketsOfTensorsIsRefused) {
  std::vector<std::string> errors;
  JsonValue value = json_object({{"name", "zero1"}, {"buckets", "units"}, {"bucket_cap_mb", 25}});
  Diagnostics diagnostics;
  read_schedule(value, "/schedules/0", Training{}, std::nullopt, diagnostics);
  ASSERT_EQ(diagnostics.errors.size(), 1u);
  EXPECT_TRUE(holds(diagnostics.errors[0], "is the size of buckets of tensors"));
  // A size alone says that there are such buckets.
  EXPECT_EQ(read_schedule(value = json_object({{"name", "zero1"}, {"overlap", "backward"}, {"bucket_cap_mb", 25}}), "",
                          Training{}, std::nullopt, diagnostics)
                .buckets,
            Buckets::kTensors);
}

TEST_F(ScenarioFiles, ResolveSaysWhoseDefaultEachIs) {
  const std::string path = with_schedules(R"([{"name": "zero1"}])");
  const LoadedScenario loaded = load_scenario(path, {"/training/framework=megatron"});
  const Json origins = Json::parse(loaded.resolved())["origins"];
  const std::string megatron = "default of Megatron-LM (megatron/training/arguments.py)";
  EXPECT_EQ(origins["/training/optimizer_implementation"].text(), "default of Megatron-LM");
  EXPECT_EQ(origins["/schedules/0/gradient_dtype"].text(), megatron);
  EXPECT_EQ(origins["/schedules/0/overlap"].text(), megatron);
  EXPECT_EQ(origins["/schedules/0/buckets"].text(), megatron);
  EXPECT_EQ(origins["/schedules/0/reduction"].text(), megatron);
  EXPECT_EQ(origins["/schedules/0/parameter_dtype"].text(), "default");
}

TEST_F(ScenarioFiles, ResolveSaysWhereTheSizeOfABucketComesFrom) {
  const std::string path = with_schedules(R"([{"name": "zero1", "overlap": "backward"}])");
  const LoadedScenario loaded = load_scenario(path, {"/training/framework=megatron"});
  const Json origins = Json::parse(loaded.resolved())["origins"];
  EXPECT_EQ(origins["/schedules/0/bucket_cap_mb"].text(),
            "default of Megatron-LM (megatron/core/distributed/distributed_data_parallel.py)");
}

}  // namespace
}  // namespace accosim
