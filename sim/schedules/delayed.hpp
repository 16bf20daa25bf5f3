// What rules have in common that communicate beside the computation of the next gradients: the communication lane's
// round, the micro-batches beside it, and the swap of buffers that ends both.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/schedules/schedule.hpp"

namespace accosim {

/// What the communication lane does in one round: an update of the shard; an estimate, with the states saved before and
/// restored after it; or an update and then a prediction from it, saved and restored likewise.
enum class Round : std::uint8_t { kUpdate, kEstimate, kPredict };

/// All-reduces the counts of micro-batches, reduce-scatters, scales, steps the shard, all-gathers. Waits for `swap`.
/// Without `reduces` the sums are on the lane already.
OpRef add_sharded_update(ProgramBuilder& program, const RuleInput& input, OpRef swap, Round round, bool reduces = true);

/// The same of a shard whose gradients are reduced and whose parameters are gathered in the micro-batches themselves, a
/// unit at a time (ZeRO-3): scales and steps alone, on a lane of its own. All ranks have made as many micro-batches.
OpRef add_shard_round(ProgramBuilder& program, const RuleInput& input, OpRef swap, Round round);
/// Such micro-batches (zero3.cpp).
void add_unit_micro_batches(ProgramBuilder& program, const RuleInput& input, int count);

/// At least `least` micro-batches; where late communication makes ranks accumulate, in whole groups of `poll_every`
/// until `communicated` has ended.
void add_micro_batches_beside(ProgramBuilder& program, const RuleInput& input, int least, OpRef communicated);

/// The buffer swap that ends a round on the compute lane, after `communication`: parameters from the communication
/// buffer, gradients into it, the gradients cleared where the next round starts a sum anew, and a drained host.
OpRef add_swap(ProgramBuilder& program, const RuleInput& input, OpRef communication, bool clear);
/// The same of a round whose gradients have left by themselves: a bucket at a time, a micro-batch at a time, or not
/// yet.
OpRef add_parameter_swap(ProgramBuilder& program, const RuleInput& input, OpRef communication, bool clear);

/// The rounds of updates whose pipelines are not drained between them: while stages still have backward passes of a
/// round to do, on parameters that they keep for these, they begin the next round's forward passes on new ones. Each
/// stage changes its parameters before the forward pass of the same micro-batch, and hands over its gradients after its
/// last backward pass of a round. So a round's gradients are of one set of parameters, as with drained pipelines; but
/// the next parameters are wanted so many micro-batches earlier as there are stages behind the first.
/// `rounds`: of an update, in order; `least`: micro-batches of each.
void add_undrained_updates(ProgramBuilder& program, const RuleInput& input, const std::vector<Round>& rounds,
                           int least);

/// What the first round communicates: one micro-batch, as Algorithm 1 of ACCO's paper starts. Its swap.
OpRef add_first_round(ProgramBuilder& program, const RuleInput& input);

}  // namespace accosim
