// Every kind of document that is read, made wrong in every way that somebody has seen or thought of: each is refused
// with the place of what is wrong, or becomes something that loads and can be drawn. None of them crashes, hangs or
// fills the memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <sstream>

#include "models/base/csv.hpp"
#include "models/base/json.hpp"
#include "models/fit/collective_samples.hpp"
#include "models/fit/fit_gpu.hpp"
#include "models/fit/gpu_samples.hpp"
#include "models/fit/import_nccl_tests.hpp"
#include "models/fit/kernel_samples.hpp"
#include "models/fit/machine_samples.hpp"
#include "models/read/load.hpp"
#include "models/recorded/convergence_file.hpp"
#include "models/recorded/measured_run.hpp"
#include "models/spec/scenario_error.hpp"
#include "reports/trace/trace_json.hpp"
#include "sim/evidence/measured_timeline.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/random.hpp"
#include "tests/support/sample.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

const std::string kMachine = R"({"schema": "accosim.samples/1", "machine": {"cpu": "A CPU", "cores": 4},
"commit": "abc", "date": "2026-01-02", "ranks": 2,
"network": {"kind": "netns", "rates_bytes_per_s": [1e7, 1e7], "burst_bytes": [10000, 10000]}, "samples": [
{"what": "reduce_scatter", "bytes": 1024, "median_s": 1e-4, "p10_s": 1e-4, "p90_s": 1e-4, "runs": 5},
{"what": "reduce_scatter", "bytes": 1000000, "median_s": 0.05, "p10_s": 0.05, "p90_s": 0.05, "runs": 5},
{"what": "all_gather", "bytes": 1000000, "median_s": 0.05, "p10_s": 0.05, "p90_s": 0.05, "runs": 5},
{"what": "all_reduce", "bytes": 1000000, "median_s": 0.1, "p10_s": 0.1, "p90_s": 0.1, "runs": 5},
{"what": "adamw", "elements": 1000, "median_s": 1e-6, "p10_s": 1e-6, "p90_s": 1e-6, "runs": 5},
{"what": "copy", "elements": 1000, "median_s": 1e-6, "p10_s": 1e-6, "p90_s": 1e-6, "runs": 5},
{"what": "micro_batch", "parameters": 2000, "tokens": 64, "median_s": 5e-3, "p10_s": 5e-3, "p90_s": 5e-3, "runs": 5}]})";

const std::string kGpu = R"({"schema": "accosim.gpu_samples/1",
"device": {"name": "NVIDIA A100-SXM4-80GB", "sm_count": 108, "memory_bytes": 85e9, "l2_bytes": 4e7}, "samples": [
{"what": "gemm", "dtype": "bf16", "layout": "forward", "m": 1024, "n": 1024, "k": 1024, "batch": 1,
 "transpose_a": false, "transpose_b": false, "accumulate": false, "cold": false, "median_s": 2e-5, "p10_s": 2e-5,
 "p90_s": 2e-5, "runs": 7},
{"what": "kernel", "kernel": "copy", "dtype": "bf16", "rows": 1000, "columns": 1000, "bytes": 4000000, "cold": false,
 "median_s": 2e-5, "p10_s": 2e-5, "p90_s": 2e-5, "runs": 7},
{"what": "step", "model": "gpt2", "part": "update", "algorithm": "acco", "layers": 2, "width": 64, "heads": 2,
 "context": 64, "vocabulary": 100, "sequences": 1, "parameters": 1000, "storage": "bf16", "median_s": 1e-3,
 "p10_s": 1e-3, "p90_s": 1e-3, "runs": 7}]})";

const std::string kRun = R"({"schema": "accosim.run/1", "algorithm": "acco", "ranks": 2, "parameters": 1000,
"options": {"micro_batches_per_round": 2, "poll_every": 1, "slow": {"1": 2}}, "updates_left_out": 1,
"network": {"kind": "paced", "rates_bytes_per_s": [1e7, 1e7]}, "processor_wait_share": 0.01,
"updates": [{"seconds": 1, "loss": null, "samples": 4}, {"seconds": 1, "loss": 2.5, "samples": 4}],
"spans": [{"rank": 0, "lane": "compute", "label": "micro-batch", "begin_s": 1.0, "end_s": 1.5, "update": 1},
{"rank": 0, "lane": "compute", "label": "swap", "begin_s": 1.5, "end_s": 2.0, "update": 1}]})";

