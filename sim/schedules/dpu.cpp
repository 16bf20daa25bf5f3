// Delayed parameter update (ZeRO-Offload, arXiv 2101.06840, as ACCO's authors re-implement it): while the gradients of
// the last update are reduced, stepped and gathered, the next ones are computed on the parameters before. When
// communication is late, ranks wait for it or accumulate more micro-batches. Weight prediction (Chen et al. 2019, as
// the ACCO paper has it) is the same with a second optimizer step along the same gradient, whose parameters are what is
// gathered; the states go back afterwards.
#include <algorithm>

#include "models/spec/schedule_traits.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

Round round_of(const ScheduleSpec& spec) {
  return traits_of(spec).lookahead == Lookahead::kPrediction ? Round::kPredict : Round::kUpdate;
}

}  // namespace

Program build_dpu(const ScheduleInput& input, Tables& tables) {
  ProgramBuilder program(tables, lane_names());
  const Round round = round_of(input.spec);
  add_micro_batches(program, input, 1);  // something to communicate in the first round
  OpRef swap = add_swap(program, input, {kCommunicationLane, -1}, true);
  for (int update = 0; update < input.updates; ++update) {
    const OpRef communicated = add_sharded_update(program, input, swap, round);
    if (input.spec.late_communication == LateCommunication::kWait)
      add_micro_batches(program, input, input.accumulation_steps);
    else
      add_micro_batches_until(program, input, input.accumulation_steps, communicated);
    swap = add_swap(program, input, communicated, true);
    end_update(program, input);
  }
  return program.take(input.kind.workload.micro_batch_size);
}

double dpu_micro_batches(const ScheduleInput& input) {
  if (input.spec.late_communication == LateCommunication::kWait) return input.accumulation_steps;
  const Seconds T = sharded_update_time(input, round_of(input.spec));
  return accumulated_until(input, input.accumulation_steps, T).micro_batches;
}

/// max(A t, T) + s when waiting, the time of accumulated_until(A, T) + s when accumulating. T of weight prediction has
/// a second step of the shard and the clones.
Seconds dpu_closed_form(const ScheduleInput& input) {
  const Round round = round_of(input.spec);
  const Seconds t = input.kind.forward + input.kind.backward;
  const Seconds T = sharded_update_time(input, round), s = swap_time(input, true);
  if (input.spec.late_communication == LateCommunication::kWait) return std::max(input.accumulation_steps * t, T) + s;
  return accumulated_until(input, input.accumulation_steps, T).time + s;
}

}  // namespace accosim
