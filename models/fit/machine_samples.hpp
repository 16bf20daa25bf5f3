// What accocal measured of a machine, read from its samples (schema accosim.samples/1), and the constants that the
// simulator needs from it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/base/units.hpp"

namespace accosim {

struct MachineSample {
  std::string what;   ///< reduce_scatter, all_gather, all_reduce, adamw, copy, micro_batch, hand_off_start, link...
  double amount = 0;  ///< bytes of a collective's whole buffer, over a link; elements; parameters of a
                      ///< micro-batch's model
  bool after_idle = false;  ///< of a collective: started after a pause, with the network at rest
  Seconds median, p10, p90;
  int runs = 0;
  double tokens = 0;  ///< of a micro-batch
  /// Of each rank median, 10th and 90th percentile, s; of a link those of its way to the next rank, of kernels without
  /// what they waited for a processor. Empty: not told, as by an older accocal.
  std::vector<double> by_rank{}, by_rank_p10{}, by_rank_p90{};
  std::vector<double> waited_by_rank{};  ///< of kernels, s for a processor, in the mean; empty: not told
};

struct MachineSamples {
  std::string source;                              ///< the file, for errors
  std::string cpu{}, network{}, commit{}, date{};  ///< network: loopback, paced or netns
  int cores = 0, ranks = 0;
  double idle_before = 0, idle_after = 0;  ///< idle share of all cores' time, before and after the measurement
  std::vector<double> rates{};             ///< one a rank, B/s; empty where nothing limits
  std::vector<double> payloads{};          ///< of each of them what is payload, B/s; empty: not told
  std::vector<double> bursts{};            ///< of each rank's token bucket, B; empty where there is none
  std::vector<MachineSample> samples{};
};

/// `name` is for errors. Throws ScenarioError with all that is wrong, each with its place.
MachineSamples read_machine_samples(const std::string& text, const std::string& name);

/// One sample of a collective beside what the constants make of it.
struct MachineResidual {
  MachineSample sample;
  Seconds predicted;
};

struct MachineFit {
  Seconds hop;                        ///< of one step of a ring
  double efficiency = 1;              ///< payload rate over the rate that was set; 1 where none was
  BytesPerSecond unlimited;           ///< what a rank sends where no rate was set
  Seconds adamw_per_parameter;        ///< step and the copy of the new parameters into their buffer
  BytesPerSecond copy;                ///< bytes read and written a second
  Seconds micro_batch{};              ///< 0: not measured
  Seconds hand_off;                   ///< to give the communication thread a job, and to learn of its end
  double parameters = 0;              ///< of the model of the micro-batch
  double tokens = 0;                  ///< of a micro-batch
  std::map<double, Seconds> shorter;  ///< of micro-batches of fewer tokens
  std::vector<MachineResidual> residuals;
};

/// `elements`: roughly the number of parameters in an optimizer step, since small shards stay in the cache. 0: those of
/// the micro-batch's model divided by the ranks or, without a micro-batch, the largest sample.
/// hop: median, over collectives of at most 4 KiB, of time over ring steps. efficiency: median, over the largest size
/// of each collective, of bytes on the slowest edge over time. A token bucket's credit is what it gathers during the
/// ring steps, or all of it after a pause. AdamW and copies: from the sample of the nearest size (copies are of whole
/// buffers). Throws ScenarioError where a kind of sample is missing.
MachineFit fit_machine(const MachineSamples& samples, double elements = 0);

/// A scenario (JSON) of the machine: one node per rank, the micro-batch that was measured (without one, a nominal one
/// of 2^20 parameters and 10 ms), and the schedules that accocal runs. Throws ScenarioError where such a scenario would
/// not load.
std::string machine_scenario(const MachineSamples& samples, const MachineFit& fit);

}  // namespace accosim