const std::string kConvergence = R"({"schema": "accosim.convergence/1", "model": {"name": "gpt", "parameters": 1000},
"range": {"updates": 10, "samples": 80, "batch_samples_low": 4, "batch_samples_high": 16, "tokens_per_sample": 2},
"critical_batch_samples": 100,
"algorithms": [{"name": "acco", "samples_ratio": 1.25, "low": 1, "high": 2}]})";

const std::string kNccl =
    R"({"args": ["all_reduce_perf"], "config": {"devices": [{"hostname": "a"}, {"hostname": "a"}]},
"results": [{"size": 1048576, "out_of_place": {"time": 100.0}}]})";

const std::string kCollectives = "source,fabric,collective,ranks,nodes,bytes,time_us\nme,here,all_reduce,8,1,1024,30\n";
const std::string kKernels =
    "source,device,kind,dtype,batch,m,n,k,out_dtype,accumulate,time_us\nme,X,gemm,bf16,1,10,20,30,bf16,0,5\n";

void read_collectives(const std::string& text) {
  read_collective_samples(text, "f",
                          {std::make_shared<const Cluster>(Cluster{.name = "here", .nodes = {sample_nodes(2, 8)}})});
}

struct Kind {
  std::string good;
  std::function<void(const std::string&)> read;
};
const std::map<std::string, Kind>& kinds() {
  static const std::map<std::string, Kind> kAll = {
      {"machine", {kMachine, [](const std::string& text) { read_machine_samples(text, "f"); }}},
      {"gpu", {kGpu, [](const std::string& text) { read_gpu_samples(text, "f"); }}},
      {"run", {kRun, [](const std::string& text) { read_measured_run(text, "f"); }}},
      {"convergence", {kConvergence, [](const std::string& text) { read_convergence(text, "f"); }}},
      {"nccl", {kNccl, [](const std::string& text) { import_nccl_tests(text, "f", {}); }}},
      {"collectives", {kCollectives, read_collectives}},
      {"kernels", {kKernels, [](const std::string& text) { read_kernel_samples(text, "f"); }}},
  };
  return kAll;
}

/// All lines; empty where nothing is wrong.
std::string errors_of(const std::string& kind, const std::string& text) {
  try {
    kinds().at(kind).read(text);
  } catch (const ScenarioError& error) {
    for (const std::string& line : error.errors) EXPECT_EQ(line.substr(0, 1), line[0] == '.' ? "." : "f") << line;
    return error.what();
  }
  return "";
}

/// The document with its first `from` replaced.
std::string with(const std::string& kind, const std::string& from, const std::string& to) {
  std::string text = kinds().at(kind).good;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << kind << " " << from;
  return text.replace(at, from.size(), to);
}

TEST(HostileDocuments, GoodOnesAreRead) {
  for (const auto& [name, kind] : kinds()) EXPECT_EQ(errors_of(name, kind.good), "") << name;
}

