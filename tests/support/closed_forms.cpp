// A: micro-batches of an update; t: forward and backward of one; O: optimizer on all parameters; N: ranks.
#include "tests/support/closed_forms.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "models/price/partition.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/bodies/serial.hpp"

namespace accosim {

std::vector<TimedBucket> timed_buckets(const std::vector<LayerTime>& layers, Bytes gradient_element,
                                       const ScheduleSpec& spec, int ranks) {
  std::vector<Seconds> forward{Seconds{0}}, backward(layers.size() + 1);  // where each layer begins, and ends
  for (const LayerTime& layer : layers) forward.push_back(forward.back() + layer.forward);
  for (std::size_t i = layers.size(); i-- > 0;) backward[i] = backward[i + 1] + layers[i].backward;
  std::vector<TimedBucket> buckets;
  Seconds needed = forward.back();
  for (const Bucket& bucket : buckets_of(layer_sets(layers), gradient_element, spec, ranks)) {
    TimedBucket timed{bucket, {}, {}};
    for (const auto& [layer, number] : bucket.which) {
      const GradientTensor& tensor = (*layers[layer].gradients)[number];
      timed.ready = backward[layer + 1] + tensor.ready * layers[layer].backward;
      needed = std::min(needed, forward[layer] + tensor.needed * layers[layer].forward);
    }
    timed.needed = needed;
    buckets.push_back(timed);
  }
  if (!buckets.empty()) buckets.back().ready = backward.front();
  return buckets;
}

std::vector<TimedBucket> timed_buckets(const ScheduleInput& input) {
  return timed_buckets(input.kind.times, bytes_of(input.costs.gradient_dtype), input.spec, input.kind.ranks);
}

namespace {

// One 32-bit counter of micro-batches a rank.
const PlanRequest kCounts{CollectiveKind::kAllReduce, Bytes{4}};

Seconds time_of(const ScheduleInput& input, const PlanRequest& request) {
  return request_time(input.costs, request, input.kind.first_rank);
}

/// t.
Seconds passes(const ScheduleInput& input) { return input.kind.forward + input.kind.backward; }

/// Read and written once.
Seconds copy_time(const ScheduleInput& input, Bytes bytes) { return memory_time(bytes, bytes, input.kind.device); }

/// By a kernel for each tensor.
Seconds tensors_copy(const ScheduleInput& input, const Bucket& bucket) {
  return sum_of<Seconds>(bucket.tensors, [&](const double elements) {
    return copy_time(input, elements * bytes_of(input.costs.gradient_dtype));
  });
}

bool is_whole(const ScheduleSpec& spec) { return traits_of(spec).sharding == Sharding::kNothing; }

/// One rank is not wrapped in DDP. PyTorch's DDP scales what it is given, so it touches views too; a copy casts as it
/// copies, and where there is none a cast is a kernel of its own.
Seconds copies_into(const ScheduleInput& input, const Bucket& bucket) {
  const bool ddp = is_whole(input.spec) && input.spec.buckets == Buckets::kTensors;
  if (input.kind.ranks == 1) return Seconds{0};
  if (ddp || has_bucket_copies(input.spec)) return tensors_copy(input, bucket);
  return input.kind.casts_gradients ? copy_time(input, bucket.bytes) : Seconds{0};
}

/// A sharded optimizer reads its part where it was reduced.
Seconds copies_back(const ScheduleInput& input, const Bucket& bucket) {
  if (input.kind.ranks == 1 || !is_whole(input.spec)) return Seconds{0};
  if (has_bucket_copies(input.spec)) return tensors_copy(input, bucket);
  return input.kind.casts_gradients ? copy_time(input, bucket.bytes) : Seconds{0};
}

bool reduces_to_all(const ScheduleSpec& spec) { return is_whole(spec) || spec.reduction == Reduction::kAllReduce; }

/// Those who share one copy of a sharded optimizer's states.
Ranks sharers(const ScheduleSpec& spec) { return is_hybrid(spec) ? Ranks{kIsland} : update_ranks(spec); }

Seconds reduction_time(const ScheduleInput& input, const Bucket& bucket) {
  if (reduces_to_all(input.spec))
    return time_of(input, {CollectiveKind::kAllReduce, bucket.bytes, 1, update_ranks(input.spec)});
  return time_of(input, {CollectiveKind::kReduceScatter, bucket.bytes, 1, sharers(input.spec)});
}

/// In hybrid sharding: of the bucket's shard, between nodes.
Seconds shard_reduction_time(const ScheduleInput& input, const Bucket& bucket) {
  if (reduces_to_all(input.spec) || !is_hybrid(input.spec)) return Seconds{0};
  return time_of(input, {CollectiveKind::kAllReduce, bucket.bytes / input.kind.shards, 1, {kIslands}});
}

/// All parameters cast to the rank's own 16-bit type, where they came in another.
Seconds taken_time(const ScheduleInput& input) {
  return input.kind.casts_parameters ? copy_time(input, input.costs.parameter_bytes(input.kind)) : Seconds{0};
}

}  // namespace

namespace {

/// A synchronised micro-batch until its gradients are reduced and, where they go there, until the last is on the host.
struct Reduced {
  Seconds gpu, host;
};

/// To or from the host.
Seconds pcie(const ScheduleInput& input, Bytes bytes) { return bytes / input.kind.pcie; }

Reduced reduced_micro_batch(const ScheduleInput& input) {
  const bool overlap = input.spec.overlap == Overlap::kBackward;
  const std::vector<TimedBucket> buckets = timed_buckets(input);
  Seconds into, back, sent, shared;  // shared: between nodes, where hybrid sharding has a queue of its own for that
  Seconds copied;                    // to the host
  const auto reduce = [&](const TimedBucket& bucket, Seconds ready) {
    sent = std::max(sent, ready) + reduction_time(input, bucket);
    shared = std::max(shared, sent) + shard_reduction_time(input, bucket);
    copied = std::max(copied, shared) + pcie(input, bucket.bytes / input.kind.shards);
  };
  for (const TimedBucket& bucket : buckets) {
    into += copies_into(input, bucket);
    back += copies_back(input, bucket);
    if (overlap) reduce(bucket, bucket.ready + into);
  }
  if (!overlap) {
    sent = input.kind.backward + into;
    if (input.spec.count_micro_batches) sent += time_of(input, kCounts);
    for (const TimedBucket& bucket : buckets) reduce(bucket, sent);
  }
  const Seconds gpu = input.kind.forward + std::max(sent, shared) + back;
  return {gpu, std::max(gpu, input.kind.forward + copied)};
}

/// The last micro-batch of an update, whose sums may go to the host.
Seconds last_micro_batch_time(const ScheduleInput& input) {
  const Reduced reduced = reduced_micro_batch(input);
  return input.spec.offload_optimizer ? reduced.host : reduced.gpu;
}

/// On the host, which reads master, m, v and a gradient and writes the first three and a 2-byte parameter (an fp32 one
/// is its own master copy), and shares its bandwidth; the parameters then come back.
Seconds host_step_time(const ScheduleInput& input, double elements) {
  const Bytes parameter = bytes_of(input.spec.parameter_dtype), state = bytes_of(input.spec.optimizer_dtype);
  const bool narrow = parameter < state;
  const Bytes each = 2 * (2 * state + (narrow ? state : parameter)) + bytes_of(input.costs.gradient_dtype) +
                     (narrow ? parameter : Bytes{0});
  return elements * each / input.kind.host_memory + pcie(input, elements * parameter);
}

/// Of what a rank steps: on the GPU, or on the host and back.
Seconds step_time(const ScheduleInput& input) {
  if (!input.spec.offload_optimizer) return shard_optimizer_time(input);
  return host_step_time(input, has_whole_tensors(input.spec) ? largest_share(input.kind.layers, input.kind.shards)
                                                             : input.kind.parameters / input.kind.shards);
}

}  // namespace

Seconds synchronized_micro_batch_time(const ScheduleInput& input) { return reduced_micro_batch(input).gpu; }

namespace {

/// Flattened, sent in pieces of 250 MiB, and copied out of the flat buffer.
Seconds buffers_time(const ScheduleInput& input) {
  const Bytes buffers = input.costs.buffers;
  if (!input.spec.broadcast_buffers || input.kind.shards == 1 || buffers == Bytes{0}) return Seconds{0};
  const int pieces = static_cast<int>(std::ceil(buffers.value / (250 * 0x1p20)));
  return 2 * copy_time(input, buffers) +
         time_of(input, {CollectiveKind::kBroadcast, buffers, pieces, update_ranks(input.spec)});
}

}  // namespace

/// B + (A - 1) t + S + O, B being the buffers' broadcast; every micro-batch synchronized: A (B + S) + O. Of a sharded
/// optimizer O is that of the rank with the most elements, and its owners' broadcasts follow, one a tensor.
Seconds ddp_closed_form(const ScheduleInput& input) {
  const Seconds B = buffers_time(input), S = synchronized_micro_batch_time(input);
  const int A = input.accumulation_steps;
  const Seconds gradients = input.spec.sync == Sync::kEveryMicroBatch ? A * (B + S) : B + (A - 1) * passes(input) + S;
  if (input.spec.optimizer_sharding != OptimizerSharding::kZeroRedundancy)
    return gradients + full_optimizer_time(input);
  const Layers& layers = input.kind.layers;
  const Seconds step = optimizer_time(input.costs, largest_share(layers, input.costs.ranks()), input.kind.device);
  Seconds broadcasts;
  for (const auto& [elements, count] : tensor_sizes(tensors_of(layers)))
    broadcasts +=
        count * time_of(input, {CollectiveKind::kBroadcast, elements * bytes_of(input.costs.parameter_dtype)});
  return gradients + step + broadcasts + taken_time(input);
}

namespace {

/// F, the first forward pass beside the gathers of its parameters, in the buckets of the gradients, the last one first.
/// g_k: gather of the k-th bucket that is gathered; f_k: forward pass from the first need of bucket k to that of bucket
/// k + 1, with the cast. g_1 + sum of max(f_k, g_(k+1)) + f_last without casts; aligned the last c_k = max(c_(k-1), g_1
/// + ... + g_k) + f_k.
Seconds gathered_forward_time(const ScheduleInput& input) {
  std::vector<TimedBucket> buckets = timed_buckets(input);
  std::ranges::reverse(buckets);
  const auto bytes = [&](std::size_t k) {
    return buckets[k].bytes / bytes_of(input.costs.gradient_dtype) * bytes_of(input.costs.parameter_dtype);
  };
  const auto gather = [&](std::size_t k) {
    return time_of(input, {CollectiveKind::kAllGather, bytes(k), 1, sharers(input.spec)});
  };
  Seconds computed = buckets.front().needed, gathered = gather(0);
  for (std::size_t k = 0; k < buckets.size(); ++k) {
    const bool last = k + 1 == buckets.size();
    const Seconds sent_for = input.spec.align_param_gather ? Seconds{0} : computed;
    const Seconds cast = input.kind.casts_parameters ? copy_time(input, bytes(k)) : Seconds{0};
    const Seconds forward = (last ? input.kind.forward : buckets[k + 1].needed) - buckets[k].needed;
    computed = std::max(computed, gathered) + cast + forward;
    if (!last) gathered = std::max(gathered, sent_for) + gather(k + 1);
  }
  return computed;
}

}  // namespace

namespace {

/// T_ag, over those who share a copy; or a broadcast of what each of them owns, in whole tensors.
Seconds parameters_time(const ScheduleInput& input) {
  if (input.spec.parameter_sync == ParameterSync::kBroadcast) {
    Seconds sent;
    for (const double elements : zero_redundancy_shares(tensors_of(input.kind.layers), input.kind.shards))
      if (elements > 0)
        sent += time_of(input, {CollectiveKind::kBroadcast, elements * bytes_of(input.costs.parameter_dtype), 1,
                                sharers(input.spec)});
    return sent + taken_time(input);
  }
  PlanRequest gather = parameter_gather(input);
  gather.ranks = sharers(input.spec);
  return time_of(input, gather) + taken_time(input);
}

}  // namespace

/// (A - 1) t + S + O / n + T_ag, n those who share a copy: all, or in hybrid sharding those of a node, and then S = t +
/// T_rs in the node + T_ar of the shard between nodes without overlap. With the gathers beside the first forward pass
/// f: (A - 1) t + S + O / n + F - f.
Seconds zero1_closed_form(const ScheduleInput& input) {
  const Seconds gathers =
      input.spec.overlap_param_gather ? gathered_forward_time(input) - input.kind.forward : parameters_time(input);
  return (input.accumulation_steps - 1) * passes(input) + last_micro_batch_time(input) + step_time(input) + gathers;
}

namespace {

/// A S, or (A - 1) t + S when synchronized once; the last may go to the host.
Seconds zero2_gradients_time(const ScheduleInput& input) {
  const bool every = input.spec.sync == Sync::kEveryMicroBatch;
  return (input.accumulation_steps - 1) * (every ? synchronized_micro_batch_time(input) : passes(input)) +
         last_micro_batch_time(input);
}

/// These, O / N and T_ag.
Seconds zero2_closed_form(const ScheduleInput& input) {
  return zero2_gradients_time(input) + step_time(input) + parameters_time(input);
}

/// DPU with its states on the host: the GPU's part, ZeRO-2's gradients and T_ag, or the host's, O on it and the copies
/// back, whichever is longer.
Seconds offloaded_dpu_closed_form(const ScheduleInput& input) {
  return std::max(zero2_gradients_time(input) + parameters_time(input), step_time(input));
}

struct Unit {
  Seconds forward, backward;
  Seconds unpack{}, pack{};             ///< of gathered parameters, of gradients into the buffer that is reduced
  Seconds gather{}, reduce{}, share{};  ///< share: of the shard across nodes, in hybrid sharding
  Seconds copy{};                       ///< of the shard's gradients to the host
  bool stays = false;                   ///< gathered from forward to backward: the last one does, and tied embeddings
};

std::vector<Unit> units_of(const ScheduleInput& input) {
  const ScheduleSpec& spec = input.spec;
  const int shards = input.kind.shards;
  std::vector<Unit> units;
  for (const LayerTime& layer : input.kind.times) {
    const Bytes parameters = layer.parameters * bytes_of(input.costs.parameter_dtype);
    const Bytes gradients = layer.parameters * bytes_of(input.costs.gradient_dtype);
    const Bytes reduced = layer.parameters * bytes_of(spec.reduce_dtype);
    Unit unit{.forward = layer.forward, .backward = layer.backward};
    if (shards > 1) unit.unpack = copy_time(input, parameters);
    if (shards > 1) unit.pack = memory_time(gradients, reduced, input.kind.device);
    unit.gather = time_of(input, {CollectiveKind::kAllGather, parameters, 1, {kIsland}});
    unit.reduce = time_of(input, {CollectiveKind::kReduceScatter, reduced, 1, {kIsland}});
    if (is_hybrid(spec)) unit.share = time_of(input, {CollectiveKind::kAllReduce, reduced / shards, 1, {kIslands}});
    unit.copy = pcie(input, reduced / shards);
    unit.stays = !spec.reshard_after_forward;
    units.push_back(unit);
  }
  units.front().stays = units.front().stays || input.kind.tied_embeddings;
  units.back().stays = true;
  return units;
}

/// Forward from a standstill, units 1 to n, prefetch d: g_i = max(g_(i-1), c_(i-1-d)) + G_i and c_i = max(c_(i-1), g_i)
/// + U_i + F_i; where the units are there the sum of F_i. Backward, from n to 1: a gather that is not spared as in
/// forward, and c_i = max(c_(i+1), g_i) + U_i + B_i; packed p_i = max(c_i, r_(i+1)) + K_i, on which the next backward
/// follows; reduced r_i = max(r_(i+1), p_i) + R_i, where one communicator makes r and g one queue; across nodes
/// a_i = max(a_(i+1), r_i) + A_i. The end is the last of p, r and a.
Seconds sharded_micro_batch_time(const ScheduleInput& input, const std::vector<Unit>& units, bool gathers, bool reduces,
                                 bool shares, bool copies) {
  const int n = static_cast<int>(units.size()), d = input.spec.prefetch;
  std::vector<Seconds> c(units.size());
  Seconds now, g;
  for (int i = 0; i < n; ++i) {
    if (gathers) g = std::max(g, i > d ? c[i - 1 - d] : Seconds{0}) + units[i].gather;
    if (gathers) now = std::max(now, g) + units[i].unpack;
    now = c[i] = now + units[i].forward;
  }
  Seconds r = g, a, last_reduced, copied;                  // copied: to the host, in their order
  Seconds& queue = input.spec.communicators == 1 ? g : r;  // of the reductions
  std::vector<Seconds> there(units.size());
  std::ranges::fill(c, now);
  for (int i = n - 1, next = n - 1; i >= 0; --i) {
    for (; next >= 0 && next >= i - d; --next)
      if (!units[next].stays) there[next] = g = std::max(g, c[std::min(n - 1, next + d + 1)]) + units[next].gather;
    now = c[i] = std::max(now, there[i]) + (units[i].stays ? Seconds{0} : units[i].unpack) + units[i].backward;
    if (!reduces) continue;
    now = std::max(now, last_reduced) + units[i].pack;
    last_reduced = queue = std::max(queue, now) + units[i].reduce;
    if (is_hybrid(input.spec) && shares) a = std::max(a, last_reduced) + units[i].share;
    if (copies) copied = std::max({copied, last_reduced, a}) + units[i].copy;
  }
  return std::max({now, last_reduced, a, copied});
}

}  // namespace

/// The optimizer of the shard, which is kept in fp32, and the micro-batches: the first gathers, the last reduces, those
/// between do so where they are told to.
Seconds zero3_closed_form(const ScheduleInput& input) {
  const ScheduleSpec& spec = input.spec;
  const std::vector<Unit> units = units_of(input);
  const double shard = input.kind.parameters / input.kind.shards;
  Seconds time = optimizer_time(input.costs, shard, input.kind.device, Dtype::kFp32, spec.reduce_dtype);
  if (spec.offload_optimizer) time = host_step_time(input, shard);
  const int A = input.accumulation_steps;
  const auto add = [&](int count, bool first, bool last) {
    const bool reduces = last || spec.sync == Sync::kEveryMicroBatch;
    const bool shares = last || spec.all_reduce == Sync::kEveryMicroBatch;
    time += count * sharded_micro_batch_time(input, units, first || spec.reshard_after_backward, reduces, shares,
                                             last && spec.offload_optimizer);
  };
  add(1, true, A == 1);
  if (A > 2) add(A - 2, false, false);
  if (A > 1) add(1, false, true);
  return time;
}

namespace {

/// The GPU waits for the launch that follows when the host has waited for it.
Seconds drain(const ScheduleInput& input) { return input.kind.device.launch_interval; }

}  // namespace

namespace {

/// T_rs of all gradients at once.
Seconds reduce_scatter_time(const ScheduleInput& input) {
  return time_of(input,
                 {CollectiveKind::kReduceScatter, input.costs.gradient_bytes(input.kind), 1, update_ranks(input.spec)});
}

}  // namespace

Seconds sharded_update_time(const ScheduleInput& input, Round round) {
  const Costs& costs = input.costs;
  const double shard = input.kind.parameters / input.kind.shards;
  const Ranks all = update_ranks(input.spec);
  Seconds time = drain(input) + time_of(input, {CollectiveKind::kAllReduce, Bytes{4}, 1, all}) +
                 reduce_scatter_time(input) + shard_optimizer_time(input) +
                 time_of(input, {CollectiveKind::kAllGather, costs.parameter_bytes(input.kind), 1, all});
  // The shard's gradient goes to fp32 and is scaled there; accocal's optimizer does both.
  const Bytes wide{4 * shard};
  if (costs.implementation != Implementation::kAccocal)
    time += memory_time(shard * bytes_of(costs.gradient_dtype), wide, input.kind.device) + copy_time(input, wide);
  if (round == Round::kPredict) time += shard_optimizer_time(input);
  // fp32 master, m and v, or the master alone, are saved and restored.
  if (round != Round::kUpdate) time += 2 * copy_time(input, Bytes{(input.spec.rollback_estimate ? 12 : 4) * shard});
  return time;
}

Seconds swap_time(const ScheduleInput& input, bool clear) {
  const Bytes gradients = input.costs.gradient_bytes(input.kind);
  const Seconds time =
      copy_time(input, input.costs.parameter_bytes(input.kind)) + copy_time(input, gradients) + drain(input);
  return clear ? time + memory_time(Bytes{0}, gradients, input.kind.device) : time;
}

namespace {

struct Accumulated {
  double micro_batches = 0;
  Seconds time;
};

/// Beside communication T, at least m micro-batches: max(m t, T) when waiting; when accumulating n looks, n =
/// max(ceil(m / k), ceil(T / p)), with k = poll_every micro-batches and a drained host each, p = k t + drain.
Accumulated beside(const ScheduleInput& input, int m, Seconds T) {
  if (input.spec.late_communication == LateCommunication::kWait) return {1.0 * m, std::max(m * passes(input), T)};
  const double k = input.spec.poll_every;
  const Seconds p = k * passes(input) + drain(input);
  const double n = std::max(std::ceil(m / k), std::ceil((T - kTie) / p));
  return {k * n, n * p};
}

/// A round and its swap. T of weight prediction has a second step of the shard and the clones.
Accumulated dpu_update(const ScheduleInput& input) {
  const bool predicts = traits_of(input.spec).lookahead == Lookahead::kPrediction;
  const Seconds T = sharded_update_time(input, predicts ? Round::kPredict : Round::kUpdate);
  Accumulated update = beside(input, input.accumulation_steps, T);
  update.time += swap_time(input, true);
  return update;
}

/// Least number of micro-batches of a round.
int least_a_round(const ScheduleInput& input) {
  return input.kind.own_steps ? *input.kind.own_steps / 2 : input.spec.micro_batches_per_round;
}

Round round_of(bool estimate) { return estimate ? Round::kEstimate : Round::kUpdate; }

/// A swap without the copy of the gradients.
Seconds parameter_swap_time(const ScheduleInput& input, bool clear) {
  return swap_time(input, clear) - copy_time(input, input.costs.gradient_bytes(input.kind));
}

/// Two rounds and their swaps, of half the batch each: T has the clones in the estimate's round, whose swap clears the
/// gradients. With a local estimate its round sends nothing: a pass over parameters, those before and gradients, m t,
/// and the whole swap; the other's swap moves no gradients.
Accumulated whole_acco_update(const ScheduleInput& input) {
  const int m = least_a_round(input);
  const bool local = input.spec.estimate == EstimateOf::kLocal;
  Accumulated update;
  for (const bool estimate : {true, false}) {
    Accumulated round{1.0 * m, m * passes(input)};
    if (!local || !estimate) round = beside(input, m, sharded_update_time(input, round_of(estimate)));
    update.micro_batches += round.micro_batches;
    update.time +=
        round.time + (local && !estimate ? parameter_swap_time(input, estimate) : swap_time(input, estimate));
  }
  if (!local) return update;
  const Bytes parameters = input.costs.parameter_bytes(input.kind);
  update.time += memory_time(2 * parameters + input.costs.gradient_bytes(input.kind), parameters, input.kind.device);
  return update;
}

/// A round after the swap at 0, of which the last one left reductions on the lane until rho: its communication without
/// them ends at G = max(rho, 0) + T - T_rs. `rho` becomes the next round's, counted from the end that is returned.
using RoundForm = Seconds (*)(const ScheduleInput& input, bool estimate, Seconds& rho);

/// The last of m micro-batches in buckets: r_i = max(r_(i-1), ready_i + its copies so far) + R_i, from r_0 = G. The
/// round ends with its compute or with G, and its swap; with a local estimate the rounds of updates, whose gradients
/// stay, have no buckets, and the others no G.
Seconds bucketed_round(const ScheduleInput& input, bool estimate, Seconds& rho) {
  const bool local = input.spec.estimate == EstimateOf::kLocal, silent = local && estimate;
  const int m = least_a_round(input);
  Seconds G, begin;
  if (silent) {
    const Bytes parameters = input.costs.parameter_bytes(input.kind);
    begin = memory_time(2 * parameters + input.costs.gradient_bytes(input.kind), parameters, input.kind.device);
  } else {
    G = std::max(rho, Seconds{0}) + sharded_update_time(input, round_of(estimate)) - reduce_scatter_time(input);
  }
  Seconds copies, sent = silent ? Seconds{0} : G, end = begin + m * passes(input);
  if (!local || estimate) {
    for (const TimedBucket& bucket : timed_buckets(input)) {
      copies += copy_time(input, bucket.bytes);
      const Seconds filled = begin + (m - 1) * passes(input) + input.kind.forward + bucket.ready + copies;
      sent = std::max(sent, filled) +
             time_of(input, {CollectiveKind::kReduceScatter, bucket.bytes, 1, update_ranks(input.spec)});
    }
    end += copies;
  }
  end = std::max(end, G) + parameter_swap_time(input, estimate);
  rho = sent - end;
  return end;
}

/// Micro-batches reduced one by one: backward passes wait for the reduction before, b_k = max(b_(k-1) + F, rho_(k-1)) +
/// B, and rho_k = max(rho_(k-1), b_k) + T_rs, the first of them behind G.
Seconds micro_batched_round(const ScheduleInput& input, bool estimate, Seconds& rho) {
  const Seconds T_rs = reduce_scatter_time(input);
  const Seconds G = std::max(rho, Seconds{0}) + sharded_update_time(input, round_of(estimate)) - T_rs;
  Seconds b, lane = G;
  for (int k = 0; k < least_a_round(input); ++k) {
    b = std::max(b + input.kind.forward, rho) + input.kind.backward;
    lane = rho = std::max(lane, b) + T_rs;
  }
  const Seconds end = std::max(b, G) + parameter_swap_time(input, estimate);
  rho = rho - end;
  return end;
}

/// Rounds in turn until an update leaves as much on the lane as the one before.
Seconds settled(const ScheduleInput& input, RoundForm round) {
  constexpr int kMost = 100'000;
  Seconds rho, time;
  for (int update = 0; update < kMost; ++update) {
    const Seconds before = rho;
    time = round(input, true, rho);
    time += round(input, false, rho);
    const bool same = std::max(rho, Seconds{0}) == std::max(before, Seconds{0});
    if (update > 0 && same) break;
  }
  return time;
}

/// Units gathered and reduced in each micro-batch, as zero3 does it, or the step of the shard beside them.
Seconds unit_round(const ScheduleInput& input, bool estimate) {
  const Seconds micro_batch = sharded_micro_batch_time(input, units_of(input), true, true, true, false);
  const Seconds step = sharded_update_time(input, round_of(estimate)) - reduce_scatter_time(input) -
                       time_of(input, kCounts) -
                       time_of(input, {CollectiveKind::kAllGather, input.costs.parameter_bytes(input.kind)});
  return std::max(least_a_round(input) * micro_batch, step);
}

Accumulated acco_update(const ScheduleInput& input) {
  const double micro_batches = 2.0 * least_a_round(input);
  if (input.spec.zero_stage == 3) return {micro_batches, unit_round(input, true) + unit_round(input, false)};
  if (input.spec.zero_stage == 2) return {micro_batches, settled(input, micro_batched_round)};
  if (input.spec.overlap == Overlap::kBackward && traits_of(input.spec).delayed)
    return {micro_batches, settled(input, bucketed_round)};
  return whole_acco_update(input);
}

/// Gradients out of the way (s), O and A t, or what the reductions need: T_ar each, in order, or T_ar, O and s in
/// `delay` updates.
Seconds pipesgd_closed_form(const ScheduleInput& input) {
  const Bytes gradients = input.costs.gradient_bytes(input.kind);
  const Seconds T_ar = time_of(input, {CollectiveKind::kAllReduce, gradients}), O = full_optimizer_time(input);
  const Seconds s = copy_time(input, gradients) + memory_time(Bytes{0}, gradients, input.kind.device);
  return std::max({input.accumulation_steps * passes(input) + O + s, T_ar, 1.0 / input.spec.delay * (T_ar + O + s)});
}

/// What the GPU computes: A t, copies into buckets, a prediction. Or from the first copy to the last step: with the
/// buckets of the update before stepped when it begins, filled f_k = ready_k - ready_1 + copies so far, reduced r_k =
/// max(r_(k-1), f_k) + R_k, stepped s_k = max(s_(k-1), r_k) + O_k.
Seconds sapipe_closed_form(const ScheduleInput& input) {
  const std::vector<TimedBucket> buckets = timed_buckets(input);
  Seconds copies, reduced, stepped;
  for (const TimedBucket& bucket : buckets) {
    copies += tensors_copy(input, bucket);
    reduced = std::max(reduced, bucket.ready - buckets.front().ready + copies) +
              time_of(input, {CollectiveKind::kAllReduce, bucket.bytes});
    const double elements = bucket.bytes / bytes_of(input.costs.gradient_dtype);
    stepped = std::max(stepped, reduced) + optimizer_time(input.costs, elements, input.kind.device);
  }
  // 4-byte master, m and v and the gradient read, a parameter written; an fp32 parameter is its own master.
  const Bytes parameter = bytes_of(input.spec.parameter_dtype), state = bytes_of(input.spec.optimizer_dtype);
  const Bytes read = 2 * state + std::max(state, parameter) + bytes_of(input.costs.gradient_dtype);
  const double P = input.kind.parameters;
  const Seconds prediction = memory_time(P * read, P * parameter, input.kind.device);
  return std::max(input.accumulation_steps * passes(input) + copies + prediction, stepped);
}

}  // namespace

Seconds acco_closed_form(const ScheduleInput& input) { return acco_update(input).time; }

Seconds closed_form(const ScheduleInput& input) {
  const auto dpu = [](const ScheduleInput& each) {
    return each.spec.offload_optimizer ? offloaded_dpu_closed_form(each) : dpu_update(each).time;
  };
  static const std::map<std::string, Seconds (*)(const ScheduleInput&)> kForms{{"ddp", ddp_closed_form},
                                                                               {"zero1", zero1_closed_form},
                                                                               {"zero2", zero2_closed_form},
                                                                               {"zero3", zero3_closed_form},
                                                                               {"dpu", dpu},
                                                                               {"wp", dpu},
                                                                               {"pipesgd", pipesgd_closed_form},
                                                                               {"sapipe", sapipe_closed_form},
                                                                               {"acco", acco_closed_form}};
  if (traits_of(input.spec).local) return local_closed_form(input);
  return kForms.at(program_of(input.spec))(input);
}

double closed_form_micro_batches(const ScheduleInput& input) {
  const std::string& program = program_of(input.spec);
  if (program == "acco") return acco_update(input).micro_batches;
  const bool delayed = (program == "dpu" || program == "wp") && !input.spec.offload_optimizer;
  return delayed ? dpu_update(input).micro_batches : input.accumulation_steps;
}

}  // namespace accosim
