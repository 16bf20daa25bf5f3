// ZeRO-3 as PyTorch's fully_shard (FSDP2) does it, per unit: the embedding, each transformer block, the head. A unit's
// parameters are all-gathered before its forward, while the units before it compute, freed after it, gathered again
// before its backward, and its gradients are reduce-scattered while the next backward runs; each rank steps its shard,
// and nothing is gathered until the next forward. Hybrid sharding does this inside each node and then all-reduces the
// shards across nodes, on a communicator of its own.
//
// Gathers and reductions of one process group queue in the order in which the host issues them: the gather that is
// prefetched for the next unit stands before the reduction of this one. One reduction is in flight at most: the next
// one's buffer is filled after it. The last unit stays gathered from its forward to its backward, which is next; so do
// tied embeddings, which belong to the root module.
#include <algorithm>

#include "sim/schedules/replicas.hpp"
#include "sim/schedules/schedule.hpp"

namespace accosim {
namespace {

struct Unit {
  Seconds forward, backward;
  LayerWork work;
  Seconds unpack;      ///< copy of the gathered buffer into the parameters
  Seconds pack;        ///< copy of the gradients into the buffer that is reduced, in its dtype
  PlanRequest gather;  ///< of its parameters
  PlanRequest reduce;  ///< of its gradients
  PlanRequest share;   ///< all-reduce of the shard across nodes, in hybrid sharding
  bool stays = false;  ///< gathered from forward to backward
};

bool is_hybrid(const ScheduleInput& input) { return input.spec.shard_group == ShardGroup::kNode; }

std::vector<Unit> units_of(const ScheduleInput& input) {
  const Costs& costs = input.costs;
  const ScheduleSpec& spec = input.spec;
  const Scope scope = is_hybrid(input) ? Scope::kNode : update_scope(input.spec);
  const int shards = shard_ranks(costs, spec);
  const std::vector<LayerTime>& layers = input.kind.times;
  std::vector<Unit> units;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerTime& layer = layers[i];
    Unit unit;
    unit.work = (*input.kind.works)[i];
    unit.forward = layer.forward;
    unit.backward = layer.backward;
    const Bytes parameters = layer.parameters * bytes_of(costs.parameter_dtype);
    const Bytes gradients = layer.parameters * bytes_of(costs.gradient_dtype);
    const Bytes reduced = layer.parameters * bytes_of(spec.reduce_dtype);
    if (shards > 1) {
      unit.unpack = memory_time(parameters, parameters, input.kind.device);
      unit.pack = memory_time(gradients, reduced, input.kind.device);
    }
    unit.gather = {CollectiveKind::kAllGather, parameters, 1, scope};
    unit.reduce = {CollectiveKind::kReduceScatter, reduced, 1, scope};
    unit.share = {CollectiveKind::kAllReduce, reduced / shards, 1, Scope::kReplicas};
    unit.stays = !spec.reshard_after_forward || i + 1 == layers.size() || (i == 0 && input.kind.tied_embeddings);
    units.push_back(unit);
  }
  return units;
}

/// On the shard, which is kept in fp32.
Seconds shard_step_time(const ScheduleInput& input) {
  const Costs& costs = input.costs;
  return optimizer_time(costs, costs.parameters / shard_ranks(costs, input.spec), input.kind.device, Dtype::kFp32,
                        input.spec.reduce_dtype);
}

/// The lanes of a rank: compute, the communicator of gathers (and reductions), that of reductions where it is another,
/// that of the replicas where there is one.
struct Lanes {
  std::vector<std::string> names = lane_names();
  std::vector<int> all{kComputeLane, kCommunicationLane};
  int reduce = kCommunicationLane;
  int replicas = -1;
};

Lanes lanes_of(const ScheduleInput& input) {
  Lanes lanes;
  const auto add = [&lanes](const char* name) {
    lanes.names.push_back(name);
    lanes.all.push_back(static_cast<int>(lanes.names.size()) - 1);
    return lanes.all.back();
  };
  if (input.spec.communicators == 2) lanes.reduce = add("reduction");
  if (is_hybrid(input)) lanes.replicas = add("replicas");
  return lanes;
}

/// Where the op is that ends the compute of each unit.
using Ends = std::vector<OpRef>;

Ends add_forward(ProgramBuilder& program, const ScheduleInput& input, const std::vector<Unit>& units) {
  Ends ends;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const std::size_t ahead = static_cast<std::size_t>(input.spec.prefetch) + 1;
    std::vector<OpRef> room;  // memory for it
    if (i >= ahead) room.push_back(ends[i - ahead]);
    const OpRef gathered = program.collective(kCommunicationLane, "all-gather of a unit", units[i].gather, room);
    program.compute(kComputeLane, "unpack parameters", OpClass::kCopy, units[i].unpack, {gathered});
    ends.push_back(
        program.compute(kComputeLane, "forward", OpClass::kForward, units[i].forward, {}, 0, units[i].work.forward));
  }
  return ends;
}

