// A training run of accocal (schema accosim.run/1), read for what the simulator asks: what ran, how long its updates
// took, and when every part of them did.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/spec/overrides.hpp"

namespace accosim {

struct MeasuredSpan {
  int rank = 0;
  bool communication = false;  ///< on that lane, or on the compute lane
  std::string label;
  Seconds begin, end;
};

struct MeasuredUpdate {
  Seconds duration;
  double samples = 0;  ///< of all ranks
};

struct MeasuredRun {
  std::string algorithm;  ///< a schedule's name
  int ranks = 1;
  double parameters = 0;
  std::optional<Seconds> compute_time;  ///< of a micro-batch that only sleeps; else a real model was trained
  int micro_batches_per_round = 1;
  int poll_every = 1;
  int warmup = 0;  ///< synchronous updates before the first overlapped one
  int inner_updates = 1;
  int sequences = 1;        ///< samples of a micro-batch
  bool fixed = false;       ///< so many micro-batches and no more, then wait
  bool keep_state = false;  ///< the estimate's moments are not rolled back
  bool bf16 = false;
  std::map<int, double> slow;  ///< rank: times as long
  std::vector<MeasuredUpdate> updates;
  double processor_wait_share = 0;  ///< of the run, in which the worst rank was ready and had no processor
  std::string network;              ///< loopback, paced or netns; empty: not said
  std::vector<double> rates;        ///< one a rank, B/s; empty: none, or not said
  int left_out = 0;                 ///< of the first updates, while the pipeline starts
  std::vector<MeasuredSpan> spans;
};

/// `name` is for errors. Throws ScenarioError with all that is wrong, each with its place: what is read can be played
/// and drawn. Spans of a lane follow each other.
MeasuredRun read_measured_run(const std::string& text, const std::string& name);

/// Updates between two meetings of the ranks: DiLoCo's outer phase; 1 for the others.
int updates_per_mark(const MeasuredRun& run);

/// Mean duration of the steady updates (DiLoCo: of whole outer phases) without the shortest and the longest tenth: what
/// a stall of the machine or a late wake-up does to one update says nothing of the others.
Seconds update_time(const MeasuredRun& run);
/// Mean number of micro-batches of all ranks in a steady update.
double micro_batches_per_update(const MeasuredRun& run);

/// What is set in a machine's scenario to make it this run.
std::vector<Setting> settings_of(const MeasuredRun& run);

}  // namespace accosim
