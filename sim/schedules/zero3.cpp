// ZeRO-3 as PyTorch's fully_shard (FSDP2) does it, per unit: the embedding, each transformer block, the head. A unit's
// parameters are all-gathered before its forward, while the units before it compute, freed after it, gathered again
// before its backward, and its gradients are reduce-scattered while the next backward runs; each rank steps its shard,
// and nothing is gathered until the next forward. Hybrid sharding does this inside each node and then all-reduces the
// shards across nodes, on a communicator of its own, after every micro-batch or after the last. Where ranks share
// experts, those of a block are gathered and reduced behind the rest of it, among the ranks that have the same ones
// (torchtitan's apply_moe_ep_tp and apply_fsdp).
//
// Gathers and reductions of one process group queue in the order in which the host issues them: the gather that is
// prefetched for the next unit stands before the reduction of this one. One reduction is in flight at most: the next
// one's buffer is filled after it. The last unit stays gathered from its forward to its backward, which is next; so do
// tied embeddings, which belong to the root module. Units that are not freed after the backward pass are there for the
// next forward; the last backward of an update always frees them, as their parameters change.
#include <algorithm>
#include <utility>
#include <vector>

#include "models/spec/schedule_traits.hpp"
#include "sim/bodies/write.hpp"
#include "sim/schedules/delayed.hpp"
#include "sim/schedules/host.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

/// A set of parameters as it is gathered and reduced.
struct Unit {
  Seconds unpack;                   ///< copy of the gathered buffer into the parameters
  Seconds pack;                     ///< copy of the gradients into the buffer that is reduced, in its dtype
  std::vector<PlanRequest> gather;  ///< of its parameters
  std::vector<PlanRequest> reduce;  ///< of its gradients
  PlanRequest share;                ///< all-reduce of the shard across nodes, in hybrid sharding
  Bytes shard;                      ///< of its gradients
  bool stays = false;               ///< gathered from forward to backward
};

/// Elements of a set: those that all ranks of an island have, or those of experts that not all of them have.
double elements_of(const ParameterSet& set, bool own) {
  double elements = 0;
  for (std::size_t tensor = 0; tensor < set.tensors.size(); ++tensor)
    if ((!set.own.empty() && set.own[tensor]) == own) elements += set.tensors[tensor];
  return elements;
}

std::vector<Unit> units_of(const RuleInput& input) {
  const Costs& costs = input.costs;
  const ScheduleSpec& spec = input.spec;
  const std::vector<ParameterSet>& sets = input.body.sets;
  const int shards = input.kind.shards, experts = input.kind.share.experts;
  std::vector<Unit> units;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    Unit unit;
    for (const bool own : {false, true}) {
      const double elements = elements_of(sets[i], own);
      if (own && elements == 0) continue;
      const Bytes parameters = elements * bytes_of(costs.parameter_dtype) + (own ? Bytes{0} : sets[i].frozen);
      const Bytes gradients = elements * bytes_of(costs.gradient_dtype);
      const Bytes reduced = elements * bytes_of(spec.reduce_dtype);
      const int sharing = own ? shards / experts : shards;
      Ranks gathered{own ? with_same_experts(kIsland) : kIsland}, scattered = gathered;
      scattered.communicator = spec.communicators - 1;
      if (sharing > 1) {
        unit.unpack += memory_time(parameters, parameters, input.kind.device);
        unit.pack += memory_time(gradients, reduced, input.kind.device);
      }
      unit.gather.push_back({CollectiveKind::kAllGather, parameters, 1, gathered});
      if (reduced > Bytes{0}) unit.reduce.push_back({CollectiveKind::kReduceScatter, reduced, 1, scattered});
      unit.shard += shard_of(reduced, sharing);
    }
    unit.share = {CollectiveKind::kAllReduce, unit.shard, 1, {kIslands}};
    unit.stays = !spec.reshard_after_forward || i + 1 == sets.size() || (i == 0 && input.kind.tied_embeddings);
    units.push_back(unit);
  }
  return units;
}

