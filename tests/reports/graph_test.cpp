// Do the programs that are shown say what the schedules are, in text, as data and as a drawing that Graphviz can read?
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "models/price/layer_time.hpp"
#include "models/price/price.hpp"
#include "reports/graph/schedule_graph.hpp"
#include "reports/human.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/support/dot.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/printed.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/sample.hpp"

namespace accosim {
namespace {

/// Two GPUs with a model of one layer; a micro-batch is 10 ms forward and 20 ms backward.
Costs two_ranks(const ScheduleSpec& spec) {
  Scenario scenario = sample_scenario(1, 2);
  scenario.model = sample_model(1);
  Costs costs = price(scenario, spec);
  costs.kinds[0].forward = Seconds{0.010};
  costs.kinds[0].backward = Seconds{0.020};
  for (LayerTime& layer : costs.kinds[0].times) layer.backward = Seconds{0};
  costs.kinds[0].times.front().backward = costs.kinds[0].backward;
  return costs;
}

/// With the updates `from` and `from` + 1.
ScheduleGraph graph_of(const ScheduleSpec& spec, const Costs& costs, int from = 0) {
  constexpr int kMicroBatches = 4;
  const auto of_updates = [&](int updates) { return build(spec, costs, kMicroBatches, updates); };
  ScheduleGraph graph{spec.label, {}, of_updates(from + 2), of_updates(from).programs, of_updates(from + 1).programs};
  for (const RankKind& kind : costs.kinds) graph.kinds.push_back(kind.device.name);
  return graph;
}

std::string text_of(const ScheduleGraph& graph, int width = 80) {
  return written([&](std::ostream& out) { write_graph(out, graph, {.width = width}); });
}

std::string dot_of(const std::vector<ScheduleGraph>& graphs) {
  return written([&](std::ostream& out) { write_dot(out, graphs); });
}

const std::string kPreamble =
    "before anything is played: ops in their order, a lane below the\n"
    "other. Times are of ops that nothing slows, bytes of what a collective is given.\n"
    "\n"
    "2 ranks (0-1) of sample GPU, micro-batches of 4:\n"
    "\n";

// 10,000 and 1,024 embeddings of 512, a block of 12 x 512^2 + 13 x 512 parameters and a norm of 2 x 512, of 2 bytes
// each: 17.6 MB. The first three of four micro-batches are a loop; the gradients are sent after the last.
TEST(Graph, ZeroOneSendsTheSumOfTheGradientsAndGathersTheParameters) {
  const ScheduleSpec spec = sample_schedule("zero1");
  const Costs costs = two_ranks(spec);
  const std::string step = human_time(shard_optimizer_time({spec, costs, costs.kinds[0], 4, 2}));
  EXPECT_EQ(text_of(graph_of(spec, costs)),
            "What zero1 runs " + kPreamble +
                fmt::format("Each update (this is the second)\n"
                            "  compute\n"
                            "     9  repeat 3 times\n"
                            "    10    forward                      10.0 ms\n"
                            "    11    backward                     20.0 ms  ends a micro-batch\n"
                            "    13  forward                        10.0 ms\n"
                            "    14  backward                       20.0 ms  ends a micro-batch\n"
                            "    15  optimizer                     {:>8}  after communication 2\n"
                            "    16  wait for parameters                  -  copy, after communication 3\n"
                            "    17  end of update\n"
                            "  communication\n"
                            "     2  reduce-scatter                 17.6 MB  all 2 ranks, after compute 14\n"
                            "     3  all-gather                     17.6 MB  all 2 ranks, after compute 15\n",
                            step));
}

// Algorithm 1: a micro-batch for the first round; then each round accumulates at least 2, until its communication has
// ended, which begins when the buffers are swapped. Only the estimate's round copies the optimizer's states out and
// back: its communication has 8 ops, that of the update 6.
TEST(Graph, AccoAccumulatesUntilItsCommunicationHasEnded) {
  const ScheduleSpec spec = sample_schedule("acco");
  const std::string text = text_of(graph_of(spec, two_ranks(spec)));
  std::string rest = text;
  for (const std::string part : {"\nBefore the first update\n  compute\n",
                                 "     0  repeat once\n",
                                 "     1    forward ",
                                 "     4  swap and clear buffers",
                                 "\nEach update (this is the second)\n  compute\n",
                                 "    19  repeat at least 2 times, until communication 21 has ended\n",
                                 "    20    forward                      10.0 ms\n",
                                 "    22    drained host                 2.00 us  host\n",
                                 "    24  swap and clear buffers",
                                 "  copy, after communication 21\n",
                                 "    25  end of round\n",
                                 "    26  repeat at least 2 times, until communication 27 has ended\n",
                                 "    31  swap buffers ",
                                 "  copy, after communication 27\n",
                                 "    32  end of update\n  communication\n",
                                 "    14  drained host                   2.00 us  host, after compute 17\n",
                                 "    15  clone optimizer states",
                                 "    16  all-reduce of counts            4.00 B  all 2 ranks\n",
                                 "    21  restore optimizer states",
                                 "    22  drained host                   2.00 us  host, after compute 24\n",
                                 "    27  all-gather "}) {
    const std::size_t at = rest.find(part);  // each behind the one before
    ASSERT_NE(at, std::string::npos) << part << "\n" << text;
    rest.erase(0, at + part.size());
  }
}

/// Every schedule with what makes its program another one.
std::vector<ScheduleSpec> all_kinds() {
  std::vector<ScheduleSpec> specs;
  for (const char* const name : {"ddp", "zero1", "zero2", "zero3", "dpu", "wp", "acco", "diloco", "local_sgd"})
    specs.push_back(sample_schedule(name));
  ScheduleSpec overlapped = sample_schedule("zero1", "overlapped");
  overlapped.overlap = Overlap::kBackward;
  overlapped.overlap_param_gather = true;
  overlapped.buckets = Buckets::kTensors;
  const ScheduleSpec hybrid = sample_schedule({.name = "zero3", .label = "hybrid", .island = Island::kNode});
  const ScheduleSpec of_nodes = sample_schedule({.name = "diloco", .label = "nodes", .island = Island::kNode});
  ScheduleSpec in_nodes = overlapped;
  in_nodes.label = "shards in nodes";
  in_nodes.island = Island::kNode;
  for (const ScheduleSpec& spec : {overlapped, hybrid, of_nodes, in_nodes}) specs.push_back(spec);
  return specs;
}

TEST(Graph, TheThirdUpdateIsAsTheSecond) {
  const Scenario scenario = sample_scenario(2, 2);
  for (const ScheduleSpec& spec : all_kinds()) {
    const Costs costs = price(scenario, spec);
    const auto update = [&](int from) {  // without what counts on
      const std::string text = text_of(graph_of(spec, costs, from), 110);
      const std::string ops =
          std::regex_replace(text, std::regex("(compute|communication|replicas) [0-9]+(, [0-9]+)?"), "$1");
      return std::regex_replace(ops.substr(ops.find("\nEach")), std::regex("\n *[0-9]+ "), "\n");
    };
    EXPECT_EQ(update(0), update(1)) << spec.label;
  }
}

TEST(Graph, NoLineIsWiderThanAsked) {
  const Scenario scenario = sample_scenario(2, 2);
  for (const ScheduleSpec& spec : all_kinds()) {
    std::istringstream lines(text_of(graph_of(spec, price(scenario, spec))));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80) << line;
  }
}

/// One rank whose units are gathered one by one and computed when they are there.
ScheduleGraph gathered_one_by_one(int units) {
  Tables tables;
  ProgramBuilder program(tables, {"compute", "communication"});
  for (int i = 0; i < units; ++i) {
    const OpRef gathered = program.collective(1, "gather", {CollectiveKind::kAllGather, Bytes{2e6}});
    program.compute(0, "unpack", OpClass::kCopy, Seconds{1e-3}, {gathered});
    program.compute(0, "forward", OpClass::kForward, Seconds{2e-3});
  }
  ScheduleGraph graph{"by hand", {"GPU"}, {}, {}, {}};
  graph.graph.programs = {program.take(1)};
  graph.graph.labels = tables.labels;
  graph.graph.requests = tables.plans;
  graph.graph.ranks = {{0, {0}, 1}};
  graph.graph.groups = {{{0}, {{}}, "all 1 ranks"}};
  Program none;
  none.lanes.resize(2);
  graph.before = {none};
  graph.first = {none};  // all of it is the second update
  return graph;
}

TEST(Graph, WhatRepeatsStandsOnce) {
  const std::string text = text_of(gathered_one_by_one(40), 100);
  for (const std::string part :
       {"     0  40 times these 2\n",
        "     0    unpack                       1.00 ms  copy, after communication 0, 1, ...\n",
        "     1    forward                      2.00 ms\n",
        "     0  40 x gather                    2.00 MB  all-gather, all 1 ranks\n"})
    EXPECT_TRUE(holds(text, part)) << part << "\n" << text;
  EXPECT_FALSE(holds(text_of(gathered_one_by_one(1)), "times these"));
}

TEST(Graph, AWaitForAnotherThanTheNextEndsWhatRepeats) {
  ScheduleGraph graph = gathered_one_by_one(10);
  Program& program = graph.graph.programs[0];
  program.waits[program.lanes[0][10].waits].index = 2;  // the sixth unit computes when the third is there
  const std::string text = text_of(graph);
  EXPECT_TRUE(holds(text, "     0  5 times these 2\n"));
  EXPECT_TRUE(holds(text, "    10    unpack                       1.00 ms  copy, after communication 2, 6\n"));
}

/// The two stages of a pipeline, the second with one room for what it receives.
ScheduleGraph two_stages() {
  ScheduleGraph graph{"by hand", {"GPU", "GPU"}, test::chain({{2, 3}, {7, 1}, 1, 2, 2, 1}), {}, {}};
  Program none;
  none.lanes.resize(4);
  graph.before = graph.first = {none, none};  // all of it is the second update
  return graph;
}

TEST(Graph, SaysWhoDecidesHowOftenALoopRepeats) {
  const std::string text = std::regex_replace(text_of(two_stages(), 110), std::regex("\n {8,}"), " ");  // unwrapped
  for (const std::string part : {"repeat at least 4 times, until communication 0 has ended (seen every 2 times), "
                                 "beside send, each at its own pace",
                                 "repeat at least 4 times, as often as rank 0 decides (seen every 2 times), beside "
                                 "receive, each at its own pace",
                                 "all 2 ranks, after compute 1 of the round before\n"})
    EXPECT_TRUE(holds(text, part)) << part << "\n" << text;
  // Both may run one program, in several replicas.
  ScheduleGraph same = two_stages();
  for (const int program : {0, 1, 1, 0}) same.graph.ranks.push_back(same.graph.ranks[program]);
  for (Rank& rank : same.graph.ranks) rank.program = 0;
  same.graph.programs.pop_back();
  EXPECT_TRUE(holds(text_of(same, 110), "until communication 0 of rank 0 has ended")) << text_of(same);
  same.graph.groups.push_back({{2, 3}, {}});
  for (const int rank : {2, 3}) same.graph.ranks[rank].groups[0] = static_cast<int>(same.graph.groups.size()) - 1;
  EXPECT_TRUE(holds(text_of(same, 110), "until communication 0 of the first rank of its replica"));
}

TEST(GraphDot, AWaitForTheRoundBeforeIsToldFromOthers) {
  const std::string text = dot_of({two_stages()});
  EXPECT_EQ(parse_dot(text).error, "");
  EXPECT_TRUE(holds(text, "s0_1_0_1 -> s0_1_1_1 [style=dashed, constraint=false, label=\"round before\"]"));
  // Only the first rank asks whether its communication has ended.
  EXPECT_TRUE(holds(text, "s0_0_3_0 -> s0_0_0_1 [style=dotted"));
  EXPECT_FALSE(holds(text, "s0_1_3_0 -> "));
}

TEST(GraphDot, HasANodeForEachOpThatIsShown) {
  const DotFile dot = parse_dot(dot_of({gathered_one_by_one(40)}));
  EXPECT_EQ(dot.error, "");
  EXPECT_EQ(dot.nodes, (std::set<std::string>{"s0_0_0_0", "s0_0_0_1", "s0_0_1_0"}));
  EXPECT_EQ(dot.edges, (std::set<std::string>{"s0_0_0_0 -> s0_0_0_1", "s0_0_1_0 -> s0_0_0_0"}));
}

TEST(GraphDot, EveryScheduleIsRead) {
  Scenario scenario = sample_scenario(2, 2);
  scenario.cluster.nodes.push_back(sample_nodes(1, 2));
  scenario.cluster.nodes.back().devices.assign(2, [] {
    Device slow = sample_device();
    slow.name = "slow GPU";
    slow.gemm_efficiency = 0.2;
    return slow;
  }());
  const std::string text = dot_of(mapped<ScheduleGraph>(
      all_kinds(), [&](const ScheduleSpec& spec) { return graph_of(spec, price(scenario, spec)); }));
  const DotFile dot = parse_dot(text);
  EXPECT_EQ(dot.error, "");
  EXPECT_TRUE(holds(text, "[shape=point, xlabel=\"meet\"]"));  // of both kinds of ranks
  EXPECT_TRUE(holds(text, "style=dotted"));
}

TEST(GraphDot, HostileNamesStayNames) {
  for (const std::string name : {"\"; } digraph evil { a -> b; \"", "\\", "\x1b[31m\n\r", "a\\\"b", "\xff\xfe",
                                 "</svg>", "//", "/*", "\xe2\x80\xae"}) {
    ScheduleGraph graph = gathered_one_by_one(3);
    graph.label = graph.kinds[0] = name;
    EXPECT_FALSE(holds(text_of(graph), "\x1b"));
    graph.graph.programs[0].lane_names[0] = graph.graph.labels[0].name = name;
    const DotFile dot = parse_dot(dot_of({graph}));
    EXPECT_EQ(dot.error, "") << name;
    EXPECT_EQ(dot.nodes.size(), 3U) << name;
    EXPECT_EQ(dot.edges.size(), 2U) << name;
  }
}

}  // namespace
}  // namespace accosim
