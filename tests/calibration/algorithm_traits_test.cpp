// Do accocal's algorithms and accosim's schedules of the same names say the same of themselves?
#include "calibration/train/algorithm_traits.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "calibration/base/names.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accocal {
namespace {

TEST(AlgorithmTraits, AreThoseOfTheSchedulesOfTheSameNames) {
  std::set<std::string> names;
  for (const AlgorithmTraits& row : algorithms()) {
    EXPECT_EQ(name_of(row.algorithm), row.name);
    EXPECT_EQ(find_algorithm(row.name), &row);
    const ScheduleTraits* const schedule = find_schedule(row.name);
    ASSERT_NE(schedule, nullptr) << row.name;
    // Of some accosim reads the losses, and no run yet.
    if (schedule->accocal != AccocalRuns::kNowhere) names.insert(row.name);
    EXPECT_STREQ(schedule->trains_as, row.name);
    EXPECT_STREQ(schedule->title, row.title);
    EXPECT_EQ(schedule->rounds, row.rounds) << row.name;
    EXPECT_EQ(schedule->sharding == Sharding::kOptimizer, row.sharded) << row.name;
    EXPECT_EQ(schedule->lookahead != Lookahead::kNone, row.looks_ahead) << row.name;
    EXPECT_EQ(schedule->lookahead == Lookahead::kPrediction, row.predicts) << row.name;
    EXPECT_TRUE(!row.outer_step || schedule->outer_states > 0) << row.name;
    EXPECT_EQ(schedule->accocal == AccocalRuns::kOnGpu, row.on_devices) << row.name;
    EXPECT_EQ(schedule->takes("poll_every"), row.takes("--poll-every")) << row.name;
    EXPECT_EQ(schedule->takes("rollback_estimate"), row.takes("--estimate-state")) << row.name;
    EXPECT_EQ(schedule->takes("inner_updates"), row.takes("--inner-updates")) << row.name;
    // What is neither late nor on its own trains as DDP does.
    EXPECT_EQ(!schedule->delayed && !schedule->local, row.synchronous) << row.name;
  }
  const std::vector<std::string> listed = accocal_algorithms();
  EXPECT_EQ(names, std::set<std::string>(listed.begin(), listed.end()));
  EXPECT_EQ(find_algorithm("adam"), nullptr);
}

}  // namespace
}  // namespace accocal
