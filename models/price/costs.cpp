#include "models/price/costs.hpp"

#include <algorithm>
#include <numeric>

#include "models/spec/model_families.hpp"

namespace accosim {

Dtype compute_dtype(const NodeGroup& group, const ScheduleSpec& spec, const Training& training) {
  const bool narrow = bytes_of(group.precision) <= Bytes{2};
  if (training.autocast != Autocast::kNone)
    return narrow && group.precision != training.precision ? group.precision : dtype_of(training.autocast);
  if (spec.parameter_dtype != Dtype::kFp32) return narrow ? group.precision : spec.parameter_dtype;
  return group.precision == Dtype::kTf32 ? Dtype::kTf32 : Dtype::kFp32;
}

int shard_ranks(const Costs& costs, const ScheduleSpec& spec) {
  if (spec.shard_group == ShardGroup::kNode) return costs.cluster.nodes.front().gpus;
  if (spec.replica == Replica::kGpu) return costs.ranks();
  int most = 1;  // replicas differ only where nothing is sharded
  for (const NodeGroup& group : costs.cluster.nodes)
    most = std::max(most, group.gpus * (spec.replica == Replica::kGroup ? group.count : 1));
  return most;
}

namespace {

double memory_overhead(const Training& training) {
  if (training.implementation == Implementation::kAccocal) return 1;  // its kernels are all listed
  return training.implementation == Implementation::kFused ? training.overheads.fused : training.overheads.pytorch;
}

RankKind price_kind(const Model& model, const Workload& workload, const Device& device) {
  RankKind kind;
  kind.device = device;
  kind.workload = workload;
  kind.tied_embeddings = model.tie_word_embeddings;
  kind.layers = layers_of(model, workload);
  kind.bill = bill_of(kind.layers, device, workload.compute);
  kind.times = layer_times(kind.bill);
  if (family_of(model).measured) {
    // A backward pass is two forwards; only bucketed schedules look at where one ends.
    kind.times.front().forward = device.slowdown / 3 * model.micro_batch_time;
    kind.times.front().backward = 2 * device.slowdown / 3 * model.micro_batch_time;
  }
  for (const LayerTime& time : kind.times) {
    kind.forward += time.forward;
    kind.backward += time.backward;
  }
  kind.works = layer_works(kind.bill);
  kind.work = total_work(kind.times, kind.works);
  kind.model_flops = model_flops(model, workload);
  for (const Layer& layer : kind.layers)
    for (const Operator& op : layer.operators) kind.hardware_flops += op.forward_flops + op.backward_flops;
  return kind;
}

}  // namespace

Kernel own_optimizer(double parameters, Dtype storage) {
  Kernel kernel =
      memory_kernel(bytes_of(StepKernel::kAdamw, parameters, bytes_of(storage)), launches_of(StepKernel::kAdamw));
  kernel.step = StepKernel::kAdamw;
  kernel.dtype = storage;
  kernel.elements = parameters;
  return kernel;
}

Seconds optimizer_time(const Costs& costs, double parameters, const Device& device) {
  if (costs.implementation == Implementation::kAccocal) {
    const Kernel kernel = own_optimizer(parameters, costs.parameter_dtype);
    if (table_of(device, kernel) != nullptr) return kernel_time(kernel, device, costs.parameter_dtype);
  }
  const Seconds step =
      adamw_time(parameters, costs.parameter_dtype, costs.gradient_dtype, device, costs.optimizer_implementation);
  return costs.gradient_clipping ? step + clipping_time(parameters, costs.gradient_dtype, device) : step;
}

Costs price(const Scenario& scenario, const ScheduleSpec& spec) {
  Costs costs;
  costs.cluster = scenario.cluster;
  costs.interference = scenario.training.interference;
  costs.places = places_of(scenario.cluster);
  costs.parameters = static_cast<double>(parameter_count(scenario.model));
  costs.buffers = buffer_bytes(scenario.model, scenario.training.implementation);
  costs.parameter_dtype = spec.parameter_dtype;
  costs.gradient_dtype = spec.gradient_dtype;
  costs.optimizer_implementation = scenario.training.optimizer_implementation;
  costs.gradient_clipping = scenario.training.gradient_clipping;
  costs.implementation = scenario.training.implementation;
  std::vector<int> members(costs.places.size());
  std::iota(members.begin(), members.end(), 0);
  costs.world = ring_of(costs.places, members);

  // Kinds by node group and GPU of the node; equal ones are merged.
  std::vector<std::vector<int>> kinds(scenario.cluster.nodes.size());
  for (std::size_t g = 0; g < kinds.size(); ++g) {
    const NodeGroup& group = scenario.cluster.nodes[g];
    for (Device device : group.devices) {
      if (scenario.training.launch_interval) device.launch_interval = *scenario.training.launch_interval;
      device.memory_overhead = memory_overhead(scenario.training);
      if (group.attention == Attention::kFlash1 || group.attention == Attention::kMemoryEfficient)
        device.attention_overhead = scenario.training.overheads.flash_1;
      Workload workload{group.micro_batch_size,
                        scenario.training.sequence_length,
                        compute_dtype(group, spec, scenario.training),
                        spec.parameter_dtype,
                        spec.gradient_dtype,
                        group.attention,
                        scenario.training.activation_recompute,
                        scenario.training.implementation,
                        scenario.training.dropout,
                        scenario.training.autocast != Autocast::kNone,
                        scenario.training.recomputed_blocks};
      int found = -1;
      for (std::size_t k = 0; k < costs.kinds.size() && found < 0; ++k)
        if (costs.kinds[k].workload == workload && costs.kinds[k].device == device) found = static_cast<int>(k);
      if (found < 0) {
        found = static_cast<int>(costs.kinds.size());
        costs.kinds.push_back(price_kind(scenario.model, workload, device));
      }
      kinds[g].push_back(found);
    }
  }
  for (const Place& place : costs.places) costs.kind_of.push_back(kinds[place.group][place.gpu]);
  return costs;
}

}  // namespace accosim
