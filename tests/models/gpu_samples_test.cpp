// The document of a GPU's samples: what is taken from it, and what is told of one that is wrong.
#include "models/fit/gpu_samples.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "models/fit/machine_samples.hpp"
#include "models/read/load.hpp"
#include "tests/models/refusal.hpp"
#include "tests/support/gpu_document.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

constexpr const char* kKernel =
    R"({"what": "kernel", "kernel": "norm_forward", "dtype": "bf16", "rows": 768, "columns": 1024, "bytes": 3145728, )"
    R"("cold": false, "median_s": 2e-6, "p10_s": 1e-6, "p90_s": 3e-6, "runs": 7, "again_s": 4e-6})";

std::string document(const std::string& sample) {
  GpuDocument all(invented_gpu(), 1);
  all.add_text(sample);
  return all.text();
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  return refusal_of([&] { read_gpu_samples(text, "samples.json"); });
}

TEST(GpuSamples, TakeEveryKindOfSample) {
  GpuDocument all(invented_gpu(), 2);
  all.add_step_kernels(gpt_sizes(2, 768, 1), "gpt2-124m");
  all.add_launch("host_launch", 3e-6);
  all.add_text(R"({"what": "launch", "kind": "stream_wait", "median_s": 0, "p10_s": 0, "p90_s": 1e-7, "runs": 9})");
  all.add_text(R"({"what": "copy", "direction": "both", "memory": "pinned", "bytes": 1e6, "median_s": 1e-4,
    "p10_s": 1e-4, "p90_s": 1e-4, "runs": 3})");
  all.add_text(R"({"what": "interference", "kernel": "gemm", "shape": "bf16 2304x1024x768 forward of gpt2-124m",
    "dtype": "bf16", "layout": "forward", "m": 2304, "n": 1024, "k": 768, "batch": 1, "transpose_a": false,
    "transpose_b": false, "bias": true, "accumulate": false, "model": "gpt2-124m", "cold": false,
    "beside": "hold_multiprocessors", "blocks": 8, "median_s": 1.1e-5, "p10_s": 1e-5, "p90_s": 2e-5, "runs": 20,
    "alone_s": 1e-5, "slowdown": 1.1})");
  all.add_text(R"({"what": "interference", "kernel": "softmax_forward", "shape": "softmax_forward bf16 1024x12288",
    "dtype": "bf16", "rows": 1024, "columns": 12288, "bytes": 3e7, "model": "", "cold": false, "beside": "copy_to_host",
    "blocks": 0, "median_s": 1e-5, "p10_s": 1e-5, "p90_s": 2e-5, "runs": 20, "alone_s": 1e-5, "slowdown": 1,
    "other_slowdown": 1.3})");
  all.add_text(R"({"what": "collective", "collective": "all_reduce", "bytes": 1e6, "ranks": 2, "algorithm": "ring",
    "protocol": "simple", "channels": 2, "experiment": "2 processes on one GPU over loopback sockets",
    "median_s": 1e-3, "p10_s": 1e-3, "p90_s": 1e-3, "runs": 3})");
  all.add_step(gpt_sizes(2, 768, 1), "gpt2-124m", "micro_batch", 1e6, 1e-3, 5e9);
  const GpuSamples samples = read_gpu_samples(all.text(), "samples.json");
  EXPECT_EQ(samples.device, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(samples.sm_count, 132);
  EXPECT_EQ(samples.commit, "abc");
  // Of a layer forward and backward, and of the head; the others of the embedding, a layer both ways, and the head.
  EXPECT_EQ(samples.products.size(), 6u + 12u + 3u);
  EXPECT_EQ(samples.kernels.size(), 2u + 6u + 10u + 4u);
  EXPECT_EQ(samples.launches.size(), 2u);
  EXPECT_EQ(samples.copies.front().direction, "both");
  ASSERT_EQ(samples.interference.size(), 2u);
  EXPECT_EQ(samples.interference[0].of->gemm.m, 2304);
  EXPECT_EQ(samples.interference[1].of->step, StepKernel::kSoftmaxForward);
  EXPECT_EQ(samples.interference[1].of->elements, 1024 * 12288);
  EXPECT_DOUBLE_EQ(*samples.interference[1].other_slowdown, 1.3);
  EXPECT_EQ(samples.collectives.front().channels, 2);
  ASSERT_EQ(samples.steps.size(), 1u);
  EXPECT_DOUBLE_EQ(samples.steps[0].memory.value, 5e9);
}

