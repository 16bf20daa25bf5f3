#include "sim/network/lone_flows.hpp"

#include <algorithm>

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
  flows_.add(number, {path, now.value, bytes.value});
  ends_.emplace(now.value + bytes.value / rate_[path], number);
}

Bytes LoneFlows::take(int number, Seconds now) {
  const Flow flow = flows_.take(number);
  return Bytes{std::max(0.0, flow.bytes - (now.value - flow.begin) * rate_[flow.path])};
}

void LoneFlows::drop_taken() {
  while (!ends_.empty() && !has(ends_.top().second)) ends_.pop();
}

Seconds LoneFlows::first_end(Seconds until) {
  drop_taken();
  return ends_.empty() ? until : std::min(until, Seconds{ends_.top().first});
}

void LoneFlows::end(Seconds by, std::vector<int>& ended) {
  for (drop_taken(); !ends_.empty() && ends_.top().first <= by.value; drop_taken()) {
    const int number = ends_.top().second;
    ends_.pop();
    flows_.take(number);
    ended.push_back(number);
  }
}

}  // namespace accosim
