// Which schedule may be called the fastest: the one of the highest score that needs no "but". Whoever is faster only
// because its gradients are late, its replicas drift apart, its batch has grown or it may not fit is named behind it,
// with that caveat. All that names a winner goes by this rule.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/price/fit_verdict.hpp"
#include "models/spec/schedule_traits.hpp"
#include "sim/evaluation/evaluation.hpp"
#include "sim/result/metrics.hpp"
#include "sim/result/tuned_rows.hpp"

namespace accosim {

/// What the winner is held to.
struct WinnerRule {
  double batch_growth = 1.2;             ///< most samples an update over those asked for
  double fit_probability = kSurelyFits;  ///< least probability to fit into memory

  bool operator==(const WinnerRule&) const = default;
};

/// What a schedule costs besides its time. What does not count against it has the value that it has here.
struct Caveats {
  Statistics statistics = Statistics::kSynchronous;
  double batch_growth = 1;      ///< above the rule's, and of a contender whatever it is
  double fit_probability = 1;   ///< likewise, below the rule's
  bool loss_unreached = false;  ///< its runs never reached the loss that the others are compared at
  int updates_late = 1;         ///< where the statistics are those of late gradients

  int count() const;
  bool none() const { return count() == 0; }
};

/// A schedule's figures as far as they decide.
struct Contender : Caveats {
  std::optional<double> score{};  ///< the higher the faster; absent: it has none and takes no part
};
/// Without a loss.
Contender contender_of(const Metrics& figures, std::optional<double> score);
Caveats caveats_of(const Contender& contender, const WinnerRule& rule);

/// Who is the fastest, as indices of contenders.
struct Standing {
  WinnerRule rule;
  std::vector<Caveats> caveats{};        ///< one a contender
  std::vector<double> times{};           ///< one a contender: so many times as fast as best(), 0 where it takes no part
  std::optional<std::size_t> winner{};   ///< the highest score without a caveat
  std::optional<std::size_t> nearest{};  ///< where nobody wins: of those that may fit the one of the fewest caveats
  std::vector<std::size_t> faster{};     ///< than best(), by more than kNoticeablyFaster: each with a caveat
  std::optional<std::size_t> alike{};    ///< alike_of() them, where they are results

  std::optional<std::size_t> best() const { return winner ? winner : nearest; }
};
Standing standing_of(const std::vector<Contender>& contenders, const WinnerRule& rule);

/// Factors nearer to 1 are not worth naming.
inline constexpr double kNoticeablyFaster = 1.005;

/// Whether curves that hold (TimeToLoss::holds) say how long it takes to the loss, and so how it is ranked.
bool is_decided_by_loss(const RunResult& result);

/// Of results of compare(), or of one of run_schedule(). The score is the speedup over the best synchronous schedule
/// at the same batch; where one of them has none, of all that over the baseline; or else per token. Of what
/// is_decided_by_loss() it is the speedup to the loss, and what that charges for is no caveat any more. `baseline`: its
/// label.
std::vector<Contender> contenders_of(const std::vector<RunResult>& results, const std::string& baseline);

/// The fastest other one without a caveat where the interval of the ratio of the two holds 1: it cannot be told apart
/// from the winner. Where both sides are tuned it is of the other side: what a schedule gains over another of its own
/// is no answer.
std::optional<std::size_t> alike_of(const Scenario& scenario, const std::vector<RunResult>& results,
                                    const Standing& standing, const Tuned& tuned);

/// Of these; `times` of one with a caveat whose batch is not the winner's are over the winner played at that batch, as
/// accumulating() has it. Where the winner cannot do so few samples they stay the ratio of the scores.
Standing standing_of(const Scenario& scenario, const std::vector<RunResult>& results, const WinnerRule& rule,
                     const Evaluations& evaluations, const Tuned& tuned = {});

}  // namespace accosim
