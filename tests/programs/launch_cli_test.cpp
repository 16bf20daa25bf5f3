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
  const ProgramRun run = accosim({"resolve", kScript, "--cluster", "dgx-h100-4x8"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(holds(run.out, "\"/training/micro_batch_size\": \"scenarios/how-to/train.sh:21\""));
}

TEST(Launch, ItsScenarioIsWrittenAndReadAgain) {
  const TemporaryFolder folder;
  const std::string scenario = (folder.path / "mine.json").string();
  const ProgramRun run = accosim({"import", "launch", kScript, "--cluster", "dgx-h100-4x8", "-o", scenario});
  EXPECT_EQ(run.exit_code, 0) << run.err;
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
  expect_told(accosim({"import", "launch", "README.md", "--cluster", "dgx-h100-4x8"}), 1, "no line starts a trainer");
}

TEST(Launch, SearchesTakeScenarios) {
  for (const char* const verb : {"advise", "sweep"})
    expect_told(accosim({verb, kScript, "--cluster", "dgx-h100-4x8", "--over", "micro_batch"}), 1,
                "write one first: accosim import launch scenarios/how-to/train.sh");
}

}  // namespace
}  // namespace accosim