/// A document of `kind` with `from` replaced by `to` is refused, and the error holds `says`.
struct Mistake {
  const char *kind, *from, *to, *says;
};
constexpr Mistake kMistakes[] = {
    {"machine", "[1e7, 1e7]", "[-1e7, 1e7]", "f:3:52 /network/rates_bytes_per_s/0: is -1e7; write a number from 1000"},
    {"machine", "[1e7, 1e7]", "[1e308, 1e7]", "/network/rates_bytes_per_s/0: is 1e308"},
    {"machine", "[1e7, 1e7]", "[NaN, 1e7]", "f:3:52 /network/rates_bytes_per_s/0: NaN is not JSON"},
    {"machine", "[1e7, 1e7]", "\"fast\"", "/network/rates_bytes_per_s: is the text \"fast\"; write a list"},
    {"machine", "[1e7, 1e7]", "[1e7]", "/network/rates_bytes_per_s: lists 1 for 2 ranks"},
    {"machine", "\"median_s\": 1e-4", "\"median_s\": -1", "f:4:55 /samples/0/median_s: is -1; write a number above 0"},
    {"machine", "\"median_s\": 1e-4", "\"median_s\": 1e308", "/samples/0/median_s: is 1e308; write a number above 0"},
    {"machine", "\"median_s\": 1e-4", "\"median_s\": 1e400", "/samples/0/median_s: 1e400 does not fit a number"},
    {"machine", "\"median_s\": 1e-4", "\"median_s\": \"1 us\"", "/samples/0/median_s: is the text \"1 us\""},
    {"machine", "\"median_s\": 1e-4", "\"median_s\": null", "/samples/0/median_s: is null; write a number"},
    {"machine", "\"median_s\": 1e-4", "\"median_s\": 0.9", "/samples/0/median_s: is not between p10_s and p90_s"},
    {"machine", "\"ranks\": 2", "\"ranks\": 1000000", "f:2:49 /ranks: is 1000000; write a whole number from 1 to 1024"},
    {"machine", "\"ranks\": 2", "\"ranks\": 0", "/ranks: is 0; write a whole number from 1"},
    {"machine", "\"ranks\": 2", "\"ranks\": 2.5", "/ranks: is 2.5; write a whole number"},
    {"machine", "\"ranks\": 2", "\"ranks\": 2, \"ranks\": 3", "/ranks: the key \"ranks\" is there twice; keep one"},
    {"machine", "\"ranks\": 2,", "", "/ranks: missing"},
    {"machine", "\"bytes\": 1024", "\"bytes\": -8", "/samples/0/bytes: is -8; write a whole number from 1"},
    {"machine", "\"tokens\": 64", "\"tokens\": 1e18", "/tokens: is 1e18; write a whole number"},
    {"machine", "\"runs\": 5", "\"runs\": 1e300", "/runs: is 1e300"},
    {"machine", "\"cpu\": \"A CPU\"", "\"cpu\": \"a\\u0007b\"", "/machine/cpu: \"a\\x07b\" holds control characters"},
    {"machine", "\"cores\": 4", "\"cores\": []", "/machine/cores: is an array"},
    {"machine", "{\"cpu\": \"A CPU\", \"cores\": 4}", "[]", "/machine: is an array; write an object"},
    {"machine", "accosim.samples/1", "accosim.run/1",
     "/schema: is the text \"accosim.run/1\"; name a file that accocal"},
    {"gpu", "\"m\": 1024", "\"m\": 1.5", "/samples/0/m: is 1.5; write a whole number"},
    {"gpu", "\"m\": 1024", "\"m\": 1e15", "/samples/0/m: is 1e15"},
    {"gpu", "\"m\": 1024, \"n\": 1024, \"k\": 1024", "\"m\": 1e9, \"n\": 1e9, \"k\": 1e9",
     "makes a kernel of 2e+27 FLOPs"},
    {"gpu", "\"rows\": 1000, \"columns\": 1000", "\"rows\": 1e12, \"columns\": 1e12", "makes 1e+24 elements"},
    {"gpu", "\"memory_bytes\": 85e9", "\"memory_bytes\": 1", "/device/memory_bytes: is 1; write a number from"},
    {"gpu", "\"sm_count\": 108", "\"sm_count\": -1", "/device/sm_count: is -1"},
    {"gpu", "\"algorithm\": \"acco\"", "\"algorithm\": \"x\\\"}], \\\"y\\\": [{\"", "/samples/2/algorithm: \"x\\\"}"},
    {"gpu", "\"width\": 64", "\"width\": 65", "/samples/2/heads: is 2, which does not divide the width 65"},
    {"gpu", "\"runs\": 7", "\"runs\": Infinity", "/samples/0/runs: Infinity is not JSON"},
    {"run", "\"micro_batches_per_round\": 2", "\"micro_batches_per_round\": 2000000000",
     "f:2:40 /options/micro_batches_per_round: is 2000000000; write a whole number from 1 to"},
    {"run", "{\"1\": 2}", "{\"2\": 2}", "/options/slow/2: is no rank; the ranks are 0 to 1"},
    {"run", "{\"1\": 2}", "{\"1\": -2}", "/options/slow/1: is -2"},
    {"run", "{\"1\": 2}", "{\"x=1\": 2}", "/options/slow/x=1: is no rank"},
    {"run", "\"acco\"", "\"acco\\\"}]\"", "/algorithm: \"acco\\\"}]\" is not known; write one of"},
    {"run", "\"seconds\": 1", "\"seconds\": -1", "/updates/0/seconds: is -1; write a number above 0"},
    {"run", "\"seconds\": 1", "\"seconds\": 1e308", "/updates/0/seconds: is 1e308"},
    {"run", "\"samples\": 4", "\"samples\": -4", "/updates/0/samples: is -4"},
    {"run", "\"updates_left_out\": 1", "\"updates_left_out\": -3", "/updates_left_out: is -3"},
    {"run", "\"updates_left_out\": 1", "\"updates_left_out\": 2", "/updates: holds no steady update"},
    {"run", "\"rank\": 0", "\"rank\": 7", "/spans/0/rank: is 7; write a whole number from 0 to 1"},
    {"run", "\"end_s\": 1.5", "\"end_s\": 0.5", "/spans/0/end_s: is before begin_s"},
    {"run", "\"end_s\": 1.5", "\"end_s\": 1.75", "f:6:1 /spans/1: begins 0.25 s before its lane is free"},
    {"run", "\"end_s\": 1.5", "\"end_s\": 1e300", "/spans/0/end_s: is 1e300"},
    {"run", "\"lane\": \"compute\"", "\"lane\": \"GPU\"", "/spans/0/lane: \"GPU\" is not known"},
    {"run", "\"ranks\": 2", "\"ranks\": 1000000", "/ranks: is 1000000"},
    {"run", "\"parameters\": 1000", "\"parameters\": 0.5", "/parameters: is 0.5; write a whole number"},
    {"convergence", "\"samples_ratio\": 1.25", "\"samples_ratio\": -1", "/algorithms/0/samples_ratio: is -1"},
    {"convergence", "\"samples_ratio\": 1.25", "\"samples_ratio\": null",
     "/algorithms/0/samples_ratio: and its interval"},
    {"convergence", "\"low\": 1", "\"low\": 7", "/algorithms/0/samples_ratio: is not between"},
    {"convergence", "\"batch_samples_high\": 16", "\"batch_samples_high\": 1",
     "f:2:87 /range/batch_samples_high: is below"},
    {"convergence", "\"tokens_per_sample\": 2", "\"tokens_per_sample\": 0", "/range/tokens_per_sample: is 0"},
    {"convergence", "\"critical_batch_samples\": 100", "\"critical_batch_samples\": -5",
     "/critical_batch_samples: is -5"},
    {"nccl", "[{\"size\"", "{\"a\": [{\"size\"", "f:2:71: the file ends inside an object"},
    {"nccl", "\"time\": 100.0", "\"time\": NaN", "/results/0/out_of_place/time: NaN is not JSON"},
    {"collectives", "8,1,1024,30", "8,1,1024,nan", "f:2:29: time_us: \"nan\" is no number above 0"},
    {"collectives", "8,1,1024,30", "8,1,1024,-3", "f:2:29: time_us: \"-3\" is no number above 0"},
    {"collectives", "8,1,1024,30", "8,1,1024,1e-300", "f:2:29: time_us: is less than any clock tells from nothing"},
    {"collectives", "8,1,1024,30", "8,1,1e308,30", "f:2:24: bytes: \"1e308\" is no number above 0"},
    {"collectives", "8,1,1024,30", "8,1,0x40,30", "f:2:24: bytes: \"0x40\" is no number above 0"},
    {"collectives", "8,1,1024,30", "1e300,1,1024,30", "f:2:20: ranks: \"1e300\" is no whole number from 2"},
    {"collectives", "8,1,1024,30", "8,0.5,1024,30", "nodes: \"0.5\" is no whole number from 1"},
    {"collectives", "8,1,1024,30", "800000,100000,1024,30", "ranks: 800000 ranks on 100000 nodes do not fit"},
    {"collectives", ",time_us", ",tme_us", "f:1:1: time_us: there is no such column; did you mean \"tme_us\"?"},
    {"kernels", "10,20,30,bf16,0,5", "inf,20,30,bf16,0,5", "f:2:18: m: \"inf\" is no number above 0"},
    {"kernels", "10,20,30,bf16,0,5", "1e9,1e9,1e9,bf16,0,5", "f:2:6: kind: makes a kernel of 2e+27 FLOPs"},
    {"kernels", "10,20,30,bf16,0,5", "10,20,30,bf16,2,5", "accumulate: \"2\" is no whole number from 0 to 1"},
    {"kernels", "10,20,30,bf16,0,5", "10,20,30,bf16,0,1e308", "time_us: \"1e308\" is no number above 0"},
};

