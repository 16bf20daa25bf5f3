// What accocal's verbs do on GPUs; where CUDA was not built in, they say so.
#pragma once

#include <functional>
#include <string>

#include "calibration/ranks/spawn.hpp"
#include "calibration/ranks/transport.hpp"
#include "calibration/train/training.hpp"

namespace accocal {

/// The places of ranks: "cuda:0" (all of them on that device), "cuda" (rank r on device r).
struct DevicePlace {
  bool each = false;  ///< rank r on device r
  int index = 0;      ///< else the device of all ranks
};
/// Throws BadInput with what to write.
DevicePlace parse_device(const std::string& text);

/// Throws BadInput with one line where `ranks` ranks have no such devices. Looks in a child process, since a process
/// that has started CUDA must not fork.
void check_devices(const DevicePlace& place, int ranks);

/// train() on the device of this rank.
TrainingResult train_on_device(const TrainingOptions& options, const DevicePlace& place, Transport& transport);

struct DeviceMeasureOptions {
  int device = 0;
  Seconds budget{420};    ///< about; decides how many runs of each
  bool quick = false;     ///< few shapes and runs, to see that it works
  std::string only;       ///< the one kind of sample to take (gemm, memory, attention, launch, copy, interference,
                          ///< collective, step); empty: all
  std::string kernels{};  ///< a table whose products are measured before all others; empty: none
  /// Called after each kind of sample with the document so far, so that what was measured outlives a run that is
  /// killed.
  std::function<void(const std::string&)> save{};
  int collective_ranks = 0;  ///< processes on this one device that talk over sockets, as an experiment; 0: none
};
/// Throws BadInput with what to write.
void check_options(const DeviceMeasureOptions& options);
/// The document, accosim.gpu_samples/1. Progress goes to the standard error.
std::string measure_on_device(const DeviceMeasureOptions& options);

}  // namespace accocal
