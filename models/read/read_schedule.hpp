// One schedule of a scenario: its keys, and the defaults of those that are absent.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "models/base/reader.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/training.hpp"

namespace accosim {

/// `cluster`, where it is valid, is used to check what its devices can do.
ScheduleSpec read_schedule(JsonValue& value, const std::string& pointer, const Training& training,
                           const std::optional<Cluster>& cluster, Diagnostics& diagnostics);
/// What an entry says on that ground; nothing where it is refused there.
inline std::optional<ScheduleSpec> schedule_of(JsonValue& entry, const Training& training,
                                               const std::optional<Cluster>& cluster) {
  Diagnostics diagnostics;
  ScheduleSpec spec = read_schedule(entry, "", training, cluster, diagnostics);
  return diagnostics.errors.empty() ? std::optional(std::move(spec)) : std::nullopt;
}

}  // namespace accosim
