// Do the stages of published splits hold and send what is derived by hand for them? Of shipped models, as loaded.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/collectives/collectives.hpp"
#include "models/price/layers.hpp"
#include "models/price/price.hpp"
#include "models/read/load.hpp"
#include "sim/bodies/pipeline.hpp"
#include "sim/evaluation/resident.hpp"
#include "sim/schedules/groups.hpp"

namespace accosim {
namespace {

constexpr double kBlock = 213'909'504 + 16'384;  // parameters of a block of Llama 3 70B, split by four

/// Llama 3 70B by Megatron-LM on 128 GPUs: tensors and sequences by 4, 4 stages, so 8 replicas.
Scenario llama_70b(const std::string& parallel = "") {
  return load_scenario(
             "pretrain_4x8_a100",
             {R"(/model="llama-3-70b")", "/cluster/nodes/0/count=16", "/training/framework=megatron",
              "/training/sequence_length=8192", "/training/micro_batch_size=1",
              "/training/gradient_accumulation_steps=32", "/training/attention=flash", "/training/implementation=fused",
              R"(/training/parallel={"tensor_parallel_size": 4, "sequence_parallel": true,
                        "pipeline_parallel_size": 4)" +
                  parallel + "}",
              R"(/schedules=[{"name": "zero1"}])", "/baseline=zero1", "/published={}"})
      .scenario;
}

std::vector<RankKind> stages_of(const Scenario& scenario) { return price(scenario, scenario.schedules[0]).kinds; }

TEST(SplitSizes, AMiddleStageOfLlama70BUnderADistributedOptimizer) {
  // 20 blocks: 4.28 G parameters, 2 bytes each, 4 of gradients, and 12 of states that 8 replicas share: 32.1 GB.
  const Scenario scenario = llama_70b();
  const RankKind stage = stages_of(scenario)[1];
  EXPECT_EQ(stage.parameters, 20 * kBlock);
  const MemoryParts parts = memory_of(stage, scenario.schedules[0], 32);
  const double held = parts.part(MemoryUse::kParameters).value + parts.part(MemoryUse::kGradients).value +
                      parts.part(MemoryUse::kOptimizerStates).value;
  EXPECT_NEAR(held, 20 * kBlock * (6 + 12 / 8.0), 1);
  EXPECT_NEAR(held, 32.1e9, 0.05e9);
}

TEST(SplitSizes, WhatStagesKeepOfLlama70B) {
  // A block keeps 562.6 MB of a micro-batch. The first of four stages has 4 of them in flight, each in 20 blocks: 45.0
  // GB; with 5 chunks of 4 blocks 2 x 3 + 4 x 4 + 1 = 23 passes of chunks: 51.8 GB.
  const double kept = (8 * 8192 + 4 * 8192 + 4 * 1024 + 6 * 28672 + 4 * 64) * 2048.0;
  const Scenario plain = llama_70b(), interleaved = llama_70b(R"(, "virtual_pipeline_stages": 5)");
  EXPECT_EQ(passes_in_flight(stages_of(plain)[0].share, 32), 4);
  EXPECT_EQ(passes_in_flight(stages_of(interleaved)[0].share, 32), 23);
  // A middle stage, which has neither embedding nor head, has one micro-batch less in flight than the one before.
  const auto activations = [](const Scenario& scenario, int stage) {
    return memory_of(stages_of(scenario)[static_cast<std::size_t>(stage)], scenario.schedules[0], 32)
        .part(MemoryUse::kActivations)
        .value;
  };
  EXPECT_NEAR(activations(plain, 1) / (3 * 20 * kept), 1, 0.01);
  EXPECT_NEAR(activations(plain, 0) / 45.0e9, 1, 0.02);
  EXPECT_NEAR(activations(interleaved, 0) / 51.8e9, 1, 0.02);
}

TEST(SplitSizes, EachCommunicatorHasItsBuffers) {
  // Data, tensors, two along the pipeline, the replica, all: five beyond the one that the device's figure holds.
  // GPT-3's first stage and its last share the table too, and one more.
  const auto reserved = [](const Scenario& scenario, int stage = 0) {
    const RankKind kind = stages_of(scenario)[static_cast<std::size_t>(stage)];
    return memory_of(kind, scenario.schedules[0], 32).part(MemoryUse::kReserved) - kind.device.reserved_memory;
  };
  EXPECT_EQ(reserved(llama_70b()), 5 * Bytes{688e6});
  const Scenario tied = load_scenario("gpt3_175b_1024_a100", {}).scenario;
  for (const int stage : {0, 1, 15}) EXPECT_EQ(reserved(tied, stage), (stage == 1 ? 5 : 6) * Bytes{688e6}) << stage;
  EXPECT_EQ(reserved(load_scenario("pretrain_4x8_a100", {}).scenario), Bytes{0});
}

TEST(SplitSizes, MessagesOfGpt3BetweenItsStages) {
  // 2048 tokens of 12288 in 16 bits are 50.3 MB, which each of 8 ranks sends whole, or an eighth where sequences are
  // split too.
  const auto message = [](const char* const sequence) {
    const Scenario scenario =
        load_scenario("gpt3_175b_1024_a100",
                      {std::string("/training/parallel/sequence_parallel=") + sequence, "/training/micro_batch_size=1"})
            .scenario;
    return price(scenario, scenario.schedules[0]).kinds[1].message.value;
  };
  EXPECT_EQ(message("false"), 2048.0 * 12288 * 2);
  EXPECT_EQ(message("true"), 2048.0 * 12288 * 2 / 8);
}

TEST(SplitSizes, SlicesOfGpt3AreGatheredWhereTheyArrive) {
  // Each of 8 ranks sends an eighth. The first stage receives no activations and the last no gradients, for the first
  // and the last of 6 chunks; every other pass waits for a gather of the whole.
  const auto stages = [](const char* const slices) {
    return stages_of(load_scenario("gpt3_175b_1024_a100",
                                   {"/training/parallel/sequence_parallel=false", "/training/micro_batch_size=1",
                                    std::string("/training/parallel/scatter_gather_p2p=") + slices})
                         .scenario);
  };
  const std::vector<RankKind> whole = stages("false"), sliced = stages("true");
  const Scenario scenario = load_scenario("gpt3_175b_1024_a100", {}).scenario;
  const Costs costs = price(scenario, scenario.schedules[0]);
  const Bytes all{2048.0 * 12288 * 2};
  const Ring node = ring_of(costs, {over(Dim::kTensor)}, 0);
  const CollectiveKind kind = CollectiveKind::kAllGather;
  const double gather = collective_time(collective_cost(kind, all, costs.cluster, node)).value;
  ASSERT_EQ(whole.size(), 16u);
  ASSERT_EQ(sliced.size(), 16u);
  for (std::size_t stage = 0; stage < 16; ++stage) {
    EXPECT_EQ(whole[stage].message, all);
    EXPECT_EQ(whole[stage].gathered, Bytes{0});
    EXPECT_EQ(sliced[stage].message, all / 8);
    EXPECT_EQ(sliced[stage].gathered, all);
    EXPECT_NEAR((sliced[stage].forward - whole[stage].forward).value, (stage == 0 ? 5 : 6) * gather, 1e-9);
    EXPECT_NEAR((sliced[stage].backward - whole[stage].backward).value, (stage == 15 ? 5 : 6) * gather, 1e-9);
  }
}

}  // namespace
}  // namespace accosim
