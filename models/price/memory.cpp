// Memory by the papers' formula and by what a training step really holds at its peak.
#include "models/price/memory.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "models/price/partition.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {
namespace {

Bytes kept(const Layer& layer) { return sum_of<Bytes>(layer.operators, &Operator::activations); }

Bytes workspace(const Layer& layer) { return largest<Bytes>(layer.operators, &Operator::workspace); }

Bytes frozen_of(const Layer& layer) { return sum_of<Bytes>(layer.operators, &Operator::frozen_bytes); }

/// All, or those of the rank's own experts.
double parameters_of(const Layer& layer, bool of_experts = false) {
  double sum = 0;
  for (const Operator& op : layer.operators)
    if (op.of_experts || !of_experts) sum += op.parameters;
  return sum;
}

/// What is resident at one moment.
class Moment {
 public:
  void add_lasting(MemoryUse use, Bytes bytes) { add(use, bytes, true); }
  void add(MemoryUse use, Bytes bytes, bool lasting = false) {
    if (bytes > Bytes{0}) memory_.parts.push_back({use, bytes, lasting});
  }
  /// Blocks of a stream of their own that no tensor is in at this moment.
  void hold_idle(Bytes bytes) { idle_ = bytes; }
  void add_slack() { add(MemoryUse::kAllocatorSlack, kAllocatorSlack * memory_.transient() + idle_); }
  const MemoryParts& memory() const { return memory_; }

