// The algorithms of calibration/algorithms on ranks of a device.
#include "calibration/device/device_training.hpp"

#include "calibration/base/names.hpp"
#include "calibration/device/device_rank.hpp"
#include "calibration/train/acco.hpp"
#include "calibration/train/ddp.hpp"
#include "calibration/train/dpu.hpp"
#include "calibration/train/summary.hpp"
#include "models/base/errors.hpp"

namespace accocal {
namespace {

template <typename Real>
void run(DeviceRank<Real>& rank) {
  switch (rank.options.algorithm) {
    case Algorithm::kDdp: return train_ddp(rank);
    case Algorithm::kZero1: return train_zero1(rank);
    case Algorithm::kDpu: return train_dpu(rank);
    case Algorithm::kWp: return train_wp(rank);
    case Algorithm::kAcco: return train_acco(rank);
    case Algorithm::kDiloco: break;
  }
  throw BadInput("diloco does not run on a device; leave --device out, or choose another algorithm");
}

}  // namespace

template <typename Real>
TrainingResult train_by_streams(const TrainingOptions& options, DeviceWorkload<Real>& workload,
                                DeviceTransport& network, Transport& ranks, const Observer& observer) {
  TrainingResult result;
  {
    DeviceRank<Real> rank(options, workload, network, ranks, observer);
    try {
      run(rank);
      result = rank.result();
    } catch (...) {
      network.abandon();
      throw;
    }
  }
  if (options.record_spans) gather_spans(result, ranks);
  return result;
}

template TrainingResult train_by_streams<float>(const TrainingOptions&, DeviceWorkload<float>&, DeviceTransport&,
                                                Transport&, const Observer&);
template TrainingResult train_by_streams<Bf16>(const TrainingOptions&, DeviceWorkload<Bf16>&, DeviceTransport&,
                                               Transport&, const Observer&);

}  // namespace accocal
