// The whole of `accocal measure --device` but the device's own beginnings: a plan, its samples, the document.
#pragma once

#include <string>
#include <vector>

#include "calibration/device/device_verbs.hpp"
#include "calibration/measure/device_plan.hpp"
#include "calibration/measure/measure_items.hpp"
#include "calibration/measure/measure_session.hpp"

namespace accocal {

/// Throws BadInput for an unknown kind of sample, and names the known ones.
void check_only(const std::string& only);

/// How a bench and its samples are run.
struct MeasureSetting {
  BenchOptions bench;
  Efforts efforts;
  Session::Clock clock;
  Session::Say say{};
};
/// The usual setting, which depends on the size of the device's L2.
MeasureSetting default_setting(const DeviceInfo& info, bool quick);

/// Runs what `options.only` asks for, on the device that is in use. The document, whatever failed on the way.
std::string measure_plan(const DevicePlan& plan, const MeasureSetting& setting, const DeviceMeasureOptions& options,
                         const EarlierSamples& earlier);

/// What the document is made of.
struct DeviceDocument {
  DeviceInfo info;
  DeviceState before, after{};
  Seconds took{};
  std::string command;
  std::vector<DeviceSample> samples{};
  std::vector<Omission> left_out{};
  std::vector<Entries> rested{};  ///< micro-batches after a rest
};
std::string device_document(const DeviceDocument& document);

}  // namespace accocal