 private:
  MemoryParts memory_;
  Bytes idle_;
};

struct Sizes {
  std::vector<double> layers;  ///< parameters of each
  std::vector<double> before;  ///< parameters of all layers before each, and of all
  std::vector<Bytes> frozen;   ///< the same of what is not trained, in bytes
  std::vector<Bytes> held;     ///< activations of all layers before each
  double parameters = 0;       ///< of all
  double shard = 0;
  double flat = 0;                   ///< of a buffer of all, padded to equal shards
  double owned = 0;                  ///< what one rank optimizes where whole tensors are shared out
  Bytes param, grad, reduce, state;  ///< an element
  bool grads_stay = false;           ///< from one micro-batch to the next
  Bytes in_flight;                   ///< activations of the other passes
};

/// A pass over a mean chunk keeps its part of what all layers but the head keep. Of the pass under way a layer's own
/// chunk alone is there.
void add_passes(Sizes& z, const MemoryInput& input) {
  if (input.chunk_layers.empty()) return;
  Bytes all;
  for (const Layer& layer : input.layers)
    if (layer.kind != LayerKind::kHead) all += kept(layer);
  z.in_flight = (input.in_flight - 1.0) * all / static_cast<double>(input.chunk_layers.size());
  std::size_t begin = 0;
  for (const int layers : input.chunk_layers) {
    const Bytes before = z.held[begin];
    for (int l = 0; l < layers; ++l) z.held[begin + l] -= before;
    begin += layers;
  }
}

Sizes sizes_of(const MemoryInput& input) {
  const ScheduleSpec& spec = input.schedule;
  Sizes z;
  Bytes held, frozen;
  for (const Layer& layer : input.layers) {
    z.layers.push_back(parameters_of(layer));
    z.before.push_back(z.parameters);
    z.frozen.push_back(frozen);
    z.held.push_back(held);
    z.parameters += z.layers.back();
    held += kept(layer);
    frozen += frozen_of(layer);
  }
  z.before.push_back(z.parameters);
  z.frozen.push_back(frozen);
  add_passes(z, input);
  double own = 0;  // of experts that fewer ranks share
  for (const Layer& layer : input.layers) own += input.experts > 1 ? parameters_of(layer, true) : 0;
  const double dense_shard = std::ceil(shard_of(z.parameters - own, input.shards)),
               own_shard = std::ceil(shard_of(own, input.shards / input.experts));
  z.shard = dense_shard + own_shard;
  z.flat = input.shards * dense_shard + input.shards / input.experts * own_shard;
  if (has_whole_tensors(spec)) z.owned = largest_share(input.layers, input.shards);
  z.param = bytes_of(spec.parameter_dtype);
  z.grad = bytes_of(spec.gradient_dtype);
  z.reduce = bytes_of(spec.reduce_dtype);
  z.state = bytes_of(spec.optimizer_dtype);
  z.grads_stay = input.accumulation_steps > 1;
  return z;
}

/// Parameters of the layers from `from` to before `to`: whole numbers, so that a difference of sums is exact.
double sum(const Sizes& z, std::size_t from, std::size_t to) { return z.before[to] - z.before[from]; }

/// The row of what makes the updates: of the schedule, or of the one inside the replicas.
const ScheduleTraits& schedule_of(const ScheduleSpec& spec) {
  const ScheduleTraits* const inner = inner_schedule(spec);
  return inner != nullptr ? *inner : traits_of(spec);
}

int ranks_of(const MemoryInput& input) { return input.ranks.value_or(input.shards); }

/// Buckets in layer l: the one that fills and, where it is sent beside the backward pass, the one before it.
Bytes bucket_bytes(const MemoryInput& input, const Sizes& z, std::size_t l) {
  const ScheduleSpec& spec = input.schedule;
  const Bytes so_far = sum(z, l, z.layers.size()) * z.grad;
  const bool two = spec.overlap == Overlap::kBackward;
  switch (spec.buckets) {
    case Buckets::kTensors:
      return std::min((two ? 2 : 1) * bucket_cap_of(spec, ranks_of(input)), z.parameters * z.grad);
    case Buckets::kUnits: return (z.layers[l] + (two && l + 1 < z.layers.size() ? z.layers[l + 1] : 0)) * z.grad;
    case Buckets::kWhole: return so_far;
  }
  return so_far;
}

/// What is in flight of a delayed schedule whose optimizer is sharded.
void add_flight(Moment& moment, const MemoryInput& input, const Sizes& z) {
  const ScheduleSpec& spec = input.schedule;
  // Carries gradients out and parameters back.
  moment.add_lasting(MemoryUse::kCommunicationBuffer, z.flat * std::max(z.param, z.grad));
  // Gradients that go out while it still holds parameters.
  if (spec.overlap == Overlap::kBackward) moment.add_lasting(MemoryUse::kGradientBuckets, z.parameters * z.grad);
  if (z.grad < z.state) moment.add(MemoryUse::kFp32GradientShard, z.shard * Bytes{4});
  const bool ahead = schedule_of(spec).lookahead != Lookahead::kNone, local = spec.estimate == EstimateOf::kLocal;
  if (ahead && local) moment.add_lasting(MemoryUse::kEstimate, z.parameters * z.param);  // and the update before
  if (ahead && !local)
    moment.add(MemoryUse::kStateClones, z.shard * ((spec.rollback_estimate ? 2.0 : 0.0) * z.state + Bytes{4}));
}

/// The same where every rank has the whole optimizer.
void add_whole_flight(Moment& moment, const MemoryInput& input, const Sizes& z) {
  moment.add_lasting(MemoryUse::kCommunicationBuffer, input.schedule.delay * z.parameters * z.grad);
  if (schedule_of(input.schedule).lookahead != Lookahead::kNone)
    moment.add_lasting(MemoryUse::kPredictedParameters, z.parameters * z.param);
}

/// Where at most the optimizer is sharded, the backward pass being in layer l.
void add_replicated_states(Moment& moment, const MemoryInput& input, const Sizes& z, std::size_t l) {
  const ScheduleSpec& spec = input.schedule;
  const ScheduleTraits& traits = schedule_of(spec);
  // Gradients are, to be reduced in one piece; or they are cleared where they are.
  const bool flat = traits.sharding == Sharding::kOptimizer || traits.delayed;
  const bool sharded =
      traits.sharding == Sharding::kOptimizer || spec.optimizer_sharding == OptimizerSharding::kZeroRedundancy;
  moment.add_lasting(MemoryUse::kParameters, z.parameters * z.param);
  moment.add(MemoryUse::kGradients, (flat || z.grads_stay ? z.parameters : sum(z, l, z.layers.size())) * z.grad, flat);
  if (input.narrow_gradients) moment.add_lasting(MemoryUse::kNarrowGradients, z.parameters * z.param);
  const bool master = z.state == Bytes{4} && z.param < Bytes{4};
  const double owned = has_whole_tensors(spec) ? z.owned : z.shard;
  if (!spec.offload_optimizer)
    moment.add_lasting(MemoryUse::kOptimizerStates,
                       (sharded ? owned : z.parameters) * (2 * z.state + (master ? Bytes{4} : Bytes{0})));
  if (input.older_parameters) moment.add_lasting(MemoryUse::kOlderParameters, z.parameters * z.param);
  if (traits.delayed) {
    sharded ? add_flight(moment, input, z) : add_whole_flight(moment, input, z);
  } else if (has_bucket_copies(spec) && ranks_of(input) > 1) {  // one rank is not wrapped
    // PyTorch's DDP keeps all of its buckets.
    const bool all = traits.sharding == Sharding::kNothing && spec.overlap == Overlap::kBackward;
    moment.add(MemoryUse::kGradientBuckets, all ? z.parameters * z.grad : bucket_bytes(input, z, l), all);
  }
}

/// accocal's ranks: everything is there all the time, the master copy even where parameters are fp32.
void add_accocal_states(Moment& moment, const MemoryInput& input, const Sizes& z) {
  const ScheduleTraits& traits = traits_of(input.schedule);
  const double padded = input.shards * z.shard;
  const double optimized = traits.sharding == Sharding::kNothing ? z.parameters : z.shard;
  moment.add_lasting(MemoryUse::kParameters, padded * z.param);
  moment.add_lasting(MemoryUse::kGradients, padded * z.grad);
  moment.add_lasting(MemoryUse::kCommunicationBuffer, padded * z.param);
  moment.add_lasting(MemoryUse::kOptimizerStates, optimized * 3 * Bytes{4});
  if (traits.lookahead != Lookahead::kNone) moment.add_lasting(MemoryUse::kStateClones, optimized * 3 * Bytes{4});
  if (traits.lookahead == Lookahead::kPrediction) moment.add_lasting(MemoryUse::kEstimate, optimized * z.param);
}

void add_zero2_states(Moment& moment, const MemoryInput& input, const Sizes& z, std::size_t l) {
  const ScheduleSpec& spec = input.schedule;
  const bool every = spec.sync == Sync::kEveryMicroBatch;
  moment.add_lasting(MemoryUse::kParameters, z.parameters * z.param);
  if (every && (spec.overlap == Overlap::kBackward || spec.buckets != Buckets::kWhole)) {
    moment.add(MemoryUse::kGradients, z.layers[l] * z.grad);
    moment.add(MemoryUse::kGradientBuckets, bucket_bytes(input, z, l));
  } else {
    const bool whole = z.grads_stay && !every;
    moment.add(MemoryUse::kGradients, (whole ? z.parameters : sum(z, l, z.layers.size())) * z.grad);
  }
  moment.add(MemoryUse::kGradientShard, z.shard * z.grad);
  const bool master = z.state == Bytes{4} && z.param < Bytes{4};
  if (!spec.offload_optimizer)
    moment.add_lasting(MemoryUse::kOptimizerStates, z.shard * (2 * z.state + (master ? Bytes{4} : Bytes{0})));
  if (traits_of(spec).delayed && !spec.offload_optimizer) add_flight(moment, input, z);
}

/// The backward pass of an update's last micro-batch, or of one before it, after which the units stay.
void add_zero3_states(Moment& moment, const MemoryInput& input, const Sizes& z, std::size_t l, bool last) {
  const ScheduleSpec& spec = input.schedule;
  const bool every = spec.sync == Sync::kEveryMicroBatch;
  const std::size_t n = z.layers.size(), d = static_cast<std::size_t>(spec.prefetch);
  const Bytes stored = spec.offload_optimizer ? z.param : std::max(z.state, z.param);
  const double share = z.parameters > 0 ? z.shard / z.parameters : 0;
  moment.add_lasting(MemoryUse::kParameterShard, z.shard * stored);
  // The unit that computes and those gathered ahead; the last unit stays until its own backward is done, tied
  // embeddings to the end.
  const std::size_t from = spec.reshard_after_forward ? l - std::min(l, d) : 0, to = last ? l + 1 : n;
  Bytes gathered = sum(z, from, to) * z.param + (z.frozen[to] - z.frozen[from]);
  if (input.tied_embeddings && spec.reshard_after_forward && l > d)
    gathered += z.layers.front() * z.param + z.frozen[1];
  moment.add(MemoryUse::kGatheredParameters, gathered);
  const bool whole = z.grads_stay && !every;
  moment.add(MemoryUse::kGradients, whole ? z.parameters * std::max(z.grad, z.reduce) : z.layers[l] * z.grad);
  const double in_flight = z.layers[l] + (l + 1 < n ? z.layers[l + 1] : 0);
  if (input.shards > 1 && (last || every)) moment.add(MemoryUse::kReductionBuffers, in_flight * z.reduce);
  const bool partial = z.grads_stay && spec.all_reduce == Sync::kLastMicroBatch;
  if (partial) moment.add_lasting(MemoryUse::kPartialGradientShard, z.shard * z.reduce);
  const bool shard_stays = z.grads_stay && every && !partial;
  const Bytes there = (shard_stays ? z.shard : last ? share * sum(z, l, n) : 0.0) * stored;
  moment.add_lasting(MemoryUse::kGradientShard, there);  // in blocks of the stream that reduces
  moment.hold_idle(z.shard * stored - there);
  if (!spec.offload_optimizer) moment.add_lasting(MemoryUse::kOptimizerStates, z.shard * (2 * z.state));
  if (!traits_of(spec).delayed) return;
  // The master is what is gathered; the estimate has a shard of its own, and m and v are cloned.
  moment.add_lasting(MemoryUse::kEstimate, z.shard * stored);
  if (spec.rollback_estimate) moment.add(MemoryUse::kStateClones, z.shard * (2 * z.state));
}

/// Of its elements, those that are on their way at once: of fragments so many as are sent before one is applied.
double exchanged_at_once(const ScheduleSpec& spec, const std::vector<double>& layers) {
  if (!traits_of(spec).in_fragments) return 1;
  const int count = static_cast<int>(layers.size());
  std::vector<double> fragments(static_cast<std::size_t>(fragments_of(spec, count)));
  double sum = 0;
  for (int layer = 0; layer < count; ++layer) {
    fragments[static_cast<std::size_t>(fragment_of(spec, layer, count))] += layers[static_cast<std::size_t>(layer)];
    sum += layers[static_cast<std::size_t>(layer)];
  }
  const double at_once = std::ceil((spec.delay + 1.0) * fragments_of(spec, count) / spec.inner_updates);
  return std::min(1.0, at_once * *std::ranges::max_element(fragments) / sum);
}

/// What a rank keeps to meet other replicas with: the outer optimizer's states in fp32, and what is sent and received.
void add_exchange(Moment& moment, const MemoryInput& input, const Sizes& z) {
  const ScheduleSpec& spec = input.schedule;
  const ScheduleTraits& traits = traits_of(spec);
  if (spec.offload_outer) return;
  const double elements = is_sharded_inside(spec) ? z.shard : z.parameters;
  const int gathered = spec.outer_dtype == OuterDtype::kE3m0 ? input.replicas : 0;  // what each sends
  moment.add_lasting(MemoryUse::kOuterStates,
                     elements / outer_owners(spec, input.replicas * ranks_of(input)) * traits.outer_states * Bytes{4});
  moment.add_lasting(MemoryUse::kCommunicationBuffer, exchanged_at_once(spec, z.layers) * elements *
                                                          (traits.exchange_buffers + gathered) * outer_bytes(spec));
}

bool is_whole(const MemoryInput& input) { return input.chunk_layers.empty(); }

MemoryParts at_layer(const MemoryInput& input, const Sizes& z, std::size_t l, bool last) {
  Moment moment;
  const Sharding sharding = sharding_of(input.schedule);
  const int holders = sharding == Sharding::kParameters ? input.shards : 1;
  moment.add_lasting(MemoryUse::kFrozenParameters, 1.0 / holders * z.frozen.back());
  if (input.accocal)
    add_accocal_states(moment, input, z);
  else if (sharding == Sharding::kParameters)
    add_zero3_states(moment, input, z, l, last);
  else if (sharding == Sharding::kGradients)
    add_zero2_states(moment, input, z, l);
  else
    add_replicated_states(moment, input, z, l);
  if (traits_of(input.schedule).local && !input.accocal) add_exchange(moment, input, z);
  const Bytes held = z.in_flight + z.held[l];  // by the layers that the backward pass has not reached
  const bool head = l + 1 == input.layers.size() && (is_whole(input) || input.layers[l]->kind == LayerKind::kHead);
  const Bytes here = kept(input.layers[l]) + workspace(input.layers[l]);
  moment.add(MemoryUse::kActivations, head ? held : held + here);
  if (head) moment.add(MemoryUse::kLogitsAndLoss, here);
  moment.add(MemoryUse::kStageBuffers, input.stage_buffers);
  if (!input.accocal) moment.add_slack();
  return moment.memory();
}

MemoryFormula formula_of(const std::string& method) {
  if (const ScheduleTraits* const schedule = find_schedule(method)) return schedule->formula;
  throw std::invalid_argument("no memory formula for \"" + method + "\"");
}

}  // namespace

