// Do the counter tracks of a trace say what was played: memory that fills and empties, multiprocessors held from a
// rank's arrival on, and bytes over links that add up to those sent?
#include "reports/trace/trace_counters.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <streambuf>
#include <string>
#include <tuple>

#include "models/price/price.hpp"
#include "reports/trace/trace_json.hpp"
#include "sim/evaluation/resident.hpp"
#include "sim/player/fold.hpp"
#include "sim/player/player.hpp"
#include "sim/result/run.hpp"
#include "tests/support/json.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

using Track = std::vector<std::pair<double, double>>;  // seconds, figure

TEST(CounterTrack, AddsUpChangesAndWritesThoseThatNothingCanPrecede) {
  CounterTrack track;
  Track written;
  const auto write = [&](std::int64_t time, double sum) { written.emplace_back(static_cast<double>(time), sum); };
  track.change(10, 2);
  track.change(30, -2);
  track.flush(20, write);
  EXPECT_EQ(written, (Track{{10, 2}}));
  track.change(20, 0.1);  // comes late, and is in time
  track.change(25, 0.2);
  track.change(30, -0.3);  // 2 + 0.1 + 0.2 - 2 - 0.3 is no zero in doubles
  track.change(40, 0);     // changes nothing
  track.flush(INT64_MAX, write);
  ASSERT_EQ(written.size(), 4U);
  EXPECT_EQ(written[1].second, 2.1);
  EXPECT_EQ(written.back(), (std::pair<double, double>{30, 0}));
  track.change(5, 1);  // earlier than what is written: at the earliest time that is left
  track.flush(INT64_MAX, write);
  EXPECT_EQ(written.back().first, 40);
}

TEST(CounterTrack, AMicroBatchIsSharedOutByTheDurationsOfItsOps) {
  // Forward 1 s and 3 s, backward 2 s; then a forward pass of two ops that last nothing, and one backward op.
  Program program;
  program.lanes.resize(2);
  const std::vector<Label> labels = {
      {"forward", OpClass::kForward}, {"backward", OpClass::kBackward, 1}, {"optimizer", OpClass::kOptimizer}};
  const auto add = [&](std::uint16_t label, double seconds) {
    Op op{.label = label, .duration = Seconds{seconds}};
    program.lanes[1].push_back(op);
  };
  add(0, 1), add(0, 3), add(1, 2), add(2, 5), add(0, 0), add(0, 0), add(1, 0);
  const auto shares = shares_of_passes(program, labels);
  EXPECT_TRUE(shares.at(0).empty());
  EXPECT_EQ(shares.at(1), (std::vector<double>{0.25, 0.75, 1, 0, 0.5, 0.5, 1}));
}

