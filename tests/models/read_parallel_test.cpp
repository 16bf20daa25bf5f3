// Is "parallel" of a training read as each framework would run it, and is what does not divide refused with what does?

#include <gtest/gtest.h>

#include "models/spec/frameworks.hpp"
#include "models/spec/schedule_traits.hpp"
#include "tests/models/parallel_files.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/json.hpp"

namespace accosim {
namespace {

TEST_F(ReadParallel, AbsentOrEmptyTheModelIsWhole) {
  EXPECT_EQ(load_scenario(path_, {}).scenario.training.parallel, Parallel{});
  EXPECT_FALSE(holds(load_scenario(path_, {}).resolved(), "\"parallel\""));
  EXPECT_EQ(read(""), Parallel{});
  EXPECT_EQ(origins("", Framework::kPytorch),
            (std::map<std::string, std::string>{{"tensor_parallel_size", "default"},
                                                {"sequence_parallel", "default"},
                                                {"tensor_overlap", "default"},
                                                {"expert_parallel_size", "default"},
                                                {"pipeline_parallel_size", "default"},
                                                {"virtual_pipeline_stages", "default"},
                                                {"overlap_p2p", "default"},
                                                {"scatter_gather_p2p", "default"},
                                                {"order", "default"}}));
}

TEST_F(ReadParallel, MegatronSplitsTheSequenceWhenItIsAskedAndOverlapsInterleavedMessages) {
  const Parallel plain = read(R"("tensor_parallel_size": 4, "pipeline_parallel_size": 4)", Framework::kMegatron);
  EXPECT_EQ(plain.tensor, 4);
  EXPECT_EQ(plain.pipeline, 4);
  EXPECT_FALSE(plain.sequence);
  EXPECT_EQ(plain.schedule, PipelineSchedule::kOneForwardOneBackward);
  EXPECT_FALSE(plain.overlap_messages);
  EXPECT_FALSE(plain.overlap_tensor);
  EXPECT_EQ(plain.blocks, (std::vector<int>{3, 3, 3, 3}));
  const Parallel both = read(R"("tensor_parallel_size": 4, "sequence_parallel": true, "tensor_overlap": true,
    "pipeline_parallel_size": 4, "virtual_pipeline_stages": 3, "order": "tp-pp-dp")",
                             Framework::kMegatron);
  EXPECT_TRUE(both.sequence);
  EXPECT_TRUE(both.overlap_tensor);
  EXPECT_EQ(both.schedule, PipelineSchedule::kInterleaved);
  EXPECT_TRUE(both.overlap_messages);
  EXPECT_EQ(both.chunks, 3);
  EXPECT_EQ(both.blocks, std::vector<int>(12, 1));
  EXPECT_EQ(both.order, order_of("tp-pp-dp"));
}

TEST_F(ReadParallel, TorchtitanSplitsTheSequenceAndMayHaveUnevenStages) {
  const Parallel titan = read(R"("tensor_parallel_size": 2, "pipeline_parallel_size": 8)");
  EXPECT_TRUE(titan.sequence);
  EXPECT_TRUE(titan.overlap_messages);
  EXPECT_EQ(titan.schedule, PipelineSchedule::kOneForwardOneBackward);
  // 12 blocks, embedding and head are 14 on 8 stages: 2 on the first six, 1 on the others, less one at both ends.
  EXPECT_EQ(titan.blocks, (std::vector<int>{1, 2, 2, 2, 2, 2, 1, 0}));
  EXPECT_EQ(read(R"("pipeline_parallel_size": 2, "virtual_pipeline_stages": 2)").schedule,
            PipelineSchedule::kInterleaved);
  EXPECT_EQ(read(R"("pipeline_parallel_size": 2, "pipeline_schedule": "gpipe")").schedule, PipelineSchedule::kGpipe);
  EXPECT_FALSE(read(R"("tensor_parallel_size": 2, "sequence_parallel": false)").sequence);
}

TEST_F(ReadParallel, DeepspeedsPipelineHasOneScheduleThatWaits) {
  const Parallel deep = read(R"("tensor_parallel_size": 2, "pipeline_parallel_size": 4)", Framework::kDeepspeed);
  EXPECT_FALSE(deep.sequence);
  EXPECT_FALSE(deep.overlap_messages);
  EXPECT_EQ(deep.schedule, PipelineSchedule::kOneForwardOneBackward);
}

TEST_F(ReadParallel, SlicesAreSentBetweenStagesByDeepspeedAndWhereTheyAreAskedFor) {
  const std::string degrees = R"("tensor_parallel_size": 2, "pipeline_parallel_size": 4)";
  EXPECT_TRUE(read(degrees, Framework::kDeepspeed).scatter_gather);
  EXPECT_FALSE(read(degrees + R"(, "sequence_parallel": true)", Framework::kDeepspeed).scatter_gather);
  EXPECT_FALSE(read(R"("pipeline_parallel_size": 4)", Framework::kDeepspeed).scatter_gather);
  EXPECT_FALSE(read(degrees, Framework::kMegatron).scatter_gather);
  EXPECT_TRUE(read(degrees + R"(, "scatter_gather_p2p": true)", Framework::kMegatron).scatter_gather);
  EXPECT_EQ(origins(degrees, Framework::kDeepspeed).at("scatter_gather_p2p"),
            "default of DeepSpeed (runtime/pipe/schedule.py)");
}

TEST_F(ReadParallel, ResolveSaysWhoseEachChoiceIs) {
  const auto megatron = origins(R"("tensor_parallel_size": 2, "pipeline_parallel_size": 4)", Framework::kMegatron);
  const std::string of_megatron = "default of Megatron-LM (megatron/training/arguments.py)";
  EXPECT_EQ(megatron.at("tensor_parallel_size"), "--set");
  EXPECT_EQ(megatron.at("sequence_parallel"), of_megatron);
  EXPECT_EQ(megatron.at("pipeline_schedule"), of_megatron);
  EXPECT_EQ(megatron.at("overlap_p2p"), of_megatron);
  EXPECT_EQ(megatron.at("tensor_overlap"), "default");
  EXPECT_EQ(megatron.at("virtual_pipeline_stages"), "default");
  EXPECT_EQ(megatron.at("stage_layers/3"), "default");
  EXPECT_EQ(megatron.at("order"), "default");
  const auto titan = origins(R"("tensor_parallel_size": 2, "pipeline_parallel_size": 8)", Framework::kPytorch);
  EXPECT_EQ(titan.at("sequence_parallel"), "default of PyTorch, as torchtitan has it");
  EXPECT_EQ(titan.at("stage_layers/0"), "default of torchtitan: embedding and head count as a block each");
  const auto deep = origins(R"("pipeline_parallel_size": 4)", Framework::kDeepspeed);
  EXPECT_EQ(deep.at("pipeline_schedule"), "default of DeepSpeed (runtime/pipe/schedule.py)");
  EXPECT_EQ(deep.at("sequence_parallel"), "default");
}

TEST_F(ReadParallel, WhatIsResolvedLoadsAsTheSame) {
  for (const char* const members : {R"("tensor_parallel_size": 4)", R"("pipeline_parallel_size": 8)",
                                    R"("pipeline_parallel_size": 2, "virtual_pipeline_stages": 2)", ""}) {
    const LoadedScenario once = load_scenario(path_, {parallel(members)});
    const LoadedScenario again = load_scenario(files.write("again.json", once.resolved()), {});
    EXPECT_EQ(again.scenario.training, once.scenario.training) << members;
    EXPECT_EQ(again.resolved(), once.resolved()) << members;
  }
}

TEST_F(ReadParallel, AKeyMayBeSetWhereTheObjectIsAbsent) {
  const Scenario set =
      load_scenario(path_, {"/training/parallel/tensor_parallel_size=2", "/training/parallel/pipeline_parallel_size=4"})
          .scenario;
  EXPECT_EQ(set.training.parallel.tensor, 2);
  EXPECT_EQ(set.training.parallel.pipeline, 4);
  EXPECT_EQ(errors_of(path_, {"/training/parallel/tensor_parallel_size=null"}),
            Lines{"--set /training/parallel: no such key; one of: \"sequence_length\", \"micro_batch_size\", "
                  "\"gradient_accumulation_steps\", \"train_tokens\""});
  EXPECT_EQ(errors_of(path_, {"/training/paralel/tensor_parallel_size=2"}).size(), 1U);
}

TEST_F(ReadParallel, SamplesOfAnUpdateAreThoseOfWholeReplicas) {
  const auto samples = [&](const std::string& members) {
    return samples_asked(load_scenario(path_, {parallel(members)}).scenario);
  };
  EXPECT_EQ(samples(""), 32 * 4 * 8);
  EXPECT_EQ(samples(R"("tensor_parallel_size": 2, "pipeline_parallel_size": 4)"), 4 * 4 * 8);
}

TEST_F(ReadParallel, TensorsDivideOrTheNearestSizesAreNamed) {
  EXPECT_EQ(refused(R"("tensor_parallel_size": 3)"),
            "/training/parallel/tensor_parallel_size: is 3, and the model has 8 attention heads, which 3 ranks cannot "
            "share evenly; write 2 or 4");
  EXPECT_EQ(read(R"("tensor_parallel_size": 8)").tensor, 8) << "a multiple of two key-value heads";
  EXPECT_TRUE(errors_of(path_, {parallel(R"("tensor_parallel_size": 2)"), "/model/num_key_value_heads=1"}).empty());
}

TEST_F(ReadParallel, OtherSizesOfTheModelDivideToo) {
  EXPECT_EQ(refused(R"("tensor_parallel_size": 8)", Framework::kPytorch, {"/model/intermediate_size=100"}),
            "/training/parallel/tensor_parallel_size: is 8, and the model has an intermediate_size of 100, which 8 "
            "ranks cannot share evenly; write 4");
  EXPECT_EQ(refused(R"("tensor_parallel_size": 4)", Framework::kPytorch,
                    {"/model/num_attention_heads=24", "/model/num_key_value_heads=6", "/model/head_dim=8"}),
            "/training/parallel/tensor_parallel_size: is 4, and the model has 6 key-value heads, which 4 ranks cannot "
            "share evenly; write 3 or 6");
}

TEST_F(ReadParallel, SequencesDivideWhereTheyAreSplit) {
  EXPECT_EQ(refused(R"("tensor_parallel_size": 8)", Framework::kPytorch, {"/training/sequence_length=100"}),
            "/training/sequence_length: is 100, and 8 ranks split a sequence, which they cannot share evenly; write 96 "
            "or 104, or \"sequence_parallel\": false");
  const std::string lengths = R"(/training/sequence_lengths={"lognormal": {"mean": 50, "cv": 0.5}})";
  EXPECT_EQ(refused(R"("tensor_parallel_size": 4)", Framework::kPytorch, {lengths}),
            "/training/sequence_lengths: has sequences that 4 ranks cannot share evenly; write "
            "\"pad_to_multiple_of\": 4, or \"sequence_parallel\": false");
  EXPECT_TRUE(errors_of(path_, {parallel(R"("tensor_parallel_size": 8)"), "/training/sequence_length=100",
                                framework(Framework::kMegatron)})
                  .empty());
}

TEST_F(ReadParallel, WhatMeansNothingIsRefused) {
  const std::string pipes = "; write a pipeline_parallel_size above 1, or leave it out";
  EXPECT_EQ(refused(R"("sequence_parallel": true)"),
            "/training/parallel/sequence_parallel: splits sequences over the ranks that split tensors; write a "
            "tensor_parallel_size above 1, or leave it out");
  EXPECT_EQ(refused(R"("tensor_overlap": true)"),
            "/training/parallel/tensor_overlap: is about ranks that split tensors; write a tensor_parallel_size above "
            "1, or leave it out");
  EXPECT_EQ(refused(R"("tensor_parallel_size": 2, "tensor_overlap": true)", Framework::kMegatron),
            "/training/parallel/tensor_overlap: cuts up the gathers and scatters of sequence parallelism, and here "
            "tensors alone are split; write \"sequence_parallel\": true too, or leave it out");
  EXPECT_EQ(refused(R"("virtual_pipeline_stages": 2)"),
            "/training/parallel/virtual_pipeline_stages: is of the stages of a pipeline" + pipes);
  EXPECT_EQ(refused(R"("pipeline_schedule": "1f1b")"),
            "/training/parallel/pipeline_schedule: is of the stages of a pipeline" + pipes);
  EXPECT_EQ(refused(R"("stage_layers": [12])"),
            "/training/parallel/stage_layers: is of the stages of a pipeline" + pipes);
  EXPECT_EQ(refused(R"("overlap_p2p": true)"),
            "/training/parallel/overlap_p2p: is about what stages send each other" + pipes);
  EXPECT_EQ(refused(R"("tensor_parallel_size": 2, "scatter_gather_p2p": true)", Framework::kMegatron),
            "/training/parallel/scatter_gather_p2p: is about what ranks that split tensors send from stage to stage; "
            "write a tensor_parallel_size and a pipeline_parallel_size above 1, or leave it out");
}

TEST_F(ReadParallel, SchedulesAndChunksGoTogether) {
  EXPECT_EQ(
      refused(R"("pipeline_parallel_size": 4, "pipeline_schedule": "interleaved")"),
      "/training/parallel/pipeline_schedule: is \"interleaved\", which goes through several chunks on each stage; "
      "write \"virtual_pipeline_stages\": 2 or more too, or \"1f1b\"");
  EXPECT_EQ(refused(R"("pipeline_parallel_size": 4, "virtual_pipeline_stages": 3, "pipeline_schedule": "1f1b")"),
            "/training/parallel/pipeline_schedule: is \"1f1b\", which has one chunk on each stage, and "
            "virtual_pipeline_stages is 3; write \"interleaved\", or leave virtual_pipeline_stages out");
  EXPECT_EQ(refused(R"("pipeline_parallel_size": 4, "pipeline_schedule": "ZBV")"),
            "/training/parallel/pipeline_schedule: \"ZBV\" is not known; schedules that split the backward pass are "
            "not modelled yet; write one of: \"gpipe\", \"1f1b\", \"interleaved\"");
  EXPECT_EQ(refused(R"("pipeline_parallel_size": 4, "pipeline_schedule": "Interleaved1F1B")"),
            "/training/parallel/pipeline_schedule: \"Interleaved1F1B\" is not known; did you mean \"interleaved\"? "
            "write one of: \"gpipe\", \"1f1b\", \"interleaved\"");
}

TEST_F(ReadParallel, WhatAFrameworkDoesNotHaveIsRefusedWithItsReason) {
  const auto megatron = [&](const std::string& members) { return refused(members, Framework::kMegatron); };
  const auto deepspeed = [&](const std::string& members) { return refused(members, Framework::kDeepspeed); };
  EXPECT_EQ(megatron(R"("pipeline_parallel_size": 4, "overlap_p2p": true)"),
            "/training/parallel/overlap_p2p: is true, and Megatron-LM sends beside the computation only under the "
            "interleaved schedule; write false, or \"virtual_pipeline_stages\": 2");
  EXPECT_EQ(megatron(R"("pipeline_parallel_size": 2, "virtual_pipeline_stages": 2, "overlap_p2p": false)"),
            "/training/parallel/overlap_p2p: is false, and Megatron-LM then needs three stages or more for several "
            "chunks; write true");
  EXPECT_EQ(megatron(R"("pipeline_parallel_size": 4, "pipeline_schedule": "gpipe")"),
            "/training/parallel/pipeline_schedule: is \"gpipe\", which Megatron-LM does not have; write \"1f1b\", or "
            "\"framework\": \"pytorch\"");
  EXPECT_EQ(deepspeed(R"("pipeline_parallel_size": 4, "virtual_pipeline_stages": 3)"),
            "/training/parallel/virtual_pipeline_stages: gives a stage several chunks, and DeepSpeed's has one; write "
            "1, or another framework");
  EXPECT_EQ(deepspeed(R"("pipeline_parallel_size": 4, "overlap_p2p": true)"),
            "/training/parallel/overlap_p2p: is true, and a stage of DeepSpeed waits for each message; write false");
  EXPECT_EQ(deepspeed(R"("tensor_parallel_size": 4, "sequence_parallel": true, "tensor_overlap": true)"),
            "/training/parallel/tensor_overlap: cuts collectives up beside their GEMMs (Transformer Engine's user "
            "buffers, PyTorch's async tensor parallelism), and DeepSpeed waits for them; write false");
}

TEST_F(ReadParallel, ShortNamesAreOurs) {
  EXPECT_EQ(read(R"("tp": 2, "pp": 4, "vpp": 3)"),
            read(R"("tensor_parallel_size": 2, "pipeline_parallel_size": 4, "virtual_pipeline_stages": 3)"));
  EXPECT_EQ(load_scenario(path_, {"/training/parallel/tp=2"}).scenario.training.parallel.tensor, 2);
  EXPECT_EQ(refused(R"("tensor_parallel_size": 4, "tp": 2)"),
            "/training/parallel/tp: says the same as tensor_parallel_size; write one of them");
}

TEST_F(ReadParallel, MegatronCountsTheHeadOrBothEndsAsBlocks) {
  // 12 blocks and the head are 13 on 13 stages; with the embedding 14 on 7 or 14, which leaves the ends one less.
  const auto blocks = [&](int stages, int chunks) {
    std::string text = "\"pipeline_parallel_size\": " + std::to_string(stages);
    if (chunks > 1) text += ", \"virtual_pipeline_stages\": " + std::to_string(chunks);
    return load_scenario(path_, {framework(Framework::kMegatron), "/cluster/nodes/0/count=7",
                                 "/training/gradient_accumulation_steps=7", parallel(text)})
        .scenario.training.parallel.blocks;
  };
  const std::vector<int> fourteen = {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0};
  EXPECT_EQ(blocks(7, 1), (std::vector<int>{1, 2, 2, 2, 2, 2, 1}));
  EXPECT_EQ(blocks(14, 1), fourteen);
  EXPECT_EQ(blocks(7, 2), fourteen);
  EXPECT_EQ(usual_blocks(Framework::kMegatron, 12, 13).blocks, std::vector<int>(fourteen.begin() + 1, fourteen.end()));
  // The 126 blocks of Llama 3.1 405B on 16 stages.
  std::vector<int> llama(16, 8);
  llama.front() = llama.back() = 7;
  for (const Framework which : {Framework::kMegatron, Framework::kPytorch})
    EXPECT_EQ(usual_blocks(which, 126, 16).blocks, llama);
}

TEST_F(ReadParallel, BlocksDivideUnderMegatronAndAreEnoughElsewhere) {
  EXPECT_EQ(refused(R"("pipeline_parallel_size": 8)", Framework::kMegatron),
            "/training/parallel/pipeline_parallel_size: is 8, and the model has 12 blocks, which are not divided by so "
            "many stages; write 7 or 12, or list \"stage_layers\"");
  EXPECT_EQ(refused(R"("pipeline_parallel_size": 4, "virtual_pipeline_stages": 2)", Framework::kMegatron),
            "/training/parallel/virtual_pipeline_stages: is 2, and 4 stages share 12 blocks, which are not divided by "
            "so many chunks on each; write 1 or 3, or list \"stage_layers\"");
  EXPECT_EQ(refused(R"("pipeline_parallel_size": 16)"),
            "/training/parallel/pipeline_parallel_size: is 16, and the model has 12 blocks, which are too few for so "
            "many stages; write 12, or list \"stage_layers\"");
  EXPECT_EQ(refused(R"("pipeline_parallel_size": 8, "virtual_pipeline_stages": 2)"),
            "/training/parallel/virtual_pipeline_stages: is 2, and 8 stages share 12 blocks, which are too few for so "
            "many chunks on each; write 1, or list \"stage_layers\"");
}

TEST_F(ReadParallel, ListedBlocksAreAllOfTheModels) {
  const auto listed = [](const std::string& list) { return R"("pipeline_parallel_size": 4, "stage_layers": )" + list; };
  EXPECT_EQ(read(listed("[2, 4, 4, 2]"), Framework::kMegatron).blocks, (std::vector<int>{2, 4, 4, 2}));
  EXPECT_EQ(read(listed("[0, 6, 6, 0]"), Framework::kMegatron).blocks, (std::vector<int>{0, 6, 6, 0}));
  EXPECT_EQ(refused(listed("[4, 4, 4]")),
            "/training/parallel/stage_layers: lists 3, and 4 stages of 1 chunk are 4; list the blocks of each in the "
            "order in which a micro-batch passes them");
  EXPECT_EQ(refused(R"("pipeline_parallel_size": 2, "virtual_pipeline_stages": 2, "stage_layers": [6, 6])"),
            "/training/parallel/stage_layers: lists 2, and 2 stages of 2 chunks are 4; list the blocks of each in the "
            "order in which a micro-batch passes them");
  EXPECT_EQ(refused(listed("[4, 0, 4, 4]")),
            "/training/parallel/stage_layers: has no block in a chunk between two others; only the first, which has "
            "the embedding, and the last, which has the head, may have 0");
  EXPECT_EQ(refused(listed("[3, 3, 3, 4]")),
            "/training/parallel/stage_layers: adds up to 13, and the model has 12 blocks; list them all, each once");
  EXPECT_EQ(refused(listed("[2.5, 3.5, 3, 3]")),
            "/training/parallel/stage_layers: lists parts of a block; write whole numbers");
  EXPECT_EQ(refused(listed("[-1, 7, 3, 3]")),
            "/training/parallel/stage_layers/0: is -1; write a number from 0 to 10000");
}

TEST_F(ReadParallel, TheClusterHoldsWholeReplicas) {
  EXPECT_EQ(refused(R"("pipeline_parallel_size": 3)"),
            "/training/parallel/pipeline_parallel_size: is 3, and the cluster has 32 GPUs, which make no whole "
            "pipelines; write 2 or 4");
  EXPECT_EQ(refused(R"("tensor_parallel_size": 8, "pipeline_parallel_size": 3)"),
            "/training/parallel/pipeline_parallel_size: is 3, and the cluster has 4 groups of 8 GPUs that split "
            "tensors, which make no whole pipelines; write 2 or 4");
  EXPECT_EQ(refused(R"("tensor_parallel_size": 4)", Framework::kPytorch, {"/cluster/nodes/0/gpus=2"}),
            "/training/parallel/tensor_parallel_size: is 4, and each node of \"a\" has 2 GPUs, which are no groups of "
            "so many; tensors split between nodes are not modelled yet: write 2");
  write(8, R"([{"name": "ddp"}])", R"([{"name": "mixed", "gpus": 4, "device": ["devices/gpu.json", "devices/gpu.json",
    {"inherits": "devices/gpu.json", "slowdown": 2}, "devices/gpu.json"],
    "intra": {"kind": "nvswitch", "bandwidth": "100 GB/s"}}])");
  EXPECT_EQ(refused(R"("tensor_parallel_size": 2)"),
            "/training/parallel/tensor_parallel_size: is 2, and in a node of \"mixed\" neighbours that would split a "
            "tensor are gpu (modified) and gpu; list equal devices next to each other, or write 1");
}