/// On the shard, which is kept in fp32.
Seconds shard_step_time(const ScheduleInput& input) {
  const Costs& costs = input.costs;
  return optimizer_time(costs, shard_elements(input.kind), input.kind.device, Dtype::kFp32, input.spec.reduce_dtype);
}

/// Micro-batches that communicate alike.
struct MicroBatches {
  int count = 1;
  bool gathers = true;  ///< before the forward pass; otherwise the units are there
  bool reduces = true;  ///< its gradients, in the backward pass
  bool shares = true;   ///< those between nodes, in hybrid sharding
  bool copies = false;  ///< the sums to the host

  bool is_like(const MicroBatches& other) const {
    return gathers == other.gathers && reduces == other.reduces && shares == other.shares && copies == other.copies;
  }
};

/// Those of an update: the first, the last, and those between, which are all alike.
std::vector<MicroBatches> micro_batches_of(const ScheduleInput& input) {
  const ScheduleSpec& spec = input.spec;
  const int A = input.accumulation_steps;
  std::vector<MicroBatches> all;
  for (const auto& [index, count] : {std::pair(0, 1), std::pair(1, A - 2), std::pair(A - 1, A > 1 ? 1 : 0)}) {
    if (count <= 0) continue;
    const bool last = index == A - 1;
    const bool reduces = last || spec.sync == Sync::kEveryMicroBatch;
    const MicroBatches some{count, index == 0 || spec.reshard_after_backward, reduces,
                            reduces && (last || spec.all_reduce == Sync::kEveryMicroBatch),
                            last && spec.offload_optimizer};
    if (!all.empty() && all.back().is_like(some))
      all.back().count += count;
    else
      all.push_back(some);
  }
  return all;
}

/// What stands before and after each unit of one micro-batch.
class Units {
 public:
  Units(ProgramBuilder& program, const RuleInput& input) : input_(input), units_(units_of(input)) {
    if (input.spec.communicators == 2) reduce_lane_ = program.lane("reduction");
    if (is_hybrid(input.spec)) replica_lane_ = program.lane("replicas");
  }

  /// Outlived by this.
  Hooks hooks(const MicroBatches& some);

 private:
  void begin() {
    begun_.clear();
    ends_.clear();
    gathered_.assign(units_.size(), OpRef{0, -1});
    reduced_ = shared_ = {0, -1};
    next_ = static_cast<int>(units_.size()) - 1;
  }
  void gather(ProgramBuilder& program, int unit, OpRef room) {
    for (const PlanRequest& each : units_[unit].gather)
      gathered_[unit] = program.collective(kCommunicationLane, "all-gather of a unit", each, {room});
  }
  void unpack(ProgramBuilder& program, int unit) {
    program.compute(kComputeLane, "unpack parameters", OpClass::kCopy, units_[unit].unpack, {gathered_[unit]});
  }
  void before_forward(ProgramBuilder& program, int unit);
  void before_backward(ProgramBuilder& program, int unit);
  void after_backward(ProgramBuilder& program, int unit, const MicroBatches& some);

  const RuleInput& input_;
  std::vector<Unit> units_;
  int reduce_lane_ = kCommunicationLane, replica_lane_ = -1;
  std::vector<OpRef> begun_;  // by unit: the last op before it in the forward pass
  std::vector<OpRef> ends_;   // the op that ends the compute of each unit in the backward pass
  std::vector<OpRef> gathered_;
  OpRef reduced_{0, -1}, shared_{0, -1}, copied_{0, -1};
  int next_ = 0;  // to gather, in the backward pass
};

void Units::before_forward(ProgramBuilder& program, int unit) {
  begun_.push_back(program.last(kComputeLane));
  const int freed = unit - input_.spec.prefetch;  // the unit before this one has made room
  gather(program, unit, freed > 0 ? begun_[freed] : OpRef{0, -1});
  unpack(program, unit);
}

