// A training run on the calling thread's device.
#pragma once

#include "calibration/cuda/device_transport.hpp"
#include "calibration/cuda/device_workload.hpp"
#include "calibration/training.hpp"
#include "calibration/transport.hpp"

namespace accosim {

/// As train(). `network` is between the devices of the ranks that `ranks` joins.
template <typename Real>
TrainingResult train_by_streams(const TrainingOptions& options, DeviceWorkload<Real>& workload,
                                DeviceTransport& network, Transport& ranks, const Observer& observer = {});

extern template TrainingResult train_by_streams<float>(const TrainingOptions&, DeviceWorkload<float>&, DeviceTransport&,
                                                       Transport&, const Observer&);
extern template TrainingResult train_by_streams<Bf16>(const TrainingOptions&, DeviceWorkload<Bf16>&, DeviceTransport&,
                                                      Transport&, const Observer&);

}  // namespace accosim