/// Two ranks on two nodes: each computes 1 s forward and 2 s backward twice, in one op each and then as a loop body,
/// and they reduce 10 GB over "out" in 4 s from 1 s after the later one has come, with 24 multiprocessors.
struct Played {
  EventGraph graph;
  std::vector<Span> spans;
};
Span span_of(int rank, int lane, int op, std::uint16_t label, double arrived, double begin, double end) {
  return Span{.rank = rank,
              .op = op,
              .lane = static_cast<std::uint16_t>(lane),
              .label = label,
              .arrived = Seconds{arrived},
              .begin = Seconds{begin},
              .end = Seconds{end}};
}
EventGraph example_graph() {
  EventGraph graph;
  graph.labels = {
      {"forward", OpClass::kForward}, {"backward", OpClass::kBackward, 1}, {"reduce-scatter", OpClass::kCommunication}};
  graph.links = {{"node 0 out", BytesPerSecond{1e10}}, {"node 1 in", BytesPerSecond{1e10}}};
  graph.paths = {{{0, 1}}};
  const Plan plan{.latency = Seconds{1}, .flows = {{0, Bytes{1e10}}}, .sms = 24};
  graph.groups = {{{0, 1}, {plan}}};
  Program program{.lane_names = {"compute", "communication"}};
  program.lanes.resize(2);
  Op op{.duration = Seconds{1}};
  program.lanes[0].push_back(op);
  op.label = 1;
  op.duration = Seconds{2};
  program.lanes[0].push_back(op);
  op = {};
  op.kind = OpKind::kCollective;
  op.label = 2;
  op.slot = 0;
  program.lanes[1].push_back(op);
  graph.programs = {program};
  graph.ranks = {{0, {0}}, {0, {0}}};
  return graph;
}
Played example() {
  Played played{example_graph(), {}};
  std::vector<Span>& spans = played.spans;
  for (const int rank : {0, 1}) {
    spans.push_back(span_of(rank, 0, 0, 0, 0, 0, 1));
    spans.push_back(span_of(rank, 0, 1, 1, 1, 1, 3));
  }
  for (const int rank : {0, 1}) {  // rank 1 comes a second later, at 4 s
    spans.push_back(span_of(rank, 1, 0, 2, 3 + rank, 4, 9));
    spans.back().rendezvous = 0;
  }
  for (const int rank : {0, 1})
    for (const int number : {0, 1}) {
      Span span = span_of(rank, 0, number, static_cast<std::uint16_t>(number), 3 + number, 3 + number, 4 + 2 * number);
      span.repeat = 3;
      span.period = Seconds{3};
      spans.push_back(span);
    }
  return played;
}

using TrackName = std::tuple<int, int, std::string>;  // rank or -1, link or -1, name

constexpr MemoryCourse kCourse{Bytes{0x1p30}, Bytes{0x1p31}};

std::map<TrackName, Track> tracks_of(const Played& played, int max_repeats, bool drawn_1 = true,
                                     const MemoryCourse& course = kCourse) {
  std::map<TrackName, Track> tracks;
  const std::vector<MemoryCourse> courses(played.graph.ranks.size(), course);
  TraceCounters counters(played.graph, courses, max_repeats, [&](const CounterFigure& figure) {
    tracks[{figure.rank, figure.link, figure.name}].emplace_back(1e-9 * static_cast<double>(figure.time), figure.value);
  });
  for (const Span& span : played.spans) counters.add(span, span.rank != 1 || drawn_1);
  counters.finish();
  return tracks;
}

TEST(TraceCounters, ByHand) {
  const auto tracks = tracks_of(example(), 64);
  // 1 GiB stays, and 2 GiB come with the forward pass and go with the end of the backward pass, at 3, 6, 9 and 12 s:
  // where the next forward pass begins at the same moment nothing changes.
  EXPECT_EQ(tracks.at({0, -1, "memory"}), (Track{{0, 3}, {12, 1}}));
  // Held from the arrival on: rank 0 spins a second longer.
  EXPECT_EQ(tracks.at({0, -1, "SMs held"}), (Track{{3, 24}, {9, 0}}));
  EXPECT_EQ(tracks.at({1, -1, "SMs held"}), (Track{{4, 24}, {9, 0}}));
  // 10 GB in the 4 s after the latency, on both links of the path, once for both ranks.
  for (const int link : {0, 1}) EXPECT_EQ(tracks.at({-1, link, ""}), (Track{{5, 2.5}, {9, 0}}));
  EXPECT_EQ(tracks.size(), 6U);
}

TEST(TraceCounters, ALoopThatRepeatsTooOftenIsOneBlock) {
  EXPECT_EQ(tracks_of(example(), 2), tracks_of(example(), 64));
  Played apart = example();  // a second between the repetitions
  for (Span& span : apart.spans)
    if (span.repeat > 1) span.period = Seconds{4};
  EXPECT_EQ(tracks_of(apart, 64).at({0, -1, "memory"}), (Track{{0, 3}, {6, 1}, {7, 3}, {10, 1}, {11, 3}, {14, 1}}));
  EXPECT_EQ(tracks_of(apart, 2).at({0, -1, "memory"}), (Track{{0, 3}, {14, 1}}));
}

