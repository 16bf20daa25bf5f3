// The prices of operators: their kernels on the GPU, or the host's launches where these take longer.
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
  if (!op.forward.empty() || !op.backward.empty()) {
    OperatorTime time;
    for (const Kernel& kernel : op.forward) {
      const Seconds one = step_time(kernel, device, compute);
      time.forward += one;
      if (kernel.kind == KernelKind::kMemory) time.memory_forward += one;
    }
    for (const Kernel& kernel : op.backward) {
      const Seconds one = step_time(kernel, device, compute);
      time.backward += one;
      if (kernel.kind == KernelKind::kMemory) time.memory_backward += one;
    }
    return time;
  }
  const Seconds forward = roofline(op.cls, op.forward_flops, op.forward_bytes, device, compute);
  const Seconds backward = roofline(op.cls, op.backward_flops, op.backward_bytes, device, compute);
  if (op.cls == OperatorClass::kMemory) return {forward, backward, forward, backward};
  return {forward, backward, Seconds{0}, Seconds{0}};
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
  std::vector<std::size_t> priced;  // the first of each kind: a model of 100 layers has few
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto same = std::find_if(priced.begin(), priced.end(),
                                   [&](std::size_t p) { return layers[p].operators == layers[i].operators; });
    if (same != priced.end()) {
      times.push_back(LayerTime{times[*same]});
    } else {
      times.push_back(layer_time(layers[i], device, compute));
      priced.push_back(i);
    }
  }
  return times;
}

Seconds memory_time(Bytes read, Bytes write, const Device& device) {
  if (read + write == Bytes{0}) return Seconds{0};
  return std::max(device.launch_interval, (read + write) / achieved_bandwidth(device));
}

Seconds adamw_time(double parameters, Dtype parameter_dtype, Dtype gradient_dtype, const Device& device,
                   OptimizerImplementation implementation) {
  if (device.adamw_time_per_parameter > Seconds{0}) return parameters * device.adamw_time_per_parameter;
  const Bytes state{12};  // master, m and v in fp32
  const Bytes copy = bytes_of(parameter_dtype) == Bytes{4} ? Bytes{0} : bytes_of(parameter_dtype);
  const Bytes gradient = bytes_of(gradient_dtype);
  if (implementation == OptimizerImplementation::kFused)
    return memory_time(parameters * (state + gradient), parameters * (state + copy), device);
  // r w of the master; m r w; v r w, v r w; root r w; correction r w; epsilon r w; update: master r, m r, root r,
  // master w
  const Bytes read{4 + 4 + 4 + 4 + 4 + 4 + 4 + 12}, written{8 * 4};
  return memory_time(parameters * (read + 2 * gradient), parameters * (written + copy), device);
}

Seconds clipping_time(double parameters, Dtype gradient_dtype, const Device& device) {
  const Bytes gradients = parameters * bytes_of(gradient_dtype);
  return memory_time(gradients, Bytes{0}, device) + memory_time(gradients, gradients, device);
}

}  // namespace accosim
