// A tiny measurement of a device, for tests: a model of a thousand parameters, few runs of each.
#pragma once

#include <string>

#include "calibration/measure/measure_run.hpp"
#include "tests/support/json.hpp"

namespace accocal {

inline BenchOptions tiny_bench() {
  return BenchOptions{.beyond = 4096, .batch = Seconds{4e-6}, .replay = Seconds{6e-6}, .is_short = Seconds{2e-6}};
}

inline Efforts tiny_efforts() {
  Efforts efforts;
  efforts.product = efforts.kernel = efforts.beside = efforts.copy = {Seconds{1e-6}, Seconds{1e-6}, 3, 3};
  efforts.launch = {Seconds{1e-6}, Seconds{1e-6}, 3, 3};
  efforts.load = efforts.step = efforts.rest = efforts.rested = efforts.settle = Seconds{0};
  efforts.load_size = 8;
  efforts.launches = 4;
  return efforts;
}

inline Operand array(std::size_t bytes, bool fresh) {
  return Operand{.bytes = bytes, .content = Content::kFloat, .fresh = fresh};
}

inline PlanSizes tiny_sizes() {
  PlanSizes sizes{.first = {{{1, 8, 2, 4, 48}, "tiny"}},
                  .sequences = {1},
                  .update_sequences = {1},
                  .step_sequences = {1, 2},
                  .sweep = {512},
                  .optimizer = {100},
                  .copies = {256},
                  .hold_blocks = {2},
                  .stream_blocks = {2},
                  .beside_bytes = 1024,
                  .beside_elements = 64};
  sizes.off_tile = sizes.other_types = false;
  return sizes;
}

/// The document.
inline std::string measured_text(const std::string& only = "", const PlanSizes& sizes = tiny_sizes()) {
  MeasureSetting setting{.bench = tiny_bench(), .efforts = tiny_efforts(), .clock = [] { return Seconds{0}; }};
  setting.say = [](const std::string&) {};
  return measure_plan(make_device_plan(sizes), setting, DeviceMeasureOptions{.only = only}, {});
}

inline Json measured(const std::string& only = "", const PlanSizes& sizes = tiny_sizes()) {
  return Json::parse(measured_text(only, sizes));
}

}  // namespace accocal
