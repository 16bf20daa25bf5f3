// Most flows meet no other on their links, and then there is nothing to share: SimGrid, which takes some microseconds
// for each, is asked for those that do meet alone, from that moment on.
#include <algorithm>
#include <cstddef>

#include "sim/network/live_flows.hpp"
#include "sim/network/lone_flows.hpp"
#include "sim/network/network.hpp"

namespace accosim {
namespace {

class FairNetwork final : public Network {
 public:
  explicit FairNetwork(const EventGraph& graph) : graph_(graph), lone_(graph, true), on_(graph.links.size()) {}

  int start(int path, Bytes bytes, Seconds now) override {
    const int number = next_++;
    path_of_.add(number, path);
    bool meets = false;
    for (const int link : graph_.paths[path].links) {
      for (const int other : on_[link])
        if (lone_.has(other)) share(other, lone_.take(other, now), now);
      meets = meets || !on_[link].empty();
      on_[link].push_back(number);
    }
    if (meets)
      share(number, bytes, now);
    else
      lone_.start(number, path, bytes, now);
    return number;
  }

  Seconds advance(Seconds until, std::vector<int>& ended) override {
    const std::size_t before = ended.size();
    Seconds reached = lone_.first_end(until);
    if (sharing_ > 0) {
      ended_shared_.clear();
      reached = shared_->advance(reached, ended_shared_);
      sharing_ -= ended_shared_.size();
      for (const int number : ended_shared_) ended.push_back(number_of_[number]);
    }
    lone_.end(reached, ended);
    const auto first = ended.begin() + static_cast<std::ptrdiff_t>(before);
    std::sort(first, ended.end());
    std::for_each(first, ended.end(), [&](int number) { leave(number); });
    return reached;
  }

 private:
  void share(int number, Bytes bytes, Seconds now) {
    if (!shared_) shared_ = make_simgrid_network(graph_);
    shared_->start(path_of_[number], bytes, now);
    number_of_.push_back(number);
    ++sharing_;
  }

  void leave(int number) {
    for (const int link : graph_.paths[path_of_.take(number)].links) {
      std::vector<int>& on = on_[link];
      on.erase(std::find(on.begin(), on.end(), number));
    }
  }

  const EventGraph& graph_;
  LoneFlows lone_;
  std::vector<std::vector<int>> on_;  // by link: the live flows that take it
  LiveFlows<int> path_of_;
  int next_ = 0;
  std::unique_ptr<Network> shared_;
  std::vector<int> number_of_;  // by number of `shared_`
  std::vector<int> ended_shared_;
  std::size_t sharing_ = 0;
};

}  // namespace

std::unique_ptr<Network> make_fair_network(const EventGraph& graph) { return std::make_unique<FairNetwork>(graph); }

}  // namespace accosim