TEST_F(ReadParallel, OrdersNameEachDimensionOnceAndTensorsFirst) {
  const auto order = [](const std::string& text) {
    return R"("tensor_parallel_size": 2, "pipeline_parallel_size": 4, "order": ")" + text + "\"";
  };
  EXPECT_EQ(refused(order("tp-xp")),
            "/training/parallel/order: \"xp\" is no dimension; an order is written \"tp-cp-ep-dp-pp\"; write \"tp\", "
            "\"cp\", \"ep\", \"dp\" and \"pp\", each once, the nearest ranks first");
  EXPECT_EQ(refused(order("tp-tp")),
            "/training/parallel/order: a dimension is twice in the order tp-tp; write \"tp\", \"cp\", \"ep\", \"dp\" "
            "and \"pp\", each once, the nearest ranks first");
  EXPECT_EQ(refused(order("dp-tp-pp")),
            "/training/parallel/order: puts \"dp\" before \"tp\", and only neighbours that split tensors are modelled "
            "yet; begin with \"tp\"");
  EXPECT_EQ(refused(order("pp-tp-dp")),
            "/training/parallel/order: puts \"pp\" before \"tp\", and only neighbours that split tensors are modelled "
            "yet; begin with \"tp\"");
  EXPECT_EQ(read(R"("tensor_parallel_size": 2, "order": "pp-tp-dp")").tensor, 2);
}

