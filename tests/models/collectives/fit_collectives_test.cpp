// Do the fits of links find what made the samples, and do the shipped constants come from the shipped tables?
// And does the fit of a user's fabric say what its samples leave open?
#include "models/fit/fit_collectives.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "build_info/project.hpp"
#include "models/fit/fit_own_fabric.hpp"
#include "models/fit/network_doubt.hpp"
#include "models/fit/published.hpp"
#include "models/spec/fabrics.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

std::shared_ptr<const Cluster> cluster_with(double efficiency, double latency_us, double net_efficiency) {
  Cluster cluster;
  NodeGroup group = sample_nodes(2, 8);
  group.intra = usual_intra("nvswitch", "ampere");
  group.intra.bandwidth = BytesPerSecond{300e9};
  group.intra.nvls = {};
  group.intra.efficiency = efficiency;
  group.intra.latency = Seconds{1e-6 * latency_us};
  group.nics = usual_nics("infiniband");
  group.nics.count = 4;
  group.nics.bandwidth = BytesPerSecond{25e9};
  group.nics.efficiency = net_efficiency;
  cluster.nodes = {group};
  return std::make_shared<const Cluster>(cluster);
}

/// Two sources, so that the prior, to which a lone one is drawn, hardly counts for the board.
std::vector<MeasuredCollective> samples_of(const std::shared_ptr<const Cluster>& cluster) {
  std::vector<MeasuredCollective> samples;
  for (const int nodes : {1, 2})
    for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather})
      for (double bytes = 1024; bytes < 2e9; bytes *= 4) {
        CollectiveQuery query{cluster, kind, Bytes{bytes}, 8 * nodes, nodes};
        samples.push_back({kind == CollectiveKind::kAllReduce ? "made" : "made too", query, collective_time(query)});
      }
  return samples;
}

