// Which algorithm is which function, for ranks on CPUs and on devices.
#pragma once

#include "calibration/base/names.hpp"
#include "calibration/train/acco.hpp"
#include "calibration/train/diloco.hpp"
#include "calibration/train/local_sgd.hpp"
#include "calibration/train/round.hpp"
#include "models/base/errors.hpp"

namespace accocal {

/// What only ranks on CPUs run; false where it is something else.
template <typename R>
bool run_on_cpus(R& rank) {
  switch (rank.options.algorithm) {
    case Algorithm::kAcco:
      if (!rank.options.local_estimate) return false;
      train_acco_alone(rank);
      return true;
    case Algorithm::kDiloco: train_diloco(rank); return true;
    case Algorithm::kPipeSgd: train_pipesgd(rank); return true;
    case Algorithm::kSlowMo: train_slowmo(rank); return true;
    case Algorithm::kOverlapLocalSgd: train_overlap_local_sgd(rank); return true;
    case Algorithm::kCo2: train_co2(rank); return true;
    case Algorithm::kStreamingDiloco: train_streaming_diloco(rank); return true;
    case Algorithm::kEagerDiloco: train_eager_diloco(rank); return true;
    default: return false;
  }
}

/// Throws BadInput where ranks of this sort cannot run it.
template <typename R>
void run_algorithm(R& rank) {
  if constexpr (requires { rank.optimizer.master(); })
    if (run_on_cpus(rank)) return;
  switch (rank.options.algorithm) {
    case Algorithm::kDdp: return train_ddp(rank);
    case Algorithm::kZero1: return train_zero1(rank);
    case Algorithm::kDpu: return train_dpu(rank);
    case Algorithm::kWp: return train_wp(rank);
    case Algorithm::kAcco: return train_acco(rank);
    default:
      throw BadInput(name_of(rank.options.algorithm) +
                     " does not run on a device; leave --device out, or choose another algorithm");
  }
}

}  // namespace accocal