TEST(HostileDocuments, EachMistakeIsToldAtItsPlace) {
  for (const Mistake& one : kMistakes) {
    const std::string errors = errors_of(one.kind, with(one.kind, one.from, one.to));
    EXPECT_TRUE(holds(errors, one.says)) << one.kind << ": " << one.to << "\nwants " << one.says << "\nbut says "
                                         << errors;
  }
}

TEST(HostileDocuments, AllMistakesAreToldAtOnce) {
  std::string text = with("machine", "[1e7, 1e7]", "[NaN, -1]");
  text.replace(text.find("\"cores\": 4"), 10, "\"cores\": 1e400");
  text.replace(text.find("\"runs\": 5"), 9, "\"runs\": 5, \"runs\": 6");
  text.replace(text.find("\"median_s\": 0.05"), 16, "\"median_s\": -1  ");
  text.replace(text.find("\"commit\": \"abc\""), 15, "\"comit\": \"abc\"  ");
  const std::string errors = errors_of("machine", text);
  for (const char* says : {"/machine/cores: 1e400 does not fit", "/network/rates_bytes_per_s/0: NaN is not JSON",
                           "/network/rates_bytes_per_s/1: is -1", "/samples/0/runs: the key \"runs\" is there twice",
                           "/samples/1/median_s: is -1", "/comit: unknown key; did you mean \"commit\"?"})
    EXPECT_TRUE(holds(errors, says)) << says << "\nis not in\n" << errors;
  EXPECT_EQ(std::ranges::count(errors, '\n'), 5) << errors;
}

