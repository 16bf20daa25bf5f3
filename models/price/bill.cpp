#include "models/price/bill.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace accosim {
namespace {

/// nullptr: the device has constants of the user's.
const FitQuality* quality_of(const Kernel& kernel, const Device& device, Dtype compute) {
  if (kernel.kind == KernelKind::kGemm) {
    const std::optional<GemmFit>& fit = device.gemm[static_cast<std::size_t>(kernel.dtype.value_or(compute))];
    return fit ? &fit->quality : nullptr;
  }
  const AttentionFit* const fit = attention_fit(device, kernel.attention.flash_3);
  return fit != nullptr ? &fit->quality : nullptr;
}

bool extrapolated(const Kernel& kernel, const FitQuality& quality) {
  const double flops = flops_of(kernel).value / kernel.repeats;
  return quality.samples > 0 && (2 * flops < quality.least || flops > 2 * quality.most);
}

bool only_moves_memory(const Kernel& kernel) { return kernel.kind == KernelKind::kMemory; }

/// `moving`: what the bytes alone take.
Bound bound_of(bool only_memory, Seconds time, Seconds launching, Seconds moving) {
  if (launching > time) return Bound::kLaunch;
  return only_memory || 2 * moving >= time ? Bound::kMemory : Bound::kCompute;
}

class BillMaker {
 public:
  BillMaker(const Device& device, Dtype compute)
      : devices_(held_devices(device)),
        compute_(compute),
        bandwidth_(device.memory_efficiency * device.memory_bandwidth) {
    bill_.launch_interval = device.launch_interval;
  }

  void add(const Layer& layer) {
    BilledLayer& billed = bill_.layers.emplace_back();
    billed.kind = layer.kind;
    for (const Operator& op : layer.operators) billed.operators.push_back(bill_operator(op));
  }

  Bill& bill() { return bill_; }

 private:
  BilledOperator bill_operator(const Operator& op) {
    BilledOperator billed{.name = op.name};
    billed.lines.reserve(op.forward.size() + op.backward.size());
    billed.forward = add_lines(op.forward, false, billed.lines);
    billed.backward = add_lines(op.backward, true, billed.lines);
    billed.forward_launches = op.forward_kernels;
    billed.backward_launches = op.backward_kernels;
    billed.flops = op.forward_flops + op.backward_flops;
    billed.bytes = op.forward_bytes + op.backward_bytes;
    billed.parameters = op.parameters;
    billed.frozen = op.frozen_bytes;
    billed.tensors = op.tensors;
    billed.messages = op.messages;
    billed.beside_all = op.beside_all;
    billed.of_experts = op.of_experts;
    billed.bound =
        bound_of(op.cls == OperatorClass::kMemory, billed.forward + billed.backward,
                 (op.forward_kernels + op.backward_kernels) * bill_.launch_interval, billed.bytes / bandwidth_);
    return billed;
  }

  /// Their sum.
  Seconds add_lines(const std::vector<Kernel>& kernels, bool backward, std::vector<BillLine>& lines) {
    Seconds sum;
    for (const Kernel& kernel : kernels) {
      lines.push_back({index_of(kernel), backward});
      sum += bill_.kernels[lines.back().kernel].time;
    }
    return sum;
  }

  std::size_t index_of(const Kernel& kernel) {
    const Bytes bytes = bytes_of(kernel);  // tells nearly all apart, and is at hand
    const auto same = std::ranges::find_if(
        bill_.kernels, [&](const PricedKernel& each) { return each.bytes == bytes && each.kernel == kernel; });
    const auto index = static_cast<std::size_t>(same - bill_.kernels.begin());
    if (same == bill_.kernels.end()) bill_.kernels.push_back(price(kernel, bytes));
    return index;
  }

  PricedKernel price(const Kernel& kernel, Bytes bytes) {
    PricedKernel priced{.kernel = kernel, .time = price_on(devices_.front(), kernel)};
    priced.held.fill(priced.time);
    if (!only_moves_memory(kernel))
      for (std::size_t i = 1; i < kHeld.size(); ++i)
        priced.held[i] = i < devices_.size() ? price_on(devices_[i], kernel) : priced.held[i - 1];
    priced.bytes = bytes;
    priced.bound =
        bound_of(only_moves_memory(kernel), priced.time, kernel.launches * bill_.launch_interval, bytes / bandwidth_);
    priced.trust = trust_of(kernel, devices_.front(), compute_);
    return priced;
  }

  Seconds price_on(const Device& device, const Kernel& kernel) {
    ++bill_.prices;
    return step_time(kernel, device, compute_);
  }

  const std::vector<Device> devices_;
  const Dtype compute_;
  const BytesPerSecond bandwidth_;
  Bill bill_;
};

}  // namespace

Device without(const Device& device, int sms) {
  Device left = device;
  if (device.sm_count == 0) return left;
  left.sm_count = std::max(device.sm_count - sms, (device.sm_count + 7) / 8);
  const double share = static_cast<double>(left.sm_count) / device.sm_count;
  for (auto& peak : left.peak)
    if (peak) peak = share * *peak;
  return left;
}

int streaming_sms(const Device& device) {
  const Bytes in_flight = device.memory_efficiency * device.memory_bandwidth * kMemoryLatency;
  return std::min(device.sm_count, static_cast<int>(std::ceil(in_flight / kBytesInFlight)));
}

std::vector<Device> held_devices(const Device& device) {
  std::vector<Device> devices{device};
  const int most = device.collective_sms > 0 ? 3 * device.collective_sms + streaming_sms(device) : 0;
  for (std::size_t i = 1; i < kHeld.size() && kHeld[i - 1] < most; ++i) devices.push_back(without(device, kHeld[i]));
  return devices;
}

Trust trust_of(const Kernel& kernel, const Device& device, Dtype compute) {
  if (kernel.kind == KernelKind::kMemory) {
    const KernelTable* const table = kernel.step ? table_of(device, kernel) : nullptr;
    if (table == nullptr) return {Basis::kBandwidth, kBandwidthSpread};
    return {Basis::kMeasured, std::max(kMeasuredSpread, table->spread), false, false, outside(*table, kernel)};
  }
  const FitQuality* const quality = quality_of(kernel, device, compute);
  if (kernel.kind == KernelKind::kGemm && quality != nullptr && !quality->inherited &&
      measured_product(kernel.gemm, device, kernel.dtype.value_or(compute)) != nullptr)
    return {Basis::kMeasured, kMeasuredSpread};
  if (quality == nullptr) return {Basis::kConstants, kConstantSpread};
  return {Basis::kMeasured, quality->spread, quality->inherited, quality->other_generation,
          extrapolated(kernel, *quality)};
}
Bill bill_of(const Layers& layers, const Device& device, Dtype compute) {
  BillMaker maker(device, compute);
  Bill& bill = maker.bill();
  bill.layer_of.reserve(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto same = std::ranges::find_if(
        bill.layers, [&](const BilledLayer& each) { return layers[each.indices.front()] == layers[i]; });
    const auto index = static_cast<std::size_t>(same - bill.layers.begin());
    if (same == bill.layers.end()) maker.add(layers[i]);
    bill.layers[index].indices.push_back(i);
    bill.layer_of.push_back(index);
  }
  return std::move(bill);
}

}  // namespace accosim
