// Does a schedule communicate as the framework that runs it would, counted by hand, and does `resolve` say whose choice
// each is?
#include "models/spec/frameworks.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "models/spec/scenario_parts.hpp"
#include "tests/models/scenario_files.hpp"
#include "tests/support/json.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 0x1p20;

ScheduleSpec spec_of(const char* name, Framework framework,
                     const std::vector<std::pair<const char*, const char*>>& keys, int gpus = 8,
                     std::vector<std::string>* errors = nullptr) {
  JsonValue value = json_object({{"name", name}});
  for (const auto& [key, text] : keys) value.set(key, json_text(text, {}));
  Training training;
  training.framework = framework;
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
  // Its fully_shard reduces a unit at a time; it has no ZeRO-1 that overlaps.
  EXPECT_EQ(spec_of("zero2", Framework::kPytorch, {}).buckets, Buckets::kUnits);
  EXPECT_EQ(spec_of("zero2", Framework::kPytorch, {}).overlap, Overlap::kBackward);
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

TEST(Frameworks, WhatTheyDoNotHaveIsRefused) {
  std::vector<std::string> errors;
  spec_of("zero2", Framework::kMegatron, {}, 8, &errors);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("Megatron-LM has no ZeRO-2; write \"zero1\", its distributed optimizer"), std::string::npos);
  spec_of("ddp", Framework::kMegatron, {{"optimizer_sharding", "zero_redundancy"}}, 8, &errors);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("zero_redundancy is PyTorch's, and Megatron-LM runs the step"), std::string::npos);
  spec_of("ddp", Framework::kDeepspeed, {{"broadcast_buffers", "true"}}, 8, &errors);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].find("is a choice of PyTorch's DistributedDataParallel"), std::string::npos);
}

TEST(Frameworks, ASizeOfTheUsersIsThatOfAllBucketsWhereTheFirstHasNoneOfItsOwn) {
  const auto first_of = [](Framework framework) {
    JsonValue value = json_object({{"name", "zero1"}, {"overlap", "backward"}, {"bucket_cap_mb", 25}});
    Training training;
    training.framework = framework;
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
  EXPECT_NE(diagnostics.errors[0].find("is the size of buckets of tensors"), std::string::npos);
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
