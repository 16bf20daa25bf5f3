// Do the fits of links find what made the samples, and do the shipped constants come from the shipped tables?
#include "models/fit/fit_collectives.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "build_info/project.hpp"
#include "models/fit/published.hpp"
#include "models/spec/fabrics.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

std::shared_ptr<const Cluster> cluster_with(double efficiency, double latency_us, double net_efficiency) {
  Cluster cluster;
  NodeGroup group = sample_nodes(2, 8);
  group.intra = usual_intra("nvswitch");
  group.intra.bandwidth = BytesPerSecond{300e9};
  group.intra.multicast = 0;
  group.intra.efficiency = efficiency;
  group.intra.latency = Seconds{1e-6 * latency_us};
  group.nics = usual_nics("infiniband");
  group.nics.count = 4;
  group.nics.bandwidth = BytesPerSecond{25e9};
  group.nics.efficiency = net_efficiency;
  cluster.nodes = {group};
  return std::make_shared<const Cluster>(cluster);
}

std::vector<MeasuredCollective> samples_of(const std::shared_ptr<const Cluster>& cluster) {
  std::vector<MeasuredCollective> samples;
  for (const int nodes : {1, 2})
    for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather})
      for (double bytes = 1024; bytes < 2e9; bytes *= 4) {
        CollectiveQuery query{cluster, kind, Bytes{bytes}, 8 * nodes, nodes, Seconds{0}, {}};
        samples.push_back({"made", query, collective_time(query)});
      }
  return samples;
}

TEST(FitCollectives, FindsTheConstantsThatMadeTheSamples) {
  const std::vector<LinkFit> fits = fit_collectives(samples_of(cluster_with(0.7, 4, 0.9)));
  ASSERT_EQ(fits.size(), 2u);
  EXPECT_FALSE(fits[0].between_nodes);
  EXPECT_NEAR(fits[0].intra.efficiency, 0.7, 0.02);
  EXPECT_NEAR(fits[0].intra.latency.value, 4e-6, 0.6e-6);
  EXPECT_TRUE(fits[1].between_nodes);
  EXPECT_NEAR(fits[1].nics.efficiency, 0.9, 0.03);
  for (const LinkFit& fit : fits) {
    EXPECT_LT(fit.large.mean_absolute, 0.02);
    EXPECT_EQ(fit.least, 1024);
  }
}

TEST(FitCollectives, ReplacesTheConstantsOfAKindAndNothingElse) {
  const std::shared_ptr<const Cluster> cluster = cluster_with(0.7, 4, 0.9);
  const std::vector<LinkFit> fits = fit_collectives(samples_of(cluster));
  NodeGroup group = cluster->nodes[0];
  group.intra.bandwidth = BytesPerSecond{111e9};
  group.nics.count = 7;
  const NodeGroup with = with_links(group, fits);
  EXPECT_EQ(with.intra.bandwidth, group.intra.bandwidth);
  EXPECT_EQ(with.nics.count, 7);
  EXPECT_EQ(with.intra.efficiency, fits[0].intra.efficiency);
  EXPECT_EQ(with.intra.multicast, 0);  // its switch still cannot reduce
  group.intra.kind = "pcie";
  EXPECT_EQ(with_links(group, fits).intra.efficiency, group.intra.efficiency);
}

TEST(FitCollectives, AKindThatOnlyTheLeftOutMeasuredTakesItsRelativesConstants) {
  LinkFit efa, infiniband, mesh, board;
  efa.between_nodes = infiniband.between_nodes = true;
  efa.nics.kind = "efa";
  efa.nics.efficiency = 0.4;
  infiniband.nics.kind = "infiniband";
  infiniband.nics.efficiency = 0.9;
  infiniband.nics.quality = {0.05, 0.06};
  mesh.intra.kind = "cube_mesh";
  board.intra.kind = "nvswitch";
  board.intra.efficiency = 0.8;
  const std::vector<LinkFit> fits = with_relatives({infiniband, board}, {infiniband, efa, mesh, board});
  ASSERT_EQ(fits.size(), 4u);
  EXPECT_EQ(fits[0].nics.quality.spread, 0.05);  // which was measured
  NodeGroup group;
  group.nics.kind = "efa";
  group.nics.efficiency = 0.4;
  group.intra.kind = "cube_mesh";
  group = with_links(group, fits);
  EXPECT_EQ(group.nics.efficiency, 0.9);
  EXPECT_EQ(group.nics.kind, "efa");
  EXPECT_EQ(group.intra.efficiency, 0.8);
  // A small spread was the relative's own; what nobody measured has that of such a kind.
  EXPECT_EQ(group.nics.quality.spread, LinkQuality().spread);
  EXPECT_EQ(group.nics.quality.spread_small, LinkQuality().spread_small);
  EXPECT_TRUE(with_relatives({}, {efa}).empty());  // nobody to take them from
}

TEST(FitCollectives, FewSamplesMakeNoFit) {
  std::vector<MeasuredCollective> few = samples_of(cluster_with(0.7, 4, 0.9));
  few.resize(9);
  EXPECT_TRUE(fit_collectives(few).empty());
}

TEST(FitCollectives, ShippedTablesGiveTheShippedConstants) {
  const Published published = load_published(std::string(kSourceFolder).append("/scenarios/validation"));
  std::vector<MeasuredCollective> samples;
  for (const PublishedCase& one : published.cases)
    if (one.asked == Asked::kCollectiveTime && one.scored())
      samples.push_back({one.source, one.collective, Seconds{one.measured}});
  const std::vector<LinkFit> fits = fit_collectives(samples, {}, CrossValidation::kNo);
  EXPECT_GE(fits.size(), 8u);
  const auto near = [](double fitted, double shipped, const std::string& what) {
    EXPECT_NEAR(fitted, shipped, 0.002 * shipped) << what;  // four digits are shipped
  };
  for (const LinkFit& fit : fits) {
    const IntraLink& link = fit.intra;
    const Nics& nics = fit.nics;
    if (fit.between_nodes) {
      const Nics usual = usual_nics(nics.kind);
      near(nics.efficiency, usual.efficiency, nics.kind + " efficiency");
      near(nics.latency.value, usual.latency.value, nics.kind + " latency");
      near(nics.chunk.value, usual.chunk.value, nics.kind + " chunk");
      near(nics.ll.hop.value, usual.ll.hop.value, nics.kind + " LL hop");
      near(nics.ll.efficiency, usual.ll.efficiency, nics.kind + " LL efficiency");
    } else {
      const IntraLink usual = usual_intra(link.kind);
      near(link.efficiency, usual.efficiency, link.kind + " efficiency");
      near(link.latency.value, usual.latency.value, link.kind + " latency");
      near(link.launch.value, usual.launch.value, link.kind + " launch");
      near(link.chunk.value, usual.chunk.value, link.kind + " chunk");
      near(link.turnaround, usual.turnaround, link.kind + " turnaround");
      near(link.exchange, usual.exchange, link.kind + " all-to-all");
      near(link.multicast, usual.multicast, link.kind + " NVLS");
    }
  }
}

}  // namespace
}  // namespace accosim
