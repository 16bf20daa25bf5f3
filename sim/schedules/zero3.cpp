// ZeRO-3 as PyTorch's fully_shard (FSDP2) does it, per unit: the embedding, each transformer block, the head. A unit's
// parameters are all-gathered before its forward, while the units before it compute, freed after it, gathered again
// before its backward, and its gradients are reduce-scattered while the next backward runs; each rank steps its shard,
// and nothing is gathered until the next forward. Hybrid sharding does this inside each node and then all-reduces the
// shards across nodes, on a communicator of its own, after every micro-batch or after the last.
//
// Gathers and reductions of one process group queue in the order in which the host issues them: the gather that is
// prefetched for the next unit stands before the reduction of this one. One reduction is in flight at most: the next
// one's buffer is filled after it. The last unit stays gathered from its forward to its backward, which is next; so do
// tied embeddings, which belong to the root module. Units that are not freed after the backward pass are there for the
// next forward; the last backward of an update always frees them, as their parameters change.
#include <algorithm>
#include <utility>

#include "models/spec/device.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
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

std::vector<Unit> units_of(const ScheduleInput& input) {
  const Costs& costs = input.costs;
  const ScheduleSpec& spec = input.spec;
  const int shards = input.kind.shards;
  Ranks scattered{kIsland};
  scattered.communicator = spec.communicators - 1;
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
    unit.gather = {CollectiveKind::kAllGather, parameters, 1, {kIsland}};
    unit.reduce = {CollectiveKind::kReduceScatter, reduced, 1, scattered};
    unit.share = {CollectiveKind::kAllReduce, shard_of(reduced, shards), 1, {kIslands}};
    unit.stays = !spec.reshard_after_forward || i + 1 == layers.size() || (i == 0 && input.kind.tied_embeddings);
    units.push_back(unit);
  }
  return units;
}

/// On the shard, which is kept in fp32.
Seconds shard_step_time(const ScheduleInput& input) {
  const Costs& costs = input.costs;
  return optimizer_time(costs, shard_of(costs.parameters, input.kind.shards), input.kind.device, Dtype::kFp32,
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
  if (is_hybrid(input.spec)) lanes.replicas = add("replicas");
  return lanes;
}

/// Where the op is that ends the compute of each unit.
using Ends = std::vector<OpRef>;

/// Micro-batches that communicate alike.
struct MicroBatches {
  int count = 1;
  bool gathers = true;  ///< before the forward pass; otherwise the units are there
  bool reduces = true;  ///< its gradients, in the backward pass
  bool shares = true;   ///< those between nodes, in hybrid sharding

  bool is_like(const MicroBatches& other) const {
    return gathers == other.gathers && reduces == other.reduces && shares == other.shares;
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
                            reduces && (last || spec.all_reduce == Sync::kEveryMicroBatch)};
    if (!all.empty() && all.back().is_like(some))
      all.back().count += count;
    else
      all.push_back(some);
  }
  return all;
}

Ends add_forward(ProgramBuilder& program, const ScheduleInput& input, const std::vector<Unit>& units, bool gathers) {
  Ends ends;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (gathers) {
      const std::size_t ahead = static_cast<std::size_t>(input.spec.prefetch) + 1;
      std::vector<OpRef> room;  // memory for it
      if (i >= ahead) room.push_back(ends[i - ahead]);
      const OpRef gathered = program.collective(kCommunicationLane, "all-gather of a unit", units[i].gather, room);
      program.compute(kComputeLane, "unpack parameters", OpClass::kCopy, units[i].unpack, {gathered});
    }
    ends.push_back(
        program.compute(kComputeLane, "forward", OpClass::kForward, units[i].forward, {}, 0, units[i].work.forward));
  }
  return ends;
}

void add_backward(ProgramBuilder& program, const ScheduleInput& input, const std::vector<Unit>& units,
                  const Lanes& lanes, OpRef forward, const MicroBatches& some) {
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
    if (!some.reduces) continue;
    const OpRef packed = program.compute(kComputeLane, "pack gradients", OpClass::kCopy, units[i].pack, {reduced});
    reduced = program.collective(lanes.reduce, "reduce-scatter of a unit", units[i].reduce, {packed});
    if (lanes.replicas >= 0 && some.shares)
      shared = program.collective(lanes.replicas, "all-reduce of a shard", units[i].share, {reduced});
  }
  if (some.reduces) program.compute(kComputeLane, "wait for gradients", OpClass::kCopy, Seconds{0}, {reduced, shared});
}

void add_micro_batches(ProgramBuilder& program, const ScheduleInput& input, const std::vector<Unit>& units,
                       const Lanes& lanes, const MicroBatches& some) {
  program.begin_loop(lanes.all, some.count, {program.last(kComputeLane)});
  const OpRef forward = add_forward(program, input, units, some.gathers).back();
  add_backward(program, input, units, lanes, forward, some);
  program.end_loop(lanes.all);
}

}  // namespace

std::vector<std::string> zero3_lane_names(const ScheduleInput& input) { return lanes_of(input).names; }

void add_zero3_update(ProgramBuilder& program, const ScheduleInput& input) {
  const Lanes lanes = lanes_of(input);
  const std::vector<Unit> units = units_of(input);
  for (const MicroBatches& some : micro_batches_of(input)) add_micro_batches(program, input, units, lanes, some);
  program.compute(kComputeLane, "optimizer", OpClass::kOptimizer, shard_step_time(input));
}

Seconds zero3_forward_time(const ScheduleInput& input) {
  const std::vector<Unit> units = units_of(input);
  const std::size_t ahead = static_cast<std::size_t>(input.spec.prefetch) + 1;
  std::vector<Seconds> ends;  // of the units before
  Seconds gathered, computed;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (i >= ahead) gathered = std::max(gathered, ends[i - ahead]);
    gathered += request_time(input.costs, units[i].gather, input.kind.first_rank);
    computed = std::max(computed, gathered) + units[i].unpack + units[i].forward;
    ends.push_back(computed);
  }
  return computed;
}

}  // namespace accosim
