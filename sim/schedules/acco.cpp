// ACCO (arXiv 2406.02613, Algorithm 1): an update is two rounds. While a round computes the gradients of half a batch,
// the other lane reduces those of the last round, steps the sharded optimizer and gathers: in even rounds an estimate
// of the next parameters from half a batch, in odd rounds the real update from both halves, starting from the same
// parameters. A rank accumulates until the communication has finished, so fast ranks do more micro-batches than slow
// ones.
#include "models/spec/schedule.hpp"
#include "sim/schedules/delayed.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

Round round_of(bool estimate) { return estimate ? Round::kEstimate : Round::kUpdate; }

/// Least number of micro-batches in a round: half of the rank's own, where its node group has some.
int least_a_round(const ScheduleInput& input) {
  return input.kind.own_steps ? *input.kind.own_steps / 2 : input.spec.micro_batches_per_round;
}

}  // namespace

void add_acco_updates(ProgramBuilder& program, const RuleInput& input) {
  OpRef swap = add_first_round(program, input);
  for (int round = 0; round < 2 * input.updates; ++round) {
    const bool estimate = round % 2 == 0;
    const OpRef communicated = add_sharded_update(program, input, swap, round_of(estimate));
    add_micro_batches_beside(program, input, least_a_round(input), communicated);
    // After the estimate the sum of gradients starts anew; after the update it goes on, to hold both halves.
    swap = add_swap(program, input, communicated, estimate);
    if (estimate)
      program.mark(kComputeLane, Mark::kRound);
    else
      end_update(program, input);
  }
}

}  // namespace accosim
