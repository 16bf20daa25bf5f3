// accocal's choices where a schedule leaves one.
#include "models/read/own_schedule.hpp"

#include "models/spec/schedule.hpp"

namespace accosim {

JsonValue own_schedule(const ScheduleTraits& traits) {
  JsonValue schedule = json_object({{"name", traits.name}});
  if (traits.usual_overlap != Overlap::kNone) schedule.set("overlap", name_of(Overlap::kNone));
  if (traits.takes("count_micro_batches")) schedule.set("count_micro_batches", true);
  return schedule;
}

}  // namespace accosim
