// What a candidate comes to: refused, another batch, no room, or a time with its interval.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/base/names.hpp"
#include "models/launch/form.hpp"
#include "models/price/fit_verdict.hpp"
#include "models/price/interval.hpp"
#include "models/read/load.hpp"
#include "sim/advise/candidates.hpp"
#include "sim/explain/breakdown.hpp"
#include "sim/network/network.hpp"
#include "sim/what_if/fairness.hpp"
#include "sim/what_if/winner.hpp"

namespace accosim {

enum class PointState : std::uint8_t {
  kPlayed,      ///< it may win
  kCannotWin,   ///< it takes long to play, and what it takes at least is more than the best
  kDoesNotFit,  ///< into memory; it is not played
  kOtherBatch,  ///< its updates have other numbers of samples than were asked for
  kRefused,     ///< the scenario cannot be so
  kPostponed,   ///< it takes long to play, and waits until there is something to hold it against
};

/// A point of many collectives is played where a rank by itself spends at most so many times the best.
inline constexpr double kHopeful = 1.1;

/// What is made least.
enum class Objective : std::uint8_t { kTime, kCost };
template <>
inline constexpr const char* kNames<Objective>[] = {"time", "cost"};

/// Plain values only, since it comes back from another process byte by byte.
struct Evaluation {
  PointState state = PointState::kRefused;
  FitVerdict verdict = FitVerdict::kFits;
  double fit_probability = 1;
  double memory = 0, capacity = 0;  ///< bytes, of the GPU that is least likely to fit
  Caveats caveats{};                ///< why it may not be the best without saying so
  double samples = 0;               ///< of an update
  int nodes = 0;
  bool synchronous = true;
  Dtype reduced = Dtype::kBf16;               ///< type in which gradients are sent
  bool has_time = false;                      ///< it was played: what follows is known
  double update_time = 0, low = 0, high = 0;  ///< s, with the 80 % interval; of kCannotWin the least
  Spread spread{};
  double sent = 0;     ///< bytes a rank and update
  double exposed = 0;  ///< s of communication an update that nothing hides
  double mfu = 0, idle = 0;
  double price = 0;              ///< of an hour of all GPUs; 0 where the cluster has none
  double cost = 0;               ///< of all tokens, at that price
  double total_time = 0;         ///< s, of all tokens
  double spent_in_a_second = 1;  ///< of what is made least: 1 s, or the price of it
  double passes = 0;             ///< over chunks of the model, of an update in a pipeline: what its play consists of
  double longer = 1;             ///< samples, than those asked for
  double hopeful = kHopeful;     ///< of kPostponed: it is played while what it spends is at most so many times the best

  double time_per_sample() const { return update_time / samples; }
  /// Of a sample as long as those asked for.
  double time_per_asked_sample() const { return time_per_sample() / longer; }
  /// What is made least: s, or money.
  double spent_per_sample() const { return spent_in_a_second * time_per_asked_sample(); }
};

/// What a candidate is held to.
struct AdviceQuery {
  std::string scenario;          ///< its name or path
  std::vector<std::string> set;  ///< set before the candidate's own settings
  double samples = 0;            ///< of an update
  double tolerance = 0;          ///< what they may differ by, as a fraction
  int sequence = 1;              ///< tokens of a sample, as written: others count per token
  NetworkKind network = NetworkKind::kSimgrid;
  WinnerRule rule{};
  Objective objective = Objective::kTime;  ///< kCost: of a cluster that has prices
  double within = 0;  ///< of kCost: who costs so much more, as a fraction, is named where it is done sooner
  std::optional<LaunchForm> form{};  ///< in which the winner is to be typed: what it lacks is refused
  /// The scenario with `set`, where no file has it so: that of a launch script, or what is nearest in a form.
  std::shared_ptr<const LoadedScenario> made{};
  std::string launch{};  ///< " --cluster dgx-h100-4x8": what stands behind the scenario in a command line
};

/// Of an update whose plays are too long to be repeated on many networks.
inline constexpr double kManyPasses = 10'000;

/// Which points are worth the time that they take to play. One of many collectives is played only where a rank by
/// itself, without interference and others to wait for, spends at most kHopeful times the best; one that splits its
/// model only where its least_update_time() is no more than the best.
struct PlayLimit {
  bool postponed = false;      ///< such a one waits
  std::optional<double> best;  ///< spent a sample, of those without a caveat; absent: all are played
  std::size_t waiting = 0;     ///< so many more may have to be played after those that are tried now
};
inline constexpr double kManyCollectives = 1500;  ///< of an update

/// The scenario that was asked about with these settings too. One that is refused throws ScenarioError, here and below.
LoadedScenario loaded_with(const AdviceQuery& asked, const std::vector<std::string>& settings);

Evaluation evaluate(const AdviceQuery& asked, const Choice& choice, const PlayLimit& limit = {});

/// What an update is spent on, by TimeUse.
using TimeParts = std::array<Seconds, kTimeUses>;
TimeParts time_parts_at(const AdviceQuery& asked, const Choice& choice);

/// Of a synchronous schedule on a mix of GPUs: what the slower kinds add.
std::optional<Adding> adding_at(const AdviceQuery& asked, const Choice& choice);

/// What decides how fast the data of other GPUs comes: the link between sites, the adapters of a node, or the links in
/// the only one.
struct NetworkRate {
  std::string what;  ///< "adapters"
  double rate = 0;   ///< bytes per second, of the first of them
  /// All of them, by their places in the scenario.
  std::vector<std::pair<std::string, BytesPerSecond>> links{};
};
NetworkRate network_rate_of(const Cluster& cluster);
/// The settings that make it `factor` times as fast.
std::vector<std::string> at_network_rate(const NetworkRate& network, double factor);

}  // namespace accosim
