#include "sim/result/phases.hpp"

#include <algorithm>

#include "models/base/json.hpp"
#include "models/base/reader.hpp"
#include "models/price/pace.hpp"
#include "models/read/read_schedule.hpp"
#include "models/spec/schedule_traits.hpp"

namespace accosim {

std::optional<Phases> phases_of(const Scenario& scenario, const ScheduleSpec& spec) {
  if (spec.synchronous_updates == 0) return std::nullopt;
  Phases phases;
  JsonValue entry = json_object({{"name", plain_schedule().name},
                                 {"parameter_dtype", name_of(spec.parameter_dtype)},
                                 {"gradient_dtype", name_of(spec.gradient_dtype)},
                                 {"optimizer_dtype", name_of(spec.optimizer_dtype)}});
  Diagnostics diagnostics;
  phases.first = read_schedule(entry, "", scenario.training, scenario.cluster, diagnostics);
  phases.first.label = spec.label;
  phases.first.balance = spec.balance;
  phases.later = spec;
  phases.later.synchronous_updates = 0;
  const double length = mean_length(scenario.training.unsteady.lengths, scenario.training.sequence_length);
  const double updates = scenario.training.train_tokens / (samples_asked(scenario) * length);
  phases.share = std::min(1.0, spec.synchronous_updates / updates);
  return phases;
}

}  // namespace accosim
