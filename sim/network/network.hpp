// The network as the player sees it, and the one virtual seam of the program: flows over paths of links. It is asked
// only while flows are live. Latencies are the player's: a flow moves bytes from the moment it starts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "sim/graph/graph.hpp"

namespace accosim {

enum class NetworkKind { kSimgrid, kReference };

class Network;
using MakeNetwork = std::unique_ptr<Network> (*)(const EventGraph& graph);

class Network {
 public:
  virtual ~Network() = default;
  /// Starts a flow of `bytes` over `path` at `now`, not before the time last reached: so many equal ones as the path
  /// stands for, each of `bytes`. Returns its number: 0, 1, 2...
  virtual int start(int path, Bytes bytes, Seconds now) = 0;
  /// Moves time on to `until` or to the first end of a flow, whichever is earlier; appends the flows that end there to
  /// `ended`, in order of their numbers. Returns the time reached.
  virtual Seconds advance(Seconds until, std::vector<int>& ended) = 0;
};

/// Contention-free: every flow has the least bandwidth of its path to itself.
std::unique_ptr<Network> make_reference_network(const EventGraph& graph);
/// Flows share links max-min fairly. Those that share are SimGrid's, which is asked for where the first two do.
std::unique_ptr<Network> make_fair_network(const EventGraph& graph);
/// The same with all flows in SimGrid. One a process, ever: SimGrid keeps its clock. Throws as load_simgrid().
std::unique_ptr<Network> make_simgrid_network(const EventGraph& graph);

/// Loads the library that knows SimGrid, once a process, so that the children that come after it have it too. Throws
/// BadEnvironment where it is not beside the program.
void load_simgrid();
inline constexpr const char* kSimgridLibrary = "libaccosim_simgrid.so";

}  // namespace accosim