TEST_F(ReadParallel, InterleavedChunksTakeMicroBatchesInGroups) {
  const std::string chunks = R"("pipeline_parallel_size": 4, "virtual_pipeline_stages": 3)";
  EXPECT_EQ(refused(chunks, Framework::kMegatron, {"/training/gradient_accumulation_steps=6"}),
            "/training/gradient_accumulation_steps: is 6, and interleaved chunks take micro-batches in groups of 4; "
            "write 4 or 8");
  EXPECT_EQ(refused(chunks, Framework::kMegatron, {"/training/gradient_accumulation_steps=3"}),
            "/training/gradient_accumulation_steps: is 3, and interleaved chunks take micro-batches in groups of 4; "
            "write 4");
  EXPECT_EQ(refused(chunks, Framework::kMegatron, {"/cluster/nodes/0/gradient_accumulation_steps=10"}),
            "/cluster/nodes/0/gradient_accumulation_steps: is 10, and interleaved chunks take micro-batches in groups "
            "of 4; write 8 or 12");
  EXPECT_EQ(refused(chunks, Framework::kMegatron,
                    {"/schedules=[{\"name\": \"acco\", \"late_communication\": \"wait\"}]",
                     "/training/gradient_accumulation_steps=12"}),
            "/schedules/0/micro_batches_per_round: is 6, and interleaved chunks take micro-batches in groups of 4; "
            "write 8, or gradient_accumulation_steps that are a multiple of 8");
  EXPECT_TRUE(errors_of(path_, {parallel(R"("pipeline_parallel_size": 4)"), "/training/gradient_accumulation_steps=3"})
                  .empty());
  // PyTorch cuts an update into as many equal groups as it holds pipelines: 6 are one, 10 two of 5, and 9 are not two.
  const auto group = [&](int steps) {
    const std::string set = "/training/gradient_accumulation_steps=" + std::to_string(steps);
    return micro_batches_apart(load_scenario(path_, {parallel(chunks), set}).scenario.training.parallel);
  };
  EXPECT_EQ(group(3), 3);
  EXPECT_EQ(group(6), 6);
  EXPECT_EQ(group(8), 4);
  EXPECT_EQ(group(10), 5);
  EXPECT_EQ(refused(chunks, Framework::kPytorch, {"/training/gradient_accumulation_steps=9"}),
            "/training/gradient_accumulation_steps: is 9, and interleaved chunks take micro-batches in groups of 4; "
            "write 8 or 12");
  // 8 replicas of 4 stages: 48 x 4 samples are 6 micro-batches each.
  EXPECT_EQ(errors_of(path_, {parallel(chunks), "/training/gradient_accumulation_steps=null",
                              "/training/global_batch_size=192"}),
            Lines{});
}

