// Is a machine as it should be: what is slow in it, and what that costs a training step, as predicted.
#pragma once

#include <string>
#include <vector>

#include "models/fit/verdicts.hpp"
#include "models/spec/device.hpp"

namespace accosim {

/// A step of a schedule, for as many samples, on the machine as it should be and as it was measured.
struct InspectedStep {
  std::string schedule;
  Seconds sound, measured;
};

/// What documents say of places that should be alike.
struct InspectedMachine {
  std::string name;                  ///< the document, or what several are of
  std::string title;                 ///< "4 ranks over netns on a CPU, measured at a date"
  std::vector<std::string> places;   ///< ranks, GPUs or kinds of links, as they are drawn
  bool ring = false;                 ///< each place has a link to the next one
  std::vector<Verdict> verdicts;     ///< of the slow ones with their cost, where the step is predicted
  std::vector<InspectedStep> steps;  ///< with all that is slow; none: not predicted
  std::vector<std::string> untold;   ///< what the document does not tell, a sentence each

  bool slow() const;
};

/// The ranks of a machine. Steps are those of the scenario that machine_scenario() makes of what is sound, with the
/// slow ranks' own kernels, rates of links, and hand-offs in full: one for each round of an update.
InspectedMachine inspect_machine(const MachineSamples& samples, const std::string& name);

/// GPUs, each by its document. Steps are those of a shipped scenario on such GPUs; what crosses the bus is not in them.
InspectedMachine inspect_gpus(const std::vector<InspectedGpu>& gpus);

/// Links of clusters, by their collectives; without a step.
InspectedMachine inspect_links(const std::vector<MeasuredCollective>& samples, const std::string& name);

/// The verdicts to show, those that cost most first: all that are slow, and of each other thing that was measured the
/// place that comes next to it.
std::vector<Verdict> shown_verdicts(const InspectedMachine& machine);

/// Of each place and part that is slow the verdict that says it best: the first.
std::vector<Verdict> faults_of(const InspectedMachine& machine);

}  // namespace accosim
