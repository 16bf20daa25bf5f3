#include "sim/schedules/delayed.hpp"

#include "sim/bodies/write.hpp"

namespace accosim {
namespace {

/// Where the released ACCO waits on the host for the GPU (after each group of micro-batches, after each swap, after
/// each round of the communication lane) the GPU then waits for the host's next launch: one launch interval.
Seconds drain_time(const ScheduleInput& input) { return input.kind.device.launch_interval; }

Seconds clone_time(const ScheduleInput& input) {
  // fp32 master, m and v of the shard; the master alone where the moments stay.
  const Bytes each{input.spec.rollback_estimate ? 12.0 : 4.0};
  const Bytes states = shard_elements(input.kind) * each;
  return memory_time(states, states, input.kind.device);
}

/// The shard's reduced gradient copied to fp32, and multiplied by one over the count. accocal's optimizer does both.
Seconds scaling_time(const ScheduleInput& input) {
  if (input.costs.implementation == Implementation::kAccocal) return Seconds{0};
  const double elements = shard_elements(input.kind);
  const Bytes reduced = elements * bytes_of(input.costs.gradient_dtype), wide = elements * bytes_of(Dtype::kFp32);
  return memory_time(reduced, wide, input.kind.device) + memory_time(wide, wide, input.kind.device);
}

}  // namespace

namespace {

/// What the ranks of a model still exchange of the gradients, before what follows on the communication lane.
void add_finish(ProgramBuilder& program, const RuleInput& input) {
  const OpRef reduced = program.last(kCommunicationLane);
  const OpRef finished = write_finish(program, input.body, reduced);
  if (finished.lane != reduced.lane)
    program.compute(kCommunicationLane, "wait for gradients", OpClass::kCopy, Seconds{0}, {finished});
}

}  // namespace

OpRef add_sharded_update(ProgramBuilder& program, const RuleInput& input, OpRef swap, Round round, bool reduces) {
  const Costs& costs = input.costs;
  const bool clone = round == Round::kEstimate;
  program.host(kCommunicationLane, "drained host", drain_time(input), {swap});
  if (clone) program.compute(kCommunicationLane, "clone optimizer states", OpClass::kCopy, clone_time(input));
  add_counts(program, input, {kCommunicationLane, -1});
  if (reduces)
    add_of_all_parameters(program, input, "reduce-scatter",
                          {CollectiveKind::kReduceScatter, costs.gradient_bytes(input.kind)});
  add_finish(program, input);
  if (const Seconds scaling = scaling_time(input); scaling > Seconds{0})
    program.compute(kCommunicationLane, "copy and scale gradients", OpClass::kCopy, scaling);
  program.compute(kCommunicationLane, "optimizer", OpClass::kOptimizer, shard_optimizer_time(input));
  if (round == Round::kPredict) {
    program.compute(kCommunicationLane, "clone optimizer states", OpClass::kCopy, clone_time(input));
    program.compute(kCommunicationLane, "prediction", OpClass::kOptimizer, shard_optimizer_time(input));
    program.compute(kCommunicationLane, "restore optimizer states", OpClass::kCopy, clone_time(input));
  }
  OpRef end = add_of_all_parameters(program, input, "all-gather",
                                    {CollectiveKind::kAllGather, costs.parameter_bytes(input.kind)});
  if (clone) end = program.compute(kCommunicationLane, "restore optimizer states", OpClass::kCopy, clone_time(input));
  return end;
}

OpRef add_shard_round(ProgramBuilder& program, const RuleInput& input, OpRef swap, Round round) {
  const int lane = program.lane("step");
  const bool clone = round == Round::kEstimate;
  program.host(lane, "drained host", drain_time(input), {swap});
  if (clone) program.compute(lane, "clone optimizer states", OpClass::kCopy, clone_time(input));
  if (const Seconds scaling = scaling_time(input); scaling > Seconds{0})
    program.compute(lane, "copy and scale gradients", OpClass::kCopy, scaling);
  OpRef end = program.compute(lane, "optimizer", OpClass::kOptimizer, shard_optimizer_time(input));
  if (clone) end = program.compute(lane, "restore optimizer states", OpClass::kCopy, clone_time(input));
  return end;
}

namespace {

/// So many micro-batches, or rounds of an open flight, beside the communication.
Often beside(const RuleInput& input, int least, OpRef communicated) {
  Often often{least};
  if (input.spec.late_communication == LateCommunication::kAccumulate) {
    often.until = communicated;
    often.every = input.spec.poll_every;
    often.look = drain_time(input);
  }
  return often;
}

/// What a swap copies from buffer to buffer.
enum class Swapped : std::uint8_t { kBoth, kParameters, kGradients };

/// Where types differ, it casts as it copies.
OpRef add_buffers(ProgramBuilder& program, const RuleInput& input, OpRef communication, Swapped swapped, bool clear) {
  const bool gradients_too = swapped != Swapped::kParameters, parameters_too = swapped != Swapped::kGradients;
  const bool casts = (gradients_too && input.kind.casts_gradients) || (parameters_too && input.kind.casts_parameters);
  const char* const name = casts ? (clear ? "swap, cast and clear buffers" : "swap and cast buffers")
                                 : (clear ? "swap and clear buffers" : "swap buffers");
  const Bytes parameters = input.costs.parameter_bytes(input.kind), gradients = input.costs.gradient_bytes(input.kind);
  Seconds time;
  if (parameters_too) time += memory_time(parameters, parameters, input.kind.device);
  if (gradients_too) time += memory_time(gradients, gradients, input.kind.device);
  time += drain_time(input);
  if (clear) time += memory_time(Bytes{0}, gradients, input.kind.device);
  return program.compute(kComputeLane, name, OpClass::kCopy, time, {communication});
}

}  // namespace

void add_micro_batches_beside(ProgramBuilder& program, const RuleInput& input, int least, OpRef communicated) {
  write(program, input.body, beside(input, least, communicated));
}

OpRef add_swap(ProgramBuilder& program, const RuleInput& input, OpRef communication, bool clear) {
  return add_buffers(program, input, communication, Swapped::kBoth, clear);
}

OpRef add_parameter_swap(ProgramBuilder& program, const RuleInput& input, OpRef communication, bool clear) {
  return add_buffers(program, input, communication, Swapped::kParameters, clear);
}

void add_undrained_updates(ProgramBuilder& program, const RuleInput& input, const std::vector<Round>& rounds,
                           int least) {
  const int before = input.kind.share.stage, behind = input.kind.share.stages - 1 - before;
  constexpr OpRef kNothing{kCommunicationLane, -1};
  OpenFlight flight(program, input.body);
  flight.go_on({behind});
  OpRef swap = add_buffers(program, input, kNothing, Swapped::kGradients, true);
  for (int update = 0; update < input.updates; ++update) {
    for (const Round round : rounds) {
      const OpRef communicated = add_sharded_update(program, input, swap, round);
      flight.go_on({before});
      flight.go_on(beside(input, least - before - behind, communicated));
      add_parameter_swap(program, input, communicated, false);
      flight.go_on({behind});
      const bool last = &round == &rounds.back();
      // The sum goes on where the next round's gradients are to be added to these.
      swap =
          add_buffers(program, input, kNothing, Swapped::kGradients, rounds.size() == 1 || round == Round::kEstimate);
      if (!last) program.mark(kComputeLane, Mark::kRound);
    }
    end_update(program, input);
  }
  flight.go_on({before});
  flight.close();
}

OpRef add_first_round(ProgramBuilder& program, const RuleInput& input) {
  write(program, input.body, {1});
  return add_swap(program, input, {kCommunicationLane, -1}, true);
}

}  // namespace accosim
