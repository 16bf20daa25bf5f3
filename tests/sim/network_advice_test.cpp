// Does the answer say where NCCL's own choice is slow, that host copies bind, and what of the network helps?
#include "sim/what_if/network_advice.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "models/read/load.hpp"
#include "models/spec/cluster.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/explain/explained_collectives.hpp"
#include "sim/result/run.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

class NetworkAdvice : public ::testing::Test {
 protected:
  /// DDP of GPT-2 XL on two nodes of 8 A100 with one adapter each, of a kind and rate in Gbit/s.
  LoadedScenario scenario(const std::string& kind, int gbit) {
    return load_scenario(
        files_.write(
            "s.json",
            R"({"schema": "accosim.scenario/1", "model": "gpt2-xl", "cluster": {"nodes": [{"count": 2, "gpus": 8,
            "device": "A100-SXM4-80GB", "intra": {"kind": "nvswitch", "bandwidth": "300 GB/s"}, "nics": {"kind": ")" +
                kind + R"(", "count": 1, "bandwidth": ")" + std::to_string(gbit) + R"( Gbit/s"}}]},
            "training": {"sequence_length": 1024, "micro_batch_size": 4, "train_tokens": 1e9},
            "schedules": [{"name": "ddp"}]})"),
        {});
  }
  static std::shared_ptr<const SteadyPlay> play(const Evaluations& evaluations, const Scenario& scenario) {
    return evaluations.play(scenario, scenario.schedules.front());
  }
  static double update(const Evaluations& evaluations, const Scenario& scenario) {
    return estimated_time_per_sample(scenario, scenario.schedules.front(), evaluations);
  }

  Scratch files_;
};

TEST_F(NetworkAdvice, ASlowChoiceOfNcclIsNamedWithBothTimes) {
  // NCCL's estimate: one channel of 24 GB/s, a ring 24 x 16 / 30 = 12.8 GB/s and a tree at most 23.6 / 2 = 11.8; but
  // the host copies, so that the tree, which carries the buffer once and not 15/8 times, is faster.
  for (const std::string kind : {"tcp", "efa", "infiniband_host", "omnipath"}) {
    const Evaluations evaluations(NetworkKind::kReference);
    const LoadedScenario loaded = scenario(kind, 200);
    const WhatIf what_if(loaded, evaluations);
    const auto played = play(evaluations, loaded.scenario);
    const std::optional<Warning> warning = slow_choice(what_if, 0, *played);
    ASSERT_TRUE(warning) << kind;
    EXPECT_NE(warning->message.find("NCCL takes ring Simple"), std::string::npos) << warning->message;
    EXPECT_NE(warning->message.find("tree Simple is"), std::string::npos) << warning->message;
    EXPECT_NE(warning->advice.find("NCCL_ALGO=Tree"), std::string::npos) << warning->advice;
    EXPECT_EQ(binding_of(*played).term, kHostCopies) << kind;
    // With adapters of 100 Gbit/s NCCL takes the tree, and there is nothing to name.
    const LoadedScenario slower = scenario(kind, 100);
    EXPECT_FALSE(slow_choice(WhatIf(slower, evaluations), 0, *play(evaluations, slower.scenario))) << kind;
  }
}

TEST_F(NetworkAdvice, WithTheNamedChoiceAFasterAdapterIsNotSlower) {
  const Evaluations evaluations(NetworkKind::kReference);
  for (const std::string kind : {"tcp", "efa", "infiniband_host", "omnipath"}) {
    double before = 1e9;
    for (const int gbit : {25, 50, 100, 150, 200, 400}) {
      const LoadedScenario loaded = scenario(kind, gbit);
      const WhatIf what_if(loaded, evaluations);
      const auto named = slow_choice(what_if, 0, *play(evaluations, loaded.scenario));
      const double now =
          named ? update(evaluations,
                         what_if.with(0, {R"(/cluster/tuner={"algorithm": "tree", "protocol": "simple"})"})->scenario)
                : update(evaluations, loaded.scenario);
      EXPECT_LE(now, 1.01 * before) << kind << " " << gbit;
      before = now;
    }
  }
}

TEST_F(NetworkAdvice, OnlyWhatHelpsIsAdvised) {
  const Evaluations evaluations(NetworkKind::kReference);
  const auto helps = [&](const std::string& kind) {
    const LoadedScenario loaded = scenario(kind, 200);
    return network_that_helps(WhatIf(loaded, evaluations), 0).value_or("not tried");
  };
  // A node's budget is the same whatever its adapters; each further one has a thread that copies.
  EXPECT_EQ(helps("infiniband_host").find("GPUDirect (infiniband) ("), 0u) << helps("infiniband_host");
  EXPECT_EQ(helps("infiniband_host").find("NICs"), std::string::npos) << helps("infiniband_host");
  EXPECT_NE(helps("tcp").find("GPUDirect (roce)"), std::string::npos) << helps("tcp");
  EXPECT_NE(helps("tcp").find("twice the NICs"), std::string::npos) << helps("tcp");
  EXPECT_EQ(helps("tcp").find("twice as fast"), std::string::npos) << helps("tcp");
  EXPECT_NE(helps("infiniband").find("NICs twice as fast"), std::string::npos) << helps("infiniband");
}

TEST_F(NetworkAdvice, NicsThatNoChannelUsesAreNamed) {
  const auto nodes = [&](const std::string& kind, int count) {
    return load_cluster(files_.write(
        "c.json",
        R"({"schema": "accosim.cluster/1", "name": "c", "nodes": [{"count": 4, "gpus": 8, "device": "H100-SXM",
            "intra": {"kind": "nvswitch", "bandwidth": "450 GB/s"}, "nics": {"kind": ")" +
            kind + R"(", "count": )" + std::to_string(count) + R"(, "bandwidth": "100 Gbit/s"}}]})"));
  };
  const std::optional<Warning> warning = idle_nics(nodes("infiniband", 32));
  ASSERT_TRUE(warning);
  EXPECT_NE(warning->message.find("/cluster/nodes/0/nics/count is 32, and NCCL's search finds 16 channels"),
            std::string::npos)
      << warning->message;
  EXPECT_FALSE(idle_nics(nodes("efa_rdma", 32))) << "its plugin shows NCCL eight";
  EXPECT_FALSE(idle_nics(nodes("infiniband", 8)));
}

}  // namespace
}  // namespace accosim
