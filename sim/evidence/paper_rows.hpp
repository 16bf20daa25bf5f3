// The rows of the ACCO paper, and what each mechanism of the code that made them adds: every row is predicted again
// with one of them left out, by a setting that anybody can repeat with --set.
#pragma once

#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/spec/scenario.hpp"
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

/// What the paper leaves open of a row whose sequences are padded to the longest of a micro-batch: how long they are,
/// and how many rank 0 evaluates each time 500 gradients have been counted. Every pair is predicted. In tokens, before
/// the cut at sequence_length, and sequences on rank 0. Alpaca's are short beside the 512 tokens at which they are cut;
/// rank 0's part of 5 % of its 52,000 pairs is 325.
inline const std::vector<double> kMeanLengths{100, 150, 200, 300};
inline const std::vector<int> kEvaluated{0, 325, 650};
inline constexpr double kLengthsCv = 0.6;
inline constexpr int kGradientsCounted = 50'000;  ///< nb_steps_tot of the released configuration

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
  /// By mean length and evaluated sequences: of kGradientsCounted; empty where nothing is open.
  std::vector<std::vector<RowTimes>> open;
};

/// Of each scenario whose baseline and ACCO have published times. `paths` name scenarios.
std::vector<PaperRow> paper_rows(const std::vector<std::string>& paths, int jobs, NetworkKind network);

}  // namespace accosim
