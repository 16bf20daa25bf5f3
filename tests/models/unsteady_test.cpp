// Is what makes steps unlike each other read as it is written, and refused where it says nothing?
#include <gtest/gtest.h>

#include "tests/models/scenario_files.hpp"

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
  EXPECT_EQ(loaded.resolved.find("jitter"), std::string::npos);
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
  EXPECT_EQ(errors_of(path).size(), 1U);
}

TEST_F(ScenarioFiles, LengthsAreSaidOnce) {
  EXPECT_EQ(errors({set("sequence_lengths", "{}")}).size(), 1U);
  EXPECT_EQ(errors({set("sequence_lengths", R"({"histogram": [[1, 1]], "lognormal": {"mean": 3, "cv": 1}})")}).size(),
            1U);
  EXPECT_EQ(errors({set("sequence_lengths", R"({"histogram": [[0, 1]]})")}).size(), 1U);
  EXPECT_EQ(errors({set("sequence_lengths", R"({"histogram": [[3, 0]]})")}).size(), 1U);
  EXPECT_EQ(errors({set("sequence_lengths", R"({"histogram": [[3, 1], [3, 2]]})")}).size(), 1U);
  EXPECT_EQ(errors({set("sequence_lengths", R"({"histogram": [3]})")}).size(), 1U);
  EXPECT_EQ(errors({set("sequence_lengths", "128")}).size(), 1U);
  EXPECT_EQ(errors({set("sequence_lengths",
                        R"({"lognormal": {"mean": 3, "cv": 1}, "padding": "packed", "pad_to_multiple_of": 8})")})
                .size(),
            1U);
}

TEST_F(ScenarioFiles, APauseHasOneTriggerAndOneWork) {
  const auto pause = [&](const std::string& members) { return errors({set("pauses", "[{" + members + "}]")}); };
  EXPECT_TRUE(pause(R"("every_updates": 10, "duration": "1 s")").empty());
  EXPECT_EQ(pause(R"("every_updates": 10)").size(), 1U);
  EXPECT_EQ(pause(R"("duration": "1 s")").size(), 1U);
  EXPECT_EQ(pause(R"("every_updates": 10, "every": "1 s", "duration": "1 s")").size(), 1U);
  EXPECT_EQ(pause(R"("every_updates": 10, "duration": "1 s", "sequences": 3)").size(), 1U);
  EXPECT_EQ(pause(R"("every_updates": 10, "bytes": "1 GB")").size(), 1U);
  EXPECT_EQ(pause(R"("every_updates": 10, "duration": "1 s", "bandwidth": "1 GB/s")").size(), 1U);
  EXPECT_EQ(pause(R"("every_updates": 10, "duration": "1 s", "ranks": [])").size(), 1U);
  EXPECT_EQ(pause(R"("every_updates": 10, "duration": "1 s", "ranks": [0, 0])").size(), 1U);
  EXPECT_EQ(pause(R"("every_updates": 10, "duration": "1 s", "ranks": "some")").size(), 1U);
  EXPECT_EQ(pause(R"("every_updates": 10, "duration": "1 s", "ranks": [4])"),
            Lines{"--set /training/pauses/0/ranks: names rank 4; the ranks are 0 to 3"});
}

TEST_F(ScenarioFiles, ASeedOfNothingIsRefused) {
  EXPECT_EQ(errors({set("seed", "3")}).size(), 1U);
  EXPECT_TRUE(errors({set("compute_jitter", R"({"micro_batch": 0.1})"), set("seed", "3")}).empty());
  EXPECT_EQ(errors({set("compute_jitter", R"({"micro_batch": 0.1})"), set("seed", "-3")}).size(), 1U);
}

TEST_F(ScenarioFiles, JitterThatWouldGiveNegativeTimesIsRefused) {
  EXPECT_TRUE(errors({set("compute_jitter", R"({"micro_batch": 2})")}).empty());
  EXPECT_EQ(errors({set("compute_jitter", R"({"micro_batch": 0.5, "distribution": "normal"})")}).size(), 1U);
  EXPECT_EQ(errors({set("compute_jitter", R"({"micro_batch": 1.5, "distribution": "exponential"})")}).size(), 1U);
  EXPECT_EQ(errors({set("stragglers", R"([{"every": "0 s", "duration": "0 s", "factor": 0.5}])")}).size(), 3U);
}

}  // namespace
}  // namespace accosim
