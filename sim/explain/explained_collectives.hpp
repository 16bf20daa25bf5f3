// What the collectives of an update are and what each costs: algorithm, messages, steps, and which term binds. And how
// that grows with the number of nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/base/units.hpp"
#include "sim/evaluation/steady.hpp"

namespace accosim {

/// How a collective would be clearly faster than by NCCL's own choice.
struct FasterRow {
  std::string algorithm, protocol;
  int channels = 0, all_channels = 0;  ///< of each adapter and of all; 0: as many as NCCL has
  Seconds alone;
};

/// A collective and what it costs where nothing else runs.
struct CollectiveRow {
  std::string name;        ///< as the schedule calls it, or its kind
  std::int64_t count = 0;  ///< in an update
  int ranks = 1, nodes = 1;
  Bytes bytes;  ///< the full buffer
  std::string algorithm{}, protocol{};
  int channels = 0;  ///< 0: none that hold multiprocessors
  Bytes message{};   ///< the largest between nodes; 0: none goes there, or its size is not followed
  double steps = 0, net_steps = 0, turns = 1;
  Seconds alone;
  double spread = 0;  ///< of log(measured / predicted)
  std::vector<std::pair<std::string, Seconds>>
      terms{};                             ///< which add up to `alone`; kHostCopies where these limit the wire
  std::string binds{};                     ///< the largest of them
  std::optional<BytesPerSecond> copied{};  ///< each way of a node, where its host's copies are what limits the wire
  std::optional<FasterRow> faster{};
};
/// "NCCL takes ring Simple for all-reduce of a bucket of 39.1 MiB on 2 nodes, 13.1 ms; tree Simple is 1.7 times as
/// fast, 7.56 ms": of a row that has a faster way.
std::string choice_in_words(const CollectiveRow& row);
/// "NCCL_ALGO=Tree NCCL_PROTO=Simple".
std::string forced_by(const FasterRow& way);

/// One row for each collective of the first rank's last steady update that differs visibly from the others in kind,
/// bytes or ranks; the first that is made comes first.
std::vector<CollectiveRow> collectives_of_update(const SteadyPlay& play);

/// What keeps an update from being faster, of the links between its GPUs.
struct Binding {
  std::string term;                        ///< of CollectiveRow::binds, kHostCopies, kWindow or kComputing
  std::optional<BytesPerSecond> copied{};  ///< CollectiveRow::copied, of kHostCopies
};
inline constexpr const char* kHostCopies = "host copies";
inline constexpr const char* kWindow = "window";
inline constexpr const char* kComputing = "computation";
/// Of the communication that takes most of the critical path, between nodes before inside of them; computation where
/// communication takes less than 0.1 % of it.
Binding binding_of(const SteadyPlay& play);

/// Of each kind of adapters in a cluster of several nodes: that its constants rest on one machine, or on none.
std::vector<std::string> evidence_notes(const Cluster& cluster);

/// An all-reduce and an all-gather of 8 B, 1 MiB, 25 MiB and 1 GiB over 2, 4, ... 1,024 nodes like the cluster's
/// first, by the cluster's own fabric and NCCL.
std::vector<CollectiveRow> growth_of(const Cluster& cluster);

/// For each of these rows the index of the next larger message of its collective that takes less time on as many nodes;
/// none where larger ones take longer, as they should.
std::vector<std::optional<std::size_t>> faster_though_larger(const std::vector<CollectiveRow>& rows);

}  // namespace accosim
