// What every update rule is: a function from the body of a kind of rank, and what things cost on it, to that rank's
// program. One file each.
#pragma once

#include <string>
#include <vector>

#include "models/price/price.hpp"
#include "sim/bodies/body.hpp"
#include "sim/graph/builder.hpp"
#include "sim/graph/graph.hpp"
#include "sim/schedules/groups.hpp"

namespace accosim {

/// What is asked of one kind of rank. All kinds make the same collectives in the same order.
struct ScheduleInput {
  const ScheduleSpec& spec;
  const Costs& costs;
  const RankKind& kind;
  int accumulation_steps = 1;  ///< micro-batches per update of such a rank
  int updates = 1;             ///< how many to write down
};

/// What a rule sees. Of other ranks it knows those that sum the gradients of a set (ParameterSet::copies).
struct RuleInput : ScheduleInput {
  const Body& body;
};

using Rule = void (*)(ProgramBuilder& program, const RuleInput& input);

/// Rules that others call, too; the rest is declared where rules are named (build.cpp). One update, without its mark.
void add_ddp_update(ProgramBuilder& program, const RuleInput& input);
void add_zero1_update(ProgramBuilder& program, const RuleInput& input);
void add_zero3_update(ProgramBuilder& program, const RuleInput& input);
/// All updates with their marks: each goes on from the swap of the one before.
void add_acco_updates(ProgramBuilder& program, const RuleInput& input);
/// One update of it inside a replica, which goes on from the one before.
void add_acco_update(ProgramBuilder& program, const RuleInput& input);

/// The graph of a schedule on the whole cluster: a program a kind of rank, its groups, and the links they use. A kind
/// without steps of its own does `accumulation_steps` micro-batches per update.
/// With `few` of the ranks that stand for all.
EventGraph build(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps, int updates,
                 const FewReplicas* few = nullptr);
/// Its programs alone. Those of fewer updates are what they begin with, op for op.
std::vector<Program> programs_of(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps, int updates);
/// The different collectives that such programs ask for.
std::vector<PlanRequest> requests_of(const ScheduleSpec& spec, const Costs& costs, int accumulation_steps);
/// What a rank of a kind computes in a flight of so many micro-batches or, where a rule goes on until something has
/// ended, of at least so many.
Body body_of(const ScheduleSpec& spec, const Costs& costs, const RankKind& kind, int micro_batches);

// ---- shared by the rules ----

/// Lanes that all programs have.
inline constexpr int kComputeLane = 0;
inline constexpr int kCommunicationLane = 1;

/// What a rank optimizes; the optimizer on that: one rank's shard (of whole tensors the largest: its owner is the last
/// to step, and no broadcast ends before every rank has joined it), and on all parameters.
double optimized_elements(const ScheduleInput& input);
Seconds shard_optimizer_time(const ScheduleInput& input);
Seconds full_optimizer_time(const ScheduleInput& input);

/// The mark of an update on the compute lane and, where the play has pauses, the place for one.
void end_update(ProgramBuilder& program, const ScheduleInput& input);

/// The optimizer on this rank's shard, once `ready` has ended: on the GPU, or where its states are on the host there,
/// after `copied`; the compute lane goes on when the parameters are back.
OpRef add_shard_step(ProgramBuilder& program, const RuleInput& input, OpRef ready, OpRef copied = {kComputeLane, -1});
/// On the communication lane, of those that hold what the rank holds (ParameterSet::copies), whoever the request names.
OpRef add_over_copies(ProgramBuilder& program, const RuleInput& input, const std::string& name, PlanRequest request,
                      const std::vector<OpRef>& waits = {});
/// The same of a request about all parameters or all gradients: what ranks have of experts that others have not goes
/// over those with the same ones, behind the rest.
OpRef add_of_all_parameters(ProgramBuilder& program, const RuleInput& input, const std::string& name,
                            const PlanRequest& request, const std::vector<OpRef>& waits = {});
/// The all-gather of all parameters by a sharded optimizer, in the pieces that the spec asks for.
PlanRequest parameter_gather(const ScheduleInput& input);
/// Once a rank's part has been stepped, all parameters reach those that share them: by that all-gather, by a broadcast
/// of each rank's part, or where ranks own whole tensors of each tensor. What then ends the update on the compute lane
/// is nothing, or on a rank whose 16-bit type is not the one that they came in, a cast of them all.
void add_parameters(ProgramBuilder& program, const RuleInput& input, OpRef stepped);
/// All-reduces the ranks' numbers of micro-batches on the communication lane, after `ready`.
void add_counts(ProgramBuilder& program, const RuleInput& input, OpRef ready);

/// A forward pass of ZeRO-3 by itself, with the gathers that it waits for.
Seconds zero3_forward_time(const RuleInput& input);

}  // namespace accosim
