// Is the timeline one that Perfetto can draw? The document is read back with a JSON parser and held against what its
// importer demands: threads whose slices never overlap, durations on every slice, arrows that start and end in one.
#include "reports/trace/trace_json.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tests/support/json.hpp"
#include "tests/support/random.hpp"

namespace accosim {
namespace {

using ThreadId = std::pair<std::int64_t, std::int64_t>;

enum LabelIndex : std::uint16_t { kForward, kBackward, kReduceScatter, kSwap };

/// `ranks` equal ranks; lane 0 computes, lane 1 copies, lane 2 communicates with all others in op 0.
EventGraph small_graph(int ranks) {
  EventGraph graph{.labels = {{"forward", OpClass::kForward},
                              {"backward", OpClass::kBackward},
                              {"reduce-scatter", OpClass::kCommunication},
                              {"swap", OpClass::kMark}}};
  Program program{.lane_names = {"compute", "copy", "communication"}};
  program.lanes.resize(3, std::vector<Op>(1));
  program.lanes[2][0].kind = OpKind::kCollective;
  program.lanes[2][0].slot = 0;
  graph.programs.push_back(program);
  Group group;
  for (int r = 0; r < ranks; ++r) {
    graph.ranks.push_back({0, {0}});
    group.members.push_back(r);
  }
  graph.groups.push_back(group);
  return graph;
}

Span span_of(int rank, int lane, LabelIndex label, double begin, double end) {
  Span span{.rank = rank, .lane = static_cast<std::uint16_t>(lane), .label = label};
  span.arrived = span.begin = Seconds{begin};
  span.end = Seconds{end};
  return span;
}

Span part_of(std::int64_t rendezvous, int rank, double arrived, double begin, double end) {
  Span span = span_of(rank, 2, kReduceScatter, begin, end);
  span.rendezvous = rendezvous;
  span.arrived = Seconds{arrived};
  return span;
}

Span repeated(Span span, int repeat, double period) {
  span.repeat = repeat;
  span.period = Seconds{period};
  return span;
}

/// The document that a writer makes of `spans`.
Json trace_of(const EventGraph& graph, const std::vector<Span>& spans, const TraceOptions& options = {},
              const RanksShown& shown = {}) {
  std::ostringstream out;
  TraceWriter writer(out, options);
  writer.begin_schedule(graph, "acco", {}, 1, {}, shown);
  const SpanSink sink = writer.sink();
  for (const Span& span : spans) sink(span);
  writer.finish();
  return Json::parse(out.str());
}

std::vector<Json> events_of(const Json& trace, const std::string& phase) {
  std::vector<Json> events;
  for (const Json& event : trace.at("traceEvents").elements()) {
    if (event.at("ph") == phase) events.push_back(event);
  }
  return events;
}

// Of a folded graph one rank stands for others: each that is asked for is drawn with what that does, and arrows join
// ranks of one group of the whole graph.
TEST(Trace, DrawsTheRanksThatAreAskedForOfAFoldedGraph) {
  // Two groups of two ranks, {0, 1} and {2, 3}: 0 and 2 are alike, and 1 and 3.
  const Json trace =
      trace_of(small_graph(2), {span_of(0, 0, kForward, 0, 1), part_of(7, 0, 1, 1, 2), part_of(7, 1, 1, 1, 2)}, {},
               {4, {{0, 2}, {1, 3}}, {{0}, {0}, {1}, {1}}});
  std::map<std::int64_t, std::set<std::string>> slices;  // by process: 1 is rank 0
  for (const Json& event : events_of(trace, "X")) slices[event.at("pid").integer()].insert(event.at("name").text());
  const std::set<std::string> all = {"forward", "reduce-scatter"}, meeting = {"reduce-scatter"};
  EXPECT_EQ(slices, (std::map<std::int64_t, std::set<std::string>>{{1, all}, {2, meeting}, {3, all}, {4, meeting}}));
  std::map<std::int64_t, std::vector<std::int64_t>> arrows;  // processes, by number
  for (const std::string phase : {"s", "f"})
    for (const Json& event : events_of(trace, phase))
      arrows[event.at("id").integer()].push_back(event.at("pid").integer());
  EXPECT_EQ(arrows, (std::map<std::int64_t, std::vector<std::int64_t>>{{1, {1, 2}}, {2, {3, 4}}}));
}

std::int64_t ns(const Json& microseconds) { return std::llround(microseconds.number() * 1000); }

struct Slice {
  std::int64_t begin, end;
  std::string name;
};

/// The slices of each thread by their begin; a missing field throws and so fails the test.
std::map<ThreadId, std::vector<Slice>> slices_of(const Json& trace) {
  std::map<ThreadId, std::vector<Slice>> threads;
  for (const Json& e : events_of(trace, "X")) {
    EXPECT_TRUE(e.contains("cat") && e.at("args").contains("iteration") && e.at("args").contains("class")) << e;
    const std::int64_t begin = ns(e.at("ts"));
    threads[{e.at("pid").integer(), e.at("tid").integer()}].push_back(
        {begin, begin + ns(e.at("dur")), e.at("name").text()});
  }
  for (auto& [id, slices] : threads) {
    std::ranges::sort(slices, [](const Slice& a, const Slice& b) { return a.begin < b.begin; });
  }
  return threads;
}

void expect_no_overlap(const std::map<ThreadId, std::vector<Slice>>& threads) {
  for (const auto& [id, slices] : threads) {
    for (std::size_t i = 0; i < slices.size(); ++i) {
      EXPECT_LT(slices[i].begin, slices[i].end) << slices[i].name;
      if (i > 0) {
        EXPECT_LE(slices[i - 1].end, slices[i].begin)
            << slices[i - 1].name << " and " << slices[i].name << " of process " << id.first;
      }
    }
  }
}

/// Every flow is one s, then t, then one f with bp e, of one name, in the order of time, each inside a slice of that
/// name. Returns the number of events of each flow by its id.
std::map<std::int64_t, int> check_flows(const Json& trace) {
  const auto threads = slices_of(trace);
  std::map<std::int64_t, std::vector<Json>> flows;
  for (const Json& e : trace.at("traceEvents").elements()) {
    if (e.at("ph") == "s" || e.at("ph") == "t" || e.at("ph") == "f") flows[e.at("id").integer()].push_back(e);
  }
  std::map<std::int64_t, int> sizes;
  for (const auto& [id, events] : flows) {
    sizes[id] = static_cast<int>(events.size());
    std::set<std::int64_t> processes;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Json& e = events[i];
      EXPECT_EQ(e.at("ph"), i == 0 ? "s" : i + 1 == events.size() ? "f" : "t");
      EXPECT_EQ(e.contains("bp"), e.at("ph") == "f");
      EXPECT_EQ(e.at("cat"), events[0].at("cat"));
      EXPECT_EQ(e.at("name"), events[0].at("name"));
      EXPECT_LE(ns(events[i > 0 ? i - 1 : 0].at("ts")), ns(e.at("ts")));
      processes.insert(e.at("pid").integer());
      const auto& slices = threads.at({e.at("pid").integer(), e.at("tid").integer()});
      EXPECT_TRUE(std::ranges::any_of(slices, [&](const Slice& s) {
        return s.begin <= ns(e.at("ts")) && ns(e.at("ts")) < s.end && s.name == e.at("name");
      })) << e;
    }
    EXPECT_EQ(processes.size(), events.size()) << "a rank twice in a flow";
  }
  return sizes;
}

struct RandomTrace {
  std::vector<Span> spans;
  std::map<ThreadId, double> busy;  // seconds that slices cover, waits included
  int collectives = 0;
};

Seconds last_end(const Span& span) { return span.end + static_cast<double>(span.repeat - 1) * span.period; }

/// What a player could report: each lane goes on from where it ended, in doubles, after gaps and without; loop bodies
/// of two ops that take turns; collectives that begin when the last rank arrives.
RandomTrace random_trace(int ranks, std::uint64_t seed) {
  Random random{seed};
  RandomTrace trace;
  std::vector<std::vector<double>> cursor(static_cast<std::size_t>(ranks), std::vector<double>(3, 0.0));
  const auto duration = [&] { return random.integer(0, 4) == 0 ? 0.0 : std::pow(10.0, -9 + 8 * random.uniform(0, 1)); };
  for (int i = 0; i < 300; ++i) {
    if (random.integer(0, 3) == 0) {
      std::vector<double> arrived;
      arrived.reserve(cursor.size());
      for (auto& lanes : cursor) arrived.push_back(lanes[2] + (random.integer(0, 1) == 0 ? 0 : duration()));
      const double begin = *std::ranges::max_element(arrived);
      const double end = begin + 1e-7 + duration();
      for (int r = 0; r < ranks; ++r) {
        const auto at = static_cast<std::size_t>(r);
        trace.spans.push_back(part_of(trace.collectives, r, arrived[at], begin, end));
        trace.busy[{1 + r, 3}] += end - arrived[at];
        cursor[at][2] = end;
      }
      ++trace.collectives;
      continue;
    }
    const int rank = random.integer(0, ranks - 1), lane = random.integer(0, 1);
    double& now = cursor[static_cast<std::size_t>(rank)][static_cast<std::size_t>(lane)];
    if (random.integer(0, 2) == 0) now += duration();
    const double first = duration(), second = duration();
    Span a = span_of(rank, lane, kForward, now, now + first);
    Span b = span_of(rank, lane, kBackward, a.end.value, a.end.value + second);
    const int repeat = 1 + random.integer(0, 8);  // above 6 they are merged
    const double period = b.end.value - a.begin.value;
    trace.spans.push_back(repeated(a, repeat, period));
    trace.spans.push_back(repeated(b, repeat, period));
    now += repeat * period;
    trace.busy[{1 + rank, 1 + lane}] += repeat * period;
  }
  // In order of their ends, and those of one lane in their own order where rounding says otherwise.
  std::map<ThreadId, double> lane_end;
  std::vector<std::pair<double, Span>> ordered;
  ordered.reserve(trace.spans.size());
  for (const Span& span : trace.spans) {
    double& end = lane_end[{span.rank, span.lane}];
    end = std::max(end, last_end(span).value);
    ordered.emplace_back(end, span);
  }
  std::ranges::stable_sort(ordered, [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < ordered.size(); ++i) trace.spans[i] = ordered[i].second;
  return trace;
}

TEST(TraceOnRandomSpans, SlicesOfOneThreadNeverOverlapAndNoTimeIsLost) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const int ranks = 2 + static_cast<int>(seed % 4);
    const RandomTrace random = random_trace(ranks, seed);
    const auto threads = slices_of(trace_of(small_graph(ranks), random.spans, TraceOptions{.max_repeats = 6}));
    expect_no_overlap(threads);
    for (const auto& [id, seconds] : random.busy) {
      double drawn = 0;
      for (const Slice& slice : threads.at(id)) drawn += static_cast<double>(slice.end - slice.begin) * 1e-9;
      // Each of at most 300 x 2 x 9 slices is rounded by 1 ns at most.
      EXPECT_NEAR(drawn, seconds, 5400e-9) << "seed " << seed;
    }
  }
}

