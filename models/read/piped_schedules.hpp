// What a schedule's keys cannot say where its micro-batches are taken in flights through a pipeline: a stage reduces
// its gradients once, and a flight cannot always be made longer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/base/reader.hpp"
#include "models/spec/cluster.hpp"
#include "models/spec/parallel.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/schedule_traits.hpp"
#include "models/spec/training.hpp"

namespace accosim {

/// What the value of a key of a schedule is read from, and into.
struct ScheduleReading {
  ObjectReader& reader;
  ScheduleSpec& spec;
  const ScheduleTraits& traits;
  const Training& training;
  const std::optional<Cluster>& cluster;  ///< given when it is valid
};

/// Whether a flight through the pipeline ends with the micro-batches that were known when it began.
bool is_closed_flight(const ScheduleReading& of);
/// Reports node groups whose own micro-batches are no whole rounds: a round does half of them.
void check_own_steps_of_rounds(const ScheduleReading& of);
/// Read align_param_gather and poll_every, whose defaults go by the stages' chunks.
void read_alignment(const ScheduleReading& of, const char* key);
void read_poll_every(const ScheduleReading& of, const char* key);
/// Reports a schedule that is not modelled where ranks have the experts of a layer between them. Its keys have been
/// read.
void check_shared_experts(const ScheduleReading& of);
/// What is wrong with a key that has been read, and what to write instead; empty: nothing, or there is no pipeline.
std::string wrong_in_pipeline(const ScheduleReading& of, std::string_view key);

}  // namespace accosim
