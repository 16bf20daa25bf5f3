// All that an answer says: for those that write it down.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/advise/advice.hpp"
#include "sim/advise/candidates.hpp"
#include "sim/advise/evaluate.hpp"
#include "sim/advise/takeover.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// One of the scenario's own schedules as it is written.
struct WrittenSchedule {
  std::string label;
  Evaluation evaluation;
  std::string refusal;
};

struct Answer {
  std::string name;  ///< of the scenario
  std::string model;
  std::string gpus;  ///< "8 GPUs, 2 nodes x 4 A100-SXM4-80GB"
  std::string baseline;
  AdviceQuery asked;
  std::size_t budget = 0;
  CandidateSpace space;
  std::vector<Warning> cautions;      ///< about all predictions
  std::vector<std::string> left_out;  ///< alternatives that cannot be, with the reason
  std::vector<WrittenSchedule> written;
  Findings advice;
  /// What the updates of the winner and of the second are spent on; absent where there is no second.
  std::optional<UpdateBreakdown> winner_use, second_use;
  std::optional<Adding> adding;  ///< of a mix: what its slower kinds of GPU bring, under the best synchronous schedule
  NetworkRate network;
  std::vector<std::size_t> rivals;  ///< indices in advice.points: those that other rates were tried with
  Takeovers takeovers;              ///< by index in rivals
};

/// Indices in advice.points of those that may win where the network is another one, the winner first: the best of each
/// schedule, the winner's next one, and the same without accumulating while the communication is late; none of more
/// caveats. At most `most`.
std::vector<std::size_t> rivals_of(const CandidateSpace& space, const Findings& advice, std::size_t most);

/// The difference of two updates' time at the winner's samples, by what they are spent on: those of at least a
/// hundredth of the winner's time, the largest first. Positive: the second takes longer for it.
struct TimeDifference {
  TimeUse use = TimeUse::kComputation;
  Seconds more;
};
std::vector<TimeDifference> differences_of(const Answer& answer);

}  // namespace accosim