TEST(FitCollectives, FindsTheConstantsThatMadeTheSamples) {
  const std::vector<LinkFit> fits = fit_collectives(samples_of(cluster_with(0.7, 4, 0.9)));
  ASSERT_EQ(fits.size(), nic_kinds().size());  // the board, and all fabrics but accocal's own
  EXPECT_FALSE(fits[0].between_nodes);
  EXPECT_NEAR(fits[0].intra.efficiency, 0.7, 0.02);
  EXPECT_NEAR(fits[0].intra.latency.value, 4e-6, 0.6e-6);
  EXPECT_TRUE(fits[1].between_nodes);
  EXPECT_EQ(fits[1].nics.kind, "infiniband");
  EXPECT_NEAR(fits[1].nics.efficiency, 0.9, 0.03);
  EXPECT_EQ(fits[1].nics.quality.machines, 2);
  for (const LinkFit& fit : fits) {
    if (fit.sources.empty()) continue;
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
  EXPECT_EQ(with.intra.nvls.efficiency, 0);  // its switch still cannot reduce
  group.intra.kind = "pcie";
  EXPECT_EQ(with_links(group, fits).intra.efficiency, group.intra.efficiency);
}

TEST(FitCollectives, RowsLaunchedOneAfterAnotherHideTheStart) {
  const std::shared_ptr<const Cluster> cluster = cluster_with(0.7, 4, 0.9);
  CollectiveQuery query{cluster, CollectiveKind::kAllGather, Bytes{4096}, 8};
  const Seconds with = collective_time(query);
  query.back_to_back = true;
  EXPECT_NEAR((with - collective_time(query)).value, cluster->nodes[0].intra.start.value, 1e-12);
  EXPECT_NEAR(light({"made", query, collective_time(query)}).log_ratio(), 0, 1e-12);
}

/// As samples_of(), on one node with links of a kind and generation.
std::vector<MeasuredCollective> samples_of_board(const std::string& kind, const std::string& generation,
                                                 double efficiency, double launch_us,
                                                 const std::vector<CollectiveKind>& kinds = {
                                                     CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                                     CollectiveKind::kAllToAll}) {
  Cluster cluster = *cluster_with(efficiency, 4, 0.9);
  IntraLink& link = cluster.nodes[0].intra;
  link.kind = kind;
  link.generation = generation;
  link.crowding = is_over_pcie(kind) ? 0.5 : 0;
  link.launch = Seconds{1e-6 * launch_us};
  link.exchange.efficiency = 0.85 * efficiency;
  link.exchange.launch = 0.4 * link.launch;
  cluster.nodes[0].gpus = 4;
  cluster.nodes[0].devices.resize(4, cluster.nodes[0].devices.front());
  const auto shared = std::make_shared<const Cluster>(cluster);
  std::vector<MeasuredCollective> samples;
  for (const CollectiveKind each : kinds)
    for (double bytes = 1024; bytes < 2e9; bytes *= 4) {
      const CollectiveQuery query{shared, each, Bytes{bytes}, 4, 1};
      samples.push_back({"made", query, collective_time(query)});
    }
  return samples;
}

std::vector<LinkFit> fits_of_two_boards(Unmeasured unmeasured) {
  std::vector<MeasuredCollective> samples = samples_of_board("nvswitch", "ampere", 0.7, 30);
  const std::vector<MeasuredCollective> others = samples_of_board("nvlink", "hopper", 0.85, 15);
  samples.insert(samples.end(), others.begin(), others.end());
  return fit_collectives(samples, {}, CrossValidation::kNo, unmeasured);
}

TEST(FitCollectives, BoardsShareNumbers) {
  const std::vector<LinkFit> fits = fits_of_two_boards(Unmeasured::kKept);
  ASSERT_EQ(fits.size(), 2u);
  const IntraLink &direct = fits[0].intra, &behind = fits[1].intra;
  EXPECT_EQ(direct.kind, "nvlink");
  EXPECT_NEAR(direct.efficiency, 0.85, 0.03);
  EXPECT_NEAR(behind.efficiency, 0.7, 0.02);
  EXPECT_LT(direct.launch, behind.launch);
  EXPECT_EQ(direct.start, behind.start);
  EXPECT_EQ(direct.ll.efficiency128, behind.ll.efficiency128);
  EXPECT_EQ(direct.exchange.chunk, behind.exchange.chunk);
  EXPECT_NEAR(direct.exchange.launch / direct.launch, behind.exchange.launch / behind.launch, 1e-9);
  for (const char* kind : {"nvswitch", "pcie"}) EXPECT_EQ(board_numbers(kind).own.size(), 5u) << kind;
}

TEST(FitCollectives, ABoardThatNobodyMeasuredHasWhatAllShare) {
  const std::vector<LinkFit> fits = fits_of_two_boards(Unmeasured::kShared);
  EXPECT_EQ(fits.size(), constants().intra.size());
  const auto of = [&](const std::string& kind, const std::string& generation) {
    for (const LinkFit& fit : fits)
      if (fit.intra.kind == kind && fit.intra.generation == generation) return fit;
    return LinkFit{};
  };
  const LinkFit mesh = of("cube_mesh", "volta"), behind = of("nvswitch", "hopper");
  EXPECT_TRUE(mesh.sources.empty());
  EXPECT_EQ(mesh.intra.start, of("nvlink", "hopper").intra.start);
  EXPECT_GT(mesh.intra.efficiency, behind.intra.efficiency);            // no switch between
  EXPECT_GT(behind.intra.launch, of("nvlink", "hopper").intra.launch);  // between those that were measured
  EXPECT_LT(behind.intra.launch, of("nvswitch", "ampere").intra.launch);
  EXPECT_EQ(mesh.intra.quality.spread, LinkQuality().spread);
  EXPECT_EQ(mesh.intra.quality.spread_small, LinkQuality().spread_small);
  EXPECT_GT(behind.intra.nvls.efficiency, 0);
  NodeGroup group{.intra = {.kind = "cube_mesh", .generation = "volta"}};
  EXPECT_EQ(with_links(group, fits).intra.efficiency, mesh.intra.efficiency);
}

TEST(FitCollectives, FewSeriesProveNoSmallSpread) {
  std::vector<MeasuredCollective> samples = samples_of_board("nvswitch", "ampere", 0.7, 30);
  for (const MeasuredCollective& one : samples_of_board("nvswitch", "hopper", 0.75, 20, {CollectiveKind::kAllGather}))
    samples.push_back(one);
  for (std::size_t i = 0; i < samples.size(); i += 2)
    if (samples[i].query.cluster->nodes[0].intra.generation == "ampere") samples[i].time = 1.4 * samples[i].time;
  const std::vector<LinkFit> fits = fit_collectives(samples, {}, CrossValidation::kNo);
  ASSERT_EQ(fits.size(), 2u);
  const LinkFit &scattered = fits[0], &alone = fits[1];
  EXPECT_LT(alone.large.spread, 0.05);
  EXPECT_GT(scattered.large.spread, 0.1);
  // One series, and four that err as both boards do on average.
  const double average = (std::pow(alone.large.spread, 2) + std::pow(scattered.large.spread, 2)) / 2;
  EXPECT_NEAR(alone.intra.quality.spread, std::sqrt((std::pow(alone.large.spread, 2) + 4 * average) / 5), 1e-9);
}

TEST(FitCollectives, AFabricThatNobodyMeasuredTakesThePrior) {
  // One kind measured: the prior's centre moves towards it, and the others of its sort take the centre.
  const std::vector<LinkFit> fits = fit_collectives(samples_of(cluster_with(0.7, 4, 0.7)));
  const auto of = [&](const std::string& kind) {
    for (const LinkFit& fit : fits)
      if (fit.between_nodes && fit.nics.kind == kind) return fit.nics;
    return Nics{};
  };
  EXPECT_LT(of("infiniband").efficiency, of("roce").efficiency);
  EXPECT_LT(of("roce").efficiency, 0.92);  // where the prior begins
  EXPECT_EQ(of("roce").efficiency, of("slingshot").efficiency);
  EXPECT_EQ(of("roce").latency, of("slingshot").latency);
  EXPECT_LT(of("roce").latency, of("tcp").latency);  // software takes longer
  EXPECT_EQ(of("roce").staging.value, 0);
  EXPECT_GT(of("tcp").staging.value, 0);
  EXPECT_EQ(of("roce").quality.machines, 0);
}

TEST(FitCollectives, FewSamplesMakeNoFit) {
  std::vector<MeasuredCollective> few = samples_of(cluster_with(0.7, 4, 0.9));
  few.resize(9);
  EXPECT_TRUE(fit_collectives(few).empty());
}

TEST(FitCollectives, ShippedTablesGiveTheShippedConstants) {
  if (kSanitized)
    GTEST_SKIP() << "takes minutes under a sanitizer, which sees the same code in the tests of small fits";
  const Published published = load_published(std::string(kSourceFolder).append("/scenarios/validation"));
  std::vector<MeasuredCollective> samples;
  for (const PublishedCase& one : published.cases)
    if (one.asked == Asked::kCollectiveTime && one.scored() && one.in_fits)
      samples.push_back({one.source, one.collective, Seconds{one.measured}, {}, weight_of(one.trust)});
  const std::vector<LinkFit> fits = fit_collectives(samples, {}, CrossValidation::kNo, Unmeasured::kShared);
  EXPECT_GE(fits.size(), 11u);
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
      near(nics.message.value, usual.message.value, nics.kind + " message");
      near(nics.staging.value, usual.staging.value, nics.kind + " staging");
    } else {
      const IntraLink usual = usual_intra(link.kind, link.generation);
      near(link.efficiency, usual.efficiency, link.kind + " efficiency");
      near(link.latency.value, usual.latency.value, link.kind + " latency");
      near(link.launch.value, usual.launch.value, link.kind + " launch");
      near(link.start.value, usual.start.value, link.kind + " start");
      near(link.turnaround, usual.turnaround, link.kind + " turnaround");
      near(link.crowding, usual.crowding, link.kind + " crowding");
      near(link.ll.latency, usual.ll.latency, link.kind + " LL latency");
      near(link.ll.efficiency, usual.ll.efficiency, link.kind + " LL rate");
      near(link.ll.efficiency128, usual.ll.efficiency128, link.kind + " LL128");
      near(link.exchange.efficiency, usual.exchange.efficiency, link.kind + " all-to-all");
      near(link.exchange.launch.value, usual.exchange.launch.value, link.kind + " all-to-all launch");
      near(link.nvls.efficiency, usual.nvls.efficiency, link.kind + " NVLS");
      near(link.nvls.fill, usual.nvls.fill, link.kind + " NVLS fill");
    }
  }
}

