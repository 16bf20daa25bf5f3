// The only file that knows SimGrid (3.32, or 4.0), and a library of its own, which takes nothing of ours but headers.
// It is used for flows alone: every latency and every duration is the player's. What is not obvious and was found by
// measuring: the default network model is wrong for us (hence the settings); what a flow gets of a link goes with 1 /
// the latency of its route, which is how one flow has the weight of many; run_until() may stop early, and stops at the
// end of a flow only when told to track vetoed activities; an activity's last pointer must not go inside its callback;
// bytes are integers; the clock never goes back.
#include <algorithm>
#include <cmath>
#include <set>
#include <simgrid/s4u.hpp>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sim/network/network.hpp"
#if __has_include(<simgrid/kernel/resource/NetworkModelIntf.hpp>)
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#define ACCOSIM_SIMGRID_3 1
#else
#define ACCOSIM_SIMGRID_3 0
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // 4.0 has new names, 3.32 the old ones alone
#endif

namespace accosim {
namespace {

namespace s4u = simgrid::s4u;

using LatencyFactor = double(double, const s4u::Host*, const s4u::Host*, const std::vector<s4u::Link*>&,
                             const std::unordered_set<s4u::NetZone*>&);

#if ACCOSIM_SIMGRID_3
constexpr const char* kPrecision = "surf/precision:1e-13";
s4u::NetZone* add_zone(const s4u::Engine&) { return s4u::create_star_zone("fabric"); }
void set_latency_factor(const s4u::NetZone* zone, LatencyFactor& factor) {
  zone->get_network_model()->set_lat_factor_cb(factor);
}
void start_flow(s4u::Comm& comm) { comm.vetoable_start(); }
#else
constexpr const char* kPrecision = "precision/timing:1e-13";
s4u::NetZone* add_zone(const s4u::Engine& engine) { return engine.get_netzone_root()->add_netzone_star("fabric"); }
void set_latency_factor(const s4u::NetZone* zone, LatencyFactor& factor) { zone->set_latency_factor_cb(factor); }
void start_flow(s4u::Comm& comm) { comm.start(); }
#endif

// SimGrid counts whole bytes, in 64 bits. Ours are fractions (7/8 of 4 bytes, or what is left of a flow), so its byte
// is a part of ours: as small a one as the largest flow leaves room for.
double unit_for(const EventGraph& graph) {
  double most = 1;
  for (const Group& group : graph.groups)
    for (const Plan& plan : group.plans)
      for (const Plan::Flow& flow : plan.flows) most = std::max(most, graph.paths[flow.path].alike * flow.bytes.value);
  return std::exp2(std::min(40.0, std::floor(62 - std::log2(most))));
}
// SimGrid's clock is a double that it may not move by less than this.
constexpr double kStep = 1e-12;
// "No cap": faster than any link, and finite because SimGrid divides by it.
constexpr double kUncapped = 1e27;
// What a latency is multiplied with to be no time: it is there as a weight only. Not 0, or SimGrid leaves it out.
constexpr double kNoTime = 1e-30;

class SimgridNetwork final : public Network {
 public:
  explicit SimgridNetwork(const EventGraph& graph) : engine_(make_engine()), unit_(unit_for(graph)) {
    // One star zone: a pseudo-host a path whose way up is all the links of the path, and one common sink. The cap of a
    // path is a private link that does not divide itself among flows. Where a path and a link stand for several, so do
    // the flow and the bandwidth, and the flow has the weight of so many.
    s4u::NetZone* zone = add_zone(engine_);
    sink_ = zone->create_host("sink", 1.0);
    zone->add_route(sink_->get_netpoint(), nullptr, nullptr, nullptr, std::vector<s4u::LinkInRoute>{}, true);
    set_latency_factor(zone, no_time);
    std::vector<const s4u::Link*> links;
    for (std::size_t i = 0; i < graph.links.size(); ++i)
      links.push_back(
          zone->create_link("link" + std::to_string(i), graph.links[i].alike * graph.links[i].bandwidth.value * unit_)
              ->set_latency(0)
              ->seal());
    for (std::size_t i = 0; i < graph.paths.size(); ++i) {
      const int alike = graph.paths[i].alike;
      alike_.push_back(alike);
      const double most = std::min(kUncapped, alike * graph.paths[i].cap().value * unit_);
      s4u::Link* cap = zone->create_link("cap" + std::to_string(i), most)
                           ->set_latency(alike > 1 ? 1.0 / alike : 0)
                           ->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);
      cap->seal();
      std::vector<s4u::LinkInRoute> route{s4u::LinkInRoute(cap)};
      for (const int link : graph.paths[i].links) route.emplace_back(links[link]);
      s4u::Host* source = zone->create_host("path" + std::to_string(i), 1.0);
      zone->add_route(source->get_netpoint(), nullptr, nullptr, nullptr, route, false);
      sources_.push_back(source);
    }
    zone->seal();
    engine_.track_vetoed_activities(&stop_);
    s4u::Comm::on_completion_cb([this](const s4u::Activity& activity) {
      const auto flow = flows_.find(&activity);
      if (flow == flows_.end()) return;
      ended_->push_back(flow->second.number);
      parked_.push_back(std::move(flow->second.comm));
      flows_.erase(flow);
      stop_.insert(parked_.back().get());  // makes run_until() return here
    });
  }

