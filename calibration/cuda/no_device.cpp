// accocal as built without CUDA.
#include "calibration/cuda/device_verbs.hpp"
#include "calibration/errors.hpp"

namespace accosim {
namespace {

[[noreturn]] void refuse() {
  throw BadInput("no CUDA device: this accocal was built without CUDA, since " ACCOSIM_NO_CUDA
                 "; leave --device out to run on CPUs");
}

}  // namespace

DevicePlace parse_device(const std::string&) { refuse(); }
void check_devices(const DevicePlace&, int) { refuse(); }
TrainingResult train_on_device(const TrainingOptions&, const DevicePlace&, Transport&) { refuse(); }
void check_options(const DeviceMeasureOptions&) { refuse(); }
std::string measure_on_device(const DeviceMeasureOptions&) { refuse(); }

}  // namespace accosim
