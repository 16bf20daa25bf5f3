// Local SGD (Stich, arXiv 1805.09767; Lin et al., arXiv 1808.07217), here with AdamW inside: every replica makes H
// updates by itself, then all take the mean of their parameters, as PyTorch's PeriodicModelAverager does it: scaled
// into a flat buffer, all-reduced, copied back. The mean is of the parameters as they are stored; where the optimizer
// steps from an fp32 copy of narrower ones, that is set from the mean too, or the next step would undo it. Both moments
// stay as they are. An update, as the figures count it, is a local one.
#include "models/spec/schedule.hpp"
#include "sim/schedules/replicas.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

Seconds fill_time(const ScheduleInput& input) {
  const double elements = exchanged_elements(input);
  return memory_time(elements * kept_bytes(input), elements * outer_bytes(input.spec), input.kind.device);
}

Seconds take_time(const ScheduleInput& input) {
  const double elements = exchanged_elements(input);
  const Bytes kept = kept_bytes(input), states = bytes_of(input.spec.optimizer_dtype);
  const Bytes master = kept < states ? elements * states : Bytes{0};
  return memory_time(elements * outer_bytes(input.spec), elements * kept + master, input.kind.device);
}

}  // namespace

void add_local_sgd_update(ProgramBuilder& program, const RuleInput& input) {
  add_local_updates(program, input);
  const OpRef filled = program.compute(kComputeLane, "parameters to buffer", OpClass::kCopy, fill_time(input));
  const OpRef averaged = add_exchanges(program, input, "parameters", filled);
  program.compute(kComputeLane, "parameters from buffer", OpClass::kCopy, take_time(input), {averaged});
}

}  // namespace accosim