TEST(GpuSamples, ATimeIsTheMeanOfBothPasses) {
  const GpuSamples samples = read_gpu_samples(document(kKernel), "samples.json");
  EXPECT_DOUBLE_EQ(samples.kernels.front().time.mean().value, 3e-6);
}

TEST(GpuSamples, AProductOfFp8WritesBf16AndLayoutsAreByTranspositions) {
  const GpuSamples samples = read_gpu_samples(
      document(R"({"what": "gemm", "dtype": "fp8", "layout": "forward", "m": 16, "n": 32, "k": 64, "batch": 1,
        "transpose_a": true, "transpose_b": false, "bias": false, "accumulate": false, "cold": true,
        "median_s": 2e-6, "p10_s": 1e-6, "p90_s": 3e-6, "runs": 7})"),
      "samples.json");
  EXPECT_EQ(samples.products.front().gemm.in, Bytes{1});
  EXPECT_EQ(samples.products.front().gemm.out, Bytes{2});
  EXPECT_EQ(samples.products.front().gemm.layout, GemmLayout::kTN);
}

TEST(GpuSamples, SayWhatIsWrongAndWhere) {
  const std::string good = document(kKernel);
  EXPECT_EQ(error_of(good), "");
  struct Case {
    const char* from;
    const char* to;
    const char* says;
  };
  const Case cases[] = {
      {R"("rows": 768, )", "", "/samples/0/rows: missing"},
      {R"("runs": 7, )", "", "/samples/0/runs: missing"},
      {R"("median_s": 2e-6)", R"("median_s": -2e-6)", "/samples/0/median_s: is -2e-6; write a number above 0"},
      {R"("median_s": 2e-6)", R"("median_s": 0)", "/samples/0/median_s: is 0"},
      {R"("median_s": 2e-6)", R"("median_s": 9e-6)", "/samples/0/median_s: is not between p10_s and p90_s"},
      {R"("p10_s": 1e-6)", R"("p10_s": "1 us")", "/samples/0/p10_s: is the text"},
      {R"("dtype": "bf16")", R"("dtype": "fp16")", "/samples/0/dtype: \"fp16\" is not known"},
      {R"("kernel": "norm_forward")", R"("kernel": "norm_foward")", "did you mean \"norm_forward\"?"},
      {R"("cold": false)", R"("colt": false)", "did you mean \"cold\"?"},
      {R"("runs": 7)", R"("runs": 7, "colour": 1)", "/samples/0/colour: unknown key"},
      {R"("what": "kernel")", R"("what": "noise")", "/samples/0/what: \"noise\" is not known"},
      {R"(accosim.gpu_samples/1)", "accosim.gpu_samples/2", "/schema: is the text \"accosim.gpu_samples/2\""},
      {R"("schema": "accosim.gpu_samples/1",)", "", "/schema: missing"},
      {R"("sm_count": 132, )", "", "/device/sm_count: missing"},
      {R"("l2_bytes": 50000000)", R"("l2_bytes": -1)", "/device/l2_bytes: is -1"},
      {R"("date": "2026-11-21", )", R"("dates": "2026-11-21", )", "/dates: unknown key"},
  };
  for (const Case& one : cases) {
    const std::string error = error_of(with(good, one.from, one.to));
    EXPECT_TRUE(holds(error, one.says));
    EXPECT_EQ(error.rfind("samples.json:", 0), 0u) << error;
  }
  EXPECT_TRUE(holds(error_of(with(good, kKernel, "")), "/samples: is empty"));
  EXPECT_TRUE(holds(error_of(with(good, kKernel, "7")), "/samples/0: is the number 7"));
  EXPECT_NE(error_of("[]"), "");
  EXPECT_NE(error_of(good.substr(0, good.size() / 2)), "");
}

