// The oracle: a network without contention, small enough to be checked by reading it. Where no link is shared, SimGrid
// must agree with it.
#include "sim/network/lone_flows.hpp"
#include "sim/network/network.hpp"

namespace accosim {
namespace {

class ReferenceNetwork final : public Network {
 public:
  explicit ReferenceNetwork(const EventGraph& graph) : flows_(graph, false) {}

  int start(int path, Bytes bytes, Seconds now) override {
    flows_.start(next_, path, bytes, now);
    return next_++;
  }

  Seconds advance(Seconds until, std::vector<int>& ended) override {
    const Seconds first = flows_.first_end(until);
    flows_.end(first, ended);
    return first;
  }

 private:
  LoneFlows flows_;
  int next_ = 0;
};

}  // namespace

std::unique_ptr<Network> make_reference_network(const EventGraph& graph) {
  return std::make_unique<ReferenceNetwork>(graph);
}

}  // namespace accosim
