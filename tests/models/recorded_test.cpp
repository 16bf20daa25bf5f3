// Traces and results read back: what is in them, and what is said of those that are none.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "models/read/overrides.hpp"
#include "models/recorded/measured_run.hpp"
#include "models/recorded/recorded_results.hpp"
#include "models/recorded/recorded_settings.hpp"
#include "models/recorded/recorded_trace.hpp"
#include "models/recorded/trace_text.hpp"
#include "models/spec/scenario_error.hpp"
#include "tests/models/refusal.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/sanitized.hpp"

namespace accosim {
namespace {

JsonDocument document(const std::string& text) { return parse_json(text, "t.json", kMaxMeasuredValues); }

/// One rank of a predicted schedule and one of a measured run, an update of 1 ms each.
const std::string kTrace = R"json({"displayTimeUnit":"ms","traceEvents":[
{"ph":"M","pid":1,"tid":0,"ts":0,"name":"process_name","args":{"name":"acco / rank 0 (A100, node 0)"}},
{"ph":"M","pid":2,"tid":0,"ts":0,"name":"process_name","args":{"name":"acco / links"}},
{"ph":"C","pid":2,"tid":0,"ts":0,"name":"node 0 out","args":{"GB/s":1}},
{"ph":"X","pid":1,"tid":1,"ts":1000.5,"dur":3000.25,"name":"forward x 3","args":{"class":"forward","repetitions":3}},
{"ph":"X","pid":1,"tid":2,"ts":1000,"dur":5,"name":"wait for ranks","args":{"class":"wait","for":"all-reduce"}},
{"ph":"s","pid":1,"tid":2,"ts":1000,"name":"all-reduce","cat":"collective","id":1},
{"ph":"i","pid":1,"tid":1,"ts":2000,"s":"t","name":"update","args":{"class":"mark","updates":4}},
{"ph":"i","pid":1,"tid":1,"ts":1500,"s":"t","name":"round","args":{"class":"mark"}},
{"ph":"i","pid":1,"tid":1,"ts":1000,"s":"t","name":"update","args":{"class":"mark","updates":4}},
{"ph":"M","pid":0,"name":"process_name","args":{"name":"rank 0 (acco, measured)"}},
{"ph":"X","pid":0,"tid":0,"ts":0,"dur":900,"name":"micro-batch","args":{"update":0}},
{"ph":"i","pid":0,"tid":0,"ts":0,"s":"t","name":"update","args":{"class":"mark","updates":1}},
{"ph":"i","pid":0,"tid":0,"ts":1000,"s":"t","name":"update","args":{"class":"mark","updates":1}}
],"otherData":{"producer":"accosim","truncated":false}})json";

TEST(RecordedTrace, HoldsSpansInNanosecondsAndMarksInOrder) {
  const std::vector<RecordedSchedule> schedules = read_recorded_trace(kTrace, "t.json");
  ASSERT_EQ(schedules.size(), 2U);
  EXPECT_EQ(schedules[0].label, "acco");
  EXPECT_FALSE(schedules[0].measured);
  ASSERT_EQ(schedules[0].ranks.size(), 1U);
  const RecordedRank& rank = schedules[0].ranks[0];
  ASSERT_EQ(rank.spans.size(), 2U);
  EXPECT_EQ(rank.spans[0].name, "forward");
  EXPECT_EQ(rank.spans[0].count, 3);
  EXPECT_EQ(rank.spans[0].begin, 1'000'500);
  EXPECT_EQ(rank.spans[0].end, 4'000'750);
  EXPECT_EQ(rank.spans[1].use, RecordedUse::kWaiting);
  EXPECT_EQ(rank.spans[1].waits_for, "all-reduce");
  ASSERT_EQ(rank.marks.size(), 2U);
  EXPECT_EQ(rank.marks[0].time, 1'000'000);
  EXPECT_EQ(rank.marks[1].updates, 4);
  EXPECT_TRUE(schedules[1].measured);
  EXPECT_EQ(schedules[1].label, "acco");
  EXPECT_EQ(schedules[1].ranks.at(0).spans.at(0).use, RecordedUse::kComputation);
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  if (at == std::string::npos) throw std::logic_error("no " + what);
  return text.replace(at, what.size(), by);
}

std::string refusal_of_trace(const std::string& text) {
  return refusal_of([&] { read_recorded_trace(text, "t.json"); });
}