TEST(TraceCounters, ARankThatIsNotDrawnHasNoTracksAndItsBytesCount) {
  const auto tracks = tracks_of(example(), 64, false);
  EXPECT_EQ(tracks.size(), 4U);
  EXPECT_EQ(tracks.count({1, -1, "memory"}), 0U);
  EXPECT_EQ(tracks.count({-1, 1, ""}), 1U);
}

double area_of(const Track& track) {
  double area = 0;
  for (std::size_t i = 1; i < track.size(); ++i) area += (track[i].first - track[i - 1].first) * track[i - 1].second;
  return area;
}

/// GB over each link, a part of each from each rank of a collective.
std::map<int, double> sent_over_links(const Played& played) {
  std::map<int, double> sent;
  for (const Span& span : played.spans) {
    if (span.rendezvous < 0) continue;
    const Rank& rank = played.graph.ranks[static_cast<std::size_t>(span.rank)];
    const auto& lanes = played.graph.programs[static_cast<std::size_t>(rank.program)].lanes;
    const Op& op = lanes[span.lane].at(static_cast<std::size_t>(span.op));
    const Group& group =
        played.graph.groups.at(static_cast<std::size_t>(rank.groups.at(static_cast<std::size_t>(op.slot))));
    for (const Plan::Flow& flow : group.plans.at(static_cast<std::size_t>(op.plan)).flows)
      for (const int link : played.graph.paths.at(static_cast<std::size_t>(flow.path)).links)
        sent[link] += 1e-9 * flow.bytes.value / static_cast<double>(group.members.size());
  }
  return sent;
}

/// Times rise, every figure differs from the one before, and none is negative.
void expect_in_order(const Track& track, const std::string& what) {
  for (std::size_t i = 0; i < track.size(); ++i) {
    EXPECT_GE(track[i].second, 0) << what;
    if (i == 0) continue;
    EXPECT_LT(track[i - 1].first, track[i].first) << what;
    EXPECT_NE(track[i - 1].second, track[i].second) << what;
  }
}

TEST(TraceCounters, LawsOfEverySchedule) {
  const Scenario scenario = sample_scenario(2, 4, 0.05);
  for (const char* const name : {"ddp", "zero1", "zero2", "zero3", "dpu", "wp", "acco", "diloco", "local_sgd"}) {
    const ScheduleSpec spec = sample_schedule(name);
    const Costs costs = price(scenario, spec);
    const int steps = scenario.training.gradient_accumulation_steps;
    Played played{graph_of_all_flows(costs, spec, steps, 4, {}), {}};
    play(fold_flows(played.graph), NetworkKind::kReference, [&](const Span& span) { played.spans.push_back(span); });
    const MemoryParts parts = memory_of(costs.kinds[0], spec, steps);
    const Bytes comes = parts.part(MemoryUse::kActivations) + parts.part(MemoryUse::kLogitsAndLoss);
    const MemoryCourse course{parts.total() - comes, comes};
    const auto tracks = tracks_of(played, 64, true, course);
    const std::map<int, double> sent = sent_over_links(played);
    std::size_t links = 0;
    for (const auto& [track, figures] : tracks) {
      const auto& [rank, link, what] = track;
      expect_in_order(figures, name + what);
      const double last = figures.back().second;
      if (what == "memory") {
        // Full at each end of a forward pass: what `run` calls resident.
        double most = 0;
        for (const auto& [time, figure] : figures) most = std::max(most, figure);
        EXPECT_NEAR(most * 0x1p30 / parts.total().value, 1, 1e-12) << name;
        EXPECT_NEAR(last * 0x1p30 / course.stays.value, 1, 1e-12) << name;
      } else {
        EXPECT_EQ(last, 0) << name << what;
      }
      if (link < 0) continue;
      EXPECT_NEAR(area_of(figures) / sent.at(link), 1, 1e-6) << name;
      ++links;
    }
    for (int rank = 0; rank < 8; ++rank) EXPECT_EQ(tracks.count({rank, -1, "memory"}), 1U) << name;
    EXPECT_EQ(links, sent.size()) << name;
    EXPECT_GE(links, 4U) << name;  // in and out of two nodes
  }
}

