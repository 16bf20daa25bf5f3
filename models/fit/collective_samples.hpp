// Measured collectives as rows of a table: what `accosim import` writes and `accosim fit` reads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/fit/fit_collectives.hpp"
#include "models/spec/cluster.hpp"

namespace accosim {

struct CollectiveSample {
  std::string source;  ///< who measured
  std::string fabric;  ///< name of a cluster
  CollectiveKind kind = CollectiveKind::kAllReduce;
  int ranks = 0;
  int nodes = 1;
  Bytes bytes;  ///< the full buffer, as nccl-tests counts
  Seconds time;
  std::optional<NcclRelease> nccl{};  ///< that did it, where it is known
};

/// What is wrong with a name that no collective has, and what would be right.
std::string no_collective(const std::string& written);

/// A table with its heading and one row per sample, times in us; with a column for NCCL's release where one is known.
std::string write_collective_samples(const std::vector<CollectiveSample>& samples);

/// Whether the text is a table of collectives, by its heading.
bool holds_collectives(const std::string& text);

/// Columns source, fabric, collective, ranks, nodes, bytes, time_us (or time_s), and nccl ("2.27") where it is there.
/// Throws ScenarioError with all that is wrong, as "name:line:column: what"; also where ranks do not fit the cluster of
/// that name, in one line for all such rows. A single cluster is also meant by another name, where it is that of all
/// rows.
std::vector<MeasuredCollective> read_collective_samples(const std::string& text, const std::string& name,
                                                        const std::vector<std::shared_ptr<const Cluster>>& clusters);

}  // namespace accosim
