#include "models/price/price.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "models/base/draws.hpp"
#include "models/base/stages.hpp"
#include "models/collectives/dispatch.hpp"
#include "models/collectives/nccl_node.hpp"
#include "models/price/stage_speed.hpp"
#include "models/spec/frameworks.hpp"
#include "models/spec/model_families.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {

Dtype compute_dtype(const NodeGroup& group, const ScheduleSpec& spec, const Training& training) {
  const bool narrow = bytes_of(group.precision) <= Bytes{2};
  if (training.autocast != Autocast::kNone)
    return narrow && group.precision != training.precision ? group.precision : dtype_of(training.autocast);
  if (spec.parameter_dtype != Dtype::kFp32) return narrow ? group.precision : spec.parameter_dtype;
  return group.precision == Dtype::kTf32 ? Dtype::kTf32 : Dtype::kFp32;
}

namespace {

double memory_overhead(const Training& training) {
  if (training.implementation == Implementation::kAccocal) return 1;  // its kernels are all listed
  return training.implementation == Implementation::kFused ? training.overheads.fused : training.overheads.pytorch;
}

/// The kind on a device that is the same but for its name and its slowdown, which is of forward and backward.
RankKind slowed(RankKind kind, const Device& device) {
  const double slowdown = device.slowdown;
  kind.device.name = device.name;
  kind.device.slowdown = slowdown;
  kind.forward = kind.backward = Seconds{0};
  for (LayerTime& time : kind.times) {
    time.forward = slowdown * time.forward;
    time.backward = slowdown * time.backward;
    kind.forward += time.forward;
    kind.backward += time.backward;
  }
  return kind;
}

/// Elements of the first stage's embedding table, and of the last stage's head.
double table_of(const Layers& layers) {
  double most = 0;
  for (const Layer& layer : layers)
    if (layer.kind != LayerKind::kBlock)
      for (const Operator& op : layer.operators)
        for (const double elements : op.tensors) most = std::max(most, elements);
  return most;
}

/// Without the device's slowdown.
RankKind price_kind(const Model& model, const Workload& workload, const ModelShare& share, const Device& device) {
  RankKind kind{.device = device,
                .workload = workload,
                .share = share,
                .layers = own_layers_of(model, workload, share),
                .tied_embeddings = model.tie_word_embeddings && share.stages == 1};
  const bool cut = share.stages * share.chunks > 1;
  if (!cut) kind.chunk_layers = {static_cast<int>(kind.layers->size())};
  for (const LayerRange& chunk : cut ? chunk_ranges(model.num_hidden_layers, share) : std::vector<LayerRange>())
    kind.chunk_layers.push_back(chunk.end - chunk.begin);
  const bool end = share.stage == 0 || share.stage + 1 == share.stages;
  if (model.tie_word_embeddings && share.stages > 1 && end && !workload.lora.on())
    kind.shared_table = table_of(*kind.layers);
  kind.message = cut ? boundary_bytes(model, workload, share) : Bytes{0};
  kind.bill = bill_of(kind.layers, device, workload.compute);
  kind.times = layer_times(kind.bill);
  if (family_of(model).measured) {
    // A backward pass is two forwards; only bucketed schedules look at where one ends.
    kind.times.front().forward = 1.0 / 3 * model.micro_batch_time;
    kind.times.front().backward = 2.0 / 3 * model.micro_batch_time;
  }
  kind.works = layer_works(kind.bill);
  kind.work = total_work(kind.times, kind.works);
  kind.model_flops = model_flops(model, workload, share);
  for (const Layer& layer : *kind.layers)
    for (const Operator& op : layer.operators) {
      kind.hardware_flops += op.forward_flops + op.backward_flops;
      kind.parameters += op.parameters;
      if (op.of_experts) kind.expert_parameters += op.parameters;
      kind.frozen += op.frozen_bytes;
    }
  Device alone = device;
  alone.slowdown = 1;
  return slowed(std::move(kind), alone);
}

constexpr std::size_t kMostLengths = 33;

/// A measured model's, at the lengths at which it was measured.
std::vector<LengthCost> measured_lengths(const Model& model, const RankKind& kind) {
  std::vector<LengthCost> costs;
  const int whole = kind.workload.sequence_length;
  for (const auto& [tokens, time] : model.shorter_micro_batches) {
    const int length = static_cast<int>(tokens / kind.workload.micro_batch_size);
    const double ratio = time / model.micro_batch_time, share = 1.0 * length / whole;
    if (length >= 1 && length < whole)
      costs.push_back({length, ratio, ratio, share * kind.model_flops, share * kind.hardware_flops});
  }
  costs.push_back({whole, 1, 1, kind.model_flops, kind.hardware_flops});
  return costs;
}

std::vector<LengthCost> length_costs(const Model& model, const RankKind& kind, const Unsteady& unsteady) {
  if (family_of(model).measured) return measured_lengths(model, kind);
  std::vector<LengthCost> costs;
  const int whole = kind.workload.sequence_length;
  for (const int tokens : padded_lengths(unsteady.lengths, whole, kMostLengths)) {
    if (tokens == whole) {
      costs.push_back({tokens, 1, 1, kind.model_flops, kind.hardware_flops});
      continue;
    }
    Workload workload = kind.workload;
    workload.sequence_length = tokens;
    const RankKind shorter = price_kind(model, workload, kind.share, kind.device);
    costs.push_back({tokens, shorter.forward / kind.forward, shorter.backward / kind.backward, shorter.model_flops,
                     shorter.hardware_flops});
  }
  return costs;
}

/// What stages send each other as slices is gathered before the first layer of a chunk, and its gradients before the
/// last one's: the passes wait for it.
void gather_slices(RankKind& kind, const PriceOfCollective& price, std::vector<TensorWaits>& waits) {
  kind.gathered = kind.message;
  kind.message = shard_of(kind.message, kind.share.tensor);
  const Seconds gather = price({CollectiveKind::kAllGather, kind.gathered}).time;
  const std::size_t chunks = kind.chunk_layers.size();
  std::size_t begin = 0;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
    const std::size_t end = begin + static_cast<std::size_t>(kind.chunk_layers[chunk]);
    if (kind.share.stage > 0 || chunk > 0) waits[begin].forward += gather;
    if (kind.share.stage + 1 < kind.share.stages || chunk + 1 < chunks) waits[end - 1].backward += gather;
    begin = end;
  }
}

