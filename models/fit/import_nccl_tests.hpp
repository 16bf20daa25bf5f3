// What nccl-tests (github.com/NVIDIA/nccl-tests) prints or writes with -J, as samples. Nothing of its environment, of
// host names or arguments is kept.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "models/fit/collective_samples.hpp"

namespace accosim {

struct NcclTestsOptions {
  std::string fabric = "cluster";
  std::string source = "nccl-tests";
  bool in_place = false;
  std::string collective;    ///< where the output does not say; empty: from it or the file's name
  int ranks = 0, nodes = 0;  ///< where the output lists no ranks; 0: from it
};

inline constexpr std::size_t kMaxNcclTestsBytes = 128 * 1024 * 1024;  ///< of a file; most of it NCCL's own log

struct NcclTestsImport {
  std::vector<CollectiveSample> samples;
  std::vector<std::string> notes;  ///< "name:line: why rows were left out", one for all that are alike, at most 20
  int skipped = 0;                 ///< rows that were left out
};

/// The text form of all versions: columns are found by the heading's words; lines that belong to no test are passed
/// over, as the log of mpirun or of NCCL_DEBUG between them, and so is what mpirun --tag-output puts before each. Or
/// the JSON form. nccl-tests' size is the full buffer: of an all-gather what is gathered, of a reduce-scatter what is
/// reduced, of all-to-all one rank's input; so is ours. Rows with wrong results, without a time or whose bandwidth is
/// not size over time are left out with a note. Keeps at most a million samples; `name` is the file's, for notes and
/// for the collective. Throws ScenarioError when there is no row at all, or what is needed cannot be found.
NcclTestsImport import_nccl_tests(std::string_view text, const std::string& name, const NcclTestsOptions& options);

}  // namespace accosim
