#include "sim/app/ladder_option.hpp"

#include <fmt/format.h>

#include "models/base/text.hpp"
#include "models/spec/scenario_error.hpp"
#include "models/spec/schedule.hpp"
#include "sim/app/schedules.hpp"
#include "sim/app/shared.hpp"
#include "sim/what_if/best_synchronous.hpp"

namespace accosim {
namespace {

/// The one schedule that the word names.
const ScheduleSpec& rung_named(const Scenario& scenario, const std::string& word) {
  const std::vector<int> named = schedules_named(scenario, "--ladder", {word});
  if (named.size() > 1)
    throw ScenarioError({fmt::format("--ladder {}: {} schedules have this name; write the label of one",
                                     printable(word), named.size())});
  return scenario.schedules[static_cast<std::size_t>(named.front())];
}

}  // namespace

Option ladder_option() {
  return {.names = "--ladder",
          .help = "Walk from one schedule (a label or name) to another, a change at a time: --ladder ddp acco",
          .value = Texts(),
          .words = 2,
          .takes = "LABEL"};
}

Ladder ladder_asked_for(Scenario scenario, const Evaluations& evaluations, const Arguments& arguments) {
  const Texts& ends = arguments.texts("--ladder");
  if (ends.size() > 2) throw ScenarioError({"--ladder: names more than one pair of schedules; give it once"});
  const ScheduleSpec from = rung_named(scenario, ends[0]), to = rung_named(scenario, ends[1]);
  if (from.label == to.label)
    throw ScenarioError({fmt::format("--ladder {} {}: is one schedule, with nothing between; name two",
                                     printable(ends[0]), printable(ends[1]))});
  std::vector<int> all = chosen_schedules(scenario, {});
  if (!arguments.flag("--no-tuned")) add_best_synchronous(scenario, all, evaluations);
  return ladder(scenario, from, to, evaluations);
}

}  // namespace accosim