/// Of a stage's passes over a chunk those that run together with one the other way: all but the warm-up's forward ones
/// and as many backward ones behind them.
double combined_share(const ModelShare& share, int micro_batches) {
  const double passes = 1.0 * micro_batches * share.chunks;
  return std::max(0.0, 1 - passes_in_flight(share, micro_batches) / passes);
}

/// Collectives over the ranks that split a layer's tensors, priced alone on what joins them.
void add_tensor_waits(RankKind& kind, const Costs& costs, int rank) {
  if (kind.share.tensor == 1 && kind.share.experts == 1) return;
  const Ring tensors = ring_of_message(costs, {}, rank);
  TensorMessage of_experts{.of_experts = true};
  const Ring experts = ring_of_message(costs, of_experts, rank);
  const PriceOfCollective price = [&](const TensorMessage& message) {
    return price_of_message(costs, message, message.of_experts ? experts : tensors);
  };
  const int cut = costs.parallel.overlap_tensor ? kind.share.tensor : 1;
  std::vector<TensorWaits> different;
  const double combined = costs.parallel.overlap_experts ? combined_share(kind.share, costs.micro_batches) : 0;
  for (const BilledLayer& layer : kind.bill->layers)
    different.push_back(tensor_waits(*kind.bill, layer, price, cut, combined));
  std::vector<TensorWaits> waits = each_layer(*kind.bill, different);
  if (costs.parallel.scatter_gather) gather_slices(kind, price, waits);
  std::vector<LayerWork> works = *kind.works;
  for (std::size_t l = 0; l < waits.size(); ++l) {
    LayerTime& time = kind.times[l];
    works[l].forward = with_waits(works[l].forward, time.forward, waits[l].forward);
    works[l].backward = with_waits(works[l].backward, time.backward, waits[l].backward);
    time.forward += waits[l].forward;
    time.backward += waits[l].backward;
    kind.forward_waits += waits[l].forward;
    kind.backward_waits += waits[l].backward;
  }
  kind.forward += kind.forward_waits;
  kind.backward += kind.backward_waits;
  kind.work = total_work(kind.times, works);
  kind.works = std::move(works);
}

/// What a node group says of its ranks in place of the training and the schedule.
struct OwnCounts {
  std::optional<int> steps, inner_updates;
};

/// What a GPU has of its host.
struct Host {
  BytesPerSecond pcie, memory;
};