TEST(TraceOnRandomSpans, FlowsJoinAllPartsOfEachCollectiveInsideTheirSlices) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const int ranks = 2 + static_cast<int>(seed % 4);
    const RandomTrace random = random_trace(ranks, seed);
    const auto flows = check_flows(trace_of(small_graph(ranks), random.spans));
    EXPECT_EQ(static_cast<int>(flows.size()), random.collectives) << "seed " << seed;
    for (const auto& [id, size] : flows) EXPECT_EQ(size, ranks);
  }
}

TEST(Trace, TimesAreMicrosecondsAndProcessesAreRanks) {
  const EventGraph graph = small_graph(2);
  std::ostringstream out;
  TraceWriter writer(out);
  writer.begin_schedule(graph, "acco", {"A100-SXM4-80GB, node 0", "V100-SXM2-32GB, node 1"}, 7);
  writer.add(span_of(1, 0, kForward, 0.0015, 0.0040005));  // 1.5 ms to 4.0005 ms
  writer.finish();
  const Json trace = Json::parse(out.str());
  EXPECT_EQ(trace.at("displayTimeUnit"), "ms");
  EXPECT_EQ(trace.at("otherData").at("truncated"), false);
  ASSERT_EQ(events_of(trace, "X").size(), 1U);
  const Json slice = events_of(trace, "X")[0];
  EXPECT_EQ(slice.at("ts"), 1500.0);
  EXPECT_EQ(slice.at("dur"), 2500.5);
  EXPECT_EQ(slice.at("pid"), 8);
  EXPECT_EQ(slice.at("name"), "forward");
  EXPECT_EQ(slice.at("cat"), "forward");
  std::map<std::string, Json> names;
  for (const Json& event : events_of(trace, "M")) {
    EXPECT_EQ(event.at("pid"), 8);
    names[event.at("name").text()] = event.at("args");
  }
  EXPECT_EQ(names.at("process_name").at("name"), "acco / rank 1 (V100-SXM2-32GB, node 1)");
  EXPECT_EQ(names.at("process_sort_index").at("sort_index"), 8);
  EXPECT_EQ(names.at("thread_name").at("name"), "compute");
  EXPECT_EQ(names.at("thread_sort_index").at("sort_index"), 0);
}

