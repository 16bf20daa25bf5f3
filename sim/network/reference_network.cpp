// The oracle: a network without contention, small enough to be checked by reading it. Where no link is shared, SimGrid
// must agree with it; and where equal flows alone share one, with its even parts.
#include <algorithm>
#include <limits>

#include "sim/network/network.hpp"

namespace accosim {
namespace {

class ReferenceNetwork final : public Network {
 public:
  /// `evenly`: links that equal flows share are parted among them.
  ReferenceNetwork(const EventGraph& graph, bool evenly) {
    for (const Path& path : graph.paths) {
      double least = path.cap().value;
      for (const int number : path.links) {
        const Link& link = graph.links[number];
        const double flows = evenly ? std::max(1.0, static_cast<double>(path.alike) / link.alike) : 1;
        least = std::min(least, link.bandwidth.value / flows);
      }
      path_bandwidth_.push_back(least);
      cap_.push_back(std::numeric_limits<double>::infinity());
    }
  }

  int start(int path, Bytes bytes, Seconds now) override {
    settle(now);
    live_.push_back({next_, path, bytes.value});
    return next_++;
  }

  void set_cap(int path, BytesPerSecond cap) override { cap_[path] = cap.value; }

  Seconds advance(Seconds until, std::vector<int>& ended) override {
    double first = until.value;
    for (const Flow& flow : live_) first = std::min(first, end_of(flow));
    // Flows whose end is the one that time stops at, within rounding.
    std::vector<Flow> left;
    for (const Flow& flow : live_) {
      if (end_of(flow) <= first)
        ended.push_back(flow.number);
      else
        left.push_back(flow);
    }
    live_ = std::move(left);
    settle(Seconds{first});
    return Seconds{first};
  }

 private:
  struct Flow {
    int number, path;
    double bytes;  // left at now_
  };

  double rate(const Flow& flow) const { return std::min(path_bandwidth_[flow.path], cap_[flow.path]); }
  double end_of(const Flow& flow) const { return now_ + flow.bytes / rate(flow); }

  void settle(Seconds now) {
    for (Flow& flow : live_) flow.bytes = std::max(0.0, flow.bytes - (now.value - now_) * rate(flow));
    now_ = now.value;
  }

  std::vector<double> path_bandwidth_, cap_;
  std::vector<Flow> live_;  // in order of their numbers
  double now_ = 0;
  int next_ = 0;
};

}  // namespace

std::unique_ptr<Network> make_reference_network(const EventGraph& graph) {
  return std::make_unique<ReferenceNetwork>(graph, false);
}

std::unique_ptr<Network> make_even_network(const EventGraph& graph) {
  return std::make_unique<ReferenceNetwork>(graph, true);
}

}  // namespace accosim