Host host_of(const NodeGroup& group) {
  constexpr double kGB = 1e9;
  const BytesPerSecond memory = group.host_memory > BytesPerSecond{0} ? group.host_memory : kHostMemory;
  return {group.pcie > BytesPerSecond{0} ? group.pcie : BytesPerSecond{kGB * slot_of(group)}, memory / group.gpus};
}

/// Kinds of ranks, each device and workload priced once: devices that differ by their slowdown alone share the pricing.
/// What was priced is kept from one call to the next, since a program asks for many scenarios that differ elsewhere.
class KindPrices {
 public:
  KindPrices(const Model& model, const Unsteady& unsteady) : model_(model), unsteady_(unsteady) {}

  /// Its index in the costs' kinds.
  int kind_of(Costs& costs, const Workload& workload, const ModelShare& share, const Device& device,
              const OwnCounts& own, int shards, int ranks, const Host& host, int rank) {
    // Of a thousand kinds most differ in these.
    std::vector<int>& near = by_speed_[{device.slowdown, own.steps.value_or(0), device.name}];
    for (const int k : near) {
      const RankKind& known = costs.kinds[static_cast<std::size_t>(k)];
      if (known.own_steps == own.steps && known.own_inner_updates == own.inner_updates && known.shards == shards &&
          known.ranks == ranks && known.pcie == host.pcie && known.host_memory == host.memory &&
          known.workload == workload && known.share == share && known.device == device)
        return k;
    }
    near.push_back(static_cast<int>(costs.kinds.size()));
    const Priced& priced = priced_as(workload, share, device);
    costs.kinds.push_back(slowed(priced.kind, device));
    add_tensor_waits(costs.kinds.back(), costs, rank);
    costs.kinds.back().own_steps = own.steps;
    costs.kinds.back().own_inner_updates = own.inner_updates;
    costs.kinds.back().replicas = costs.layout.size(Dim::kReplica);
    costs.kinds.back().shards = shards;
    costs.kinds.back().ranks = ranks;
    costs.kinds.back().pcie = host.pcie;
    costs.kinds.back().host_memory = host.memory;
    costs.kinds.back().first_rank = rank;
    costs.pace.micro_batch_size.push_back(workload.micro_batch_size);
    costs.pace.lengths.push_back(priced.lengths);
    return static_cast<int>(costs.kinds.size()) - 1;
  }

 private:
  struct Priced {
    Model model;
    Unsteady unsteady;
    RankKind kind;  // without slowdown
    std::vector<LengthCost> lengths;
  };

  const Priced& priced_as(const Workload& workload, const ModelShare& share, Device device) const {
    constexpr std::size_t kMostKept = 64;
    thread_local std::deque<Priced> kept;
    device.slowdown = 1;
    device.name.clear();
    for (const Priced& each : kept)
      if (each.kind.workload == workload && each.kind.share == share && each.kind.device == device &&
          each.model == model_ && each.unsteady == unsteady_)
        return each;
    RankKind kind = price_kind(model_, workload, share, device);
    std::vector<LengthCost> lengths = length_costs(model_, kind, unsteady_);
    if (kept.size() >= kMostKept) kept.pop_front();
    return kept.emplace_back(Priced{model_, unsteady_, std::move(kind), std::move(lengths)});
  }

  const Model& model_;
  const Unsteady& unsteady_;
  std::map<std::tuple<double, int, std::string>, std::vector<int>> by_speed_;
};

}  // namespace

double shard_elements(const RankKind& kind) {
  const int experts = kind.share.experts;
  const double own = experts > 1 ? kind.expert_parameters : 0;
  return shard_of(kind.parameters - own, kind.shards) + (own > 0 ? shard_of(own, kind.shards / experts) : 0);
}

Ring ring_of_message(const Costs& costs, const TensorMessage& message, int rank) {
  const Parallel& parallel = costs.parallel;
  const bool both = parallel.whole_experts || parallel.dispatcher == Dispatcher::kAllGather;
  const Dims dims = !message.of_experts ? over(Dim::kTensor)
                    : both              ? over(Dim::kTensor, Dim::kExpert)
                                        : over(Dim::kExpert);
  Ring ring = ring_of(costs.places, members_of(costs.layout, {dims}, rank));
  if (ring.node.size() > 1)
    ring.core_share = static_cast<double>(ring.node.size()) / static_cast<double>(costs.world.node.size());
  return ring;
}

