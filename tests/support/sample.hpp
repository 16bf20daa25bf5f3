// Scenarios made in code, for tests of what comes after the loader.
#pragma once

#include <cmath>
#include <concepts>
#include <string>

#include "models/spec/constants.hpp"
#include "models/spec/scenario.hpp"
#include "tests/support/random.hpp"

namespace accosim {

inline Model sample_model(int layers = 4, int hidden = 512) {
  Model model{.name = "sample",
              .family = "gpt2",
              .num_hidden_layers = layers,
              .hidden_size = hidden,
              .num_attention_heads = hidden / 64};
  model.num_key_value_heads = model.num_attention_heads;
  model.head_dim = 64;
  model.intermediate_size = 4 * hidden;
  model.vocab_size = 10000;
  model.max_position_embeddings = 1024;
  model.learned_positions = true;
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = true;
  model.tie_word_embeddings = true;
  model.attention_window.assign(layers, 0);
  return model;
}

inline Device sample_device() {
  Device device{.name = "sample GPU"};
  device.peak[static_cast<int>(Dtype::kFp32)] = FlopsPerSecond{20e12};
  device.peak[static_cast<int>(Dtype::kFp16)] = FlopsPerSecond{300e12};
  device.peak[static_cast<int>(Dtype::kBf16)] = FlopsPerSecond{300e12};
  device.gemm_efficiency = 0.6;
  device.flash_attention_efficiency = 0.5;
  device.memory_bandwidth = BytesPerSecond{2e12};
  device.memory_efficiency = 0.8;
  device.memory = Bytes{80e9};
  device.reserved_memory = Bytes{1e9};
  device.launch_interval = Seconds{2e-6};
  return device;
}

inline NodeGroup sample_nodes(int count, int gpus, double nic_gbit = 100) {
  NodeGroup group{.name = "nodes", .count = count, .gpus = gpus};
  group.devices.assign(gpus, sample_device());
  group.intra = {"nvswitch", BytesPerSecond{300e9}, 0.8, Seconds{3e-6}};
  group.nics = {1, BytesPerSecond{nic_gbit * 1e9 / 8}, 0.9, Seconds{5e-6}};
  group.micro_batch_size = 4;
  return group;
}

/// What a test does not write of buckets and rounds is the same in all of them.
inline ScheduleSpec sample_schedule(ScheduleSpec spec) {
  const ScheduleSpec unwritten;
  if (spec.label.empty()) spec.label = spec.name;
  if (spec.bucket_cap == unwritten.bucket_cap) spec.bucket_cap = Bytes{25 * 0x1p20};
  if (spec.first_bucket == unwritten.first_bucket) spec.first_bucket = Bytes{0x1p20};
  if (spec.micro_batches_per_round == unwritten.micro_batches_per_round) spec.micro_batches_per_round = 2;
  if (spec.name == "slowmo" && spec.outer_every == unwritten.outer_every) spec.outer_every = 2;
  return spec;
}
inline ScheduleSpec sample_schedule(const std::convertible_to<std::string> auto& name, const std::string& label = "") {
  return sample_schedule({.name = name, .label = label});
}

/// `count` nodes of `gpus` equal GPUs, 4 micro-batches an update, one schedule of each name; zero1 is the baseline.
inline Scenario sample_scenario(int count, int gpus, double nic_gbit = 100) {
  Scenario scenario{.name = "sample",
                    .model = sample_model(),
                    .cluster = {.name = "sample", .nodes = {sample_nodes(count, gpus, nic_gbit)}}};
  scenario.training.overheads = constants().overheads;  // as a loaded scenario
  scenario.training.sequence_length = 512;
  scenario.training.micro_batch_size = 4;
  scenario.training.gradient_accumulation_steps = 4;
  scenario.training.train_tokens = 1e9;
  scenario.training.interference = false;  // closed forms are without it
  scenario.baseline = "zero1";
  for (const char* name : {"zero1", "ddp", "dpu", "acco"}) scenario.schedules.push_back(sample_schedule(name));
  return scenario;
}

/// Identical ranks; network, size, batch and dtypes at random.
inline Scenario random_homogeneous(Random& random) {
  // One after the other: in which order a call draws its arguments is the compiler's choice.
  const int nodes_drawn = random.integer(1, 4), gpus = random.integer(1, 8);
  Scenario scenario = sample_scenario(nodes_drawn, gpus);
  const int layers = random.integer(1, 6), hidden = 64 * random.integer(2, 16);
  scenario.model = sample_model(layers, hidden);
  NodeGroup& nodes = scenario.cluster.nodes[0];
  if (nodes.count * nodes.gpus == 1) nodes.gpus = 2, nodes.devices.push_back(nodes.devices[0]);
  nodes.nics.bandwidth = BytesPerSecond{std::pow(10.0, random.uniform(7, 11))};
  nodes.nics.latency = Seconds{std::pow(10.0, random.uniform(-6, -3))};
  nodes.micro_batch_size = random.integer(1, 16);
  nodes.pcie = BytesPerSecond{std::pow(10.0, random.uniform(9, 11))};
  nodes.host_memory = BytesPerSecond{std::pow(10.0, random.uniform(10, 12))};
  scenario.training.micro_batch_size = nodes.micro_batch_size;
  scenario.training.gradient_accumulation_steps = 2 * random.integer(1, 6);
  for (ScheduleSpec& spec : scenario.schedules) {
    spec.micro_batches_per_round = scenario.training.gradient_accumulation_steps / 2;
    spec.poll_every = random.integer(1, 3);
    spec.rollback_estimate = random.integer(0, 1) == 1;
  }
  return scenario;
}

}  // namespace accosim
