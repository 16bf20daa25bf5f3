// What a user describes: a model, a cluster, how it is trained, and the schedules to compare. Whatever the loader
// returns is valid, so nothing later checks it again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/model.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/training.hpp"

namespace accosim {

/// What was published of a schedule's run, printed beside the prediction.
struct PublishedRun {
  std::optional<double> speedup;  ///< over the baseline
  std::optional<Seconds> time;    ///< of the whole run, all train_tokens
};

struct Scenario {
  std::string name{};
  std::string description{};
  Model model{};
  Cluster cluster{};
  Training training{};
  std::string baseline{};  ///< label of the schedule that the others are compared with
  std::vector<ScheduleSpec> schedules{};
  std::map<std::string, PublishedRun> published{};  ///< by label
  bool published_of_another_run = false;            ///< settings were replaced after the file was read (--set)
  std::vector<std::string> sets{};                  ///< those settings, as they were given
};

/// Samples per update that the scenario asks for.
double samples_asked(const Scenario& scenario);

}  // namespace accosim