CollectivePrice price_of_message(const Costs& costs, const TensorMessage& message, const Ring& ring) {
  const Seconds wait = message.counted && ring.ranks > 1 ? kCountWait : Seconds{0};
  if (message.receivers > 0) return {wait + dispatch_time(message.bytes, message.receivers, costs.cluster, ring)};
  const CollectiveCost cost = collective_cost(message.kind, message.bytes, costs.cluster, ring);
  return {wait + collective_time(cost), costs.interference ? cost.channels : 0};
}

Kernel own_optimizer(double parameters, Dtype storage) {
  return accocal_kernel(StepKernel::kAdamw, storage, parameters);
}

Seconds optimizer_time(const Costs& costs, double parameters, const Device& device) {
  return optimizer_time(costs, parameters, device, costs.parameter_dtype, costs.gradient_dtype);
}

Seconds optimizer_time(const Costs& costs, double parameters, const Device& device, Dtype parameter_dtype,
                       Dtype gradient_dtype) {
  if (costs.implementation == Implementation::kAccocal) {
    const Kernel kernel = own_optimizer(parameters, parameter_dtype);
    if (table_of(device, kernel) != nullptr) return kernel_time(kernel, device, parameter_dtype);
  }
  const Seconds step = adamw_time(parameters, parameter_dtype, gradient_dtype, device, costs.optimizer_implementation);
  return costs.gradient_clipping ? step + clipping_time(parameters, gradient_dtype, device) : step;
}

namespace {

/// The type of 16 bits in which the rank keeps parameters and gradients, if it does; under autocast they are stored in
/// one type everywhere.
std::optional<Dtype> own_half(const RankKind& kind) {
  const Dtype compute = kind.workload.compute;
  if (kind.workload.autocast || (compute != Dtype::kFp16 && compute != Dtype::kBf16)) return std::nullopt;
  return compute;
}

/// Ranks of two 16-bit types cannot be reduced together: what communicates has the schedule's type. A replica that
/// makes updates by itself has one type, that of its nodes, and what replicas exchange is cast as it is copied.
void mark_casts(Costs& costs, const ScheduleSpec& spec) {
  if (traits_of(spec).local) return;
  std::optional<Dtype> first;
  bool differ = false;
  for (const RankKind& kind : costs.kinds) {
    const std::optional<Dtype> own = own_half(kind);
    differ = differ || (first && own && *own != *first);
    if (own) first = own;
  }
  if (!differ) return;
  for (RankKind& kind : costs.kinds) {
    const std::optional<Dtype> own = own_half(kind);
    const auto casts = [&](Dtype wire) { return own && bytes_of(wire) == bytes_of(*own) && wire != *own; };
    kind.casts_gradients = casts(costs.gradient_dtype);
    kind.casts_parameters = casts(costs.parameter_dtype);
  }
}

/// As the training's framework runs it.
Device device_of(const Training& training, const NodeGroup& group, int gpu) {
  Device device = group.devices[static_cast<std::size_t>(gpu)];
  device.launch_interval = training.launch_interval.value_or(
      launch_slowdown(training.framework, training.implementation) * device.launch_interval);
  device.memory_overhead = memory_overhead(training);
  device.product_slope = training.overheads.product_slope;
  if (group.attention == Attention::kFlash1 || group.attention == Attention::kMemoryEfficient)
    device.attention_overhead = training.overheads.flash_1;
  return device;
}

Workload workload_of(const Scenario& scenario, const ScheduleSpec& spec, const NodeGroup& group, int sequence_length) {
  const Training& training = scenario.training;
  return {group.micro_batch_size,
          sequence_length,
          compute_dtype(group, spec, training),
          spec.parameter_dtype,
          spec.gradient_dtype,
          group.attention,
          training.activation_recompute,
          training.implementation,
          training.dropout,
          training.autocast != Autocast::kNone,
          training.recomputed_blocks,
          training.loss,
          training.loss_chunks,
          training.lora,
          training.experts_implementation,
          training.expert_imbalance,
          documents_of(training.unsteady.lengths, sequence_length)};
}

/// Kinds by node group, GPU of the node and stage; equal ones are merged.
void add_kinds(Costs& costs, const Scenario& scenario, const ScheduleSpec& spec) {
  KindPrices prices(scenario.model, scenario.training.unsteady);

  const int stages = costs.layout.size(Dim::kPipeline);
  std::map<std::tuple<int, int, int>, int> kinds;
  for (int rank = 0; rank < costs.ranks(); ++rank) {
    const Place& place = costs.places[static_cast<std::size_t>(rank)];
    const int part = stages == 1 ? 0 : stage_of(costs.layout, rank);
    const auto [kind, is_new] = kinds.emplace(std::tuple(place.group, place.gpu, part), 0);
    if (is_new) {
      const NodeGroup& group = scenario.cluster.nodes[static_cast<std::size_t>(place.group)];
      OwnCounts own{{}, group.inner_updates};
      if (!group.accumulation_steps.empty()) own.steps = group.accumulation_steps[static_cast<std::size_t>(place.gpu)];
      kind->second = prices.kind_of(
          costs, workload_of(scenario, spec, group, costs.pace.sequence_length), share_of_stage(costs.parallel, part),
          device_of(scenario.training, group, place.gpu), own, size_of(costs.layout, {kIsland}, rank),
          size_of(costs.layout, update_ranks(spec), rank), host_of(group), rank);
    }
    costs.kind_of.push_back(kind->second);
  }
}

StagePace pace_of(const RankKind& kind) {
  Seconds besides{0};
  int count = 0;
  for (std::size_t l = 0; l < kind.layers->size(); ++l) {
    if ((*kind.layers)[l]->kind == LayerKind::kBlock)
      ++count;
    else
      besides += kind.times[l].forward + kind.times[l].backward;
  }
  // What split tensors wait for is in the kind's passes, and as good as all of it in blocks.
  return {(kind.forward + kind.backward - besides) / count, besides};
}

/// Of replicas on unlike devices the slowest counts.
std::vector<StagePace> stage_paces(const Costs& costs) {
  std::vector<StagePace> stages(static_cast<std::size_t>(costs.parallel.pipeline));
  for (const RankKind& kind : costs.kinds) {
    StagePace& slowest = stages[static_cast<std::size_t>(kind.share.stage)];
    const StagePace own = pace_of(kind);
    slowest = {std::max(slowest.block, own.block), std::max(slowest.besides, own.besides)};
  }
  return stages;
}

}  // namespace

