// Flows that have their paths to themselves: each moves at a rate that is known from the first, so its end is too.
#pragma once

#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "models/base/units.hpp"
#include "sim/graph/graph.hpp"
#include "sim/network/live_flows.hpp"

namespace accosim {

class LoneFlows {
 public:
  /// `evenly`: a link that the equal flows of one path share is parted among them (Path::alike over Link::alike).
  LoneFlows(const EventGraph& graph, bool evenly);

  void start(int number, int path, Bytes bytes, Seconds now);
  /// Takes a flow out that has not ended: the bytes that it still had.
  Bytes take(int number, Seconds now);
  bool has(int number) const { return flows_.has(number); }
  /// The first end of a flow, or `until` if that is earlier.
  Seconds first_end(Seconds until);
  /// Adds those that end by then, in order of their ends and numbers.
  void end(Seconds by, std::vector<int>& ended);

 private:
  struct Flow {
    int path = 0;
    double begin = 0, bytes = 0;
  };
  using End = std::pair<double, int>;

  void drop_taken();

  std::vector<double> rate_;  // by path
  LiveFlows<Flow> flows_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

}  // namespace accosim
