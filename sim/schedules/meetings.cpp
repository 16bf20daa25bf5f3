#include "sim/schedules/meetings.hpp"

#include <algorithm>

#include "models/spec/device.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "models/spec/training.hpp"
#include "sim/schedules/replicas.hpp"

namespace accosim {
namespace {

const Bytes kFp32{4};  // of the outer optimizer

/// Written where the replica takes parameters: what it computes with, and the master copy.
Bytes taken_bytes(const ScheduleInput& input) {
  const Bytes kept = kept_bytes(input), states = bytes_of(input.spec.optimizer_dtype);
  return kept < states ? kept + states : kept;
}

/// The sum, or what each replica sent where the others sum it.
Bytes received_bytes(const ScheduleInput& input) {
  const bool each = input.spec.outer_dtype == OuterDtype::kE3m0;
  return (each ? input.costs.layout.size(Dim::kReplica) : 1) * outer_bytes(input.spec);
}

Seconds take_time(const ScheduleInput& input, double elements) {
  return memory_time(elements * outer_bytes(input.spec), elements * taken_bytes(input), input.kind.device);
}

}  // namespace

Seconds fill_time(const ScheduleInput& input, double elements) {
  const Bytes own = traits_of(input.spec).sends_changes ? own_bytes(input) + kFp32 : kept_bytes(input);
  return memory_time(elements * own, elements * outer_bytes(input.spec), input.kind.device);
}

Seconds outer_step_time(const ScheduleInput& input, double elements, const OuterStep& step) {
  const Bytes states = traits_of(input.spec).outer_states * kFp32, own = step.reads_own ? own_bytes(input) : Bytes{0},
              came = received_bytes(input) + step.own_sent * outer_bytes(input.spec);
  return memory_time(elements * (came + states + own), elements * (states + taken_bytes(input)), input.kind.device);
}

OpRef add_sent(ProgramBuilder& program, const RuleInput& input, const std::string& what, int lane) {
  const Seconds time = fill_time(input, exchanged_elements(input));
  const OpRef filled = program.compute(kComputeLane, what + " to buffer", OpClass::kCopy, time);
  return add_exchanges(program, lane, what, exchanges(input), filled);
}

void add_taken_average(ProgramBuilder& program, const RuleInput& input, OpRef sent) {
  program.compute(kComputeLane, "parameters from buffer", OpClass::kCopy, take_time(input, exchanged_elements(input)),
                  {sent});
}

void add_average(ProgramBuilder& program, const RuleInput& input) {
  add_taken_average(program, input, add_sent(program, input, "parameters", kCommunicationLane));
}

OpRef add_outer_step(ProgramBuilder& program, const RuleInput& input, OpRef sent, const OuterStep& step) {
  return program.compute(kComputeLane, "outer optimizer", OpClass::kOptimizer,
                         outer_step_time(input, exchanged_elements(input), step), {sent});
}

void add_owners_step(ProgramBuilder& program, const RuleInput& input) {
  const double elements = input.kind.parameters;
  const int owners = outer_owners(input.spec, input.costs.ranks());
  // NCCL's reduce is its broadcast backwards.
  const PlanRequest each{CollectiveKind::kBroadcast, elements * kFp32, owners};
  const OpRef reduced = program.collective(kCommunicationLane, "reductions of shards to their owners", each,
                                           {program.last(kComputeLane)});
  const double shard = shard_of(elements, owners);
  const OpRef stepped =
      program.compute(kComputeLane, "outer optimizer", OpClass::kOptimizer,
                      memory_time(shard * 3 * kFp32, shard * 3 * kFp32, input.kind.device), {reduced});
  const OpRef sent = program.collective(kCommunicationLane, "broadcasts of shards by their owners", each, {stepped});
  program.compute(kComputeLane, "parameters from buffer", OpClass::kCopy,
                  memory_time(elements * kFp32, elements * taken_bytes(input), input.kind.device), {sent});
}

}  // namespace accosim