std::string refusal_of_results(const std::string& text) {
  return refusal_of([&] { read_recorded_results(document(text)); });
}

TEST(TraceText, HasTheEventsOneByOneAndTheRestAtItsPlace) {
  const std::string text =
      "{\"a\": {\"traceEvents\": [7]},\n \"traceEvents\": [\n {\"n\": \"]}\\\"\"}, [1,\n 2]\n],\n\"z\": 1}";
  const std::optional<TraceText> trace = trace_text(text);
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->events.size(), 2U);
  EXPECT_EQ(trace->events[0], "{\"n\": \"]}\\\"\"}");
  EXPECT_EQ(trace->events[1], "[1,\n 2]");
  EXPECT_EQ(trace->frame, "{\"a\": {\"traceEvents\": [7]},\n \"traceEvents\": [\n\n\n],\n\"z\": 1}");
  EXPECT_EQ(in_its_place(text, trace->events[0]), "\n\n {\"n\": \"]}\\\"\"}");
  EXPECT_TRUE(trace_text("{\"traceEvents\": []}"));
  EXPECT_TRUE(trace_text("{\"traceEvents\": []}")->events.empty());
  for (const char* const none :
       {"", "[]", "{}", "{\"traceEvents\": 1}", "{\"traceEvents\": [1", "{\"b\": [\"traceEvents\", [1]]}"})
    EXPECT_FALSE(trace_text(none)) << none;
}

