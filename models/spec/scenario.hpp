// What a user describes: a model, a cluster, how it is trained, and the schedules to compare. Whatever the loader
// returns is valid, so nothing later checks it again.
#pragma once

#include <cstddef>
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

/// A schedule among a scenario's that its file does not write: the best synchronous one, or the best of the others
/// (sim/study/tuned.hpp).
struct AddedSchedule {
  std::size_t index = 0;  ///< in Scenario::schedules
  std::string form;   ///< "zero1, overlap grad reduce + param gather"; or the label of the scenario's own that it is
  std::string entry;  ///< of "schedules", which loads to it with `set`; empty: it is one of the scenario's own
  /// As --set takes them: its framework, and what would otherwise change with that; the balance of one of its own.
  std::vector<std::string> set;
  bool balanced = false;     ///< its work is divided by speed, which the form does not say
  bool fixed_batch = false;  ///< it waits for late communication instead of accumulating more; likewise
  int micro_batch_size = 0;  ///< ScheduleSpec::micro_batch_size; likewise

  /// It is one of the scenario's own schedules as it stands there.
  bool repeats() const { return entry.empty() && set.empty(); }
  /// "zero1, overlap grad reduce + param gather, micro-batch 8, balanced".
  std::string name() const {
    return form + (fixed_batch ? ", fixed batch" : "") +
           (micro_batch_size > 0 ? ", micro-batch " + std::to_string(micro_batch_size) : "") +
           (balanced ? ", balanced" : "");
  }
};

/// A synchronous schedule of another framework that is faster than the best one of the scenario's own.
struct Elsewhere {
  AddedSchedule added;
  std::string framework;  ///< "Megatron-LM"
  double times = 1;       ///< so many times as fast
};

/// The fastest synchronous schedule at the batch that is asked for, or at a larger one which a delayed one has grown
/// to.
struct TunedBatch {
  double samples = 0;  ///< of an update
  double time = 0;     ///< s a sample
  std::string name;    ///< "zero1, overlap grad reduce + param gather, micro-batch 6"
};

/// Settings besides schedules that make the best synchronous one faster.
struct Beyond {
  std::vector<std::string> set;
  double times = 1;  ///< so many times as fast
};

struct Scenario {
  std::string name;
  std::string description;
  Model model;
  Cluster cluster;
  Training training;
  std::string baseline;  ///< label of the schedule that the others are compared with
  std::vector<ScheduleSpec> schedules;
  std::optional<AddedSchedule> best_synchronous;
  std::vector<TunedBatch> best_by_batch;      ///< best synchronous ones
  std::optional<AddedSchedule> best_delayed;  ///< of the delayed and the local ones
  std::optional<Elsewhere> elsewhere;
  std::optional<Beyond> beyond;
  std::map<std::string, PublishedRun> published;  ///< by label
  bool published_of_another_run = false;          ///< settings were replaced after the file was read (--set)
  std::vector<std::string> sets;                  ///< those settings, as they were given
};
/// Samples per update that the scenario asks for.
double samples_asked(const Scenario& scenario);

/// Of Scenario::best_by_batch the fastest a sample, of those of at most so many samples; nullptr where there is none.
const TunedBatch* tuned_batch(const Scenario& scenario, double samples);

}  // namespace accosim