TEST_F(ReadParallel, MeasuredModelsAndAccocalsStepAreWhole) {
  const std::string measured =
      R"(/model={"model_type": "measured", "name": "m", "parameters": 1e6, "micro_batch_time": "1 ms"})";
  EXPECT_EQ(
      refused(R"("tensor_parallel_size": 2)", Framework::kPytorch, {measured}),
      "/training/parallel/tensor_parallel_size: is 2, and of a measured model the micro-batch is known as a whole "
      "alone; write 1");
  EXPECT_EQ(refused(R"("pipeline_parallel_size": 2)", Framework::kPytorch, {measured}),
            "/training/parallel/pipeline_parallel_size: is 2, and of a measured model the micro-batch is known as a "
            "whole alone; write 1");
  EXPECT_TRUE(any_has(errors_of(path_, {parallel(R"("tensor_parallel_size": 2)"), "/training/implementation=accocal"}),
                      "/training/parallel: accocal's step has the whole model on every rank; leave it out"));
}

TEST_F(ReadParallel, OthersWordsLeadToOurs) {
  const auto unknown = [&](const std::string& key) { return refused("\"" + key + "\": 2"); };
  EXPECT_EQ(unknown("tp_size"), "/training/parallel/tp_size: unknown key; here it is \"tensor_parallel_size\"");
  EXPECT_EQ(unknown("tensor_model_parallel_size"),
            "/training/parallel/tensor_model_parallel_size: unknown key; here it is \"tensor_parallel_size\"");
  EXPECT_EQ(unknown("pipeline_model_parallel_size"),
            "/training/parallel/pipeline_model_parallel_size: unknown key; here it is \"pipeline_parallel_size\"");
  EXPECT_EQ(unknown("vp"), "/training/parallel/vp: unknown key; here it is \"virtual_pipeline_stages\"");
  EXPECT_EQ(unknown("sp"), "/training/parallel/sp: unknown key; here it is \"sequence_parallel\"");
  EXPECT_EQ(unknown("num_layers_per_virtual_pipeline_stage"),
            "/training/parallel/num_layers_per_virtual_pipeline_stage: unknown key; here it is "
            "\"virtual_pipeline_stages\", the chunks of each stage: num_hidden_layers / (pipeline_parallel_size x the "
            "blocks of a chunk)");
  EXPECT_EQ(unknown("context_parallel_size"),
            "/training/parallel/context_parallel_size: unknown key; context "
            "parallelism is not modelled yet; leave it out");
  EXPECT_EQ(unknown("data_parallel_size"),
            "/training/parallel/data_parallel_size: unknown key; it is what is left of the GPUs: GPUs / "
            "(tensor_parallel_size x pipeline_parallel_size); leave it out");
  EXPECT_EQ(errors_of(path_, {"/training/tp=8"}),
            Lines{"--set /training/tp: unknown key; here it is \"parallel\": {\"tensor_parallel_size\": 8}, "
                  "as a setting /training/parallel/tensor_parallel_size=8"});
  EXPECT_EQ(errors_of(path_, {"/training/sequence_parallel=true"}),
            Lines{"--set /training/sequence_parallel: unknown key; here it is \"parallel\": {\"sequence_parallel\": "
                  "true}, as a setting /training/parallel/sequence_parallel=true"});
  EXPECT_EQ(errors_of(path_, {"tp=8"}),
            Lines{"--set: \"tp=8\" is no setting; here it is \"parallel\": {\"tensor_parallel_size\": 8}, as a setting "
                  "/training/parallel/tensor_parallel_size=8"});
  EXPECT_EQ(errors_of(path_, {"model=mixtral-8x7b-v0.1"}),
            Lines{"--set: \"model=mixtral-8x7b-v0.1\" is no setting; write --set /model=mixtral-8x7b-v0.1"});
  EXPECT_EQ(errors_of(path_, {"/training/ep=2"}),
            Lines{"--set /training/ep: unknown key; here it is \"parallel\": {\"expert_parallel_size\": 8}, as a "
                  "setting /training/parallel/expert_parallel_size=8"});
}