TEST(RecordedTrace, MayHaveMoreValuesThanADocument) {
  // 130,000 more spans of 8 values each; no other document may have more than 1,000,000.
  const int spans = cases(130'000);
  std::string more;
  for (int i = 0; i < spans; ++i)
    more += R"({"ph":"X","pid":1,"tid":1,"ts":1100,"dur":1,"name":"f","args":{"class":"forward"}},)";
  std::string text = kTrace;
  text.insert(text.find("{\"ph\":\"M\",\"pid\":0"), more);
  const std::vector<RecordedSchedule> schedules = read_recorded_trace(text, "t.json");
  EXPECT_EQ(schedules.at(0).ranks.at(0).spans.size(), spans + 2U);
  EXPECT_EQ(schedules.at(0).ranks.at(0).spans.back().name, "f");
}

TEST(RecordedTrace, EachMistakeIsToldAtItsPlace) {
  for (const auto& [what, by, said] : std::vector<std::array<std::string, 3>>{
           {"\"producer\":\"accosim\"", "\"producer\":\"others\"",
            "t.json:15:15 /otherData: does not say that accosim"},
           {"\"truncated\":false", "\"truncated\":true", "t.json:15:15 /otherData: says that only the first events"},
           {"\"ts\":1000.5", "\"ts\":\"soon\"", "t.json:5:32 /traceEvents/3/ts: is the text \"soon\"; write a number"},
           {"\"dur\":3000.25", "\"dur\":-1", "t.json:5:45 /traceEvents/3/dur: is -1; write a number from 0"},
           {"\"class\":\"forward\"", "\"class\":\"sideways\"",
            "t.json:5:90 /traceEvents/3/args/class: is none of an op; write the trace anew"},
           {"{\"ph\":\"X\",\"pid\":1", "{\"ph\":\"X\",\"pid\":9",
            "t.json:5:17 /traceEvents/3/pid: is of a process that no event names as a rank"},
           {"\"updates\":4", "\"updates\":0", "/traceEvents/6/args/updates: is 0; write"},
           {"{\"ph\":\"C\"", "3,{\"ph\":\"C\"", "t.json:4:1 /traceEvents/2: is the number 3; write an object"},
           {"\"ts\":2000,\"s\":\"t\",\"name\":\"update\",\"args\":{\"class\":\"mark\",\"updates\":4}",
            "\"ts\":2000,\"name\":\"round\"", "hold fewer than two ends of updates of a rank of \"acco\""},
           {"\"traceEvents\":[", "\"traceEvents\":{}, \"others\":[",
            "t.json:1:39 /traceEvents: is no list of events; name a trace"}}) {
    const std::string found = refusal_of_trace(replaced(kTrace, what, by));
    EXPECT_TRUE(holds(found, said)) << by;
  }
}

TEST(RecordedTrace, WithoutARankIsRefused) {
  EXPECT_TRUE(holds(refusal_of_trace(R"({"traceEvents": [], "otherData": {"producer": "accosim"}})"), "names no rank"));
}

TEST(RecordedTrace, OneThatIsCutAnywhereIsRefused) {
  for (std::size_t size = 0; size < kTrace.size() - 1; ++size)
    EXPECT_NE(refusal_of_trace(kTrace.substr(0, size)), "") << size;
}

TEST(RecordedRun, AWaitOfTheComputeLaneCountsBehindTheCommunicationThatItIsFor) {
  EXPECT_EQ(use_of_measured("wait"), RecordedUse::kWaiting);
  EXPECT_LT(use_of_measured("all-gather"), use_of_measured("wait"));
  EXPECT_LT(use_of_measured("save state"), use_of_measured("all-gather"));
  EXPECT_LT(use_of_measured("outer optimizer"), use_of_measured("swap"));
}

TEST(RecordedRun, BeginsWhereTheUpdatesEndThatDoNotCount) {
  MeasuredRun run{.algorithm = "acco",
                  .ranks = 2,
                  .updates = {{Seconds{2}, 4}, {Seconds{1}, 4}, {Seconds{1.5}, 4}},
                  .left_out = 1,
                  .spans = {{1, true, "all-reduce", Seconds{2.25}, Seconds{2.5}}}};
  const RecordedSchedule schedule = recorded_run(run, "run.json");
  ASSERT_EQ(schedule.ranks.size(), 2U);
  EXPECT_EQ(schedule.ranks[1].spans.at(0).use, RecordedUse::kCommunication);
  EXPECT_EQ(schedule.ranks[1].spans[0].begin, 2'250'000'000);
  std::vector<std::int64_t> marks;
  for (const RecordedMark& mark : schedule.ranks[0].marks) marks.push_back(mark.time);
  EXPECT_EQ(marks, (std::vector<std::int64_t>{2'000'000'000, 3'000'000'000, 4'500'000'000}));
  run.updates.assign(10'000, {Seconds{1e6}, 4});
  EXPECT_THROW(recorded_run(run, "run.json"), ScenarioError);
}

const std::string kResults = R"json({"schema": "accosim.result/1", "scenario": "x",
"results": [
{"label": "acco", "update_time_s": 2.5, "samples_per_update": 64, "gpu_idle_fraction": 0.25, "exposed_communication_s": 0.5,
 "memory_resident_bytes": 30, "memory_parts_bytes": {"parameters": 10, "activations": 20}}]})json";

TEST(RecordedResults, HoldWhatIsCompared) {
  const std::vector<RecordedResult> results = read_recorded_results(document(kResults));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].label, "acco");
  EXPECT_EQ(results[0].update_time, Seconds{2.5});
  EXPECT_EQ(results[0].idle_fraction, 0.25);
  EXPECT_EQ(results[0].memory_parts.at(1).first, "activations");
  EXPECT_EQ(results[0].memory_parts[1].second, Bytes{20});
}

TEST(RecordedResults, EachMistakeIsToldAtItsPlace) {
  for (const auto& [what, by, said] : std::vector<std::array<std::string, 3>>{
           {"\"update_time_s\": 2.5", "\"update_time_s\": 0", "t.json:3:36 /results/0/update_time_s: is 0; write"},
           {"\"gpu_idle_fraction\": 0.25, ", "", "/results/0/gpu_idle_fraction: missing; write"},
           {"\"parameters\": 10", "\"parameters\": \"10 GiB\"",
            "t.json:4:68 /results/0/memory_parts_bytes/parameters: is"},
           {"{\"parameters\": 10, \"activations\": 20}", "7",
            "/results/0/memory_parts_bytes: is the number 7; write an object"},
           {"\"results\": [", "\"results\": 3, \"others\": [", "/results: is"}}) {
    const std::string found = refusal_of_results(replaced(kResults, what, by));
    EXPECT_TRUE(holds(found, said)) << by;
  }
}

TEST(RecordedResults, OneThatIsCutAnywhereIsRefused) {
  for (std::size_t size = 0; size < kResults.size() - 1; ++size)
    EXPECT_NE(refusal_of_results(kResults.substr(0, size)), "") << size;
}

/// A document of results with these settings.
RecordedSettings settings(const std::string& scenario) {
  return read_recorded_settings(document(R"({"version": "1", "network": "simgrid", "sets": [], "scenario": "s")" +
                                         (scenario.empty() ? "" : ", \"settings\": " + scenario) + "}"));
}

std::string in_one_line(const SettingDifferences& differences) {
  std::string all = differences.whole ? "" : "(not whole) ";
  const auto text = [](const std::optional<JsonValue>& value) { return value ? dump_json(*value) : "none"; };
  for (const SettingDifference& one : differences.differ)
    all += one.setting + " " + text(one.values[0]) + " " + text(one.values[1]) + "; ";
  return all;
}

TEST(RecordedSettings, NameWhatDiffersByItsPointer) {
  const std::string a = R"({"cluster": {"nodes": [{"count": 2, "nics": {"bandwidth": "100 Gbit/s"}}]}, "only_a": 1,
                            "lengths": [1, 2, 3]})";
  const std::string b = R"({"cluster": {"nodes": [{"count": 2, "nics": {"bandwidth": "10 Gbit/s"}}, {"count": 1}]},
                            "lengths": [1, 2, 4], "only_b": null})";
  EXPECT_EQ(in_one_line(differing_settings(settings(a), settings(a))), "");
  EXPECT_EQ(in_one_line(differing_settings(settings(a), settings(b))),
            "/cluster/nodes/0/nics/bandwidth \"100 Gbit/s\" \"10 Gbit/s\"; /cluster/nodes/1 none {\"count\":1}; "
            "/only_a 1 none; /lengths [1,2,3] [1,2,4]; /only_b none null; ");
}

