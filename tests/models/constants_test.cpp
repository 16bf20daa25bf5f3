// The constants that belong to no device: the committed file is read, what is wrong in one is told at its place, and
// what a fit writes is read again.
#include "models/spec/constants.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "models/fit/write_constants.hpp"
#include "models/spec/fabrics.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/training.hpp"
#include "tests/models/refusal.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/json.hpp"
#include "tests/support/random.hpp"

namespace accosim {
namespace {

const char* const kSmall = R"({"schema": "accosim.constants/1",
"intra": {"nvswitch": {"ampere": {"efficiency": 0.7, "latency": "5 us", "launch": "13 us", "start": "9 us",
  "turnaround": 0.1, "ll_factor": 1.2, "ll_rate": 0.9, "ll128_efficiency": 0.6, "all_to_all_efficiency": 0.5,
  "all_to_all_launch": "14 us", "all_to_all_chunk": "1 us", "spread": 0.2, "spread_small": 0.3, "source": "me"}}},
"nics": {"tcp": {"efficiency": 0.2, "latency": "17 us", "message": "2 us", "staging": "3 GB/s",
  "spread": 0.16, "spread_small": 0.09, "machines": 2, "source": "me"}},
"overheads": {"pytorch": 1.3, "fused": 0.7, "flash_1": 1.6, "product_slope": 0.3, "source": "me"},
"ratios": {"spread": 0.11, "source": "me"}})";

std::string errors_of(const std::string& text) {
  return refusal_of([&] { read_constants(parse_json(text, "f")); });
}

TEST(Constants, AreReadInTheirUnitsAndOrder) {
  const Constants read = read_constants(parse_json(kSmall, "f"));
  ASSERT_EQ(read.intra.size(), 1U);
  EXPECT_EQ(read.intra[0].kind, "nvswitch");
  EXPECT_EQ(read.intra[0].generation, "ampere");
  EXPECT_DOUBLE_EQ(read.intra[0].launch.value, 13e-6);
  EXPECT_DOUBLE_EQ(read.intra[0].start.value, 9e-6);
  EXPECT_EQ(read.intra[0].exchange, (Exchange{0.5, Seconds{14e-6}, Seconds{1e-6}}));
  EXPECT_EQ(read.intra[0].nvls.efficiency, 0);  // which may be left out
  EXPECT_EQ(read.intra[0].ll, (LowLatency{1.2, 0.9, 0.6}));
  ASSERT_EQ(read.nics.size(), 1U);
  EXPECT_DOUBLE_EQ(read.nics[0].message.value, 2e-6);
  EXPECT_DOUBLE_EQ(read.nics[0].staging.value, 3e9);
  EXPECT_EQ(read.nics[0].quality.machines, 2);
  EXPECT_EQ(read.nics[0].quality.spread_small, 0.09);
  EXPECT_EQ(read.overheads, (Overheads{1.3, 0.7, 1.6, 0.3}));
  EXPECT_EQ(read.ratio_spread, 0.11);
}

TEST(Constants, OfEveryKindThatIsShippedSayWhatTheyComeFrom) {
  EXPECT_EQ(intra_kinds(), (std::vector<std::string>{"nvswitch", "nvlink", "cube_mesh", "pcie", "pcie_host"}));
  EXPECT_EQ(nic_kinds(), (std::vector<std::string>{"infiniband", "roce", "infiniband_host", "omnipath", "slingshot",
                                                   "efa", "efa_rdma", "tcpx", "tcp", "sockets"}));
  const Json shipped{read_json_file(constants_path(), "constants.json").root};
  for (const auto& [kind, constants] : shipped["nics"].members())
    EXPECT_GT(constants["source"].text().size(), 20U) << kind;
  for (const auto& [kind, generations] : shipped["intra"].members())
    for (const auto& [generation, constants] : generations.members())
      EXPECT_GT(constants["source"].text().size(), 20U) << kind << " " << generation;
}

TEST(Constants, OfABoardThatNobodyMeasuredAreThoseOfTheNearestGeneration) {
  // Hopper has a fit of its own; ampere_rtx stands nearer to ampere than to it.
  EXPECT_EQ(usual_intra("nvswitch", "hopper").generation, "hopper");
  const IntraLink rtx = usual_intra("nvswitch", "ampere_rtx"), ampere = usual_intra("nvswitch", "ampere");
  EXPECT_EQ(rtx.generation, "ampere");
  EXPECT_EQ(rtx.launch, ampere.launch);
  EXPECT_GE(rtx.quality.spread, LinkQuality().spread) << "of links that nobody measured";
  EXPECT_EQ(usual_intra("nvswitch", "").generation, "ampere") << "an unknown architecture";
}

