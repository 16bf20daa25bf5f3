#include "sim/schedules/meetings.hpp"

#include "models/spec/schedule_traits.hpp"
#include "sim/schedules/host.hpp"
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

OpRef add_buffer(ProgramBuilder& program, const RuleInput& input, const std::string& what, double elements) {
  const std::string name = what + " to buffer";
  const Sends what_of = traits_of(input.spec).sends;
  const Bytes own = elements * own_bytes(input), sent = elements * outer_bytes(input.spec),
              state = what_of == Sends::kParameters ? Bytes{0} : elements * kFp32;
  if (input.spec.offload_outer) {
    const OpRef there = program.offload(host_lanes(program, input).to, "parameters to host", pcie_time(input, own),
                                        {program.last(kComputeLane)});
    return program.offload(host_lanes(program, input).on, name, host_time(input, own + state, sent), {there});
  }
  const Bytes read = what_of == Sends::kParameters ? elements * kept_bytes(input)
                     : what_of == Sends::kChanges  ? own + state
                                                   : state;
  return program.compute(kComputeLane, name, OpClass::kCopy, memory_time(read, sent, input.kind.device));
}

void add_outer_step(ProgramBuilder& program, const RuleInput& input, double elements, OpRef sent,
                    const OuterStep& step) {
  const char* const name = "outer optimizer";
  const Bytes states = elements * traits_of(input.spec).outer_states * kFp32, own = elements * own_bytes(input),
              came = elements * (received_bytes(input) + step.own_sent * outer_bytes(input.spec)),
              taken = elements * taken_bytes(input), mixed = step.reads_own ? own : Bytes{0};
  if (!input.spec.offload_outer) {
    const Seconds time = memory_time(came + states + mixed, states + taken, input.kind.device);
    program.compute(kComputeLane, name, OpClass::kOptimizer, time, {sent});
    return;
  }
  const OpRef stepped =
      program.offload(host_lanes(program, input).on, name, host_time(input, came + states, states + own),
                      {sent, program.last(kComputeLane)});
  const OpRef back =
      program.offload(host_lanes(program, input).from, "parameters from host", pcie_time(input, own), {stepped});
  // Mixed with its own, or narrower ones made from the master copy that came.
  const Seconds taking = step.reads_own ? memory_time(2 * own, taken, input.kind.device)
                         : taken > own  ? memory_time(own, taken - own, input.kind.device)
                                        : Seconds{0};
  program.compute(kComputeLane, "parameters from buffer", OpClass::kCopy, taking, {back});
}

OpRef add_sent(ProgramBuilder& program, const RuleInput& input, const std::string& what, int lane) {
  const OpRef filled = add_buffer(program, input, what, exchanged_elements(input));
  return add_exchanges(program, lane, what, exchanges(input), filled);
}

void add_outer_step(ProgramBuilder& program, const RuleInput& input, OpRef sent, const OuterStep& step) {
  add_outer_step(program, input, exchanged_elements(input), sent, step);
}

void add_taken_average(ProgramBuilder& program, const RuleInput& input, OpRef sent) {
  program.compute(kComputeLane, "parameters from buffer", OpClass::kCopy, take_time(input, exchanged_elements(input)),
                  {sent});
}

void add_average(ProgramBuilder& program, const RuleInput& input) {
  const double elements = exchanged_elements(input);
  const OpRef filled =
      program.compute(kComputeLane, "parameters to buffer", OpClass::kCopy,
                      memory_time(elements * kept_bytes(input), elements * outer_bytes(input.spec), input.kind.device));
  add_taken_average(program, input, add_exchanges(program, kCommunicationLane, "parameters", exchanges(input), filled));
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