TEST(GpuSamples, AnUpdateSaysItsAlgorithm) {
  const std::string update =
      R"({"what": "step", "model": "m", "layers": 2, "width": 64, "heads": 1, "context": 64, "vocabulary": 64,
      "parameters": 1e5, "sequences": 1, "storage": "bf16", "part": "update", "median_s": 1, "p10_s": 1, "p90_s": 1,
      "runs": 1})";
  EXPECT_TRUE(holds(error_of(document(update)), "/samples/0/algorithm: missing"));
  EXPECT_EQ(error_of(document(with(update, R"("runs": 1)", R"("runs": 1, "algorithm": "acco", "micro_batches": 4)"))),
            "");
}

TEST(GpuSamples, OtherDocumentsAreNone) {
  EXPECT_TRUE(is_gpu_samples(document(kKernel)));
  EXPECT_FALSE(is_gpu_samples(R"({"schema": "accosim.samples/1"})"));
  EXPECT_FALSE(is_gpu_samples("{"));
}

// Do accocal's samples become the constants that they show, and a scenario that predicts them again?

std::string sample(const std::string& head, double seconds) {
  std::ostringstream text;
  text.precision(12);
  text << "{" << head << ", \"median_s\": " << seconds << ", \"p10_s\": " << seconds << ", \"p90_s\": " << seconds
       << ", \"runs\": 5}";
  return text.str();
}

/// Two ranks at 10 MB/s with a bucket of 10 kB; 95 % of it is payload, a step takes 100 us. 1 MB: half of it on each
/// edge, 500 kB / 9.5 MB/s = 52.631579 ms.
std::string samples_text() {
  std::string text = R"({"schema": "accosim.samples/1",
    "machine": {"cpu": "A CPU", "cores": 4, "kernel": "6", "idle_before": 0.9, "idle_after": 0.95},
    "compiler": "g++", "commit": "abc", "date": "2026-01-02T03:04:05Z", "transport": "ring", "ranks": 2,
    "network": {"kind": "netns", "rates_bytes_per_s": [1e7, 1e7], "payload_bytes_per_s": [9.5e6, 9.5e6],
                "burst_bytes": [10000, 10000]}, "samples": [)";
  for (const std::string what : {"reduce_scatter", "all_gather", "all_reduce"}) {
    const double passes = what == "all_reduce" ? 2 : 1;
    const std::string head = "\"what\": \"" + what + "\", \"after_idle\": false, \"bytes\": ";
    text += sample(head + "1024", 1e-4 * passes) + ", " + sample(head + "1000000", 0.052631579 * passes) + ", ";
  }
  // After a pause 9.5 kB of payload pass at once: 100 us + 490.5 kB / 9.5 MB/s.
  text += sample(R"("what": "reduce_scatter", "after_idle": true, "bytes": 1000000)", 0.051731579) + ", ";
  text += sample(R"("what": "adamw", "elements": 1000)", 1e-6) + ", ";
  text += sample(R"("what": "adamw", "elements": 1000000)", 3e-3) + ", ";
  text += sample(R"("what": "copy", "elements": 1000000)", 1e-3) + ", ";
  text += sample(R"("what": "micro_batch", "parameters": 2000, "tokens": 64)", 5e-3) + ", ";
  text += sample(R"("what": "hand_off_start")", 3e-6) + ", " + sample(R"("what": "hand_off_end")", 2e-6) + "]}";
  return text;
}

std::string machine_error_of(const std::string& text) {
  return refusal_of([&] { fit_machine(read_machine_samples(text, "s.json")); });
}