std::vector<MeasuredCollective> samples_of(const std::vector<int>& nodes, double efficiency, double latency_us,
                                           double largest = 4e9) {
  Cluster cluster;
  NodeGroup group = sample_nodes(16, 8);
  group.intra = usual_intra("nvswitch", "ampere");
  group.intra.bandwidth = BytesPerSecond{300e9};
  group.intra.nvls = {};
  group.nics = usual_nics("infiniband");
  group.nics.count = 4;
  group.nics.bandwidth = BytesPerSecond{25e9};
  cluster.nodes = {group};
  Cluster made = cluster;
  made.nodes[0].nics.efficiency = efficiency;
  made.nodes[0].nics.latency = Seconds{1e-6 * latency_us};
  const auto known = std::make_shared<const Cluster>(cluster), real = std::make_shared<const Cluster>(made);
  std::vector<MeasuredCollective> samples;
  for (const int count : nodes)
    for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllGather})
      for (double bytes = 1024; bytes < largest; bytes *= 4) {
        CollectiveQuery query{real, kind, Bytes{bytes}, 8 * count, count};
        const Seconds time = collective_time(query);
        query.cluster = known;
        samples.push_back({"made", query, time});
      }
  return samples;
}

bool says(const OwnFabric& own, const std::string& part) {
  return std::ranges::any_of(own.untold, [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

TEST(FitOwnFabric, FindsTheNumbersThatMadeTheSamples) {
  const std::vector<OwnFabric> fits = fit_own_fabrics(samples_of({2, 4, 8}, 0.7, 4));
  ASSERT_EQ(fits.size(), 1u);
  const OwnFabric& own = fits[0];
  ASSERT_EQ(own.numbers.size(), 3u);  // GPUs are reached directly: nothing is staged
  EXPECT_NEAR(own.fit.nics.efficiency, 0.7, 0.02);
  EXPECT_NEAR(own.fit.nics.latency.value, 4e-6, 1e-6);
  for (const FittedNumber& number : own.numbers) {
    EXPECT_LT(number.low, number.value) << number.key;
    EXPECT_GT(number.high, number.value) << number.key;
  }
  EXPECT_LT(own.numbers[0].low, 0.7);
  EXPECT_GT(own.numbers[0].high, 0.7);
  EXPECT_GT(own.numbers[0].told, 0.9);
  EXPECT_LT(own.fit.large.mean_absolute, 0.03);
  EXPECT_EQ(own.fit.nics.quality.nodes, 8);
}

TEST(FitOwnFabric, SaysWhatOneNumberOfNodesAndSmallMessagesLeaveOpen) {
  EXPECT_FALSE(says(fit_own_fabrics(samples_of({2, 4, 8}, 0.7, 4))[0], "another number of nodes"));
  EXPECT_TRUE(says(fit_own_fabrics(samples_of({2}, 0.7, 4))[0], "another number of nodes"));
  // Up to 64 KiB the wire's share is next to nothing.
  const OwnFabric small = fit_own_fabrics(samples_of({2, 4}, 0.7, 4, 1e5))[0];
  EXPECT_LT(small.numbers[0].told, 0.5);
  EXPECT_TRUE(says(small, "say little of \"efficiency\""));
}

TEST(FitOwnFabric, TheBandWidensBeyondTheNodesThatWereMeasured) {
  const OwnFabric own = fit_own_fabrics(samples_of({2, 4}, 0.7, 4))[0];
  ASSERT_GE(own.beyond.size(), 4u);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(own.beyond[i].kind, own.beyond[i - 1].kind);
    EXPECT_GT(own.beyond[i].nodes, own.beyond[i - 1].nodes);
    EXPECT_GT(own.beyond[i].high / own.beyond[i].low, own.beyond[i - 1].high / own.beyond[i - 1].low);
  }
  EXPECT_EQ(own.beyond[0].nodes, 4);
}

/// All-reduces of 4 MiB to 1 GiB: five.
std::vector<MeasuredCollective> large_samples(double efficiency) {
  return matching(samples_of({2}, efficiency, 4), [](const MeasuredCollective& each) {
    return each.query.kind == CollectiveKind::kAllReduce && each.query.bytes >= Bytes{4.0 * 1024 * 1024};
  });
}

TEST(FitOwnFabric, FewLargeSamplesTellTheShareOfTheWireAndNothingElse) {
  std::vector<MeasuredCollective> few = large_samples(0.7);
  ASSERT_EQ(few.size(), 5u);
  const Nics usual = usual_nics("infiniband");
  const OwnFabric own = fit_own_fabrics(few).at(0);
  EXPECT_NEAR(own.fit.nics.efficiency, 0.7, 0.03);
  EXPECT_GT(own.numbers[0].told, 0.5);
  EXPECT_TRUE(says(own, "say little of \"latency\""));
  EXPECT_TRUE(says(own, "with 5 samples intervals of predictions stay as wide as the kind's"));
  EXPECT_DOUBLE_EQ(own.fit.nics.quality.spread, usual.quality.spread);
  few.erase(few.begin(), few.end() - 1);
  EXPECT_NEAR(fit_own_fabrics(few).at(0).fit.nics.efficiency, 0.7, 0.08);
}

TEST(FitOwnFabric, ANumberAtTheEndOfItsRangeIsRemarked) {
  // The network has a third more than its wire, which no share of it can be.
  std::vector<MeasuredCollective> fast = large_samples(1);
  for (MeasuredCollective& each : fast) each.time = 0.75 * each.time;
  const OwnFabric own = fit_own_fabrics(fast).at(0);
  EXPECT_DOUBLE_EQ(own.fit.nics.efficiency, 1);
  EXPECT_TRUE(says(own, "\"efficiency\" lies at the end of its range, the most that it may be"));
  EXPECT_FALSE(says(fit_own_fabrics(large_samples(0.7)).at(0), "end of its range"));
}

/// Two nodes of 8 boards over PCIe with as many NICs, which they reach through the CPU, whose boards crowd as
/// `crowding` says.
std::vector<MeasuredCollective> boards_with_nics(double crowding, int nodes) {
  Cluster cluster;
  NodeGroup group = sample_nodes(2, 8);
  group.intra = usual_intra("pcie", "ampere");
  group.intra.bandwidth = BytesPerSecond{25e9};
  group.nics = usual_nics("roce");
  group.nics.count = 8;
  group.nics.bandwidth = BytesPerSecond{50e9};
  group.nics.beside_gpus = false;
  cluster.nodes = {group};
  Cluster made = cluster;
  made.nodes[0].intra.crowding = crowding;
  const auto known = std::make_shared<const Cluster>(cluster), real = std::make_shared<const Cluster>(made);
  std::vector<MeasuredCollective> samples;
  for (double bytes = 16.0 * 1024 * 1024; bytes < 4e9; bytes *= 4) {
    CollectiveQuery query{real, CollectiveKind::kAllReduce, Bytes{bytes}, 8 * nodes, nodes};
    const Seconds time = collective_time(query);
    query.cluster = known;
    samples.push_back({"made", query, time});
  }
  return samples;
}

TEST(FitOwnFabric, SamplesOfSeveralNodesTellHowBoardsCrowd) {
  // With as little crowding the boards are more than twice as fast as the kind's, and no number of NICs explains that.
  ASSERT_GT(usual_intra("pcie", "ampere").crowding, 0.3);
  const OwnFabric own = fit_own_fabrics(boards_with_nics(0.05, 2)).at(0);
  ASSERT_TRUE(own.inside);
  EXPECT_FALSE(own.inside->between_nodes);
  EXPECT_LT(own.inside->intra.crowding, 0.2);
  EXPECT_LT(own.fit.large.mean_absolute, 0.1);
  // Samples of one node say it better.
  std::vector<MeasuredCollective> both = boards_with_nics(0.05, 2);
  for (const MeasuredCollective& each : boards_with_nics(0.05, 1)) both.push_back(each);
  EXPECT_FALSE(fit_own_fabrics(both).at(0).inside);
}

TEST(FitOwnBoards, FewSamplesOfOneNodeMoveItsShareOfTheWire) {
  std::vector<MeasuredCollective> few = boards_with_nics(0.05, 1);
  ASSERT_LT(few.size(), kFewestOfABoard);
  const OwnFabric own = fit_own_boards(few).at(0);
  EXPECT_FALSE(own.fit.between_nodes);
  EXPECT_LT(own.fit.intra.crowding, 0.2);
  EXPECT_LT(own.fit.large.mean_absolute, 0.1);
  EXPECT_EQ(own.fit.intra.quality.nodes, 8);
  while (few.size() < kFewestOfABoard) few.push_back(few.front());
  EXPECT_TRUE(fit_own_boards(few).empty());  // fit_collectives() takes them
}

/// `made` in place of the cluster's NICs.
std::vector<MeasuredCollective> over(const Nics& made) {
  std::vector<MeasuredCollective> samples = samples_of({2}, 0.9, 4);
  for (MeasuredCollective& each : samples) {
    Cluster cluster = *each.query.cluster;
    for (NodeGroup& group : cluster.nodes) group.nics = made;
    CollectiveQuery query = each.query;
    query.cluster = std::make_shared<const Cluster>(std::move(cluster));
    each.time = collective_time(query);
  }
  return samples;
}

Nics nics_of(const std::string& kind, int count, double gigabytes) {
  Nics nics = usual_nics(kind);
  nics.count = count;
  nics.bandwidth = BytesPerSecond{1e9 * gigabytes};
  return nics;
}

TEST(NetworkDoubt, IsOfLinksThatDoNotWorkAsTheirKind) {
  EXPECT_TRUE(doubts_of(over(nics_of("infiniband", 4, 25))).empty());
  EXPECT_TRUE(doubts_of(over(nics_of("infiniband", 3, 25))).empty());  // 1.33 times as long
  // One of four NICs takes four times as long.
  const std::vector<NetworkDoubt> one = doubts_of(over(nics_of("infiniband", 1, 25)));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].kind, "infiniband");
  EXPECT_NE(one[0].look_at.find("whether all 4 NICs are used"), std::string::npos) << one[0].look_at;
  for (const SlowCollective& each : one[0].slow) EXPECT_GT(each.measured.time, 2 * each.usual);
  EXPECT_NE(one[0].in_short.find("times as long as infiniband usually does (bus bandwidth "), std::string::npos)
      << one[0].in_short;
  // The host copies what GPUDirect would not, and TCP does both.
  EXPECT_EQ(doubts_of(over(nics_of("infiniband_host", 4, 25))).size(), 1u);
  EXPECT_EQ(doubts_of(over(nics_of("tcp", 1, 1.25))).size(), 1u);
  // What the cluster's own file says of its links excuses nothing.
  std::vector<MeasuredCollective> excused = over(nics_of("infiniband", 1, 25));
  for (MeasuredCollective& each : excused) {
    Cluster cluster = *each.query.cluster;
    cluster.nodes[0].nics.efficiency = 0.2;
    each.query.cluster = std::make_shared<const Cluster>(std::move(cluster));
  }
  EXPECT_EQ(doubts_of(excused).size(), 1u);
}

