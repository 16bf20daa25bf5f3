// Are schedules that cannot be had, or are not asked for, left out, and all others as they were?
#include <gtest/gtest.h>

#include <string>

#include "models/read/load.hpp"
#include "models/spec/scenario_error.hpp"
#include "tests/models/parallel_files.hpp"

namespace accosim {
namespace {

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