TEST(TraceCounters, InAFileTheyAreEventsInOrderOfProcessesWithNames) {
  const Played played = example();
  std::ostringstream out;
  TraceWriter writer(out, TraceOptions{.counters = true});
  writer.begin_schedule(played.graph, "acco", {"A100", "V100"}, 5, {kCourse, kCourse});
  for (const Span& span : played.spans) writer.add(span);
  writer.finish();
  const Json trace = Json::parse(out.str());
  std::map<std::int64_t, std::string> processes;
  std::map<std::pair<std::int64_t, std::string>, std::vector<std::pair<double, double>>> tracks;
  for (const Json& event : trace.at("traceEvents").elements()) {
    const std::string phase = event.at("ph").text();
    EXPECT_NE(std::string("XMCsf").find(phase), std::string::npos) << event;
    if (phase == "M" && event.at("name") == "process_name")
      processes[event.at("pid").integer()] = event.at("args").at("name").text();
    if (phase != "C") continue;
    const std::string unit = event.at("args").keys().at(0);
    tracks[{event.at("pid").integer(), event.at("name").text() + " " + unit}].emplace_back(
        event.at("ts").number() * 1e-6, event.at("args").at(unit).number());
  }
  EXPECT_EQ(processes, (std::map<std::int64_t, std::string>{
                           {5, "acco / rank 0 (A100)"}, {6, "acco / rank 1 (V100)"}, {7, "acco / links"}}));
  EXPECT_EQ(tracks.size(), 6U);
  EXPECT_EQ(tracks.at({5, "memory GiB"}), (Track{{0, 3}, {12, 1}}));
  EXPECT_EQ(tracks.at({6, "SMs held SMs"}), (Track{{4, 24}, {9, 0}}));
  EXPECT_EQ(tracks.at({7, "node 0 out GB/s"}), (Track{{5, 2.5}, {9, 0}}));
}

/// Bytes that the process has allocated and not freed.
std::size_t held() { return mallinfo2().uordblks; }

/// Takes everything, keeps nothing.
class Nowhere : public std::streambuf {
 public:
  std::size_t bytes = 0;

 protected:
  int_type overflow(int_type c) override { return ++bytes, traits_type::not_eof(c); }
  std::streamsize xsputn(const char*, std::streamsize count) override {
    bytes += static_cast<std::size_t>(count);
    return count;
  }
};

TEST(TraceCounters, AMillionSpansNeedNoMoreMemoryThanAThousand) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps what is freed";
  Played played = example();
  Nowhere nowhere;
  std::ostream out(&nowhere);
  TraceOptions options{.max_events = INT64_MAX, .counters = true};
  TraceWriter writer(out, options);
  writer.begin_schedule(played.graph, "acco", {}, 1, {kCourse, kCourse});
  std::size_t after_a_thousand = 0, most = 0;
  const std::size_t each = 6;
  for (std::size_t spans = 0; spans < 1'000'000; spans += each) {
    const std::size_t update = spans / each;
    const double at = 10.0 * static_cast<double>(update);
    for (std::size_t i = 0; i < each; ++i) {
      Span span = played.spans[i];
      span.arrived += Seconds{at};
      span.begin += Seconds{at};
      span.end += Seconds{at};
      if (span.rendezvous >= 0) span.rendezvous = static_cast<std::int64_t>(spans);
      writer.add(span);
    }
    if (spans <= 1000) after_a_thousand = std::max(after_a_thousand, held());
    if (spans % (each * 1000) == 0) most = std::max(most, held());
  }
  writer.finish();
  EXPECT_FALSE(writer.truncated());
  EXPECT_GT(nowhere.bytes, 100'000'000U);  // so much would be held if it were
  EXPECT_LT(most, after_a_thousand + 100'000);
}

}  // namespace
}  // namespace accosim
