// Is a run of accocal read for what it was, and turned into the settings that play it?
#include "models/recorded/measured_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "models/read/overrides.hpp"
#include "models/spec/scenario_error.hpp"

namespace accosim {
namespace {

std::string run_text(const std::string& algorithm, const std::string& options, const std::string& updates,
                     int left_out = 1) {
  return R"({"schema": "accosim.run/1", "algorithm": ")" + algorithm + R"(", "ranks": 2, "parameters": 1000,
    "options": {"micro_batches_per_round": 2, "slow": {})" +
         options + R"(}, "updates_left_out": )" + std::to_string(left_out) + R"(, "processor_wait_share": 0.01,
    "updates": [)" +
         updates + R"(], "spans": [{"rank": 1, "lane": "communication", "label": "count", "begin_s": 1, "end_s": 2,
    "update": 0}]})";
}

std::string update(double seconds, int samples) {
  return R"({"seconds": )" + std::to_string(seconds) + R"(, "loss": null, "samples": )" + std::to_string(samples) + "}";
}

/// `one` as "/pointer=value in JSON".
bool has(const std::vector<Setting>& all, const std::string& one) {
  return std::any_of(all.begin(), all.end(),
                     [&](const Setting& each) { return each.pointer + "=" + write_json(each.value) == one; });
}

TEST(MeasuredRun, TheSlowestAndTheFastestTenthDoNotCount) {
  // Left out: the first. Of ten, 1 to 10 s, the 1 and the 10: 44 / 8.
  std::string updates = update(100, 8);
  for (int i = 1; i <= 10; ++i) updates += ", " + update(i, i);
  const MeasuredRun run = read_measured_run(run_text("acco", "", updates), "r");
  EXPECT_DOUBLE_EQ(update_time(run).value, 5.5);
  EXPECT_DOUBLE_EQ(micro_batches_per_update(run), 5.5);
  EXPECT_EQ(run.processor_wait_share, 0.01);
  ASSERT_EQ(run.spans.size(), 1u);
  EXPECT_TRUE(run.spans[0].communication);
}

TEST(MeasuredRun, DilocoIsMeasuredByWholePhases) {
  // Phases of 2: (9, 9) is left out whole because one of it is, then (1, 3), (1, 3); the last is not whole.
  const std::string updates = update(9, 4) + ", " + update(9, 4) + ", " + update(1, 4) + ", " + update(3, 4) + ", " +
                              update(1, 4) + ", " + update(3, 4) + ", " + update(50, 4);
  const MeasuredRun run =
      read_measured_run(run_text("diloco", R"(, "inner_updates": 2, "sequences": 2)", updates), "r");
  EXPECT_DOUBLE_EQ(update_time(run).value, 2);
  EXPECT_DOUBLE_EQ(micro_batches_per_update(run), 2);
}

TEST(MeasuredRun, SettingsSayWhatRan) {
  const std::string two = update(1, 4) + ", " + update(1, 4);
  MeasuredRun run = read_measured_run(
      run_text("acco", R"(, "compute_time_s": 0.02, "poll_every": 2, "estimate_state": "keep")", two), "r");
  run.slow[1] = 4;
  const std::vector<Setting> sets = settings_of(run);
  EXPECT_TRUE(has(sets, "/model/parameters=1000"));
  EXPECT_TRUE(has(sets, "/model/micro_batch_time=\"20 ms\""));
  EXPECT_TRUE(has(sets, "/training/gradient_accumulation_steps=4"));  // two rounds of 2
  EXPECT_TRUE(has(sets, "/cluster/nodes/1/device/slowdown=4"));
  EXPECT_TRUE(has(sets,
                  "/schedules=[\n  {\"name\": \"acco\", \"poll_every\": 2, \"late_communication\": \"accumulate\", "
                  "\"rollback_estimate\": false}\n]"));
  const MeasuredRun dpu = read_measured_run(run_text("dpu", R"(, "accumulate": "fixed")", two), "r");
  EXPECT_TRUE(has(settings_of(dpu),
                  "/schedules=[\n  {\"name\": \"dpu\", \"poll_every\": 1, \"late_communication\": \"wait\"}\n]"));
}

TEST(MeasuredRun, NonsenseIsRefused) {
  const std::string two = update(1, 4) + ", " + update(1, 4);
  EXPECT_THROW(read_measured_run("", "r"), ScenarioError);
  EXPECT_THROW(read_measured_run(R"({"schema": "accosim.run/1"})", "r"), ScenarioError);
  EXPECT_THROW(read_measured_run(run_text("acco", "", update(1, 4)), "r"), ScenarioError);  // all of it left out
  EXPECT_THROW(read_measured_run(run_text("acco", "", two, -3), "r"), ScenarioError);
  EXPECT_THROW(read_measured_run(run_text("acco", R"(, "compute_time_s": 0)", two), "r"), ScenarioError);
  EXPECT_NO_THROW(read_measured_run(run_text("acco", "", two), "r"));
}

}  // namespace
}  // namespace accosim
