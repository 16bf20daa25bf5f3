// Do a measured run and its prediction come out as timelines that lie under each other?
#include "sim/evidence/measured_timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/read/load.hpp"
#include "models/spec/scenario.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

MeasuredRun three_updates() {
  MeasuredRun run;
  run.algorithm = "zero1";
  run.ranks = 1;
  run.updates = {{Seconds{2}, 1}, {Seconds{3}, 1}, {Seconds{4}, 1}};
  run.spans = {{0, false, "micro-batch", Seconds{0}, Seconds{1}},   {0, true, "optimizer", Seconds{1}, Seconds{2}},
               {0, false, "micro-batch", Seconds{2}, Seconds{4}},   {0, true, "optimizer", Seconds{4}, Seconds{5}},
               {0, false, "micro-batch", Seconds{5}, Seconds{8.5}}, {0, true, "optimizer", Seconds{8.5}, Seconds{9}}};
  return run;
}

TEST(MeasuredTimeline, BeginsWithTheUpdateThatIsAskedFor) {
  // The second update runs from 2 s to 5 s.
  const Timeline line = measured_timeline(three_updates(), 1, 1);
  ASSERT_EQ(line.spans.size(), 2u);
  EXPECT_EQ(line.graph.labels[line.spans[0].label].name, "micro-batch");
  EXPECT_DOUBLE_EQ(line.spans[0].begin.value, 0);
  EXPECT_DOUBLE_EQ(line.spans[0].end.value, 2);
  EXPECT_EQ(line.spans[1].lane, 1);
  EXPECT_DOUBLE_EQ(line.spans[1].end.value, 3);
}

TEST(MeasuredTimeline, ThePredictionShowsTheSameUpdates) {
  // One rank: micro-batches of 30 ms, two an update; AdamW 1 us x 1000. Updates of 61 ms; two of them from the third
  // on.
  const Scratch scratch;
  const Scenario scenario = load_scenario(scratch.write("s.json", R"({"schema": "accosim.scenario/1",
    "model": {"model_type": "measured", "parameters": 1000, "micro_batch_time": "30 ms"},
    "cluster": {"schema": "accosim.cluster/1", "nodes": [{"gpus": 1,
      "device": {"schema": "accosim.device/1", "peak": {"fp32": "1 TFLOP/s"}, "gemm_efficiency": 0.5,
        "flash_attention_efficiency": 0.5, "memory_bandwidth": "10 GB/s", "memory_efficiency": 1, "memory": "8 GiB",
        "launch_interval": "0 s", "adamw_time_per_parameter": "1 us"}}]},
    "training": {"sequence_length": 1, "micro_batch_size": 1, "train_tokens": 1e6, "precision": "fp32",
      "gradient_accumulation_steps": 2, "interference": false}, "schedules": [{"name": "zero1"}]})"),
                                          {})
                                .scenario;
  const Timeline line = predicted_timeline(scenario, scenario.schedules[0], 2, 2, NetworkKind::kReference);
  double end = 0;
  for (const Span& span : line.spans) {
    EXPECT_GE(span.begin.value, -1e-12);
    EXPECT_EQ(span.repeat, 1);
    end = std::max(end, span.end.value);
  }
  EXPECT_NEAR(end, 0.122, 1e-9);
  // Parts go by their measured names: forward and backward are a micro-batch.
  const std::vector<TimelinePart> parts = compare_parts(measured_timeline(three_updates(), 0, 3), line);
  ASSERT_EQ(parts[0].name, "micro-batch");
  EXPECT_EQ(parts[0].measured_count, 3);
  EXPECT_EQ(parts[0].predicted_count, 4);
  EXPECT_NEAR(parts[0].measured.value, 6.5 / 3, 1e-12);
  EXPECT_NEAR(parts[0].predicted.value, 0.030, 1e-12);
  EXPECT_EQ(parts[1].name, "optimizer");
  EXPECT_NEAR(parts[1].predicted.value, 0.001, 1e-12);
}

}  // namespace
}  // namespace accosim
