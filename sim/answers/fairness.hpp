// A mixed cluster flatters a schedule whose ranks accumulate while they wait: the baseline could divide its work by
// speed too, and the fast GPUs could train alone. So a comparison on unlike GPUs shows both beside it, and says how
// much of a gain is balance.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/spec/scenario.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/result/metrics.hpp"

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

/// The baseline on the same GPUs with its work balanced, or on the GPUs of one device alone.
struct FairBaseline {
  std::string label;  ///< "zero1 balanced at 7 and 3 micro-batches", "zero1 on 16 A100-SXM4-80GB alone"
  std::string part;   ///< "16 A100-SXM4-80GB"; empty: all GPUs
  std::string work;   ///< "7 and 3 micro-batches", "7 micro-batches of 4 and 3 of 2" where sizes are not as written
  double samples_per_update = 0;
  Seconds update_time;
  double tokens_per_second = 0;
  double speedup = 1;  ///< per token, over the baseline as it is written
  bool fits = true;
  std::vector<Share> shares;
  bool as_written = false;  ///< no other division is faster: everybody's share is the one that is written
  Spread spread{};          ///< of the update time
};

/// What a schedule gains that balances by itself.
struct FairGain {
  std::string label;
  double speedup = 1;                        ///< per token, over the baseline as it is written
  std::optional<double> speedup_same_batch;  ///< over the baseline as it is written, at as many samples per update
  double speedup_over_balanced = 1;          ///< over the baseline balanced at the nearest samples per update
  std::string balanced;                      ///< label of that baseline
  /// Of the logarithm of the speedup (at the same batch, where that is known), the part that the balanced baseline has
  /// too; absent where nothing is gained.
  std::optional<double> share_of_balance;
};

/// Empty where all ranks are alike.
struct FairComparison {
  std::vector<FairBaseline> baselines;
  std::vector<FairGain> gains;
  std::vector<std::string> words;  ///< sentences: what each gain is due to, what each part is worth
};

/// `results` are of compare(), at least one.
FairComparison fair_comparison(const Scenario& asked, const std::vector<RunResult>& results,
                               const Evaluations& evaluations);

/// The baseline with its work balanced: at the samples an update that are asked for, and at those of each result that
/// accumulates while it waits. As for fair_comparison().
std::vector<FairBaseline> balanced_baselines(const Scenario& asked, const std::vector<RunResult>& results,
                                             const Evaluations& evaluations);
/// The one with the nearest samples per update; of at least one.
const FairBaseline& nearest_of(const std::vector<FairBaseline>& baselines, double samples);

/// The sentence on a gain. `title`: of the schedule, "ACCO"; `baseline`: the label of the baseline as it is written.
std::string in_words(const FairGain& gain, const std::string& title, const std::string& baseline);
/// The sentence on a part of the cluster beside the balanced baseline of as many samples. `others`: the GPUs that are
/// not in it, "16 V100-SXM2-32GB".
std::string in_words(const FairBaseline& part, const FairBaseline& balanced, const std::string& others,
                     const std::string& baseline);

}  // namespace accosim