Bytes memory_formula(const std::string& method, double parameters, int ranks) {
  const MemoryFormula formula = formula_of(method);
  return Bytes{(formula.whole + formula.sharded / ranks) * parameters};
}

namespace {

/// A further buffer of gradients for those that leave in buckets; what a local estimate goes on from.
double acco_buffers(const ScheduleSpec& spec) {
  const bool buckets = spec.overlap == Overlap::kBackward, local = spec.estimate == EstimateOf::kLocal;
  return (buckets ? kHalfBytes : 0) + (local ? kHalfBytes : 0);
}

/// Where a key changes the row.
MemoryFormula formula_of(const ScheduleSpec& spec, int world) {
  const ScheduleTraits& traits = traits_of(spec);
  MemoryFormula formula = traits.formula;
  if (spec.offload_optimizer) {
    // DPU has no buffer then, which would wait to be swapped, and shards its gradients.
    if (traits.delayed) return {.whole = kHalfBytes, .sharded = kHalfBytes};
    return {.whole = formula.whole, .sharded = formula.sharded - kStateBytes};
  }
  if (spec.zero_stage == 3) return {.whole = 0, .sharded = formula.whole + formula.sharded};
  if (spec.zero_stage == 2) return {.whole = formula.whole - kHalfBytes, .sharded = formula.sharded + kHalfBytes};
  if (traits.lookahead == Lookahead::kHalfBatch) formula.whole += acco_buffers(spec);
  if (traits.delayed) formula.whole += kHalfBytes * (spec.delay - 1);
  if (spec.offload_outer) formula.whole = plain_schedule().formula.whole;
  // The papers' rows count the outer states in 16 bits; those of the released codes are fp32, sharded over their
  // owners.
  if (spec.form == MethodForm::kCode)
    formula.whole += traits.outer_states * (4.0 / outer_owners(spec, world) - kHalfBytes);
  if (const ScheduleTraits* const inner = inner_schedule(spec); inner != nullptr && inner->delayed) {
    const MemoryFormula alone = plain_schedule().formula;  // which the outer row has inside
    formula.whole += inner->formula.whole - alone.whole;
    formula.sharded += inner->formula.sharded;
  }
  return formula;
}

}  // namespace