void Units::before_backward(ProgramBuilder& program, int unit) {
  const int last = static_cast<int>(units_.size()) - 1;
  if (ends_.empty()) ends_.assign(units_.size(), program.last(kComputeLane));
  for (; next_ >= 0 && next_ >= unit - input_.spec.prefetch; --next_)
    if (!units_[next_].stays) gather(program, next_, ends_[std::min(last, next_ + input_.spec.prefetch + 1)]);
  if (!units_[unit].stays) unpack(program, unit);
}

void Units::after_backward(ProgramBuilder& program, int unit, const MicroBatches& some) {
  if (units_[unit].reduce.empty()) return;  // nothing of it is trained
  const OpRef packed = program.compute(kComputeLane, "pack gradients", OpClass::kCopy, units_[unit].pack, {reduced_});
  for (const PlanRequest& each : units_[unit].reduce)
    reduced_ = program.collective(reduce_lane_, "reduce-scatter of a unit", each, {packed});
  if (replica_lane_ >= 0 && some.shares)
    shared_ = program.collective(replica_lane_, "all-reduce of a shard", units_[unit].share, {reduced_});
  if (some.copies)
    copied_ = add_copy_to_host(program, input_, "gradients to host", units_[unit].shard, {reduced_, shared_});
}

Hooks Units::hooks(const MicroBatches& some) {
  begin();
  Hooks hooks{.in_pieces = true};
  hooks.before.stands = [gathers = some.gathers](Pass pass, int, int tensor) {
    return tensor == 0 && (gathers || pass != Pass::kForward);
  };
  hooks.before.write = [this](ProgramBuilder& program, Pass pass, int set, int) {
    if (pass == Pass::kForward)
      before_forward(program, set);
    else
      before_backward(program, set);
    return OpRef{0, -1};  // the copy stands on the lane
  };
  hooks.after.stands = [this](int set, int tensor) {
    return tensor + 1 == static_cast<int>(input_.body.sets[set].tensors.size());
  };
  hooks.after.write = [this, some](ProgramBuilder& program, int set, int, OpRef computed) {
    ends_[set] = computed;
    if (some.reduces) after_backward(program, set, some);
  };
  hooks.end = [this, some](ProgramBuilder& program) {
    if (some.reduces)
      program.compute(
          kComputeLane, "wait for gradients", OpClass::kCopy, Seconds{0},
          some.copies ? std::vector<OpRef>{reduced_, shared_, copied_} : std::vector<OpRef>{reduced_, shared_});
  };
  return hooks;
}

}  // namespace

void add_zero3_update(ProgramBuilder& program, const RuleInput& input) {
  Units units(program, input);
  for (const MicroBatches& some : micro_batches_of(input)) write(program, input.body, {some.count}, units.hooks(some));
  const OpRef ready = write_finish(program, input.body, program.last(kComputeLane));
  if (input.spec.offload_optimizer)
    add_shard_step(program, input, ready);
  else
    program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, shard_step_time(input), {ready});
}

void add_unit_micro_batches(ProgramBuilder& program, const RuleInput& input, int count) {
  Units units(program, input);
  Often one{1};
  one.written = true;  // a loop is on all lanes, and would wait for a step that is beside it
  for (int i = 0; i < count; ++i) write(program, input.body, one, units.hooks({}));
}

Seconds zero3_forward_time(const RuleInput& input) {
  const std::vector<Unit> units = units_of(input);
  const std::size_t ahead = static_cast<std::size_t>(input.spec.prefetch) + 1;
  std::vector<Seconds> ends;  // of the units before
  Seconds gathered, computed;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (i >= ahead) gathered = std::max(gathered, ends[i - ahead]);
    for (const PlanRequest& each : units[i].gather) gathered += request_time(input.costs, each, input.kind.first_rank);
    computed = std::max(computed, gathered) + units[i].unpack + input.kind.times[i].forward;
    ends.push_back(computed);
  }
  return computed;
}

}  // namespace accosim
