// ACCO (arXiv 2406.02613, Algorithm 1): an update is two rounds. While a round computes the gradients of half a batch,
// the other lane reduces those of the last round, steps the sharded optimizer and gathers: in even rounds an estimate
// of the next parameters from half a batch, in odd rounds the real update from both halves, starting from the same
// parameters. A rank accumulates until the communication has finished, so fast ranks do more micro-batches than slow
// ones.
//
// Forms that the paper names and nobody has released, as they follow from it:
// - buckets that start inside the round: the last micro-batch of a round is known, so its gradients are copied to a
//   second buffer and reduced as they fill, behind the gather that the round waits for;
// - gradients sharded as ZeRO-2 has them: each micro-batch is reduced into the shard by itself, on the same lane, and
//   the backward pass of the next waits for that; the round waits for its gather alone;
// - parameters sharded as well, as ZeRO-3 has them: units are gathered and reduced in the micro-batches, from the shard
//   of the estimate or of the update, so that beside a round only the step of the shard is left;
// - an estimate from a rank's own gradients, which steps without m and v, since a rank has these of its shard alone:
//   nothing is sent for it, so only the rounds of real updates communicate.
#include "sim/bodies/write.hpp"
#include "sim/schedules/buckets.hpp"
#include "sim/schedules/delayed.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

Round round_of(bool estimate) { return estimate ? Round::kEstimate : Round::kUpdate; }

/// Least number of micro-batches in a round: half of the rank's own, where its node group has some.
int least_a_round(const ScheduleInput& input) {
  return input.kind.own_steps ? *input.kind.own_steps / 2 : input.spec.micro_batches_per_round;
}

bool is_local(const ScheduleInput& input) { return input.spec.estimate == EstimateOf::kLocal; }
bool is_in_buckets(const ScheduleInput& input) { return input.spec.overlap == Overlap::kBackward; }
bool is_in_units(const ScheduleInput& input) { return input.spec.zero_stage == 3; }
bool is_by_micro_batch(const ScheduleInput& input) { return input.spec.zero_stage == 2; }

/// Micro-batches whose last one's gradients go to the second buffer and are reduced, a bucket at a time.
void add_in_buckets(ProgramBuilder& program, const RuleInput& input, int count) {
  const std::vector<Bucket> buckets = gradient_buckets(input);
  std::size_t next = 0;
  Hooks hooks;
  hooks.last.stands = [&](int set, int tensor) {
    return next < buckets.size() && buckets[next].ends_with(set, tensor);
  };
  hooks.last.write = [&](ProgramBuilder& each, int, int, OpRef) {
    const Bucket& bucket = buckets[next++];
    const OpRef filled = each.compute(kComputeLane, "copy gradients into bucket", OpClass::kCopy,
                                      memory_time(bucket.bytes, bucket.bytes, input.kind.device));
    each.collective(kCommunicationLane, "reduce-scatter of a bucket",
                    {CollectiveKind::kReduceScatter, bucket.bytes, 1, bucket.copies}, {filled});
  };
  write(program, input.body, {count}, hooks);
}

/// Micro-batches that are reduced one by one. A backward pass needs the buffer that holds the gradients before.
void add_by_micro_batch(ProgramBuilder& program, const RuleInput& input, int count, OpRef& reduced) {
  bool waits = true;
  Hooks hooks;
  hooks.before.stands = [&](Pass pass, int, int) { return waits && pass == Pass::kBackward; };
  hooks.before.write = [&](ProgramBuilder&, Pass, int, int) {
    waits = false;
    return reduced;
  };
  hooks.end = [&](ProgramBuilder& each) {
    waits = true;
    reduced = add_of_all_parameters(each, input, "reduce-scatter",
                                    {CollectiveKind::kReduceScatter, input.costs.gradient_bytes(input.kind)},
                                    {each.last(kComputeLane)});
  };
  Often often{count};
  often.written = true;
  write(program, input.body, often, hooks);
}

/// Parameters, those of the update before and the gradients of half a batch read, the estimate written: theta + beta_1
/// (theta - theta_before) - (1 - beta_1) lr sign(gradient), as accocal has it.
void add_local_estimate(ProgramBuilder& program, const RuleInput& input) {
  const Bytes parameters = input.costs.parameter_bytes(input.kind);
  program.compute(kComputeLane, "local estimate", OpClass::kOptimizer,
                  memory_time(2 * parameters + input.costs.gradient_bytes(input.kind), parameters, input.kind.device));
}

/// What a round goes on from.
struct InFlight {
  OpRef swap, reduced{kCommunicationLane, -1};
};

/// One round and its swap. After the estimate's the sum of gradients starts anew; after the update's it goes on, to
/// hold both halves.
void add_round(ProgramBuilder& program, const RuleInput& input, bool estimate, InFlight& before) {
  if (is_in_units(input)) {
    const OpRef stepped = add_shard_round(program, input, before.swap, round_of(estimate));
    add_unit_micro_batches(program, input, least_a_round(input));
    before.swap = program.compute(kComputeLane, "wait for the step", OpClass::kCopy, Seconds{0}, {stepped});
    return;
  }
  const bool silent = is_local(input) && estimate;  // nothing is sent
  const bool apart = is_in_buckets(input) || is_by_micro_batch(input);
  OpRef communicated{kCommunicationLane, -1};
  if (silent)
    add_local_estimate(program, input);
  else
    communicated = add_sharded_update(program, input, before.swap, round_of(estimate), !apart);
  const int least = least_a_round(input);
  const bool given = estimate || !is_local(input);  // this round's gradients are reduced next
  if (is_by_micro_batch(input))
    add_by_micro_batch(program, input, least, before.reduced);
  else if (is_in_buckets(input) && given)
    add_in_buckets(program, input, least);
  else if (silent)
    write(program, input.body, {least});
  else
    add_micro_batches_beside(program, input, least, communicated);
  before.swap = apart || !given ? add_parameter_swap(program, input, communicated, estimate)
                                : add_swap(program, input, communicated, estimate);
}

/// What the first round goes on from.
InFlight first_round(ProgramBuilder& program, const RuleInput& input) {
  if (is_in_units(input)) {
    add_unit_micro_batches(program, input, 1);
    return {program.last(kComputeLane)};
  }
  if (is_by_micro_batch(input)) {
    InFlight before;
    add_by_micro_batch(program, input, 1, before.reduced);
    before.swap = add_parameter_swap(program, input, {kCommunicationLane, -1}, true);
    return before;
  }
  if (is_in_buckets(input) && !is_local(input)) {
    add_in_buckets(program, input, 1);
    return {add_parameter_swap(program, input, {kCommunicationLane, -1}, true)};
  }
  return {add_first_round(program, input)};
}

}  // namespace

void add_acco_updates(ProgramBuilder& program, const RuleInput& input) {
  if (!input.spec.pipeline_flush)
    return add_undrained_updates(program, input, {Round::kEstimate, Round::kUpdate}, least_a_round(input));
  InFlight before = first_round(program, input);
  for (int round = 0; round < 2 * input.updates; ++round) {
    const bool estimate = round % 2 == 0;
    add_round(program, input, estimate, before);
    if (estimate)
      program.mark(kComputeLane, Mark::kRound);
    else
      end_update(program, input);
  }
}

void add_acco_update(ProgramBuilder& program, const RuleInput& input) {
  InFlight before{{kComputeLane, -1}};
  for (const bool estimate : {true, false}) add_round(program, input, estimate, before);
}

}  // namespace accosim
