// The tuned rows of a comparison, as sim/study/tuned.hpp finds them: an answer about a scenario, which is given beside
// it to whoever reads it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/base/json.hpp"

namespace accosim {

/// A schedule among a scenario's that its file does not write: the best synchronous one, or the best of the others.
struct AddedSchedule {
  std::size_t index = 0;  ///< in Scenario::schedules
  std::string label{};    ///< there
  std::string form;   ///< "zero1, overlap grad reduce + param gather"; or the label of the scenario's own that it is
  JsonValue entry{};  ///< of "schedules", which loads to it with `set`; null: it is one of the scenario's own
  /// As --set takes them: its framework, and what would otherwise change with that; the balance of one of its own.
  std::vector<std::string> set{};
  bool balanced = false;     ///< its work is divided by speed, which the form does not say
  bool fixed_batch = false;  ///< it waits for late communication instead of accumulating more; likewise
  int micro_batch_size = 0;  ///< ScheduleSpec::micro_batch_size; likewise
  int virtual_stages = 0;    ///< ScheduleSpec::chunks; likewise

  bool own() const { return entry.kind == JsonKind::kNull; }
  /// It is one of the scenario's own schedules as it stands there.
  bool repeats() const { return own() && set.empty(); }
  /// "zero1, overlap grad reduce + param gather, micro-batch 8, balanced".
  std::string name() const {
    return form + (virtual_stages > 1 ? ", VPP " + std::to_string(virtual_stages) : "") +
           (virtual_stages == 1 ? ", not interleaved" : "") + (fixed_batch ? ", fixed batch" : "") +
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

/// Empty where nothing was tuned.
struct Tuned {
  std::optional<AddedSchedule> synchronous;  ///< the best one
  std::optional<AddedSchedule> delayed;      ///< the best of the delayed and the local ones
  std::vector<TunedBatch> by_batch;          ///< best synchronous ones
  std::optional<Elsewhere> elsewhere;
  std::optional<Beyond> beyond;

  /// The fastest a sample of those of at most so many samples; nullptr where there is none.
  const TunedBatch* at(double samples) const {
    constexpr double kRounding = 1e-9;
    const TunedBatch* least = nullptr;
    for (const TunedBatch& each : by_batch)
      if (each.samples <= samples * (1 + kRounding) && (least == nullptr || each.time < least->time)) least = &each;
    return least;
  }
};

}  // namespace accosim
