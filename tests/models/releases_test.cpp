// Is a table that does not say which release of NCCL it is of predicted with those that it may be?
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "models/collectives/collective_query.hpp"
#include "models/fit/link_samples.hpp"
#include "models/fit/published.hpp"
#include "models/read/load.hpp"
#include "models/spec/scenario_error.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

std::string file_of(const std::string& table) {
  return R"({"schema": "accosim.validation/1", "title": "t", "url": "u", "kind": "collectives", "clusters": {"c": {
    "schema": "accosim.cluster/1", "name": "c", "nodes": [{"count": 4, "gpus": 8, "device": "A100-SXM4-80GB", "intra":
    {"kind": "nvswitch", "bandwidth": "300 GB/s"}, "nics": {"count": 4, "bandwidth": "100 Gbit/s"}}]}},
    "tables": [{"file": "t.csv")" +
         table + "}]}";
}

class Releases : public ::testing::Test {
 protected:
  Published published(const std::string& table) {
    files_.write("t.csv",
                 "source,fabric,collective,ranks,nodes,bytes,time_us\ns,c,all_reduce,32,4,1048576,300\n"
                 "s,c,all_reduce,32,4,33554432,3000\n");
    files_.write("t.json", file_of(table));
    return load_published(files_.path(""));
  }
  Scratch files_;
};

TEST_F(Releases, TheMiddleOneCountsAndAllAreAsked) {
  const Published with = published(R"(, "releases": ["2.26", "2.12", "2.18"])");
  const CollectiveQuery& query = with.cases.at(0).collective;
  EXPECT_EQ(query.releases, (std::vector<NcclRelease>{{12}, {18}, {26}}));
  EXPECT_EQ(middle_release(query), NcclRelease{18});
  const std::vector<Seconds> times = collective_times(query);
  ASSERT_EQ(times.size(), 3U);
  EXPECT_EQ(collective_time(query), times[1]);
  for (std::size_t i = 0; i < 3; ++i) {
    CollectiveQuery one = query;
    auto cluster = std::make_shared<Cluster>(*query.cluster);
    cluster->nccl = query.releases[i];
    one.cluster = cluster;
    one.releases = {};
    EXPECT_EQ(collective_time(one), times[i]);
  }
  // A fit takes the middle one too.
  EXPECT_EQ(light({"s", query, Seconds{1}}).cluster.nccl, NcclRelease{18});
}

TEST_F(Releases, OfTwoTheEarlierCounts) {
  EXPECT_EQ(middle_release(published(R"(, "releases": ["2.18", "2.12"])").cases.at(0).collective), NcclRelease{12});
}

TEST_F(Releases, TheJumpFromLowLatencyToSimpleMoves) {
  // One machine of two releases: NCCL 2.12 counts 28 us for a network step of a tree with Simple, and LL up to a
  // quarter of the bandwidth; 2.23 counts 14 us and a half. So the size at which LL ends differs.
  const auto last_without_simple = [&](const std::string& release) {
    CollectiveQuery query = published(R"(, "releases": [")" + release + "\"]").cases.at(0).collective;
    Cluster cluster = *query.cluster;
    cluster.nccl = middle_release(query);
    const Ring ring = ring_of(query);
    double last = 0;
    for (double bytes = 1024; bytes < 1024 * kMiB; bytes *= 1.1)
      if (collective_cost(query.kind, Bytes{bytes}, cluster, ring).protocol != Protocol::kSimple) last = bytes;
    return last;
  };
  const double before = last_without_simple("2.12"), after = last_without_simple("2.23");
  EXPECT_GT(before, 0);
  EXPECT_GT(std::abs(before / after - 1), 0.1);
}

TEST_F(Releases, WhatIsNoReleaseIsRefused) {
  try {
    published(R"(, "releases": ["3.1"])");
    FAIL();
  } catch (const ScenarioError& error) {
    EXPECT_NE(std::string(error.what()).find("\"3.1\" is no release of NCCL; write some like \"2.18\""),
              std::string::npos);
  }
}

}  // namespace
}  // namespace accosim
