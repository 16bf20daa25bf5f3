// From the spans of a play to its steady state: how long an update takes once the first ones are over, and what each
// rank did in it.
#pragma once

#include <cstdint>
#include <vector>

#include "models/base/units.hpp"
#include "models/spec/trace.hpp"
#include "sim/evaluation/stretches.hpp"
#include "sim/graph/counted.hpp"
#include "sim/graph/graph.hpp"

namespace accosim {

/// One rank of the graph over the steady updates. A round lies between two buffer swaps, and is an update where a
/// schedule has no rounds.
struct RankMeasure {
  double micro_batches_per_update = 0;
  double micro_batches_per_round = 0;  ///< mean over the steady rounds
  std::int64_t micro_batches_per_round_min = 0;
  std::int64_t micro_batches_per_round_max = 0;
  double idle_fraction = 0;       ///< of the time in which no kernel of the model, optimizer or copies runs
  Seconds exposed_communication;  ///< per update: communicating while no kernel runs
  Bytes sent;                     ///< per update
  std::int64_t first_micro_batch = 0, last_micro_batch = 0;  ///< the steady updates hold those from the first up to
                                                             ///< before the last, numbered from 0
};

struct Measured {
  bool periodic = false;    ///< the updates repeat exactly; if not, averages over the later half of them, and over
                            ///< nearly all where they are drawn
  int first = 0, last = 0;  ///< the steady updates are those after `first`, up to and with `last`
  Seconds update_time{};
  std::vector<Seconds> durations{};  ///< of each steady update, of the first rank
  Seconds last_begin{}, last_end{};  ///< of the last update, on the first rank
  Seconds end{};                     ///< of the last update, on the rank that ends it last
  std::int64_t spans = 0;            ///< that the play reported
  std::vector<RankMeasure> ranks{};
};

/// Half of the 80 % band of the mean of durations that follow each other, over the mean: from the scatter of the means
/// of eight batches, which are nearly independent where single ones are not. 0 of fewer than 8.
double band_of_mean(const std::vector<Seconds>& durations);

/// Which spans of a play are kept.
enum class Keep : std::uint8_t {
  kNothing,     ///< nor the ops: the measure is all that is asked for
  kLastUpdate,  ///< all that end after any rank has begun its last update: what the critical path goes through
  kAll,
};

/// Measures a play while it goes on: keeps of each rank how its updates ended and when it was busy, not every span.
class Recorder {
 public:
  /// Of the first `updates` updates. `graph` outlives the recorder; it may be written on.
  Recorder(const EventGraph& graph, std::size_t updates, Keep keep);
  /// In the order in which play() reports them.
  void take(const Span& span);
  /// So many updates have been marked by every rank.
  std::size_t complete() const { return complete_; }
  /// Of so many updates instead, more than before.
  void go_on_to(std::size_t updates);
  /// The updates repeat: the last ones twice over; or, of two, the second ended as the first did.
  bool is_periodic() const { return period() > 0 && !graph_.pace.unsteady.varies(); }
  /// Every rank has marked those updates, at least 4, or two that repeat.
  Measured measured() const;
  /// Those of ops that the programs have: of a play that went on, once its graph has been cut to those updates.
  std::vector<Span> take_spans();

 private:
  struct Update {
    double end = 0;
    std::int64_t micro_batches = 0;
    double sent = 0;            ///< bytes
    std::size_t rounds_to = 0;  ///< end of its rounds in Rank::rounds
  };
  struct Rank {
    std::int64_t in_update = 0, in_round = 0;  ///< micro-batches so far
    double sent = 0;
    Stretches busy, communicating;
    std::vector<CountedTimes> counted;
    std::vector<Update> updates;
    std::vector<std::int64_t> rounds;  ///< micro-batches of each
  };

  bool same_state(std::size_t a, std::size_t b, double tolerance) const;
  int period() const;
  RankMeasure measure_rank(const Rank& rank, int first, int last) const;
  void take_counted(const Span& span);

  const EventGraph& graph_;
  std::size_t updates_;
  Keep keep_;
  bool keeps_ = false;
  std::size_t complete_ = 0, behind_;  // ranks that have marked no more than `complete_`
  std::int64_t spans_ = 0;
  std::vector<Rank> ranks_;
  std::vector<Span> kept_;
};

}  // namespace accosim
