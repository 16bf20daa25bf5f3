// DiLoCo (arXiv 2311.08105): every replica makes H updates by itself, then all reduce how far they moved and take an
// outer step with Nesterov's momentum. A replica is a rank, a node or a node group, and each of its ranks keeps the
// outer momentum and the parameters from before, of all or of its shard. An update, as the figures count it, is an
// inner one.
#include "models/spec/schedule.hpp"
#include "sim/schedules/replicas.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

Seconds outer_time(const ScheduleInput& input) {
  // theta - theta_replica: two read, what is sent written; momentum read and written, theta read and written, the
  // parameters written.
  const double elements = exchanged_elements(input);
  const Bytes one = elements * kept_bytes(input), sent = elements * outer_bytes(input.spec);
  return memory_time(2 * one, sent, input.kind.device) + memory_time(2 * one + sent, 3 * one, input.kind.device);
}

}  // namespace

void add_diloco_update(ProgramBuilder& program, const RuleInput& input) {
  add_local_updates(program, input);
  const OpRef moved = add_exchanges(program, input, "what was moved", program.last(kComputeLane));
  program.compute(kComputeLane, "outer optimizer", OpClass::kOptimizer, outer_time(input), {moved});
}

}  // namespace accosim