void add_backward(ProgramBuilder& program, const ScheduleInput& input, const std::vector<Unit>& units,
                  const Lanes& lanes, OpRef forward, bool synchronized) {
  const int n = static_cast<int>(units.size());
  Ends ends(units.size(), forward);
  std::vector<OpRef> gathered(units.size(), OpRef{0, -1});
  OpRef reduced{0, -1}, shared{0, -1};
  int next = n - 1;  // to gather
  for (int i = n - 1; i >= 0; --i) {
    for (; next >= 0 && next >= i - input.spec.prefetch; --next) {
      if (units[next].stays) continue;
      const OpRef room = ends[std::min(n - 1, next + input.spec.prefetch + 1)];
      gathered[next] = program.collective(kCommunicationLane, "all-gather of a unit", units[next].gather, {room});
    }
    if (!units[i].stays)
      program.compute(kComputeLane, "unpack parameters", OpClass::kCopy, units[i].unpack, {gathered[i]});
    ends[i] = program.compute(kComputeLane, "backward", OpClass::kBackward, units[i].backward, {}, i == 0 ? 1 : 0,
                              units[i].work.backward);
    if (!synchronized) continue;
    const OpRef packed = program.compute(kComputeLane, "pack gradients", OpClass::kCopy, units[i].pack, {reduced});
    reduced = program.collective(lanes.reduce, "reduce-scatter of a unit", units[i].reduce, {packed},
                                 lanes.reduce == kCommunicationLane ? 0 : 1);
    if (lanes.replicas >= 0)
      shared = program.collective(lanes.replicas, "all-reduce of a shard", units[i].share, {reduced});
  }
  if (synchronized) program.compute(kComputeLane, "wait for gradients", OpClass::kCopy, Seconds{0}, {reduced, shared});
}

void add_micro_batches(ProgramBuilder& program, const ScheduleInput& input, const std::vector<Unit>& units,
                       const Lanes& lanes, int count, bool synchronized) {
  if (count == 0) return;
  program.begin_loop(lanes.all, count, {program.last(kComputeLane)});
  const OpRef forward = add_forward(program, input, units).back();
  add_backward(program, input, units, lanes, forward, synchronized);
  program.end_loop(lanes.all);
}

}  // namespace

std::vector<std::string> zero3_lane_names(const ScheduleInput& input) { return lanes_of(input).names; }

void add_zero3_update(ProgramBuilder& program, const ScheduleInput& input) {
  const Lanes lanes = lanes_of(input);
  const std::vector<Unit> units = units_of(input);
  const int every = input.spec.sync == Sync::kEveryMicroBatch ? input.accumulation_steps : 1;
  add_micro_batches(program, input, units, lanes, input.accumulation_steps - every, false);
  add_micro_batches(program, input, units, lanes, every, true);
  program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, shard_step_time(input));
}

Program build_zero3(const ScheduleInput& input, Tables& tables) {
  ProgramBuilder program(tables, zero3_lane_names(input));
  for (int update = 0; update < input.updates; ++update) {
    add_zero3_update(program, input);
    end_update(program, input);
  }
  return program.take(input.kind.workload.micro_batch_size);
}

namespace {

/// A forward pass from a standstill, units 1 to n, prefetch d: g_i = max(g_(i-1), c_(i-1-d)) + G_i and
/// c_i = max(c_(i-1), g_i) + U_i + F_i; when the last gather and the last unit have ended.
struct ForwardEnds {
  Seconds gathered, computed;
};
ForwardEnds forward_pass(const ScheduleInput& input, const std::vector<Unit>& units) {
  const int n = static_cast<int>(units.size()), d = input.spec.prefetch;
  std::vector<Seconds> c(units.size());
  ForwardEnds ends;
  for (int i = 0; i < n; ++i) {
    ends.gathered = std::max(ends.gathered, i - 1 - d >= 0 ? c[i - 1 - d] : Seconds{0}) +
                    request_time(input.costs, units[i].gather);
    ends.computed = c[i] = std::max(ends.computed, ends.gathered) + units[i].unpack + units[i].forward;
  }
  return ends;
}

/// One micro-batch: forward_pass(). Backward, from n to 1: a gather that is not spared as in forward, and
/// c_i = max(c_(i+1), g_i) + U_i + B_i; packed p_i = max(c_i, r_(i+1)) + K_i, on which the next backward follows;
/// reduced r_i = max(r_(i+1), p_i) + R_i, where one communicator makes r and g one queue; across nodes
/// a_i = max(a_(i+1), r_i) + A_i. The end is the last of p, r and a.
Seconds micro_batch_time(const ScheduleInput& input, const std::vector<Unit>& units, bool synchronized) {
  const int n = static_cast<int>(units.size()), d = input.spec.prefetch;
  const auto time = [&](const PlanRequest& request) { return request_time(input.costs, request); };
  auto [g, forward] = forward_pass(input, units);
  Seconds now = forward;
  Seconds r = g, a;
  Seconds& queue = input.spec.communicators == 1 ? g : r;  // of the reductions
  std::vector<Seconds> there(units.size());
  std::vector<Seconds> c(units.size(), forward);
  Seconds last_reduced;
  for (int i = n - 1, next = n - 1; i >= 0; --i) {
    for (; next >= 0 && next >= i - d; --next)
      if (!units[next].stays)
        there[next] = g = std::max(g, c[std::min(n - 1, next + d + 1)]) + time(units[next].gather);
    now = c[i] = std::max(now, there[i]) + (units[i].stays ? Seconds{0} : units[i].unpack) + units[i].backward;
    if (!synchronized) continue;
    now = std::max(now, last_reduced) + units[i].pack;
    last_reduced = queue = std::max(queue, now) + time(units[i].reduce);
    if (is_hybrid(input)) a = std::max(a, last_reduced) + time(units[i].share);
  }
  return std::max({now, last_reduced, a});
}

}  // namespace

Seconds zero3_forward_time(const ScheduleInput& input) { return forward_pass(input, units_of(input)).computed; }

/// A M, or (A - 1) M' + M when gradients are reduced once, M' being without reductions; + the shard's optimizer.
Seconds zero3_closed_form(const ScheduleInput& input) {
  const std::vector<Unit> units = units_of(input);
  const int A = input.accumulation_steps;
  const int every = input.spec.sync == Sync::kEveryMicroBatch ? A : 1;
  Seconds time = every * micro_batch_time(input, units, true) + shard_step_time(input);
  if (every < A) time += (A - every) * micro_batch_time(input, units, false);
  return time;
}

}  // namespace accosim
