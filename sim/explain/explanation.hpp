// Where the time of one update goes: the critical path through the event graph, the collectives on it, and the
// operators behind its compute.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/price/price.hpp"
#include "sim/evaluation/critical_path.hpp"
#include "sim/evaluation/steady.hpp"
#include "sim/explain/explained_collectives.hpp"
#include "sim/explain/split_costs.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

struct OperatorRow {
  std::string layer;
  std::string name;
  int count = 1;  ///< equal layers that have it
  Flops flops;    ///< of one, forward and backward
  Bytes bytes;
  Seconds forward, backward;  ///< of one
  std::string bound;          ///< "compute", "memory" or "launch"

  bool operator==(const OperatorRow&) const = default;
};

struct OperatorTable {
  std::string device;
  std::vector<int> stages{};  ///< of a pipeline, ascending: those whose kinds of ranks it is of; empty: there is one
  std::vector<OperatorRow> rows{};
  Seconds micro_batch{};  ///< forward and backward of one micro-batch
  Seconds waits{};        ///< of it, for collectives over the ranks that split its tensors

  bool operator==(const OperatorTable&) const = default;
};

struct Explanation {
  std::string label;
  int ranks = 1;             ///< of the schedule
  int updates_per_mark = 1;  ///< of the path: replicas that make updates by themselves make so many a round
  CriticalPath path;
  std::vector<CollectiveRow> collectives{};
  std::optional<SplitCosts> split{};       ///< where the model is split
  std::vector<OperatorTable> operators{};  ///< one a kind of rank; of stages that are alike together
  std::vector<std::string> notes{};        ///< what bounds what the path shows, such as a window
  std::vector<PauseCost> pauses{};         ///< which the path leaves out
  std::optional<Seconds> drawn_mean{};     ///< where the path is of one update of many that differ: their mean
  /// What as many samples would take if computation and communication on one GPU did not slow each other; absent where
  /// nobody asked.
  std::optional<Seconds> without_interference{};
};

/// The operators of a kind of rank, equal ones of equal layers in one row.
OperatorTable operator_table(const RankKind& kind);

Explanation explain(const ScheduleSpec& spec, const SteadyPlay& play);

}  // namespace accosim