TEST(Trace, RankThatCameEarlyWaitsForTheOthers) {
  // Rank 0 arrives at 1 ms, rank 1 at 3 ms; both then communicate until 5 ms.
  const Json trace = trace_of(small_graph(2), {part_of(0, 0, 0.001, 0.003, 0.005), part_of(0, 1, 0.003, 0.003, 0.005)});
  const auto threads = slices_of(trace);
  const auto& early = threads.at({1, 3});
  ASSERT_EQ(early.size(), 2U);
  EXPECT_EQ(early[0].name, "wait for ranks");
  EXPECT_EQ(early[0].begin, 1'000'000);
  EXPECT_EQ(early[0].end, 3'000'000);
  EXPECT_EQ(early[1].name, "reduce-scatter");
  EXPECT_EQ(threads.at({2, 3}).size(), 1U);
}

TEST(Trace, OpWithoutDurationIsAnInstant) {
  const Json trace = trace_of(small_graph(1), {span_of(0, 1, kSwap, 0.002, 0.002)});
  EXPECT_TRUE(events_of(trace, "X").empty());
  ASSERT_EQ(events_of(trace, "i").size(), 1U);
  EXPECT_EQ(events_of(trace, "i")[0].at("ts"), 2000.0);
  EXPECT_EQ(events_of(trace, "i")[0].at("s"), "t");
}

