// Are all collectives of an update there, with what they cost?
#include "sim/explain/explained_collectives.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/spec/cluster.hpp"
#include "models/spec/fabrics.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/schedule.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

double sum(const CollectiveRow& row) {
  double total = 0;
  for (const auto& term : row.terms) total += term.second.value;
  return total;
}

TEST(ExplainedCollectives, AreThoseOfTheScheduleWithTheirTerms) {
  Scenario scenario = sample_scenario(2, 4);
  for (NodeGroup& group : scenario.cluster.nodes) {
    group.intra = usual_intra("nvswitch", "ampere");
    group.intra.bandwidth = BytesPerSecond{300e9};
    const Nics nics = usual_nics("infiniband");
    group.nics.kind = nics.kind;
    group.nics.latency = nics.latency;
    group.nics.message = nics.message;
  }
  for (const ScheduleSpec& spec : scenario.schedules) {
    const SteadyPlay play = play_steady(scenario, spec, 4, NetworkKind::kReference);
    const std::vector<CollectiveRow> rows = collectives_of_update(play);
    ASSERT_FALSE(rows.empty()) << spec.label;
    for (const CollectiveRow& row : rows) {
      EXPECT_GT(row.count, 0) << spec.label;
      EXPECT_EQ(row.ranks, 8) << spec.label;
      EXPECT_EQ(row.nodes, 2) << spec.label;
      EXPECT_GT(row.message.value, 0) << spec.label;
      EXPECT_NEAR(sum(row), row.alone.value, 1e-9 * row.alone.value) << spec.label << " " << row.name;
    }
  }
}

TEST(ExplainedCollectives, OfSerialZero1AreAScatterAndAGather) {
  const Scenario scenario = sample_scenario(2, 4);
  const std::vector<CollectiveRow> rows =
      collectives_of_update(play_steady(scenario, scenario.schedules[0], 4, NetworkKind::kReference));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].count, 1);
  EXPECT_EQ(rows[1].count, 1);
}

TEST(ExplainedCollectives, GrowWithTheNodes) {
  Cluster cluster;
  NodeGroup group = sample_nodes(1, 8);
  group.intra = usual_intra("nvswitch", "ampere");
  group.intra.bandwidth = BytesPerSecond{300e9};
  group.intra.nvls = {};
  group.nics = usual_nics("infiniband");
  group.nics.count = 8;
  group.nics.bandwidth = BytesPerSecond{25e9};
  cluster.nodes = {group};
  const std::vector<CollectiveRow> rows = growth_of(cluster);
  ASSERT_EQ(rows.size(), 2u * 4 * 10);  // two collectives, four sizes, 2 to 1,024 nodes
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_NEAR(sum(rows[i]), rows[i].alone.value, 1e-9 * rows[i].alone.value);
    if (rows[i].nodes == 2) continue;
    EXPECT_EQ(rows[i].nodes, 2 * rows[i - 1].nodes);
    // More nodes take longer, but for a change of the way, which NCCL may make too early or too late.
    EXPECT_GT(rows[i].alone.value, 0.5 * rows[i - 1].alone.value) << rows[i].name << " " << rows[i].nodes;
  }
}

CollectiveRow timed(const std::string& name, int nodes, double bytes, double seconds) {
  CollectiveRow row;
  row.name = name;
  row.nodes = nodes;
  row.bytes = Bytes{bytes};
  row.alone = Seconds{seconds};
  return row;
}

TEST(ExplainedCollectives, WhatTakesLongerThanALargerMessageIsFound) {
  const std::vector<CollectiveRow> rows = {
      timed("a", 2, 1, 3),  // longer than 10 B, which are nearer than 100 B
      timed("a", 4, 1, 9),  // the only one of so many nodes
      timed("a", 2, 10, 2), timed("a", 2, 100, 2), timed("b", 2, 1000, 1),  // another collective
  };
  const std::vector<std::optional<std::size_t>> faster = faster_though_larger(rows);
  ASSERT_EQ(faster.size(), rows.size());
  EXPECT_EQ(faster[0], 2u);
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_EQ(faster[i], std::nullopt) << i;
}

}  // namespace
}  // namespace accosim