TEST(Constants, EachMistakeIsToldAtItsPlace) {
  struct Mistake {
    const char *from, *to, *says;
  };
  const Mistake mistakes[] = {
      {"\"efficiency\": 0.7", "\"efficiency\": 1.7",
       "f:2:49 /intra/nvswitch/ampere/efficiency: is 1.7; write a number from 0.001 to 1"},
      {"\"latency\": \"17 us\"", "\"latency\": 17", "/nics/tcp/latency: is the number 17"},
      {"\"message\": \"2 us\"", "\"message\": \"-1 us\"", "/nics/tcp/message: "},
      {"\"source\": \"me\"}}},\n\"nics\"", "\"soruce\": \"me\"}}},\n\"nics\"",
       "/intra/nvswitch/ampere/soruce: unknown key; did you mean \"source\"?"},
      {"\"ampere\"", "\"amper\"", "/intra/nvswitch: has no generation of GPUs \"amper\"; write volta"},
      {"\"pytorch\": 1.3", "\"pytorch\": NaN", "/overheads/pytorch: NaN is not JSON"},
      {"\"pytorch\": 1.3", "\"pytorch\": 1e9", "/overheads/pytorch: is 1e9"},
      {"\"overheads\"", "\"overhead\"", "/overhead"},
      {"\"ratios\"", "\"ratio\"", "/ratio: unknown key"},
      {"\"nics\": {\"tcp\"", "\"nics\": {}, \"x\": {\"tcp\"", "/nics: missing, or no object with members"},
      {"\"latency\": \"17 us\"", "\"latency\": \"0 us\"", "/nics/tcp/latency: is next to nothing; write 1 ns or more"},
      {"{\"nvswitch\"", "{\"pcie\"", "/intra: lacks \"nvswitch\", whose launches nodes of one GPU take"},
      {"{\"tcp\"", "{\"t\\u001bp\"", "/nics: has a kind without a name that can be printed"},
      {"{\"tcp\"", "{\"\"", "/nics: has a kind without a name that can be printed"},
      {"accosim.constants/1", "accosim.scenario/1", "/schema: "},
  };
  EXPECT_EQ(errors_of(kSmall), "");
  for (const Mistake& one : mistakes) {
    std::string text = kSmall;
    const std::size_t at = text.find(one.from);
    ASSERT_NE(at, std::string::npos) << one.from;
    const std::string errors = errors_of(text.replace(at, std::string(one.from).size(), one.to));
    EXPECT_TRUE(holds(errors, one.says)) << one.to;
  }
}

LinkFit random_fit(bool between, const std::string& kind, Random& random) {
  LinkFit fit{.between_nodes = between,
              .large = {40, 0.1, 0, 0.3, 0.12},
              .small = {20, 0.1, 0, 0.3, 0.11},
              .least = 1024,
              .most = 1e9,
              .sources = {"somebody", "nobody"}};
  const auto micro = [&] { return Seconds{1e-6 * std::pow(10, random.uniform(-1, 2))}; };
  const auto share = [&] { return random.uniform(0.01, 1); };
  if (between) {
    fit.nics.kind = kind;
    fit.nics.efficiency = share();
    fit.nics.latency = micro();
    fit.nics.message = micro();
    fit.nics.staging = BytesPerSecond{random.integer(0, 1) == 0 ? 0 : 1e9 * random.uniform(0.5, 9)};
    fit.nics.quality = {share(), share(), 2};
  } else {
    fit.intra.kind = kind;
    fit.intra.generation = "volta";
    fit.intra.efficiency = share();
    fit.intra.exchange = {share(), micro(), micro()};
    fit.intra.latency = micro();
    fit.intra.launch = micro();
    fit.intra.start = micro();
    fit.intra.turnaround = random.uniform(0, kMostTurnaround);
    if (random.integer(0, 1) == 0) fit.intra.nvls = {random.uniform(0.5, 1.5), micro(), share()};
    fit.intra.ll = {1 + share(), share(), share()};
    fit.intra.quality = {share(), share(), 0};
  }
  return fit;
}