TEST_F(ReadParallel, ExpertsAreSharedWhereTheyDivideAndWhereTheyAreModelled) {
  const auto errors = [&](const std::string& parallel, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"/model=olmoe-1b-7b", "/training/parallel={" + parallel + "}"});
    return errors_of(path_, more);
  };
  EXPECT_EQ(
      errors_of(path_, {"/training/parallel={\"expert_parallel_size\": 2}"}),
      Lines{"--set /training/parallel/expert_parallel_size: is about models with experts, and this one has none; leave "
            "it out"});
  EXPECT_EQ(
      errors(R"("expert_parallel_size": 3)"),
      Lines{"--set /training/parallel/expert_parallel_size: is 3, and the model has 64 experts, which 3 ranks cannot "
            "share evenly; write 2 or 4"});
  EXPECT_TRUE(holds(errors(R"("expert_parallel_size": 64)").front(), "model replicas, which are no groups of so many"));
  EXPECT_TRUE(
      holds(errors(R"("expert_parallel_size": 2, "tensor_parallel_size": 2, "sequence_parallel": false)").front(),
            "as Megatron-LM asks for"));
  for (const auto& [schedule, why] : std::vector<std::pair<std::string, std::string>>{
           {R"({"name": "acco", "zero_stage": 3})", "parameters gathered in every pass beside a delayed step"},
           {R"({"name": "diloco"})", "replicas that make updates by themselves"},
           {R"({"name": "zero1", "offload_optimizer": true})", "an optimizer on the host"},
           {R"({"name": "zero1", "shard_group": "node"})", "shards inside nodes"}}) {
    const Lines lines = errors(R"("expert_parallel_size": 2)", {"/schedules=[" + schedule + "]"});
    ASSERT_EQ(lines.size(), 1U) << schedule;
    EXPECT_TRUE(holds(lines.front(), why + ", which is not modelled yet where ranks share experts"));
  }
  const auto imbalance = [&](const std::string& parallel) {
    return errors(parallel, {"/training/expert_imbalance=3"});
  };
  EXPECT_TRUE(holds(imbalance("").front(), "here each has all of them"));
  EXPECT_TRUE(holds(imbalance(R"("expert_parallel_size": 2)").front(), "no rank of 2 has more"));
  EXPECT_TRUE(errors(R"("expert_parallel_size": 2)", {"/training/expert_imbalance=1.5"}).empty());
  const auto looped = [&](const char* implementation) {
    return errors(
        "", {"/training/experts_implementation=eager", std::string("/training/implementation=") + implementation});
  };
  EXPECT_TRUE(looped("eager").empty());
  EXPECT_TRUE(holds(looped("fused").front(), "is about eager code, and \"implementation\" is fused"));
}

