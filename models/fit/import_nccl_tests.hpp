// Reads what nccl-tests (github.com/NVIDIA/nccl-tests) prints, or writes with -J, as samples. Its environment, host
// names and arguments are not kept.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/fit/collective_samples.hpp"

namespace accosim {

/// Bus bandwidth over that of the algorithm (bytes over time), as nccl-tests counts it.
double busbw_factor(CollectiveKind kind, int ranks);

struct NcclTestsOptions {
  std::string fabric = "cluster";
  std::string source = "nccl-tests";
  bool in_place = false;
  std::string collective{};  ///< used where the output does not name one; empty: by the output or the file's name
  int ranks = 0, nodes = 0;  ///< used where the output lists no ranks; 0: by the output
};

inline constexpr std::size_t kMaxNcclTestsBytes = 128 * 1024 * 1024;  ///< of a file; most of it NCCL's own log

struct NcclTestsImport {
  std::vector<CollectiveSample> samples;
  std::vector<std::string> notes;  ///< "name:line: why rows were left out", one for all that are alike, at most 20
  int skipped = 0;                 ///< rows that were left out
  std::set<NcclRelease> nccl;      ///< the releases of NCCL that are named
};

/// Reads the text form of all versions: columns are found by the words of the heading, and a row by its columns from
/// the right, whatever a launcher or a collector of logs puts before them. Skips lines that belong to no test, such as
/// the logs of mpirun and NCCL_DEBUG. Or reads the JSON form. nccl-tests' size is the full buffer, as ours is: for an
/// all-gather what is gathered, for a reduce-scatter what is reduced, for all-to-all one rank's input. Rows with wrong
/// results, without a time, or whose bandwidth is not size over time are left out with a note. NCCL's release is that
/// of the line "nccl-tests version" (nccl-library=22707), or of what NCCL_DEBUG=VERSION prints; the JSON form does not
/// say it. Keeps at most a million samples. `name` is the file's, for notes and, where neither the test nor the command
/// that starts it says it, for the collective. Throws ScenarioError when there is no row at all, and for the logs of
/// rccl-tests.
NcclTestsImport import_nccl_tests(std::string_view text, const std::string& name, const NcclTestsOptions& options);

}  // namespace accosim
