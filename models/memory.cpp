// Memory by the papers' formula and by what a training step really holds at its peak.
#include "models/memory.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/spec.hpp"

namespace accosim {
namespace {

struct Peak {
  Bytes activations;  ///< of the embedding and the blocks
  Bytes logits;       ///< of the head
};

Bytes kept(const Layer& layer) {
  Bytes sum;
  for (const Operator& op : layer.operators) sum += op.activations;
  return sum;
}

Bytes workspace(const Layer& layer) {
  Bytes most;
  for (const Operator& op : layer.operators) most = std::max(most, op.workspace);
  return most;
}

/// The backward pass frees layers from the last to the first; at layer l all before it are still held. The head is the
/// last layer.
Peak peak_of(const std::vector<Layer>& layers) {
  Peak peak;
  Bytes held;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool head = i + 1 == layers.size();
    const Bytes here = kept(layers[i]);
    const Bytes with = here + workspace(layers[i]);
    const Peak now = head ? Peak{held, with} : Peak{held + with, Bytes{0}};
    if (now.activations + now.logits > peak.activations + peak.logits) peak = now;
    held += here;
  }
  return peak;
}

}  // namespace

Bytes memory_formula(const std::string& method, double parameters, int ranks) {
  const double n = ranks;
  const double k = 12;  // fp32 master, m and v
  const double half = 2;
  double bytes = 0;  // an element
  if (method == "ddp") {
    bytes = half + half + k;
  } else if (method == "zero1") {
    bytes = half + half + k / n;
  } else if (method == "zero2") {
    bytes = half + (half + k) / n;
  } else if (method == "zero3") {
    bytes = (half + half + k) / n;
  } else if (method == "slowmo" || method == "diloco") {
    bytes = half + half + 2 * half + k;
  } else if (method == "co2") {
    bytes = half + half + 4 * half + k;
  } else if (method == "dpu" || method == "wp" || method == "acco") {
    bytes = half + half + half + k / n;
  } else {
    throw std::invalid_argument("no memory formula for \"" + method + "\"");
  }
  return Bytes{bytes * parameters};
}

Bytes MemoryParts::total() const {
  Bytes sum;
  for (const auto& part : parts) sum += part.second;
  return sum;
}

MemoryParts resident_memory(const ScheduleSpec& schedule, const std::vector<Layer>& layers, const Device& device,
                            int ranks) {
  double parameters = 0;
  for (const Layer& layer : layers)
    for (const Operator& op : layer.operators) parameters += op.parameters;
  const Bytes param = bytes_of(schedule.parameter_dtype);
  const Bytes grad = bytes_of(schedule.gradient_dtype);
  const bool fp32 = param == Bytes{4};
  const bool overlapping = schedule.name == "dpu" || schedule.name == "acco";
  const bool sharded = overlapping || schedule.name == "zero1" ||
                       (schedule.name == "ddp" && schedule.optimizer_sharding == OptimizerSharding::kZeroRedundancy);
  const double shard = std::ceil(parameters / ranks);  // the flat buffer is padded to equal shards
  const double owned = sharded ? shard : parameters;

  MemoryParts memory;
  const auto add = [&memory](const char* name, Bytes bytes) {
    if (bytes > Bytes{0}) memory.parts.push_back({name, bytes});
  };
  add("parameters", parameters * param);
  add("gradients", parameters * grad);
  add("optimizer states", owned * (fp32 ? Bytes{8} : Bytes{12}));
  if (overlapping) {
    add("communication buffer", ranks * shard * std::max(param, grad));  // carries gradients out and parameters back
    if (grad < Bytes{4}) add("fp32 gradient of the shard", shard * Bytes{4});
    if (schedule.name == "acco" && schedule.rollback_estimate) add("clones of optimizer states", shard * Bytes{12});
  } else if (schedule.overlap == Overlap::kBackward) {
    add("gradient buckets", parameters * grad);
  }
  const Peak peak = peak_of(layers);
  add("activations", peak.activations);
  add("logits and loss", peak.logits);
  add("reserved", device.reserved_memory);
  return memory;
}

}  // namespace accosim
