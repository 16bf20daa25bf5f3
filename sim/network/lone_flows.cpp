#include "sim/network/lone_flows.hpp"

#include <algorithm>
#include <cstddef>

namespace accosim {

LoneFlows::LoneFlows(const EventGraph& graph, bool evenly) {
  for (const Path& path : graph.paths) {
    double least = path.cap().value;
    for (const int number : path.links) {
      const Link& link = graph.links[number];
      const double flows = evenly ? std::max(1.0, static_cast<double>(path.alike) / link.alike) : 1;
      least = std::min(least, link.bandwidth.value / flows);
    }
    rate_.push_back(least);
  }
}

void LoneFlows::start(int number, int path, Bytes bytes, Seconds now) {
  flows_.resize(std::max(flows_.size(), static_cast<std::size_t>(number) + 1));
  flows_[number] = {path, now.value, bytes.value, true};
  ends_.emplace(now.value + bytes.value / rate_[path], number);
}

Bytes LoneFlows::take(int number, Seconds now) {
  Flow& flow = flows_[number];
  flow.live = false;
  return Bytes{std::max(0.0, flow.bytes - (now.value - flow.begin) * rate_[flow.path])};
}

bool LoneFlows::has(int number) const {
  return static_cast<std::size_t>(number) < flows_.size() && flows_[number].live;
}

void LoneFlows::drop_taken() {
  while (!ends_.empty() && !flows_[ends_.top().second].live) ends_.pop();
}

Seconds LoneFlows::first_end(Seconds until) {
  drop_taken();
  return ends_.empty() ? until : std::min(until, Seconds{ends_.top().first});
}

void LoneFlows::end(Seconds by, std::vector<int>& ended) {
  for (drop_taken(); !ends_.empty() && ends_.top().first <= by.value; drop_taken()) {
    const int number = ends_.top().second;
    ends_.pop();
    flows_[number].live = false;
    ended.push_back(number);
  }
}

}  // namespace accosim
