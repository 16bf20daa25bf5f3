// ACCO (arXiv 2406.02613, Algorithm 1): an update is two rounds. While a round computes the gradients of half a batch,
// the other lane reduces those of the last round, steps the sharded optimizer and gathers: in even rounds an estimate
// of the next parameters from half a batch, in odd rounds the real update from both halves, starting from the same
// parameters. A rank accumulates until the communication has finished, so fast ranks do more micro-batches than slow
// ones.
#include <algorithm>
#include <cmath>

#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

/// Looks at the communication per round, at least.
int least_looks(const ScheduleInput& input) {
  // The scenario gives the round's micro-batches; a replay at another batch keeps two equal rounds.
  const int least = input.spec.micro_batches_per_round;
  return (least + input.spec.poll_every - 1) / input.spec.poll_every;
}

Round round_of(bool estimate) { return estimate ? Round::kEstimate : Round::kUpdate; }

}  // namespace

Program build_acco(const ScheduleInput& input, Tables& tables) {
  ProgramBuilder program(tables, lane_names());
  add_micro_batches(program, input, 1);  // Algorithm 1 starts with one micro-batch in the buffer
  OpRef swap = add_swap(program, input, {kCommunicationLane, -1}, true);
  for (int round = 0; round < 2 * input.updates; ++round) {
    const bool estimate = round % 2 == 0;
    const OpRef communicated = add_sharded_update(program, input, swap, round_of(estimate));
    if (input.spec.late_communication == LateCommunication::kWait)
      add_micro_batches(program, input, input.spec.micro_batches_per_round);
    else
      add_micro_batches_until(program, input, least_looks(input), communicated);
    // After the estimate the sum of gradients starts anew; after the update it goes on, to hold both halves.
    swap = add_swap(program, input, communicated, estimate);
    program.mark(kComputeLane, estimate ? Mark::kRound : Mark::kUpdate);
  }
  return program.take(input.kind.workload.micro_batch_size);
}

namespace {

/// Looks of the round at its communication, each after poll_every micro-batches.
double looks_of(const ScheduleInput& input, bool estimate) {
  const Seconds p = input.spec.poll_every * (input.kind.forward + input.kind.backward);
  const Seconds T = sharded_update_time(input, round_of(estimate));
  return std::max<double>(least_looks(input), std::ceil((T - kTie) / p));
}

}  // namespace

double acco_micro_batches(const ScheduleInput& input) {
  if (input.spec.late_communication == LateCommunication::kWait) return 2 * input.spec.micro_batches_per_round;
  return input.spec.poll_every * (looks_of(input, true) + looks_of(input, false));
}

/// Two rounds, each p max(m, ceil(T_r / p)) + s_r, or waiting max(m t, T_r) + s_r: p the time between two looks, m the
/// least number of them, T_r with the clones in the estimate's round, s_r with the clearing of gradients there.
Seconds acco_closed_form(const ScheduleInput& input) {
  const Seconds p = input.spec.poll_every * (input.kind.forward + input.kind.backward);
  Seconds update;
  for (const bool estimate : {true, false}) {
    const Seconds T = sharded_update_time(input, round_of(estimate));
    if (input.spec.late_communication == LateCommunication::kWait)
      update += std::max(input.spec.micro_batches_per_round * (1.0 / input.spec.poll_every * p), T);
    else
      update += looks_of(input, estimate) * p;
    update += swap_time(input, estimate);
  }
  return update;
}

}  // namespace accosim
