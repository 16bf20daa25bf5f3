// accocal as built without CUDA.
#include <string>

#include "build_info/no_cuda.hpp"
#include "calibration/base/names.hpp"
#include "calibration/device/device_verbs.hpp"
#include "models/base/errors.hpp"

namespace accocal {
namespace {

[[noreturn]] void refuse() {
  throw BadInput(std::string("no CUDA device: this accocal was built without CUDA, since ") + kWhyNoCuda +
                 "; leave --device out to run on CPUs");
}

}  // namespace

DevicePlace parse_device(const std::string&) { refuse(); }
void check_devices(const DevicePlace&, int) { refuse(); }
TrainingResult train_on_device(const TrainingOptions&, const DevicePlace&, Transport&) { refuse(); }
void check_options(const DeviceMeasureOptions&) { refuse(); }
std::string measure_on_device(const DeviceMeasureOptions&) { refuse(); }

}  // namespace accocal
