// Are schedules in pipelines run, and what cannot be had there refused with what to write?
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "models/read/load.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule_traits.hpp"
#include "tests/models/parallel_files.hpp"

namespace accosim {
namespace {

/// Of one schedule in a pipeline of 4 stages.
class InAPipeline : public ReadParallel {
 protected:
  std::string said(const std::string& schedule, const std::string& members = R"("pipeline_parallel_size": 4)",
                   int steps = 16) {
    write(steps, "[" + schedule + "]");
    const Lines lines = errors_of(path_, {parallel(members)});
    EXPECT_LE(lines.size(), 1U) << schedule << (lines.size() > 1 ? ": " + lines[0] + " | " + lines[1] : "");
    return lines.empty() ? "" : lines.front().substr(lines.front().find(" /") + 1);
  }
};

TEST_F(InAPipeline, SchedulesRunThereOrSayWhyNot) {
  for (const ScheduleTraits& row : schedules()) {
    const ScheduleTraits& own = *find_schedule(row.name, Framework::kPytorch);
    const std::string why =
        *own.not_in_pipelines == '\0' ? "" : std::string("/schedules/0/name: ") + row.name + " " + own.not_in_pipelines;
    EXPECT_EQ(said(std::string(R"({"name": ")") + row.name + "\"}"), why);
    EXPECT_EQ(said(std::string(R"({"name": ")") + row.name + "\"}", R"("tensor_parallel_size": 4)"), "") << row.name;
  }
  EXPECT_EQ(
      said(R"({"name": "zero3"})"),
      "/schedules/0/name: zero3 gathers the parameters of every micro-batch anew, which is not modelled yet where "
      "the model has several stages; write \"zero1\"");
}

TEST_F(InAPipeline, WhatReducesEveryMicroBatchIsRefused) {
  EXPECT_EQ(said(R"({"name": "ddp", "sync": "every_micro_batch"})"),
            "/schedules/0/sync: is \"every_micro_batch\", and the stages of a pipeline reduce gradients when the last "
            "micro-batch of an update is through; write \"last_micro_batch\"");
  EXPECT_EQ(said(R"({"name": "dpu", "offload_optimizer": true})"),
            "/schedules/0/offload_optimizer: is true, and ZeRO-Offload's delayed update reduces gradients after every "
            "micro-batch, which a pipeline does not; write false");
  EXPECT_EQ(said(R"({"name": "acco", "zero_stage": 2})"),
            "/schedules/0/zero_stage: is above 1, and then gradients are reduced after every micro-batch, which a "
            "pipeline does not; write 1");
  EXPECT_EQ(said(R"({"name": "zero1", "offload_optimizer": true})"), "");
}

TEST_F(InAPipeline, IslandsAreWholeReplicas) {
  EXPECT_EQ(said(R"({"name": "zero1", "shard_group": "node"})"),
            "/schedules/0/shard_group: is \"node\", and which ranks of a stage share a node is not modelled yet in "
            "pipelines; write \"world\"");
  EXPECT_EQ(
      said(R"({"name": "diloco", "replica": "node"})"),
      "/schedules/0/replica: is a node, and in a pipeline a node has a part of a model; write \"gpu\", which then "
      "is a model on its GPUs, or \"group\"");
  EXPECT_EQ(said(R"({"name": "slowmo", "form": "code"})").substr(0, 25), "/schedules/0/form: is \"co");
  EXPECT_EQ(said(R"({"name": "diloco", "meeting": "hierarchical"})"),
            "/schedules/0/meeting: is \"hierarchical\", and which ranks of a stage share a site is not modelled yet in "
            "pipelines; write \"ring\"");
  EXPECT_EQ(said(R"({"name": "diloco", "replica": "node"})", R"("tensor_parallel_size": 4)"), "");
  EXPECT_EQ(said(R"({"name": "diloco", "meeting": "hierarchical"})", R"("tensor_parallel_size": 8)"),
            "/schedules/0/meeting: is \"hierarchical\", and a site has one model, which a ring joins as well; write "
            "\"ring\"");
}

TEST_F(InAPipeline, WorkIsDividedAmongReplicasThatStayOnOneKindOfGpu) {
  EXPECT_EQ(said(R"({"name": "zero1", "balance": "speed"})"), "") << "all alike";
  const auto node = [](const char* const name, int slowdown) {
    return std::string(R"({"name": ")") + name +
           R"(", "gpus": 4, "device": {"inherits": "devices/gpu.json", "slowdown": )" + std::to_string(slowdown) +
           R"(}, "intra": {"kind": "nvswitch", "bandwidth": "100 GB/s"}, "nics": {"bandwidth": "100 Gbit/s"}})";
  };
  const std::string nodes = "[" + node("fast", 1) + ", " + node("slow", 2) + "]";
  const std::string why =
      "/schedules: the balance of \"zero1\" divides work among model replicas, and here unlike GPUs are stages of one "
      "pipeline; write \"balance\": \"none\", and \"stage_layers\": \"speed\" in \"parallel\" or an \"order\" there "
      "that keeps a pipeline in one node group, such as \"tp-cp-ep-pp-dp\"";
  for (const char* const balance : {"speed", "counts"}) {
    const std::string own = fmt::format(R"([{{"name": "zero1", "balance": "{}"}}])", balance);
    const std::string all = fmt::format("/training/balance={}", balance);
    // Ranks 0 to 3 are the first stage and 4 to 7 the second: every pipeline has both kinds of GPU.
    write(8, own, nodes);
    EXPECT_EQ(refused(R"("pipeline_parallel_size": 2)"), why);
    EXPECT_EQ(read(R"("pipeline_parallel_size": 2, "order": "tp-cp-ep-pp-dp")").pipeline, 2);
    EXPECT_EQ(read(R"("tensor_parallel_size": 4)").tensor, 4);
    write(8, R"([{"name": "zero1"}])", nodes);
    EXPECT_EQ(refused(R"("pipeline_parallel_size": 2)", Framework::kPytorch, {all}), why);
    EXPECT_EQ(load_scenario(path_, {parallel(R"("tensor_parallel_size": 4)"), all}).scenario.schedules[0].balance,
              value_named<Balance>(balance));
  }
}

TEST_F(InAPipeline, RanksAccumulateOnlyWhereAFlightCanGoOn) {
  const auto late = [&](const std::string& members, int steps) {
    write(steps, R"([{"name": "dpu"}])");
    return load_scenario(path_, {parallel(members)}).scenario.schedules.front().late_communication;
  };
  const std::string four = R"("pipeline_parallel_size": 4)", two = R"("virtual_pipeline_stages": 2)";
  EXPECT_EQ(late(four, 4), LateCommunication::kAccumulate);
  EXPECT_EQ(late(four, 3), LateCommunication::kWait);
  EXPECT_EQ(late(four + R"(, "pipeline_schedule": "gpipe")", 64), LateCommunication::kWait);
  // Of 4 stages with 2 chunks the first warms up for 10 passes, and a group are 8 more: 9 micro-batches, so 12.
  EXPECT_EQ(least_open_flight(Parallel{.pipeline = 4, .schedule = PipelineSchedule::kInterleaved, .chunks = 2}), 12);
  EXPECT_EQ(late(four + ", " + two, 8), LateCommunication::kWait);
  EXPECT_EQ(late(four + ", " + two, 12), LateCommunication::kAccumulate);
  EXPECT_EQ(said(R"({"name": "dpu", "late_communication": "accumulate"})", four, 3),
            "/schedules/0/late_communication: is \"accumulate\", and more micro-batches can follow when 4 are in the "
            "pipeline, where an update has 3; write \"wait\", or more gradient_accumulation_steps");
  EXPECT_EQ(said(R"({"name": "acco", "late_communication": "accumulate"})", four, 6),
            "/schedules/0/late_communication: is \"accumulate\", and more micro-batches can follow when 4 are in the "
            "pipeline, where a round has 3; write \"wait\", or more gradient_accumulation_steps");
  EXPECT_EQ(said(R"({"name": "dpu", "late_communication": "accumulate"})", four + R"(, "pipeline_schedule": "gpipe")"),
            "/schedules/0/late_communication: is \"accumulate\", and under \"gpipe\" no forward pass follows the first "
            "backward pass; write \"wait\", or \"pipeline_schedule\": \"1f1b\"");
  EXPECT_EQ(said(R"({"name": "dpu", "poll_every": 6})", four + ", " + two),
            "/schedules/0/poll_every: is 6, and interleaved chunks take micro-batches in groups of 4; "
            "write a multiple of that, such as 4");
  write(16, R"([{"name": "dpu"}])");
  EXPECT_EQ(load_scenario(path_, {parallel(four + ", " + two)}).scenario.schedules.front().poll_every, 4);
}

TEST_F(InAPipeline, MegatronAlignsTheGathersOfInterleavedChunks) {
  write(8, R"([{"name": "zero1", "overlap": "backward", "overlap_param_gather": true}])");
  const auto aligned = [&](Framework which, const std::string& more) {
    const std::string stages = R"("pipeline_parallel_size": 4)" + more;
    return load_scenario(path_, {framework(which), parallel(stages)}).scenario.schedules.front().align_param_gather;
  };
  const std::string chunks = R"(, "virtual_pipeline_stages": 3)";
  EXPECT_TRUE(aligned(Framework::kMegatron, chunks));
  EXPECT_FALSE(aligned(Framework::kMegatron, ""));
  EXPECT_FALSE(aligned(Framework::kPytorch, chunks));
  write(8, R"([{"name": "zero1", "overlap": "backward", "overlap_param_gather": true, "align_param_gather": false}])");
  EXPECT_FALSE(aligned(Framework::kMegatron, chunks));
}

TEST_F(InAPipeline, StagesGoOnWithoutAFlushOnlyUnder1F1B) {
  const std::string four = R"("pipeline_parallel_size": 4)";
  const auto open = [](const char* const name, const char* const more = "") {
    return std::string("{\"name\": \"") + name + "\", \"pipeline_flush\": false" + more + "}";
  };
  for (const char* const name : {"dpu", "wp", "acco"}) EXPECT_EQ(said(open(name), four, 8), "") << name;
  const std::string key = "/schedules/0/pipeline_flush: is false, and ";
  for (const char* const other : {R"(, "pipeline_schedule": "gpipe")", R"(, "virtual_pipeline_stages": 2)"})
    EXPECT_EQ(said(open("dpu"), four + other, 16),
              key +
                  "only under 1f1b does every stage change its parameters between two passes; write true, or "
                  "\"pipeline_schedule\": \"1f1b\"");
  EXPECT_EQ(said(open("acco", R"(, "overlap": "backward")"), four, 8),
            key + "buckets that are reduced as they fill end a flight; write true, or \"overlap\": \"none\"");
  EXPECT_EQ(said(open("acco", R"(, "estimate": "local")"), four, 8),
            key +
                "a local estimate needs a round's gradients before the next round begins; write true, or "
                "\"estimate\": \"gathered\"");
  EXPECT_EQ(said(open("acco"), four, 6),
            key +
                "a round must have a micro-batch for each of 4 stages, where it has 3; write true, or more "
                "gradient_accumulation_steps");
  EXPECT_EQ(said(open("dpu"), R"("tensor_parallel_size": 2)", 8),
            "/schedules/0/pipeline_flush: is about the stages of a pipeline, and here a model has one; leave it out");
}

TEST_F(InAPipeline, BlocksMayBeSharedBySpeed) {
  const std::string speed = R"(, "stage_layers": "speed")";
  const auto with = [&](const std::string& members) {
    return load_scenario(path_, {framework(Framework::kMegatron), parallel(members)}).scenario.training.parallel;
  };
  write(16, R"([{"name": "ddp"}])");
  EXPECT_TRUE(with(R"("pipeline_parallel_size": 4)" + speed).blocks_by_speed);
  // Also where equal shares are none: 12 blocks on 8 stages.
  EXPECT_EQ(with(R"("pipeline_parallel_size": 8)" + speed).blocks, equal_blocks(12, 8));
  const std::string key = "/training/parallel/stage_layers: ";
  EXPECT_EQ(said(R"({"name": "ddp"})", R"("pipeline_parallel_size": 16)" + speed),
            key + "is \"speed\", and 16 stages of 1 chunk are more than the model's 12 blocks; write fewer of them");
  EXPECT_TRUE(any_has(errors_of(path_, {parallel(R"("pipeline_parallel_size": 4, "stage_layers": "fast")")}), key));
}

TEST_F(InAPipeline, AScheduleMayHaveChunksOfItsOwn) {
  const std::string four = R"("pipeline_parallel_size": 4)";
  const auto chunked = [](int chunks) {
    return R"({"name": "ddp", "virtual_pipeline_stages": )" + std::to_string(chunks) + "}";
  };
  // It is read as a training of that many chunks.
  for (const Framework which : {Framework::kPytorch, Framework::kMegatron})
    for (const int trained : {1, 3})
      for (const int own : {1, 3}) {
        const auto with = [&](int chunks) {
          return parallel(four + (chunks > 1 ? R"(, "virtual_pipeline_stages": )" + std::to_string(chunks) : ""));
        };
        write(8, "[" + chunked(own) + "]");
        const Scenario loaded = load_scenario(path_, {framework(which), with(trained)}).scenario;
        write(8, R"([{"name": "ddp"}])");
        EXPECT_EQ(parallel_of(loaded.training, loaded.schedules.front()),
                  load_scenario(path_, {framework(which), with(own)}).scenario.training.parallel);
      }
  const std::string key = "/schedules/0/virtual_pipeline_stages: is ";
  EXPECT_EQ(
      said(chunked(2), R"("tensor_parallel_size": 2)"),
      key + "of the stages of a pipeline; write a pipeline_parallel_size above 1 in \"training\", or leave it out");
  write(8, "[" + chunked(2) + "]");
  EXPECT_TRUE(
      any_has(errors_of(path_, {framework(Framework::kMegatron), parallel(four)}),
              key + "2, and 4 stages share 12 blocks, which are not divided by so many chunks on each; write 1 or 3"));
  EXPECT_TRUE(any_has(errors_of(path_, {framework(Framework::kDeepspeed), parallel(four)}),
                      "/schedules/0/virtual_pipeline_stages: gives a stage several chunks, and DeepSpeed's has one"));
  EXPECT_EQ(said(chunked(3), four, 9),
            key +
                "3, and gradient_accumulation_steps is 9, and interleaved chunks take micro-batches in groups of 4; "
                "write 8 or 12");
  EXPECT_EQ(
      said(chunked(3), four + R"(, "stage_layers": [2, 4, 4, 2])"),
      key +
          "3, and stage_layers in \"training\" lists the blocks where there are 1 on each stage; write 1, or leave "
          "stage_layers out");
}

TEST_F(InAPipeline, OnlyDdpRunsInsideItsReplicas) {
  const std::string nodes = R"({"gpus": 8, "count": 2, "device": "devices/gpu.json",
    "intra": {"kind": "nvswitch", "bandwidth": "100 GB/s"}, "nics": {"bandwidth": "100 Gbit/s"}})";
  const auto inside = [&](const char* const inner) {
    write(16, std::string(R"([{"name": "diloco", "replica": "group", "inner": ")") + inner + "\"}]",
          "[" + nodes + ", " + nodes + "]");
    return errors_of(path_, {parallel(R"("pipeline_parallel_size": 2)")});
  };
  EXPECT_EQ(inside("ddp"), Lines{});
  for (const char* const inner : {"acco", "zero3"})
    EXPECT_TRUE(any_has(inside(inner), std::string("/schedules/0/inner: is \"") + inner +
                                           "\", which is not modelled yet in replicas whose models have several "
                                           "stages; write \"ddp\""));
}

