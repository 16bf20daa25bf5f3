// Every schedule as a row of data: what it shards, when its ranks meet, which keys it takes, what memory it needs. All
// other code asks the row; the schedule's name occurs only in its row and in its file in sim/schedules, so that a new
// schedule cannot be forgotten anywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/json.hpp"
#include "models/base/names.hpp"
#include "models/base/text.hpp"
#include "models/spec/schedule.hpp"
#include "models/spec/training.hpp"

namespace accosim {

/// What is split over the ranks: ZeRO's stages 0 to 3, each with what those before it split.
enum class Sharding : std::uint8_t { kNothing, kOptimizer, kGradients, kParameters };

/// An extra optimizer step from the same states: gradients are computed at its parameters, while the real parameters
/// are kept. kPrediction: along the gradient of the update itself. kHalfBatch: from the first half of the batch alone.
enum class Lookahead : std::uint8_t { kNone, kPrediction, kHalfBatch };

/// How the updates differ from those of synchronous training on the same samples, which no time shows.
enum class Statistics : std::uint8_t {
  kSynchronous,     ///< they do not, or the schedule itself corrects for it, as ACCO does
  kPartlyStale,     ///< gradients that do not arrive in time are an update late when they are applied
  kStaleGradients,  ///< all gradients are, or as many updates as the schedule's delay
  kReplicasDrift,   ///< replicas differ between two meetings
  kLocalEstimate,   ///< half of a batch is computed at parameters that differ by rank
};
template <>
inline constexpr const char* kNames<Statistics>[] = {"synchronous", "partly_stale", "stale_gradients", "replicas_drift",
                                                     "local_estimate"};

/// Where accocal can run this schedule: nowhere, on CPUs only, or on GPUs too.
enum class AccocalRuns : std::uint8_t { kNowhere, kOnCpu, kOnGpu };

/// A form of a synchronous schedule that somebody who tunes it would try: what every delayed or local schedule is held
/// against (sim/study/tuned.hpp).
struct TunedForm {
  Framework framework;
  const char*
      form;  ///< what is tuned, as text says it behind the schedule's name: "overlap grad reduce + param gather"
  std::vector<JsonMember> keys;  ///< what it sets of an entry of "schedules"
};

/// What a replica sends of its parameters: themselves; how far they moved from where all were; or an outer state.
enum class Sends : std::uint8_t { kParameters, kChanges, kOuterState };

/// Bytes of an element in 16 bits (parameters, gradients, a buffer), and of fp32 master, m and v.
inline constexpr double kHalfBytes = 2, kStateBytes = 12;
/// Model states in bytes an element, as papers compare them, of kHalfBytes and K = kStateBytes. ACCO's Table 1 (arXiv
/// 2406.02613).
struct MemoryFormula {
  double whole = 0;    ///< on every rank
  double sharded = 0;  ///< over all ranks together
};

struct ScheduleTraits {
  const char* name = "";
  const char* title = "";  ///< as text spells it
  Sharding sharding = Sharding::kNothing;
  /// The gradients of a round are reduced, stepped and gathered while the next round computes; ranks may accumulate
  /// more until that is done, so the batch can grow.
  bool delayed = false;
  Lookahead lookahead = Lookahead::kNone;
  int rounds = 1;  ///< of an update
  Statistics statistics = Statistics::kSynchronous;
  bool local = false;  ///< replicas make inner_updates updates on their own, then meet: one mark in the graph
  int usual_inner_updates = 1;
  bool inside = false;  ///< it may be what runs inside replicas of several ranks
  int usual_outer_every = 0;
  int outer_states = 0;      ///< fp32 copies of the parameters that an outer optimizer keeps
  int exchange_buffers = 0;  ///< of what replicas exchange, in its type
  Sends sends = Sends::kParameters;
  bool in_fragments = false;  ///< what replicas exchange leaves in fragments of the model, one after the other
  bool meets_beside = false;  ///< what is sent at a meeting travels while updates go on
  /// For identical ranks the speedup over serial ZeRO-1 at equal samples an update never exceeds it; 0: no such law.
  double most_same_batch = 0;
  MemoryFormula formula;
  Sync usual_sync = Sync::kLastMicroBatch;
  Overlap usual_overlap = Overlap::kNone;
  bool usual_reshard = true;         ///< gathered units are freed after the forward pass
  std::optional<Framework> under{};  ///< the row holds under this framework alone, in place of the schedule's own
  const char* runs_as = "";          ///< the schedule whose program it runs; empty: its own
  const char* lacks_keys = "";       ///< why it takes none of the keys that the schedule's own row has
  /// Why it does not run where a model replica has several stages, and what to write instead; empty: it does.
  const char* not_in_pipelines = "";
  std::vector<std::string_view> keys;  ///< keys that it takes in a file besides those of every schedule
  std::vector<TunedForm> tuned{};
  AccocalRuns accocal = AccocalRuns::kNowhere;
  const char* trains_as = "";          ///< the algorithm of `accocal converge` that makes the same updates; empty: none
  const char* trains_as_keeping = "";  ///< the same without rollback_estimate, where that changes the updates

