#include "sim/app/timeline.hpp"

#include <fmt/format.h>

#include <limits>

#include "models/spec/parallel_words.hpp"

namespace accosim {

std::vector<Option> timeline_options(const std::string& needed) {
  return {number_option("--updates",
                        "Number of updates in the timeline; default: until they repeat, and a few where that is long",
                        0, 1, 100, needed),
          {.names = "--all-ranks",
           .help = "Draw every rank that differs from the others, and not only six",
           .value = false,
           .needs = needed}};
}

PlotHeading heading_of(const Scenario& scenario) {
  int gpus = 0;
  std::string devices;
  for (const NodeGroup& group : scenario.cluster.nodes) {
    if (group.count == 0) continue;
    gpus += group.count * group.gpus;
    devices +=
        fmt::format("{}{} x {} {}", devices.empty() ? "" : ", ", group.count, group.gpus, group.devices.front().name);
  }
  const std::string split = in_words(scenario.training.parallel, gpus);
  return {scenario.name, fmt::format("{} on {} GPUs: {} ({}){}", scenario.model.name, gpus, scenario.cluster.name,
                                     devices, split.empty() ? "" : "; " + split)};
}

TimelinePicture timeline_picture(const Scenario& scenario, const std::vector<int>& indices,
                                 const std::vector<RunResult>& results, const Evaluations& evaluations,
                                 const Arguments& arguments) {
  TimelineOptions options{.updates = arguments.whole("--updates")};
  if (arguments.flag("--all-ranks")) options.ranks = std::numeric_limits<int>::max();
  return {heading_of(scenario), timelines_of(scenario, indices, results, options, evaluations), results};
}

}  // namespace accosim
