// The rows of the ACCO paper, and what each mechanism of the code that made them adds: every row is predicted again
// with one of them left out, by a setting that anybody can repeat with --set.
#pragma once

#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/spec/spec.hpp"
#include "sim/network/network.hpp"

namespace accosim {

struct Mechanism {
  std::string name;                   ///< "broadcast of buffers"
  std::vector<std::string> settings;  ///< that leave it out: "/schedules/{}/sync=...", {} being the baseline's index
  bool of_baseline = false;           ///< it is the baseline's, or
  bool of_acco = false;               ///< ACCO's, or both
};
const std::vector<Mechanism>& mechanisms();

/// Times of whole runs, all train_tokens.
struct RowTimes {
  Seconds baseline, acco;
};

struct PaperRow {
  std::string name;      ///< of the scenario
  std::string baseline;  ///< its label
  PublishedRun published_baseline, published_acco;
  RowTimes all;                                    ///< with every mechanism
  std::vector<RowTimes> without;                   ///< one a mechanism
  std::vector<std::vector<std::string>> settings;  ///< of each, as --set takes them
  Seconds update;                                  ///< one of ACCO's
  Seconds exposed;                                 ///< its communication that no computation hides
  Seconds counts;  ///< the all-reduces of its counts of micro-batches, alone on the network
};

/// Of each scenario whose baseline and ACCO have published times. `paths` name scenarios.
std::vector<PaperRow> paper_rows(const std::vector<std::string>& paths, int jobs, NetworkKind network);

}  // namespace accosim
