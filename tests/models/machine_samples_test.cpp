// Do accocal's samples become the constants that they show, and a scenario that predicts them again?
#include "models/fit/machine_samples.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "models/read/load.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/model.hpp"
#include "models/spec/scenario.hpp"
#include "models/spec/scenario_error.hpp"
#include "tests/support/holds.hpp"
#include "tests/support/scratch.hpp"

namespace accosim {
namespace {

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

std::string error_of(const std::string& text) {
  try {
    fit_machine(read_machine_samples(text, "s.json"));
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "";
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
  EXPECT_TRUE(holds(error_of("{"), "s.json:1:2: the file ends inside an object"));
  EXPECT_TRUE(holds(error_of("[]"), "is an array; write an object"));
  EXPECT_TRUE(holds(error_of(R"({"schema": "accosim.run/1"})"), "name a file that accocal measure wrote"));
  EXPECT_TRUE(holds(error_of(R"({"schema": "accosim.samples/1"})"), "/ranks: missing"));
  const auto without = [](std::string text, const std::string& part, const std::string& instead) {
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      text.replace(at, part.size(), instead);
    return text;
  };
  EXPECT_TRUE(holds(error_of(without(samples_text(), "\"adamw\"", "\"copy\"")), "s.json /samples: hold no \"adamw\""));
  EXPECT_TRUE(holds(error_of(without(samples_text(), "\"all_gather\"", "\"all_reduce\"")), "hold no all_gather"));
  EXPECT_TRUE(
      holds(error_of(without(samples_text(), "\"all_gather\"", "\"all_gathr\"")), "did you mean \"all_gather\"?"));
  EXPECT_TRUE(holds(error_of(without(samples_text(), "[1e7, 1e7]", "[1e7]")), "lists 1 for 2 ranks"));
  EXPECT_TRUE(
      holds(error_of(without(samples_text(), "\"runs\": 5", "\"runs\": 0")), "/samples/0/runs: is 0; write a whole"));
}

}  // namespace
}  // namespace accosim
