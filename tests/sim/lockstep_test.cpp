// Ranks that meet on a shared link at every update stay there for ever in a play, and in no machine: is the play
// without a disturbance the one that a vanishing disturbance comes to?
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/read/load.hpp"
#include "models/spec/scenario.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/result/run.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

template <class T>
const T& one_of(Random& random, const std::vector<T>& all) {
  return all[static_cast<std::size_t>(random.integer(0, static_cast<int>(all.size()) - 1))];
}

std::string scenario_of(int count, int gpus, int nics, const std::string& bandwidth, int stages, int micro_batches,
                        const std::string& schedules) {
  return R"({"schema": "accosim.scenario/1", "model": "gpt2-xl", "cluster": {"name": "c", "nodes": [{"count": )" +
         std::to_string(count) + R"(, "gpus": )" + std::to_string(gpus) +
         R"(, "device": "H100-SXM", "intra": {"kind": "nvswitch", "bandwidth": "450 GB/s"}, "nics": {"kind":
      "infiniband", "count": )" +
         std::to_string(nics) + R"(, "bandwidth": ")" + bandwidth +
         R"("}}]}, "training": {"sequence_length": 512, "micro_batch_size": 4, "gradient_accumulation_steps": )" +
         std::to_string(micro_batches) +
         R"(, "train_tokens": 1e9, "framework": "megatron", "activation_recompute": "selective", "parallel":
      {"pipeline_parallel_size": )" +
         std::to_string(stages) + R"(}}, "schedules": [)" + schedules + "]}";
}

Scenario loaded(const std::string& text, const std::vector<std::string>& sets = {}) {
  const Scratch scratch;
  return load_scenario(scratch.write("s.json", text), sets).scenario;
}

const std::string kJitter = R"(/training/compute_jitter={"micro_batch": 1e-5})";

TEST(Lockstep, IsLeftWhereADisturbanceEndsIt) {
  // Eight pipelines of two stages share one adapter of either node: all send at once, each at an eighth of the rate,
  // where one that is a little ahead would send alone while the others compute. Under DDP all meet again in every
  // update.
  const std::string text = scenario_of(2, 8, 1, "100 Gbit/s", 2, 2, R"({"name": "pipesgd"}, {"name": "ddp"})");
  const Scenario still = loaded(text), shaken = loaded(text, {kJitter});
  const auto play = [](const Scenario& scenario, std::size_t schedule, NetworkKind network) {
    return play_steady(scenario, scenario.schedules[schedule], scenario.training.gradient_accumulation_steps, network);
  };
  const SteadyPlay late = play(still, 0, NetworkKind::kSimgrid), synchronous = play(still, 1, NetworkKind::kSimgrid);
  ASSERT_TRUE(late.lockstep);
  EXPECT_GT(*late.lockstep / late.measured.update_time, 1.3);
  EXPECT_NEAR(late.measured.update_time / play(shaken, 0, NetworkKind::kSimgrid).measured.update_time, 1, kMoved);
  EXPECT_FALSE(synchronous.lockstep);
  EXPECT_NEAR(synchronous.measured.update_time / play(shaken, 1, NetworkKind::kSimgrid).measured.update_time, 1,
              kMoved);
  EXPECT_FALSE(play(still, 0, NetworkKind::kReference).lockstep) << "nobody waits for a link there";
  // Both times are in the interval.
  const RunResult result = run_schedule(still, still.schedules[0], NetworkKind::kSimgrid);
  ASSERT_TRUE(result.steady.lockstep);
  EXPECT_LE(*result.steady.lockstep, result.update_time_high);
  EXPECT_LT(result.update_time_low, result.update_time);
}

TEST(Lockstep, AJitterThatGoesToNothingGoesToTheFigureWithoutIt) {
  Random random(49);
  const std::vector<std::string> names = {"ddp", "zero1", "acco", "dpu", "wp", "pipesgd", "diloco", "local_sgd"};
  for (int i = 0; i < cases(30, 8); ++i) {
    const int count = one_of(random, std::vector<int>{2, 4}), gpus = one_of(random, std::vector<int>{2, 4});
    const int stages = i % 2 == 0 ? 2 : 1;
    const std::string text =
        scenario_of(count, gpus, random.integer(1, 2),
                    one_of(random, std::vector<std::string>{"10 Gbit/s", "100 Gbit/s", "400 Gbit/s"}), stages,
                    2 * random.integer(1, 4), R"({"name": ")" + one_of(random, names) + R"("})");
    const Scenario still = loaded(text), shaken = loaded(text, {kJitter});
    const RunResult a = run_schedule(still, still.schedules[0], NetworkKind::kSimgrid),
                    b = run_schedule(shaken, shaken.schedules[0], NetworkKind::kSimgrid);
    EXPECT_NEAR(a.tokens_per_second / b.tokens_per_second, 1, kMoved) << i << " " << text;
  }
}

}  // namespace
}  // namespace accosim
