// `accocal measure --device`: first what needs processes of its own, since one that has started CUDA must not fork.
#include "calibration/base/names.hpp"
#include "calibration/measure/measure_collectives.hpp"
#include "calibration/measure/measure_rank.hpp"
#include "calibration/measure/measure_run.hpp"
#include "models/base/errors.hpp"

namespace accocal {

void check_options(const DeviceMeasureOptions& options) {
  check_only(options.only);
  if (options.collective_ranks > 0 && !options.only.empty() && options.only != "collective")
    throw BadInput("--collective-ranks: --only " + options.only + " measures no collectives; leave one of them out");
}

std::string measure_on_device(const DeviceMeasureOptions& options) {
  check_options(options);
  const MeasureSetting no_device = default_setting({}, options.quick);
  EarlierSamples earlier;
  const double begin = monotonic_seconds();
  if (options.only.empty() || options.only == "collective") earlier = measure_collectives(options, no_device.say);
  use_device(options.device);
  earlier.took = Seconds{monotonic_seconds() - begin};
  const DevicePlan plan = make_device_plan(options.quick ? quick_sizes() : full_sizes());
  return measure_plan(plan, default_setting(device_info(options.device), options.quick), options, earlier);
}

}  // namespace accocal
