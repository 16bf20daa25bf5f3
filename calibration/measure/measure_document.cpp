// accosim.gpu_samples/1 as JSON, a line a sample so that two documents can be compared by eye.
#include <fmt/format.h>

#include "calibration/base/machine.hpp"
#include "calibration/base/names.hpp"
#include "calibration/measure/measure_run.hpp"
#include "calibration/ranks/provenance.hpp"
#include "models/spec/step_kernel.hpp"

namespace accocal {
namespace {

JsonValue json_of(const Entries& entries) {
  JsonValue object = json_object({});
  object.members = entries;
  return object;
}

JsonValue json_of(const DeviceSample& sample) {
  JsonValue object = json_of(sample.keys);
  put_spread(object, sample.spread);
  if (sample.again) object.set("again_s", *sample.again);
  return object;
}

JsonValue json_of(const DeviceState& state) {
  return json_object({{"sm_clock_hz", state.sm_clock},
                      {"memory_clock_hz", state.memory_clock},
                      {"power_w", state.power},
                      {"temperature_c", state.temperature},
                      {"throttled", state.throttled}});
}

JsonValue json_of(const DeviceInfo& info) {
  return json_object({{"name", info.name},
                      {"compute_capability", fmt::format("{}.{}", info.major, info.minor)},
                      {"sm_count", info.sm_count},
                      {"memory_bytes", info.memory},
                      {"l2_bytes", info.l2},
                      {"memory_bandwidth_bytes_per_s", info.memory_bandwidth},
                      {"sm_clock_hz", info.sm_clock},
                      {"memory_clock_hz", info.memory_clock},
                      {"power_limit_w", info.power_limit}});
}

/// How each kind was timed, with the document, since a number outlives its README.
JsonValue ledger() {
  return json_object(
      {{"timing",
        "Events on the device around batches of launches that the host gives without waiting; a batch takes 400 us at "
        "least. Kernels of less than 20 us are launched as a graph of as many as take 1 ms (256 at most). Each value "
        "is a batch's mean; median, 10th and 90th percentile are over batches, runs is their number, again_s is the "
        "median of a second pass in the opposite order."},
       {"cold",
        "true: all operands change from launch to launch, through twice the L2. false: as in a step, where only what "
        "the step has just written stays where it is; weights, saved activations and results change."},
       {"data",
        "Normally distributed, in fp16 and fp8 random signs, exponents and mantissas of that size; never zeros."},
       {"gemm",
        "One after the other, after 2 s of a large product, with nothing between them but the filling of their "
        "operands; before a shape is counted it has run for 15 ms. So the clocks are those of lasting load under the "
        "power limit."},
       {"launch",
        "host_launch, graph_launch and event_record by the host's clock, the queue empty before. back_to_back and "
        "stream_wait behind a kernel that waits until the host has given all. graph_node by the difference of two "
        "graphs."},
       {"copy",
        "Pinned and on the device by events, pageable by the host's clock. both: one each way at once; the time of the "
        "slower."},
       {"interference",
        "The kernel on a stream of low priority beside the other on one of high priority. median_s is beside it. "
        "other_slowdown: of stream_memory by the bytes that it moved meanwhile, of copies and adamw by the pieces that "
        "began and ended meanwhile; hold_multiprocessors has none."},
       {"step",
        "micro_batch: forward and backward with random tokens, the host ahead, under lasting load: counted after 2 s "
        "of the same. rested_steps: the first ones after a pause of 0.5 s. optimizer: AdamW on all parameters. "
        "memory_bytes: what the device had in use more than before: bf16 parameters and gradients, fp32 master copy "
        "and two moments, and in micro_batch the activations, the logits and the products' workspace."},
       {"collective",
        "Processes on one device over sockets of the loopback: an experiment, no measure of a network."}});
}

}  // namespace

std::string device_document(const DeviceDocument& document) {
  JsonValue how = ledger();
  std::vector<JsonValue> rested;
  for (const Entries& one : document.rested) rested.push_back(json_of(one));
  how.set("rested_steps", std::move(rested));
  std::vector<JsonValue> left_out;
  for (const Omission& one : document.left_out) {
    const std::string what = one.count == 1 ? one.what : fmt::format("{} {}", one.count, one.what);
    left_out.push_back(json_object({{"what", what}, {"why", one.why}}));
  }
  const DeviceInfo& info = document.info;
  const JsonValue head = json_object({{"schema", "accosim.gpu_samples/1"},
                                      {"device", json_of(info)},
                                      {"state_before", json_of(document.before)},
                                      {"state_after", json_of(document.after)},
                                      {"versions", json_object({{"driver", info.driver},
                                                                {"runtime", info.runtime},
                                                                {"cublaslt", info.products},
                                                                {"nccl", info.network},
                                                                {"compiler", compiler_name()}})},
                                      {"machine", machine_json()},
                                      {"commit", source_commit()},
                                      {"date", date_now()},
                                      {"took_s", document.took.value},
                                      {"command", document.command},
                                      {"how", how},
                                      {"bytes", byte_formulas()},
                                      {"left_out", left_out}});
  std::string text = dump_json(head, 1);
  text.erase(text.rfind('\n'));  // the brace that closes it comes after the samples
  text += ",\n \"samples\": [";
  for (std::size_t i = 0; i < document.samples.size(); ++i)
    text += (i == 0 ? "\n  " : ",\n  ") + dump_json(json_of(document.samples[i]));
  return text + "\n ]\n}\n";
}

}  // namespace accocal
