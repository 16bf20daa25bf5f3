// The prices of operators: a roofline of three ceilings (arithmetic, memory bandwidth, the host's launch rate), each
// with the fraction of it that published measurements reach.
#include "models/price.hpp"

#include <algorithm>

namespace accosim {
namespace {

BytesPerSecond achieved_bandwidth(const Device& device) { return device.memory_efficiency * device.memory_bandwidth; }

Seconds roofline(OperatorClass cls, Flops flops, Bytes bytes, const Device& device, Dtype compute) {
  const Seconds memory = bytes / achieved_bandwidth(device);
  if (cls == OperatorClass::kMemory) return memory;
  const double efficiency =
      cls == OperatorClass::kAttention ? device.flash_attention_efficiency : device.gemm_efficiency;
  const FlopsPerSecond peak = device.peak[static_cast<std::size_t>(compute)].value();
  return std::max(memory, flops / (efficiency * peak));
}

}  // namespace

OperatorTime operator_time(const Operator& op, const Device& device, Dtype compute) {
  return {roofline(op.cls, op.forward_flops, op.forward_bytes, device, compute),
          roofline(op.cls, op.backward_flops, op.backward_bytes, device, compute)};
}

LayerTime layer_time(const Layer& layer, const Device& device, Dtype compute) {
  LayerTime time;
  double forward_kernels = 0, backward_kernels = 0;
  for (const Operator& op : layer.operators) {
    const OperatorTime one = operator_time(op, device, compute);
    time.forward += one.forward;
    time.backward += one.backward;
    forward_kernels += op.forward_kernels;
    backward_kernels += op.backward_kernels;
    time.parameters += op.parameters;
  }
  time.forward = device.slowdown * std::max(time.forward, forward_kernels * device.launch_interval);
  time.backward = device.slowdown * std::max(time.backward, backward_kernels * device.launch_interval);
  return time;
}

std::vector<LayerTime> layer_times(const std::vector<Layer>& layers, const Device& device, Dtype compute) {
  std::vector<LayerTime> times;
  times.reserve(layers.size());
  for (const Layer& layer : layers) times.push_back(layer_time(layer, device, compute));
  return times;
}

Seconds memory_time(Bytes read, Bytes write, const Device& device) {
  if (read + write == Bytes{0}) return Seconds{0};
  return std::max(device.launch_interval, (read + write) / achieved_bandwidth(device));
}

Seconds adamw_time(double parameters, Dtype parameter_dtype, Dtype gradient_dtype, const Device& device) {
  const Bytes state{12};  // master, m and v in fp32
  const Bytes copy = bytes_of(parameter_dtype) == Bytes{4} ? Bytes{0} : bytes_of(parameter_dtype);
  return memory_time(parameters * (state + bytes_of(gradient_dtype)), parameters * (state + copy), device);
}

}  // namespace accosim
