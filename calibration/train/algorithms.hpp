// Which algorithm is which function, for ranks on CPUs and on devices.
#pragma once

#include "calibration/base/names.hpp"
#include "calibration/train/acco.hpp"
#include "calibration/train/ddp.hpp"
#include "calibration/train/diloco.hpp"
#include "calibration/train/dpu.hpp"
#include "models/base/errors.hpp"

namespace accocal {

/// Throws BadInput where ranks of this sort cannot run it.
template <typename R>
void run_algorithm(R& rank) {
  switch (rank.options.algorithm) {
    case Algorithm::kDdp: return train_ddp(rank);
    case Algorithm::kZero1: return train_zero1(rank);
    case Algorithm::kDpu: return train_dpu(rank);
    case Algorithm::kWp: return train_wp(rank);
    case Algorithm::kAcco: return train_acco(rank);
    case Algorithm::kDiloco:
      if constexpr (requires { rank.optimizer.master(); }) return train_diloco(rank);
  }
  throw BadInput(name_of(rank.options.algorithm) +
                 " does not run on a device; leave --device out, or choose another algorithm");
}

}  // namespace accocal