TEST(MachineSamples, GiveTheConstantsThatTheyShow) {
  const MachineFit fit = fit_machine(read_machine_samples(samples_text(), "s.json"));
  EXPECT_NEAR(fit.hop.value, 1e-4, 1e-12);
  EXPECT_NEAR(fit.efficiency, 0.95, 1e-6);
  // A shard of the micro-batch's model has 1000 parameters: 1 ns each, and 1 ns for the copy of the nearest size.
  EXPECT_NEAR(fit.adamw_per_parameter.value, 2e-9, 1e-12);
  EXPECT_NEAR(fit_machine(read_machine_samples(samples_text(), "s.json"), 1e6).adamw_per_parameter.value, 4e-9, 1e-12);
  EXPECT_NEAR(fit.copy.value, 8e9, 1);
  EXPECT_NEAR(fit.hand_off.value, 5e-6, 1e-12);
  EXPECT_EQ(fit.parameters, 2000);
  ASSERT_EQ(fit.residuals.size(), 7u);
  for (const MachineResidual& each : fit.residuals) {
    // A small message has a bucket to itself after its steps, so it takes the steps alone.
    EXPECT_NEAR(each.predicted / each.sample.median, 1, 0.002) << each.sample.what << " " << each.sample.amount;
  }
}

TEST(MachineSamples, MakeAScenarioThatLoads) {
  const Scratch scratch;
  const MachineSamples samples = read_machine_samples(samples_text(), "s.json");
  const std::string path = scratch.write("machine.json", machine_scenario(samples, fit_machine(samples)));
  const Scenario scenario = load_scenario(path, {}).scenario;
  ASSERT_EQ(scenario.cluster.nodes.size(), 2u);
  const NodeGroup& node = scenario.cluster.nodes[1];
  EXPECT_EQ(node.nics.kind, "sockets");
  EXPECT_NEAR(node.nics.efficiency * node.nics.bandwidth.value, 9.5e6, 10);
  EXPECT_NEAR(node.nics.burst.value, 9500, 1);
  EXPECT_NEAR(scenario.model.micro_batch_time.value, 5e-3, 1e-12);
  EXPECT_EQ(parameter_count(scenario.model), 2000);
  EXPECT_EQ(scenario.schedules.size(), 6u);
}

TEST(MachineSamples, WhatIsMissingIsSaid) {
  EXPECT_TRUE(holds(machine_error_of("{"), "s.json:1:2: the file ends inside an object"));
  EXPECT_TRUE(holds(machine_error_of("[]"), "is an array; write an object"));
  EXPECT_TRUE(holds(machine_error_of(R"({"schema": "accosim.run/1"})"), "name a file that accocal measure wrote"));
  EXPECT_TRUE(holds(machine_error_of(R"({"schema": "accosim.samples/1"})"), "/ranks: missing"));
  const auto without = [](std::string text, const std::string& part, const std::string& instead) {
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      text.replace(at, part.size(), instead);
    return text;
  };
  EXPECT_TRUE(
      holds(machine_error_of(without(samples_text(), "\"adamw\"", "\"copy\"")), "s.json /samples: hold no \"adamw\""));
  EXPECT_TRUE(
      holds(machine_error_of(without(samples_text(), "\"all_gather\"", "\"all_reduce\"")), "hold no all_gather"));
  EXPECT_TRUE(holds(machine_error_of(without(samples_text(), "\"all_gather\"", "\"all_gathr\"")),
                    "did you mean \"all_gather\"?"));
  EXPECT_TRUE(holds(machine_error_of(without(samples_text(), "[1e7, 1e7]", "[1e7]")), "lists 1 for 2 ranks"));
  EXPECT_TRUE(holds(machine_error_of(without(samples_text(), "\"runs\": 5", "\"runs\": 5, \"by_rank_s\": [1]")),
                    "/samples/0/by_rank_s: lists 1 for 2 ranks"));
  EXPECT_TRUE(holds(machine_error_of(without(samples_text(), "\"runs\": 5", "\"runs\": 5, \"by_rank_p10_s\": [1, 1]")),
                    "/samples/0/by_rank_p10_s: needs by_rank_s beside it"));
  EXPECT_TRUE(holds(machine_error_of(without(samples_text(), "\"runs\": 5", "\"runs\": 0")),
                    "/samples/0/runs: is 0; write a whole"));
}

}  // namespace
}  // namespace accosim