TEST(HostileDocuments, WhatIsNoDocumentIsRefused) {
  const std::string deep(160'000, '['), objects = [] {
    std::string text;
    for (int i = 0; i < 160'000; ++i) text += "{\"a\":";
    return text;
  }();
  for (const auto& [name, kind] : kinds()) {
    for (const std::string& text : {std::string(), std::string("\0\0", 2), std::string("null"), std::string("[]"),
                                    std::string("{}"), std::string("3"), std::string("\xff\xfe"), deep, objects,
                                    std::string(1 << 20, 'x'), std::string("{\"schema\": NaN}")})
      EXPECT_NE(errors_of(name, text), "") << name << ": " << text.substr(0, 40);
  }
  EXPECT_TRUE(holds(errors_of("run", deep), "nested deeper than 64 levels"));
  EXPECT_TRUE(holds(errors_of("nccl", objects), "nested deeper than 64 levels"));
}

TEST(HostileDocuments, OneThatIsCutAnywhereIsRefusedOrWhole) {
  for (const auto& [name, kind] : kinds()) {
    if (name == "collectives" || name == "kernels") continue;  // a table may end anywhere after its first row
    for (std::size_t length = 0; length + 1 < kind.good.size(); length += 7)
      EXPECT_NE(errors_of(name, kind.good.substr(0, length)), "") << name << " cut at " << length;
  }
}

/// Each mutation of a document is refused with a place, or goes all the way.
template <class Use>
int survivors(const std::string& good, std::uint64_t seed, const Use& use) {
  const std::vector<std::string> words = {"-1",   "0",       "1e308", "1e-308", "1e18",  "NaN",     "\"x\"",
                                          "null", "[]",      "{}",    "true",   "1e400", "2.5",     "7",
                                          "-0",   "1000000", "\"\"",  "1e-7",   "3e9",   "\"\\\"\""};
  Random random(seed);
  int good_ones = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string text = good;
    for (int changes = random.integer(1, 3); changes > 0; --changes) {
      std::vector<std::size_t> places;  // of numbers and texts after a colon
      for (std::size_t i = 0; i + 2 < text.size(); ++i)
        if (text[i] == ':' && text[i + 1] == ' ' && text[i + 2] != '{' && text[i + 2] != '[') places.push_back(i + 2);
      if (places.empty()) break;
      const std::size_t from = places[static_cast<std::size_t>(random.integer(0, static_cast<int>(places.size()) - 1))];
      const std::size_t to = text.find_first_of(",}]\n", from);
      const std::string& word = words[static_cast<std::size_t>(random.integer(0, static_cast<int>(words.size()) - 1))];
      text.replace(from, std::min(to, text.size()) - from, word);
    }
    try {
      use(text);
      ++good_ones;
    } catch (const ScenarioError& error) {
      EXPECT_FALSE(error.errors.empty());
    } catch (const std::exception& other) {
      ADD_FAILURE() << other.what() << "\n" << text;
    }
  }
  return good_ones;
}

TEST(HostileDocuments, AMachineIsRefusedOrMakesAScenarioThatLoads) {
  const Scratch scratch;
  const int good = survivors(kMachine, 1, [&](const std::string& text) {
    const MachineSamples samples = read_machine_samples(text, "f");
    const std::string written = machine_scenario(samples, fit_machine(samples));
    EXPECT_NO_THROW(load_scenario(scratch.write("machine.json", written), {})) << text;
  });
  EXPECT_GT(good, 10);
}

TEST(HostileDocuments, ARunIsRefusedOrCanBeDrawn) {
  const int good = survivors(kRun, 2, [&](const std::string& text) {
    const MeasuredRun run = read_measured_run(text, "f");
    EXPECT_TRUE(std::isfinite(update_time(run).value) && update_time(run).value > 0) << text;
    EXPECT_TRUE(std::isfinite(micro_batches_per_update(run)) && micro_batches_per_update(run) > 0) << text;
    const Timeline line = measured_timeline(run, std::max(1, run.left_out), 3);
    std::ostringstream out;
    TraceWriter writer(out);
    writer.begin_schedule(line.graph, "measured", {}, 1);
    for (const Span& span : line.spans) writer.add(span);
    writer.finish();
  });
  EXPECT_GT(good, 50);
}

TEST(HostileDocuments, AGpusSamplesAreRefusedOrMakeAProfileThatLoads) {
  const Scratch scratch;
  const int good = survivors(kGpu, 3, [&](const std::string& text) {
    const GpuFit fit = fit_gpu(read_gpu_samples(text, "f"), "A100-SXM4-80GB");
    EXPECT_NO_THROW(load_device(scratch.write("gpu.json", fit.profile))) << text;
  });
  EXPECT_GT(good, 10);
}

// What one would get by measuring on a broken machine, by hand, or by unit errors: none may become a scenario that is
// then refused.
TEST(HostileDocuments, NonsenseForFitIsRefusedOrLoads) {
  struct Case {
    const char *from, *to;
  };
  const Case cases[] = {
      {"\"median_s\": 1e-4, \"p10_s\": 1e-4, \"p90_s\": 1e-4", "\"median_s\": 1e4, \"p10_s\": 1e4, \"p90_s\": 1e4"},
      {"\"median_s\": 1e-4, \"p10_s\": 1e-4, \"p90_s\": 1e-4", "\"median_s\": 1e-300, \"p10_s\": 0, \"p90_s\": 1"},
      {"\"bytes\": 1000000", "\"bytes\": 1"},
      {"\"bytes\": 1000000", "\"bytes\": 1e15"},
      {"[1e7, 1e7]", "[1e18, 1e18]"},
      {"[1e7, 1e7]", "[1e3, 1e3]"},
      {"[1e7, 1e7]", "[]"},
      {"[1e7, 1e7]", "[1e7, 0]"},
      {"[10000, 10000]", "[1e18, 1e18]"},
      {"[10000, 10000]", "[0, 0]"},
      {"[10000, 10000]", "[-1, 10000]"},
      {"[10000, 10000]", "[1e17, 1]"},
      {"\"elements\": 1000", "\"elements\": 1e15"},
      {"\"elements\": 1000", "\"elements\": 0"},
      {"\"elements\": 1000", "\"bytes\": 1000"},
      {"\"parameters\": 2000", "\"parameters\": 1e15"},
      {"\"parameters\": 2000", "\"parameters\": 1.5"},
      {"\"tokens\": 64", "\"tokens\": 1000000000"},
      {"\"tokens\": 64", "\"tokens\": -64"},
      {"\"ranks\": 2", "\"ranks\": 1"},
      {"\"ranks\": 2", "\"ranks\": 3"},
      {"\"cpu\": \"A CPU\"", "\"cpu\": \"\""},
      {"\"date\": \"2026-01-02\"", "\"date\": \"\""},
      {"\"median_s\": 5e-3, \"p10_s\": 5e-3, \"p90_s\": 5e-3", "\"median_s\": 1e-320, \"p10_s\": 0, \"p90_s\": 1"},
      {"\"median_s\": 1e-6, \"p10_s\": 1e-6, \"p90_s\": 1e-6", "\"median_s\": 1e-30, \"p10_s\": 0, \"p90_s\": 1"},
  };
  const Scratch scratch;
  for (const Case& one : cases) {
    std::string written;
    try {
      const MachineSamples samples = read_machine_samples(with("machine", one.from, one.to), "f");
      written = machine_scenario(samples, fit_machine(samples));
    } catch (const ScenarioError& error) {
      EXPECT_EQ(error.errors.front().substr(0, 1), "f") << error.what();  // the document's place
      continue;
    }
    EXPECT_NO_THROW(load_scenario(scratch.write("machine.json", written), {})) << one.to;
  }
}

// Lists that could go on for ever end at their limits. Under the sanitizers, where a million values take minutes, the
// same counting is asked of fewer.

TEST(LongLists, OfUpdatesAreBounded) {
  std::string many;
  for (int i = 0; i < 100'001; ++i) many += "{\"seconds\": 1, \"samples\": 4},";
  EXPECT_TRUE(
      holds(errors_of("run", with("run", "{\"seconds\": 1, \"loss\": null, \"samples\": 4},", many)), "/updates: has"));
}

TEST(LongLists, OfValuesAreBounded) {
  const auto listed = [](int count) {
    std::string values = "0";
    for (int i = 0; i < count; ++i) values += ",0";
    return "{\"schema\": [" + values + "]}";
  };
  const JsonDocument small = parse_json(listed(1000), "f", 1000);
  ASSERT_EQ(small.errors.size(), 1U);
  EXPECT_TRUE(holds(small.errors[0], "more than 1000 values; measure fewer")) << small.errors[0];
  if (kSanitized) return;
  const std::string million = listed(kMaxMeasuredValues);
  for (const char* kind : {"machine", "gpu", "run"})
    EXPECT_TRUE(holds(errors_of(kind, million), "more than 1000000 values; measure fewer")) << kind;
}

TEST(LongLists, OfMistakesAreBounded) {
  std::string wrong;  // a thousand mistakes are enough
  for (int i = 0; i < (kSanitized ? 5'000 : 50'000); ++i)
    wrong += "{\"rank\": 7, \"lane\": 1, \"label\": \"\", \"begin_s\": -1e9, \"end_s\": 0},";
  const std::string spans = with("run", "\"spans\": [", "\"spans\": [" + wrong);
  EXPECT_TRUE(holds(errors_of("run", spans), "more errors"));
}

TEST(LongLists, OfCellsAreBounded) {
  EXPECT_TRUE(holds(errors_of("kernels", std::string(kMaxCsvLine + 1, 'a')), "f:1:1: is 4097 bytes long"));
  if (kSanitized) return;
  std::string cells = "000";
  for (int column = 1; column < 1000; ++column) cells += fmt::format(",{:03}", column);
  for (std::size_t row = 0; row <= kMaxCsvCells / 1000; ++row) cells += "\n" + std::string(999, ',');
  EXPECT_TRUE(holds(errors_of("kernels", cells), "more than 4000000 cells"));
}

}  // namespace
}  // namespace accosim