// Are schedules that cannot be had, or are not asked for, left out, and all others as they were?

class LeftOut : public ReadParallel {};

TEST_F(LeftOut, SchedulesThatCannotBeHadAreLeftOutWhereOthersCan) {
  write(8, R"([{"name": "zero3"}, {"name": "zero1"}, {"name": "ddp"}])");
  const std::string stages = "/training/parallel/pp=4";
  const LoadedScenario loaded = load_scenario(path_, {stages});
  ASSERT_EQ(loaded.scenario.schedules.size(), 2U);
  EXPECT_EQ(loaded.scenario.baseline, "zero1") << "the first of those that are left";
  ASSERT_EQ(loaded.left_out.size(), 1U);
  EXPECT_EQ(loaded.left_out[0].label, "zero3");
  EXPECT_NE(loaded.left_out[0].why.find("not modelled yet where the model has several stages"), std::string::npos);
  EXPECT_EQ(loaded.resolved().find("zero3"), std::string::npos);
  // The same where it is the only one, is asked for, or something else is wrong.
  EXPECT_EQ(errors_of(path_, {stages, "/schedules=[{\"name\": \"zero3\"}]"}).size(), 1U);
  EXPECT_THROW(load_scenario(path_, {stages}, {"zero3"}), ScenarioError);
  EXPECT_EQ(errors_of(path_, {stages, "/training/sequence_length=0"}).size(), 2U);
}

TEST_F(LeftOut, OnlyTheSchedulesThatAreAskedForAreLookedAt) {
  write(8, R"([{"name": "zero1"}, {"name": "ddp", "wrong": 1}, {"name": "ddp", "label": "plain"}])");
  EXPECT_EQ(errors_of(path_, {}).size(), 1U);
  const LoadedScenario loaded = load_scenario(path_, {}, {"plain"});
  ASSERT_EQ(loaded.scenario.schedules.size(), 2U) << "with the baseline";
  EXPECT_EQ(loaded.scenario.schedules[1].label, "plain");
  EXPECT_THROW(load_scenario(path_, {}, {"ddp"}), ScenarioError) << "a name stands for all that have it";
}

}  // namespace
}  // namespace accosim
