// A mixed cluster flatters a schedule whose ranks accumulate while they wait: a synchronous one could divide its work
// by speed too, and the fast GPUs could train alone. So a comparison on unlike GPUs shows both beside it, and says how
// much of a gain is balance. Meant is the best synchronous schedule, where it was tuned, or else the baseline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/price/interval.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/result/metrics.hpp"
#include "sim/result/tuned_rows.hpp"

namespace accosim {

/// What the GPUs of one kind do for an update.
struct Share {
  std::string group;   ///< node group
  std::string device;  ///< as device_name() has it
  int gpus = 0;
  int micro_batch_size = 1;
  int accumulation_steps = 1;

  bool operator==(const Share&) const = default;
};

/// The synchronous schedule on the same GPUs with its work balanced, or on the GPUs of one device alone.
struct FairBaseline {
  std::string label{};  ///< "zero1 balanced at 7 and 3 micro-batches", "zero1 on 16 A100-SXM4-80GB alone"
  std::string part{};   ///< "16 A100-SXM4-80GB"; empty: all GPUs
  std::string work{};   ///< "7 and 3 micro-batches", "7 micro-batches of 4 and 3 of 2" where sizes are not as written
  double samples_per_update = 0;
  Seconds update_time;
  double tokens_per_second = 0;
  double speedup = 1;  ///< per token, over the baseline as it is written
  bool fits = true;
  std::vector<Share> shares{};
  bool as_written = false;  ///< no other division is faster: everybody's share is the one that is written
  Spread spread{};          ///< of the update time
};

/// A mixed cluster under a synchronous schedule, beside its fastest kind of GPU alone: is the rest worth adding? Equal
/// work makes all wait for the slowest, so that there are two figures.
struct Adding {
  struct Whole {
    double times = 1;  ///< as fast per token as the kind alone
    Interval interval;
    std::string work;  ///< "11 and 5 micro-batches"
    bool even = true;  ///< everybody's work is the same
    bool fits = true;

    bool open() const { return interval.low <= 1 && interval.high >= 1; }
  };
  std::string schedule;             ///< "zero1, overlap grad reduce + param gather"
  std::string part;                 ///< "16 A100-SXM4-80GB": the fastest alone, of those that fit
  std::vector<std::string> others;  ///< likewise, all that are added
  Whole balanced;                   ///< with the micro-batches divided by speed
  Whole written;                    ///< as they are written
  bool as_written = false;          ///< no division is faster than that: the two are one
};

/// Where the gain of a schedule comes from that balances by itself. At the same batch, which is the schedule's own, its
/// speedup over the baseline as written is the product of the three parts.
struct FairGain {
  std::string label;
  double speedup = 1;  ///< per token, over the baseline as it is written
  double tuning = 1;   ///< of the synchronous schedule as written, over the baseline
  double balance = 1;  ///< of its work divided by speed, over the work as written
  double hidden = 1;   ///< of the schedule over that: communication, optimizer and waiting
  std::string work;    ///< of each GPU in the balanced one of the nearest samples an update: "7 and 3 micro-batches"

  double same_batch() const { return tuning * balance * hidden; }
  /// The part of balance in the logarithm of the speedup; absent where nothing is gained.
  std::optional<double> share_of_balance() const;
};

/// Empty where all ranks are alike.
struct FairComparison {
  std::string schedule{};  ///< that is balanced and played alone: "zero1, overlap grad reduce + param gather"
  std::vector<FairBaseline> baselines{};
  std::vector<FairGain> gains{};
  std::vector<std::string> words{};  ///< sentences: what each gain is due to, what each part is worth
  std::optional<Adding> adding{};    ///< absent where there is one kind of GPU, or none alone has room
};

/// `results` are of compare(), at least one.
FairComparison fair_comparison(const Scenario& scenario, const std::vector<RunResult>& results,
                               const Evaluations& evaluations, const Tuned& tuned = {});

/// Of a synchronous schedule of the scenario. Absent also where unlike GPUs are stages of one pipeline.
std::optional<Adding> adding_of(const Scenario& scenario, const ScheduleSpec& spec, const Evaluations& evaluations);

/// In which type a schedule's gradients are sent: where another sends half of the bytes, that is no merit of it.
Dtype reduced_in(const ScheduleSpec& spec);

/// The sentence on a gain. `title`: of the schedule, "ACCO"; `baseline`: the label of the baseline as it is written;
/// `schedule`: FairComparison::schedule.
std::string in_words(const FairGain& gain, const std::string& title, const std::string& baseline,
                     const std::string& schedule);
/// The sentence on a part of the cluster beside the balanced baseline of as many samples. `others`: the GPUs that are
/// not in it, "16 V100-SXM2-32GB".
std::string in_words(const FairBaseline& part, const FairBaseline& balanced, const std::string& others,
                     const std::string& schedule);

}  // namespace accosim