TEST(RecordedSettings, AnotherDeviceOrModelIsOneDifference) {
  const auto of = [](const std::string& device, int peak) {
    return settings(R"({"cluster": {"nodes": [{"device": {"name": ")" + device + R"(", "peak": )" +
                    std::to_string(peak) + "}}]}}");
  };
  EXPECT_EQ(in_one_line(differing_settings(of("A", 1), of("B", 2))),
            "/cluster/nodes/0/device {\"name\":\"A\",\"peak\":1} {\"name\":\"B\",\"peak\":2}; ");
  EXPECT_EQ(in_one_line(differing_settings(of("A", 1), of("A", 2))), "/cluster/nodes/0/device/peak 1 2; ");
}

TEST(RecordedSettings, SchedulesMeetByTheirLabels) {
  const std::string a = R"({"schedules": [{"label": "ddp", "bucket": 1}, {"label": "acco"}]})";
  const std::string b = R"({"schedules": [{"label": "acco"}, {"label": "dpu"}, {"label": "ddp", "bucket": 2}]})";
  EXPECT_EQ(in_one_line(differing_settings(settings(a), settings(b))),
            "/schedules/0/bucket 1 2; /schedules/1 none {\"label\":\"dpu\"}; ");
}

TEST(RecordedSettings, OfOlderDocumentsAreTheNameAndWhatWasSet) {
  RecordedSettings old = settings("");
  EXPECT_EQ(old.scenario, "s");
  old.sets = {"/a=1"};
  EXPECT_EQ(in_one_line(differing_settings(old, old)), "(not whole) ");
  RecordedSettings other = old;
  other.sets = {"/a=2"};
  other.version = "2";
  EXPECT_EQ(in_one_line(differing_settings(old, other)),
            "(not whole) version \"1\" \"2\"; sets [\"/a=1\"] [\"/a=2\"]; ");
  EXPECT_THROW(settings("3"), ScenarioError);
}

TEST(RecordedSettings, LeaveOutWhatDecidesAboutNothing) {
  EXPECT_EQ(dump_json(recorded_settings(R"({"schema": "accosim.scenario/1", "name": "n", "description": "d",
      "model": {"layers": 2, "source": "s"}, "cluster": {"nodes": [{"gpus": 2, "sources": {"/gpus": "c"}}]},
      "published": {"acco": {"speedup": 2}}, "origins": {"/name": "f:1:1"}})")),
            R"({"name":"n","model":{"layers":2},"cluster":{"nodes":[{"gpus":2}]}})");
}

// Is a run of accocal read for what it was, and turned into the settings that play it?

std::string run_text(const std::string& algorithm, const std::string& options, const std::string& updates,
                     int left_out = 1) {
  return R"({"schema": "accosim.run/1", "algorithm": ")" + algorithm + R"(", "ranks": 2, "parameters": 1000,
    "options": {"micro_batches_per_round": 2, "slow": {})" +
         options + R"(}, "updates_left_out": )" + std::to_string(left_out) + R"(, "processor_wait_share": 0.01,
    "updates": [)" +
         updates + R"(], "spans": [{"rank": 1, "lane": "communication", "label": "count", "begin_s": 1, "end_s": 2,
    "update": 0}]})";
}

