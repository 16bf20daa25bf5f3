#include "sim/evidence/fits_of_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace accosim {
namespace {

/// One name for all that was published of a run; empty: it is no run.
std::string run_of(const PublishedCase& one) {
  if (one.scenario == nullptr || !one.not_expressible.empty()) return "";
  const ScheduleSpec& spec = one.scenario->schedules[one.schedule];
  if (one.group == kPaperGroup) return one.source + "/" + one.scenario->name + ", " + spec.label;
  const bool memory = one.group == kMemoryGroup || one.group == kSplitMemoryGroup;
  if (!memory && std::ranges::count(kStepGroups, one.group) == 0) return "";
  const std::string end = " memory";
  const std::size_t cut = memory ? end.size() : 0;
  return one.id.substr(0, one.id.size() - cut);
}

}  // namespace

KindMemory fullest_kind(const Scenario& scenario, int schedule) {
  const ScheduleSpec& spec = scenario.schedules[schedule];
  return least_likely(memory_by_kind(price(scenario, spec), spec, scenario.training.gradient_accumulation_steps));
}

std::vector<RunFit> fits_of_runs(const std::vector<const PublishedCase*>& cases) {
  std::vector<RunFit> runs;
  std::set<std::string> known;
  for (const PublishedCase* one : cases) {
    const std::string id = run_of(*one);
    if (id.empty() || !known.insert(id).second) continue;
    runs.push_back({id, one->configuration, one->memory_explanation, fullest_kind(*one->scenario, one->schedule)});
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
