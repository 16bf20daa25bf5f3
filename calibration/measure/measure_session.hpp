// What has been measured so far, what was left out and why, and how much time is left: an item that fails is listed,
// and the rest goes on.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "calibration/base/names.hpp"
#include "calibration/measure/measure_samples.hpp"
#include "models/base/json.hpp"
#include "models/base/units.hpp"

namespace accocal {

/// A sample's keys in their order.
using Entries = std::vector<JsonMember>;
/// `first`, then `more`.
Entries joined(Entries first, const Entries& more);

struct ItemTimes {
  Spread spread;  ///< seconds
  Entries more;   ///< keys whose values were found while measuring
};

/// A sample cannot be taken, although the device works; what() says why.
class NotMeasured : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct MeasureItem {
  std::string text;   ///< what it is
  std::string group;  ///< the kind of item, for reports of several that were left out for one reason
  Entries keys;
  /// Called in the first pass, and with `again` in the second, which runs in the opposite order. Returns nothing where
  /// it would take longer than `most`.
  std::function<std::optional<ItemTimes>(Seconds most, bool again)> measure{};
};

struct DeviceSample {
  Entries keys;  ///< and what was found
  Spread spread;
  std::optional<double> again;  ///< the second pass's median; seconds
};

struct Omission {
  std::string what, why;
  int count = 1;
};

/// What was measured elsewhere, before this process used the device.
struct EarlierSamples {
  std::vector<DeviceSample> samples;
  std::vector<Omission> left_out;
  Seconds took;  ///< of the budget
};

class Session {
 public:
  using Clock = std::function<Seconds()>;
  using Say = std::function<void(const std::string&)>;
  /// `alive` is asked after an error of the device: can it go on?
  Session(Seconds budget, Clock clock, Say say, std::function<bool()> alive);

  /// Runs the items in their order, then, in the opposite order, a second time those that gave a sample. `until`: share
  /// of the budget after which no item is begun that could not finish both passes in time. Never throws.
  void run(const std::string& what, const std::vector<MeasureItem>& items, double until);
  void leave_out(const std::string& what, const std::string& why);
  bool lost() const { return !lost_.empty(); }
  Seconds now() const { return clock_() - start_; }

  const std::vector<DeviceSample>& samples() const { return samples_; }
  const std::vector<Omission>& left_out() const { return left_out_; }

 private:
  std::optional<ItemTimes> attempt(const MeasureItem& item, Seconds most, bool again);
  void progress(const std::string& what, std::size_t done, std::size_t all, const std::string& now);

  Seconds budget_, start_, said_;
  Clock clock_;
  Say say_;
  std::function<bool()> alive_;
  std::string lost_;  ///< why nothing more can be measured
  std::vector<DeviceSample> samples_;
  std::vector<Omission> left_out_;
};

}  // namespace accocal
