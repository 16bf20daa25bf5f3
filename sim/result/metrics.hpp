// From spans to the figures that a user acts on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/shared.hpp"
#include "models/base/units.hpp"
#include "models/price/interval.hpp"
#include "models/price/memory.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/evaluation/measure.hpp"
#include "sim/evaluation/pauses.hpp"
#include "sim/evaluation/resident.hpp"
#include "sim/result/way_to_fit.hpp"

namespace accosim {

/// Ranks that follow each other.
struct RankRange {
  int first = 0, last = 0;

  int count() const { return last - first + 1; }
  bool operator==(const RankRange&) const = default;
};
/// "0-3,5".
std::string in_words(const std::vector<RankRange>& ranges);

/// What each of some ranks does that all do the same.
struct RankResult : RankMeasure {
  std::vector<RankRange> ranks;  ///< ascending
  std::string device;

  int count() const;
};

/// A warning is a stable name, what was found, and what to do about it.
struct Warning {
  std::string code;
  std::string message;
  std::string advice;

  bool operator==(const Warning&) const = default;
};

/// From a convergence file: what it takes to reach a loss, relative to the baseline.
struct TimeToLoss {
  bool reached = true;  ///< in the measured runs; else `samples` is a lower bound and `speedup` an upper one
  bool holds = false;   ///< model, batches and options are those of the measured runs; else it extrapolates
  double samples = 0;   ///< samples to the same loss, as a multiple of the baseline's
  double speedup = 0, speedup_low = 0, speedup_high = 0;  ///< of the time to the same loss, with its interval
  bool far = false;  ///< the model or the batch is beyond ten times the range that was measured: no headline says it
};

/// Where micro-batches are drawn: how far the mean is known, and how single updates scatter around it, or where
/// replicas make updates by themselves the means of rounds, from one meeting to the next.
struct DrawnUpdates {
  std::uint64_t seed = 0;
  int played = 0;                  ///< updates or rounds that the mean is of
  int updates_each = 1;            ///< of a round
  double band_of_mean = 0;         ///< half of its 80 % band, over the mean
  bool narrow = true;              ///< the band is narrow enough; if not, the budget of the play ended first
  Seconds p10{}, median{}, p90{};  ///< of a single update, or the mean one of a round
};

/// How the steady state was found, in updates.
struct SteadyState {
  int played = 0;
  int repeats_after = 0;     ///< 0: no update was like an earlier one, or they are drawn
  int averaged = 0;          ///< the last ones: one period, or what is left of the play once it has settled
  double halves_differ = 0;  ///< mean time of the later half of those over that of the earlier, less 1; 0 of a period
  std::optional<Seconds> lockstep{};  ///< of an update in lockstep, which any disturbance ends: SteadyPlay::lockstep
};

/// A figure over several seeds.
struct SeedBand {
  double median = 0, p10 = 0, p90 = 0;
};
struct SeedBands {
  int seeds = 0;
  SeedBand update_time{};  ///< s
  SeedBand tokens_per_second{};
  std::optional<SeedBand> speedup{}, speedup_same_batch{};  ///< over the baseline of the same seed
};

/// What a schedule comes to, in single figures: a result has them, and each row of a sweep for each schedule. Times are
/// those of the steady state. What a figure is called and where it is shown is its row in metric_table.cpp.
struct Metrics {
  Seconds update_time{};
  Seconds update_time_low{}, update_time_high{};  ///< 80 % interval
  Spread spread{};                                ///< of the update time: what the interval is made of
  Seconds total_time{};                           ///< for train_tokens
  double tokens_per_second = 0;                   ///< of sequences, without what pads them
  double tokens_padded_per_second = 0;
  double tokens_per_second_per_gpu = 0;
  FlopsPerSecond model_flops_per_gpu{};  ///< mean of the GPUs; recomputed work does not count
  double gpu_hours = 0;                  ///< of all GPUs, for train_tokens
  std::optional<double> cost{};          ///< the same at the cluster's prices, where it has them
  std::string currency{};                ///< that the prices are in; empty: it is not said
  std::optional<double> speedup{};       ///< per token, over the baseline; absent when nothing is compared
  /// Over the baseline simulated again at this schedule's samples per update, as accumulating() has it; absent where
  /// the baseline cannot do so few.
  std::optional<double> speedup_same_batch{};
  /// 80 % intervals of the two, without what errs alike in both schedules; absent where they are, and of the baseline.
  std::optional<Interval> speedup_interval{}, speedup_same_batch_interval{};
  /// Over the best synchronous schedule, simulated again likewise; absent where none was looked for, none fits, or it
  /// cannot do so few.
  std::optional<double> over_best_synchronous{};
  std::optional<Interval> over_best_synchronous_interval{};
  std::optional<double> over_alone{};  ///< of a row of a sweep: tokens per second over its fastest part alone
  std::optional<Interval> over_alone_interval{};
  std::optional<double> published_speedup{};  ///< of the scenario file
  std::optional<Seconds> published_time{};    ///< of the whole run, likewise
  bool published_of_another_run = false;      ///< settings were replaced (--set), so that the two are not the same run
  Statistics statistics = Statistics::kSynchronous;
  int updates_late = 1;        ///< of kStaleGradients
  double batch_inflation = 1;  ///< samples per update over those asked for
  double samples_per_update = 0;
  double micro_batches_per_update = 0;  ///< of all ranks
  double mfu = 0;
  double hfu = 0;
  double gpu_idle_fraction = 0;
  Seconds exposed_communication{};  ///< per update, mean over ranks: compute idle while the rank communicates
  Bytes bytes_sent_per_rank_per_update{};
  Bytes memory_formula{};
  Bytes memory_resident{};                              ///< of the rank that is least likely to fit, as what follows
  Bytes memory_resident_low{}, memory_resident_high{};  ///< 80 % interval
  Bytes memory_capacity{};
  Fit fit{};

  bool fits() const { return fit.verdict != FitVerdict::kDoesNotFit; }

  /// Prediction over what was published, less 1; absent where either is.
  std::optional<double> speedup_error() const {
    return speedup && published_speedup ? std::optional(*speedup / *published_speedup - 1) : std::nullopt;
  }
  std::optional<double> time_error() const {
    return published_time ? std::optional(total_time / *published_time - 1) : std::nullopt;
  }
};

/// One schedule's prediction.
struct RunResult : Metrics {
  std::string schedule;
  std::string label;
  bool baseline_fits = true;          ///< what the speedups are over, or may
  std::optional<TimeToLoss> to_loss;  ///< where a convergence file was given
  MemoryParts memory_parts;
  SteadyState steady;
  std::optional<DrawnUpdates> drawn;  ///< where micro-batches are not alike
  std::vector<PauseCost> pauses;
  std::optional<SeedBands> seeds;  ///< where several were asked for; all else is of the first
  std::vector<KindMemory> memory_by_kind;
  WaysToFit ways_to_fit;  ///< none where it fits
  std::vector<Warning> warnings;
  std::vector<RankResult> ranks;  ///< by their first rank; those of two node groups apart
  Shared<Costs> costs;            ///< what it was played at: for a trace, and for questions about a part

  int rank_count() const;
};

}  // namespace accosim
