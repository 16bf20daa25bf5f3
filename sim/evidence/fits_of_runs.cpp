#include "sim/evidence/fits_of_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/spec/schedule.hpp"
#include "sim/evaluation/resident.hpp"

namespace accosim {
namespace {

/// One name for all that was published of a run; empty: it is no run.
std::string run_of(const PublishedCase& one) {
  if (one.scenario == nullptr || !one.not_expressible.empty()) return "";
  const ScheduleSpec& spec = one.scenario->schedules[one.schedule];
  if (one.group == kPaperGroup) return one.source + "/" + one.scenario->name + ", " + spec.label;
  const bool memory = one.group == kMemoryGroup || one.group == kSplitMemoryGroup;
  if (!memory && one.group != kTrainingGroup && one.group != kSplitGroup && one.group != kMixedGroup) return "";
  const std::string end = " memory";
  const std::size_t cut = memory ? end.size() : 0;
  return one.id.substr(0, one.id.size() - cut);
}

}  // namespace

std::vector<RunFit> fits_of_runs(const std::vector<const PublishedCase*>& cases) {
  std::vector<RunFit> runs;
  std::set<std::string> known;
  for (const PublishedCase* one : cases) {
    const std::string id = run_of(*one);
    if (id.empty() || !known.insert(id).second) continue;
    const ScheduleSpec& spec = one->scenario->schedules[one->schedule];
    const std::vector<KindMemory> kinds =
        memory_by_kind(price(*one->scenario, spec), spec, one->scenario->training.gradient_accumulation_steps);
    const KindMemory& least = least_likely(kinds);
    runs.push_back({id, one->configuration, one->memory_explanation, least.parts.total(), least.capacity,
                    resident_interval(least.parts), least.fit});
  }
  return runs;
}

std::vector<std::string> broken_fits(const std::vector<RunFit>& runs, int most) {
  std::vector<std::string> broken;
  const auto wrong = std::ranges::count_if(runs, &RunFit::wrong);
  if (wrong > most)
    broken.push_back(fmt::format("of the runs that ran {} said not to fit, above the bound of {}",
                                 wrong == 1 ? "one is" : fmt::format("{} are", wrong), most));
  for (const RunFit& run : runs)
    if (run.wrong() && run.explanation.empty())
      broken.push_back(fmt::format("{}: it ran and is said not to fit, without a written reason", run.id));
  return broken;
}

}  // namespace accosim