  bool takes(std::string_view key) const;
};

/// In the order in which messages list them.
const std::vector<ScheduleTraits>& schedules();

/// Rows that hold under one framework alone, in place of the schedule's own.
const std::vector<ScheduleTraits>& schedules_of_frameworks();

/// nullptr: there is none of this name.
const ScheduleTraits* find_schedule(std::string_view name);
/// The row that holds under the framework.
const ScheduleTraits* find_schedule(std::string_view name, Framework framework);

/// Throws std::logic_error for a name that no loaded scenario can hold.
const ScheduleTraits& traits_of(std::string_view name);
/// The row that the spec was read by.
const ScheduleTraits& traits_of(const ScheduleSpec& spec);
/// The schedule whose program it runs.
const std::string& program_of(const ScheduleSpec& spec);

/// The plain schedules that others are compared with: every rank holds everything and waits for the all-reduce (DDP);
/// the same with a sharded optimizer (ZeRO-1).
const ScheduleTraits& plain_schedule();
const ScheduleTraits& plain_sharded_schedule();
/// The one that only splits so much, as ZeRO's stages do, and the one of two rounds whose training dynamics stay.
const ScheduleTraits& plain_schedule(Sharding sharding);
const ScheduleTraits& schedule_of_two_rounds();
/// Whether all ranks step together with the gradients of that step: neither delayed nor local.
bool is_synchronous(const ScheduleSpec& spec);
/// Of an update: of the schedule, or of the one inside the replicas.
int rounds_of(const ScheduleSpec& spec);
/// The fewest micro-batches of a round that can go through the stages as the schedule has it; nothing where none can.
std::optional<int> least_a_round(const ScheduleSpec& spec, const Parallel& parallel);
/// ScheduleTraits::most_same_batch of this form of the schedule.
double most_same_batch(const ScheduleSpec& spec);
/// Whether a rank goes on accumulating while it waits, so that ranks divide the work by their speed themselves.
bool accumulates_while_waiting(const ScheduleSpec& spec);
/// Whether ranks meet in every micro-batch, so that all must do as many.
bool meets_every_micro_batch(const ScheduleSpec& spec);
/// The same schedule as it would be told to accumulate: where every rank has whole gradients anyway, they are reduced
/// once an update and not after every micro-batch.
ScheduleSpec accumulating(ScheduleSpec spec);
/// The same with its work divided by speed: as it says itself, else by numbers of micro-batches.
ScheduleSpec with_some_balance(ScheduleSpec spec);
/// The schedule that runs inside a replica; nullptr where a replica is one rank.
const ScheduleTraits* inner_schedule(const ScheduleSpec& spec);
/// The ranks that share one copy, or that are one replica where replicas make updates by themselves.
Island island_of(const ScheduleSpec& spec);
/// The ranks that make one update together and sum their gradients: all, or those of a replica.
Ranks update_ranks(const ScheduleSpec& spec);
/// Hybrid sharding: every island has a copy, and all step together.
bool is_hybrid(const ScheduleSpec& spec);
/// Of the ranks that sum a gradient those that share one copy of its optimizer states: all, or in hybrid sharding those
/// of an island; and of the islands those that have the same part of them.
Ranks sharing(const ScheduleSpec& spec, Ranks copies);
Ranks same_part(Ranks copies);
/// Whether the ranks of a replica share one copy of everything.
bool is_sharded_inside(const ScheduleSpec& spec);
/// What is split over the ranks of a replica, all of them being one where nothing is local.
Sharding sharding_of(const ScheduleSpec& spec);
/// Is it ZeRO-1 over all ranks with nothing hidden behind the backward pass, a reduce-scatter and an all-gather of
/// everything?
bool is_serial_sharded(const ScheduleSpec& spec);

/// Updates between two marks in the graph and in accocal's runs.
inline int updates_per_mark(const ScheduleTraits& traits, int inner_updates) {
  return traits.local ? inner_updates : 1;
}
int updates_per_mark(const ScheduleSpec& spec);
/// Whether replicas make updates while what they sent each other travels.
bool meets_beside(const ScheduleSpec& spec);

std::vector<std::string> schedule_names();
/// Of those that may run inside replicas, the usual one first.
std::vector<std::string> inner_names();
/// Names of the schedules that accocal runs: on CPUs at least or, with kOnGpu, on GPUs too.
std::vector<std::string> accocal_algorithms(AccocalRuns least = AccocalRuns::kOnCpu);

/// Advice for a name that is no schedule: what others call so and how to write it here, "FULL_SHARD is "zero3"; "; or
/// the nearest name; or nothing.
std::string advice_for_schedule(const std::string& written);

}  // namespace accosim
