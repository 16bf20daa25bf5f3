// A launch script in the place of a scenario, as a user types it.
#include <gtest/gtest.h>

#include <string>

#include "tests/programs/told.hpp"
#include "tests/support/accosim_program.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/json.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

const std::string kScript = "scenarios/how-to/train.sh";

TEST(Launch, AScriptIsComparedAsAScenarioIs) {
  const Json results = results_of({"compare", kScript, "--cluster", "dgx-h100-4x8", "--no-tuned"});
  EXPECT_EQ(results["results"].size(), 2U);
  EXPECT_EQ(results["results"][0]["label"], "zero1");
  // What is set is set in what the script became.
  expect_told(accosim({"run", kScript, "--cluster", "dgx-h100-4x8", "--schedule", "zero1", "--set",
                       "/training/global_batch_size=7"}),
              1, "global_batch_size");
}

TEST(Launch, EachValueSaysFromWhichLineItComes) {
  const ProgramRun run = accosim_done({"resolve", kScript, "--cluster", "dgx-h100-4x8"});
  EXPECT_TRUE(holds(run.out, "\"/training/micro_batch_size\": \"scenarios/how-to/train.sh:21\""));
}

TEST(Launch, ItsScenarioIsWrittenAndReadAgain) {
  const TemporaryFolder folder;
  const std::string scenario = (folder.path / "mine.json").string();
  const ProgramRun run = accosim_done({"import", "launch", kScript, "--cluster", "dgx-h100-4x8", "-o", scenario});
  EXPECT_TRUE(holds(run.err, "scenarios/how-to/train.sh:15: --swiglu"));
  EXPECT_TRUE(holds(run.err, "without effect on the time of a step:"));
  const std::string from_script =
      accosim({"compare", kScript, "--cluster", "dgx-h100-4x8", "--json", "--no-tuned"}).out;
  const std::string from_scenario = accosim({"compare", scenario, "--json", "--no-tuned"}).out;
  EXPECT_EQ(Json::parse(from_script)["results"][0]["update_time_s"].number(),
            Json::parse(from_scenario)["results"][0]["update_time_s"].number());
  expect_told(accosim({"import", "launch", kScript, "--cluster", "dgx-h100-4x8", "-o", kScript}), 1, "");
}

TEST(Launch, WhatNoScriptSaysIsAskedFor) {
  expect_told(accosim({"compare", kScript}), 1, "add --cluster NAME");
  expect_told(accosim({"compare", kScript, "--cluster", "dgx-h100-4x8", "--with", "TP=16"}), 1, "tensor_parallel_size");
  expect_told(accosim({"compare", "overlap_2x4_a100", "--cluster", "dgx-h100-4x8"}), 1,
              "--cluster belongs to a launch script; of a scenario write --set /cluster=NAME");
  expect_told(accosim({"compare", "llama-3.1-8b", "--cluster", "dgx-h100-4x8"}), 1, "\"llama-3.1-8b\" is a model");
  expect_told(accosim({"compare", "nosuch.sh", "--cluster", "dgx-h100-4x8"}), 1, "\"nosuch.sh\" is not there");
  expect_told(accosim({"import", "launch", "README.md", "--cluster", "dgx-h100-4x8"}), 1, "no line starts a trainer");
}

TEST(Launch, SweepsTakeScenarios) {
  expect_told(accosim({"sweep", kScript, "--over", "micro_batch"}), 1,
              "write one first: accosim import launch scenarios/how-to/train.sh");
  expect_told(accosim({"sweep", "overlap_2x4_a100", "--cluster", "dgx-h100-4x8", "--over", "micro_batch"}), 2,
              "sweep has no --cluster");
  EXPECT_FALSE(holds(accosim({"help", "sweep"}).out, "launch script"));
}

TEST(Launch, AScriptIsAdvisedAndWhatDiffersFromItIsMarked) {
  const ProgramRun run = accosim_done({"advise", kScript, "--cluster", "dgx-h100-4x8", "--for", "megatron",
                                       "--schedule", "zero1", "--over", "micro_batch"});
  EXPECT_TRUE(holds(run.out, "accosim compare scenarios/how-to/train.sh --cluster dgx-h100-4x8"));
  EXPECT_TRUE(holds(run.out, "  --micro-batch-size 2  # was 1\n"));
  EXPECT_TRUE(holds(run.out, "  --tensor-model-parallel-size 2\n"));
}