Bytes memory_formula(const ScheduleSpec& spec, double parameters, int ranks, int world) {
  const MemoryFormula formula = formula_of(spec, world);
  return Bytes{(formula.whole + formula.sharded / ranks) * parameters} / (is_sharded_inside(spec) ? ranks : 1);
}

Bytes MemoryParts::total() const { return sum_of<Bytes>(parts, &MemoryPart::bytes); }

Bytes MemoryParts::part(MemoryUse use) const {
  for (const MemoryPart& part : parts)
    if (part.use == use) return part.bytes;
  return Bytes{0};
}

Bytes MemoryParts::lasting() const {
  Bytes sum;
  for (const MemoryPart& part : parts)
    if (part.lasting) sum += part.bytes;
  return sum;
}

Bytes MemoryParts::transient() const { return allocated() - lasting(); }

Bytes MemoryParts::allocated() const {
  Bytes sum;
  for (const MemoryPart& part : parts)
    if (part.use != MemoryUse::kAllocatorSlack && part.use != MemoryUse::kReserved) sum += part.bytes;
  return sum;
}

Bytes MemoryParts::with_slack() const { return total() - part(MemoryUse::kReserved); }

MemoryParts resident_memory(const MemoryInput& input) {
  const Sizes z = sizes_of(input);
  MemoryParts worst;
  const bool earlier_differ = z.grads_stay && !input.schedule.reshard_after_backward;
  for (const bool last : {true, false})
    for (std::size_t l = last || earlier_differ ? input.layers.size() : 0; l-- > 0;) {
      MemoryParts now = at_layer(input, z, l, last);
      if (now.total() > worst.total()) worst = std::move(now);
    }
  if (input.device.reserved_memory > Bytes{0})
    worst.parts.push_back(
        {MemoryUse::kReserved, input.device.reserved_memory + (input.communicators - 1.0) * kCommunicatorMemory});
  return worst;
}

}  // namespace accosim
