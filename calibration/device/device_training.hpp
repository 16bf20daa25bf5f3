// A training run on the calling thread's device.
#pragma once

#include "calibration/device/device_transport.hpp"
#include "calibration/device/device_workload.hpp"
#include "calibration/ranks/transport.hpp"
#include "calibration/train/training.hpp"

namespace accocal {

/// As train(). `network` is between the devices of the ranks that `ranks` joins.
template <typename Real>
TrainingResult train_by_streams(const TrainingOptions& options, DeviceWorkload<Real>& workload,
                                DeviceTransport& network, Transport& ranks, const Observer& observer = {});

extern template TrainingResult train_by_streams<float>(const TrainingOptions&, DeviceWorkload<float>&, DeviceTransport&,
                                                       Transport&, const Observer&);
extern template TrainingResult train_by_streams<Bf16>(const TrainingOptions&, DeviceWorkload<Bf16>&, DeviceTransport&,
                                                      Transport&, const Observer&);

}  // namespace accocal