TEST_F(ReadParallel, WhatIsSaidOfSharedExpertsGoesTogether) {
  const std::string split = R"("tensor_parallel_size": 2, "sequence_parallel": true, )";
  for (const auto& [parallel, what] : std::vector<std::pair<std::string, std::string>>{
           {R"("expert_dispatcher": "deepep")", "write an expert_parallel_size above 1"},
           {R"("expert_overlap": true)", "write an expert_parallel_size above 1"},
           {R"("expert_parallel_size": 2, "expert_dispatcher": "nccl")", "alltoall"},
           {R"("expert_parallel_size": 2, "expert_tensor_parallel_size": 2)", "write 1"},
           {split + R"("expert_parallel_size": 2, "expert_tensor_parallel_size": 4)", "write 1 or 2"},
           {split + R"("expert_parallel_size": 1, "expert_tensor_parallel_size": 1)", "expert_parallel_size above 1"},
           {split + R"("expert_parallel_size": 64, "expert_tensor_parallel_size": 1)", "make no groups of so many"},
           {split + R"("expert_parallel_size": 2, "expert_dispatcher": "hybridep")", "experts that are split"},
           {R"("expert_parallel_size": 2, "expert_overlap": true, "pipeline_parallel_size": 2)",
            "interleaved schedule"}}) {
    const Lines lines = errors_of(path_, {"/model=olmoe-1b-7b", "/training/gradient_accumulation_steps=4",
                                          "/training/parallel={" + parallel + "}"});
    ASSERT_FALSE(lines.empty()) << parallel;
    EXPECT_TRUE(holds(lines.front(), what));
  }
  const Lines proxied =
      errors_of(path_, {"/model=olmoe-1b-7b", "/cluster/nodes/0/nics/kind=\"efa_rdma\"",
                        R"(/training/parallel={"expert_parallel_size": 16, "expert_dispatcher": "deepep"})"});
  ASSERT_FALSE(proxied.empty());
  EXPECT_TRUE(holds(proxied.front(), "by proxies on their hosts"));
  const Lines single = errors_of(path_, {"/model=olmoe-1b-7b", "/training/gradient_accumulation_steps=1",
                                         R"(/training/parallel={"expert_parallel_size": 2, "expert_overlap": true})"});
  ASSERT_FALSE(single.empty());
  EXPECT_TRUE(holds(single.front(), "two micro-batches at once"));
  EXPECT_TRUE(errors_of(path_, {"/model=olmoe-1b-7b", "/training/gradient_accumulation_steps=4",
                                "/training/parallel={" + split +
                                    R"("expert_parallel_size": 4, "expert_tensor_parallel_size": 1,
                                    "expert_dispatcher": "deepep", "expert_overlap": true})"})
                  .empty());
}