TEST(NetworkDoubt, AFitThatMissesItsSamplesIsSaid) {
  LinkFit fit{.between_nodes = true, .nics = {.kind = "slingshot"}, .large = errors_of({std::log(0.9), std::log(1.1)})};
  EXPECT_TRUE(unexplained({fit}).empty());
  fit.large = errors_of({std::log(0.5), std::log(1.5)});
  ASSERT_EQ(unexplained({fit}).size(), 1u);
  EXPECT_NE(unexplained({fit})[0].find("miss its collectives from 1 MiB by 50 % in the mean"), std::string::npos);
}

TEST(NetworkDoubt, PublishedNetworksThatWorkHaveNone) {
  std::map<std::string, std::vector<MeasuredCollective>> tables;
  for (const PublishedCase& one : load_published(std::string(kSourceFolder).append("/scenarios/validation")).cases)
    if (one.asked == Asked::kCollectiveTime && one.scored())
      tables[one.source + " " + one.collective.cluster->name].push_back(
          {one.source, one.collective, Seconds{one.measured}, {}, weight_of(one.trust)});
  ASSERT_GT(tables.size(), 10u);
  for (const auto& [name, samples] : tables)
    for (const NetworkDoubt& doubt : doubts_of(samples)) ADD_FAILURE() << name << ": " << doubt.in_short;
}

}  // namespace
}  // namespace accosim