TEST(Trace, RepeatedBodyIsDrawnOpByOpInTurn) {
  // Three times forward 1 ms and backward 2 ms: forward at 0, 3, 6 ms, backward at 1, 4, 7 ms.
  const std::vector<Span> body{repeated(span_of(0, 0, kForward, 0, 0.001), 3, 0.003),
                               repeated(span_of(0, 0, kBackward, 0.001, 0.003), 3, 0.003)};
  const Json trace = trace_of(small_graph(1), body);
  const auto slices = slices_of(trace).at({1, 1});
  ASSERT_EQ(slices.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(slices[i].name, i % 2 == 0 ? "forward" : "backward");
    EXPECT_EQ(slices[i].begin, static_cast<std::int64_t>(i / 2) * 3'000'000 + (i % 2 == 0 ? 0 : 1'000'000));
  }
  EXPECT_EQ(events_of(trace, "X").back().at("args").at("iteration"), 2);
}

TEST(Trace, BodyRepeatedMoreOftenThanTheLimitIsOneSliceThatSaysSo) {
  const std::vector<Span> body{repeated(span_of(0, 0, kForward, 1, 1.001), 500, 0.003),
                               repeated(span_of(0, 0, kBackward, 1.001, 1.003), 500, 0.003)};
  const auto slices = slices_of(trace_of(small_graph(1), body)).at({1, 1});
  ASSERT_EQ(slices.size(), 1U);
  EXPECT_EQ(slices[0].name, "forward + backward x 500");
  EXPECT_EQ(slices[0].begin, 1'000'000'000);
  EXPECT_EQ(slices[0].end, 2'500'000'000);  // 1 s + 500 x 3 ms
}

TEST(Trace, LoopAfterALoopIsAnotherBody) {
  // Both repeat twice with a period of 2 ms; the second loop begins at 4 ms. An op without duration ends each body.
  std::vector<Span> spans;
  for (const double at : {0.0, 0.004}) {
    spans.push_back(repeated(span_of(0, 0, kForward, at, at + 0.002), 2, 0.002));
    spans.push_back(repeated(span_of(0, 0, kSwap, at + 0.002, at + 0.002), 2, 0.002));
  }
  const Json trace = trace_of(small_graph(1), spans);
  expect_no_overlap(slices_of(trace));
  EXPECT_EQ(events_of(trace, "X").size(), 4U);
  EXPECT_EQ(events_of(trace, "i").size(), 4U);
}

TEST(Trace, RanksThatAreNotAskedForAreNotDrawn) {
  const std::vector<Span> spans{span_of(0, 0, kForward, 0, 1), span_of(1, 0, kForward, 0, 1),
                                span_of(2, 0, kForward, 0, 1), part_of(0, 0, 1, 1, 2),
                                part_of(0, 1, 1, 1, 2),        part_of(0, 2, 1, 1, 2)};
  const Json trace = trace_of(small_graph(3), spans, {}, {3, {{0}, {}, {2}}, {}});
  for (const Json& event : trace.at("traceEvents").elements()) EXPECT_NE(event.at("pid"), 2);
  EXPECT_EQ(slices_of(trace).size(), 4U);
  const auto flows = check_flows(trace);
  ASSERT_EQ(flows.size(), 1U);
  EXPECT_EQ(flows.begin()->second, 2);
}

TEST(Trace, FlowsOfTwoSchedulesHaveDifferentNumbers) {
  const EventGraph graph = small_graph(2);
  std::ostringstream out;
  TraceWriter writer(out);
  for (int schedule = 0; schedule < 2; ++schedule) {
    writer.begin_schedule(graph, "schedule", {}, 1 + 2 * schedule);
    for (int rank = 0; rank < 2; ++rank) writer.add(part_of(0, rank, 0, 0, 1));
  }
  writer.finish();
  EXPECT_EQ(check_flows(Json::parse(out.str())).size(), 2U);
}

TEST(Trace, LimitKeepsTheFirstEventsOfEachScheduleAndSaysWhatIsMissing) {
  const EventGraph graph = small_graph(1);
  TraceOptions options{.max_events = 10};
  std::ostringstream out;
  TraceWriter writer(out, options);
  for (int schedule = 0; schedule < 2; ++schedule) {
    writer.begin_schedule(graph, "schedule", {}, 1 + schedule);
    for (int i = 0; i < 10; ++i) writer.add(span_of(0, 0, kForward, i, i + 1));
    EXPECT_FALSE(writer.truncated());
  }
  writer.add(span_of(0, 0, kForward, 10, 11));
  EXPECT_TRUE(writer.truncated());
  writer.finish();
  const Json trace = Json::parse(out.str());
  EXPECT_EQ(events_of(trace, "X").size(), 20U);
  EXPECT_EQ(trace.at("otherData").at("truncated"), true);
  EXPECT_NE(trace.at("otherData").at("note").text().find("1 events are left out"), std::string::npos);
}

TEST(Trace, NamesMayHoldAnything) {
  EventGraph graph = small_graph(1);
  graph.labels[kForward].name = "a\"b\\c\n\x01 \xff caf\xc3\xa9";
  const Json trace = trace_of(graph, {span_of(0, 0, kForward, 0, 1)});
  EXPECT_EQ(events_of(trace, "X")[0].at("name"), "a\"b\\c\n\x01 \xef\xbf\xbd caf\xc3\xa9");
}

TEST(Trace, SpanThatTrulyOverlapsIsRefused) {
  const EventGraph graph = small_graph(1);
  std::ostringstream out;
  TraceWriter writer(out);
  EXPECT_THROW(writer.add(span_of(0, 0, kForward, 0, 1)), std::logic_error);  // of no schedule
  writer.begin_schedule(graph, "acco", {}, 1);
  writer.add(span_of(0, 0, kForward, 0, 1));
  EXPECT_NO_THROW(writer.add(span_of(0, 0, kForward, 1 - 1e-12, 2)));
  EXPECT_THROW(writer.add(span_of(0, 0, kForward, 1.5, 3)), std::logic_error);
  EXPECT_THROW(writer.add(span_of(5, 0, kForward, 3, 4)), std::out_of_range);
  EXPECT_THROW(writer.add(span_of(0, 9, kForward, 3, 4)), std::out_of_range);
}

TEST(Trace, NothingAddedIsStillADocument) {
  std::ostringstream out;
  TraceWriter writer(out);
  writer.finish();
  writer.finish();
  EXPECT_EQ(Json::parse(out.str()).at("traceEvents").size(), 0U);
}

}  // namespace
}  // namespace accosim