TEST(Launch, AScheduleIsTyped) {
  const ProgramRun flags = accosim_done({"resolve", kScript, "--cluster", "dgx-h100-4x8", "--for", "megatron"});
  EXPECT_TRUE(holds(flags.out, "# The cluster is not in it: 32 GPUs, 4 nodes x 8 H100-SXM.\n"));
  // What it prints is a script, which says the same.
  const TemporaryFolder folder;
  const std::string again = folder.write("again.sh", flags.out).string();
  const auto step = [](const std::string& script) {
    return results_of({"compare", script, "--cluster", "dgx-h100-4x8", "--no-tuned"})["results"][0]["update_time_s"]
        .number();
  };
  EXPECT_EQ(step(again), step(kScript));
}

TEST(Launch, AdaptersAreTypedWhereTheFrameworkHasThem) {
  const auto typed = [](const std::string& form, const std::string& lora) {
    return accosim(
        {"resolve", "overlap_2x4_a100", "--schedule", "zero1", "--set", "/training/lora=" + lora, "--for", form});
  };
  const std::string two = R"({"rank": 16, "targets": ["q_proj", "up_proj"], "base_dtype": "nf4"})",
                    all = R"({"rank": 8, "targets": ["all-linear"]})";
  const ProgramRun trl = typed("deepspeed", two);
  EXPECT_TRUE(holds(trl.out,
                    "  --use_peft True\n  --lora_r 16\n  --lora_target_modules q_proj up_proj\n"
                    "  --load_in_4bit True\n  --use_bnb_nested_quant True\n"));
  // What it prints is a script, which says the same.
  const TemporaryFolder folder;
  const ProgramRun again =
      accosim({"resolve", folder.write("again.sh", trl.out).string(), "--cluster", "jean-zay-a100-2x4"});
  EXPECT_TRUE(holds(again.out, "\"targets\": [\"q_proj\", \"up_proj\"],\n      \"base_dtype\": \"nf4\"")) << again.err;
  EXPECT_TRUE(
      holds(typed("fsdp2", all).out, "model = get_peft_model(model, LoraConfig(r=8, target_modules=\"all-linear\"))"));
  EXPECT_TRUE(holds(typed("bridge", two).out, "  peft.dim=16\n  peft.target_modules='[linear_qkv,linear_fc1]'\n"));
  EXPECT_TRUE(holds(typed("bridge", two).out, "lora/base_dtype nf4 becomes parameters"));
  for (const char* const form : {"megatron", "torchtitan"})
    expect_told(typed(form, all), 1, "leave \"lora\" out, or ask for deepspeed, fsdp2 or bridge");
}

TEST(Launch, WhoHasWhatNoFrameworkHasIsSaid) {
  const ProgramRun run = accosim_done({"resolve", "overlap_2x4_a100", "--schedule", "acco", "--for", "deepspeed"});
  EXPECT_TRUE(holds(run.out, "None of these frameworks has ACCO. Its authors' trainer has it"));
  EXPECT_TRUE(holds(run.out, "python main.py train=acco train.batch_size="));
  EXPECT_TRUE(holds(run.out, "times as long per sample as acco in the scenario"));
}

TEST(Launch, WhatCannotBeTypedIsAskedForAgain) {
  expect_told(accosim({"resolve", "overlap_2x4_a100", "--for", "megatron-lm"}), 2, "did you mean \"megatron\"?");
  expect_told(accosim({"resolve", "overlap_2x4_a100", "--for", "fsdp"}), 2, "fsdp2");
  expect_told(accosim({"resolve", "overlap_2x4_a100", "--schedule", "acco"}), 2, "--schedule requires --for");
  expect_told(accosim({"resolve", "llama-2-7b_fsdp_hsdp", "--schedule", "zero3", "--for", "fsdp2"}), 1,
              "3 schedules have that name; give the label of one, such as \"HSDP\"");
  expect_told(accosim({"resolve", "overlap_2x4_a100", "--schedule", "zero9", "--for", "fsdp2"}), 1, "zero9");
  expect_told(accosim({"advise", "overlap_2x4_a100", "--schedule", "acco", "--for", "megatron"}), 1,
              "acco: Megatron-LM has no ACCO");
  expect_told(accosim({"advise", "gpt3_175b_1024_a100", "--for", "deepspeed"}), 1,
              "the nearest that DeepSpeed has cannot be");
}

}  // namespace
}  // namespace accosim
