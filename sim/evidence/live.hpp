// The whole chain on this machine, at once: accocal measures its parts, the samples are fitted, runs are predicted,
// then really made, and compared. Samples and runs are different processes at different times: nothing is fitted to a
// run.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "models/base/units.hpp"

namespace accosim {

/// One run to make.
struct LiveCell {
  int ranks = 2;
  std::string algorithm;
  int micro_batches = 4;   ///< of an update and rank
  double ratio = 0;        ///< predicted: computation of a batch over its communication alone
  Seconds compute_time{};  ///< of a micro-batch that sleeps
  double slow = 1;         ///< how many times as long the last rank takes
  bool real = false;       ///< trains accocal's GPT instead of sleeping
  double jitter = 0;       ///< coefficient of variation of a micro-batch that sleeps
  bool lengths = false;    ///< sequences of kLiveLengths
};
/// Tokens of a sequence and how often, of the runs of unequal lengths.
inline const std::map<int, double> kLiveLengths{{16, 4}, {32, 2}, {48, 1}, {64, 1}};

struct LiveRow {
  LiveCell cell;
  Seconds measured{}, predicted;
  /// Where micro-batches are drawn `measured` and `predicted` are of the median update, and these of 10 and 90 % of
  /// them.
  Seconds measured_p10{}, measured_p90{}, predicted_p10{}, predicted_p90{};
  double micro_batches = 0, predicted_micro_batches = 0;  ///< of an update, all ranks
  int updates = 0;
  std::string disturbed{};  ///< what else the machine did meanwhile; then the run is made again, three times at most
  bool counts = true;       ///< undisturbed, or the third try

  double error() const { return predicted / measured - 1; }
};

struct LiveOptions {
  std::string accocal;            ///< the program
  std::string folder{};           ///< for samples and runs; must be there
  std::string network = "netns";  ///< or paced, loopback: where namespaces are refused
  std::string rate = "200 Mbit/s";
  bool quick = false;  ///< only one number of ranks, two ratios, few updates
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct LiveResult {
  std::string cpu{}, network, date{}, commit{};
  int cores = 0;
  double parameters = 0;
  std::vector<LiveRow> rows{};
  std::vector<std::string> notes{};
};

/// Runs accocal many times: some minutes. Throws std::runtime_error with accocal's own words when it fails.
LiveResult validate_live(const LiveOptions& options);

}  // namespace accosim