void expect_near(double read, double fitted, const char* what) {
  EXPECT_NEAR(read, fitted, 5e-4 * fitted) << what;  // four digits are written
}

TEST(Constants, WhatAFitWritesIsReadAgainAndTheRestStays) {
  Random random(1);
  for (int round = 0; round < 50; ++round) {
    const LinkFit board = random_fit(false, "new board", random), tcp = random_fit(true, "tcp", random);
    const FittedOverheads overheads{{}, random.uniform(0.2, 5), random.uniform(0.2, 5), {}, "many steps"};
    const FittedRatios ratios{random.uniform(0.01, 0.3), "many pairs"};
    const std::string text = constants_with_fits(parse_json(kSmall, "f"), {board, tcp}, overheads, {}, ratios);
    const Constants read = read_constants(parse_json(text, "written"));
    ASSERT_EQ(read.intra.size(), 2U);
    EXPECT_EQ(read.intra[0].latency.value, 5e-6);
    EXPECT_EQ(read.intra[1].kind, "new board");
    expect_near(read.intra[1].latency.value, board.intra.latency.value, "latency");
    EXPECT_EQ(read.intra[1].generation, "volta");
    expect_near(read.intra[1].start.value, board.intra.start.value, "start");
    expect_near(read.intra[1].exchange.launch.value, board.intra.exchange.launch.value, "all-to-all");
    expect_near(read.intra[1].nvls.efficiency, board.intra.nvls.efficiency, "NVLS");
    expect_near(read.intra[1].nvls.fill, board.intra.nvls.fill, "NVLS fill");
    expect_near(read.intra[1].ll.latency, board.intra.ll.latency, "LL");
    expect_near(read.intra[1].ll.efficiency128, board.intra.ll.efficiency128, "LL128");
    expect_near(read.intra[1].turnaround, board.intra.turnaround, "turnaround");
    ASSERT_EQ(read.nics.size(), 1U);
    expect_near(read.nics[0].efficiency, tcp.nics.efficiency, "efficiency");
    expect_near(read.nics[0].message.value, tcp.nics.message.value, "message");
    expect_near(read.nics[0].staging.value, tcp.nics.staging.value, "staging");
    EXPECT_EQ(read.nics[0].quality.machines, 2);
    EXPECT_NEAR(read.nics[0].quality.spread, tcp.nics.quality.spread, 0.051 * tcp.nics.quality.spread);  // two digits
    EXPECT_EQ(read.overheads.pytorch, 1.3);
    expect_near(read.overheads.fused, *overheads.fused, "fused");
    expect_near(read.ratio_spread, ratios.spread, "ratios");
    const Json written = Json::parse(text);
    EXPECT_EQ(written["intra"]["nvswitch"]["ampere"]["source"].text(), "me");
    EXPECT_TRUE(holds(written["nics"]["tcp"]["source"].text(), "from nobody and somebody"));
    EXPECT_EQ(written["overheads"]["source"].text(), "many steps");
  }
}

TEST(Constants, AFitThatExplainsNothingReplacesNone) {
  Random random(2);
  LinkFit fit = random_fit(true, "tcp", random);
  fit.large.mean_absolute = 5;
  fit.large.spread = 5;
  EXPECT_THROW(constants_with_fits(parse_json(kSmall, "f"), {fit}, {}), ScenarioError);
}

TEST(Constants, WithoutStepsTheOverheadsStayAndWithoutAnythingNothingIsWritten) {
  Random random(3);
  const std::string text = constants_with_fits(parse_json(kSmall, "f"), {random_fit(true, "tcp", random)}, {});
  EXPECT_EQ(read_constants(parse_json(text, "written")).overheads, (Overheads{1.3, 0.7, 1.6, 0.3}));
  EXPECT_EQ(Json::parse(text)["overheads"]["source"].text(), "me");
  EXPECT_EQ(Json::parse(text)["ratios"]["source"].text(), "me");
  EXPECT_THROW(constants_with_fits(parse_json(kSmall, "f"), {}, {}), ScenarioError);
  EXPECT_THROW(constants_with_fits(parse_json("{}", "f"), {}, {}), ScenarioError);
}

}  // namespace
}  // namespace accosim