TEST_F(ReadParallel, RanksOfAReplicaWorkOnTheSameSamples) {
  const auto group = [](const char* const name, int size) {
    return std::string(R"({"name": ")") + name + R"(", "gpus": 8, "device": "devices/gpu.json", "micro_batch_size": )" +
           std::to_string(size) + R"(, "intra": {"kind": "nvswitch", "bandwidth": "100 GB/s"},
           "nics": {"bandwidth": "100 Gbit/s"}})";
  };
  const std::string unlike = "[" + group("a", 4) + ", " + group("b", 8) + "]";
  const std::string stages = R"("pipeline_parallel_size": 2)";
  write(8, R"([{"name": "ddp"}, {"name": "zero1"}])", unlike);
  EXPECT_EQ(
      refused(stages),
      "/schedules: a model replica of \"ddp\" has GPUs of \"a\" and \"b\", whose micro_batch_size is 4 and 8, and "
      "all its ranks work on the same samples; write one number for both, or an \"order\" of \"parallel\" that "
      "keeps a pipeline in one node group, such as \"tp-cp-ep-pp-dp\"");
  EXPECT_EQ(read(stages + R"(, "order": "tp-cp-ep-pp-dp")").pipeline, 2);
  EXPECT_EQ(read(R"("tensor_parallel_size": 8)").tensor, 8);
  write(8, R"([{"name": "diloco", "replica": "group"}])", unlike);
  EXPECT_EQ(read(stages).pipeline, 2) << "each site has its own pipelines";
  write(8, R"([{"name": "ddp"}])", "[" + group("a", 4) + "]");
  EXPECT_EQ(
      refused(R"("tensor_parallel_size": 2)", Framework::kPytorch,
              {"/cluster/nodes/0/gradient_accumulation_steps=[4, 4, 4, 4, 2, 2, 2, 4]"}),
      "/schedules: a model replica of \"ddp\" has GPUs of \"a\" and \"a\", whose gradient_accumulation_steps is 2 "
      "and 4, and all its ranks work on the same samples; write one number for both");
}

TEST_F(ReadParallel, BucketsGrowWithTheRanksThatSumAGradient) {
  write(8, R"([{"name": "zero1", "overlap": "backward"}])",
        R"([{"count": 64, "gpus": 8, "device": "devices/gpu.json",
    "intra": {"kind": "nvswitch", "bandwidth": "100 GB/s"}, "nics": {"bandwidth": "100 Gbit/s"}}])");
  const auto cap = [&](const std::string& members) {
    return load_scenario(path_, {framework(Framework::kMegatron), parallel(members)}).scenario.schedules[0].bucket_cap;
  };
  EXPECT_DOUBLE_EQ(cap("").value, 512e6 * 4);
  EXPECT_DOUBLE_EQ(cap(R"("tensor_parallel_size": 2, "pipeline_parallel_size": 4)").value, 64e6 * 4);
}

}  // namespace
}  // namespace accosim