Costs price(const Scenario& scenario, const ScheduleSpec& spec) {
  const Stage stage("pricing");
  const Parallel parallel = parallel_of(scenario.training, spec);
  if (parallel.context > 1) throw std::logic_error("no kernel is priced as a part of a sequence");
  Costs costs{.cluster = scenario.cluster,
              .places = places_of(scenario.cluster),
              .parallel = parallel,
              .layout = layout_of(scenario.cluster, island_of(spec), parallel),
              .world = whole_ring(scenario.cluster),
              .interference = scenario.training.interference,
              .micro_batches = rounds_of(spec) == 1 ? scenario.training.gradient_accumulation_steps
                                                    : std::max(1, spec.micro_batches_per_round),
              .buffers = buffer_bytes(scenario.model, scenario.training.implementation),
              .parameter_dtype = spec.parameter_dtype,
              .gradient_dtype = spec.gradient_dtype,
              .optimizer_implementation = scenario.training.optimizer_implementation,
              .gradient_clipping = scenario.training.gradient_clipping,
              .implementation = scenario.training.implementation};
  const bool by_site = spec.meeting == Meeting::kHierarchical;
  costs.sites = by_site ? layout_of(scenario.cluster, site_of(scenario.cluster), parallel) : costs.layout;

  costs.pace.unsteady = scenario.training.unsteady;
  costs.pace.below = cumulative_shares(scenario.training.unsteady.lengths.weights());
  const bool measured = family_of(scenario.model).measured;  // whose whole length is the one that was measured
  costs.pace.sequence_length =
      measured ? scenario.training.sequence_length
               : longest_padded(scenario.training.unsteady.lengths, scenario.training.sequence_length);
  add_kinds(costs, scenario, spec);
  // DeepSpeed's BF16_Optimizer (runtime/bf16_optimizer.py) clears them where they are.
  const bool wider = bytes_of(spec.gradient_dtype) > bytes_of(spec.parameter_dtype);
  for (RankKind& kind : costs.kinds)
    kind.narrow_gradients = wider && scenario.training.framework == Framework::kDeepspeed;
  if (parallel.blocks_by_speed && parallel.pipeline > 1) {
    const int blocks = std::accumulate(parallel.blocks.begin(), parallel.blocks.end(), 0);
    costs.parallel.blocks = blocks_by_speed(stage_paces(costs), blocks, parallel.chunks);
    costs.kinds.clear();
    costs.kind_of.clear();
    costs.pace.micro_batch_size.clear();
    costs.pace.lengths.clear();
    add_kinds(costs, scenario, spec);
  }
  mark_casts(costs, spec);
  return costs;
}

}  // namespace accosim
