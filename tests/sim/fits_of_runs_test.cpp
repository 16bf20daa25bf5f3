// Is every published run asked for once, and each verdict that is wrong told?
#include "sim/evidence/fits_of_runs.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "models/spec/device.hpp"
#include "models/spec/scenario.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

PublishedCase case_of(const char* id, const char* group, double gib) {
  Scenario scenario = sample_scenario(1, 2);
  scenario.name = "sample";
  for (Device& device : scenario.cluster.nodes[0].devices) device.memory = Bytes{gib * 0x1p30};
  PublishedCase one;
  one.id = id;
  one.group = group;
  one.source = "source";
  one.scenario = std::make_shared<const Scenario>(std::move(scenario));
  return one;
}

std::vector<RunFit> fits_of(const std::vector<PublishedCase>& cases) {
  std::vector<const PublishedCase*> all;
  for (const PublishedCase& one : cases) all.push_back(&one);
  return fits_of_runs(all);
}

TEST(FitsOfRuns, ARunIsAskedForOnceHoweverManyFiguresItHas) {
  // Its time and its memory; two ratios of one run of the paper. A layer alone, and what a simulator printed, ran not.
  const std::vector<RunFit> runs =
      fits_of({case_of("a/one", kTrainingGroup, 80), case_of("a/one memory", kMemoryGroup, 80),
               case_of("a/two", kTrainingGroup, 80), case_of("a/block forward", kLayerGroup, 80),
               case_of("a/printed", kSimulatorGroup, 80), case_of("p/speedup", kPaperGroup, 80),
               case_of("p/time", kPaperGroup, 80)});
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].id, "a/one");
  EXPECT_EQ(runs[1].id, "a/two");
  EXPECT_EQ(runs[2].id, "source/sample, zero1");
  for (const RunFit& run : runs) EXPECT_FALSE(run.wrong());
}

TEST(FitsOfRuns, WrongVerdictsAreCountedAndNeedAReason) {
  std::vector<PublishedCase> cases = {case_of("a/one", kTrainingGroup, 0.5), case_of("a/two", kTrainingGroup, 0.5)};
  cases[0].memory_explanation = "it was offloaded";
  const std::vector<RunFit> runs = fits_of(cases);
  ASSERT_TRUE(runs[0].wrong() && runs[1].wrong());
  EXPECT_EQ(broken_fits(runs, 2),
            std::vector<std::string>{"a/two: it ran and is said not to fit, without a written reason"});
  EXPECT_EQ(broken_fits({runs[0]}, 1), std::vector<std::string>{});
  EXPECT_EQ(broken_fits({runs[0]}, 0),
            std::vector<std::string>{"of the runs that ran one is said not to fit, above the bound of 0"});
}

}  // namespace
}  // namespace accosim
