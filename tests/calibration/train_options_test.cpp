// The command line's words of `train`, and the documents that a run becomes.
#include "calibration/train/train_options.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "calibration/base/names.hpp"
#include "models/base/errors.hpp"
#include "models/base/json.hpp"
#include "tests/support/json.hpp"
#include "tests/support/thrown.hpp"

namespace accocal {
namespace {

TrainingOptions options_of(const std::function<void(TrainArguments&)>& change) {
  TrainArguments arguments;
  change(arguments);
  return training_options(arguments, 4);
}

std::string refusal(const std::function<void(TrainArguments&)>& change) {
  return thrown_by<BadInput>([&] { options_of(change); });
}

TEST(TrainOptions, DefaultsAreThePapers) {
  const TrainingOptions options = options_of([](TrainArguments&) {});
  EXPECT_EQ(options.algorithm, Algorithm::kAcco);
  EXPECT_EQ(options.accumulate, Accumulate::kAtLeast);
  EXPECT_EQ(options.micro_batches_per_round, 1);
  EXPECT_EQ(options.poll_every, 1);
  EXPECT_EQ(options.estimate_state, EstimateState::kRollback);
  EXPECT_TRUE(options.keep_initial_gradient);
  EXPECT_EQ(options.warmup_updates, 0);
}

TEST(TrainOptions, MicroBatchesOfAnUpdateAreHalvedForAccoAlone) {
  EXPECT_EQ(options_of([](auto& a) { a.micro_batches = 6; }).micro_batches_per_round, 3);
  EXPECT_EQ(options_of([](auto& a) {
              a.micro_batches = 6;
              a.algorithm = "zero1";
            }).micro_batches_per_round,
            6);
  const TrainingOptions options = options_of([](auto& a) { a.accumulate = "fixed:5"; });
  EXPECT_EQ(options.accumulate, Accumulate::kFixed);
  EXPECT_EQ(options.micro_batches_per_round, 5);
}

TEST(TrainOptions, SlowRanksAndTimes) {
  const TrainingOptions options = options_of([](auto& a) {
    a.slow = {"1=4", "3=1.5"};
    a.compute_time = "12 ms";
  });
  EXPECT_EQ(options.slow, (std::map<int, double>{{1, 4}, {3, 1.5}}));
  EXPECT_TRUE(options.timed);
  EXPECT_DOUBLE_EQ(options.compute_time.value, 0.012);
}

TEST(TrainOptions, MistakesSayWhatToWrite) {
  const auto says = [](const std::string& part, const std::function<void(TrainArguments&)>& change) {
    const std::string text = refusal(change);
    EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "'";
    EXPECT_EQ(text.find('\n'), std::string::npos);
  };
  says("one of ddp, zero1, dpu, wp, acco, diloco", [](auto& a) { a.algorithm = "adam"; });
  says("write 4", [](auto& a) { a.micro_batches = 3; });
  says("write fixed:1", [](auto& a) { a.accumulate = "fixed:many"; });
  says("at least 1 micro-batch", [](auto& a) { a.accumulate = "fixed:0"; });
  says("--slow 1=4", [](auto& a) { a.slow = {"2"}; });
  says("ranks 0 to 3", [](auto& a) { a.slow = {"4=2"}; });
  says("1 or more", [](auto& a) { a.slow = {"2=0.5"}; });
  says("twice", [](auto& a) { a.slow = {"2=3", "2=4"}; });
  says("--compute-time 10", [](auto& a) { a.compute_time = "10"; });
  says("write --heads 4", [](auto& a) { a.options.gpt.shape.heads = 3; });
  says("rollback, keep, released", [](auto& a) { a.estimate_state = "both"; });
  says("--learning-rate 0.001", [](auto& a) { a.options.optimizer.learning_rate = 0; });
}

TEST(TrainOptions, EveryAlgorithmHasItsUsualOptions) {
  for (const AlgorithmTraits& row : algorithms()) {
    const TrainingOptions options = options_of([&](auto& a) { a.algorithm = row.name; });
    EXPECT_EQ(options.inner_updates, row.usual.inner_updates) << row.name;
    EXPECT_EQ(options.outer_momentum, row.usual.outer_momentum) << row.name;
  }
  const TrainingOptions given = options_of([](auto& a) {
    a.algorithm = "slowmo";
    a.inner_updates = 4;
    a.outer_learning_rate = 0.5;
  });
  EXPECT_EQ(given.inner_updates, 4);
  EXPECT_EQ(given.outer_learning_rate, 0.5);
  EXPECT_EQ(given.outer_momentum, 0.5);
}

TEST(TrainOptions, MistakesInMeetingsSayWhatToWrite) {
  const auto says = [](const char* algorithm, const std::string& part,
                       const std::function<void(TrainArguments&)>& change) {
    const std::string text = refusal([&](auto& a) {
      a.algorithm = algorithm;
      change(a);
    });
    EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "'";
  };
  says("slowmo", "--outer-every 48", [](auto& a) { a.options.outer_every = 50; });
  says("slowmo", "--outer-every 78", [](auto& a) { a.options.outer_every = 80; });
  says("slowmo", "--outer-learning-rate must be above 0", [](auto& a) { a.outer_learning_rate = 0; });
  says("pipesgd", "write --delay 1", [](auto& a) { a.options.delay = 0; });
  says("streaming_diloco", "after 10 updates; write --delay 1", [](auto& a) { a.options.delay = 10; });
  says("streaming_diloco", "write --fragments 2 or fewer", [](auto& a) { a.options.fragments = 3; });
  const std::string one = refusal([](auto& a) {
    a.algorithm = "streaming_diloco";
    a.inner_updates = 1;
    a.options.delay = 0;
  });
  EXPECT_EQ(one.substr(one.find("write")), "write --fragments 1");
  says("streaming_diloco", "after every update; write --delay 0", [](auto& a) { a.inner_updates = 1; });
  says("streaming_diloco", "write one of fp32, e3m0", [](auto& a) { a.payload = "fp4"; });
  says("streaming_diloco", "write --mixing 0.5", [](auto& a) { a.mixing = 1.5; });
  says("co2", "write --outer-clip 1", [](auto& a) { a.options.outer_clip = 0; });
  says("eager_diloco", "--inner-updates must be 1 or more", [](auto& a) { a.inner_updates = 0; });
  says("acco", "write one of gathered, local", [](auto& a) { a.estimate = "own"; });
  says("acco", "leave --estimate-state out", [](auto& a) {
    a.estimate = "local";
    a.estimate_state = "keep";
  });
  says("acco", "leave --device or --estimate out", [](auto& a) {
    a.estimate = "local";
    a.options.device = "cuda:0";
  });
}

TEST(TrainOptions, ARunTooShortForItsAlgorithmIsRefused) {
  const auto refused = [](const char* algorithm, const std::function<void(TrainArguments&)>& change) {
    return refusal([&](auto& a) {
      a.algorithm = algorithm;
      a.options.updates = 20;
      change(a);
    });
  };
  EXPECT_EQ(refused("pipesgd", [](auto& a) { a.options.delay = 19; }), "");
  EXPECT_NE(refused("pipesgd", [](auto& a) { a.options.delay = 20; }).find("computed at the first parameters"),
            std::string::npos);
  for (const char* name : {"eager_diloco", "co2", "overlap_local_sgd", "streaming_diloco"}) {
    EXPECT_EQ(refused(name, [](auto& a) { a.inner_updates = 20; }), "") << name;
    EXPECT_NE(refused(name, [](auto& a) { a.inner_updates = 21; }).find("ranks never meet in 20 updates"),
              std::string::npos)
        << name;
    EXPECT_EQ(refused(name,
                      [](auto& a) {
                        a.inner_updates = 21;
                        a.options.samples = 1000;  // how many updates is not known
                      }),
              "")
        << name;
  }
  EXPECT_EQ(refused("diloco", [](auto& a) { a.inner_updates = 21; }), "") << "it meets at the end";
}

TEST(TrainOptions, ADivergedRunNamesTheRatesThatItHas) {
  TrainingOptions options;
  options.algorithm = Algorithm::kCo2;
  options.outer_learning_rate = 2;
  EXPECT_NE(std::string(Diverged(3, 1, options).what()).find("or a lower --outer-learning-rate than 2"),
            std::string::npos);
  options.algorithm = Algorithm::kDdp;
  EXPECT_EQ(std::string(Diverged(3, 1, options).what()).find("--outer-learning-rate"), std::string::npos);
}

TEST(RunJson, SaysTheAlgorithmsOwnOptions) {
  TrainingOptions options;
  options.algorithm = Algorithm::kStreamingDiloco;
  options.payload = Payload::kE3m0;
  const Json streaming = Json::parse(run_json(options, {}, json_object({})));
  EXPECT_EQ(streaming["options"]["fragments"], 2);
  EXPECT_EQ(streaming["options"]["payload"], "e3m0");
  EXPECT_EQ(streaming["options"]["delay"], 1);
  EXPECT_FALSE(streaming["options"].contains("outer_every"));
  options.algorithm = Algorithm::kAcco;
  options.local_estimate = true;
  const Json acco = Json::parse(run_json(options, {}, json_object({})));
  EXPECT_EQ(acco["options"]["estimate"], "local");
  EXPECT_FALSE(acco["options"].contains("estimate_state"));
  EXPECT_FALSE(acco["options"].contains("mixing"));
}

TrainingResult result_by_hand() {
  return TrainingResult{
      .ranks = 2,
      .tokens_per_sample = 10,
      .parameters = 7,
      .updates = {{Seconds{9}, 3, 4}, {Seconds{1}, 2, 4}, {Seconds{3}, 1, 8}},
      .held_out_loss = std::numeric_limits<double>::quiet_NaN(),
      .spans = {{1, TrainingSpan::Lane::kCommunication, "all-gather", Seconds{0.5}, Seconds{0.75}, 2}}};
}

TEST(RunJson, LeavesTheFirstUpdateOutOfTheRates) {
  // Of 1 and 3 seconds: median and mean 2, p10 1.2, p90 2.8; 12 samples of 10 tokens in 4 seconds.
  const Json json = Json::parse(run_json(TrainingOptions{}, result_by_hand(), json_object({})));
  EXPECT_EQ(json["schema"], "accosim.run/1");
  EXPECT_EQ(json["algorithm"], "acco");
  EXPECT_EQ(json["ranks"], 2);
  EXPECT_DOUBLE_EQ(json["median_update_s"].number(), 2);
  EXPECT_DOUBLE_EQ(json["mean_update_s"].number(), 2);
  EXPECT_DOUBLE_EQ(json["p10"].number(), 1.2);
  EXPECT_DOUBLE_EQ(json["p90"].number(), 2.8);
  EXPECT_DOUBLE_EQ(json["tokens_per_s"].number(), 30);
  EXPECT_EQ(json["updates"].size(), 3u);
  EXPECT_EQ(json["updates"][2]["samples"], 8);
  EXPECT_TRUE(json["held_out_loss"].is_null());
  EXPECT_EQ(json["spans"][0]["lane"], "communication");
  EXPECT_EQ(json["spans"][0]["label"], "all-gather");
}

TEST(TraceEvents, AProcessARankAThreadALane) {
  const Json json = Json::parse(trace_events_json(TrainingOptions{}, result_by_hand()));
  Json event;  // the last that lasts; the marks of updates are behind it
  int marks = 0;
  for (const Json& each : json["traceEvents"].elements()) {
    if (each["ph"] == "X") event = each;
    if (each["ph"] == "i") ++marks;
  }
  EXPECT_EQ(marks, 6) << "of three updates, on each of two ranks";
  EXPECT_EQ(event["pid"], 1);
  EXPECT_EQ(event["tid"], 1);
  EXPECT_DOUBLE_EQ(event["ts"].number(), 5e5);
  EXPECT_DOUBLE_EQ(event["dur"].number(), 2.5e5);
}

TEST(LossCsv, AddsUp) {
  EXPECT_EQ(loss_csv(result_by_hand()),
            "update,samples,seconds,loss\n1,4,9.000000,3.000000\n2,8,10.000000,2.000000\n3,16,13.000000,1.000000\n");
}

}  // namespace
}  // namespace accocal
