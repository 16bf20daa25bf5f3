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

}  // namespace accocal
