// accocal as built with CUDA and without NCCL: one rank works, several cannot talk.
#include "calibration/base/names.hpp"
#include "calibration/device/device_transport.hpp"
#include "models/base/errors.hpp"

namespace accocal {

std::unique_ptr<DeviceTransport> nccl_transport(Transport&) {
  throw BadInput(
      "several ranks on devices talk by NCCL, which was not there when accocal was built; configure it where nccl.h "
      "and "
      "libnccl are (-DNCCL_INCLUDE_DIR=..., -DNCCL_LIBRARY=...), or write --ranks 1");
}

}  // namespace accocal
