// What it costs an update that its model is split over several ranks: the bubble of the pipeline, what stands bare
// between the last backward pass and the next forward pass, and the communication along each dimension of the ranks.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/base/units.hpp"
#include "sim/evaluation/steady.hpp"

namespace accosim {

/// Times of an update.
struct StageTime {
  int stage = 0;
  int ranks = 0;
  Seconds computing;  ///< forward and backward passes
  Seconds bubble;     ///< no pass of its own to compute, while the flight of its replica lasts
};

/// A flight lasts from the first stage's first forward pass to its last backward pass: what its micro-batches take
/// until the pipeline is empty again.
struct PipelineTime {
  Parallel parallel;
  int flights = 1;           ///< of an update
  double micro_batches = 0;  ///< of all of them, in each replica
  std::vector<StageTime> stages{};
  Seconds computing{}, bubble{};  ///< mean of the stages
  Seconds closed_form{};          ///< closed_share() of what they compute
};
/// The bubble of equal stages whose messages take no time, over what a stage computes: (p - 1) / (v m) for flights of m
/// micro-batches, since a flight then has (p - 1) / v forward and backward passes of a micro-batch in which a stage has
/// nothing to do. The same under all schedules that there are.
double closed_share(const PipelineTime& pipeline);

/// Along one dimension of the ranks. Times are of an update, the mean of all ranks.
struct DimensionTime {
  std::string name;  ///< "tensor", "pipeline", "data"; "all" of what goes along several
  int ranks = 1;     ///< of its groups
  Seconds takes;     ///< something is under way, waits for other ranks not counted
  Seconds bare;      ///< of that, while the GPU computes nothing; of collectives in a layer, what they make it longer

  Seconds hidden() const { return takes - bare; }
};

/// The part of a tail in which nothing goes on.
inline constexpr const char* kWaitingForRanks = "waiting for other ranks";

struct SplitCosts {
  Seconds update_time;
  std::optional<PipelineTime> pipeline;
  Seconds tail;  ///< of the update, on the first stage: outside of all flights
  std::vector<std::pair<std::string, Seconds>> tail_parts;  ///< which add up to it, longest first
  std::vector<DimensionTime> dimensions;
};

/// Of the play's last steady update. Absent where each rank has the whole model, and where replicas make several
/// updates between two meetings: then a mark does not end an update.
std::optional<SplitCosts> split_costs(const SteadyPlay& play);

}  // namespace accosim