  /// Of flows that are dropped under way SimGrid would complain. Where a play is given up they stay until its process
  /// ends.
  ~SimgridNetwork() override {
    for (auto& live : flows_) live.second.comm.detach();
  }
  SimgridNetwork(const SimgridNetwork&) = delete;
  SimgridNetwork& operator=(const SimgridNetwork&) = delete;

  int start(int path, Bytes bytes, Seconds now) override {
    if (flows_.empty()) offset_ = now.value - s4u::Engine::get_clock();
    s4u::CommPtr comm = s4u::Comm::sendto_init(sources_[path], sink_);
    comm->set_payload_size(static_cast<std::uint64_t>(std::llround(alike_[path] * bytes.value * unit_)));
    flows_[comm.get()] = {next_, comm};
    start_flow(*comm);
    return next_++;
  }

  Seconds advance(Seconds until, std::vector<int>& ended) override {
    const std::size_t before = ended.size();
    const double target = until.value - offset_;
    ended_ = &ended;
    // It also stops where a weighted flow is let in, at the time at which that was started.
    for (std::size_t stops = 0; ended.size() == before && !flows_.empty();) {
      const double clock = s4u::Engine::get_clock();
      if (target - clock < kStep) break;
      stop_.clear();
      engine_.run_until(std::isfinite(target) ? target : -1.0);
      if (ended.size() == before && s4u::Engine::get_clock() <= clock && ++stops > flows_.size())
        throw std::logic_error("SimGrid stopped before its flows ended");
    }
    parked_.clear();  // not in the callback: there, the last pointer is still in use
    if (ended.size() == before) return until;
    std::sort(ended.begin() + static_cast<std::ptrdiff_t>(before), ended.end());
    return std::min(until, Seconds{s4u::Engine::get_clock() + offset_});
  }

 private:
  struct Flow {
    int number;
    s4u::CommPtr comm;
  };

  static double no_time(double, const s4u::Host*, const s4u::Host*, const std::vector<s4u::Link*>&,
                        const std::unordered_set<s4u::NetZone*>&) {
    return kNoTime;
  }

  static s4u::Engine& make_engine() {
    static s4u::Engine* engine = nullptr;
    if (engine != nullptr)
      throw std::logic_error("a second SimGrid simulation in one process would start at the clock of the first");
    // Its own command line, so that a user's arguments never reach SimGrid. Never deleted: its teardown is not needed
    // in a process that ends, and costs more than the simulation of a small graph.
    int argc = 2;
    static char name[] = "accosim", quiet[] = "--log=root.thres:critical";
    char* argv[] = {name, quiet, nullptr};
    engine = new s4u::Engine(&argc, argv);
    for (const char* setting :
         {"network/model:CM02", "network/crosstraffic:no", "network/TCP-gamma:1e30", "network/weight-S:0", kPrecision})
      s4u::Engine::set_config(setting);
    return *engine;
  }

  s4u::Engine& engine_;
  double unit_;  // SimGrid's bytes in one of ours
  s4u::Host* sink_;
  std::vector<s4u::Host*> sources_;
  std::vector<int> alike_;                                // paths that each stands for
  std::unordered_map<const s4u::Activity*, Flow> flows_;  // live; looked up, never walked
  std::vector<s4u::CommPtr> parked_;
  std::set<s4u::Activity*> stop_;
  std::vector<int>* ended_ = nullptr;
  double offset_ = 0;  // our time less SimGrid's: SimGrid's clock stands still while no flow is live
  int next_ = 0;
};

}  // namespace

}  // namespace accosim

/// What load_simgrid() looks for. The caller owns it.
extern "C" accosim::Network* accosim_simgrid_network(const accosim::EventGraph* graph) {
  return new accosim::SimgridNetwork(*graph);
}
