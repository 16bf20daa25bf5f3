// Sums of a bill by layer; the prices of the optimizer and of copies.
#include "models/price/layer_time.hpp"

#include <algorithm>
#include <utility>

namespace accosim {

namespace {

/// Forward time of the operators before each.
std::vector<Seconds> begins_of(const BilledLayer& layer) {
  std::vector<Seconds> begins{Seconds{0}};
  for (const BilledOperator& op : layer.operators)
    begins.push_back(begins.back() + (op.beside_all ? Seconds{0} : op.forward));
  return begins;
}

std::vector<GradientTensor> gradients_of(const BilledLayer& layer) {
  const std::vector<Seconds> begins = begins_of(layer);
  const Seconds forward = begins.back();
  Seconds all, done;
  for (const BilledOperator& op : layer.operators)
    if (!op.beside_all) all += op.backward;
  std::vector<GradientTensor> gradients;
  for (std::size_t i = layer.operators.size(); i-- > 0;) {
    const BilledOperator& op = layer.operators[i];
    if (!op.beside_all) done += op.backward;
    for (auto elements = op.tensors.rbegin(); elements != op.tensors.rend(); ++elements)
      gradients.push_back({*elements, all > Seconds{0} ? done / all : 1, forward > Seconds{0} ? begins[i] / forward : 0,
                           op.of_experts});
  }
  return gradients;
}

}  // namespace

LayerTime layer_time(const Bill& bill, const BilledLayer& layer) {
  LayerTime time;
  double forward_launches = 0, backward_launches = 0;
  for (const BilledOperator& op : layer.operators) {
    time.forward += op.forward;
    time.backward += op.backward;
    forward_launches += op.forward_launches;
    backward_launches += op.backward_launches;
    time.parameters += op.parameters;
    time.frozen += op.frozen;
  }
  time.forward = std::max(time.forward, forward_launches * bill.launch_interval);
  time.backward = std::max(time.backward, backward_launches * bill.launch_interval);
  std::vector<GradientTensor> gradients = gradients_of(layer);
  if (gradients.empty() && time.frozen > Bytes{0}) gradients.push_back({});
  time.gradients = std::move(gradients);
  return time;
}

std::vector<LayerTime> layer_times(const Bill& bill) {
  return each_layer(bill,
                    mapped<LayerTime>(bill.layers, [&](const BilledLayer& layer) { return layer_time(bill, layer); }));
}

Seconds memory_time(Bytes read, Bytes write, const Device& device) {
  if (read + write == Bytes{0}) return Seconds{0};
  return std::max(device.launch_interval, (read + write) / (device.memory_efficiency * device.memory_bandwidth));
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