std::string update(double seconds, int samples) {
  return R"({"seconds": )" + std::to_string(seconds) + R"(, "loss": null, "samples": )" + std::to_string(samples) + "}";
}

/// `one` as "/pointer=value in JSON".
bool has(const std::vector<Setting>& all, const std::string& one) {
  return std::ranges::any_of(all,
                             [&](const Setting& each) { return each.pointer + "=" + write_json(each.value) == one; });
}

TEST(MeasuredRun, TheSlowestAndTheFastestTenthDoNotCount) {
  // Left out: the first. Of ten, 1 to 10 s, the 1 and the 10: 44 / 8.
  std::string updates = update(100, 8);
  for (int i = 1; i <= 10; ++i) updates += ", " + update(i, i);
  const MeasuredRun run = read_measured_run(run_text("acco", "", updates), "r");
  EXPECT_DOUBLE_EQ(update_time(run).value, 5.5);
  EXPECT_DOUBLE_EQ(micro_batches_per_update(run), 5.5);
  EXPECT_EQ(run.processor_wait_share, 0.01);
  ASSERT_EQ(run.spans.size(), 1u);
  EXPECT_TRUE(run.spans[0].communication);
}

TEST(MeasuredRun, DilocoIsMeasuredByWholePhases) {
  // Phases of 2: (9, 9) is left out whole because one of it is, then (1, 3), (1, 3); the last is not whole.
  const std::string updates = update(9, 4) + ", " + update(9, 4) + ", " + update(1, 4) + ", " + update(3, 4) + ", " +
                              update(1, 4) + ", " + update(3, 4) + ", " + update(50, 4);
  const MeasuredRun run =
      read_measured_run(run_text("diloco", R"(, "inner_updates": 2, "sequences": 2)", updates), "r");
  EXPECT_DOUBLE_EQ(update_time(run).value, 2);
  EXPECT_DOUBLE_EQ(micro_batches_per_update(run), 2);
}

TEST(MeasuredRun, SettingsSayWhatRan) {
  const std::string two = update(1, 4) + ", " + update(1, 4);
  MeasuredRun run = read_measured_run(
      run_text("acco", R"(, "compute_time_s": 0.02, "poll_every": 2, "estimate_state": "keep")", two), "r");
  run.slow[1] = 4;
  const std::vector<Setting> sets = settings_of(run);
  EXPECT_TRUE(has(sets, "/model/parameters=1000"));
  EXPECT_TRUE(has(sets, "/model/micro_batch_time=\"20 ms\""));
  EXPECT_TRUE(has(sets, "/training/gradient_accumulation_steps=4"));  // two rounds of 2
  EXPECT_TRUE(has(sets, "/cluster/nodes/1/device/slowdown=4"));
  EXPECT_TRUE(has(sets,
                  "/schedules=[\n  {\"name\": \"acco\", \"poll_every\": 2, \"late_communication\": \"accumulate\", "
                  "\"rollback_estimate\": false}\n]"));
  const MeasuredRun dpu = read_measured_run(run_text("dpu", R"(, "accumulate": "fixed")", two), "r");
  EXPECT_TRUE(has(settings_of(dpu),
                  "/schedules=[\n  {\"name\": \"dpu\", \"poll_every\": 1, \"late_communication\": \"wait\"}\n]"));
}

TEST(MeasuredRun, NonsenseIsRefused) {
  const std::string two = update(1, 4) + ", " + update(1, 4);
  EXPECT_THROW(read_measured_run("", "r"), ScenarioError);
  EXPECT_THROW(read_measured_run(R"({"schema": "accosim.run/1"})", "r"), ScenarioError);
  EXPECT_THROW(read_measured_run(run_text("acco", "", update(1, 4)), "r"), ScenarioError);  // all of it left out
  EXPECT_THROW(read_measured_run(run_text("acco", "", two, -3), "r"), ScenarioError);
  EXPECT_THROW(read_measured_run(run_text("acco", R"(, "compute_time_s": 0)", two), "r"), ScenarioError);
  EXPECT_NO_THROW(read_measured_run(run_text("acco", "", two), "r"));
}

}  // namespace
}  // namespace accosim
