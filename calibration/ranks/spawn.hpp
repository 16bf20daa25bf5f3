// Ranks as processes: started on a network, watched until the last has ended, and none left behind.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/base/names.hpp"
#include "calibration/ranks/local_network.hpp"
#include "calibration/ranks/transport.hpp"
#include "models/base/errors.hpp"
#include "models/base/units.hpp"

namespace accocal {

/// What documents say of how ranks as processes talk: always by ring_transport.hpp. A library in its place would bring
/// nothing that the ring lacks, and less: Gloo's reduce-scatter, for one, is of another algorithm and for powers of
/// two, so it could only reduce everything to everybody, which takes twice as long as what is to be measured. The ring
/// has every collective for every type and number of ranks, its messages are those that the simulator prices, over
/// loopback, paced or shaped, and nothing needs to be installed for it. Its sums are held against those by hand and
/// those of local_transport.hpp, which adds in another order and shares nothing with it but the addition.
inline constexpr const char* kTransport = "ring";

struct LaunchOptions {
  int ranks = 1;
  NetworkSpec network;
  Seconds timeout{60};  ///< how long one operation of the transport may make no progress
  Seconds grace{5};     ///< from the first failure until the ranks that go on are killed
};

/// What a rank does; the text that it returns is its report. What it throws ends the job: BadInput, BadEnvironment and
/// TransportError as what they are, std::logic_error as a bug of ours, all else as the environment's fault.
using RankBody = std::function<std::string(Transport&)>;

/// How one rank ended.
struct RankEnd {
  ExitCode code = ExitCode::kDone;
  std::string report;  ///< whole where the code is kDone
  std::string error;   ///< one line, empty where the code is kDone
};

struct RankResults {
  ExitCode code = ExitCode::kDone;  ///< of the rank that failed first
  std::vector<RankEnd> ranks;
  std::vector<std::string> errors;  ///< "rank 2 was killed by signal 9 (Killed)", the first failure first
};

/// Forks the ranks, runs `body` on each, and waits. When one fails, the others' transports throw TransportError with
/// that rank's name and fate, and those that still go on after the grace are killed. Ranks die with the calling thread.
/// The caller has no other threads. Throws BadEnvironment where the network or the processes cannot be made.
RankResults run_ranks(const LaunchOptions& options, const RankBody& body);

}  // namespace accocal
