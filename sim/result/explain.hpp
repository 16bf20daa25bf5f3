// Where the time of one update goes, as plain structs: the critical path through the event graph, and the operators
// behind its compute.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/base/units.hpp"
#include "sim/graph/graph.hpp"
#include "sim/result/metrics.hpp"

namespace accosim {

/// Equal neighbouring ops of the critical path, merged.
struct PathStep {
  std::string name;
  OpClass cls = OpClass::kForward;
  int rank = 0;
  Seconds duration;  ///< of all `count`
  std::int64_t count = 1;
  Scope scope = Scope::kWorld;  ///< of a collective: which ranks make it
};

struct CriticalPath {
  Seconds update_time;
  std::vector<PathStep> steps;                          ///< in order, over one steady update
  std::vector<std::pair<std::string, Seconds>> causes;  ///< the same time summed by what it is, longest first
};

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
  std::vector<OperatorRow> rows;
  Seconds micro_batch;  ///< forward and backward of one micro-batch

  bool operator==(const OperatorTable&) const = default;
};

/// A collective and what it costs where nothing else runs.
struct CollectiveRow {
  std::string name;        ///< as the schedule calls it, or its kind
  std::int64_t count = 0;  ///< in an update
  int ranks = 1, nodes = 1;
  Bytes bytes;  ///< the full buffer
  std::string algorithm, protocol;
  int channels = 0;  ///< 0: none that hold multiprocessors
  Bytes message;     ///< the largest between nodes; 0: none goes there, or its size is not followed
  double steps = 0, net_steps = 0, turns = 1;
  Seconds alone;
  double spread = 0;                                   ///< of log(measured / predicted)
  std::vector<std::pair<std::string, Seconds>> terms;  ///< which add up to `alone`
  std::string binds;                                   ///< the largest of them
};

struct Explanation {
  std::string label;
  CriticalPath path;
  std::vector<CollectiveRow> collectives;
  std::vector<OperatorTable> operators;  ///< one a kind of rank
  std::vector<std::string> notes;        ///< what bounds what the path shows, such as a window
  std::vector<PauseResult> pauses;       ///< which the path leaves out
  std::optional<Seconds> drawn_mean;     ///< where the path is of one update of many that differ: their mean
  /// What as many samples would take if computation and communication on one GPU did not slow each other; absent where
  /// nobody asked.
  std::optional<Seconds> without_interference{};
};

}  // namespace accosim
