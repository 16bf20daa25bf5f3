// Is what makes steps unlike each other read as it is written, and refused where it says nothing?
#include <gtest/gtest.h>

#include "tests/models/scenario_files.hpp"
#include "tests/support/holds.hpp"

namespace accosim {
namespace {

using Lines = std::vector<std::string>;

std::string set(const std::string& key, const std::string& value) { return "/training/" + key + "=" + value; }

TEST_F(ScenarioFiles, UnsteadyTrainingIsReadAsItIsWritten) {
  const Unsteady unsteady =
      load({set("sequence_lengths", R"({"histogram": [[96, 1], [32, 3]], "pad_to_multiple_of": 8})"),
            set("compute_jitter", R"({"micro_batch": 0.1, "gpu": 0.02, "distribution": "normal"})"),
            set("stragglers", R"([{"every": "2 h", "duration": "5 min", "factor": 1.5}])"),
            set("pauses", R"([{"name": "evaluation", "ranks": [0], "every_gradients": 500, "sequences": 650},
                              {"every": "10 min", "bytes": "4 GB", "bandwidth": "1 GB/s"}])"),
            set("seed", "7")})
          .scenario.training.unsteady;
  EXPECT_EQ(unsteady.seed, 7U);
  EXPECT_EQ(unsteady.lengths.histogram, (std::vector<SequenceLengths::Bar>{{32, 3}, {96, 1}}));
  EXPECT_EQ(unsteady.lengths.multiple, 8);
  EXPECT_EQ(unsteady.jitter, (ComputeJitter{0.1, 0.02, Distribution::kNormal}));
  EXPECT_EQ(unsteady.stragglers, (std::vector<Stragglers>{{Seconds{7200}, Seconds{300}, 1.5}}));
  ASSERT_EQ(unsteady.pauses.size(), 2U);
  EXPECT_EQ(unsteady.pauses[0].ranks, std::vector<int>{0});
  EXPECT_EQ(unsteady.pauses[0].every_gradients, 500);
  EXPECT_EQ(unsteady.pauses[0].sequences, 650);
  EXPECT_TRUE(unsteady.pauses[1].ranks.empty());
  EXPECT_EQ(unsteady.pauses[1].every.value, 600);
  EXPECT_EQ(unsteady.pauses[1].bytes.value, 4e9);
}

TEST_F(ScenarioFiles, WithoutItATrainingIsSteady) {
  const LoadedScenario loaded = load();
  EXPECT_EQ(loaded.scenario.training.unsteady, Unsteady{});
  EXPECT_FALSE(holds(loaded.resolved(), "jitter"));
}

TEST_F(ScenarioFiles, AFileOfLengthsBecomesAHistogram) {
  files.write("lengths.txt", "12\n40\n 12\n\n128\n");
  const std::string path =
      files.write("lengths.json", std::string(kScenario).replace(std::string(kScenario).find("\"train_tokens\""), 0,
                                                                 R"("sequence_lengths": {"file": "lengths.txt"}, )"));
  const LoadedScenario loaded = load_scenario(path, {});
  EXPECT_EQ(loaded.scenario.training.unsteady.lengths.histogram,
            (std::vector<SequenceLengths::Bar>{{12, 2}, {40, 1}, {128, 1}}));
  files.write("lengths.txt", "12\n-3\n");
  EXPECT_EQ(errors_of(path),
            Lines{"lengths.txt:2:1 /training/sequence_lengths/file: \"-3\" is no length; write whole numbers of tokens "
                  "from 1, one a line"});
  files.write("lengths.txt", "\n");
  ASSERT_EQ(errors_of(path).size(), 1U);
  EXPECT_TRUE(holds(errors_of(path)[0], "/training/sequence_lengths/file: "));
}

/// What is set, and how its one error begins after "--set /training".
struct Refused {
  std::string key, value, begins;
};

TEST_F(ScenarioFiles, UnsteadyStepsThatSayNothingAreRefusedByName) {
  const auto lengths = [](const char* value, const char* error) {
    return Refused{"sequence_lengths", value, std::string("/sequence_lengths") + error};
  };
  const auto pause = [](const std::string& members, const char* error) {
    return Refused{"pauses", "[{" + members + "}]", std::string("/pauses/0") + error};
  };
  const auto jitter = [](const char* value, const char* error) {
    return Refused{"compute_jitter", value, std::string("/compute_jitter/micro_batch") + error};
  };
  const std::vector<Refused> all{
      lengths("{}", ": does not say how long sequences are"),
      lengths(R"({"histogram": [[1, 1]], "lognormal": {"mean": 3, "cv": 1}})", "/lognormal: is not all that says"),
      lengths(R"({"histogram": [[0, 1]]})", "/histogram: has a bar that is no length"),
      lengths(R"({"histogram": [[3, 0]]})", "/histogram: has no weight above 0"),
      lengths(R"({"histogram": [[3, 1], [3, 2]]})", "/histogram: has two bars of 3 tokens"),
      lengths(R"({"histogram": [3]})", "/histogram: has a bar that is no length"),
      lengths("128", ": is the number 128; write an object"),
      lengths(R"({"lognormal": {"mean": 3, "cv": 1}, "padding": "packed", "pad_to_multiple_of": 8})",
              "/pad_to_multiple_of: changes nothing with padding packed"),
      pause(R"("every_updates": 10)", ": does not say how long it lasts"),
      pause(R"("duration": "1 s")", ": does not say when it comes"),
      pause(R"("every_updates": 10, "every": "1 s", "duration": "1 s")", "/every: says again when it comes"),
      pause(R"("every_updates": 10, "duration": "1 s", "sequences": 3)", "/sequences: says again how long it lasts"),
      pause(R"("every_updates": 10, "bytes": "1 GB")", "/bandwidth: missing"),
      pause(R"("every_updates": 10, "duration": "1 s", "bandwidth": "1 GB/s")", "/bandwidth: is of what is written"),
      pause(R"("every_updates": 10, "duration": "1 s", "ranks": [])", "/ranks: names no ranks"),
      pause(R"("every_updates": 10, "duration": "1 s", "ranks": [0, 0])", "/ranks: names no ranks, or one twice"),
      pause(R"("every_updates": 10, "duration": "1 s", "ranks": "some")", "/ranks: names no ranks"),
      pause(R"("every_updates": 10, "duration": "1 s", "ranks": [4])", "/ranks: names rank 4; the ranks are 0 to 3"),
      jitter(R"({"micro_batch": 0.5, "distribution": "normal"})", ": is 0.5, and of the distribution normal"),
      jitter(R"({"micro_batch": 1.5, "distribution": "exponential"})", ": is 1.5, and of the distribution exponential"),
      {"seed", "3", "/seed: changes nothing"},
  };
  for (const Refused& each : all) {
    const Lines told = errors({set(each.key, each.value)});
    ASSERT_EQ(told.size(), 1U) << each.value;
    EXPECT_EQ(told[0].rfind("--set /training" + each.begins, 0), 0U) << told[0];
  }
}

TEST_F(ScenarioFiles, UnsteadyStepsThatSaySomethingAreTaken) {
  EXPECT_TRUE(errors({set("pauses", R"([{"every_updates": 10, "duration": "1 s"}])")}).empty());
  EXPECT_TRUE(errors({set("compute_jitter", R"({"micro_batch": 2})")}).empty());
  EXPECT_TRUE(errors({set("compute_jitter", R"({"micro_batch": 0.1})"), set("seed", "3")}).empty());
}

TEST_F(ScenarioFiles, NoMoreMicroBatchesAreDrawnThanCanBePlayed) {
  const std::string jitter = set("compute_jitter", R"({"micro_batch": 0.1})");
  const auto told = [&](const std::vector<std::string>& settings) {
    std::vector<std::string> all = settings;
    all.push_back(jitter);
    return errors(all);
  };
  EXPECT_TRUE(told({set("gradient_accumulation_steps", "10000")}).empty());
  const std::string own = "/cluster/nodes/0/gradient_accumulation_steps=20000";
  for (const std::string& steps : {set("gradient_accumulation_steps", "20000"), own}) {
    const Lines errors = told({steps});
    ASSERT_EQ(errors.size(), 1U) << steps;
    EXPECT_TRUE(holds(errors[0],
                      "would draw 20000 micro-batches a rank in an update, and each is played; at most 10000: "
                      "lower gradient_accumulation_steps"));
  }
  const Lines local = told({R"(/schedules=[{"name": "diloco", "inner_updates": 10001}])"});
  ASSERT_EQ(local.size(), 1U) << "4 micro-batches in each of 10,001 updates";
  EXPECT_TRUE(holds(local[0], "would draw 40004 micro-batches a rank from one meeting of its replicas to the next"));
}

TEST_F(ScenarioFiles, NoMorePassesGoThroughAPipelineThanCanBePlayed) {
  // Each micro-batch goes forward and backward through 2 stages: of 1,000,000 that is 4 million passes.
  const std::string split = set("parallel", R"({"pipeline_parallel_size": 2})");
  EXPECT_TRUE(errors({split, set("gradient_accumulation_steps", "1000000")}).empty());
  const Lines many = errors({split, set("gradient_accumulation_steps", "1000002")});
  ASSERT_FALSE(many.empty());
  EXPECT_TRUE(holds(many[0],
                    "would make 4000008 passes through its stages in an update, and each is played; at most "
                    "4000000: lower gradient_accumulation_steps"));
  EXPECT_TRUE(errors({set("gradient_accumulation_steps", "1000002")}).empty()) << "without stages they are counted";
}

TEST_F(ScenarioFiles, AllThatIsWrongWithAStragglerIsTold) {
  const Lines told = errors({set("stragglers", R"([{"every": "0 s", "duration": "0 s", "factor": 0.5}])")});
  ASSERT_EQ(told.size(), 3U);
  for (const std::size_t i : {0U, 1U}) EXPECT_TRUE(holds(told[i], "is below 1 ms"));
  EXPECT_TRUE(holds(told[2], "/factor: is 0.5; write a number from 1 to 1000"));
}

}  // namespace
}  // namespace accosim
