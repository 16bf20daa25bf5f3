// Delayed parameter update (ZeRO-Offload, arXiv 2101.06840, as ACCO's authors re-implement it): while the gradients of
// the last update are reduced, stepped and gathered, the next ones are computed on the parameters before. When
// communication is late, ranks wait for it or accumulate more micro-batches. Weight prediction (Chen et al. 2019, as
// the ACCO paper has it) is the same with a second optimizer step along the same gradient, whose parameters are what is
// gathered; the states go back afterwards.
#include "models/spec/schedule_traits.hpp"
#include "sim/schedules/delayed.hpp"
#include "sim/schedules/host.hpp"
#include "sim/schedules/reductions.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

Round round_of(const ScheduleSpec& spec) {
  return traits_of(spec).lookahead == Lookahead::kPrediction ? Round::kPredict : Round::kUpdate;
}

/// As ZeRO-Offload has it: gradients are reduced in the backward pass, and the GPU waits for that, and for the copies
/// of its shard to the host, at the end of each; the host steps while the next update computes, and what is back by
/// then, or later, is gathered before the one after it. The host's buffer of parameters is free when they are on the
/// GPU.
void add_offloaded_updates(ProgramBuilder& program, const RuleInput& input) {
  OpRef back{kComputeLane, -1};
  for (int update = 0; update < input.updates; ++update) {
    Reductions reductions(input);
    write_reduced(program, input, reductions);
    const OpRef given = write_finish(program, input.body, program.last(kComputeLane));
    if (update > 0)
      add_parameters(program, input,
                     program.compute(kComputeLane, "wait for the host", OpClass::kCopy, Seconds{0}, {given, back}));
    back = add_host_step(program, input, {given, back});
    end_update(program, input);
  }
}

}  // namespace

void add_dpu_updates(ProgramBuilder& program, const RuleInput& input) {
  if (input.spec.offload_optimizer) return add_offloaded_updates(program, input);
  const Round round = round_of(input.spec);
  if (!input.spec.pipeline_flush) return add_undrained_updates(program, input, {round}, input.accumulation_steps);
  OpRef swap = add_first_round(program, input);
  for (int update = 0; update < input.updates; ++update) {
    const OpRef communicated = add_sharded_update(program, input, swap, round);
    add_micro_batches_beside(program, input, input.accumulation_steps, communicated);
    swap = add_swap(program, input, communicated, true);
    end_update(program, input);
  }
}

}  // namespace accosim
