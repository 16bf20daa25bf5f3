// A training run of accocal (schema accosim.run/1), read for what the simulator asks: what ran, how long its updates
// took, and when every part of them did.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/base/units.hpp"
#include "models/read/overrides.hpp"

namespace accosim {

struct MeasuredSpan {
  int rank = 0;
  bool communication = false;  ///< on the communication lane; else on the compute lane
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
  std::optional<Seconds> compute_time{};  ///< of a micro-batch that only sleeps; else a real model was trained
  int micro_batches_per_round = 1;
  int poll_every = 1;
  int warmup = 0;  ///< synchronous updates before the first overlapped one
  int inner_updates = 1;
  int sequences = 1;        ///< samples of a micro-batch
  bool fixed = false;       ///< exactly micro_batches_per_round, then wait; else at least so many
  bool keep_state = false;  ///< the estimate's moments are not rolled back
  bool bf16 = false;
  std::map<int, double> lengths{};  ///< tokens of a sequence and how often; empty: all have the context
  int context = 0;                  ///< tokens of the longest sequence; 0: not said
  double jitter = 0;                ///< coefficient of variation of a micro-batch that sleeps
  std::map<int, double> slow{};     ///< by rank: how many times as long its micro-batches take
  std::vector<MeasuredUpdate> updates{};
  double processor_wait_share = 0;  ///< share of the run in which the worst rank was ready to run and had no processor
  std::string network{};            ///< loopback, paced or netns; empty: not said
  std::vector<double> rates{};      ///< one a rank, B/s; empty: none, or not said
  int left_out = 0;                 ///< number of updates at the start that do not count, while the pipeline fills
  std::vector<MeasuredSpan> spans{};
};

/// `name` is for errors. Throws ScenarioError with all that is wrong, each with its place. What is returned can be
/// simulated and drawn: the spans of a lane do not overlap.
MeasuredRun read_measured_run(const std::string& text, const std::string& name);

/// Updates between two meetings of the ranks: DiLoCo's inner updates; 1 for the others.
int updates_per_mark(const MeasuredRun& run);

/// Mean duration of the steady updates (DiLoCo: of whole outer phases) without the shortest and the longest tenth,
/// which stalls of the machine and late wake-ups distort.
Seconds update_time(const MeasuredRun& run);
/// Of the steady updates (DiLoCo: the mean update of each outer phase): the value that a share `p` of them is at most.
Seconds update_percentile(const MeasuredRun& run, double p);
/// Mean number of micro-batches of all ranks in a steady update.
double micro_batches_per_update(const MeasuredRun& run);

/// The settings that turn a machine's scenario into this run.
std::vector<Setting> settings_of(const MeasuredRun& run);

}  // namespace accosim
