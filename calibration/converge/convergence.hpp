// What overlapping costs in learning: all algorithms from the same start on the same micro-batches, seed by seed, and
// how many more samples than DDP each needs for the same loss. The ranks are threads of this process and the counts of
// micro-batches are fixed, so a run is the same every time and on every number of cores.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibration/ranks/spawn.hpp"
#include "calibration/train/training.hpp"
#include "models/base/statistics.hpp"

namespace accocal {

/// The defaults were chosen on other seeds: small enough for minutes on two cores, and with so many updates, seeds and
/// held-out tokens that a difference of kEquivalent can be told from chance.
struct ConvergenceOptions {
  int seeds = 10;  ///< of parameters and data; at least 2
  std::int64_t updates = 2000;
  int ranks = 2;
  int jobs = 0;  ///< runs at a time; 0: one a core
  GptWorkloadOptions gpt = {.shape = {.layers = 2, .width = 32, .heads = 4, .context = 32, .vocabulary = 0},
                            .sequences = 2,
                            .held_out = 256,
                            .seed = 0};
  std::string data{};  ///< a text; empty: the one that comes with the program
  OptimizerOptions optimizer = {
      .kind = OptimizerKind::kAdamW, .adamw = {}, .learning_rate = 0, .cosine = true, .warmup = 0.1};
  /// Tried with DDP on two seeds of their own, the best taken for every algorithm, unless the optimizer's is given (not
  /// 0).
  std::vector<double> learning_rates = {0.002, 0.004, 0.008, 0.016};
};

/// The same comparison on a GPT of 1 M parameters: fewer updates and seeds, for it takes thirty times as long an
/// update.
ConvergenceOptions larger_size(const ConvergenceOptions& options, int seeds, std::int64_t updates);

/// Throws BadInput with what to write.
void check_options(const ConvergenceOptions& options);

/// mean_of() for positive values, computed on their logarithms.
Estimate geometric_mean_of(std::span<const double> values);

struct Line {
  double intercept = 0, slope = 0;
};
/// Least squares; at least two different x.
Line line_through(std::span<const double> x, std::span<const double> y);

/// Held-out loss along a run, from the start on.
struct CurvePoint {
  std::int64_t updates = 0;
  std::int64_t samples = 0;
  double loss = 0;
};
using Curve = std::vector<CurvePoint>;

/// Samples at which the loss first falls to `target`, by linear interpolation of the means of three neighbouring
/// points; nothing where it does not.
std::optional<double> samples_to_reach(const Curve& curve, double target);

/// What is compared, and how it is run.
struct ComparedAlgorithm {
  std::string name;
  std::string what;  ///< its options, in words
  TrainingOptions options;
};
/// DDP first.
std::vector<ComparedAlgorithm> compared_algorithms(const ConvergenceOptions& options);

/// An algorithm held against DDP on the same seeds.
struct AlgorithmConvergence : ComparedAlgorithm {
  std::vector<Curve> curves;          ///< a seed each
  std::vector<Estimate> differences;  ///< loss over DDP's, less 1, at each point of the curves
  Estimate early_difference;          ///< at kEarly of the updates
  Estimate final_difference;
  double final_loss = 0;  ///< mean over the seeds
  /// Samples to reach the loss that DDP has at kEarly and at kLate of its updates, over DDP's own; nothing where it is
  /// not reached on every seed.
  std::optional<Estimate> early_samples_ratio, samples_ratio;
  /// Lower bounds of the two: a seed that does not get there counts as if it did with its last sample.
  double early_samples_at_least = 0, samples_at_least = 0;
  Seconds update_time{};  ///< on the report's network, after any warm-up; 0: not measured
};
/// Its updates equal DDP's, so there is nothing to learn from its losses.
bool is_synchronous(const AlgorithmConvergence& algorithm);
inline constexpr double kEarly = 0.2;
inline constexpr double kLate = 0.6;
/// A relative difference of losses that counts as none.
inline constexpr double kEquivalent = 0.005;
/// Two one-sided tests: the 90 % interval lies within +-kEquivalent.
bool is_equivalent(const Estimate& difference);

/// An algorithm whose loss became NaN or infinite on some seeds, so that there is nothing to compare.
struct DivergedAlgorithm {
  std::string name, what;
  int seeds = 0;                  ///< seeds on which it diverged
  std::int64_t first_update = 0;  ///< the earliest update at which it did
};

/// DDP at another batch: S(B) = S_min (1 + B / B_critical) (McCandlish et al. 2018, the samples that a loss takes).
struct BatchSize {
  std::int64_t samples = 0;  ///< an update
  double learning_rate = 0;  ///< in proportion to the square root of the batch
  Estimate samples_to_target;
};

struct ConvergenceReport {
  ConvergenceOptions options;  ///< with the learning rate that was taken
  std::int64_t parameters = 0;
  std::int64_t batch_samples = 0;
  std::vector<std::pair<double, double>> tuning{};  ///< learning rate, DDP's final loss; infinite where it diverged
  std::vector<AlgorithmConvergence> algorithms{};   ///< DDP first
  std::vector<DivergedAlgorithm> diverged{};        ///< the others, which are not among `algorithms`
  std::vector<BatchSize> batches{};                 ///< ascending
  double batch_target = 0;                          ///< the loss that they are compared at
  std::optional<Estimate> critical_batch{};  ///< samples; nothing where the line has no positive slope and intercept
  std::string network{};                     ///< that the update times are of; empty: none were measured
  Seconds took{};
};

/// `say` gets lines of progress. Throws BadInput where DDP itself diverges.
ConvergenceReport converge(const ConvergenceOptions& options, const std::function<void(const std::string&)>& say);

/// Runs every algorithm for a short time with ranks as processes over a network, so that losses can be drawn over time.
/// `network` is its name for the page. Returns what the ranks said, or how they failed.
RankResults add_wall_clock(ConvergenceReport& report, const LaunchOptions& launch, const std::string& network,
                           const std::function<void(const std::string&)>& say);

/// One document, schema accosim.convergence/1; `larger`, another size of the model, is among its "sizes". nullptr:
/// none.
std::string convergence_json(const ConvergenceReport& report, const ConvergenceReport* larger = nullptr);
/// A page that shows the curves of `svg`, a file's name beside it; `command` is what wrote it.
std::string convergence_markdown(const ConvergenceReport& report, const std::string& svg, const std::string& command);
/// What a page says behind that of another size of the model.
std::string larger_markdown(const ConvergenceReport& report, const std::string& svg);
/// The curves of that page, drawn from the document, as `accosim plot --kind convergence` does.
std::string convergence_svg(const ConvergenceReport& report);

}  // namespace accocal
